#!/usr/bin/env python3
"""nvtxa doctor: each check with what can be wrong, its remedy and its exit status, by a stand-in for
nsys; tests/nsys does it with a real one. And a capture that is tried leaves nothing behind."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from test_ranges import RangesCase, push_pop  # noqa: E402
from test_signals import wait_for  # noqa: E402
from support import NVTXA, main, run, tmpfs  # noqa: E402

BUILT = run([NVTXA, "doctor", "--push-ranges"]).returncode == 0  # with the headers of NVTX
CAPTURE = [push_pop(0, 100, "profile-target"), push_pop(10, 20, "iteration 0"),
           push_pop(30, 40, "iteration 1")]


class DoctorCase(RangesCase):
    def setUp(self):
        super().setUp()
        self.smoke(version="2023.4")
        shutil.rmtree(self.top / "runs")
        self.comes_back(*CAPTURE)
        self.tmp = self.top / "tmp"
        self.tmp.mkdir()

    def comes_back(self, *events):
        """What the stand-in makes of a capture."""
        self.export(*events, name="exported/sqlite")

    def environment(self, **more):
        return super().environment(**{"TMPDIR": str(self.tmp),
                                      "STANDIN_EXPORT": str(self.top / "exported/sqlite"), **more})

    def steady(self, text):
        """The disks of this machine have room; its kernel permits what it permits."""
        text = re.sub(r"(?m)^\w+ +sampling .*$", "(sampling)", super().steady(text))
        return re.sub(r"(?m)\b[\d.]+ GB are free", "N GB are free", text)

    def doctor(self, *arguments, status=0, **more):
        """What is printed, line by line, by what each is about."""
        done = self.nvtxa("doctor", *arguments, **more)
        self.assert_status(done, status)
        lines = done.stdout.decode().splitlines()
        return {line.split()[1]: line for line in lines}

    def golden(self, *arguments, **more):
        done = super().golden(*arguments, **more)
        self.assertEqual(list(self.tmp.iterdir()), [])
        return done


class CommandLine(DoctorCase):
    def test_help(self):
        done = self.golden("doctor-help", "doctor", "--help")
        self.assertEqual(self.nvtxa("help", "doctor").stdout, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.decode().splitlines())), 92)

    def test_examples_in_help_run(self):
        text = self.nvtxa("doctor", "--help").stdout.decode()
        examples = text.partition("\nExamples:\n")[2].splitlines()
        self.assertEqual(len(examples), 2)
        for line in examples:
            done = subprocess.run(line, shell=True, cwd=self.top, env=self.environment(),
                                  capture_output=True, check=False)
            self.assert_status(done, 0)

    def test_wrong(self):
        for name, *arguments in (("doctor-two-directories", "a", "b"), ("doctor-no-name", ""),
                                 ("doctor-unknown-option", "--push-rages")):
            self.assert_status(self.golden(name, "doctor", *arguments), 2)

    def test_ranges_without_nsys(self):
        done = self.nvtxa("doctor", "--push-ranges")
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.returncode == 0, done.stderr == b"")

    @unittest.skipIf(BUILT, "it was built with the headers of NVTX")
    def test_built_without_headers(self):
        self.assertIn("unknown  capture    not tried: there is no program of known ranges",
                      self.doctor()["capture"])
        done = self.nvtxa("doctor", "--push-ranges")
        self.assertIn(b"built without the headers of NVTX", done.stderr)


class Nsys(DoctorCase):
    def doctor(self):
        """Without a capture, which would take most of the time."""
        return super().doctor(status=1, environment={"TMPDIR": "none"})

    def test_none(self):
        """One problem, and none that follows from it."""
        (self.bin / "nsys").unlink()
        self.assert_status(self.golden("doctor-no-nsys", "doctor"), 1)
        self.assert_status(self.golden("doctor-no-such-nsys", "doctor", "--nsys", "/none/nsys"), 1)

    def test_not_validated(self):
        for version, verdict in (("2021.3.1", "note"), ("2023.40.1", "note"), ("2022.4.2", "ok"),
                                 ("2025.1", "ok")):
            line = f"NVIDIA Nsight Systems version {version}"
            self.write(self.replay / "version.txt", line)
            got = self.doctor()["version"]
            self.assertTrue(got.startswith(f"{verdict:<9}version    {line}"), got)
            self.assertEqual("which is not among those that are validated, 2022.4, 2023.4 and 2025.1: "
                             in got, verdict == "note")

    def test_unknown_version(self):
        self.write(self.replay / "version.txt", "hello")
        self.assertEqual(self.doctor()["version"], "unknown  version    nsys --version tells none: "
                         "see that it is the nsys of Nsight Systems (--nsys PATH)")

    def test_missing_reports(self):
        """They are needed by one engine only."""
        for missing, text in ((("cuda_gpu_trace",), "tells nothing of GPU work: "),
                              (("cuda_gpu_trace", "nvtx_pushpop_trace"), "cannot be used: ")):
            for report in missing:
                (self.replay / f"{report}.csv").unlink(missing_ok=True)
            line = self.doctor()["reports"]
            self.assertTrue(line.startswith(
                f"note     reports    {', '.join(reversed(missing))} not offered, so --engine nsys "
                + text), line)
            self.assertIn("2022.4 or later (--nsys PATH)", line)

    def test_old_names_of_reports(self):
        self.smoke(version="2022.4")
        for path in self.replay.glob("*_*.csv"):
            path.unlink()
        self.assertEqual(
            self.doctor()["reports"], "ok       reports    nvtx_pushpop_trace, nvtx_gpu_proj_trace, "
            "cuda_gpu_kern_sum, cuda_gpu_trace")

    def test_no_list_of_reports(self):
        for path in self.replay.glob("*.csv"):
            path.unlink()
        self.assertIn("note     reports    nsys failed listing its reports: it listed none",
                      self.doctor()["reports"])


@unittest.skipUnless(BUILT, "it was built without the headers of NVTX")
class Captures(DoctorCase):
    def test_all_is_well(self):
        self.assert_status(self.golden("doctor", "doctor"), 0)
        self.assert_status(self.golden("doctor-new-directory", "doctor", "runs/new/"), 0)
        self.assertFalse((self.top / "runs").exists())

    def test_what_is_run(self):
        """nsys gets the arguments of a recording, NVTX alone, and this program from where it is."""
        arguments = self.top / "arguments"
        self.doctor(environment={"STANDIN_ARGUMENTS": str(arguments)})
        got = arguments.read_bytes().decode().split("\0")[:-1]
        self.assertEqual(got[1:4], ["profile", "--trace=nvtx", "--sample=none"])
        self.assertIn("--nvtx-capture=profile-target@*", got)
        self.assertEqual(got[-3:], [os.path.realpath(NVTXA), "doctor", "--push-ranges"])

    def test_quiet(self):
        self.comes_back(*CAPTURE[:2])
        done = self.nvtxa("doctor", "-q")
        self.assert_status(done, 1)
        lines = [line for line in done.stdout.decode().splitlines() if " sampling " not in line]
        self.assertEqual(lines, ["PROBLEM  capture    2 of 3 NVTX ranges came back (attempt 3): see "
                                 "what nsys prints (-v -v), or try another one (--nsys PATH)"])

    def test_lost_ranges(self):
        self.comes_back(push_pop(10, 20, "iteration 00"))
        self.assert_status(self.golden("doctor-lost-ranges", "doctor"), 1)

    def test_no_table_of_ranges(self):
        """As nsys exports a trace in which there is no range at all."""
        (self.top / "exported/sqlite").unlink()
        run([sys.executable, "-c", "import sqlite3\nwith sqlite3.connect('exported/sqlite') as d:\n"
             " d.execute('CREATE TABLE StringIds (id INTEGER, value TEXT)')\n"], cwd=self.top)
        self.assertIn("PROBLEM  capture    0 of 3 NVTX ranges came back (attempt 3): ",
                      self.doctor(status=1)["capture"])

    def test_lost_once(self):
        """A recording that leaves no trace is followed by another one."""
        tried = self.top / "tried"
        wrapper = self.write(self.bin / "flaky", f"""#!/bin/sh
