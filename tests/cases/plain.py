"""The trace that the cases start from, and its figures.

A capture range of 340,000 ns holds three iterations of 90,000 ns. Each iteration holds `load`
(20,000 ns) and `infer` (50,000 ns); infer launches two GPU operations that span 25,000 ns.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import Case, group  # noqa: E402 (support also makes testdata/ importable)
from nsys_reports import (DIALECTS, GPU_COLUMNS, HOST_COLUMNS, Range,  # noqa: E402
                          gpu_rows, host_rows, reports, to_csv)

BEGIN = 5_000_000
ITERATION = {"inclusive_ns": 90_000, "exclusive_ns": 20_000, "child_total_ns": 70_000}
PROJECTION = {"projected_ns": 25_000, "host_range_total_ns": 90_000, "gpu_operation_count": 2}
CAPTURE = {"inclusive": 340_000, "exclusive": 70_000, "child_total": 270_000}

MANIFEST = """\
profile_name: plain
run_id: "20260101T000000Z"
device: cuda:0
git_commit: 4f2c9d1
capture_range: profile-target
record_ids: [a, b]
workload:
  iterations: 3
cuda: {}
"""


def iteration(index, name=None):
    start = BEGIN + 20_000 + index * 100_000
    load = Range("load", start + 5_000, start + 25_000)
    infer = Range("infer", start + 30_000, start + 80_000,
                  operations=[(start + 45_000, start + 57_000), (start + 60_000, start + 70_000)])
    return Range(name or f"iteration {index}", start, start + 90_000, [load, infer])


def capture(*extra, name="profile-target", steps=None):
    """The capture range around the iterations and whatever else a case puts there."""
    children = sorted([*(steps or map(iteration, range(3))), *extra], key=lambda r: r.start)
    return Range(name, BEGIN, BEGIN + 340_000, children)


class ReportCase(Case):
    """A case whose run directory holds reports and no trace: analysed with --no-export."""

    def run_dir(self, host, gpu, manifest=MANIFEST, version="2025.1", name="run"):
        directory = self.top / name
        dialect = DIALECTS[version]
        self.write(directory / "manifest.yaml", manifest)
        self.write(directory / "stats" / f"nsys_{dialect.host_report}.csv", host)
        self.write(directory / "stats" / f"nsys_{dialect.gpu_report}.csv", gpu)
        return directory

    def run_of(self, roots, version="2025.1", **more):
        return self.run_dir(*reports(roots, version), version=version, **more)

    def good(self, directory, *options):
        self.analyze(directory, "--no-export", *options)
        return self.result(directory)

    def good_of(self, roots, version="2025.1", **more):
        return self.good(self.run_of(roots, version, **more))

    def bad(self, directory, *texts):
        """The run cannot be analysed, and the error says all these texts."""
        done = self.analyze(directory, "--no-export", status=1)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assert_no_result(directory)
        return done.stderr

    def assert_summary(self, summary, values):
        """The six numbers of some durations; exact but for the deviation."""
        ordered, n = sorted(values), len(values)
        middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
        mean = sum(values) / n
        spread = (sum((v - mean) ** 2 for v in values) / (n - 1)) ** 0.5 if n > 1 else 0.0
        self.assertEqual((summary["total_ns"], summary["minimum_ns"], summary["maximum_ns"]),
                         (sum(values), ordered[0], ordered[-1]))
        self.assertEqual((summary["mean_ns"], summary["median_ns"]), (mean, middle))
        self.assertAlmostEqual(summary["stddev_ns"], spread, delta=1e-9 * max(spread, 1))

    def assert_plain_iterations(self, analysis, gpu=True):
        self.assertEqual(analysis["iterations"], [
            {"index": index, "host": ITERATION, "gpu_projection": PROJECTION if gpu else None,
             "gpu_work": None}
            for index in range(3)])

    def assert_plain(self, analysis, gpu=True):
        """All figures of the plain trace."""
        self.assert_plain_iterations(analysis, gpu)
        outer = group(analysis, "host_ranges", "profile-target", context="capture")
        self.assert_summary(outer["inclusive"], [CAPTURE["inclusive"]])
        self.assert_summary(outer["exclusive"], [CAPTURE["exclusive"]])
        self.assertEqual(outer["child_total_ns"], CAPTURE["child_total"])
        for name, duration in (("load", 20_000), ("infer", 50_000)):
            part = group(analysis, "host_ranges", name, context="iteration")
            self.assert_summary(part["inclusive"], [duration] * 3)
            self.assert_summary(part["exclusive"], [duration] * 3)
        if gpu:
            part = group(analysis, "gpu_projected_ranges", "infer", context="iteration")
            self.assert_summary(part["projected"], [25_000] * 3)
            self.assertEqual(part["gpu_operation_count"], 6)
        else:
            self.assertEqual(analysis["gpu_projected_ranges"], [])
            self.assertIsNone(analysis["iteration_summary"]["gpu_projected"])
            self.assertEqual(analysis["iteration_summary"]["gpu_projected_iterations"], 0)


def damaged(change, version="2025.1", roots=None):
    """The plain host report after change(rows) has damaged its rows, as text."""
    rows = host_rows(roots or [capture()], version)
    change(rows)
    return to_csv(rows, HOST_COLUMNS, version)


__all__ = ["BEGIN", "DIALECTS", "GPU_COLUMNS", "HOST_COLUMNS", "ITERATION", "MANIFEST",
           "PROJECTION", "Range", "ReportCase", "capture", "damaged", "gpu_rows", "group",
           "host_rows", "iteration", "reports", "to_csv"]
