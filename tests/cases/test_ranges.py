#!/usr/bin/env python3
"""What ranges mean: iterations, contexts, threads, hierarchy. Each test is a kind of trace that has
misled a reader of NVTX ranges; the docstring says how."""
from plain import (BEGIN, GPU_COLUMNS, HOST_COLUMNS, MANIFEST, Range, ReportCase, capture, damaged,
                   gpu_rows, group, host_rows, iteration, reports, to_csv)
from support import main, warning_with


class Plain(ReportCase):
    def test_every_dialect(self):
        """The same trace as four families of nsys write it, under either naming of the reports."""
        for version in ("2022.4", "2023.2", "2023.4", "2025.1"):
            with self.subTest(version):
                analysis = self.good_of([capture()], version, name=version)
                self.assert_plain(analysis)
                self.assertTrue(analysis["provenance"]["reports"]["nvtx_pushpop_trace"]
                                .endswith("trace.csv"))

    def test_iteration_summary(self):
        summary = self.good_of([capture()])["iteration_summary"]
        self.assertEqual((summary["iterations"], summary["host_iterations"],
                          summary["gpu_projected_iterations"]), (3, 3, 3))
        self.assert_summary(summary["host_inclusive"], [90_000] * 3)
        self.assert_summary(summary["host_exclusive"], [20_000] * 3)
        self.assert_summary(summary["gpu_projected"], [25_000] * 3)


class Iterations(ReportCase):
    def test_library_ranges_are_no_iterations(self):
        """A library's own range in its own domain, named like an iteration, was counted as one."""
        inside = [Range("iteration 9", BEGIN + 320_000, BEGIN + 322_000, domain="LIB"),
                  Range("Reduce::Sum", BEGIN + 325_000, BEGIN + 326_000, domain="LIB")]
        analysis = self.good_of([capture(*inside)])
        self.assert_plain_iterations(analysis)
        self.assertEqual(
            group(analysis, "host_ranges", "LIB:iteration 9", context="between")["instances"], 1)
        self.assertFalse(warning_with(analysis, "iteration indexes"))

    def test_names_that_nearly_match(self):
        """Signs, spaces, case, other digits, and an index past 64 bits that wrapped to 0."""
        names = ["iteration 18446744073709551616", "iteration 9223372036854775808", "iteration -1",
                 "iteration +1", "Iteration 1", "iteration 1 ", " iteration 1", "iteration  1",
                 "iteration\t1", "iteration \u0661", "iteration 1x", "xiteration 1", "iteration",
                 "iteration ", "iteration 1.0"]
        extra = [Range(name, BEGIN + 315_000 + 1_000 * k, BEGIN + 315_500 + 1_000 * k)
                 for k, name in enumerate(names)]
        analysis = self.good_of([capture(*extra)])
        self.assert_plain_iterations(analysis)
        for name in names:
            self.assertEqual(
                group(analysis, "host_ranges", name, context="between")["instances"], 1)

    def test_leading_zero_is_the_same_index(self):
        """`iteration 00` and `iteration 0` are both index 0: an error, never one of the two."""
        twice = Range("iteration 00", BEGIN + 320_000, BEGIN + 321_000)
        self.bad(self.run_of([capture(twice)]), "iteration 0")

    def test_leading_zero_alone(self):
        steps = [iteration(0, "iteration 00"), iteration(1), iteration(2)]
        self.assert_plain_iterations(self.good_of([capture(steps=steps)]))

    def test_missing_and_unexpected(self):
        steps = [iteration(0), iteration(2), iteration(1, "iteration 7")]
        analysis = self.good_of([capture(steps=steps)])
        self.assertTrue(warning_with(analysis, "Missing expected iteration indexes: [1]."))
        self.assertTrue(warning_with(analysis, "Unexpected iteration indexes: [7]."))

    def test_missing_one_stands_elsewhere(self):
        """An iteration that lies outside the capture range is pointed at, not counted."""
        stray = Range("iteration 1", BEGIN - 50_000, BEGIN - 10_000)
        analysis = self.good_of([stray, capture(steps=[iteration(0), iteration(2)])])
        self.assertTrue(warning_with(analysis, "Missing expected iteration indexes: [1]."))
        self.assertTrue(warning_with(
            analysis, "Ranges named like the missing iterations stand elsewhere: "
                      "iteration 1 (pid 4242, tid 4242, range 1)."))


