#!/usr/bin/env python3
"""`nvtxa stats` against the `nsys stats` whose place it takes: the same files, the same rows in the
same order, on captures and on generated exports that are larger and more mixed than any capture that
can be made without a GPU. Then both engines of `nvtxa analyze` on them.

Told by the environment: NVTXA_NSYS, a real nsys 2023.4; NVTXA_WORKLOAD, a program to profile.
"""
import csv
import json
import os
import pathlib
import shutil
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import NVTXA, SOURCE, Case, main, run, skip  # noqa: E402

NSYS = os.environ.get("NVTXA_NSYS", "")
WORKLOAD = os.environ.get("NVTXA_WORKLOAD", "")
REPORTS = {"nvtx_pushpop_trace": "nvtxpptrace", "nvtx_gpu_proj_trace": "nvtxgpuproj"}
GPU_REPORTS = ("cuda_gpu_kern_sum", "cuda_gpu_trace", "nvtx_kern_sum")
NAMES = ("Name", "NameTree", "NVTX Range")
# What an analysis is made from, and the formats that nsys is asked for.
RANGE_FORMATS = dict.fromkeys(REPORTS, "csv")
WORK_FORMATS = {"cuda_gpu_kern_sum": "csv", "cuda_gpu_trace": "csv:mem=B"}


def level(row):
    """nsys 2023.4 writes no colon before a name of the default domain; 2025.1 does, and we do."""
    for column in NAMES:
        if column in row:
            dashes = len(row[column]) - len(row[column].lstrip("-"))
            row[column] = row[column][:dashes] + row[column][dashes:].removeprefix(":")
    return row


