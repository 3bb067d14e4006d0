#!/usr/bin/env python3
"""`nvtxa stats`: its command line, its files, and what it prints."""
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cli_case import CliCase  # noqa: E402
from support import SOURCE, main, run  # noqa: E402

HOST, GPU = "nvtx_pushpop_trace", "nvtx_gpu_proj_trace"
KERNELS, TRACE, SUMS = "cuda_gpu_kern_sum", "cuda_gpu_trace", "nvtx_kern_sum"


class StatsCase(CliCase):
    def setUp(self):
        super().setUp()
        self.sqlite = self.top / "trace.sqlite"
        done = run([sys.executable, SOURCE / "testdata" / "generate_export.py", "--ranges", "5",
                    "--operations", "2", self.sqlite])
        self.assertEqual(done.returncode, 0, done.stderr)

    def stats(self, *arguments, status=0, **more):
        done = self.nvtxa("stats", *arguments, **more)
        self.assert_status(done, status)
        return done

    def files(self):
        return sorted(p.name for p in self.top.iterdir() if p.name not in ("bin", "trace.sqlite"))


class CommandLine(StatsCase):
    def test_help(self):
        done = self.golden("stats-help", "stats", "--help")
        self.assertEqual(self.nvtxa("help", "stats").stdout, done.stdout)

    def test_wrong(self):
        self.golden("stats-no-file", "stats")
        self.golden("stats-two-files", "stats", "a.sqlite", "b.sqlite")
        self.golden("stats-unknown-report", "stats", "-r", "nvtx_pushpop_sum", "trace.sqlite")
        self.golden("stats-unknown-report-far", "stats", "-r", "x", "trace.sqlite")
        self.golden("stats-report-twice", "stats", "-r", f"{HOST},nvtxpptrace", "trace.sqlite")
        self.golden("stats-unknown-format", "stats", "-f", "column", "trace.sqlite")
        self.golden("stats-command-output", "stats", "-o", "@less", "trace.sqlite")
        self.golden("stats-flag", "stats", "--force-overwrite=maybe", "trace.sqlite")
        self.assertEqual(self.files(), [])

    def test_bad_files(self):
        (self.top / "text.sqlite").write_text("not a database\n" * 99)
        (self.top / "short.sqlite").write_bytes(self.sqlite.read_bytes()[:9000])
        self.golden("stats-missing", "stats", "missing.sqlite")
        self.golden("stats-text", "stats", "text.sqlite")
        self.golden("stats-short", "stats", "short.sqlite")
        self.golden("stats-directory", "stats", "bin")
        self.golden("stats-no-nsys", "stats", "missing.nsys-rep")