class CaptureRange(ReportCase):
    def test_several_processes(self):
        """Ranks of one job in one report: the first was taken silently, or all were pooled."""
        roots = []
        for pid in (5000, 5001, 5002, 5003):
            root = capture()
            for part in root.every():
                part.pid = part.tid = pid
            roots.append(root)
        error = self.bad(self.run_of(roots), "profile-target", "4")
        for pid in (5000, 5001, 5002, 5003):
            self.assertRegex(error, rf"pid {pid}, tid {pid}")

    def test_start_end_ranges_only(self):
        """Annotation by start/end ranges has no row in the host report: say so, join nothing."""
        root = capture()
        for part in root.every():
            part.style = "StartEnd"
        _, gpu = reports([root])
        self.bad(self.run_dir(to_csv([], HOST_COLUMNS), gpu), "no rows", "nvtx_pushpop_trace",
                 "StartEnd")

    def test_capture_range_is_a_start_end_range(self):
        """Other push/pop ranges exist, but the wanted one is a start/end range."""
        root = capture()
        for part in root.every():
            part.style = "StartEnd"
        host, _ = reports([Range("other", BEGIN, BEGIN + 10)])
        _, gpu = reports([root])
        self.bad(self.run_dir(host, gpu), "profile-target", "StartEnd")

    def test_capture_range_below_another(self):
        outer = Range("main", BEGIN - 1_000, BEGIN + 350_000, [capture()])
        self.bad(self.run_of([outer]), "profile-target", "below range 1")

    def test_capture_range_in_another_domain(self):
        root = capture()
        root.domain = "APP"
        self.bad(self.run_of([root]), "profile-target", "APP:profile-target")

    def test_at_sign_is_text(self):
        """Tools that split names at '@' cut the name."""
        analysis = self.good_of([capture(name="profile@v2")],
                                manifest=MANIFEST.replace("profile-target", "'profile@v2'"))
        self.assert_plain_iterations(analysis)
        self.assertEqual(analysis["run"]["capture_range"], "profile@v2")
        group(analysis, "host_ranges", "profile@v2", context="capture")


class Threads(ReportCase):
    def test_work_on_another_thread(self):
        """A backward pass runs on a thread of its own: during an iteration, not in it."""
        others = []
        for index in range(3):
            start = BEGIN + 40_000 + index * 100_000
            others.append(Range("backward op", start, start + 15_000, tid=4300,
                                operations=[(start + 30_000, start + 41_000)]))
        analysis = self.good_of([capture(), *others])
        self.assert_plain_iterations(analysis)
        host = group(analysis, "host_ranges", "backward op", context="outside")
        self.assert_summary(host["inclusive"], [15_000] * 3)
        gpu = group(analysis, "gpu_projected_ranges", "backward op", context="outside")
        self.assert_summary(gpu["projected"], [11_000] * 3)

    def test_pops_out_of_order(self):
        """A pop closes the top of the stack whatever its caller meant: the trace is what counts."""
        first = iteration(0)
        write = Range("write", first.start + 20_000, first.start + 50_000)
        first.children = [Range("read", first.start + 10_000, first.start + 70_000, [write])]
        analysis = self.good_of([capture(steps=[first, iteration(1), iteration(2)])])
        read = group(analysis, "host_ranges", "read", context="iteration")
        self.assert_summary(read["inclusive"], [60_000])
        self.assert_summary(read["exclusive"], [30_000])
        self.assert_summary(
            group(analysis, "host_ranges", "read", "write", context="iteration")["inclusive"],
            [30_000])
        self.assertFalse(warning_with(analysis, "parent"))

    def test_range_ended_by_the_trace(self):
        """A range never popped ends with the trace in a CSV, unmarked: nothing is guessed."""
        last = iteration(2)
        last.end = BEGIN + 340_000
        last.children = [Range("infer", last.start + 30_000, last.end)]
        analysis = self.good_of([capture(steps=[iteration(0), iteration(1), last])])
        self.assertEqual(analysis["iterations"][2]["host"], {
            "inclusive_ns": 120_000, "exclusive_ns": 30_000, "child_total_ns": 90_000})


