"""Interrupted in the middle: status 130, no child, no partial file, the old analysis as it was."""
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cli_case import CliCase  # noqa: E402
import support  # noqa: E402


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not happen")
        time.sleep(0.02)


def runs(pid):
    """Whether a process is there and not just waiting to be reaped by someone else."""
    try:
        status = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


class Signals(CliCase):
    def start(self, *arguments, variables=None, **more):
        """Begin an analysis whose nsys hangs, and wait until it does."""
        environment = self.environment(STANDIN_HANG="export", **(variables or {}))
        process = subprocess.Popen([self.bin / "nvtxa", "analyze", *arguments], cwd=self.top,
                                   env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        wait_for((self.top / "standin.pid").exists)
        return process, int((self.top / "standin.pid").read_text())

    def files(self, directory):
        return {path.relative_to(directory): path.read_bytes()
                for path in directory.rglob("*") if path.is_file()}

    def test_interrupted(self):
        run_dir = self.smoke()
        self.assert_status(self.nvtxa("analyze", run_dir), 0)
        before = self.files(run_dir)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process, child = self.start(run_dir)
            self.assertTrue(runs(child))
            process.send_signal(number)
            output, errors = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 130, errors)
            self.assertEqual(output, b"")
            self.assertEqual(errors, b"nvtxa: interrupted\n")
            wait_for(lambda gone=child: not runs(gone))
            self.assertEqual(self.files(run_dir), before)
            (self.top / "standin.pid").unlink()

    def test_interrupted_twice(self):
        """Who presses again has no nsys left behind that does not end when asked to."""
        run_dir = self.smoke()
        process, child = self.start(run_dir, variables={"STANDIN_STUBBORN": "1"})
        wait_for((self.top / "standin.stubborn").exists)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, errors)
        self.assertFalse(runs(child))
        self.assertEqual(list((run_dir / "stats").glob(".*")), [])

    def test_interrupted_before_there_is_anything(self):
        run_dir = self.smoke()
        process, _ = self.start("-o", "out.json", run_dir)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertFalse((self.top / "out.json").exists())
        self.assert_no_result(run_dir)

    def test_ignored_signal_stays_ignored(self):
        """nohup and a shell's background jobs have signals ignored; that is not undone."""
        run_dir = self.smoke()
        previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            process, child = self.start(run_dir)
        finally:
            signal.signal(signal.SIGHUP, previous)
        process.send_signal(signal.SIGHUP)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        self.assertTrue(runs(child))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)

    def test_nobody_reads_the_document(self):
        """A full pipe does not keep the program from ending."""
        run_dir = self.smoke()
        read, write = os.pipe()
        os.set_blocking(write, False)
        try:
            while os.write(write, bytes(4096)):
                pass
        except BlockingIOError:
            pass
        os.set_blocking(write, True)
        process = subprocess.Popen([self.bin / "nvtxa", "analyze", "-o", "-", run_dir],
                                   cwd=self.top, env=self.environment(), stdout=write,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.close(write)
        self.addCleanup(os.close, read)
        self.addCleanup(process.kill)
        wchan = pathlib.Path(f"/proc/{process.pid}/syscall")
        wait_for(lambda: wchan.read_text().startswith("1 0x1 "))  # write(1, ...)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, errors)


if __name__ == "__main__":
    support.main()