def read(path):
    """The rows of ranges, in their order, and the row of work outside every range."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [level(row) for row in csv.DictReader(file)]
    return ([row for row in rows if row["RangeId"]], [row for row in rows if not row["RangeId"]])


class RowsCase(Case):
    def generate(self, *options):
        path = self.top / "trace.sqlite"
        done = run([sys.executable, SOURCE / "testdata" / "generate_export.py", *options, path])
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def capture(self):
        """What a real program's capture is exported to."""
        path = self.top / "captured.sqlite"
        for _ in range(10):  # on a busy machine nsys now and then loses a short program's ranges
            run([NSYS, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "-e",
                 "NSYS_NVTX_PROFILER_REGISTER_ONLY=0", "--force-overwrite=true", "-o",
                 self.top / "captured", WORKLOAD, "5", "3"], cwd=self.top)
            run([NSYS, "export", "--type=sqlite", "--force-overwrite=true", f"--output={path}",
                 self.top / "captured.nsys-rep"], cwd=self.top)
            with sqlite3.connect(path) as database:
                if database.execute("SELECT count(*) FROM sqlite_master WHERE name = "
                                    "'NVTX_EVENTS'").fetchone() == (1,):
                    return path
        raise AssertionError("nsys captured no range in ten attempts")

    def both(self, database, *options, reports=tuple(REPORTS), only_nsys=(), only_ours=()):
        """Have nsys and nvtxa write the same reports; gives the names of the files."""
        asked = [f"--report={report}" for report in reports]
        for directory, command in ((self.top / "nsys", [NSYS, "stats", "-q", *only_nsys]),
                                   (self.top / "ours", [NVTXA, "stats", "-q", *only_ours])):
            directory.mkdir()
            done = run([*command, *asked, *options, "-o", "out", database], cwd=directory)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        names = sorted(p.name for p in (self.top / "nsys").iterdir())
        self.assertEqual(sorted(p.name for p in (self.top / "ours").iterdir()), names)
        return names

    def assert_rows(self, name, ordered=True):
        (want, want_outside), (got, got_outside) = (read(self.top / side / name)
                                                    for side in ("nsys", "ours"))
        self.assertGreater(len(want), 0, name)
        self.assertEqual(len(got), len(want), name)
        self.assertEqual(list(got[0]), list(want[0]), name)
        host = "Start (ns)" in want[0]
        order = ("Start (ns)", "Duration (ns)") if host else ("RangeId",)
        # Rows that nsys's own order does not tell apart are held against each other by their ids.
        if ordered:
            self.assertEqual([[row[c] for c in order] for row in got],
                             [[row[c] for c in order] for row in want], f"{name}: the order")
        by_id = {row["RangeId"]: row for row in got}
        for row in want:
            self.assertEqual(by_id[row["RangeId"]], row, name)
        # Which thread nsys names in it is arbitrary, and it counts a correlation id that two processes
        # have once, though those are two operations.
        for want_row, row in zip(want_outside, got_outside, strict=True):
            self.assertGreaterEqual(int(row["NumGPUOps"]), int(want_row["NumGPUOps"]))
            for column in ("PID", "TID", "NumGPUOps"):
                row[column] = want_row[column] = None
            self.assertEqual(row, want_row, name)

    def assert_equal_rows(self, database, count=None):
        for name in self.both(database):
            self.assert_rows(name)
        if count is not None:
            self.assertGreaterEqual(len(read(self.top / "ours" / "out_nvtx_pushpop_trace.csv")[0]),
                                    count)

    def make_reports(self, directory, formats):
        """nsys's reports of directory/trace.sqlite, each in the format that an export has it in."""
        for report, form in formats.items():
            done = run([NSYS, "stats", "-q", f"--report={report}", f"--format={form}", "-o",
                        directory / "stats" / "nsys", directory / "trace.sqlite"], cwd=self.top)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def one_engine(self, directory, engine, *options):
        self.analyze(directory, "--engine", engine, "--no-export", "--no-reports", *options)
        analysis = self.result(directory)
        self.assertEqual(analysis.pop("provenance")["engine"], engine)
        analysis["warnings"] = [w for w in analysis["warnings"]
                                if "which trace the reports" not in w and
                                "trace.nsys-rep is absent" not in w and
                                "Could not determine the Nsight" not in w and
                                "The trace does not hold the calls" not in w]
        return analysis

    def assert_equal_analyses(self, database, capture_range, formats, *options):
        """nsys's reports and the SQLite export that they were made from. What only single operations
        tell is null there."""
        directory = self.top / "run"
        (directory / "stats").mkdir(parents=True)
        shutil.copyfile(database, directory / "trace.sqlite")
        self.make_reports(directory, formats)
        self.write(directory / "manifest.yaml", f"capture_range: {capture_range}\n")
        theirs, ours = (self.one_engine(directory, e, *options) for e in ("nsys", "native"))
        for item in [ours, *ours["gpu_projected_ranges"], *ours["iterations"]]:
            for key in {"gpu_work", "gpu_devices"} & item.keys():
                item[key] = None
        self.assertEqual(*(json.dumps(a, indent=1, sort_keys=True) for a in (theirs, ours)))
        self.assertGreater(len(ours["host_ranges"]), 0)
        return ours["capture_gpu_work"]


