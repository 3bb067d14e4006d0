"""nvtxa record and nvtxa init: run directories made, refused, kept, and manifests that tell the
truth. With a stand-in for nsys; tests/nsys does it with a real one."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cli_case import CliCase  # noqa: E402
import support  # noqa: E402

SECRET = "secret-b1946ac92492d234"
# As manifests have them: what YAML readers take for something else, and what needs quotes.
TEXTS = ["0123", "1e10", "yes", "No", "~", "null", "True", "a: b", "- a", "# a", " a ", "", "'", '"',
         "two\nlines\n", "tab\there", "grün ☃ 🚀", "2026-08-26", "12:30", "0x1F", "1_000", ".inf",
         "&a", "*a", "!a", "%a", "@a", "`a", "{", "[", ">", "|", "\\n", "\x1b[31m", "\u2028", "=",
         "0o17", "+1", "-0", "1.50", "00", "9223372036854775808", "-", "?", ":", "a:", "a #b"]
NUMBERS = {"8": 8, "-3": -3, "0": 0, "0.5": 0.5, "true": True, "false": False,
           "9223372036854775807": 2**63 - 1}


class RecordCase(CliCase):
    def setUp(self):
        super().setUp()
        self.smoke()  # what the stand-in answers when an analysis follows
        shutil.rmtree(self.top / "runs")

    def record(self, *arguments, status=0, run_dir="out", **more):
        done = self.nvtxa("record", "--run-dir", run_dir, *arguments, **more)
        self.assert_status(done, status)
        return done

    def manifest(self, run_dir="out"):
        return (self.top / run_dir / "manifest.yaml").read_text(encoding="utf-8")

    def analysis(self, run_dir="out"):
        done = self.nvtxa("analyze", "-o", "-", run_dir)
        self.assert_status(done, 0)
        return json.loads(done.stdout)

    def left(self, run_dir="out"):
        directory = self.top / run_dir
        return sorted(p.name for p in directory.iterdir()) if directory.exists() else None


class CommandLines(RecordCase):
    def test_help(self):
        self.golden("record-help", "record", "--help")
        self.golden("init-help", "init", "--help")

    def test_wrong(self):
        for name, *arguments in (
                ("record-no-arguments", "record"),
                ("record-no-place", "record", "--", "true"),
                ("record-two-places", "record", "--run-dir", "a", "--output-dir", "b", "--", "true"),
                ("record-no-profile", "record", "--output-dir", "b", "--", "true"),
                ("record-no-command", "record", "--run-dir", "a", "--"),
                ("record-unknown-option", "record", "--itterations", "3", "--", "true"),
                ("record-bad-count", "record", "--run-dir", "a", "--iterations", "3x", "true"),
                ("record-large-count", "record", "--run-dir", "a", "--warmup",
                 "9223372036854775808", "true"),
                ("record-bad-name", "record", "--output-dir", "a", "--profile", "../x", "true"),
                ("record-bad-set", "record", "--run-dir", "a", "--set", "seed", "true"),
                ("record-own-key", "record", "--run-dir", "a", "--set", "run_id=1", "true"),
                ("record-bad-key", "record", "--run-dir", "a", "--set", "a..b=1", "true"),
                ("record-below-a-key", "record", "--run-dir", "a", "--set", "git_commit.x=1", "true"),
                ("record-below-own-key", "record", "--run-dir", "a", "--set", "exit_status.x=1",
                 "true"),
                ("record-key-in-the-way", "record", "--run-dir", "a", "--set", "a=1", "--set",
                 "a.b=1", "true"),
                ("init-no-trace", "init", "--capture-range", "a", "out"),
                ("init-no-range", "init", "--trace", "a.nsys-rep", "out"),
                ("init-two-runs", "init", "a", "b")):
            self.assert_status(self.golden(name, *arguments), 2)
        self.assertIsNone(self.left("a"))

    def test_print_command(self):
        self.golden("record-print", "record", "--run-dir", "50%", "--trace", "nvtx,osrt",
                    "--capture-range", "train", "--nsys-arg=-e", "--nsys-arg=A=1",
                    "--nsys-arg=--sample=cpu", "--print-command", "--", "./train", "it's", "a b")
        self.golden("record-print-whole", "record", "--run-dir", "out", "--capture-range", "a@b",
                    "--print-command", "./train")
        self.golden("record-print-own-capture", "record", "--run-dir", "out", "--nsys-arg=-c",
                    "--nsys-arg=none", "--print-command", "./train")
        self.assertIsNone(self.left("50%"))

    def test_printed_command_gives_the_same_arguments(self):
        hard = ["a b", "it's", '"', "$HOME", "`id`", "\\", "*", "~", "", "two\nlines", "end\n",
                b"\xff\x1b[31m\x7f\xc2\x9b\x01", "ü", "-x", "#", "a;b&c|d<e>f(g)!h{i}"]
        places = self.environment(STANDIN_ARGUMENTS=str(self.top / "arguments"))
        command = ["record", "--run-dir", "o ut%", "--capture-range", "ra'nge", "--", "true", *hard]
        run = [self.bin / "nvtxa", *command]
        subprocess.run(run, cwd=self.top, env=places, check=True, capture_output=True)
        direct = (self.top / "arguments").read_bytes()
        shutil.rmtree(self.top / "o ut%")
        run.insert(2, "--print-command")
        printed = subprocess.run(run, cwd=self.top, env=places, check=True, capture_output=True)
        for byte in printed.stdout.decode():
            self.assertTrue(byte.isprintable() or byte == "\n", printed.stdout)
        (self.top / "o ut%").mkdir()
        for shell in ("sh", "bash"):
            subprocess.run([shell, "-c", printed.stdout], cwd=self.top, env=places, check=True,
                           capture_output=True)
            self.assertEqual((self.top / "arguments").read_bytes(), direct)

    def test_printed_command_leaves_open_files_alone(self):
        """The numbers for the command's streams may be taken where it is run by hand."""
        printed = self.record("--print-command", "--", "echo", "hello").stdout
        (self.top / "out").mkdir()
        script = b"exec 8> eight 9> nine; " + printed
        done = subprocess.run(["sh", "-c", script], cwd=self.top, env=self.environment(),
                              check=True, capture_output=True)
        self.assertIn(b"hello\n", done.stdout)
        self.assertEqual((self.top / "eight").read_bytes() + (self.top / "nine").read_bytes(), b"")
        printed = self.record("--nsys", "A=b", "--print-command", "--", "true").stdout
        self.assertTrue(printed.startswith(b"'A=b' profile "), printed)

    def test_arguments_that_nsys_cannot_get(self):
        for name, *arguments in (
                ("record-bad-path", "record", "--run-dir", 'a"b', "--", "true"),
                ("record-stray-argument", "record", "--run-dir", "out", "--nsys-arg=--wait",
                 "--nsys-arg=all", "--nsys-arg=true", "true"),
                ("record-own-output", "record", "--run-dir", "out", "--nsys-arg=-oelsewhere", "true")):
            self.assert_status(self.golden(name, *arguments), 1)


