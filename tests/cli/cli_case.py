"""What the command's tests share: a run to analyse, a stand-in for nsys, and the golden files.

Every command runs in a directory of its own where bin/ is on PATH: bin/nvtxa is the command under
test and bin/nsys the stand-in. Paths are relative there, so what is printed is the same everywhere.
"""
import difflib
import fcntl
import json
import os
import pathlib
import pty
import shlex
import struct
import subprocess
import sys
import termios

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import NVTXA, SOURCE, Case  # noqa: E402 (support also makes testdata/ importable)
from nsys_reports import DIALECTS, Range, reports, work_reports  # noqa: E402

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
SCHEMA = SOURCE / "docs" / "schema" / "analysis-2.schema.json"
OLD_SCHEMA = SOURCE / "docs" / "schema" / "analysis-1.schema.json"

# Answers as nsys does, from the files of the directory `replay`. STANDIN_HANG names a call of it that
# writes its process id to the file that STANDIN_TELL names, and never ends; not even when asked to,
# with STANDIN_STUBBORN. `profile` runs the command, leaves the files that STANDIN_LEAVES names beside
# its --output, and writes its arguments, NUL after each, to the file that STANDIN_ARGUMENTS names.
# With STANDIN_WRITES it takes a second to write its trace, having made the file of that name, and an
# interrupt loses it.
# `export` gives the file that STANDIN_EXPORT names.
STANDIN = """\
#!{python}
import os, pathlib, signal, subprocess, sys, time
replay = pathlib.Path({replay!r})
arguments = sys.argv[1:]
def value(*names):
    for i, argument in enumerate(arguments):
        name, equals, text = argument.partition("=")
        if name in names:
            return text if equals else arguments[i + 1]
if arguments[0] == os.environ.get("STANDIN_HANG"):
    tell = pathlib.Path(os.environ["STANDIN_TELL"])
    tell.with_suffix(".new").write_text(str(os.getpid()))
    tell.with_suffix(".new").rename(tell)
    if os.environ.get("STANDIN_STUBBORN"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        tell.with_suffix(".stubborn").touch()
    time.sleep(600)
elif arguments[0] == "profile":
    first = 1
    while arguments[first].startswith("-"):
        first += 2 if arguments[first] in ("-e", "-p", "-c") else 1
    if "STANDIN_ARGUMENTS" in os.environ:
        pathlib.Path(os.environ["STANDIN_ARGUMENTS"]).write_bytes(
            b"".join(os.fsencode(a) + b"\\0" for a in sys.argv))
    output = pathlib.Path(value("-o", "--output").replace("%%", "%"))
    child = subprocess.Popen(arguments[first:], close_fds=False, start_new_session=True)
    def interrupt(number, frame):
        with open(replay / "interrupts", "a") as file:
            file.write("x")
        os.killpg(child.pid, signal.SIGTERM)
    signal.signal(signal.SIGINT, interrupt)
    status = child.wait()
    if "STANDIN_WRITES" in os.environ:
        print("Generating 'it'", flush=True)
        pathlib.Path(os.environ["STANDIN_WRITES"]).touch()
        time.sleep(1)
    interrupted = (replay / "interrupts").exists()
    leaves = os.environ.get("STANDIN_LEAVES", "trace.nsys-rep").split()
    if interrupted and "STANDIN_WRITES" in os.environ:
        leaves = []
    if leaves:
        print("Capture range started in the application.")
    for name in leaves:
        (output.parent / name).write_text(os.environ.get("STANDIN_TRACE", "a trace"))
    print(os.environ.get("STANDIN_SAYS", "Generated:\\n    somewhere"), flush=True)
    sys.exit(130 if interrupted else status if status >= 0 else 128 - status)
elif arguments[0] == "--version":
    print((replay / "version.txt").read_text())
elif "--help-reports" in arguments:
    for path in sorted(replay.glob("*.csv")):
        print("  " + path.stem + " -- a report")
elif arguments[0] == "export":
    time.sleep(float(os.environ.get("STANDIN_SECONDS", 0)))
    print("Processing events...", flush=True)
    export = os.environ.get("STANDIN_EXPORT")
    pathlib.Path(value("-o", "--output")).write_bytes(
        pathlib.Path(export).read_bytes() if export else b"an export")
else:
    report = value("-r", "--report")
    output = value("-o", "--output") + "_" + report + ".csv"
    pathlib.Path(output).write_bytes((replay / (report + ".csv")).read_bytes())
"""

# Answers like nsys, and exports any trace to the SQLite export that lies beside it as NAME.made.
EXPORTER = """#!/bin/sh
case $1 in
  --version) echo 'NVIDIA Nsight Systems version 2023.4.4.54' ;;
  export)
    for last; do :; done
    cp "$last.made" export.sqlite ;;
  *) echo "unexpected: $*" >&2; exit 9 ;;
esac
"""

MANIFEST = """\
profile_name: smoke-tensor
run_id: gpu-smoke
device: cuda:0
git_commit: abc123
capture_range: profile-target
record_ids: [dummy-0, dummy-1]
workload:
  iterations: 2
cuda: {}
"""