class Hierarchy(ReportCase):
    def test_wrong_parents(self):
        """nsys 2022.4 finds parents with 32-bit floats: an iteration came out as a root, another
        one's exclusive time below zero."""
        def damage(rows):
            by_name = {row["Name"]: row for row in rows}
            by_name["profile-target"].update(
                {"DurChild (ns)": 180_000, "DurNonChild (ns)": 160_000, "NumChild": 2})
            by_name["iteration 1"].update({"Lvl": 0, "ParentId": "None", "RangeStack": ":5",
                                           "NameTree": "iteration 1"})
            by_name["iteration 2"].update({"DurChild (ns)": 140_000, "DurNonChild (ns)": -50_000})
            rows[-1].update({"Lvl": 1, "ParentId": 1})
        host = damaged(damage, "2022.4")
        _, gpu = reports([capture()], "2022.4")
        analysis = self.good(self.run_dir(host, gpu, version="2022.4"))
        self.assert_plain(analysis)
        self.assertFalse(warning_with(analysis, "Missing expected"))
        self.assertTrue(warning_with(analysis, "2022"))

    def test_identical_times(self):
        """A parent and its only child with one start and end: the lower id is the outer one. And an
        iteration of no length is a measurement of 0, not a missing one."""
        first = iteration(0)
        first.children = [Range("infer", first.start, first.end)]
        second = Range("iteration 1", BEGIN + 120_000, BEGIN + 120_000)
        analysis = self.good_of([capture(steps=[first, second, iteration(2)])])
        hosts = [entry["host"] for entry in analysis["iterations"]]
        self.assertEqual(hosts[0],
                         {"inclusive_ns": 90_000, "exclusive_ns": 0, "child_total_ns": 90_000})
        self.assertEqual(hosts[1], {"inclusive_ns": 0, "exclusive_ns": 0, "child_total_ns": 0})
        self.assert_summary(analysis["iteration_summary"]["host_inclusive"], [90_000, 0, 90_000])
        self.assert_summary(analysis["iteration_summary"]["host_exclusive"], [0, 0, 20_000])

    def test_vanished_from_the_host_report(self):
        """nsys drops ranges that it made each other's parent, but only from the host report: the
        GPU row is left with an empty level. A missing index, and no iteration's projection."""
        roots = [capture()]
        host, gpu = host_rows(roots), gpu_rows(roots)
        lost = {part.id for part in roots[0].children[0].every()}
        kept = [row for row in host if row["RangeId"] not in lost]
        for row in gpu:
            if row["RangeId"] in lost:
                row.update({"Lvl": "", "ParentId": "", "RangeStack": ""})
        directory = self.run_dir(to_csv(kept, HOST_COLUMNS), to_csv(gpu, GPU_COLUMNS))
        analysis = self.good(directory)
        self.assertEqual([entry["index"] for entry in analysis["iterations"]], [1, 2])
        self.assertTrue(warning_with(analysis, "Missing expected iteration indexes: [0]."))
        stray = group(analysis, "gpu_projected_ranges", "iteration 0")
        self.assertNotEqual(stray["context"], "iteration")
        self.assert_summary(stray["projected"], [25_000])
        inside = group(analysis, "gpu_projected_ranges", "infer", context="iteration")
        self.assertEqual(inside["instances"], 2)

    def test_cycle(self):
        """Parent ids that lead back to where they started hung a reader."""
        def damage(rows):
            rows[1]["ParentId"], rows[2]["ParentId"] = rows[2]["RangeId"], rows[1]["RangeId"]
        _, gpu = reports([capture()])
        self.bad(self.run_dir(damaged(damage), gpu), "ycle")

    def test_deep_nesting(self):
        """600 levels: recursion, or a stack column kept as text, breaks here."""
        inner = None
        for level in reversed(range(600)):
            start, end = BEGIN + 20_000 + level, BEGIN + 110_000 - level
            inner = Range(f"level {level}" if level else "iteration 0", start, end,
                          [inner] if inner else [])
        analysis = self.good_of([capture(steps=[inner, iteration(1), iteration(2)])])
        path = tuple(f"level {level}" for level in range(1, 600))
        deepest = group(analysis, "host_ranges", *path, context="iteration")
        self.assert_summary(deepest["inclusive"], [90_000 - 2 * 599])

    def test_many_tiny_ranges(self):
        """Joins that grow with the product of the rows never ended. 14,001 ranges."""
        steps = []
        for index in range(2_000):
            start = BEGIN + 20_000 + index * 100_000
            parts = [Range("layer", start + k * 11_000, start + k * 11_000 + 10_000,
                           operations=[(start + 5_000, start + 35_000)] if k == 0 else [])
                     for k in range(6)]
            steps.append(Range(f"iteration {index}", start, start + 90_000, parts))
        root = Range("profile-target", BEGIN, BEGIN + 20_000 + 2_000 * 100_000, steps)
        analysis = self.good_of([root], manifest=MANIFEST.replace("iterations: 3",
                                                                  "iterations: 2000"))
        layer = group(analysis, "host_ranges", "layer", context="iteration")
        self.assert_summary(layer["inclusive"], [10_000] * 12_000)
        self.assert_summary(analysis["iteration_summary"]["gpu_projected"], [30_000] * 2_000)


