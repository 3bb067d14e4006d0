#!/usr/bin/env python3
"""`nvtxa analyze` on a real nsys: right numbers, and one clear error for what goes wrong. And
`nvtxa ranges` and `nvtxa doctor`.

Told by the environment: NVTXA_NSYS, the nsys to use; NVTXA_ENGINE, who computes the ranges;
NVTXA_WORKLOAD and NVTXA_BAD_BYTE, the programs to profile. No GPU is needed, so each capture is of
CPU work.
"""
import contextlib
import csv
import io
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import recount  # noqa: E402
from support import NVTXA, Case, main, run, skip, tmpfs, warning_with  # noqa: E402

NSYS = os.environ.get("NVTXA_NSYS", "")
ENGINE = os.environ.get("NVTXA_ENGINE", "auto")
USE_NSYS = ("--nsys", NSYS, "--engine", ENGINE)
# The native engine leaves no reports of GPU work.
WHAT_REPORTS_HOLD = () if ENGINE == "nsys" else ("--no-gpu-work",)
NEW = b'"exported"' if ENGINE == "nsys" else b'"computed"'
WORKLOAD = os.environ.get("NVTXA_WORKLOAD", "")
BAD_BYTE = os.environ.get("NVTXA_BAD_BYTE", "")
SECRET = "secret-5d41402abc4b2a76"
MANIFEST = """\
profile_name: workload
run_id: captured
device: cpu
capture_range: profile-target
workload:
  iterations: {iterations}
"""
ADD_MEMORY_SET = """\
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as database:
    database.executescript('''
        CREATE TABLE IF NOT EXISTS TARGET_INFO_GPU (id INTEGER, name TEXT);
        CREATE TABLE IF NOT EXISTS ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER,
            contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER,
            value INTEGER, bytes INTEGER, memKind INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (100, 300, 0, 1, 0, 7, 1, 0, 1234567, 2);
    ''')
"""


def profile(trace, *command, options=("-e", "NSYS_NVTX_PROFILER_REGISTER_ONLY=0")):
    """Capture a program's NVTX ranges, and nothing else of it."""
    environment = dict(os.environ, PLANTED_SECRET=SECRET)
    done = run([NSYS, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", *options,
                "--force-overwrite=true", "-o", trace, *command], env=environment,
               cwd=trace.parent)
    if not trace.exists():
        raise AssertionError(f"nsys profile left no trace:\n{done.stdout}{done.stderr}")


def export(trace, to):
    """nsys's own SQLite export of a trace."""
    done = run([NSYS, "export", "--type=sqlite", f"--output={to}", "--force-overwrite=true", trace],
               cwd=to.parent)
    if not to.exists():
        raise AssertionError(f"nsys export left nothing:\n{done.stdout}{done.stderr}")
    return to


def profile_ranges(trace, *command):
    """Capture a program that has ranges. On a busy machine nsys now and then loses all that a short
    program did; that is none of our business here, so it is tried again."""
    for _ in range(10):
        profile(trace, *command)
        if recount.has_ranges(export(trace, trace.with_suffix(".sqlite"))):
            return
    raise AssertionError("nsys captured no range in ten attempts")


def profile_capture_range(trace, *command):
    """Capture from the capture range's begin to its end. Without NSYS_NVTX_PROFILER_REGISTER_ONLY,
    nsys only begins at a name that is a registered string; else it leaves no trace. Tried again
    like profile_ranges()."""
    missing = None
    for _ in range(5):
        try:
            profile(trace, *command, options=(
                "--capture-range=nvtx", "--nvtx-capture=profile-target@*",
                "--capture-range-end=stop"))
        except AssertionError as error:
            missing = error
            continue
        if recount.has_ranges(export(trace, trace.with_suffix(".sqlite"))):
            return
    raise missing or AssertionError("nsys captured no range in five attempts")


class Captures:
    """Captures are slow, so tests share them. None is written to."""
    directory = None
    made = {}

    @classmethod
    def trace(cls, name, *command, capture=profile_ranges):
        if cls.directory is None:
            cls.directory = tempfile.TemporaryDirectory(prefix="nvtxa-captures-")
        path = pathlib.Path(cls.directory.name, name + ".nsys-rep")
        if name not in cls.made:
            capture(path, *command)
            cls.made[name] = path
        return path

    @classmethod
    def workload(cls, iterations):
        return cls.trace(f"workload-{iterations}", WORKLOAD, str(iterations), "2")


