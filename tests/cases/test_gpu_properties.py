#!/usr/bin/env python3
"""What must hold for any analysis of GPU work, whatever the trace: between the numbers of one
scope, between scopes, and between the analyses of exports that differ in what does not matter."""
import random
import re
import sqlite3

from gpu_case import GpuCase
from gpu_exports import RandomExport
from gpu_model import CALLS, TABLES
from support import main

ATTRIBUTED = ("inclusive", "innermost")
KINDS = ("memory_sets", "memory_transfers")
TIMES = ("operations", "busy_ns", "span_ns", "copy_compute_overlap_ns")  # more with more operations
UNATTRIBUTED = ("in_open_ranges", "outside_ranges", "launch_missing", "untimed")
WARNINGS = {"launch_missing": "The trace does not hold the calls that launched",
            "untimed": "The trace has no times for"}
GENERATED = (["--ranges", "200", "--operations", "200"],
             ["--mixed", "--ranges", "300", "--operations", "400", "--processes", "2", "--threads",
              "2", "--depth", "1"])


def parts(analysis):
    """Each group and iteration, with what the GPU did for it."""
    return [(part, part["gpu_work"])
            for part in analysis["gpu_projected_ranges"] + analysis["iterations"]]


def by_label(share):
    """The amounts of a share, by what they are of."""
    found = {}
    for kind in KINDS:
        for amount in share[kind]:
            found[(kind, *(amount[key] for key in sorted(amount) if "kind" in key))] = amount
    for amount in share["kernels"]["largest"]:
        found["kernels", amount["name"]] = amount
    return found


class PropertyCase(GpuCase):
    def with_each_export(self, count, check, still_open=True):
        """check(path, capture_range) for some exports as nsys makes them, and `count` others."""
        for options in GENERATED:
            with self.subTest(options=options):
                check(self.generated(*options), "profile-target")
        for seed in range(1000, 1000 + count):
            with self.subTest(seed=seed):
                check(RandomExport(seed, still_open).write(self.trace()), "capture")

    def with_each_analysis(self, count, check, **more):
        self.with_each_export(
            count, lambda path, name: check(self.analysis_of(path, name, ["--kernels", "all"])),
            **more)

    def assert_no_less(self, more, less, where):
        """What a share has that adds up, or cannot shrink with more operations."""
        for key in TIMES:
            self.assertGreaterEqual(more[key], less[key], (where, key))
        for key in ("kernels", "graphs"):
            for number in ("instances", "cumulative_duration_ns"):
                self.assertGreaterEqual(more[key][number], less[key][number], (where, key))
        self.assertGreaterEqual(more["graph_node_operations"], less["graph_node_operations"])
        amounts = by_label(more)
        for label, amount in by_label(less).items():
            for number in ("instances", "cumulative_duration_ns", "total_bytes"):
                self.assertGreaterEqual(amounts[label].get(number, 0), amount.get(number, 0),
                                        (where, label))


class OneAnalysis(PropertyCase):
    def check_times(self, times, where):
        self.assertLessEqual(times["busy_ns"], times["span_ns"], where)
        self.assertEqual(times["idle_ns"], times["span_ns"] - times["busy_ns"], where)
        self.assertLessEqual(times["largest_gap_ns"], times["idle_ns"], where)
        self.assertEqual(times["largest_gap_ns"] > 0, times["idle_ns"] > 0, where)
        self.assertLessEqual(times["copy_compute_overlap_ns"], times["busy_ns"], where)

    def check_devices(self, share, where):
        devices = share["devices"]
        ids = [device["device_id"] for device in devices]
        self.assertEqual(ids, sorted(set(ids)), where)
        self.assertEqual(sum(d["operations"] for d in devices), share["operations"], where)
        self.assertGreaterEqual(sum(d["busy_ns"] for d in devices), share["busy_ns"], where)
        for device in devices:
            self.check_times(device, where)
            for key in TIMES:
                self.assertGreaterEqual(share[key], device[key], (where, key))

    def check_amounts(self, share, where):
        kernels = share["kernels"]
        sums = [kernels, share["graphs"], *(a for kind in KINDS for a in share[kind])]
        self.assertEqual(sum(a["instances"] for a in sums), share["operations"], where)
        self.assertGreaterEqual(sum(a["cumulative_duration_ns"] for a in sums), share["busy_ns"])
        self.assertEqual(kernels["names"], len(kernels["largest"]), where)
        for number in ("instances", "cumulative_duration_ns"):
            self.assertEqual(sum(k[number] for k in kernels["largest"]), kernels[number], where)
        for amounts in (kernels["largest"], *(share[kind] for kind in KINDS)):
            durations = [a["cumulative_duration_ns"] for a in amounts]
            self.assertEqual(durations, sorted(durations, reverse=True), where)
        self.assertLessEqual(share["launch_delay"]["median_ns"], share["launch_delay"]["p99_ns"])

    def check_attribution(self, analysis):
        """Each operation is somebody's innermost, or counted apart."""
        innermost = dict.fromkeys((d["device_id"] for d in analysis["gpu_devices"]), 0)
        for _, work in parts(analysis):
            for device in work["innermost"]["devices"] if work["innermost"] else []:
                innermost[device["device_id"]] += device["operations"]
        for device in analysis["gpu_devices"]:
            self.assertEqual(device["attributed"], innermost[device["device_id"]])
            self.assertEqual(device["operations"], device["attributed"] +
                             sum(device[key] for key in UNATTRIBUTED))
        for key, text in WARNINGS.items():
            count = sum(device[key] for device in analysis["gpu_devices"])
            warnings = [w for w in analysis["warnings"] if w.startswith(text)]
            self.assertEqual([w.startswith(f"{text} {count} ") for w in warnings],
                             [True] * (count > 0))

    def test_by_itself(self):
        def check(analysis):
            self.check_attribution(analysis)
            for part, work in parts(analysis):
                where = part.get("path", part.get("index"))
                for share in filter(None, map(work.get, ATTRIBUTED)):
                    self.check_times(share, where)
                    self.check_devices(share, where)
                    self.check_amounts(share, where)
                if work["innermost"]:
                    self.assert_no_less(work["inclusive"], work["innermost"], where)

        self.with_each_analysis(40, check)

    def test_what_holds_what(self):
        """A scope holds those below it, and the capture range the iterations: where no range is
        open, since an open one is in no scope. The paths of push/pop ranges have push/pop ranges in
        them only."""
        checked = []

        def check(analysis):
            scopes = {(g["context"], *g["path"]): g["gpu_work"]["inclusive"]
                      for g in analysis["gpu_projected_ranges"] if g["style"] == "PushPop"}
            capture = ("capture", analysis["run"]["capture_range"])
            pairs = [(scope[:-1], share) for scope, share in scopes.items() if len(scope) > 2]
            pairs += [(capture, i["gpu_work"]["inclusive"]) for i in analysis["iterations"]]
            for above, share in pairs:
                if share:
                    self.assert_no_less(scopes[above], share, above)
                    checked.append(above)

        self.with_each_analysis(40, check, still_open=False)
        self.assertGreater(len(checked), 200)


