#!/usr/bin/env python3
"""Generated exports, small and full of ties and overlaps, against a reference that looks at all pairs:
parents, projections, counts. The rows are inserted in any order: only the row ids may count."""
import json
import pathlib
import random
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import NVTXA, Case, main, run  # noqa: E402

PUSH_POP, START_END = 59, 60
OPERATION = "start, end, correlationId, globalPid"
REPORTS = ("nvtx_pushpop_trace", "nvtx_gpu_proj_trace")


class Export:
    def __init__(self, seed):
        r = self.random = random.Random(seed)
        self.threads = [1 << 48 | (7 + p) << 24 | (7 + p + t)
                        for p in range(r.randint(1, 2)) for t in range(r.randint(1, 3))]
        self.width = r.choice((8, 30, 400))
        self.nested = r.random() < 0.4
        self.start_end = 0 if r.random() < 0.4 else 0.3
        self.ranges, self.calls, self.operations = [], [], []
        for thread in self.threads:
            for start, end in self.spans(r.randint(0, 14)):
                kind = START_END if r.random() < self.start_end else PUSH_POP
                self.ranges.append([start, end, kind, thread])
            for _ in range(r.randint(0, 10)):
                start = r.randint(0, self.width)
                self.calls.append((start, start + r.choice((0, 1, 3, self.width // 4)), thread,
                                   r.randint(1, 12)))
        for _ in range(r.randint(0, 25)):
            start = r.randint(0, 1000)
            self.operations.append((start, start + r.randint(0, 50), r.randint(1, 12),
                                    r.choice(self.threads) & ~0xFFFFFF))
        r.shuffle(self.ranges)

    def spans(self, count):
        r = self.random
        if not self.nested:
            pairs = [sorted((r.randint(0, self.width), r.randint(0, self.width)))
                     for _ in range(count)]
            return [tuple(pair) for pair in pairs]
        found = []

        def fill(start, end, depth):
            while start < end and len(found) < count:
                stop = r.randint(start, end)
                found.append((start, stop))
                if depth < 5:
                    fill(start, stop, depth + 1)
                start = stop + r.randint(0, 2)

        fill(0, self.width, 0)
        return found

    def write(self, path):
        database = sqlite3.connect(path)
        database.executescript("""
            CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
                                      globalTid INTEGER, domainId INTEGER);
            CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
            INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.9.0');
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId);
            CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY
              (start, end, correlationId, globalPid, deviceId DEFAULT 0, srcKind DEFAULT 0,
               dstKind DEFAULT 2, bytes DEFAULT 8);
            CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET
              (start, end, correlationId, globalPid, deviceId DEFAULT 0, bytes DEFAULT 8);
        """)
        ids = self.random.sample(range(1, 4 * len(self.ranges) + 2), len(self.ranges))
        self.ranges = [[i, *rest] for i, rest in zip(ids, self.ranges)]
        database.executemany("INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, globalTid, text)"
                             " VALUES (?, ?, ?, ?, ?, 'r')", self.ranges)
        database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?)",
                             self.calls)
        for table in ("MEMCPY", "MEMSET"):
            half = self.operations[::2] if table == "MEMSET" else self.operations[1::2]
            database.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_{table} "
                                 f"({OPERATION}) VALUES (?, ?, ?, ?)", half)
        database.commit()
        database.close()


def encloses(outer, inner):
    (i, a, b, _, thread), (j, c, d, _, other) = outer, inner
    if thread != other or i == j or a > c or b < d:
        return False
    return (a, b) != (c, d) or i < j


def parents(ranges):
    """By range id, all parents that would do: the shortest that enclose; of equal bounds the
    innermost, which is the one with the highest id."""
    found = {}
    for inner in ranges:
        around = [o for o in ranges if encloses(o, inner)]
        shortest = min((o[2] - o[1] for o in around), default=0)
        best = [o for o in around if o[2] - o[1] == shortest]
        found[inner[0]] = {o[0] for o in best
                           if not any(p[1:3] == o[1:3] and p[0] > o[0] for p in best)}
    return found


def projections(export):
    """By range id (None: outside every range), first start, last end, distinct operations."""
    found = {}
    for start, end, thread, correlation in export.calls:
        operations = [o for o in export.operations
                      if o[2] == correlation and o[3] == thread & ~0xFFFFFF]
        if not operations:
            continue
        around = [r[0] for r in export.ranges if r[4] == thread and r[1] <= start and r[2] >= end]
        for key in around or [None]:
            old = found.setdefault(key, [[], set()])
            old[0] += operations
            old[1].add((thread & ~0xFFFFFF, correlation))
    return {key: (min(o[0] for o in ops), max(o[1] for o in ops), len(ids))
            for key, (ops, ids) in found.items()}