class RealCase(Case):
    def run_dir(self, trace, name="run", iterations=4):
        directory = self.top / name
        directory.mkdir(parents=True)
        shutil.copyfile(trace, directory / "trace.nsys-rep")
        self.write(directory / "manifest.yaml", MANIFEST.format(iterations=iterations))
        return directory

    def workload_run(self, iterations=4, name="run"):
        return self.run_dir(Captures.workload(iterations), name, iterations)

    def good(self, directory, *options, **more):
        self.analyze(directory, *USE_NSYS, *options, **more)
        self.assert_stats_are_tidy(directory)
        return self.result(directory)

    def bad(self, directory, *texts, options=(), **more):
        """Exit 1, one error, nothing written."""
        done = self.analyze(directory, *USE_NSYS, *options, status=1, **more)
        self.assert_one_error(done.stderr, *texts)
        self.assert_no_result(directory)
        return done

    def assert_one_error(self, stderr, *texts):
        errors = [line for line in stderr.splitlines()
                  if line.startswith("nvtxa: ") and not line.startswith("nvtxa: warning: ")]
        self.assertEqual(len(errors), 1, stderr)
        self.assertNotIn("Traceback", stderr)
        for text in texts:
            self.assertIn(text, stderr)

    def assert_stats_are_tidy(self, directory):
        """The reports and export.json: no private directory, export or half a file is left."""
        names = sorted(p.name for p in (directory / "stats").iterdir())
        self.assertIn(len(names), (3, 5) if ENGINE == "nsys" else (3,), names)
        self.assertIn("export.json", names)
        self.assertTrue(all(n == "export.json" or n.endswith(".csv") for n in names), names)