class Recording(RecordCase):
    def test_whole(self):
        """The directory is there before the command runs; manifest and analysis follow."""
        done = self.record("--profile", "resnet", "--run-id", "r1", "--iterations", "2", "--warmup",
                           "1", "--device", "cuda:0", "--analyze", "--", "sh", "-c", "ls -a out")
        self.assertTrue(done.stdout.startswith(b".\n..\nresnet / r1 "), done.stdout)
        self.assertEqual(self.left(), ["analysis.json", "manifest.yaml", "stats", "trace.nsys-rep"])
        self.assertEqual(self.manifest(), """\
profile_name: resnet
run_id: r1
target:
  name: sh
record_ids: []
capture_range: profile-target
workload:
  iterations: 2
  warmup: 1
cuda: {}
device: cuda:0
git_commit: null
command_line: "sh -c 'ls -a out'"
expected_trace_path: out/trace.nsys-rep
nsys_version: NVIDIA Nsight Systems version 2025.1.3
""")
        analysis = json.loads((self.top / "out/analysis.json").read_text())
        self.assertEqual(analysis["run"]["workload"], {"iterations": 2, "warmup": 1})
        self.assertEqual(analysis["warnings"], [])

    def test_streams(self):
        """Standard streams are the command's own; what nsys prints is not among it."""
        done = self.record("-q", "--", "sh", "-c", "cat; echo error >&2", stdin=None,
                           input=b"in\0put")
        self.assertEqual(done.stdout, b"in\0put")
        self.assertEqual(done.stderr, b"error\n")
        status, output = self.on_terminal("record", "-q", "--run-dir", "tty", "--", "sh", "-c",
                                          "[ -t 1 ] && [ -t 2 ] && echo terminal")
        self.assertEqual((status, output), (0, "terminal\n"))

    def test_exit_status(self):
        done = self.record("--analyze", "--", "sh", "-c", "exit 7", status=7)
        self.assertIn(b"the command ended with status 7\n", done.stderr)
        self.assertEqual(self.left(), ["manifest.yaml", "trace.nsys-rep"])
        self.assertIn("exit_status: 7\n", self.manifest())
        done = self.record("--", "sh", "-c", "kill -9 $$", run_dir="killed", status=137)
        self.assertIn(b"status 137, as by signal 9 (Killed)\n", done.stderr)
        self.assertIn("exit_status: 137\n", self.manifest("killed"))
        done = self.record("--", "sh", "-c", "exit 200", run_dir="high", status=200)
        self.assertIn(b"the command ended with status 200\n", done.stderr)

    def test_signals_ignored_by_the_parent(self):
        """An end is noticed all the same, and what nohup has ignored stays so for the command."""
        for number, script, status in ((signal.SIGCHLD, "exit 7", 7),
                                       (signal.SIGHUP, "kill -HUP $$; exit 8", 8)):
            done = subprocess.run(
                ["sh", "-c", f'trap "" {number.name[3:]}; exec "$@"', "sh", self.bin / "nvtxa",
                 "record", "--run-dir", "out", "--force", "--", "sh", "-c", script],
                cwd=self.top, env=self.environment(), capture_output=True)
            self.assert_status(done, status)
            self.assertIn(f"exit_status: {status}\n", self.manifest())

    def test_place_of_a_profile(self):
        for _ in range(2):
            done = self.nvtxa("record", "--output-dir", "deep/er/", "--profile", "p 1", "--", "true")
            self.assert_status(done, 0)
        runs = sorted((self.top / "deep/er/p 1/runs").iterdir())
        self.assertEqual(len(runs), 2)  # most often within one second
        for run in runs:
            self.assertRegex(run.name, r"^\d{8}T\d{6}Z(-2)?$")
            self.assertIn(f'run_id: "{run.name}"\n', (run / "manifest.yaml").read_text())
            self.assertIn("profile_name: p 1\n", (run / "manifest.yaml").read_text())

    def test_no_environment(self):
        done = self.record("-v", "-v", "--analyze", "--", "sh", "-c", 'test "$SECRET"',
                           environment={"SECRET": SECRET})
        self.assertNotIn(SECRET.encode(), done.stdout + done.stderr)
        for path in (self.top / "out").rglob("*"):
            self.assertTrue(path.is_dir() or SECRET.encode() not in path.read_bytes(), path)

    def test_commit(self):
        """Of the current directory, and whether that is what is in it."""
        git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"]
        work = self.top / "work"
        work.mkdir()
        (work / "file").write_text("1")
        for arguments in (["init", "-q"], ["add", "file"], ["commit", "-qm", "m"]):
            subprocess.run([*git, *arguments], cwd=work, check=True)
        commit = subprocess.run([*git, "rev-parse", "HEAD"], cwd=work, check=True,
                                capture_output=True, text=True).stdout.strip()
        for text, dirty in (("1", "false"), ("2", "true")):
            (work / "file").write_text(text)
            run = [self.bin / "nvtxa", "record", "--run-dir", f"../{dirty}", "--", "true"]
            subprocess.run(run, cwd=work, env=self.environment(), check=True, capture_output=True)
            self.assertIn(f"git_dirty: {dirty}\n", self.manifest(dirty))
            self.assertIn(commit, self.manifest(dirty))

    def test_current_directory_is_gone(self):
        """An absolute run directory needs none."""
        (self.top / "gone").mkdir()
        script = f"cd gone && rmdir ../gone && exec nvtxa record --run-dir {self.top}/out -- true"
        done = subprocess.run(["sh", "-c", script], cwd=self.top, env=self.environment(),
                              capture_output=True)
        self.assert_status(done, 0)
        self.assertEqual(self.left(), ["manifest.yaml", "trace.nsys-rep"])