class Output(StatsCase):
    def test_standard_output(self):
        """Both reports, with a line between, as nsys prints them."""
        self.golden("stats", "stats", "trace.sqlite")
        self.golden("stats-json", "stats", "-r", GPU, "-f", "json", "trace.sqlite")
        self.golden("stats-tsv", "stats", "-r", "nvtxgpuproj", "-f", "tsv", "trace.sqlite")

    def test_files(self):
        self.golden("stats-files", "stats", "-r", f"{HOST},nvtxgpuproj", "-o", "out", "trace.sqlite")
        self.assertEqual(self.files(), ["out_nvtx_pushpop_trace.csv", "out_nvtxgpuproj.csv"])
        done = self.stats("-r", HOST, "trace.sqlite")
        self.assertEqual((self.top / "out_nvtx_pushpop_trace.csv").read_bytes(), done.stdout)

    def test_dot_is_the_name_of_the_file(self):
        (self.top / "a.b").mkdir()
        shutil.copyfile(self.sqlite, self.top / "a.b" / "noextension")
        self.stats("-q", "-r", HOST, "-f", "json", "-o", ".", "trace.sqlite")
        self.stats("-q", "-r", HOST, "-o", ".", "a.b/noextension")
        self.assertEqual(self.files(), ["a.b", "trace_nvtx_pushpop_trace.json"])
        json.loads((self.top / "trace_nvtx_pushpop_trace.json").read_bytes())
        self.assertTrue((self.top / "a.b" / "noextension_nvtx_pushpop_trace.csv").exists())

    def test_existing_files_are_kept(self):
        old = self.write(self.top / f"out_{GPU}.csv", "the old one")
        self.golden("stats-exists", "stats", "-o", "out", "trace.sqlite")
        self.stats("--force-overwrite=false", "-o", "out", "trace.sqlite", status=1)
        self.assertEqual(old.read_text(), "the old one")
        self.assertEqual(self.files(), [old.name])
        self.stats("--force-overwrite=true", "--force-export", "-o", "out", "trace.sqlite")
        self.assertIn(":profile-target", old.read_text())

    def test_nowhere(self):
        done = self.stats("-o", "no/such/out", "trace.sqlite", status=1)
        self.assertIn(b"no/such/out_nvtx_pushpop_trace.csv", done.stderr)
        self.assertIn(b"No such file or directory", done.stderr)

    def test_full_device(self):
        with open("/dev/full", "wb") as full:
            done = self.stats("trace.sqlite", status=1, stdout=full)
        self.assertEqual(done.stderr.decode().splitlines(),
                         ["nvtxa: standard output: cannot write: No space left on device"])

    def test_closed_pipe(self):
        """As `| head` leaves it: an error that says so, not a death by SIGPIPE."""
        big = self.top / "big.sqlite"
        run([sys.executable, SOURCE / "testdata" / "generate_export.py", "--ranges", "9000", big])
        with subprocess.Popen([self.bin / "nvtxa", "stats", big], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.environment()) as process:
            process.stdout.close()
            stderr = process.stderr.read()
        self.assertEqual(process.returncode, 1)
        self.assertEqual(stderr, b"nvtxa: standard output: cannot write: Broken pipe\n")

    def test_terminal(self):
        """What a terminal would act on is shown, not done."""
        with sqlite3.connect(self.sqlite) as database:
            database.execute("UPDATE NVTX_EVENTS SET text = 'red\x1b[31m', textId = NULL "
                             "WHERE text LIKE 'iteration%'")
        plain = self.stats("-r", HOST, "trace.sqlite").stdout.decode()
        self.assertIn(":red\x1b[31m", plain)
        status, shown = self.on_terminal("stats", "--progress=never", "-r", HOST, "trace.sqlite")
        self.assertEqual((status, shown), (0, plain.replace("\x1b", "\\x1B")))

    def test_warnings(self):
        with sqlite3.connect(self.sqlite) as database:
            database.execute("UPDATE NVTX_EVENTS SET end = NULL WHERE text = 'profile-target'")
        done = self.stats("-r", HOST, "trace.sqlite")
        self.assertIn(b"nvtxa: warning: 1 range of nvtx_pushpop_trace had not ended", done.stderr)
        self.assertNotIn(b"warning", done.stdout)


