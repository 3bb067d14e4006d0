#!/usr/bin/env python3
"""What lies in a run directory and what nsys does with it: each test is a way in which a run went
wrong and a reader did not notice. testdata/fake-nsys plays the part of nsys."""
import json
import os

from plain import ITERATION, MANIFEST, ReportCase, capture, reports
from support import NVTXA, SOURCE, main, run, warning_with

FAKE = SOURCE / "testdata" / "fake-nsys"
SECRET = "secret-7d793037a0760186"
TAG = "fake"  # fake-nsys ends the capture range's name with it
FAKE_MANIFEST = MANIFEST.replace("iterations: 3", "iterations: 1").replace(
    "profile-target", f"profile-target {TAG}")


class ExportCase(ReportCase):
    """A run directory with a trace; fake-nsys makes the reports: one iteration of 50 ns."""

    def traced(self, name="run", trace="a trace", manifest=FAKE_MANIFEST):
        directory = self.top / name
        self.write(directory / "manifest.yaml", manifest)
        self.write(directory / "trace.nsys-rep", trace)
        return directory

    def environment(self, **fake):
        return dict(os.environ, FAKE_LOG=str(self.top / "log"), FAKE_TAG=TAG, **fake)

    def export(self, directory, *options, status=0, cwd=None, **fake):
        return self.analyze(directory, "--nsys", FAKE, *options, status=status, cwd=cwd,
                            env=self.environment(**fake))

    def fails(self, directory, *texts, options=(), **fake):
        done = self.export(directory, *options, status=1, **fake)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assert_no_result(directory)
        return done.stderr

    def calls(self):
        """What fake-nsys was called with, where, and what it saw of the environment."""
        lines = (self.top / "log").read_text().splitlines()
        return {word: [line.split(" ", 1)[1] for line in lines if line.startswith(word + " ")]
                for word in ("call", "cwd", "env")}