if [ "$1" = profile ] && [ ! -e '{tried}' ]; then
  touch '{tried}'
  exit 0
fi
exec '{self.bin}/nsys' "$@"
""")
        wrapper.chmod(0o755)
        self.assertEqual(self.doctor("--nsys", "flaky")["capture"],
                         "ok       capture    3 of 3 NVTX ranges came back (attempt 2)")
        self.assertEqual(list(self.tmp.iterdir()), [])

    def test_what_nsys_says(self):
        """It is in the line, shortened, and harmless on a terminal."""
        says = "Failed\033[31m to create it: " + 60 * "what a pity "
        done = self.nvtxa("doctor", environment={"STANDIN_LEAVES": "", "STANDIN_SAYS": f"ERROR: {says}"})
        self.assert_status(done, 1)
        (line,) = [x for x in done.stdout.decode().splitlines() if " capture " in x]
        self.assertIn(r"nsys left no trace: ERROR: Failed\x1B[31m to create it: what a pity", line)
        self.assertLess(len(line), 560)
        self.assertIn("...: see what nsys prints (-v -v)", line)

    def test_place_that_nsys_cannot_use(self):
        odd = self.top / "a&b"
        odd.mkdir()
        lines = self.doctor(environment={"TMPDIR": str(odd)})
        self.assertTrue(lines["capture"].startswith("unknown  capture    not tried: run directory"))
        self.assertTrue(lines["capture"].endswith(": set TMPDIR to a directory with a plain name"))
        self.assertEqual(list(odd.iterdir()), [])

    def test_interrupted(self):
        for call in ("--version", "profile", "export"):
            process = subprocess.Popen([self.bin / "nvtxa", "doctor"], cwd=self.top,
                                       env=self.environment(STANDIN_HANG=call),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            wait_for((self.top / "standin.pid").exists)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=30)
            self.assertEqual((process.returncode, output, errors),
                             (130, b"", b"nvtxa: interrupted\n"), call)
            self.assertEqual(list(self.tmp.iterdir()), [])
            (self.top / "standin.pid").unlink()


class Places(DoctorCase):
    @unittest.skipUnless(BUILT, "it was built without the headers of NVTX")
    def test_no_directories(self):
        """The capture that cannot be tried for that is no problem of its own."""
        self.write(self.top / "file", "")
        self.assert_status(self.golden("doctor-no-directories", "doctor", "file",
                                       environment={"TMPDIR": "none"}), 1)
        self.assertEqual((self.top / "file").read_text(), "")

    def test_not_writable(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        (self.top / "runs").mkdir(mode=0o555)
        self.assertEqual(self.doctor("runs", status=1)["disk"],
                         "PROBLEM  disk       runs cannot be written to: Permission denied: make it "
                         "a directory that can be written to, or record elsewhere")

    def test_small_disk(self):
        small = self.top / "small"
        with tmpfs(self, small, 12 << 20):
            self.assertEqual(self.doctor("small/", status=1)["disk"], "PROBLEM  disk       12 MB are "
                             "free in small/: free some, or record elsewhere")
            self.assertEqual(list(small.iterdir()), [])
            with open(small / "filler", "wb") as file, self.assertRaises(OSError):
                file.write(bytes(13 << 20))
            lines = self.doctor(status=1, environment={"TMPDIR": "small"})
            self.assertEqual(lines["temporary"], "PROBLEM  temporary  nothing is free in small: free "
                             "some, or set TMPDIR to a directory with more")
            run(["mount", "-o", "remount,ro", small])
            self.assertIn("PROBLEM  disk       small/new cannot be written to: Read-only file system",
                          self.doctor("small/new", status=1)["disk"])

    def test_unsafe_name(self):
        done = self.nvtxa("doctor", "a\033[31m\n\u202e")
        self.assert_status(done, 0)
        self.assertIn(rb" are free in a\x1B[31m\n\u202E, which is not there yet", done.stdout)


class OnTerminal(DoctorCase):
    def test_colour(self):
        (self.bin / "nsys").unlink()
        status, output = self.on_terminal("doctor")
        self.assertEqual(status, 1)
        self.assertIn("\033[1;31mPROBLEM  \033[0mnsys       there is no program", output)
        self.assertIn("\nok       disk ", output)
        _, plain = self.on_terminal("doctor", environment={"NO_COLOR": "1"})
        self.assertEqual(plain, output.replace("\033[1;31m", "").replace("\033[33m", "")
                         .replace("\033[0m", ""))

    @unittest.skipUnless(BUILT, "it was built without the headers of NVTX")
    def test_progress(self):
        done = self.nvtxa("doctor", "--progress", "always")
        self.assertIn(b"nsys: recording a few ranges", done.stderr)


if __name__ == "__main__":
    main()