class Random(Case):
    def rows(self, path, report):
        done = run([NVTXA, "stats", "-q", "-f", "json", "-r", report, path])
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_hierarchy(self, rows, wanted, durations):
        by_id = {row["RangeId"]: row for row in rows}
        self.assertEqual(len(by_id), len(rows))
        children = {}
        for i, row in by_id.items():
            parent = row["ParentId"]
            if parent == "":
                self.assertEqual(wanted[i], set())
                self.assertEqual((row["Lvl"], row["RangeStack"]), (0, f":{i}"))
            else:
                self.assertIn(parent, wanted[i], row)
                self.assertEqual(row["Lvl"], by_id[parent]["Lvl"] + 1)
                self.assertEqual(row["RangeStack"], f"{by_id[parent]['RangeStack']}:{i}")
                children.setdefault(parent, []).append(i)
        for i, row in by_id.items():
            own = children.get(i, [])
            self.assertEqual(row["NumChild"], len(own))
            if "DurChild (ns)" in row:
                self.assertEqual(row["DurChild (ns)"], sum(durations[c] for c in own))
                self.assertEqual(row["DurNonChild (ns)"], durations[i] - row["DurChild (ns)"])

    def check(self, seed):
        export = Export(seed)
        path = self.top / f"{seed}.sqlite"
        export.write(path)
        durations = {i: end - start for i, start, end, _, _ in export.ranges}

        host = [r for r in export.ranges if r[3] == PUSH_POP]
        rows = self.rows(path, REPORTS[0])
        self.assertEqual([r["RangeId"] for r in rows],
                         [r[0] for r in sorted(host, key=lambda r: (r[1], r[2] - r[1], r[0]))])
        for row in rows:
            i, start, end, _, thread = next(r for r in host if r[0] == row["RangeId"])
            self.assertEqual((row["Start (ns)"], row["End (ns)"], row["PID"], row["TID"]),
                             (start, end, thread >> 24 & 0xFFFFFF, thread & 0xFFFFFF))
        self.check_hierarchy(rows, parents(host), durations)

        rows = self.rows(path, REPORTS[1])
        wanted = projections(export)
        got = {row["RangeId"] or None: (
            row["Projected Start (ns)"],
            row["Projected Start (ns)"] + row["Projected Duration (ns)"], row["NumGPUOps"])
            for row in rows}
        self.assertEqual(got, wanted)
        ids = [row["RangeId"] for row in rows if row["RangeId"]]
        self.assertEqual(ids, sorted(ids))
        styles = {r[0]: "PushPop" if r[3] == PUSH_POP else "StartEnd" for r in export.ranges}
        self.assertEqual({row["RangeId"]: row["Style"] for row in rows if row["RangeId"]},
                         {i: styles[i] for i in ids})
        self.check_hierarchy([row for row in rows if row["RangeId"]], parents(export.ranges),
                             durations)

    def test_seeds(self):
        for seed in range(250):
            with self.subTest(seed=seed):
                self.check(seed)


class Large(Case):
    """Nesting that is deep, and many threads: nothing that takes the square of it."""

    def export(self, ranges):
        path = self.top / "trace.sqlite"
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid)")
        database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 'r', ?)", ranges)
        database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME "
                         "(start, end, globalTid, correlationId)")
        database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL "
                         "(start, end, correlationId, globalPid, deviceId DEFAULT 0, "
                         "demangledName DEFAULT 0)")
        return path, database

    def test_deep(self):
        """100,000 levels, and calls at the bottom that reach beyond most of them. The analysis finds
        that the names of such scopes pass its limit, at once, and leaves no huge report."""
        depth = 100_000
        tid = 1 << 48 | 7 << 24 | 7
        path, database = self.export([(i, 4 * depth - i, tid) for i in range(depth)])
        database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?)",
                             [(depth + i, 4 * depth - i, tid, i) for i in range(1000)])
        database.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL ({OPERATION}) VALUES (?, ?, ?, ?)",
                             [(i, i + 10, i, tid & ~0xFFFFFF) for i in range(1000)])
        database.execute("UPDATE NVTX_EVENTS SET text = 'top' WHERE rowid = 1")
        database.commit()
        database.close()
        (self.top / "manifest.yaml").write_text("capture_range: top\n", encoding="utf-8")
        done = self.analyze(self.top, "--no-export", status=1, timeout=120)
        self.assertIn("names of all scopes together", done.stderr)
        self.assertEqual(list((self.top / "stats").iterdir())
                         if (self.top / "stats").exists() else [], [])

    def test_six_hundred_levels(self):
        tid = 1 << 48 | 7 << 24 | 7
        path, database = self.export([(i, 2000 - i, tid) for i in range(600)])
        database.commit()
        database.close()
        done = run([NVTXA, "stats", "-r", REPORTS[0], "-f", "json", path])
        rows = json.loads(done.stdout)
        self.assertEqual(rows[-1]["Lvl"], 599)
        self.assertEqual(rows[-1]["RangeStack"], "".join(f":{i + 1}" for i in range(600)))
        self.assertEqual(rows[-1]["NameTree"], "--" * 599 + ":r")

    def test_many_threads(self):
        threads = [1 << 48 | 7 << 24 | (7 + t) for t in range(256)]
        path, database = self.export([(i, 1000 - i, tid) for i in range(40) for tid in threads])
        database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (500, 501, ?, ?)",
                             [(tid, t) for t, tid in enumerate(threads)])
        database.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL ({OPERATION}) VALUES (?, ?, ?, ?)",
                             [(t, t + 5, t, tid & ~0xFFFFFF) for t, tid in enumerate(threads)])
        database.commit()
        database.close()
        rows = json.loads(run([NVTXA, "stats", "-r", REPORTS[1], "-f", "json", path]).stdout)
        self.assertEqual(len(rows), 256 * 40)
        self.assertEqual({(r["TID"], r["Projected Start (ns)"], r["NumGPUOps"]) for r in rows},
                         {(7 + t, t, 1) for t in range(256)})


if __name__ == "__main__":
    main()