class Success(ExportCase):
    """nsys exits 0 whatever happens: what it wrote and said is what counts."""

    def test_it_works(self):
        directory = self.traced()
        self.export(directory)
        (entry,) = self.result(directory)["iterations"]
        self.assertEqual(entry["host"]["inclusive_ns"], 50)

    def test_cpu_only(self):
        """SKIPPED for want of CUDA data: no GPU work, and that is all."""
        directory = self.traced()
        self.export(directory, FAKE_GPU="skipped")
        analysis = self.result(directory)
        self.assertIsNone(analysis["iterations"][0]["gpu_projection"])
        self.assertTrue(warning_with(analysis, "Missing GPU projections for iterations: [0]."))

    def test_crashed_report_scripts(self):
        """Two reports of zero bytes and two ERROR lines, at exit status 0."""
        self.fails(self.traced(), "nvtx_pushpop_trace", "ERROR", "Module threw exception",
                   FAKE_HOST="error", FAKE_GPU="error")

    def test_crashed_gpu_report(self):
        """A zero-byte GPU report beside an ERROR line is no CPU-only capture."""
        self.fails(self.traced(), "nvtx_gpu_proj_trace", "ERROR", FAKE_GPU="error")

    def test_stopped_half_way(self):
        """One byte that is no UTF-8: half of the rows, well formed, and an ERROR line."""
        self.fails(self.traced(), "nvtx_pushpop_trace", "Could not decode to UTF-8",
                   FAKE_HOST="error-half")

    def test_report_unknown(self):
        self.fails(self.traced(), "nvtx_pushpop_trace", FAKE_HOST="unknown")

    def test_no_push_pop_ranges(self):
        self.fails(self.traced(), "nvtx_pushpop_trace", "NVTX", FAKE_HOST="skipped")

    def test_old_report_names(self):
        """nsys 2022.4 knows the reports by other names; asked for the new ones it exits 0."""
        directory = self.traced()
        self.export(directory, FAKE_NAMES="old")
        analysis = self.result(directory)
        self.assertEqual(sorted(analysis["provenance"]["reports"]),
                         ["cuda_gpu_kern_sum", "cuda_gpu_trace", "nvtx_gpu_proj_trace",
                          "nvtx_pushpop_trace"])
        self.assertEqual(sorted(p.name for p in (directory / "stats").iterdir()),
                         ["export.json", "nsys_gpukernsum.csv", "nsys_gputrace.csv",
                          "nsys_nvtxgpuproj.csv", "nsys_nvtxpptrace.csv"])

    def test_gpu_work(self):
        """Sizes in bytes: by itself nsys rounds them to thousands of kilobytes."""
        directory = self.traced()
        self.export(directory)
        reports_made = [call for call in self.calls()["call"] if "--report=cuda_gpu_" in call]
        self.assertEqual([call.split()[1:3] for call in reports_made],
                         [["--report=cuda_gpu_kern_sum", "--format=csv"],
                          ["--report=cuda_gpu_trace", "--format=csv:mem=B"]])
        record = json.loads((directory / "stats" / "export.json").read_text())
        self.assertEqual(sorted(record["reports"]), ["cuda_gpu_kern_sum", "cuda_gpu_trace",
                                                     "nvtx_gpu_proj_trace", "nvtx_pushpop_trace"])
        for report in record["reports"].values():
            self.assertEqual((directory / "stats" / report["file"]).stat().st_size,
                             report["size_bytes"])

    def test_gpu_work_that_nsys_does_not_tell_of(self):
        """Neither report, and no empty one: that would say that there was no such work."""
        directory = self.traced()
        self.export(directory)
        warnings = self.result(directory)["warnings"]
        for setting, notice in (({"FAKE_NAMES": "ranges"}, "does not offer both reports"),
                                ({"FAKE_OPERATIONS": "skipped-for-table"}, "TARGET_INFO_GPU"),
                                ({"FAKE_OPERATIONS": "skipped-for-column"}, "greenContextId")):
            with self.subTest(notice):
                done = self.export(directory, **setting)
                self.assertIn(notice, done.stderr)
                self.assertEqual(self.result(directory)["warnings"], warnings)
                self.assertEqual(sorted(p.name for p in (directory / "stats").iterdir()),
                                 ["export.json", "nsys_nvtx_gpu_proj_trace.csv",
                                  "nsys_nvtx_pushpop_trace.csv"])

    def test_crashed_report_of_gpu_work(self):
        self.fails(self.traced(), "cuda_gpu_trace", "ERROR", FAKE_OPERATIONS="error")

    def test_unknown_version(self):
        directory = self.traced()
        self.export(directory, FAKE_VERSION="fail")
        analysis = self.result(directory)
        self.assertEqual(analysis["provenance"]["nsys_version"], "unknown")
        self.assertTrue(warning_with(analysis, "Could not determine the Nsight Systems version"))


class Leftovers(ExportCase):
    """Files of an earlier run must never be read as this one's."""

    def stale(self):
        directory = self.traced()
        for name in ("nvtx_pushpop_trace.csv", "nvtx_gpu_proj_trace.csv", "trace.sqlite",
                     "stats/nsys_nvtx_pushpop_trace.csv", "stats/nsys_nvtx_gpu_proj_trace.csv",
                     "stats/trace.sqlite"):
            host, gpu = reports([capture()])
            self.write(directory / name, gpu if "gpu" in name else host)
        return directory

    def test_new_reports_are_read(self):
        directory = self.stale()
        self.export(directory)
        self.assertEqual([i["host"]["inclusive_ns"] for i in self.result(directory)["iterations"]],
                         [50])

    def test_nsys_skips_for_a_file_that_exists(self):
        self.fails(self.stale(), "exists", FAKE_HOST="skipped-exists")

    def test_failure_reads_nothing_old(self):
        directory = self.stale()
        old = (directory / "stats" / "nsys_nvtx_pushpop_trace.csv").read_bytes()
        self.fails(directory, FAKE_GPU="error")
        self.assertEqual((directory / "stats" / "nsys_nvtx_pushpop_trace.csv").read_bytes(), old)

    def test_result_is_kept(self):
        """A failed run leaves the last result as it was."""
        directory = self.traced()
        old = self.write(directory / "analysis.json", "the old one")
        self.export(directory, status=1, FAKE_HOST="error")
        self.assertEqual(old.read_text(), "the old one")

    def test_reports_of_another_trace(self):
        directory = self.traced()
        self.export(directory)
        self.write(directory / "trace.nsys-rep", "another trace")
        self.analyze(directory, "--no-export")
        self.assertTrue(warning_with(self.result(directory), "another trace"))

    def test_reports_of_nobody_knows_what(self):
        analysis = self.good_of([capture()])
        self.assertEqual(analysis["iterations"][0]["host"], ITERATION)
        self.assertTrue(warning_with(analysis, "export.json"))
        self.assertTrue(warning_with(analysis, "Could not determine the Nsight Systems version"))


