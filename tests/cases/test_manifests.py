#!/usr/bin/env python3
"""What manifest.yaml says: text that looks like numbers, numbers that do not fit, keys twice."""
from plain import MANIFEST, ReportCase, capture, reports
from support import main, warning_with

HOST, GPU = reports([capture()])
NOT_CHECKED = "workload.iterations"


class Commit(ReportCase):
    def test_read_as_text(self):
        """A commit id that looks like a number came back as infinity, octal or rounded."""
        texts = ["61e9540", "0192117", "12345678", "1234567890123456789012345678901234567890",
                 "4225332178759948e04347560002921719079454", "0x1F", "0o17", "1_000", "1e5", ".5e3",
                 "true", "2026-08-29", ".inf", "-0"]
        written = [(text, text) for text in texts]
        written += [('"61e9540"', "61e9540"), ("!!str 61e9540", "61e9540"), ('""', ""),
                    ("'null'", "null"), ("null", None), ("~", None), ("", None)]
        for yaml, wanted in written:
            with self.subTest(yaml):
                manifest = MANIFEST.replace("git_commit: 4f2c9d1", f"git_commit: {yaml}")
                analysis = self.good(self.run_dir(HOST, GPU, manifest))
                self.assertEqual(analysis["run"]["git_commit"], wanted)
        manifest = MANIFEST.replace("git_commit: 4f2c9d1\n", "")
        self.assertIsNone(self.good(self.run_dir(HOST, GPU, manifest))["run"]["git_commit"])


class Keys(ReportCase):
    def test_twice_in_a_mapping(self):
        """The last of two equal keys won silently: 3 or 30 iterations?"""
        manifest = MANIFEST.replace("  iterations: 3\n", "  iterations: 3\n  iterations: 30\n")
        line = manifest.split("\n").index("  iterations: 30") + 1
        self.bad(self.run_dir(HOST, GPU, manifest), f"manifest.yaml:{line}", "iterations")

    def test_twice_at_the_top(self):
        manifest = MANIFEST + "workload:\n  iterations: 30\n"
        self.bad(self.run_dir(HOST, GPU, manifest), "manifest.yaml:", "workload")


class Iterations(ReportCase):
    def with_iterations(self, text):
        manifest = MANIFEST.replace("iterations: 3", f"iterations: {text}")
        return self.good(self.run_dir(HOST, GPU, manifest))

    def test_no_count(self):
        """Not an integer >= 0 of 64 bits: the set was not checked, and a warning says so."""
        for text in ("-1", "3.0", "1e3", "true", '"3"', "18446744073709551616", "1_000", "[3]",
                     ".nan", "9223372036854775808"):
            with self.subTest(text):
                analysis = self.with_iterations(text)
                self.assert_plain_iterations(analysis)
                self.assertTrue(warning_with(analysis, NOT_CHECKED), analysis["warnings"])
                self.assertFalse(warning_with(analysis, "iteration indexes"), analysis["warnings"])

    def test_counts(self):
        for text in ("3", "0x3", "0o3"):
            with self.subTest(text):
                analysis = self.with_iterations(text)
                self.assertFalse(warning_with(analysis, "iteration indexes"), analysis["warnings"])
                self.assertFalse(warning_with(analysis, NOT_CHECKED), analysis["warnings"])

    def test_none_declared(self):
        analysis = self.with_iterations("0")
        self.assertTrue(warning_with(analysis, "Unexpected iteration indexes: [0, 1, 2]."))

    def test_absent(self):
        analysis = self.good(self.run_dir(HOST, GPU, MANIFEST.replace("  iterations: 3\n",
                                                                      "  warmup: 1\n")))
        self.assert_plain_iterations(analysis)
        self.assertFalse(warning_with(analysis, NOT_CHECKED), analysis["warnings"])

    def test_billions(self):
        """A list of all missing indexes would not fit into memory."""
        for text in ("3000000000", "9007199254740993", "9223372036854775807"):
            with self.subTest(text):
                warnings = [w for w in self.with_iterations(text)["warnings"]
                            if w.startswith("Missing expected iteration indexes: [3, 4, 5,")]
                self.assertEqual(len(warnings), 1)
                self.assertIn("22", warnings[0])
                self.assertNotIn("23,", warnings[0])
                self.assertIn(str(int(text) - 3 - 20), warnings[0].replace(",", ""))


class Values(ReportCase):
    def test_numbers_that_json_has_not(self):
        """Kept as text, or with all digits: never rounded, wrapped or invalid JSON."""
        manifest = MANIFEST.replace("workload:\n", """workload:
  seed: .nan
  scale: -.inf
  large: 9007199254740993
  largest: 9223372036854775807
  too_large: 9223372036854775808
  too_small: -9223372036854775809
  nested: {list: [1, 2.5, null, yes, "x"]}
""")
        directory = self.run_dir(HOST, GPU, manifest)
        workload = self.good(directory)["run"]["workload"]
        self.assertIsInstance(workload["seed"], str)
        self.assertIsInstance(workload["scale"], str)
        self.assertEqual(workload["large"], 9007199254740993)
        self.assertEqual(workload["largest"], 9223372036854775807)
        self.assertEqual(workload["too_large"], "9223372036854775808")
        self.assertEqual(workload["too_small"], "-9223372036854775809")
        self.assertEqual(workload["nested"], {"list": [1, 2.5, None, "yes", "x"]})
        text = (directory / "analysis.json").read_text()
        self.assertIn("9007199254740993", text)
        self.assertNotRegex(text, r"\bNaN\b|\bInfinity\b")

    def test_wrong_types(self):
        manifest = MANIFEST.replace("record_ids: [a, b]", "record_ids: 2").replace(
            "cuda: {}", "cuda: none")
        analysis = self.good(self.run_dir(HOST, GPU, manifest))
        self.assertEqual((analysis["run"]["record_count"], analysis["run"]["cuda"]), (0, {}))
        self.assertTrue(warning_with(analysis, "record_ids"))


if __name__ == "__main__":
    main()
