"""`nvtxa analyze`: what it writes and prints where, and how it ends."""
import os
import pathlib
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cli_case import MANIFEST, CliCase, iteration  # noqa: E402
from nsys_reports import Range, reports  # noqa: E402
import support  # noqa: E402


class Summary(CliCase):
    def test_success(self):
        run_dir = self.smoke()
        self.golden("analyze", "analyze", "runs/smoke")
        self.valid((run_dir / "analysis.json").read_bytes())

    def test_trailing_slash(self):
        self.smoke()
        done = self.nvtxa("analyze", "runs/smoke/")
        self.assertTrue(done.stdout.endswith(b"analysis: runs/smoke/analysis.json\n"), done.stdout)

    def test_no_gpu_work(self):
        step = Range("iteration 0", 1_000_000, 1_500_000, [Range("load", 1_100_000, 1_200_000)])
        run_dir = self.smoke(children=[step])
        self.golden("analyze-no-gpu", "analyze", "runs/smoke")
        analysis = self.valid((run_dir / "analysis.json").read_bytes())
        self.assertIsNone(analysis["iteration_summary"]["gpu_projected"])

    def test_no_iterations(self):
        manifest = "capture_range: profile-target\n"
        self.smoke(children=[Range("setup", 1_000_000, 2_000_000)], manifest=manifest)
        self.golden("analyze-no-iterations", "analyze", "runs/smoke")

    def test_iterations_not_declared(self):
        self.smoke(manifest="capture_range: profile-target\nrun_id: only-this\n")
        self.golden("analyze-none-declared", "analyze", "runs/smoke")

    def test_wrong_iterations(self):
        self.smoke(children=[iteration(1), iteration(2)])
        self.golden("analyze-wrong-iterations", "analyze", "runs/smoke")

    def test_units(self):
        """Each value in its own unit; 999.95 ns is 1.0 us and never 1000.0 ns."""
        scopes = [Range("nanoseconds", 2_000, 2_999), Range("seconds", 10_000, 12_500_010_000),
                  Range("rounded up", 20_000_000_000, 20_000_999_950)]
        roots = [Range("iteration 0", 1_000, 30_000_000_000, scopes)]
        run_dir = self.smoke()
        root = [Range("profile-target", 500, 40_000_000_000, roots)]
        host, gpu = reports(root)
        self.write(self.replay / "nvtx_pushpop_trace.csv", host)
        self.write(self.replay / "nvtx_gpu_proj_trace.csv", gpu)
        done = self.nvtxa("analyze", run_dir)
        lines = done.stdout.decode().splitlines()
        for name, value in (("nanoseconds", "999.0 ns"), ("seconds", "12.5 s"),
                            ("rounded up", "1.0 ms")):
            self.assertTrue(any(line.startswith(f"  {name} ") and value in line
                                for line in lines), done.stdout.decode())

    def test_names_that_harm_a_terminal(self):
        """What is printed holds no control character, no override; the document holds the names."""
        names = ["esc\x1b]0;title\x07", "c1\u009b31m", "\u202egnp.exe", "line\u2028break",
                 "\u6570\u636e" * 60]
        scopes = [Range(name, 1_010_000 + i * 2_000, 1_011_000 + i * 2_000)
                  for i, name in enumerate(names)]
        run_dir = self.smoke(children=[Range("iteration 0", 1_000_000, 1_400_000, scopes)],
                             manifest=MANIFEST.replace("gpu-smoke", '"gpu\\e[1msmoke"'))
        done = self.golden("analyze-unsafe-names", "analyze", "runs/smoke")
        unsafe = [c for c in done.stdout.decode() if c != "\n" and (
            ord(c) < 32 or 127 <= ord(c) < 160 or 0x2028 <= ord(c) <= 0x202e)]
        self.assertEqual(unsafe, [])
        analysis = self.valid((run_dir / "analysis.json").read_bytes())
        self.assertEqual({g["name"] for g in analysis["host_ranges"]} & set(names), set(names))

    def test_ascii_locale(self):
        """Where the screen cannot show it, what is not ASCII is escaped."""
        charset = locale_in(self.top, "en_US", "ISO-8859-1")
        if charset is None:
            self.skipTest("no localedef, or no sources of en_US")
        scopes = [Range("\u6570" * 60, 1_010_000, 1_011_000)]
        self.smoke(children=[Range("iteration 0", 1_000_000, 1_400_000, scopes)])
        done = self.nvtxa("analyze", "runs/smoke", environment=charset)
        done.stdout.decode("ascii")
        self.assertIn(b"smoke-tensor / gpu-smoke - cuda:0 - commit", done.stdout)
        self.assertIn(b"...", done.stdout)
        self.assertIn(b"\\u6570\\u6570", done.stdout)

    def test_decimal_comma(self):
        comma = locale_in(self.top, "de_DE", "UTF-8")
        if comma is None:
            self.skipTest("no localedef, or no sources of de_DE")
        run_dir = self.smoke()
        self.golden("analyze", "analyze", "runs/smoke", environment=comma)
        self.valid((run_dir / "analysis.json").read_bytes())
        done = self.nvtxa("analyze", "--timeout", "60.5", run_dir, environment=comma)
        self.assert_status(done, 0)

    def test_long_identity(self):
        self.smoke(manifest=MANIFEST.replace("smoke-tensor", "t" * 200).replace(
            "abc123", "0123456789abcdef0123456789abcdef01234567"))
        first = self.nvtxa("analyze", "runs/smoke").stdout.decode().splitlines()[0]
        self.assertLessEqual(len(first), 100)
        for part in ("gpu-smoke", "cuda:0", "commit 0123456789ab ", "nsys 2025.1.3", "tt\u2026tt"):
            self.assertIn(part, first)


