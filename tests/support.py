"""What the test scripts share: the command under test, run directories, and the result's parts.

The tests are told where things are by the environment (tests/meson.build sets it):
NVTXA_SOURCE_ROOT, NVTXA_BUILD_ROOT, and NVTXA for another command than the built one.
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77  # the exit status that meson counts as a skipped test
SOURCE = pathlib.Path(os.environ.get("NVTXA_SOURCE_ROOT") or
                      pathlib.Path(__file__).resolve().parent.parent)
BUILD = pathlib.Path(os.environ.get("NVTXA_BUILD_ROOT") or SOURCE / "build")
NVTXA = os.path.abspath(os.environ.get("NVTXA") or BUILD / "cli" / "nvtxa")
SAMPLE = SOURCE / "testdata" / "sample-run"

sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "testdata"))


def skip(reason):
    """Leave the whole script out, aloud."""
    print(f"SKIPPED: {reason}", file=sys.stderr)
    sys.exit(SKIPPED)


def run(arguments, timeout=300, **options):
    """Run a command and keep what it says, as text."""
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True,
                          errors="replace", timeout=timeout, **options)


@contextlib.contextmanager
def scratch():
    """A directory that is gone afterwards."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="nvtxa-test-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Case(unittest.TestCase):
    """A test with a directory of its own."""
    maxDiff = 4000

    def setUp(self):
        context = scratch()
        self.top = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def write(self, path, content):
        """Write a file, its directories included."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def analyze(self, run_dir, *options, status=0, **more):
        """Run `nvtxa analyze` and hold its exit status; gives the process."""
        done = run([NVTXA, "analyze", *options, run_dir], **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def result(self, run_dir):
        return json.loads((run_dir / "analysis.json").read_bytes())

    def assert_no_result(self, run_dir):
        """No analysis.json, and no half of one under another name."""
        left = [p.name for p in run_dir.iterdir()] if run_dir.exists() else []
        self.assertEqual([n for n in left if "analysis" in n], [])


@contextlib.contextmanager
def mounted(case, place, *arguments):
    """Mount something there for a while; skips where that is not permitted."""
    place.mkdir(exist_ok=True)
    done = run(["mount", *arguments, place])
    if done.returncode != 0:
        case.skipTest(f"no mount is permitted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        run(["umount", "-l", place])


def tmpfs(case, place, size):
    return mounted(case, place, "-t", "tmpfs", "-o", f"size={size}", "tmpfs")


def group(analysis, kind, *path, context=None, style=None):
    """The one group of a path: kind is "host_ranges" or "gpu_projected_ranges"."""
    found = [g for g in analysis[kind] if tuple(g["path"]) == path and
             context in (None, g["context"]) and style in (None, g.get("style"))]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} groups {path} in {kind}: "
                             f"{[(g['path'], g['context']) for g in analysis[kind]]}")
    return found[0]


def warning_with(analysis, text):
    """Whether a warning holds the text."""
    return any(text in warning for warning in analysis["warnings"])


def main():
    """Run the script's tests; a failure gives exit status 1."""
    unittest.main(verbosity=2)