class Gpu(ReportCase):
    def without_gpu(self, gpu):
        host, _ = reports([capture()])
        analysis = self.good(self.run_dir(host, gpu))
        self.assert_plain(analysis, gpu=False)
        self.assertTrue(warning_with(
            analysis, "Missing GPU projections for iterations: [0, 1, 2]."))
        self.assertTrue(warning_with(
            analysis, "GPU projection report does not contain capture range 'profile-target'."))

    def test_zero_byte_report(self):
        """A CPU-only capture: the GPU report has not even a header. Null, never 0."""
        self.without_gpu("")

    def test_header_alone(self):
        self.without_gpu(to_csv([], GPU_COLUMNS))

    def test_one_projection_missing(self):
        """What was not measured was summed into a confident 0."""
        rows = [row for row in gpu_rows([capture()]) if row["Name"] != ":iteration 1"]
        host, _ = reports([capture()])
        analysis = self.good(self.run_dir(host, to_csv(rows, GPU_COLUMNS)))
        self.assertEqual([entry["gpu_projection"] is None for entry in analysis["iterations"]],
                         [False, True, False])
        summary = analysis["iteration_summary"]
        self.assertEqual(summary["gpu_projected_iterations"], 2)
        self.assert_summary(summary["gpu_projected"], [25_000] * 2)
        self.assertTrue(warning_with(analysis, "Missing GPU projections for iterations: [1]."))

    def test_work_outside_every_range(self):
        """One row without a range holds it: empty cells, or the word None. It is no range 0."""
        from nsys_reports import unattributed_row
        for version in ("2023.2", "2023.4", "2025.1"):
            with self.subTest(version):
                host, _ = reports([capture()], version)
                rows = [unattributed_row(164, BEGIN - 100_000, 500_000, version),
                        *gpu_rows([capture()], version)]
                directory = self.run_dir(host, to_csv(rows, GPU_COLUMNS, version), version=version,
                                         name=version)
                analysis = self.good(directory)
                self.assert_plain(analysis)
                self.assertTrue(warning_with(analysis, "164"))
                operations = sum(g["gpu_operation_count"]
                                 for g in analysis["gpu_projected_ranges"])
                self.assertEqual(operations, 6 + 6)  # the capture range's and infer's

    def test_projection_counted_twice(self):
        """Two GPU rows with one iteration's key: an error, not their sum."""
        rows = gpu_rows([capture()])
        rows.append(dict(next(row for row in rows if row["Name"] == ":iteration 1")))
        host, _ = reports([capture()])
        self.bad(self.run_dir(host, to_csv(rows, GPU_COLUMNS)), "iteration 1")


if __name__ == "__main__":
    main()
