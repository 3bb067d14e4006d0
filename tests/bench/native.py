#!/usr/bin/env python3
"""How long the native engine takes, beside what else one could do with the same export, in one run on
one machine: a bare scan of the columns it needs by the sqlite3 shell, and the two reports of nsys.

usage: native.py [--ranges N] [--operations N] [--repeat N] [--largest N] [--depth N]

The exports are generated. Told by the environment: NVTXA_NSYS, a real nsys 2023.4; without it that
comparison is left out. Prints tables in Markdown; docs/engines.md shows a run. Nothing is asserted:
how fast a machine is today is no property of the program.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import NVTXA, SOURCE  # noqa: E402

NSYS = os.environ.get("NVTXA_NSYS", "")
REPORTS = ("nvtx_pushpop_trace", "nvtx_gpu_proj_trace")
SCAN = ("SELECT rowid, start, end, eventType, text, textId, globalTid, endGlobalTid, domainId"
        " FROM NVTX_EVENTS",
        "SELECT start, end, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL",
        "SELECT start, end, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME")


def measure(command, **options):
    """Seconds and peak memory in MB."""
    began = time.monotonic()
    with subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, **options) as process:
        stderr = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    if process.returncode != 0:
        sys.exit(f"{command}: exit status {process.returncode}\n{stderr.decode()}")
    return seconds, usage.ru_maxrss / 1024


class Work:
    """One kind of work, timed again and again."""

    def __init__(self, name, command, before=None):
        self.name, self.command, self.before = name, command, before
        self.seconds, self.megabytes = [], 0

    def once(self):
        if self.before:
            self.before()
        seconds, megabytes = measure(self.command)
        self.seconds.append(seconds)
        self.megabytes = max(self.megabytes, megabytes)

    @property
    def median(self):
        return statistics.median(self.seconds)

    def row(self, *against):
        ratios = " | ".join(f"{self.median / other.median:.3g}" if other else "" for other in against)
        return (f"| {self.name} | {self.median:.3f} | {min(self.seconds):.3f} | "
                f"{max(self.seconds):.3f} | {self.megabytes:.0f} | {ratios} |")


def make_run(top, name, ranges, operations, depth):
    """A run directory with a generated trace.sqlite, read once so that it is in memory."""
    run = top / name
    run.mkdir()
    subprocess.run([sys.executable, SOURCE / "testdata" / "generate_export.py", "--ranges",
                    str(ranges), "--operations", str(operations), "--depth", str(depth),
                    run / "trace.sqlite"], check=True)
    (run / "manifest.yaml").write_text("capture_range: profile-target\n", encoding="utf-8")
    with open(run / "trace.sqlite", "rb") as file:
        while file.read(1 << 24):
            pass
    return run


def works_for(run):
    def clean():
        shutil.rmtree(run / "stats", ignore_errors=True)

    analyze = [NVTXA, "analyze", "-q", "--engine", "native", "--no-export"]
    return (Work("`sqlite3` shell, the columns alone", ["sqlite3", run / "trace.sqlite", *SCAN]),
            Work("`nvtxa analyze`, without reports", [*analyze, "--no-reports", run]),
            Work("`nvtxa analyze`, both reports and analysis.json", [*analyze, run], clean),
            Work("`nvtxa stats`, both reports", [NVTXA, "stats", "-q", "--force-overwrite", "-o",
                                                 run / "out", run / "trace.sqlite"]))


def compare(top, options):
    run = make_run(top, "one", options.ranges, options.operations, options.depth)
    works = works_for(run)
    reference = None
    for _ in range(options.repeat):  # taken in turn: a slow moment meets all of them
        for work in works:
            work.once()
    if NSYS:
        reference = Work("`nsys stats` 2023.4, both reports",
                         ["sh", "-c", f"for r in {' '.join(REPORTS)}; do '{NSYS}' stats -q -r $r -f "
                          f"csv --force-overwrite=true -o '{run}/nsys' '{run}/trace.sqlite' || "
                          "exit; done"])
        reference.once()
        for work in works:  # once more, right beside it
            work.once()
    size = (run / "trace.sqlite").stat().st_size / 1e6
    print(f"\n{options.ranges} ranges, {options.operations} GPU operations, {size:.0f} MB; "
          f"{os.cpu_count()} processors; medians of {len(works[0].seconds)}\n")
    print("| work | median s | least | most | peak MB | of the scan | of nsys |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for work in works:
        print(work.row(works[0], reference))
    if reference:
        print(reference.row(works[0], None))
    else:
        print("\n(no nsys was given: meson option `nsys_dir`)")
    shutil.rmtree(run)


def grow(top, options):
    print("\nGrowth\n\n| ranges | GPU operations | scan s | without reports s | ns a range | peak MB |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    ranges = 10_000
    while ranges <= options.largest:
        operations = ranges * 9 // 10
        run = make_run(top, str(ranges), ranges, operations, options.depth)
        scan, work, _, _ = works_for(run)
        for _ in range(options.repeat):
            scan.once()
            work.once()
        print(f"| {ranges} | {operations} | {scan.median:.3f} | {work.median:.3f} | "
              f"{work.median / ranges * 1e9:.0f} | {work.megabytes:.0f} |", flush=True)
        shutil.rmtree(run)
        ranges *= 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranges", type=int, default=1_020_001)
    parser.add_argument("--operations", type=int, default=900_209)
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--largest", type=int, default=10_000_000, help="for the growth")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nvtxa-bench-") as directory:
        compare(pathlib.Path(directory), options)
        grow(pathlib.Path(directory), options)


main()