class Numbers(RealCase):
    def assert_close(self, got, want, where):
        """Integers are equal; the three computed numbers to 1e-12."""
        for key, value in want.items():
            exact = key in ("total_ns", "minimum_ns", "maximum_ns")
            self.assertTrue(got[key] == value if exact else
                            math.isclose(got[key], value, rel_tol=1e-12, abs_tol=1e-9),
                            f"{where} {key}: {got[key]} is not {value}")

    def test_every_number(self):
        """Each host group and iteration, against a count from the capture's own SQLite export."""
        directory = self.workload_run(6)
        analysis = self.good(directory)
        exported = export(directory / "trace.nsys-rep", self.top / "counted.sqlite")
        groups, iterations = recount.count(exported, "profile-target")
        found = {(g["context"], tuple(g["path"])): g for g in analysis["host_ranges"]}
        self.assertEqual(found.keys(), groups.keys())
        self.assertEqual({key[0] for key in found},
                         {"capture", "iteration", "between", "outside"})
        for key, want in groups.items():
            self.assertEqual((found[key]["instances"], found[key]["child_total_ns"]),
                             (want["instances"], want["child_total_ns"]), key)
            self.assert_close(found[key]["inclusive"], want["inclusive"], key)
            self.assert_close(found[key]["exclusive"], want["exclusive"], key)
        self.assertEqual({i["index"]: i["host"] for i in analysis["iterations"]}, iterations)
        self.assertEqual(list(iterations), list(range(6)))
        for measure in ("inclusive", "exclusive"):
            self.assert_close(
                analysis["iteration_summary"][f"host_{measure}"],
                recount.summary([i[f"{measure}_ns"] for i in iterations.values()]), measure)

    def test_cpu_only(self):
        """No GPU work: null, never 0, and the warnings say so. This version is a known one."""
        analysis = self.good(self.workload_run())
        self.assertEqual(analysis["gpu_projected_ranges"], [])
        self.assertTrue(all(i["gpu_projection"] is None for i in analysis["iterations"]))
        self.assertIsNone(analysis["iteration_summary"]["gpu_projected"])
        self.assertTrue(warning_with(
            analysis, "Missing GPU projections for iterations: [0, 1, 2, 3]."))
        self.assertFalse(warning_with(analysis, "validated"))
        line = run([NSYS, "--version"]).stdout.strip()
        self.assertEqual(analysis["provenance"]["nsys_version"], line)

    def test_capture_range(self):
        """nsys begins at the workload's capture range, whose name is a registered string, and ends
        with it: a whole analysis, with both kinds of names right and nothing from before."""
        trace = Captures.trace("capture-range", WORKLOAD, "4", "2", capture=profile_capture_range)
        analysis = self.good(self.run_dir(trace))
        self.assertEqual([i["index"] for i in analysis["iterations"]], [0, 1, 2, 3])
        groups = {(g["context"], g["name"]): g["instances"] for g in analysis["host_ranges"]
                  if g["context"] != "outside"}
        self.assertEqual(groups, {
            ("capture", "profile-target"): 1, ("between", "checkpoint"): 1,
            ("iteration", "infer"): 4, ("iteration", "preprocessing"): 4,
            ("iteration", "preprocessing.resize"): 4, ("iteration", "preprocessing.normalize"): 4,
            ("iteration", "postprocessing"): 4, ("iteration", "postprocessing.resize"): 4,
            ("iteration", "postprocessing.nms"): 4})
        self.assertNotIn("warmup", [g["name"] for g in analysis["host_ranges"]])
        self.assertTrue(all("GPU projection" in w for w in analysis["warnings"]),
                        analysis["warnings"])

    def test_again_without_nsys(self):
        """--no-export reads what the export left, and gives the same but for saying so."""
        directory = self.workload_run()
        self.analyze(directory, *USE_NSYS, *WHAT_REPORTS_HOLD)
        first = (directory / "analysis.json").read_bytes()
        self.analyze(directory, "--no-export")
        self.assertEqual((directory / "analysis.json").read_bytes(),
                         first.replace(NEW, b'"existing"'))

    def test_provenance(self):
        provenance = self.good(self.workload_run())["provenance"]
        self.assertEqual(provenance["engine"], "native" if ENGINE == "auto" else ENGINE)
        self.assertRegex(provenance["export_schema_version"], r"^3\.")
        family = provenance["nsys_version"].split("version ")[1][:6]
        self.assertTrue(provenance["export_product_version"].startswith(family), provenance)
        self.assertIsNone(provenance["export_path"])

    def test_without_reports(self):
        directory = self.workload_run()
        self.analyze(directory, *USE_NSYS, "--no-reports")
        if ENGINE == "nsys":
            self.assert_stats_are_tidy(directory)
            return
        self.assertFalse((directory / "stats").exists())
        provenance = self.result(directory)["provenance"]
        self.assertEqual(set(provenance["reports"].values()), {None})
        self.assertIsNone(provenance["reports_origin"])

    def test_strict(self):
        self.analyze(self.workload_run(), *USE_NSYS, "--strict", status=3)

    def test_no_environment_leaks(self):
        """A trace holds the profiled program's environment. It stays in the trace."""
        directory = self.workload_run()
        done = self.analyze(directory, *USE_NSYS, "-v")
        self.assertIn(SECRET.encode(), (directory / "trace.nsys-rep").read_bytes(),
                      "the capture does not hold what this test looks for")
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        for path in directory.rglob("*"):
            if path.is_file() and path.name != "trace.nsys-rep":
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)


