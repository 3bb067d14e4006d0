#!/usr/bin/env python3
"""The examples run and do what they say.

usage: test_examples.py      finds the built programs below NVTXA_BUILD_ROOT
"""
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import BUILD, NVTXA, SAMPLE, SOURCE, Case, main, run  # noqa: E402

PROGRAMS = BUILD / "examples"


class Examples(Case):
    def setUp(self):
        super().setUp()
        self.sample = self.top / "sample"
        shutil.copytree(SAMPLE, self.sample)

    def example(self, name, *arguments, status=0, **options):
        done = run([PROGRAMS / name, *arguments], **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_analyze_run(self):
        """The same bytes as the command gives."""
        out = self.top / "out.json"
        self.example("01_analyze_run", "--no-export", self.sample, out)
        self.analyze(self.sample, "--no-export")
        self.assertEqual(out.read_bytes(), (self.sample / "analysis.json").read_bytes())

    def test_analyze_run_says_what_went_wrong(self):
        report = self.sample / "stats" / "nsys_nvtx_pushpop_trace.csv"
        report.write_text(report.read_text().replace("31998670", "31998x70"))
        done = self.example("01_analyze_run", "--no-export", self.sample, self.top / "o", status=1)
        for text in ("NVTXA_ERROR_REPORT_VALUE", "nsys_nvtx_pushpop_trace.csv:7", "Duration (ns)",
                     "31998x70"):
            self.assertIn(text, done.stderr)
        self.assertFalse((self.top / "o").exists())

    def test_parse_report(self):
        stats = self.sample / "stats"
        done = self.example("02_parse_report", "host", stats / "nsys_nvtx_pushpop_trace.csv")
        self.assertTrue(done.stdout.startswith("58 ranges\n"), done.stdout)
        self.assertIn("31998670 ns  :profile-target", done.stdout)
        self.assertEqual(len(done.stdout.splitlines()), 6)
        done = self.example("02_parse_report", "gpu", stats / "nsys_nvtx_gpu_proj_trace.csv")
        self.assertTrue(done.stdout.startswith("34 ranges\n"), done.stdout)
        self.example("02_parse_report", "gpu", stats / "export.json", status=1)

    def test_read_sqlite(self):
        """What `nvtxa stats` prints of the same export."""
        database = self.top / "trace.sqlite"
        run([sys.executable, SOURCE / "testdata" / "generate_export.py", "--threads", "2",
             "--ranges", "200", database])
        done = self.example("05_read_sqlite", database)
        wanted = run([NVTXA, "stats", "-r", "nvtx_gpu_proj_trace", "-f", "json", database])
        self.assertEqual(done.stdout, wanted.stdout)
        self.assertGreater(len(json.loads(done.stdout)), 100)
        self.assertRegex(done.stderr, r"process 4000, thread 4000: \d+ ranges\n"
                                      r"process 4000, thread 4001: \d+ ranges\n")
        with sqlite3.connect(database) as connection:
            (ranges,) = connection.execute(
                "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59").fetchone()
        counts = re.findall(r"thread \d+: (\d+) ranges", done.stderr)
        self.assertEqual(sum(map(int, counts)), ranges)

    def test_read_sqlite_says_what_is_wrong(self):
        path = self.top / "other.sqlite"
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE something (x)")
        self.assertIn("NVTX_EVENTS", self.example("05_read_sqlite", path, status=1).stderr)
        self.example("05_read_sqlite", self.top / "absent.sqlite", status=1)
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAMS / "05_read_sqlite", self.mixed()], stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("warning: 1 GPU operation was launched outside", done.stderr)

    def mixed(self):
        path = self.top / "mixed.sqlite"
        run([sys.executable, SOURCE / "testdata" / "generate_export.py", "--mixed", path])
        return path

    def test_gpu_work(self):
        """The same numbers as in the document."""
        directory = self.top / "run"
        directory.mkdir()
        (directory / "manifest.yaml").write_text("capture_range: profile-target\n")
        self.mixed().rename(directory / "trace.sqlite")
        lines = self.example("06_gpu_work", directory).stdout.splitlines()
        self.analyze(directory, "--no-export", "--engine", "native")
        analysis = self.result(directory)
        for group in analysis["gpu_projected_ranges"]:
            work = group["gpu_work"]["inclusive"]
            at = lines.index(f"{group['context']} {group['name']}: {work['operations']} operations, "
                             f"busy for {work['busy_ns']} ns of a span of {work['span_ns']} ns")
            if work["kernels"]["largest"]:
                largest = work["kernels"]["largest"][0]
                self.assertEqual(lines[at + 1], f"  mostly {largest['name']}: "
                                 f"{largest['instances']} times, "
                                 f"{largest['cumulative_duration_ns']} ns in sum")
        for device in analysis["gpu_devices"]:
            self.assertIn(f"device {device['device_id']}: {device['operations']} operations, "
                          f"{device['attributed']} of them in a scope or iteration", lines)
        self.example("06_gpu_work", self.top / "nowhere", status=1)

    def test_walk_scopes(self):
        done = self.example("03_walk_scopes", self.sample)
        lines = done.stdout.splitlines()
        self.assertEqual(sum(line.endswith(" ns") and line.split()[0] in "0123"
                             for line in lines), 4)
        scopes = [line for line in lines if line.startswith("  ") or line[:1].isalpha()]
        self.assertTrue(any(line.startswith("  resize ") for line in scopes), done.stdout)
        self.assertIn("postprocessing.resize on the GPU: a mean span of", done.stdout)

    def test_ranges_from_elsewhere(self):
        """Hierarchy from times alone, and no number where there was no GPU."""
        analysis = json.loads(self.example("04_ranges_from_elsewhere").stdout)
        self.assertEqual([i["host"]["exclusive_ns"] for i in analysis["iterations"]],
                         [2000, 1900, 1800])
        self.assertIsNone(analysis["iteration_summary"]["gpu_projected"])
        self.assertEqual(analysis["provenance"]["nsys_version"], "unknown")

    def test_workload(self):
        """Without a profiler, the annotated program just runs."""
        if not (PROGRAMS / "nvtx_workload").exists():
            self.skipTest("nvtx_workload was not built: no NVTX headers here")
        self.assertIn("2 iterations", self.example("nvtx_workload", "2", "3").stdout)

    def test_quickstart_summary(self):
        """What the README's first command ends with."""
        done = run([NVTXA, "analyze", "--no-export", self.sample])
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("sample-detector", "4 of 4", "infer", "GPU", "Wrote analysis: "):
            self.assertIn(text, done.stdout)


if __name__ == "__main__":
    main()