def locale_in(directory, name, charset):
    """An environment with a locale made for it, or None where it cannot be made."""
    path = directory / f"{name}.{charset}"
    try:
        subprocess.run(["localedef", "-i", name, "-f", charset, str(path)], check=False,
                       capture_output=True, timeout=60)
    except OSError:
        return None
    if not (path / "LC_CTYPE").exists():
        return None
    return {"LOCPATH": str(directory), "LC_ALL": path.name}


class Errors(CliCase):
    def test_no_such_run_directory(self):
        self.golden("analyze-no-such-run", "analyze", "runs/nothing")

    def test_run_directory_is_a_file(self):
        self.smoke()
        self.golden("analyze-run-is-a-file", "analyze", "runs/smoke/trace.nsys-rep")

    def test_no_manifest(self):
        (self.smoke() / "manifest.yaml").unlink()
        self.golden("analyze-no-manifest", "analyze", "runs/smoke")

    def test_manifest_without_capture_range(self):
        self.smoke(manifest="run_id: a\n")
        self.golden("analyze-no-capture-key", "analyze", "runs/smoke")

    def test_no_trace(self):
        run_dir = self.smoke()
        (run_dir / "trace.nsys-rep").unlink()
        self.golden("analyze-no-trace", "analyze", "runs/smoke")
        self.assert_no_result(run_dir)

    def test_no_nsys(self):
        run_dir = self.smoke()
        self.golden("analyze-no-nsys", "analyze", "--nsys", "./nothing", "runs/smoke")
        self.assert_no_result(run_dir)

    def test_nothing_exported_yet(self):
        self.smoke()
        self.golden("analyze-no-reports", "analyze", "--no-export", "runs/smoke")

    def test_damaged_report(self):
        run_dir = self.smoke()
        self.assert_status(self.nvtxa("analyze", run_dir), 0)
        before = (run_dir / "analysis.json").read_bytes()
        report = run_dir / "stats" / "nsys_nvtx_pushpop_trace.csv"
        report.write_text(report.read_text().replace(",432000,", ",43x000,"))
        self.golden("analyze-damaged", "analyze", "--no-export", "runs/smoke")
        self.assertEqual((run_dir / "analysis.json").read_bytes(), before)

    def test_timeout(self):
        run_dir = self.smoke()
        self.golden("analyze-timeout", "analyze", "--timeout", ".5", "runs/smoke",
                    environment={"STANDIN_HANG": "--version"})
        self.assert_no_result(run_dir)