@unittest.skipIf(ENGINE == "nsys", "it computes the ranges itself")
class RootRanges(RealCase):
    def test_capture_range_is_found(self):
        """`nvtxa ranges` names it, beside the roots of the helper threads, and leaves nothing."""
        trace = Captures.workload(4)
        before = sorted(trace.parent.iterdir())
        done = run([NVTXA, "ranges", "--nsys", NSYS, trace.name], cwd=trace.parent,
                   env=dict(os.environ, TMPDIR=str(self.top)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^\* profile-target +1 +1 .* 4 +0\.\.3$")
        self.assertRegex(done.stdout, r"(?m)^  load batch +8 +2 .* 0 +-$")
        self.assertIn(f"nvtxa init RUN_DIR --trace {trace.name} --capture-range profile-target "
                      "--iterations 4\n", done.stdout)
        self.assertEqual((sorted(trace.parent.iterdir()), list(self.top.iterdir())), (before, []))


@unittest.skipIf(ENGINE == "nsys", "it does not hang on who computes the ranges")
class Doctor(RealCase):
    def test_ranges_come_back(self):
        """Of the command's own recording of itself; nothing is left of it."""
        temporary = self.top / "tmp"
        temporary.mkdir()
        done = run([NVTXA, "doctor", "--nsys", NSYS, self.top / "runs"],
                   env=dict(os.environ, TMPDIR=str(temporary)))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        version = run([NSYS, "--version"]).stdout.strip()
        self.assertIn(f"ok       nsys       {NSYS}\nok       version    {version}\n"
                      "ok       reports    nvtx_pushpop_trace, nvtx_gpu_proj_trace, "
                      "cuda_gpu_kern_sum, cuda_gpu_trace\n"
                      "ok       capture    3 of 3 NVTX ranges came back", done.stdout)
        self.assertEqual([path.name for path in self.top.iterdir()], ["tmp"])
        self.assertEqual({path.name for path in temporary.iterdir()} - {"nvidia"}, set())


@unittest.skipIf(ENGINE != "nsys", "they are not asked for")
class ReportsOfGpuWork(RealCase):
    def reports_of(self, directory):
        """Their content, by report, as export.json names them."""
        record = json.loads((directory / "stats" / "export.json").read_text())
        files = {report: record["reports"][report]["file"] for report in record["reports"]
                 if report.startswith("cuda_gpu_")}
        self.assertEqual(set(files.values()), {path.name for path in directory.glob("stats/*.csv")
                                               if "nvtx" not in path.name})
        return {report: (directory / "stats" / file).read_text() for report, file in files.items()}

    def test_no_such_work(self):
        """Empty reports say so, and the analysis has empty lists."""
        directory = self.workload_run()
        done = self.analyze(directory, *USE_NSYS)
        self.assertNotIn("report of GPU work", done.stderr)
        self.assertEqual(self.reports_of(directory), {"cuda_gpu_kern_sum": "", "cuda_gpu_trace": ""})
        self.assertEqual(self.result(directory)["capture_gpu_work"],
                         {"kernels": [], "memory_sets": [], "memory_transfers": []})

    def test_sizes_in_bytes(self):
        """A capture made without a GPU lacks GPU work: one memory set is put into its export."""
        self.write(self.top / "add.py", ADD_MEMORY_SET)
        wrapper = self.write(self.top / "wrapped-nsys", f"""\
#!/bin/sh
'{NSYS}' "$@" || exit
[ "$1" != export ] || '{sys.executable}' '{self.top}/add.py' export.sqlite
""")
        wrapper.chmod(0o755)
        directory = self.workload_run()
        self.analyze(directory, "--nsys", wrapper, "--engine", ENGINE)
        reports = self.reports_of(directory)
        self.assertEqual(reports["cuda_gpu_kern_sum"], "")
        (row,) = csv.DictReader(io.StringIO(reports["cuda_gpu_trace"]))
        self.assertEqual((row["Bytes (B)"], row["Duration (ns)"]), ("1234567", "200"))


class Traces(RealCase):
    def test_no_nvtx(self):
        trace = Captures.trace("no-nvtx", "/bin/true", capture=profile)
        self.bad(self.run_dir(trace), "NVTX")

    def test_empty(self):
        self.bad(self.run_dir("/dev/null"), "trace.nsys-rep")

    def test_truncated(self):
        directory = self.workload_run()
        trace = directory / "trace.nsys-rep"
        trace.write_bytes(trace.read_bytes()[:trace.stat().st_size // 2])
        self.bad(directory, "trace.nsys-rep")

    def test_name_with_an_invalid_byte(self):
        """nsys stops half way through the report and exits 0: no half of a result. The native engine
        reads on."""
        directory = self.run_dir(Captures.trace("bad-byte", BAD_BYTE), iterations=1)
        if ENGINE == "nsys":
            self.bad(directory)
        else:
            analysis = self.good(directory)
            self.assertTrue(warning_with(analysis, "not UTF-8"), analysis["warnings"])
            self.assertIn("\ufffd", json.dumps(analysis["host_ranges"], ensure_ascii=False))

    def test_replaced(self):
        """A new trace beside an old trace.sqlite and old reports: only the new one counts."""
        directory = self.workload_run(2)
        self.good(directory)
        old = directory / "trace.nsys-rep"
        for sqlite_file in (directory / "trace.sqlite", directory / "stats" / "trace.sqlite"):
            export(old, sqlite_file)
        shutil.copyfile(Captures.workload(5), old)
        self.write(directory / "manifest.yaml", MANIFEST.format(iterations=5))

        self.analyze(directory, "--no-export")
        stale = self.result(directory)
        self.assertEqual(len(stale["iterations"]), 2)
        self.assertTrue(warning_with(stale, "another trace"), stale["warnings"])

        self.analyze(directory, *USE_NSYS)
        fresh = self.result(directory)
        self.assertEqual(len(fresh["iterations"]), 5)
        self.assertFalse(warning_with(fresh, "iteration indexes"), fresh["warnings"])


class Places(RealCase):
    def test_odd_names(self):
        """Directory names that a shell, nsys or an option parser would take for something else."""
        for name in ("@x,y z%p 'q\"", "-o", "--help", "new\nline", "caf\u00e9"):
            with self.subTest(name):
                directory = self.workload_run(name=name)
                done = run([NVTXA, "analyze", *USE_NSYS, "--", name], cwd=self.top)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len(self.result(directory)["iterations"]), 4)
                self.assert_stats_are_tidy(directory)
        self.assertEqual(sorted(p.name for p in self.top.iterdir()),
                         sorted(("@x,y z%p 'q\"", "-o", "--help", "new\nline", "caf\u00e9")))

    def test_planted_scripts(self):
        """nsys runs report scripts of the current directory: a run directory must not run code."""
        directory = self.workload_run()
        elsewhere = self.top / "elsewhere"
        mark = self.top / "EXECUTED"
        script = f"open({str(mark)!r}, 'w')\n"
        for place in (directory, directory / "stats", elsewhere):
            for name in ("nvtx_pushpop_trace", "nvtx_gpu_proj_trace", "nvtxpptrace", "nvtxgpuproj",
                         "cuda_gpu_kern_sum", "cuda_gpu_trace", "gpukernsum", "gputrace",
                         "nsysstats", "sqlite3", "sitecustomize"):
                self.write(place / f"{name}.py", script)
        environment = dict(os.environ, NSYS_STATS_REPORT_PATH=str(elsewhere),
                           NSYS_STATS_REPORT_DIR=str(elsewhere), PYTHONPATH=str(elsewhere))
        for cwd in (directory, elsewhere):
            self.analyze(directory, *USE_NSYS, cwd=cwd, env=environment)
            self.assertFalse(mark.exists(), f"a planted script ran (current directory {cwd})")
        self.assertEqual(len(self.result(directory)["iterations"]), 4)

    def test_read_only(self):
        directory = self.workload_run()
        with read_only(self, directory) as command:
            done = run([*command, NVTXA, "analyze", *USE_NSYS, directory])
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assert_one_error(done.stderr)
            self.assertRegex(done.stderr, "Read-only file system|Permission denied")
        self.assertEqual(sorted(p.name for p in directory.iterdir()),
                         ["manifest.yaml", "trace.nsys-rep"])

    def test_read_only_with_reports(self):
        """Reports that are there can be read and the result put elsewhere."""
        directory, out = self.workload_run(), self.top / "out.json"
        self.analyze(directory, *USE_NSYS, *WHAT_REPORTS_HOLD)
        expected = (directory / "analysis.json").read_bytes().replace(NEW, b'"existing"')
        (directory / "analysis.json").unlink()
        out.touch()
        out.chmod(0o666)
        self.top.chmod(0o777)
        with read_only(self, directory) as command:
            done = run([*command, NVTXA, "analyze", "--no-export", "-o", out, directory])
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(out.read_bytes(), expected)

    def test_full_disk(self):
        """First nsys's export does not fit, then analysis.json does not."""
        trace = Captures.workload(4)
        small = self.top / "small"
        with tmpfs(self, small, trace.stat().st_size + (96 << 10)):
            directory = self.run_dir(trace, "small/run")
            self.bad(directory)
            if (directory / "stats").exists():
                self.assertEqual(list((directory / "stats").iterdir()), [])

    def test_full_disk_for_the_result(self):
        directory = self.workload_run()
        self.good(directory)
        small = self.top / "small"
        with tmpfs(self, small, 32 << 10):
            old = self.write(small / "analysis.json", "the old one")
            with contextlib.suppress(OSError):
                self.write(small / "filler", b"x" * (28 << 10))
                self.write(small / "more", b"x" * (28 << 10))
            done = self.analyze(directory, "--no-export", "-o", old, status=1)
            self.assert_one_error(done.stderr, "No space left on device")
            self.assertEqual(old.read_text(), "the old one")
            self.assertEqual([p.name for p in small.iterdir() if "analysis" in p.name],
                             ["analysis.json"])


class Interruptions(RealCase):
    """nsys is slowed down by a wrapper that says when its export began, and as which process."""

    def setUp(self):
        super().setUp()
        self.directory = self.workload_run()
        self.old = self.write(self.directory / "analysis.json", "the old one")
        self.mark = self.top / "mark"
        self.wrapper = self.write(self.top / "slow-nsys", f"""#!/bin/sh
if [ "$1" = export ]; then
  echo $$ > '{self.mark}.new'
  mv '{self.mark}.new' '{self.mark}'
  exec sleep 120
fi
exec '{NSYS}' "$@"
""")
        self.wrapper.chmod(0o755)

    def interrupted(self, number):
        """Start, wait for the export to begin, send the signal; gives status and stderr."""
        command = [NVTXA, "analyze", "--nsys", str(self.wrapper), "--engine", ENGINE,
                   str(self.directory)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, start_new_session=True) as process:
            self.wait_for(self.mark.exists)
            self.child = int(self.mark.read_text())
            process.send_signal(number)
            _, stderr = process.communicate(timeout=60)
        return process.returncode, stderr

    def wait_for(self, condition):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, "waited for a minute")
            time.sleep(0.02)

    def child_is_gone(self):
        try:
            os.kill(self.child, 0)
        except ProcessLookupError:
            return True
        return pathlib.Path(f"/proc/{self.child}/stat").read_text().split(")")[1].split()[0] == "Z"

    def assert_old_is_kept(self):
        self.assertEqual(self.old.read_text(), "the old one")
        self.assertEqual([p.name for p in self.directory.iterdir() if "analysis" in p.name],
                         ["analysis.json"])

    def assert_works_afterwards(self):
        self.assertEqual(len(self.good_result()["iterations"]), 4)

    def good_result(self):
        self.analyze(self.directory, *USE_NSYS)
        return self.result(self.directory)

    def test_interrupt(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number.name):
                self.mark.unlink(missing_ok=True)
                status, stderr = self.interrupted(number)
                self.assertIn(status, (130,) if number == signal.SIGINT else (130, 143, -15))
                self.wait_for(self.child_is_gone)
                self.assert_old_is_kept()
                stats = self.directory / "stats"
                self.assertEqual(list(stats.iterdir()) if stats.exists() else [], [], stderr)
        self.assert_works_afterwards()

    def test_kill(self):
        """Nothing can tidy up after SIGKILL, but nothing is half written either."""
        status, _ = self.interrupted(signal.SIGKILL)
        self.assertEqual(status, -signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child, signal.SIGKILL)
        self.assert_old_is_kept()
        stats = self.directory / "stats"
        self.assertEqual([p.name for p in stats.glob("*.csv")] if stats.exists() else [], [])
        self.assert_works_afterwards()

    def test_timeout(self):
        done = self.analyze(self.directory, "--nsys", self.wrapper, "--engine", ENGINE, "--timeout", "2", status=1)
        self.assert_one_error(done.stderr)
        self.child = int(self.mark.read_text())
        self.wait_for(self.child_is_gone)
        self.assert_old_is_kept()


@contextlib.contextmanager
def read_only(case, directory):
    """The directory cannot be written to: gives what to put before a command. A read-only mount
    where that is permitted (root writes through permissions), else another user."""
    bound = run(["mount", "--bind", directory, directory])
    if bound.returncode == 0:
        try:
            done = run(["mount", "-o", "remount,bind,ro", directory])
            case.assertEqual(done.returncode, 0, done.stderr)
            yield []
        finally:
            run(["umount", "-l", directory])
        return
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        case.skipTest("neither a read-only mount nor setpriv is to be had")
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for above in directory.parents:
        if str(above).startswith(tempfile.gettempdir() + os.sep):
            above.chmod(above.stat().st_mode | 0o755)
    yield ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []


if __name__ == "__main__":
    if not os.access(NSYS, os.X_OK):
        skip(f"there is no nsys at {NSYS!r} (meson option `nsys_dir`)")
    if not WORKLOAD or not BAD_BYTE:
        skip("the programs to profile were not built: no NVTX headers here")
    try:
        main()
    finally:
        if Captures.directory is not None:
            Captures.directory.cleanup()
