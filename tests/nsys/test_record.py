#!/usr/bin/env python3
"""`nvtxa record` with a real nsys: what is recorded can be analysed, and each trap is told of.

Told by the environment: NVTXA_NSYS, the nsys to use; NVTXA_WORKLOAD and NVTXA_RECORDED, the programs
to record. No GPU is needed.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import NVTXA, Case, main, run, skip  # noqa: E402

NSYS = os.environ.get("NVTXA_NSYS", "")
WORKLOAD = os.environ.get("NVTXA_WORKLOAD", "")
RECORDED = os.environ.get("NVTXA_RECORDED", "")
SECRET = "secret-c157a79031e1c40f"
GPU_WARNINGS = ("Missing GPU projections", "GPU projection report does not contain")


def is_lost(errors):
    return "was never entered" in errors or "no NVTX data" in errors


class RecordCase(Case):
    def record(self, run_dir, *arguments, **more):
        return run([NVTXA, "record", "--nsys", NSYS, "--run-dir", run_dir, "--trace", "nvtx",
                    *arguments], cwd=self.top, **more)

    def recorded(self, run_dir, *arguments, status=0, **more):
        """A recording with ranges in it. On a busy machine nsys now and then loses all that a short
        program did: then it is tried again."""
        for _ in range(10):
            done = self.record(run_dir, "--force", *arguments, **more)
            if not is_lost(done.stderr):
                ranges = run([NVTXA, "ranges", "--nsys", NSYS, f"{run_dir}/trace.nsys-rep"],
                             cwd=self.top)
                if not is_lost(ranges.stderr):
                    break
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(ranges.returncode, 0, ranges.stderr)
        return done, ranges.stdout

    def whole(self, run_dir, iterations):
        """Its analysis, which has nothing to complain of but that there was no GPU."""
        self.analyze(self.top / run_dir, "--nsys", NSYS)
        analysis = self.result(self.top / run_dir)
        self.assertEqual([i["index"] for i in analysis["iterations"]], list(range(iterations)))
        self.assertEqual([w for w in analysis["warnings"] if not w.startswith(GPU_WARNINGS)], [])
        return analysis

    def fails(self, run_dir, *arguments, status=1, left=None, texts=(), **more):
        done = self.record(run_dir, *arguments, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)
        directory = self.top / run_dir
        found = sorted(p.name for p in directory.iterdir()) if directory.exists() else None
        self.assertEqual(found, left)


class Runs(RecordCase):
    def test_workload(self):
        """2, then 50 iterations, with threads beside them; the workload itself says how many."""
        environment = dict(os.environ, PLANTED_SECRET=SECRET)
        for iterations in (2, 50):
            run_dir = f"run-{iterations}"
            done, _ = self.recorded(run_dir, "--analyze", "--profile", "workload", "-v", "-v", "--",
                                    WORKLOAD, str(iterations), "2", env=environment)
            self.assertTrue(done.stdout.startswith(f"{iterations} iterations, "), done.stdout)
            self.assertNotIn("Capture range", done.stdout)
            run_of = self.whole(run_dir, iterations)["run"]
            self.assertEqual(run_of["workload"]["iterations"], iterations)
            self.assertEqual(run_of["workload"]["threads"], 2)
            self.assertEqual(run_of["profile_name"], "workload")
            self.assertNotIn(SECRET, done.stdout + done.stderr)
        trace = self.top / run_dir / "trace.nsys-rep"
        self.assertIn(SECRET.encode(), trace.read_bytes())
        for path in (self.top / run_dir).rglob("*"):
            if path.is_file() and path != trace:
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)

    def test_two_processes(self):
        self.recorded("run", "--iterations", "2", "--", RECORDED, "fork")
        self.whole("run", 2)

    def test_exit_status(self):
        """The command's own, and what it did is recorded."""
        for arguments, status in ((("exit", "7"), 7), (("signal", "9"), 137)):
            done, _ = self.recorded("run", "--iterations", "2", "--analyze", "--", RECORDED,
                                    *arguments, status=status)
            self.assertEqual(done.stdout, f"{arguments[0]} is done\n")
            self.assertIn(f"the command ended with status {status}", done.stderr)
            self.assertFalse((self.top / "run/analysis.json").exists())
            self.whole("run", 2)

    def test_odd_names(self):
        """nsys replaces what stands behind a percent sign in a path, and cannot be told to begin at
        some of these ranges: then it begins at once."""
        for place, name in (("50%p%h%q{HOME}%%", "profile@v2"), ("@sh,x", "a\\b"), (" ", 'a"b'),
                            ("$HOME 'a' ~ ü", "step: 1"), ("-o", "ü 'x' *")):
            environment = dict(os.environ, CAPTURE_RANGE=name)
            done, _ = self.recorded(f"./{place}", "--iterations", "2", "--capture-range", name, "--",
                                    RECORDED, env=environment)
            self.assertEqual("nsys cannot be told" in done.stderr, name[0] != "ü")
            self.assertEqual(self.whole(place, 2)["run"]["capture_range"], name)
            self.assertEqual([p.name for p in self.top.iterdir()], [place])
            shutil.rmtree(self.top / place)

    def test_printed_command(self):
        """A shell does the same with it."""
        printed = self.record("r un", "--print-command", "--", RECORDED, "exit", "3").stdout
        (self.top / "r un").mkdir()
        for _ in range(10):
            done = run(["sh", "-c", printed], cwd=self.top)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("exit is done\n", done.stdout)
            if (self.top / "r un/trace.nsys-rep").exists():
                return
        self.fail("nsys left no trace in ten attempts")