class Output(CliCase):
    def test_standard_output(self):
        """With -o - there is the document and nothing else; the run directory gets none."""
        run_dir = self.smoke()
        for name in ("-", "/dev/stdout"):
            done = self.nvtxa("analyze", "-o", name, run_dir)
            self.assert_status(done, 0)
            self.assertEqual(done.stderr, b"")
            self.valid(done.stdout)
            self.assert_no_result(run_dir)
        self.nvtxa("analyze", run_dir)
        self.assertEqual((run_dir / "analysis.json").read_bytes(), done.stdout)

    def test_standard_output_is_the_file(self):
        """/dev/stdout is never replaced as if it were a file."""
        self.smoke()
        with open(self.top / "out.json", "wb") as out:
            done = self.nvtxa("analyze", "-o", "/dev/stdout", "runs/smoke", stdout=out)
        self.assert_status(done, 0)
        self.valid((self.top / "out.json").read_bytes())

    def test_file(self):
        run_dir = self.smoke()
        done = self.nvtxa("analyze", "--output=out.json", run_dir)
        self.assertTrue(done.stdout.endswith(b"\nWrote analysis: out.json\n"), done.stdout)
        self.valid((self.top / "out.json").read_bytes())
        self.assert_no_result(run_dir)

    def test_link_given(self):
        self.smoke()
        self.write(self.top / "real" / "out.json", "old")
        (self.top / "link.json").symlink_to("real/out.json")
        self.assert_status(self.nvtxa("analyze", "-o", "link.json", "runs/smoke"), 0)
        self.assertTrue((self.top / "link.json").is_symlink())
        self.valid((self.top / "real" / "out.json").read_bytes())

    def test_link_in_the_run_directory(self):
        """A run directory from elsewhere cannot have a file outside of it overwritten."""
        run_dir = self.smoke()
        victim = self.write(self.top / "victim", "precious")
        (run_dir / "analysis.json").symlink_to(victim)
        self.assert_status(self.nvtxa("analyze", run_dir), 0)
        self.assertEqual(victim.read_text(), "precious")
        self.assertFalse((run_dir / "analysis.json").is_symlink())

    def test_directory_in_the_way(self):
        """Found before nsys has worked for minutes."""
        run_dir = self.smoke()
        (run_dir / "analysis.json").mkdir()
        done = self.nvtxa("analyze", run_dir)
        self.assert_status(done, 1)
        self.assertIn("Is a directory", str(done.stderr))
        self.assertFalse((run_dir / "stats").exists())

    def test_named_pipe(self):
        """What is no regular file is written in place, never replaced."""
        self.smoke()
        os.mkfifo(self.top / "pipe")
        with open(os.open(self.top / "pipe", os.O_RDONLY | os.O_NONBLOCK), "rb") as pipe:
            self.assert_status(self.nvtxa("analyze", "-o", "pipe", "runs/smoke"), 0)
            self.valid(pipe.read())
        self.assertTrue(stat.S_ISFIFO((self.top / "pipe").stat().st_mode))

    def test_places_that_cannot_be_written(self):
        self.smoke()
        self.golden("analyze-output-directory", "analyze", "-o", "runs", "runs/smoke")
        self.golden("analyze-output-nowhere", "analyze", "-o", "nowhere/a.json", "runs/smoke")
        self.golden("analyze-output-full", "analyze", "-o", "/dev/full", "runs/smoke")

    def test_full_standard_output(self):
        run_dir = self.smoke()
        for arguments in (["--help"], ["--version"], ["help", "analyze"], ["analyze", run_dir],
                          ["analyze", "-o", "-", run_dir]):
            with open("/dev/full", "wb") as full:
                done = self.nvtxa(*arguments, stdout=full)
            self.assert_status(done, 1)
            self.assertEqual(done.stderr, b"nvtxa: standard output: cannot write: "
                                          b"No space left on device\n")

    def test_nobody_reads(self):
        run_dir = self.smoke()
        for arguments in (["--help"], ["analyze", run_dir], ["analyze", "-o", "-", run_dir]):
            read, write = os.pipe()
            os.close(read)
            with open(write, "wb") as pipe:
                done = self.nvtxa(*arguments, stdout=pipe)
            self.assert_status(done, 1)
            self.assertEqual(done.stderr,
                             b"nvtxa: standard output: cannot write: Broken pipe\n")

    def test_closed_streams(self):
        """A missing stream is an error where it is needed, and no file gets its number."""
        run_dir = self.smoke()
        for arguments, redirection, status in (
                ("-o out.json -q", "<&- >&- 2>&-", 0),
                ("-o out.json -q", ">&-", 0),
                ("-o out.json", "<&- >&- 2>&-", 1),
                ("-o -", ">&-", 1),
                ("-o out.json -vv --progress always", "2>&-", 0)):
            line = f"exec nvtxa analyze {arguments} runs/smoke {redirection}"
            done = subprocess.run(["sh", "-c", line], cwd=self.top, env=self.environment(),
                                  capture_output=True, timeout=60, check=False)
            self.assert_status(done, status)
            if "out.json" in arguments:
                self.valid((self.top / "out.json").read_bytes())
            for path in run_dir.rglob("*"):
                if path.is_file():
                    self.assertNotIn(b"Wrote analysis", path.read_bytes(), path)

    def test_quiet(self):
        self.smoke(children=[iteration(0)])
        self.golden("analyze-quiet", "analyze", "-q", "runs/smoke")

    def test_verbose(self):
        self.smoke()
        once = self.nvtxa("analyze", "-q", "-v", "runs/smoke").stderr.decode()
        twice = self.nvtxa("analyze", "-q", "-vv", "runs/smoke").stderr.decode()
        self.assertTrue(all(line.startswith("nvtxa: ") for line in twice.splitlines()), twice)
        self.assertIn("nvtxa: reading runs/smoke/manifest.yaml\n", once)
        self.assertIn("nvtxa: wrote runs/smoke/analysis.json\n", once)
        self.assertIn("/bin/nsys export ", once)
        self.assertNotIn("Processing events", once)
        self.assertIn("Processing events", twice)

    def test_strict(self):
        run_dir = self.smoke(children=[iteration(0)])
        self.golden("analyze-strict", "analyze", "--strict", "-q", "runs/smoke")
        self.valid((run_dir / "analysis.json").read_bytes())
        done = self.nvtxa("analyze", "--strict", "-o", "-", "runs/smoke")
        self.assert_status(done, 3)
        self.valid(done.stdout)

    def test_strict_without_warnings(self):
        self.smoke()
        self.assert_status(self.nvtxa("analyze", "--strict", "runs/smoke"), 0)

    def test_no_export(self):
        """The reports that are there, with what is not known about them."""
        run_dir = self.smoke()
        first = self.valid(self.nvtxa("analyze", "-o", "-", run_dir).stdout)
        (self.bin / "nsys").unlink()
        done = self.nvtxa("analyze", "--no-export", run_dir)
        self.assert_status(done, 0)
        self.assertEqual(done.stderr, b"")
        second = self.valid((run_dir / "analysis.json").read_bytes())
        self.assertNotEqual(first.pop("provenance"), second.pop("provenance"))
        self.assertEqual(first, second)
        (run_dir / "stats" / "export.json").unlink()
        (run_dir / "trace.nsys-rep").unlink()
        self.golden("analyze-unidentified", "analyze", "--no-export", "-q", "runs/smoke")

    def test_old_quoting(self):
        """The version of nsys decides how names with quotes are read."""
        name = 'say "a", "b"'
        step = Range("iteration 0", 1_000_000, 1_400_000, [Range(name, 1_010_000, 1_020_000)])
        for version in ("2022.4", "2023.4", "2025.1"):
            run_dir = self.smoke(f"runs/{version}", children=[step], version=version)
            self.assert_status(self.nvtxa("analyze", "-q", run_dir), 0)
            analysis = self.valid((run_dir / "analysis.json").read_bytes())
            self.assertIn(name, [group["name"] for group in analysis["host_ranges"]])
            for path in self.replay.iterdir():
                path.unlink()

    def test_same_input_same_bytes(self):
        run_dir = self.smoke()
        results = [self.nvtxa("analyze", "-o", "-", run_dir).stdout for _ in range(2)]
        self.assertEqual(*results)


if __name__ == "__main__":
    support.main()
