#!/usr/bin/env python3
"""What the GPU did, number by number: generated exports against a model that follows the
definitions (gpu_model.py), and what was wrong once, each in its smallest form with the right
answer."""
import sqlite3
import sys

from gpu_case import GpuCase
from gpu_exports import RandomExport
from gpu_model import CALLS, TABLES, process_of
from support import group, main

TID = 1 << 48 | 7 << 24 | 7


class AgainstTheModel(GpuCase):
    def test_random_exports(self):
        numbers = 0
        for seed in range(200):
            with self.subTest(seed=seed):
                path = RandomExport(seed).write(self.trace())
                numbers += self.assert_as_the_model(path)
        print(f"{numbers} numbers", file=sys.stderr)
        self.assertGreater(numbers, 100_000)

    def test_as_nsys_makes_them(self):
        for options in (["--ranges", "300", "--operations", "300"],
                        ["--mixed", "--ranges", "400", "--operations", "500", "--depth", "2"],
                        ["--mixed", "--ranges", "400", "--operations", "500", "--processes", "2",
                         "--threads", "2", "--seed", "5"]):
            with self.subTest(options=options):
                self.assert_as_the_model(self.generated(*options), "profile-target")


class Small(GpuCase):
    def export(self, ranges, calls):
        """Ranges are (start, end, text, event type), calls (start, end): each launches a kernel
        that takes 10 ns."""
        path = self.trace()
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE NVTX_EVENTS (start, end, text, eventType, globalTid)")
        database.execute(f"CREATE TABLE {CALLS} (start, end, correlationId, globalTid)")
        database.execute(f"CREATE TABLE {TABLES['kernel']} "
                         "(start, end, correlationId, globalPid, deviceId, demangledName)")
        database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?)",
                             [(*r, TID) for r in ranges])
        for i, (start, end) in enumerate(calls):
            database.execute(f"INSERT INTO {CALLS} VALUES (?, ?, ?, ?)", [start, end, i, TID])
            database.execute(f"INSERT INTO {TABLES['kernel']} VALUES (?, ?, ?, ?, 0, NULL)",
                             [2000 + 100 * i, 2010 + 100 * i, i, process_of(TID)])
        database.commit()
        database.close()
        return path

    def test_a_scope_within_itself(self):
        """The scope of a push/pop range leaves out start/end ranges, so that the two start/end
        ranges below `a.s` have one scope, and one encloses the other: an operation in both counts
        once."""
        path = self.export([(0, 1000, "capture", 59), (10, 900, "a", 59), (20, 800, "s", 60),
                            (30, 700, "s", 60), (40, 600, "s", 59), (50, 500, "s", 60)],
                           calls=[(60, 70)])
        found = group(self.analysis_of(path), "gpu_projected_ranges", "a", "s", "s")
        self.assertEqual((found["style"], found["instances"]), ("StartEnd", 2))
        for attributed in ("inclusive", "innermost"):
            work = found["gpu_work"][attributed]
            self.assertEqual((work["operations"], work["kernels"]["cumulative_duration_ns"]),
                             (1, 10), attributed)
        self.assert_as_the_model(path)

    def test_a_call_that_ends_before_it_starts(self):
        """Its clock was turned back. It is within what encloses both its times, also where a call
        that began after that range had ended came first."""
        path = self.export([(0, 1000, "capture", 59), (10, 100, "a", 59), (20, 200, "b", 59)],
                           calls=[(110, 120), (120, 90)])
        analysis = self.analysis_of(path)
        operations = {name: [group(analysis, "gpu_projected_ranges", name)["gpu_work"][which]
                             ["operations"] for which in ("inclusive", "innermost")]
                      for name in "ab"}
        self.assertEqual(operations, {"a": [1, 1], "b": [2, 1]})
        self.assert_as_the_model(path)

    def test_a_graph_without_times(self):
        """nsys gives it 0 for both times. It is counted apart where GPU work is wanted, and is
        nothing elsewhere."""
        path = self.export([(0, 1000, "capture", 59)], calls=[(110, 120), (130, 140)])
        database = sqlite3.connect(path)
        database.execute(f"CREATE TABLE {TABLES['graph']} "
                         "(start, end, correlationId, globalPid, deviceId)")
        database.execute(f"INSERT INTO {TABLES['graph']} VALUES (0, 0, 1, ?, 3)",
                         [process_of(TID)])
        database.execute(f"DELETE FROM {TABLES['kernel']} WHERE correlationId = 1")
        database.commit()
        database.close()
        self.assertEqual([d["untimed"] for d in self.analysis_of(path)["gpu_devices"]], [0, 1])
        for analysis in (self.analysis_of(path),
                         self.analysis_of(path, options=["--no-gpu-work"])):
            capture = group(analysis, "gpu_projected_ranges", "capture")
            self.assertEqual((capture["gpu_operation_count"], capture["projected"]["total_ns"]),
                             (1, 10))
        self.assert_as_the_model(path)


if __name__ == "__main__":
    main()