class Rows(RowsCase):
    def test_capture(self):
        self.assert_equal_rows(self.capture_host_only())

    def capture_host_only(self):
        """Without a GPU nsys refuses the other report; the capture is given an empty place for it."""
        path = self.capture()
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, "
                             "globalTid INTEGER, correlationId INTEGER)")
            database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, "
                             "correlationId INTEGER, globalPid INTEGER)")
            # One kernel for each range that lasts: launched from its first tenth.
            database.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start + (end - start) / 10, "
                "start + (end - start) / 5, globalTid, rowid FROM NVTX_EVENTS "
                "WHERE eventType = 59 AND end - start > 1000")
            database.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start + (end - start) / 2, "
                "start + end - start + 777, rowid, globalTid & ~0xFFFFFF FROM NVTX_EVENTS "
                "WHERE eventType = 59 AND end - start > 1000")
        return path

    def test_one_thread(self):
        self.assert_equal_rows(self.generate("--ranges", "3000", "--operations", "2500"), 2900)

    def test_mixed(self):
        """Several threads and processes, domains, start/end ranges, correlation ids in common,
        graph launches, work outside every range."""
        for seed in range(1, 5):
            with self.subTest(seed=seed):
                self.setUp()
                self.assert_equal_rows(self.generate(
                    "--mixed", "--processes", "2", "--threads", "3", "--ranges", "4000",
                    "--operations", "3500", "--seed", str(seed)), 3900)

    def test_many(self):
        self.assert_equal_rows(self.generate(
            "--mixed", "--processes", "3", "--threads", "4", "--ranges", "52000", "--operations",
            "45000", "--seed", "9"), 50000)

    def test_deep(self):
        self.assert_equal_rows(self.generate("--mixed", "--depth", "60", "--ranges", "6000",
                                             "--operations", "3000"), 5800)


class Files(RowsCase):
    def test_old_names(self):
        database = self.generate()
        names = self.both(database, "--format=csv", reports=tuple(REPORTS.values()))
        self.assertEqual(names, ["out_nvtxgpuproj.csv", "out_nvtxpptrace.csv"])
        for name in names:
            self.assert_rows(name, ordered=False)  # what nsys kept under these names sorts otherwise

    def test_tsv(self):
        names = self.both(self.generate(), "--format=tsv")
        self.assertEqual(names, ["out_nvtx_gpu_proj_trace.tsv", "out_nvtx_pushpop_trace.tsv"])
        for name in names:
            theirs, ours = ((self.top / side / name).read_text().split("\n")
                            for side in ("nsys", "ours"))
            self.assertEqual(ours[0], theirs[0])
            self.assertEqual([line.replace(":profile-target", "profile-target")
                              for line in ours if "profile-target" in line],
                             [line for line in theirs if "profile-target" in line])

    def test_json(self):
        names = self.both(self.generate(), "--format=json")
        for name in names:
            theirs, ours = (json.loads((self.top / side / name).read_text())
                            for side in ("nsys", "ours"))
            self.assertEqual(len(ours), len(theirs))
            by_id = {row["RangeId"]: level(row) for row in ours}
            for row in theirs:
                self.assertEqual(by_id[row["RangeId"]], row)


