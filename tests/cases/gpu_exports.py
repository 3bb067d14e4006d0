"""Small exports at random, full of what can go wrong between ranges, calls and operations: ties,
overlaps, touching bounds, instants, open ranges, iterations, graphs, ids that are missing or that
several calls or processes use. The same seed gives the same export on every machine."""
import random
import sqlite3

from gpu_model import CALLS, TABLES, process_of

PUSH_POP, START_END, DOMAIN = 59, 60, 75
BEGIN = 1000  # nothing is at 0: graphs without times are there

SCHEMA = f"""
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.9.0');
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
  text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE {CALLS} (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER);
"""
KEYS = ["start INTEGER", "end INTEGER", "globalPid INTEGER", "correlationId INTEGER",
        "deviceId INTEGER"]
COLUMNS = {"kernel": ["demangledName INTEGER", "graphNodeId INTEGER"],
           "transfer": ["srcKind INTEGER", "dstKind INTEGER", "bytes INTEGER",
                        "graphNodeId INTEGER"],
           "set": ["memKind INTEGER", "bytes INTEGER", "graphNodeId INTEGER"],
           "graph": ["graphId INTEGER"]}
# Those that exports of some versions do not have.
OPTIONAL = {"graphNodeId INTEGER", "memKind INTEGER"}
KERNELS = ["gemm", "void add<int, float>(int, float)", "gr\u00f6\u00dfe \u2603", "", "a\tb\"c\\",
           "gemm", "z", "A", "\U0001F600", b"no \xFF UTF-8", b"no \xFE UTF-8",
           *(f"kernel {i}" for i in range(12))]
MISSING_NAME = 99  # not in StringIds
# By id, where the export names them: not all, and one that is not known otherwise.
MEMORY_KINDS = [(0, "Pageable"), (1, "Pinned"), (2, "Device"), (3, "Array, of texels"),
                (88, "Elsewhere")]
ITERATIONS = ["iteration 0", "iteration 1", "iteration 007", "iteration 20"]
RANGE_NAMES = ["a", "b", "a", *ITERATIONS[:2], "x.y", ":c", "", None]