def iteration(index):
    """One iteration: six scopes, three of which launch GPU work."""
    at = 1_000_000 + index * 600_000
    longer = index * 1_500
    resize = Range("resize", at + 2_000, at + 90_000 + longer)
    preprocessing = Range("preprocessing", at + 1_000, at + 120_000, [resize])
    kernel = Range("kernel", at + 140_000, at + 180_000,
                   operations=[(at + 150_000, at + 230_000 + longer), (at + 240_000, at + 250_000)])
    infer = Range("infer", at + 130_000, at + 260_000 + longer, [kernel],
                  operations=[(at + 255_000, at + 256_000)])
    postprocessing = Range("postprocessing", at + 270_000, at + 271_000 + longer)
    return Range(f"iteration {index}", at, at + 432_000 + longer,
                 [preprocessing, infer, postprocessing,
                  Range("log", at + 400_000, at + 400_850)])


def capture(children):
    return [Range("profile-target", 900_000, 90_000_000, children)]


class CliCase(Case):
    """A test in a directory of its own, with the command and a stand-in for nsys on PATH."""

    def setUp(self):
        super().setUp()
        self.bin = self.top / "bin"
        self.replay = self.top / "replay"
        self.bin.mkdir()
        (self.bin / "nvtxa").symlink_to(pathlib.Path(NVTXA).resolve())
        standin = self.write(self.bin / "nsys", STANDIN.format(python=sys.executable,
                                                               replay=str(self.replay)))
        standin.chmod(0o755)

    def standin_exports(self):
        """Have the stand-in export traces, and nothing else."""
        (self.bin / "nsys").unlink()
        self.write(self.bin / "nsys", EXPORTER).chmod(0o755)

    def environment(self, **more):
        """An environment of known content; None removes a variable."""
        kept = {name: value for name, value in os.environ.items()
                if name.startswith(("ASAN_", "LSAN_", "UBSAN_", "LD_LIBRARY", "HOME"))}
        known = {"STANDIN_TELL": str(self.top / "standin.pid"), "LC_ALL": "C.UTF-8", "TERM": "xterm",
                 "PATH": f"{self.bin}:/usr/bin:/bin"}
        return {**kept, **known, **more}

    def smoke(self, name="runs/smoke", children=None, manifest=MANIFEST, version="2025.1"):
        """A run directory with a manifest and a trace, and what the stand-in makes of the trace."""
        dialect = DIALECTS[version]
        roots = capture(children or [iteration(0), iteration(1)])
        names = (dialect.host_report, dialect.gpu_report, dialect.kernel_report,
                 dialect.operation_report)
        texts = (*reports(roots, version), *work_reports(roots, version))
        for report, text in zip(names, texts):
            self.write(self.replay / f"{report}.csv", text)
        self.write(self.replay / "version.txt", f"NVIDIA Nsight Systems version {version}.3\n")
        self.write(self.top / name / "manifest.yaml", manifest)
        self.write(self.top / name / "trace.nsys-rep", b"a trace")
        return self.top / name

    def nvtxa(self, *arguments, environment=None, **more):
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([self.bin / "nvtxa", *map(str, arguments)], cwd=self.top,
                              env=self.environment(**(environment or {})), timeout=120, **more)

    def on_terminal(self, *arguments, columns=80, environment=None, streams=("stdout", "stderr")):
        """Run with the given streams on a terminal; gives status and what came to the terminal."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        own = {name: theirs if name in streams else subprocess.PIPE
               for name in ("stdout", "stderr")}
        with subprocess.Popen([self.bin / "nvtxa", *map(str, arguments)], cwd=self.top, **own,
                              env=self.environment(**(environment or {})),
                              stdin=subprocess.DEVNULL) as process:
            os.close(theirs)
            output = b""
            while True:
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # the other side is closed: Linux says EIO
                    break
                if not piece:
                    break
                output += piece
            os.close(ours)
            process.communicate(timeout=60)
        return process.returncode, output.decode().replace("\r\n", "\n")

    def assert_status(self, done, status):
        self.assertEqual(done.returncode, status, f"{done.stdout!r} {done.stderr!r}")

    def steady(self, text):
        """A text without what differs from one place or machine to another."""
        return text.replace(str(self.top), "TOP")

    def golden(self, name, *arguments, **more):
        """Run the command; what it prints and its status must be as golden/<name>.txt has them."""
        done = self.nvtxa(*arguments, **more)
        shown = " ".join(["nvtxa", *map(shlex.quote, map(str, arguments))])
        got = (f"$ {shown}\n"
               f"--- standard output\n{done.stdout.decode()}"
               f"--- standard error\n{done.stderr.decode()}"
               f"--- exit status\n{done.returncode}\n")
        got = self.steady(got)
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("NVTXA_UPDATE_GOLDEN"):
            path.write_text(got, encoding="utf-8")
        want = path.read_text(encoding="utf-8")
        if got != want:
            self.fail(f"{path.name}:\n" + "".join(difflib.unified_diff(
                want.splitlines(True), got.splitlines(True), "golden", "now")))
        return done

    def valid(self, text):
        """An analysis that its schema accepts, as a JSON document, and so does the one before for
        who reads that: keys were only added. The validator is no part of this project; without it
        the check is left out, aloud."""
        analysis = json.loads(text)
        try:
            import jsonschema
        except ImportError:
            print("SKIPPED: no schema validation: python3-jsonschema is missing", file=sys.stderr)
        else:
            jsonschema.validate(analysis, json.loads(SCHEMA.read_text(encoding="utf-8")))
            jsonschema.validate(analysis | {"schema_version": 1},
                                json.loads(OLD_SCHEMA.read_text(encoding="utf-8")))
        return analysis