class GpuRows(RowsCase):
    """The reports of kernels, copies and fills. nsys writes sizes in bytes if it is asked to; its
    default is megabytes with three decimals."""

    def tables(self, report):
        for side in ("nsys", "ours"):
            with open(self.top / side / f"out_{report}.csv", newline="", encoding="utf-8") as file:
                yield list(csv.DictReader(file))

    def assert_equal_gpu_rows(self, database):
        """Gives how many rows the reports have."""
        self.both(database, reports=GPU_REPORTS, only_nsys=["--format=csv:mem=B"])
        return [self.assert_equal_kernels(), self.assert_equal_trace(), self.assert_equal_sums()]

    def assert_equal_kernels(self):
        theirs, ours = self.tables("cuda_gpu_kern_sum")
        self.assertEqual(ours, theirs)
        return len(ours)

    def assert_equal_trace(self):
        """Operations that start together are in no certain order there."""
        theirs, ours = self.tables("cuda_gpu_trace")
        self.assertEqual(list(ours[0]), list(theirs[0]))
        self.assertEqual([row["Start (ns)"] for row in ours], [row["Start (ns)"] for row in theirs])
        by_start = [sorted(rows, key=lambda row: (int(row["Start (ns)"]), *row.values()))
                    for rows in (ours, theirs)]
        self.assertEqual(len(ours), len(theirs))
        for row, their_row in zip(*by_start):
            self.assertEqual(row, their_row)
        return len(ours)

    def assert_equal_sums(self):
        """nsys sorts by names without the colon."""
        theirs, ours = self.tables("nvtx_kern_sum")
        self.assertEqual(list(ours[0]), list(theirs[0]))
        order = [(row["NVTX Range"], int(row["PID"] or -1), int(row["TID"] or -1),
                  -int(row["Total Time (ns)"]), row["Style"], row["Kernel Name"]) for row in ours]
        self.assertEqual(order, sorted(order))
        self.assertEqual(len(ours), len(theirs))
        for row, their_row in zip(*(sorted(map(level, rows), key=lambda row: tuple(row.values()))
                                    for rows in (ours, theirs))):
            self.assertEqual(row, their_row)
        return len(ours)

    def test_one_thread(self):
        """Ranges that nest, and one kernel's name."""
        self.assertEqual(self.assert_equal_gpu_rows(self.generate("--depth", "2")), [1, 900, 13])

    def test_mixed(self):
        for seed in range(1, 5):
            with self.subTest(seed=seed):
                self.setUp()
                counts = self.assert_equal_gpu_rows(self.generate(
                    "--mixed", "--processes", "2", "--threads", "3", "--ranges", "4000",
                    "--operations", "3500", "--seed", str(seed)))
                self.assertEqual(counts[0], 5)
                self.assertGreater(counts[1], 4000)
                self.assertGreater(counts[2], 500)

    def test_many(self):
        self.assert_equal_gpu_rows(self.generate(
            "--mixed", "--processes", "3", "--threads", "4", "--ranges", "52000", "--operations",
            "45000", "--seed", "9"))

    def test_deep(self):
        """Many ranges of one name inside each other: a kernel counts under each."""
        self.assert_equal_gpu_rows(self.generate("--mixed", "--depth", "60", "--ranges", "6000",
                                                 "--operations", "3000"))

    def test_durations(self):
        """Means, medians, deviations and shares of all kinds of durations, as they are rounded."""
        database = self.generate("--mixed", "--threads", "2")
        with sqlite3.connect(database) as connection:
            connection.execute("INSERT INTO StringIds SELECT 1000 + rowid, 'kernel ' || rowid "
                               "FROM CUPTI_ACTIVITY_KIND_RUNTIME")
            connection.execute(
                "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 1001 + correlationId * 7 % 90, "
                "end = start + (correlationId * correlationId * 7919 % 1000003 >> correlationId % 20) "
                "WHERE correlationId < 900")
        self.assertGreater(self.assert_equal_gpu_rows(database)[0], 80)

    def test_json(self):
        self.both(self.generate("--mixed"), reports=GPU_REPORTS, only_nsys=["--format=json:mem=B"],
                  only_ours=["--format=json"])
        for report in GPU_REPORTS:
            theirs, ours = (json.loads((self.top / side / f"out_{report}.json").read_text())
                            for side in ("nsys", "ours"))
            self.assertEqual(*(sorted(rows, key=lambda row: [str(v) for v in row.values()])
                               for rows in (map(level, ours), theirs)))


class Engines(RowsCase):
    def test_generated(self):
        """One process: see assert_rows() for what nsys counts otherwise in several."""
        work = self.assert_equal_analyses(self.generate(
            "--mixed", "--threads", "4", "--ranges", "9000", "--operations", "8000"),
            "profile-target", RANGE_FORMATS | WORK_FORMATS)
        self.assertEqual({key: len(items) > 1 for key, items in work.items()},
                         dict.fromkeys(("kernels", "memory_sets", "memory_transfers"), True))

    def test_capture(self):
        """It has kernels without devices, of which nsys makes no reports."""
        self.assert_equal_analyses(Rows.capture_host_only(self), "profile-target", RANGE_FORMATS,
                                   "--no-gpu-work")


if __name__ == "__main__":
    if not os.access(NSYS, os.X_OK):
        skip(f"there is no nsys at {NSYS!r} (meson option `nsys_dir`)")
    if not WORKLOAD:
        skip("the program to profile was not built: no NVTX headers here")
    main()
