#!/usr/bin/env python3
"""What works with several threads gives what one thread gives; a build with ThreadSanitizer finds
no race in it.

usage: test_threads.py PROGRAM
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SOURCE, Case, main, run  # noqa: E402

PROGRAM = sys.argv.pop(1)
MANIFEST = "capture_range: profile-target\nworkload:\n  iterations: 3\n"


class Threads(Case):
    def setUp(self):
        super().setUp()
        self.write(self.top / "manifest.yaml", MANIFEST)
        self.sqlite = self.top / "trace.sqlite"
        subprocess.run([sys.executable, SOURCE / "testdata" / "generate_export.py", "--mixed",
                        "--threads", "3", "--depth", "1", "--ranges", "34000", "--operations",
                        "26000", self.sqlite], check=True)

    def test_tables(self):
        done = run([PROGRAM, self.sqlite])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_command(self):
        """From the export, which leaves the reports, and from these."""
        self.analyze(self.top, "--no-export", "--engine", "native")
        native = self.result(self.top)
        self.assertTrue((self.top / "stats" / "nsys_nvtx_pushpop_trace.csv").exists())
        self.analyze(self.top, "--no-export")
        again = self.result(self.top)
        for group in native["gpu_projected_ranges"]:
            self.assertIsNotNone(group["gpu_work"])
            group["gpu_work"] = None  # the reports do not tell
        for key in ("host_ranges", "gpu_projected_ranges"):
            self.assertTrue(again[key] == native[key], key)


main()