class GpuReports(StatsCase):
    """Those of kernels, copies and fills, and what each needs of the export."""

    def setUp(self):
        super().setUp()
        self.generate("--mixed", "--ranges", "9", "--operations", "10")

    def generate(self, *options):
        done = run([sys.executable, SOURCE / "testdata" / "generate_export.py", *options,
                    self.sqlite])
        self.assertEqual(done.returncode, 0, done.stderr)

    def change(self, *statements):
        with sqlite3.connect(self.sqlite) as database:
            for statement in statements:
                database.execute(statement)

    def test_standard_output(self):
        self.golden("stats-kernels", "stats", "-r", f"{KERNELS},{SUMS}", "trace.sqlite")
        self.golden("stats-gpu-trace", "stats", "-r", TRACE, "trace.sqlite")
        self.golden("stats-kernels-json", "stats", "-r", KERNELS, "-f", "json", "trace.sqlite")

    def test_files(self):
        """All at once, each as it is alone; files are called as the report was asked for."""
        self.stats("-q", "-r", f"{HOST},{SUMS},{TRACE},gpukernsum,{GPU}", "-o", "out", "trace.sqlite")
        self.assertEqual(self.files(), [
            "out_cuda_gpu_trace.csv", "out_gpukernsum.csv", "out_nvtx_gpu_proj_trace.csv",
            "out_nvtx_kern_sum.csv", "out_nvtx_pushpop_trace.csv"])
        for report, name in ((HOST, HOST), (GPU, GPU), (SUMS, "nvtxkernsum"), (TRACE, "gputrace"),
                             ("gpukernsum", KERNELS)):
            alone = self.stats("-r", name, "trace.sqlite").stdout
            self.assertEqual((self.top / f"out_{report}.csv").read_bytes(), alone)

    def test_no_nvtx_data(self):
        """What is about kernels alone needs none; without it they are outside every range."""
        before = self.stats("-r", f"{KERNELS},{TRACE}", "trace.sqlite").stdout
        self.change("DROP TABLE NVTX_EVENTS")
        done = self.stats("-r", f"{KERNELS},{TRACE}", "trace.sqlite")
        self.assertEqual((done.stdout, done.stderr), (before, b""))
        rows = self.stats("-r", SUMS, "trace.sqlite").stdout.splitlines()[1:]
        self.assertGreater(len(rows), 3)
        for row in rows:
            self.assertTrue(row.startswith(b",,"), row)
        done = self.stats("-r", f"{KERNELS},{HOST}", "trace.sqlite", status=1)
        self.assertIn(b"no NVTX data", done.stderr)

    def test_no_gpu_data(self):
        """A header, as in the report of GPU-projected ranges."""
        self.change(*(f"DROP TABLE {table}" for table in (
            "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
            "CUPTI_ACTIVITY_KIND_RUNTIME", "TARGET_INFO_GPU", "ENUM_CUDA_MEM_KIND",
            "ENUM_CUDA_MEMCPY_OPER")))
        for report in (GPU, KERNELS, TRACE, SUMS):
            done = self.stats("-r", report, "trace.sqlite")
            self.assertEqual((done.stdout.count(b"\n"), done.stderr), (1, b""), report)

    def test_warnings(self):
        """Once for a table, and about ranges only where a report shows them."""
        outside = b"launched outside every NVTX range"
        done = self.stats("-r", f"{TRACE},{SUMS},{GPU}", "trace.sqlite")
        self.assertEqual(done.stderr.count(outside), 1)
        self.assertEqual(self.stats("-r", f"{TRACE},{KERNELS}", "trace.sqlite").stderr, b"")
        self.change("UPDATE META_DATA_EXPORT SET value = '9.0' WHERE name LIKE '%SCHEMA%'")
        done = self.stats("-r", f"{KERNELS},{TRACE}", "trace.sqlite")
        self.assertEqual(done.stderr.count(b"follows schema 9.0"), 1)
        self.assertEqual(done.stderr.count(b"warning"), 1)

    def test_column_that_is_missing(self):
        """Of what a report needs alone."""
        self.change("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN gridX")
        self.stats("-r", f"{KERNELS},{SUMS}", "trace.sqlite")
        done = self.stats("-r", TRACE, "trace.sqlite", status=1)
        self.assertIn(b"gridX", done.stderr)


class Traces(StatsCase):
    """A trace is exported by nsys first, here by a stand-in, in a place that is tidied up."""

    def setUp(self):
        super().setUp()
        self.standin_exports()
        self.trace = self.write(self.top / "t" / "trace.nsys-rep", b"a trace")
        shutil.copyfile(self.sqlite, self.top / "t" / "trace.nsys-rep.made")
        self.temporary = self.top / "tmp"
        self.temporary.mkdir()
        self.tmpdir = {"TMPDIR": str(self.temporary)}

    def test_trace(self):
        from_sqlite = self.stats("trace.sqlite").stdout
        done = self.stats("t/trace.nsys-rep", environment=self.tmpdir)
        self.assertEqual(done.stdout, from_sqlite)
        self.assertEqual(list(self.temporary.iterdir()), [])
        self.assertEqual(sorted(p.name for p in (self.top / "t").iterdir()),
                         ["trace.nsys-rep", "trace.nsys-rep.made"])

    def test_from_its_own_directory(self):
        done = subprocess.run([self.bin / "nvtxa", "stats", "trace.nsys-rep"], cwd=self.top / "t",
                              env=self.environment(**self.tmpdir), capture_output=True, check=False)
        self.assert_status(done, 0)

    def test_no_place(self):
        done = self.stats("t/trace.nsys-rep", status=1,
                          environment={"TMPDIR": str(self.top / "nowhere")})
        self.assertIn(b"nowhere", done.stderr)
        self.assertIn(b"TMPDIR", done.stderr)

    def test_no_nsys(self):
        (self.bin / "nsys").unlink()
        done = self.stats("t/trace.nsys-rep", status=1, environment=self.tmpdir)
        self.assertIn(b"nsys", done.stderr)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_damaged_export(self):
        (self.top / "t" / "trace.nsys-rep.made").write_bytes(b"SQLite format 3\0" + b"x" * 9000)
        self.stats("t/trace.nsys-rep", status=1, environment=self.tmpdir)
        self.assertEqual(list(self.temporary.iterdir()), [])


if __name__ == "__main__":
    main()
