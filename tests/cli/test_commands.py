"""The table of commands, every way to get the command line wrong, and help that runs."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cli_case import CliCase  # noqa: E402
import support  # noqa: E402


class Commands(CliCase):
    def test_help(self):
        done = self.golden("help", "--help")
        for arguments in (["-h"], ["help"], ["help", "help"], ["help", "--help"]):
            self.assertEqual(self.nvtxa(*arguments).stdout, done.stdout, arguments)

    def test_version(self):
        done = self.golden("version", "--version")
        for arguments in (["-V"], ["analyze", "--version"], ["analyze", "-V"]):
            self.assertEqual(self.nvtxa(*arguments).stdout, done.stdout, arguments)

    def test_no_arguments(self):
        self.golden("no-arguments")

    def test_unknown_command(self):
        self.golden("unknown-command-near", "analyse", "runs/smoke")
        self.golden("unknown-command-far", "x")
        self.golden("unknown-command-help", "help", "analyse")
        self.golden("unknown-command-unsafe", "\x1b[31mred\u202e")

    def test_unknown_option(self):
        self.golden("unknown-option", "--verison")

    def test_too_much_help(self):
        self.golden("help-two-commands", "help", "analyze", "help")


class AnalyzeOptions(CliCase):
    def test_help(self):
        done = self.golden("analyze-help", "analyze", "--help")
        for arguments in (["analyze", "-h"], ["help", "analyze"]):
            self.assertEqual(self.nvtxa(*arguments).stdout, done.stdout, arguments)
        widest = max(map(len, done.stdout.decode().splitlines()))
        self.assertLessEqual(widest, 90)

    def test_examples_in_help_run(self):
        for command in (["--help"], ["analyze", "--help"]):
            self.smoke()
            text = self.nvtxa(*command).stdout.decode()
            examples = [line.strip() for line in text.partition("\nExample")[2].splitlines()
                        if line.startswith("  ")]
            self.assertTrue(examples)
            for line in examples:
                done = subprocess.run(["sh", "-c", line], cwd=self.top, env=self.environment(),
                                      capture_output=True, timeout=60, check=False)
                self.assert_status(done, 0)

    def test_no_arguments(self):
        self.golden("analyze-no-arguments", "analyze")

    def test_two_run_directories(self):
        self.golden("analyze-two-runs", "analyze", "a", "b")

    def test_empty_names(self):
        self.golden("analyze-empty-run", "analyze", "")
        self.golden("analyze-empty-nsys", "analyze", "--nsys", "", "a")
        self.golden("analyze-empty-output", "analyze", "--output=", "a")

    def test_unknown_options(self):
        self.golden("analyze-unknown-near", "analyze", "--strct", "a")
        self.golden("analyze-unknown-far", "analyze", "--zzzzzzzz=1", "a")
        self.golden("analyze-unknown-short", "analyze", "-qx", "a")
        self.golden("analyze-ambiguous", "analyze", "--ver", "a")

    def test_values(self):
        self.golden("analyze-value-missing", "analyze", "a", "--output")
        self.golden("analyze-value-missing-short", "analyze", "a", "-o")
        self.golden("analyze-value-unwanted", "analyze", "--strict=yes", "a")
        self.golden("analyze-progress-unknown", "analyze", "--progress", "maybe", "a")

    def test_timeouts_refused(self):
        for name, text in (("text", "soon"), ("negative", "-1"), ("overflow", "9999999999999")):
            self.golden(f"analyze-timeout-{name}", "analyze", "--timeout", text, "a")
        refused = ["", ".", "1e3", "1 ", " 1", "+1", "0x10", "nan", "inf", "1,5", "1.2.3", "1s",
                   "-0", "9223372037", "9223372036.854775808"]
        for text in refused:
            done = self.nvtxa("analyze", "--timeout", text, "a")
            self.assert_status(done, 2)
            self.assertIn("--timeout", done.stderr.decode())

    def test_timeouts_taken(self):
        run_dir = self.smoke()
        taken = ["0", "0.0", "60", "60.5", "99.", "9223372036.854775807"]
        for text in taken:
            self.assert_status(self.nvtxa("analyze", "-q", "--timeout", text, run_dir), 0)

    def test_options_after_the_run_directory(self):
        run_dir = self.smoke()
        self.assert_status(self.nvtxa("analyze", run_dir, "--quiet", "-o", "out.json"), 0)
        self.assertTrue((self.top / "out.json").exists())

    def test_run_directory_like_an_option(self):
        self.smoke("-o")
        done = self.nvtxa("analyze", "--", "-o")
        self.assert_status(done, 0)
        self.assertTrue(done.stdout.endswith(b"Wrote analysis: -o/analysis.json\n"), done.stdout)
        self.valid((self.top / "-o" / "analysis.json").read_bytes())


if __name__ == "__main__":
    support.main()