class RandomExport:
    def __init__(self, seed, still_open=True):
        r = self.random = random.Random(seed)
        self.threads = [1 << 48 | (7 + p) << 24 | (7 + p + t)
                        for p in range(r.randint(1, 2)) for t in range(r.randint(1, 3))]
        self.width = r.choice((8, 30, 400))
        self.start_end = r.choice((0, 0, 0.3, 0.7))
        self.open = r.choice((0, 0, 0.25)) * still_open
        self.call_lengths = r.choice(((1, 3), (1, 3), (0, 0, 1), (-3, 0, 1, 3)))
        self.shared_ids = r.random() < 0.4  # several calls with one id, and calls with none
        self.names = r.sample(RANGE_NAMES, r.choice((1, 1, 2, 4, len(RANGE_NAMES))))
        self.kernels = r.sample(range(len(KERNELS)), r.choice((2, 5, len(KERNELS))))
        self.devices = r.sample((0, 1, 2, 7), r.randint(1, 3))
        self.absent = {column for column in sorted(OPTIONAL) if r.random() < 0.2}
        self.tables = [t for t in TABLES if r.random() < 0.9]
        self.launched = (0, 1, 1, 1, 2, 4)  # how many operations a call launches
        if r.random() < 0.15:  # more kernels than are named
            self.tables, self.launched = ["kernel"], (5, 8)
            self.kernels = range(len(KERNELS))
        self.make_ranges()
        self.choose_capture_range()
        self.make_calls()
        self.make_operations()

    # ---- ranges: [id, start, end, type, thread, text, domain, thread of the end] ----

    def spans(self, count):
        """Bounds that nest, or any."""
        r = self.random
        found = []

        def fill(start, end, depth):
            while start < end and len(found) < count:
                stop = r.randint(start, end)
                found.append((start, stop))
                if depth < 6:
                    fill(start, stop, depth + 1)
                start = stop + r.randint(0, 2)

        if r.random() < 0.6:
            fill(0, self.width, 0)
        else:
            found = [tuple(sorted((r.randint(0, self.width), r.randint(0, self.width))))
                     for _ in range(count)]
        return found + [r.choice(found) for _ in range(r.choice((0, 0, 1, 2))) if found]

    def make_ranges(self):
        r = self.random
        ranges = []
        for thread in self.threads:
            for start, end in [(0, self.width), *self.spans(r.randint(0, 14))]:
                kind = START_END if r.random() < self.start_end else PUSH_POP
                there = r.choice((None, None, thread, thread + 1)) if kind == START_END else None
                if r.random() < self.open:
                    end = r.choice((None, None, start - 1))
                ranges.append([start, end, kind, thread, r.choice(self.names), r.choice((0, 0, 3)),
                               there])
        r.shuffle(ranges)
        ids = r.sample(range(2, 4 * len(ranges) + 3), len(ranges))
        self.ranges = [[i, BEGIN + start, end if end is None else BEGIN + end, *rest]
                       for i, (start, end, *rest) in zip(ids, ranges)]

    def choose_capture_range(self):
        """Any range, made so long that it is a root. No two ranges of its thread are named like the
        same iteration: what stands directly below it is left to chance."""
        r = self.random
        thread = r.choice(self.threads)
        own = [x for x in self.ranges if x[4] == thread]
        for which in own:
            which[5] = "a" if which[5] in ITERATIONS else which[5]
        for name, which in zip(ITERATIONS, r.sample(own, r.randint(0, len(own)))):
            which[5], which[6] = name, 0
        capture = r.choice(own)
        capture[1], capture[3], capture[5], capture[6] = BEGIN - 1, PUSH_POP, "capture", 0
        if capture[2] is not None:
            capture[2] = BEGIN + self.width + 1

    # ---- calls and operations ----

    def make_calls(self):
        """Each process numbers its own calls, so that the ids of two processes meet. The last
        thread has calls only."""
        r = self.random
        self.calls = []
        for number, thread in enumerate(self.threads + [self.threads[-1] + 1]):
            for i in range(r.randint(0, 12)):
                start, end = self.call_bounds(thread)
                correlation = r.choice((None, *range(1, 13))) if self.shared_ids else \
                    100 * number % 200 + i
                self.calls.append((start, end, thread, correlation))
        r.shuffle(self.calls)

    def call_bounds(self, thread):
        """Within a range, or from a bound of one, or anywhere."""
        r = self.random
        own = [x for x in self.ranges if x[4] == thread and x[2] and x[2] > x[1]]
        start = BEGIN + r.randint(-2, self.width)
        if own and r.random() < 0.7:
            _, begin, end, *_ = r.choice(own)
            start = r.choice((r.randint(begin, end - 1), begin, end))
            if start < end and r.random() < 0.7:
                return start, r.randint(start + 1, end)
        return start, start + r.choice((*self.call_lengths, max(self.width // 4, 1)))

    def operation(self, process, correlation):
        r = self.random
        start = BEGIN + r.randint(-20, 2 * self.width)
        end = start + r.choice((0, 1, 5, self.width, r.randint(0, 50)))
        row = [start, end, process, correlation, r.choice(self.devices)]
        kind = r.choice(self.tables)
        node = r.choice((None, None, 0, 5, 1 << 40))
        size = r.choice((0, 1, 4096, r.randint(0, 1 << 55)))
        if kind == "kernel":
            name = r.choice(self.kernels)
            return kind, [*row, r.choice((name + 1, name + 1, MISSING_NAME, None)), node]
        if kind == "transfer":
            return kind, [*row, r.randint(0, 7), r.choice((1, 2, r.randint(0, 7))), size, node]
        if kind == "set":
            return kind, [*row, r.choice((None, 2, r.randint(0, 7), 88)), size, node]
        if r.random() < 0.3:
            row[:2] = 0, 0
        return kind, [*row, 1]

    def make_operations(self):
        """A call launches some; and some come from nowhere."""
        r = self.random
        found = []
        for _, _, thread, correlation in self.calls if self.tables else []:
            for _ in range(r.choice(self.launched)):
                found.append(self.operation(process_of(thread), correlation))
        for _ in range(r.randint(0, 4) if self.tables else 0):
            found.append(self.operation(
                r.choice((None, 7, 12 << 24, *map(process_of, self.threads))),
                r.choice((None, 7, 4_000_000_000, r.randint(1, 12)))))
        r.shuffle(found)
        self.operations = found

    # ---- the file ----

    def write(self, path):
        database = sqlite3.connect(path)
        database.execute("PRAGMA journal_mode = OFF")
        database.executescript(SCHEMA)
        self.write_strings(database)
        self.write_ranges(database)
        database.executemany(f"INSERT INTO {CALLS} VALUES (?, ?, ?, ?)", self.calls)
        for kind in self.tables:
            self.write_operations(database, kind)
        database.commit()
        database.close()
        return path

    def write_strings(self, database):
        strings = [*enumerate(KERNELS, 1), (200, "by id"), (201, "by another id")]
        database.executemany("INSERT INTO StringIds VALUES (?, CAST(? AS TEXT))", strings)
        if self.random.random() < 0.5:
            database.execute("CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, label TEXT)")
            database.executemany("INSERT INTO ENUM_CUDA_MEM_KIND VALUES (?, ?)", MEMORY_KINDS)

    def write_ranges(self, database):
        """Some have their names by id, which may be missing."""
        r = self.random
        database.execute("INSERT INTO NVTX_EVENTS (rowid, start, eventType, text, globalTid, "
                         "domainId) VALUES (1, 5, ?, 'lib', ?, 3)", [DOMAIN, self.threads[0]])
        for which in self.ranges:
            by_id = which[5] in ("a", None) and r.random() < 0.3
            database.execute(
                "INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, globalTid, text, domainId, "
                "endGlobalTid, textId) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [*which, r.choice((200, 201, MISSING_NAME)) if by_id else None])

    def write_operations(self, database, kind):
        columns = KEYS + COLUMNS[kind]
        database.execute(f"CREATE TABLE {TABLES[kind]} ({', '.join(columns)})")
        database.executemany(
            f"INSERT INTO {TABLES[kind]} VALUES ({', '.join('?' * len(columns))})",
            [row for of, row in self.operations if of == kind])
        for column in self.absent & set(columns):
            database.execute(f"ALTER TABLE {TABLES[kind]} DROP COLUMN {column.split()[0]}")