class Manifests(RecordCase):
    def test_texts_come_back(self):
        """What is set reads back the same, as identity and inside the workload."""
        sets = [f"--set=workload.t{i}={text}" for i, text in enumerate(TEXTS)]
        sets += [f"--set=workload.n{i}={text}" for i, text in enumerate(NUMBERS)]
        self.record(*sets, "--", "true")
        workload = self.analysis()["run"]["workload"]
        self.assertEqual([workload[f"t{i}"] for i in range(len(TEXTS))], TEXTS)
        for i, number in enumerate(NUMBERS.values()):
            self.assertEqual((workload[f"n{i}"], type(workload[f"n{i}"])), (number, type(number)))
        names = [text.replace("/", "_") for text in TEXTS if text]
        for i in range(0, len(names), 4):
            four = (names[i:i + 4] + names)[:4]
            run_id, profile, device, commit = four
            self.record("--run-id", run_id, "--profile", profile, "--device", device,
                        "--set", f"git_commit={commit}", "--", "true", run_dir=f"r{i}")
            run = self.analysis(f"r{i}")["run"]
            self.assertEqual([run[k] for k in ("run_id", "profile_name", "device", "git_commit")],
                             four)

    def test_text_that_is_not_utf8(self):
        done = self.record("--set=workload.t=\udcff", "--", "true", status=2)
        self.assertIn(b"is not UTF-8", done.stderr)
        self.record("--", "true", "caf\udce9\x1b")
        self.assertIn("""command_line: "true 'caf'\\"$(printf '\\\\351')\\"''\\"$(printf '\\\\033')\\"''"\n""",
                      self.manifest())
        done = self.record("--", "true", run_dir="o\udce9", status=1)
        self.assertIn(b"o\\xE9/trace' is not UTF-8, with which nsys fails\n", done.stderr)

    def facts(self, text, *arguments, status=0):
        (self.top / "facts").write_text(text)
        return self.record(*arguments, "--", "sh", "-c", "cp facts \"$NVTXA_MANIFEST_EXTRA\"",
                           status=status)

    def test_facts_of_the_command(self):
        """They fill in; what was said on the command line, or is known, stands, and that is said."""
        done = self.facts("workload: {iterations: 49, seed: 1, note: '0123'}\ndevice: cpu\n"
                          "record_ids: [img-0, 7]\nrun_id: x\ntarget: {name: mine}\nnew: [1, {a: ~}]\n",
                          "--iterations", "50", "--run-id", "r")
        self.assertEqual(self.left(), ["manifest.yaml", "trace.nsys-rep"])
        manifest = self.manifest()
        for line in ("  iterations: 50\n", "  seed: 1\n", '  note: "0123"\n', "device: cpu\n",
                     "record_ids:\n- img-0\n- 7\n", "run_id: r\n", "  name: mine\n",
                     "new:\n- 1\n- a: null\n"):
            self.assertIn(line, manifest)
        self.assertIn(b"out/manifest-extra.yaml:1: the manifest's 'iterations' stays 50, "
                      b"whatever this file says\n", done.stderr)
        self.assertIn(b"the manifest's 'run_id' stays r,", done.stderr)
        self.assertNotIn(b"seed", done.stderr)

    def test_facts_that_are_no_yaml(self):
        """They stay where they are, and all else is there."""
        done = self.facts("a: [", "--analyze", status=1)
        self.assertIn(b"out/manifest-extra.yaml:1: not valid YAML", done.stderr)
        self.assertEqual(self.left(), ["manifest-extra.yaml", "manifest.yaml", "trace.nsys-rep"])
        self.assertEqual(self.analysis()["run"]["capture_range"], "profile-target")

    def test_facts_that_no_manifest_may_have(self):
        """What is known is written without them."""
        for text, message in (("workload: {a: 1}\ndevice: {a: b}\n", b":2: 'device' is a mapping"),
                              ("git_commit: [1]\n", b":1: 'git_commit' is a sequence"),
                              ("{" + ", ".join(f"k{i}: 1" for i in range(1001)) + "}",
                               b":1: a mapping with more than 1000 keys")):
            done = self.facts(text, "--force", status=1)
            self.assertIn(b"out/manifest-extra.yaml" + message, done.stderr)
            self.assertIn(b"trace and manifest are there without them.\n", done.stderr)
            self.assertEqual(self.left(), ["manifest-extra.yaml", "manifest.yaml", "trace.nsys-rep"])
            self.assertNotIn("a: 1", self.manifest())

    def test_no_facts(self):
        self.facts("")
        self.assertEqual(self.left(), ["manifest.yaml", "trace.nsys-rep"])