class TwoAnalyses(PropertyCase):
    def change(self, path, change):
        """Change an export: change(database, the names of its tables of times)."""
        database = sqlite3.connect(path)
        there = {name for name, in database.execute("SELECT name FROM sqlite_master")}
        change(database, sorted(there & {"NVTX_EVENTS", CALLS, *TABLES.values()}))
        database.commit()
        database.close()

    def result_of(self, path, capture_range, *options):
        analysis = self.analysis_of(path, capture_range, options)
        del analysis["provenance"]
        return analysis

    def test_order_of_rows(self):
        shuffled = random.Random(3)

        def shuffle(database, tables):
            for table in tables:
                rows = database.execute(f"SELECT * FROM {table}").fetchall()
                if rows and table != "NVTX_EVENTS":
                    shuffled.shuffle(rows)
                    database.execute(f"DELETE FROM {table}")
                    database.executemany(f"INSERT INTO {table} VALUES "
                                         f"({', '.join('?' * len(rows[0]))})", rows)

        def check(path, name):
            before = self.result_of(path, name)
            self.change(path, shuffle)
            self.assertEqual(self.result_of(path, name), before)

        self.with_each_export(15, check)

    def test_where_the_clock_begins(self):
        """Graphs without times stay at 0: that is how they are known."""
        def check(path, name):
            before = self.result_of(path, name)
            for later in (10 ** 18, -2 * 10 ** 18):  # the second one puts all before 0
                self.change(path, lambda database, tables: [
                    database.execute(f"UPDATE {table} SET start = start + ?1, end = end + ?1 "
                                     "WHERE start != 0 OR end != 0", [later])
                    for table in tables])
                self.assertEqual(self.result_of(path, name), before, later)

        self.with_each_export(10, check)

    def test_which_device(self):
        """What is told of all devices does not depend on how the operations are spread on them."""
        def without_devices(analysis):
            for _, work in parts(analysis):
                for share in filter(None, map(work.get, ATTRIBUTED)):
                    del share["devices"]
            devices = analysis.pop("gpu_devices")
            return analysis, {key: sum(device[key] for device in devices)
                              for key in ("operations", "attributed", *UNATTRIBUTED)}

        def check(path, name):
            before = without_devices(self.result_of(path, name))
            self.change(path, lambda database, tables: [
                database.execute(f"UPDATE {table} SET deviceId = 5")
                for table in tables if table in TABLES.values()])
            self.assertEqual(without_devices(self.result_of(path, name)), before)

        self.with_each_export(15, check)

    def test_how_many_kernels_are_named(self):
        def check(path, name):
            whole = self.result_of(path, name, "--kernels", "all")
            for _, work in parts(whole):
                for share in filter(None, map(work.get, ATTRIBUTED)):
                    del share["kernels"]["largest"][3:]
            self.assertEqual(self.result_of(path, name, "--kernels", "3"), whole)

        self.with_each_export(10, check)

    def test_without_gpu_work(self):
        """All else stays as it is, but for the warnings of it."""
        def check(path, name):
            whole = self.result_of(path, name)
            whole["capture_gpu_work"] = whole["gpu_devices"] = None
            for part, _ in parts(whole):
                part["gpu_work"] = None
            whole["warnings"] = [warning for warning in whole["warnings"]
                                 if not warning.startswith(tuple(WARNINGS.values()))
                                 and not re.match(r"The names of \d+ kernel", warning)]
            self.assertEqual(self.result_of(path, name, "--no-gpu-work"), whole)

        self.with_each_export(10, check)


if __name__ == "__main__":
    main()
