#!/usr/bin/env python3
"""How long nvtxa takes and how much memory, beside what else one could do with the same files: in
one run on one machine, each in turn, so that a slow moment meets all of them.

usage: bench.py METER [--only PARTS] [--repeat N] [--scale X] [--largest N] [--output FILE.md]
                [--plot FILE.svg]

The inputs are generated, below TMPDIR; they take up to 2 GB. METER is the program of meter.c. Told
by the environment, and left out without: NVTXA_NSYS, a real nsys 2023.4, and NVTXA_DUCKDB, a
directory with node_modules/@duckdb/node-api. Prints tables in Markdown; docs/performance.md shows a
run. Nothing is asserted but that the results agree: how fast a machine is today is no property of
the program.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import textwrap

import plot

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import NVTXA, SOURCE  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
NSYS = os.environ.get("NVTXA_NSYS", "")
DUCKDB = os.environ.get("NVTXA_DUCKDB", "")
REPORTS = ("nvtx_pushpop_trace", "nvtx_gpu_proj_trace")
SCAN = ("SELECT rowid, start, end, eventType, text, textId, globalTid, endGlobalTid, domainId"
        " FROM NVTX_EVENTS",
        "SELECT start, end, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL",
        "SELECT start, end, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME")
PARTS = {}
said = []


def part(function):
    PARTS[function.__name__] = function
    return function


def say(text):
    text = "\n".join(line if line.startswith("|") else textwrap.fill(line, 100)
                     for line in text.split("\n"))
    print(text, flush=True)
    said.append(text + "\n")


def shown(number):
    """Three digits that count."""
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


# ---- measuring ----

class Work:
    """What was measured of one kind of work, again and again."""

    def __init__(self, name):
        self.name, self.seconds, self.megabytes = name, [], []

    def add(self, seconds, megabytes=None):
        self.seconds.append(seconds)
        self.megabytes += [megabytes] if megabytes is not None else []

    @property
    def median(self):
        return statistics.median(self.seconds)

    @property
    def peak(self):
        return max(self.megabytes, default=None)


class Command(Work):
    """Work that a command does. `output` is the file for what it prints."""

    def __init__(self, name, command, before=None, output=os.devnull):
        super().__init__(name)
        self.command, self.before, self.output = [str(c) for c in command], before, output

    def once(self, meter):
        if self.before:
            self.before()
        done = subprocess.run([meter, self.output, *self.command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        if done.returncode != 0:
            sys.exit(f"{self.command}: exit status {done.returncode}\n{done.stderr}")
        seconds, kilobytes = done.stdout.split()
        self.add(float(seconds), int(kilobytes) / 1024)


class DuckDB(Command):
    """The whole process, and what it says of its queries alone."""

    def __init__(self, rows, *reports):
        output = reports[0].parent / "duckdb.json"
        super().__init__("DuckDB, two group-bys, whole process",
                         ["node", HERE / "duckdb.mjs", DUCKDB, *reports], output=output)
        self.rows, self.queries = rows, Work("DuckDB, two group-bys, the queries alone")

    def once(self, meter):
        super().once(meter)
        told = json.loads(self.output.read_bytes())
        if told["rows"] != self.rows:
            sys.exit(f"DuckDB counts {told['rows']} rows of {self.rows}")
        self.version = told["version"]
        self.queries.add(told["seconds"])


def table(subject, target, *others):
    """The subject of the comparison, then (work, target) for each that it is compared with."""
    say(f"\nMedians of {len(subject.seconds)}.\n")
    say("| work | median s | least | most | peak MB | `nvtxa` to this | target |")
    say("| --- " * 7 + "|")
    for work, goal in ((subject, target), *others):
        ratio = "" if work is subject else shown(subject.median / work.median)
        spread = [shown(min(work.seconds)), shown(max(work.seconds))]
        peak = f"{work.peak:.0f}" if work.peak else ""
        say(f"| {' | '.join([work.name, shown(work.median), *spread, peak, ratio, goal])} |")


def in_turn(options, works, slow=()):
    """All works in turn, again and again; the slow ones once, in the middle."""
    for i in range(options.repeat):
        for work in (*works, *(slow if i == options.repeat // 2 else ())):
            work.once(options.meter)


# ---- inputs ----

def keep_in_memory(*files):
    """Read files once, so that no measurement waits for the disk."""
    for path in files:
        with open(path, "rb") as file:
            while file.read(1 << 24):
                pass


def make_run(options, name, ranges, operations, depth=0):
    """A run directory with a generated trace.sqlite."""
    run = options.top / name
    run.mkdir()
    subprocess.run([sys.executable, SOURCE / "testdata" / "generate_export.py", "--ranges",
                    str(ranges), "--operations", str(operations), "--depth", str(depth),
                    run / "trace.sqlite"], check=True)
    (run / "manifest.yaml").write_text("capture_range: profile-target\n", encoding="utf-8")
    keep_in_memory(run / "trace.sqlite")
    return run


def reports_of(directory):
    return [directory / f"nsys_{report}.csv" for report in REPORTS]


def rows_of(report):
    with open(report, "rb") as file:
        return sum(1 for _ in file) - 1


def describe_export(run):
    """How many ranges and kernels it really holds, and in how many bytes."""
    database = sqlite3.connect(run / "trace.sqlite")
    ranges, kernels = (database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
                       for name in ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL"))
    database.close()
    size = (run / "trace.sqlite").stat().st_size / 1e6
    return f"{ranges:,} ranges, {kernels:,} GPU operations, {size:.0f} MB of SQLite"


def native_works(run):
    """The scan that everything is held against, and the analysis of the ranges."""
    return (Command("`sqlite3` shell, the columns alone", ["sqlite3", run / "trace.sqlite", *SCAN]),
            Command("`nvtxa analyze`, the ranges alone",
                    [NVTXA, "analyze", "-q", "--engine", "native", "--no-export", "--no-gpu-work",
                     "--no-reports", run]))


# ---- the same job in Python ----

def pipeline(run, reports):
    return Command("Python pipeline, once", [sys.executable, HERE / "pipeline.py", *reports],
                   output=run / "pipeline.json")


def is_same(left, right, key=""):
    """Equal parts of two results; means and deviations but for rounding."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(is_same(left[k], right[k], k) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    if key in ("mean_ns", "stddev_ns"):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right