class Traps(RecordCase):
    def fails(self, *texts, leaves="", left=None, says="Generated:", status=1, command=("true",),
              options=(), **environment):
        """One error with all of the texts, and nothing but `left` in the run directory."""
        done = self.record(*options, "--", *command, status=status,
                           environment={"STANDIN_LEAVES": leaves, "STANDIN_SAYS": says,
                                        **environment})
        for text in texts:
            self.assertIn(text, done.stderr.decode())
        self.assertEqual(self.left(), left)
        return done

    def test_never_entered(self):
        self.fails("out/trace.nsys-rep: nsys left no trace: the capture range 'train' was never "
                   "entered\n", "nvtxa ranges", options=("--capture-range", "train"))

    def test_never_entered_and_failed(self):
        self.fails("was never entered\n", "the command ended with status 3\n", status=3,
                   command=("sh", "-c", "exit 3"))

    def test_only_a_qdstrm(self):
        self.fails("only a .qdstrm file is left: Importer error status: it crashed\n",
                   "The manifest is there already.", leaves="trace.qdstrm",
                   left=["manifest.yaml", "trace.qdstrm"],
                   says="Importer error status: it crashed")

    def test_numbered(self):
        self.fails("there are 2\n", "nvtxa init NEW_DIR --trace trace.1.nsys-rep --capture-range "
                   "'a b'\n", leaves="trace.1.nsys-rep trace.2.nsys-rep",
                   left=["manifest.yaml", "trace.1.nsys-rep", "trace.2.nsys-rep"],
                   options=("--capture-range", "a b"))

    def test_numbered_with_options_of_the_caller(self):
        """The name that the manifest has is the one to give, whatever nsys waited for."""
        self.fails("nvtxa init NEW_DIR --trace trace.1.nsys-rep --capture-range train\n",
                   leaves="trace.1.nsys-rep", left=["manifest.yaml", "trace.1.nsys-rep"],
                   options=("--capture-range", "train", "--nsys-arg=-c",
                            "--nsys-arg=cudaProfilerApi"))

    def test_empty_trace(self):
        self.fails("nsys left an empty trace\n", leaves="trace.nsys-rep", STANDIN_TRACE="",
                   left=["manifest.yaml", "trace.nsys-rep"])

    def test_trace_elsewhere(self):
        self.fails("nsys left no trace: Capture range started in the application.; Failed to create "
                   "it\n", leaves="../trace.nsys-rep", says="Failed to create it")

    def test_trace_of_somebody_else(self):
        """An nsys that outlived its recording wrote there meanwhile."""
        self.fails("another program wrote a trace here meanwhile, and nsys left none: Failed to "
                   "create 'x': File exists.\n", leaves="trace.nsys-rep", left=["trace.nsys-rep"],
                   says="Failed to create 'x': File exists.")

    def test_never_entered_with_a_word_of_nsys(self):
        self.fails("was never entered (nsys said: WARNING: odd)\n", says="WARNING: odd")

    def test_nothing_to_enter(self):
        """nsys did not wait for a range, so that is no reason."""
        self.fails("nsys left no trace: Generated:\n", options=("--nsys-arg=--capture-range=none",))

    def test_usage(self):
        """nsys did not like what it got."""
        self.fails("nsys did not accept its command line: bad; usage: nsys profile\n", status=1,
                   says="bad\nusage: nsys profile", command=("false",))

    def test_no_such_command(self):
        for command in ("./nothere", "nothere"):
            done = self.record("--", command, status=127)
            self.assertIn(f"there is no program '{command}' to run".encode(), done.stderr)
        (self.top / "text").write_text("")
        self.assertIn(b"Permission denied", self.record("--", "./text", status=127).stderr)
        self.assertIsNone(self.left())

    def test_no_nsys(self):
        (self.bin / "nsys").unlink()
        done = self.record("--", "true", status=1)
        self.assertIn(b"there is no program 'nsys' on the PATH\n  Install Nsight Systems", done.stderr)
        done = self.record("--nsys", "/none/nsys", "--", "true", status=1)
        self.assertIn(b"cannot start '/none/nsys'", done.stderr)
        self.assertIsNone(self.left())

    def test_place_that_cannot_be_made(self):
        (self.top / "file").write_text("")
        done = self.record("--", "true", run_dir="file/run", status=1)
        self.assertIn(b"nvtxa: file/run: cannot make this directory: Not a directory\n", done.stderr)
        self.assertEqual((self.top / "file").read_text(), "")