class NoTrace(ExportCase):
    def without_trace(self, *names):
        directory = self.traced()
        (directory / "trace.nsys-rep").unlink()
        for name in names:
            self.write(directory / name, "x")
        return directory

    def test_nothing(self):
        self.fails(self.without_trace(), "trace.nsys-rep")

    def test_numbered_traces(self):
        """--capture-range-end=repeat numbers its files; "no such file" helped nobody."""
        self.fails(self.without_trace("trace.1.nsys-rep", "trace.2.nsys-rep"), "trace.nsys-rep",
                   "trace.1.nsys-rep", "trace.2.nsys-rep")

    def test_failed_import(self):
        """nsys profile exits 0 and leaves the raw stream."""
        error = self.fails(self.without_trace("trace.qdstrm"), "trace.nsys-rep", "trace.qdstrm")
        self.assertRegex(error, "[Ii]mport")


class Commands(ExportCase):
    """A run directory received from elsewhere must not run code, and its name is only a name."""

    def test_where_nsys_runs(self):
        """In a private directory, not where a planted report script would be found."""
        directory = self.traced()
        elsewhere = self.top / "elsewhere"
        elsewhere.mkdir()
        self.export(directory, cwd=elsewhere, NSYS_STATS_REPORT_PATH=str(elsewhere),
                    PYTHONPATH=str(elsewhere))
        calls = self.calls()
        self.assertEqual(len(calls["call"]), 7)
        for cwd in calls["cwd"]:
            self.assertNotIn(cwd, (str(directory), str(directory / "stats"), str(elsewhere)))
            self.assertFalse(os.path.exists(cwd), "the private directory is gone")
        for variable in calls["env"]:
            self.assertFalse(variable.startswith(("NSYS_STATS_REPORT_PATH=", "PYTHONPATH=")))

    def test_odd_directory_names(self):
        """`@` starts a command in an --output of nsys, and a comma splits it."""
        for name in ("@touch EXECUTED,x", "-v", "a b'c\"d%e"):
            with self.subTest(name):
                directory = self.traced(name)
                done = run([NVTXA, "analyze", "--nsys", FAKE, "--", name], cwd=self.top,
                           env=self.environment())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len(self.result(directory)["iterations"]), 1)
        for call in self.calls()["call"]:
            for word in call.split():
                if word.startswith("--output="):
                    self.assertRegex(word, r"^--output=[A-Za-z0-9._/-]+$")
                    self.assertNotRegex(word, r"^--output=[@-]")

    def test_secrets_stay_in_the_trace(self):
        """A trace holds its program's environment. Nothing of it is shown or kept."""
        directory = self.traced(trace=f"TOKEN={SECRET}\n")
        said = self.export(directory, "-v")
        more = self.export(directory, "-v", status=1, FAKE_HOST="error")
        self.assertNotIn(SECRET, said.stdout + said.stderr + more.stdout + more.stderr)
        for path in directory.rglob("*"):
            if path.is_file() and path.name != "trace.nsys-rep":
                self.assertNotIn(SECRET, path.read_text(), path)
        record = json.loads((directory / "stats" / "export.json").read_text())
        self.assertEqual(record["trace"]["size_bytes"], len(SECRET) + 7)


if __name__ == "__main__":
    main()