def check_pipeline(run):
    """The pipeline's result is nvtxa's: all groups, all iterations, all their numbers."""
    analysis, other = (json.loads((run / f"{name}.json").read_bytes())
                       for name in ("analysis", "pipeline"))
    for result in analysis, other:
        for kind in ("host_ranges", "gpu_projected_ranges"):
            result[kind].sort(key=lambda g: (g["path"], g["context"], g.get("style", "")))
    for key, value in other.items():
        if not is_same(value, analysis[key]):
            sys.exit(f"the Python pipeline and nvtxa disagree: {key} of {run}")
    groups = len(other["host_ranges"]) + len(other["gpu_projected_ranges"])
    say(f"\nThe pipeline has the same result: {groups} groups, "
        f"{len(other['iterations']):,} iterations.")


# ---- parts ----

@part
def csv(options):
    """Both reports, as CSV, to analysis.json."""
    scale = options.scale
    run = make_run(options, "csv", round(1_000_000 * scale) + 1, round(691_841 * scale))
    (run / "stats").mkdir()
    subprocess.run([NVTXA, "stats", "-q", "--force-overwrite", "-o", run / "stats" / "nsys",
                    run / "trace.sqlite"], check=True)
    (run / "trace.sqlite").unlink()
    reports = reports_of(run / "stats")
    keep_in_memory(*reports)
    rows = [rows_of(report) for report in reports]
    analyze = Command("`nvtxa analyze --no-export`", [NVTXA, "analyze", "-q", "--no-export", run])
    count = Command("`wc -l` of both files", ["wc", "-l", *reports])
    duckdb = [DuckDB(rows, *reports)] if DUCKDB else []
    slow = pipeline(run, reports)
    in_turn(options, [count, analyze, *duckdb], [slow])
    sizes = [report.stat().st_size / 1e6 for report in reports]
    say(f"\n### Reports\n\nHost report: {rows[0]:,} rows, {sizes[0]:.0f} MB; "
        f"GPU report: {rows[1]:,} rows, {sizes[1]:.0f} MB.")
    table(analyze, "peak at most 150 MB", (count, "ratio at most 8"), (slow, ""),
          *((work, "ratio at most 1") for d in duckdb for work in (d, d.queries)))
    check_pipeline(run)
    say(f"\nDuckDB {duckdb[0].version}, node-api." if duckdb else
        "\n(DuckDB is left out: none was given with the meson option `duckdb`.)")


@part
def native(options):
    """An SQLite export to analysis.json, and the reports besides."""
    scale = options.scale
    run = make_run(options, "native", round(1_020_000 * scale) + 1, round(900_209 * scale))
    scan, analyze = native_works(run)
    with_work = Command("`nvtxa analyze`, GPU work as well",
                        [part for part in analyze.command if part != "--no-gpu-work"])
    with_reports = Command("`nvtxa analyze`, both reports as well", analyze.command[:-2] + [run],
                           before=lambda: shutil.rmtree(run / "stats", ignore_errors=True))
    stats = Command("`nvtxa stats`, both reports", [NVTXA, "stats", "-q", "--force-overwrite", "-o",
                                                    run / "out", run / "trace.sqlite"])
    works, slow, extra = [scan, analyze, with_work, with_reports, stats], [], []
    if NSYS:
        made = run / "made"
        made.mkdir()
        slow = [Command("`nsys stats` 2023.4, both reports, once",
                        ["sh", "-c", f"for r in {' '.join(REPORTS)}; do '{NSYS}' stats -q -r $r -f "
                         f"csv --force-overwrite=true -o '{made}/nsys' '{run}/trace.sqlite' || "
                         "exit; done"]),
                pipeline(run, reports_of(made))]
    in_turn(options, works, slow)
    say(f"\n### Native engine\n\n{describe_export(run)}.")
    if NSYS:
        both = Work("the last two: nsys + Python")
        both.add(sum(work.median for work in slow), max(work.peak for work in slow))
        extra = [(work, "") for work in (*slow, both)]
    table(analyze, "", (scan, "ratio at most 1.5"), (with_work, ""), (with_reports, ""),
          (stats, ""), *extra)
    say(f"\nWith GPU work it takes {shown(with_work.median / analyze.median)} times as long as "
        "the ranges alone (target: at most 1.5).")
    if NSYS:
        check_pipeline(run)
    else:
        say("\n(nsys is left out: none was given with the meson option `nsys_dir`.)")


