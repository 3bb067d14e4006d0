"""Colour, progress and width, on a terminal and off it."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cli_case import CliCase, iteration  # noqa: E402
from nsys_reports import Range  # noqa: E402
import support  # noqa: E402

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def screen(output):
    """What is left on the screen: a carriage return goes back to the start of the line, and what
    follows is written over what stands there."""
    lines = []
    for line in COLOUR.sub("", output).split("\n"):
        shown = []
        for part in line.split("\r"):
            shown[:len(part)] = part
        lines.append("".join(shown).rstrip())
    return lines


class Terminal(CliCase):
    def test_progress_is_taken_away(self):
        self.smoke()
        status, output = self.on_terminal("analyze", "runs/smoke",
                                          environment={"STANDIN_SECONDS": "2.2"})
        self.assertEqual(status, 0, output)
        self.assertIn("\rnsys: ", output)
        self.assertRegex(output, r"\rnsys: [^\r]* \(1 s\)")
        self.assertRegex(output, r"\rnsys: [^\r]* \(2 s\)")
        plain = self.nvtxa("analyze", "runs/smoke").stdout.decode().splitlines()
        self.assertEqual(screen(output)[0], plain[0])
        self.assertNotIn("nsys: ", "\n".join(screen(output)))

    def test_progress_never(self):
        self.smoke()
        for arguments in (["--progress=never"], ["-q"]):
            status, output = self.on_terminal("analyze", *arguments, "runs/smoke")
            self.assertEqual(status, 0, output)
            self.assertNotIn("\r", output)

    def test_progress_off_a_terminal(self):
        self.smoke()
        self.assertEqual(self.nvtxa("analyze", "runs/smoke").stderr, b"")
        done = self.nvtxa("analyze", "--progress", "always", "runs/smoke")
        lines = done.stderr.decode().splitlines()
        self.assertTrue(any(line.startswith("nsys: ") for line in lines), lines)
        self.assertEqual(len(lines), len(set(lines)), "a line a change, not a line a tick")
        self.assertNotIn(b"\r", done.stderr)

    def test_progress_in_a_narrow_terminal(self):
        self.smoke()
        status, output = self.on_terminal("analyze", "runs/smoke", columns=10)
        self.assertEqual(status, 0, output)
        self.assertNotIn("\rnsys", output)

    def test_log_does_not_mix_with_progress(self):
        self.smoke()
        _, output = self.on_terminal("analyze", "-q", "-vv", "--progress", "always", "runs/smoke",
                                     environment={"STANDIN_SECONDS": "0.3"})
        for line in screen(output):
            self.assertTrue(line == "" or line.startswith("nvtxa: "), output)

    def test_colour(self):
        self.smoke(children=[iteration(0)])
        _, output = self.on_terminal("analyze", "--strict", "runs/smoke")
        self.assertIn("\x1b[1mhost scope", output)
        self.assertIn("\x1b[33mnvtxa: warning:\x1b[0m ", output)
        self.assertIn("\x1b[1;31mnvtxa:\x1b[0m 1 warning", output)

    def test_no_colour(self):
        self.smoke(children=[iteration(0)])
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            _, output = self.on_terminal("analyze", "runs/smoke", environment=environment)
            self.assertNotIn("\x1b", output)
            self.assertIn("nvtxa: warning: ", output)
        _, output = self.on_terminal("analyze", "runs/smoke", environment={"NO_COLOR": ""})
        self.assertIn("\x1b[1m", output)

    def test_colour_is_a_matter_of_each_stream(self):
        self.smoke(children=[iteration(0)])
        _, errors = self.on_terminal("analyze", "runs/smoke", streams=("stderr",))
        self.assertIn("\x1b[33m", errors)
        self.assertNotIn("host scope", errors)
        _, result = self.on_terminal("analyze", "runs/smoke", streams=("stdout",))
        self.assertIn("\x1b[1mhost scope", result)
        self.assertNotIn("warning", result)
        done = self.nvtxa("analyze", "runs/smoke")
        self.assertNotIn(b"\x1b", done.stdout + done.stderr)

    def test_one_screen(self):
        """24 lines of the terminal's width, whatever scopes there are and however long their names."""
        scopes = [Range(f"{i} " + "long name " * 20, 1_010_000 + i * 10_000, 1_019_000 + i * 10_000,
                        operations=[(1_012_000 + i * 10_000, 1_013_000 + i * 10_000)])
                  for i in range(12)]
        steps = [Range("iteration 0", 1_000_000, 1_400_000, scopes)]
        manifest = "capture_range: profile-target\nworkload: {iterations: 1}\n"
        self.smoke(children=steps, manifest=manifest)
        for columns in (80, 120, 200):
            _, output = self.on_terminal("analyze", "runs/smoke", columns=columns)
            lines = screen(output)
            self.assertLessEqual(len(lines), 24)
            self.assertLessEqual(max(map(len, lines)), columns, lines)
            self.assertTrue(any("\u2026" in line for line in lines))

    def test_document_on_a_terminal(self):
        """The same document, with what a terminal would act on as JSON escapes."""
        name = "c1\u009b31m \u202e \U000e0041 \u6570"
        steps = [Range("iteration 0", 1_000_000, 1_400_000, [Range(name, 1_010_000, 1_020_000)])]
        manifest = "capture_range: profile-target\nworkload: {iterations: 1}\n"
        self.smoke(children=steps, manifest=manifest)
        _, output = self.on_terminal("analyze", "-o", "-", "runs/smoke", streams=("stdout",))
        self.assertNotIn("\u009b", output)
        self.assertNotIn("\u202e", output)
        self.assertIn("\\u009b31m \\u202e \\udb40\\udc41 \u6570", output)
        self.assertEqual(self.valid(output),
                         self.valid(self.nvtxa("analyze", "-o", "-", "runs/smoke").stdout))


if __name__ == "__main__":
    support.main()