class Earlier(RecordCase):
    def setUp(self):
        super().setUp()
        self.record("--run-id", "first", "--analyze", "--", "true")
        (self.top / "out/notes.txt").write_text("mine")
        self.before = self.content()

    def content(self):
        return {str(p.relative_to(self.top)): p.read_bytes()
                for p in (self.top / "out").rglob("*") if p.is_file()}

    def test_refused(self):
        done = self.record("--", "sh", "-c", "touch ran", status=1)
        self.assertIn(b"nvtxa: out: a run is recorded here already: there is analysis.json, "
                      b"manifest.yaml, stats, trace.nsys-rep\n", done.stderr)
        self.assertEqual(self.content(), self.before)
        self.assertFalse((self.top / "ran").exists())

    def test_replaced(self):
        """All that was of the earlier run goes, all else stays."""
        self.record("--force", "--run-id", "second", "--", "true")
        self.assertEqual(self.left(), ["manifest.yaml", "notes.txt", "trace.nsys-rep"])
        self.assertIn("run_id: second\n", self.manifest())

    def test_not_replaced_by_nothing(self):
        self.record("--force", "--", "true", status=1, environment={"STANDIN_LEAVES": ""})
        self.assertEqual(self.content(), self.before)

    def test_not_replaced_by_less_than_a_trace(self):
        """Both are there, and the earlier run goes once a trace is."""
        for _ in range(2):
            done = self.record("--force", "--", "true", status=1,
                               environment={"STANDIN_LEAVES": "trace.qdstrm"})
            self.assertIn(b"the run that was here before is in .nvtxa-earlier\n", done.stderr)
            self.assertIn("manifest.yaml", self.left())
            self.assertEqual(self.earlier(), self.before)
        done = self.record("--", "true", status=1)
        self.assertIn(b"left the run before it in .nvtxa-earlier\n", done.stderr)
        self.record("--force", "--", "true")
        self.assertEqual(self.left(), ["manifest.yaml", "notes.txt", "trace.nsys-rep"])

    def earlier(self):
        """What was set aside, and what is of no run, as it was before."""
        return {path.replace("/.nvtxa-earlier", ""): data for path, data in self.content().items()
                if ".nvtxa-earlier" in path or path == "out/notes.txt"}

    def test_killed(self):
        """The earlier run is there, and the next recording says where."""
        ready = self.top / "ready"
        process = subprocess.Popen(
            [self.bin / "nvtxa", "record", "--run-dir", "out", "--force", "--", "sh", "-c",
             "echo $$ > pid; mv pid ready; exec sleep 100"], cwd=self.top, env=self.environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not ready.exists():
            time.sleep(0.02)
        done = self.record("--force", "--", "true", status=1)
        self.assertIn(b"nvtxa: out: another recording is under way here\n", done.stderr)
        process.kill()
        process.wait()
        os.kill(int(ready.read_text()), signal.SIGKILL)
        self.assertEqual(self.earlier(), self.before)
        done = self.record("--", "true", status=1)
        self.assertIn(b"left the run before it in .nvtxa-earlier\n", done.stderr)


class Interrupted(RecordCase):
    def start(self, *arguments):
        ready = self.top / "ready"
        ready.unlink(missing_ok=True)
        process = subprocess.Popen(
            [self.bin / "nvtxa", "record", "--run-dir", "out", *arguments, "--", "sh", "-c",
             "echo > ready; exec sleep 100"], cwd=self.top, env=self.environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        while not ready.exists():
            time.sleep(0.02)
        return process

    def test_passed_on_once(self):
        """However often it comes: nsys would end at the second, and leave no trace."""
        process = self.start("--analyze")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, output), (130, b""), errors)
        self.assertEqual((self.replay / "interrupts").read_text(), "x")
        self.assertEqual(self.left(), ["manifest.yaml", "trace.nsys-rep"])
        self.assertIn("exit_status: 130\n", self.manifest())
        self.assertIn(b"nvtxa: interrupted: waiting for nsys", errors)


    def test_while_the_trace_is_written(self):
        """nsys is left alone then: an interrupt would lose the trace."""
        writing = self.top / "writing"
        process = subprocess.Popen(
            [self.bin / "nvtxa", "record", "--run-dir", "out", "--nsys-arg=--capture-range=none",
             "--", "true"], cwd=self.top, env=self.environment(STANDIN_WRITES=str(writing)),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not writing.exists():
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertFalse((self.replay / "interrupts").exists())
        self.assertEqual(self.left(), ["manifest.yaml", "trace.nsys-rep"])


class Init(RecordCase):
    def setUp(self):
        super().setUp()
        (self.top / "report.nsys-rep").write_text("an old trace")

    def init(self, *arguments, status=0, trace="report.nsys-rep"):
        done = self.nvtxa("init", "out", "--trace", trace, "--capture-range", "profile-target",
                          *arguments)
        self.assert_status(done, status)
        return done

    def test_copied(self):
        done = self.init("--iterations", "2", "--set", "git_commit=0123", "--profile", "p")
        self.assertEqual(done.stdout, b"Made run directory: out\n")
        self.assertEqual((self.top / "out/trace.nsys-rep").read_text(), "an old trace")
        self.assertEqual(self.manifest(), """\
profile_name: p
run_id: null
target: {}
record_ids: []
capture_range: profile-target
workload:
  iterations: 2
cuda: {}
device: null
git_commit: "0123"
command_line: null
expected_trace_path: out/trace.nsys-rep
nsys_version: null
""")
        self.assertEqual(self.analysis()["run"]["git_commit"], "0123")
        self.assertIn(b"a run is recorded here already", self.init(status=1).stderr)
        self.init("--force", "--quiet")

    def test_in_place(self):
        (self.top / "out").mkdir()
        (self.top / "report.nsys-rep").rename(self.top / "out/trace.nsys-rep")
        self.init(trace="out/trace.nsys-rep")
        self.assertEqual(self.left(), ["manifest.yaml", "trace.nsys-rep"])
        self.assertIn(b"there is a manifest.yaml beside the trace already",
                      self.init(trace="out/trace.nsys-rep", status=1).stderr)
        self.init("--force", "--run-id", "new", trace="out/trace.nsys-rep")
        self.assertIn("run_id: new\n", self.manifest())
        self.assertEqual((self.top / "out/trace.nsys-rep").read_text(), "an old trace")

    def test_under_another_name_in_the_run_directory(self):
        """Replacing an earlier run would take it away."""
        (self.top / "out").mkdir()
        (self.top / "report.nsys-rep").rename(self.top / "out/trace.1.nsys-rep")
        done = self.init("--force", trace="out/trace.1.nsys-rep", status=1)
        self.assertIn(b"the trace lies in the run directory, under another name", done.stderr)
        self.assertEqual(self.left(), ["trace.1.nsys-rep"])

    def test_no_trace(self):
        done = self.init(trace="none.nsys-rep", status=1)
        self.assertIn(b"nvtxa: none.nsys-rep: cannot look at the trace: No such file", done.stderr)
        (self.top / "directory").mkdir()
        self.assertIn(b"not a regular file", self.init(trace="directory", status=1).stderr)
        (self.top / "empty").write_text("")
        self.assertIn(b"the trace is empty", self.init(trace="empty", status=1).stderr)
        self.assertIsNone(self.left())


@unittest.skipUnless(pathlib.Path("/dev/full").exists(), "there is no /dev/full")
class Lost(RecordCase):
    def test_print_to_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            done = self.record("--print-command", "true", status=1, stdout=full)
        self.assertIn(b"standard output: cannot write", done.stderr)


if __name__ == "__main__":
    support.main()