@part
def growth(options):
    """The native engine by size. All sizes in turn, so that they meet the same moments."""
    sizes = [10 ** n for n in range(4, 9) if 10 ** n <= options.largest]
    runs = [make_run(options, f"growth-{n}", n, n * 9 // 10) for n in (10, *sizes)]
    works = [native_works(run) for run in runs]
    in_turn(options, [work for pair in works for work in pair])
    least = works[0][1].peak
    points = [plot.Point(ranges, scan.median, analyze.median,
                         (analyze.peak - least) * 2**20 / ranges)
              for ranges, (scan, analyze) in zip(sizes, works[1:])]
    say("\n### Growth\n\nNative engine, the ranges alone; nine GPU operations for ten ranges. "
        f"Medians of {options.repeat}. A run of ten ranges has a peak of {least:.1f} MB.\n")
    say("| ranges | file MB | scan s | `nvtxa analyze` s | least | most | of the scan | ns a range "
        "| peak MB | bytes a range (target: at most 48) |")
    say("| --- " * 10 + "|")
    for point, run, (_, analyze) in zip(points, runs[1:], works[1:]):
        cells = [f"{point.ranges:,}", f"{(run / 'trace.sqlite').stat().st_size / 1e6:.0f}",
                 shown(point.scan_s), shown(point.analyze_s), shown(min(analyze.seconds)),
                 shown(max(analyze.seconds)), shown(point.analyze_s / point.scan_s),
                 f"{point.analyze_s / point.ranges * 1e9:.0f}", f"{analyze.peak:.0f}",
                 f"{point.bytes_a_range:.1f}"]
        say(f"| {' | '.join(cells)} |")
    for before, after in zip(points, points[1:]):
        goal = " (target: at most 12)" if after.ranges == 10_000_000 else ""
        say(f"\nFrom {before.ranges:,} to {after.ranges:,} ranges: "
            f"{shown(after.analyze_s / before.analyze_s)}-fold time{goal}.")
    if options.plot:
        options.plot.write_text(plot.draw(points), encoding="utf-8")


@part
def large(options):
    """Many more ranges than GPU operations, nested deeper."""
    scale = options.scale
    run = make_run(options, "large", round(16_000_000 * scale), round(2_200_000 * scale), depth=3)
    scan, analyze = native_works(run)
    in_turn(options, [scan, analyze])
    say(f"\n### Large\n\n{describe_export(run)}.")
    table(analyze, "under 10 s", (scan, ""))


@part
def start(options):
    """What a call costs that does nothing."""
    version = Command("`nvtxa --version`", [NVTXA, "--version"])
    nothing = Command("`true`, to start any process", [shutil.which("true")])
    in_turn(argparse.Namespace(meter=options.meter, repeat=50), [nothing, version])
    say("\n### Start")
    table(version, "under 0.005 s", (nothing, ""))


def processor():
    try:
        found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(),
                          re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("meter", metavar="METER", type=os.path.abspath)
    parser.add_argument("--only", metavar="PARTS", default=",".join(PARTS),
                        help="which, with commas between them (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=5, help="how often (default: %(default)s)")
    parser.add_argument("--scale", type=float, default=1,
                        help="size of csv, native and large (default: 1, of a million ranges)")
    parser.add_argument("--largest", type=int, default=10_000_000,
                        help="ranges at the end of the growth (default: %(default)s)")
    parser.add_argument("--output", metavar="FILE.md", type=pathlib.Path,
                        help="write what is printed to a file as well")
    parser.add_argument("--plot", metavar="FILE.svg", type=pathlib.Path, help="draw the growth")
    options = parser.parse_args()
    options.only = options.only.split(",")
    if not set(options.only) <= set(PARTS):
        parser.error(f"the parts are {', '.join(PARTS)}")
    if options.largest < 10_000:
        parser.error("the growth starts at 10000 ranges")
    if options.plot and "growth" not in options.only:
        parser.error("--plot draws the growth: take it in with --only")
    return options


def main():
    options = parse()
    say(f"{os.cpu_count()} processors, {processor()}; Python {platform.python_version()}; files in "
        "memory.")
    for name in options.only:
        with tempfile.TemporaryDirectory(prefix="nvtxa-bench-") as directory:
            options.top = pathlib.Path(directory)
            PARTS[name](options)
    if options.output:
        options.output.write_text("".join(said), encoding="utf-8")


main()