class Traps(RecordCase):
    def test_never_entered(self):
        """The message says how to find out the name, and that helps."""
        self.fails("run", "--", RECORDED, "other", texts=[
            "nsys left no trace: the capture range 'profile-target' was never entered\n",
            "--nsys-arg --capture-range=none"])
        _, ranges = self.recorded("run", "--nsys-arg", "--capture-range=none", "--", RECORDED,
                                  "other")
        self.assertIn("train", ranges)

    def test_numbered(self):
        """Each one becomes a run of its own."""
        for _ in range(10):
            shutil.rmtree(self.top / "run", ignore_errors=True)
            done = self.record("run", "--nsys-arg=--capture-range-end=repeat:2", "--", RECORDED,
                               "repeat", "3")
            init = [run([NVTXA, "init", "--trace", f"run/trace.{number}.nsys-rep", "--force",
                         "--capture-range", "profile-target", "--iterations", "2", number],
                        cwd=self.top) for number in "12"]
            lost = [run([NVTXA, "ranges", "--nsys", NSYS, f"{number}/trace.nsys-rep"], cwd=self.top)
                    for number in "12"]
            if not any(is_lost(one.stderr) for one in (done, *lost)):
                break
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("there are 2\n", done.stderr)
        self.assertIn("nvtxa init NEW_DIR --trace trace.1.nsys-rep --capture-range profile-target\n",
                      done.stderr)
        self.assertEqual(sorted(p.name for p in (self.top / "run").iterdir()),
                         ["manifest.yaml", "trace.1.nsys-rep", "trace.2.nsys-rep"])
        for number, one in zip("12", init):
            self.assertEqual(one.returncode, 0, one.stderr)
            self.whole(number, 2)

    def test_no_importer(self):
        """Only a .qdstrm file is left where nsys cannot import it, and it can be imported later."""
        target = pathlib.Path(NSYS).parent
        crippled = self.top / "nsys" / target.name
        crippled.mkdir(parents=True)
        for path in target.iterdir():
            (crippled / path.name).symlink_to(path)
        (crippled / "nsys").unlink()
        shutil.copy(NSYS, crippled / "nsys")  # it looks for the importer from where it is
        for _ in range(10):
            done = self.record("run", "--iterations", "2", "--force", "--nsys", crippled / "nsys",
                               "--", RECORDED)
            if not is_lost(done.stderr):
                break
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("only a .qdstrm file is left: Importer error", done.stderr)
        self.assertEqual(sorted(p.name for p in (self.top / "run").iterdir()),
                         ["manifest.yaml", "trace.qdstrm"])
        importer = target.parent / "host-linux-x64" / "QdstrmImporter"
        done = run([importer, "-i", "run/trace.qdstrm", "-o", "run/trace.nsys-rep"], cwd=self.top)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.whole("run", 2)

    def test_usage(self):
        self.fails("run", "--nsys-arg=--bogus", "--", RECORDED, texts=[
            "nsys did not accept its command line: unrecognised option '--bogus'"])

    def test_interrupted(self):
        """Passed on once, however often it comes; the trace is kept, and can be read."""
        for _ in range(10):
            status, output, errors = self.interrupt()
            ranges = run([NVTXA, "ranges", "--nsys", NSYS, "run/trace.nsys-rep"], cwd=self.top)
            if not is_lost(errors + ranges.stderr):
                break
        self.assertEqual((status, output), (130, ""), errors)
        self.assertIn("waiting for nsys to write what it captured\n", errors)
        self.assertIn("profile-target", ranges.stdout, ranges.stderr)

    def interrupt(self):
        begun = self.top / "begun"
        begun.unlink(missing_ok=True)
        process = subprocess.Popen(
            [NVTXA, "record", "--nsys", NSYS, "--run-dir", "run", "--force", "--trace", "nvtx",
             "--analyze", "--", RECORDED, "wait", begun], cwd=self.top, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        while not begun.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
        return process.returncode, output, errors


if __name__ == "__main__":
    if not os.access(NSYS, os.X_OK):
        skip(f"there is no nsys at {NSYS!r} (meson option `nsys_dir`)")
    if not WORKLOAD or not RECORDED:
        skip("the programs to record were not built: no NVTX headers here")
    main()
