"""What the GPU did, straight from the definitions: a reference for the GPU parts of analysis.json.

An export is read with plain SQL into lists of ranges, calls and operations. Everything else is
looked up in those lists: what encloses what by comparing bounds, busy time by merging intervals.
Nothing is clever, so that it is plain to see that it is right.
"""
import collections
import dataclasses
import fractions
import functools
import math
import re
import sqlite3

PUSH_POP, START_END, DOMAIN = (59, 70), (60, 71), 75
CONTEXTS = ("capture", "iteration", "between", "outside")  # in the order of analysis.json
MEMORY_KINDS = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static",
                "Managed Static", "Unknown")  # for exports that do not name them
KERNEL, TRANSFER, SET, GRAPH = "kernel", "transfer", "set", "graph"
TABLES = {KERNEL: "CUPTI_ACTIVITY_KIND_KERNEL", TRANSFER: "CUPTI_ACTIVITY_KIND_MEMCPY",
          SET: "CUPTI_ACTIVITY_KIND_MEMSET", GRAPH: "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"


def process_of(global_tid):
    return global_tid & ~0xFFFFFF


# ---- what an export holds ----

@dataclasses.dataclass(eq=False)
class Range:
    id: int
    start: int
    end: int
    thread: int
    style: str
    name: str
    measured: bool  # it ended, and not before it began


@dataclasses.dataclass(eq=False)
class Call:
    row: int
    start: int
    end: int
    thread: int
    key: tuple  # process and correlation id


@dataclasses.dataclass(eq=False)
class Operation:
    kind: str
    start: int
    end: int
    key: tuple  # None in it: no call can have launched the operation
    device: int
    label: tuple  # what equal operations have in common: a name, or kinds of memory
    bytes: int
    node: bool

    @property
    def duration(self):
        return self.end - self.start

    @property
    def untimed(self):
        return self.kind == GRAPH and self.start == self.end == 0


class Export:
    """An SQLite export, by plain SQL."""

    def __init__(self, path):
        self.database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        self.database.text_factory = lambda text: text.decode("utf-8", "replace")
        self.strings = self.names("StringIds", "value")
        self.memory_kinds = self.names("ENUM_CUDA_MEM_KIND", "label")
        self.ranges, self.host_ranges = self.read_ranges()
        self.calls = [Call(row, start, end, thread, (process_of(thread), correlation))
                      for row, start, end, thread, correlation
                      in self.rows(CALLS, "rowid start end globalTid correlationId")
                      if thread is not None and correlation is not None]
        self.operations = [o for kind in TABLES for o in self.read_operations(kind)]
        self.database.close()

    def rows(self, table, columns):
        """Columns of a table in the order of its rows. None stands for a column that is missing;
        a table that is missing has no rows."""
        there = {name for name, in self.database.execute(
            "SELECT name FROM pragma_table_info(?)", [table])}
        if not there:
            return []
        cells = [c if c in there or c == "rowid" else f"NULL AS {c}" for c in columns.split()]
        return self.database.execute(
            f"SELECT {', '.join(cells)} FROM {table} ORDER BY rowid").fetchall()

    def names(self, table, column):
        return dict(self.rows(table, f"id {column}"))

    # ---- ranges ----

    def read_domains(self, events):
        """The names of domains, by process and id. The event that came first counts."""
        found = {}
        for _, start, _, kind, thread, _, domain, text, text_id in events:
            key = (process_of(thread or 0) & 0xFFFFFFFFFFFF, domain or 0)
            if kind == DOMAIN and (key not in found or start < found[key][0]):
                found[key] = (start, text if text is not None else self.strings.get(text_id, ""))
        return {key: name for key, (_, name) in found.items()}

    def read_ranges(self):
        """All ranges, and push/pop ranges alone. An open range reaches to the last time of those
        that it is looked at with."""
        events = self.rows("NVTX_EVENTS", "rowid start end eventType globalTid endGlobalTid "
                                          "domainId text textId")
        domains = self.read_domains(events)
        rows = [e for e in events if e[3] in PUSH_POP or
                (e[3] in START_END and e[5] in (None, e[4]))]
        host_rows = [e for e in rows if e[3] in PUSH_POP]
        return self.ranges_of(rows, domains), self.ranges_of(host_rows, domains)

    def ranges_of(self, rows, domains):
        last = max((max(start, end or start) for _, start, end, *_ in rows), default=0)
        ranges = []
        for row, start, end, kind, thread, _, domain, text, text_id in rows:
            measured = end is not None and end >= start
            reach = end if measured else last if end is None else start
            prefix = domains.get((process_of(thread) & 0xFFFFFFFFFFFF, domain or 0), "")
            text = self.strings.get(text_id, text)
            ranges.append(Range(row, start, reach, thread,
                                "PushPop" if kind in PUSH_POP else "StartEnd",
                                "" if text is None else f"{prefix}:{text}", measured))
        return ranges

    # ---- operations ----

    def memory_kind(self, number):
        known = MEMORY_KINDS[number] if number in range(len(MEMORY_KINDS)) else None
        return self.memory_kinds.get(number, known)

    def label(self, kind, name, source, destination, memory):
        return {KERNEL: (self.strings.get(name, ""),),
                TRANSFER: (self.memory_kind(source), self.memory_kind(destination)),
                SET: (self.memory_kind(memory),),
                GRAPH: ()}[kind]

    def read_operations(self, kind):
        rows = self.rows(TABLES[kind], "start end globalPid correlationId deviceId bytes "
                                       "graphNodeId demangledName srcKind dstKind memKind")
        return [Operation(kind, start, end, (process, correlation), device,
                          self.label(kind, *label), size or 0, bool(node))
                for start, end, process, correlation, device, size, node, *label in rows]


# ---- what encloses what ----

def closeness(outer):
    """The least is the innermost: the shortest, of those the latest, of equal ones the last."""
    return (outer.end - outer.start, -outer.start, -outer.id)


class Threads:
    """Looks for what encloses an interval, by the bounds of each range of the thread. Blocks of
    ranges that cannot have it are left out: all pairs are too many in the traces of real programs.
    """
    BLOCK = 64

    def __init__(self, ranges):
        self.blocks = {}
        by_thread = collections.defaultdict(list)
        for r in sorted(ranges, key=lambda r: r.start):
            by_thread[r.thread].append(r)
        for thread, own in by_thread.items():
            blocks = [own[i:i + self.BLOCK] for i in range(0, len(own), self.BLOCK)]
            self.blocks[thread] = [(block, max(r.end for r in block)) for block in blocks]

    def around(self, thread, start, end):
        """The ranges of a thread that enclose an interval, bounds included."""
        return [r for block, reach in self.blocks.get(thread, [])
                if block[0].start <= start and reach >= end
                for r in block if r.start <= start and r.end >= end]

    def parent(self, inner):
        """Of ranges with equal bounds, the one with the lower id is the outer."""
        outer = [r for r in self.around(inner.thread, inner.start, inner.end)
                 if (r.start, r.end) != (inner.start, inner.end) or r.id < inner.id]
        return min(outer, key=closeness, default=None)


# ---- where ranges stand ----

@dataclasses.dataclass(frozen=True)
class Iteration:
    index: int


@dataclasses.dataclass(frozen=True)
class Scope:
    context: str
    path: tuple


def normalized(name):
    return name.removeprefix(":")


class Places:
    """The place of each range: a Scope, or an Iteration. Those of push/pop ranges follow push/pop
    ranges alone; a start/end range stands below whatever encloses it."""

    def __init__(self, export, capture_range):
        self.all, self.host = Threads(export.ranges), Threads(export.host_ranges)
        self.by_id = {r.id: r for r in export.host_ranges}
        self.capture, = (r for r in export.host_ranges if normalized(r.name) == capture_range and
                         self.host.parent(r) is None)
        self.iterations = sorted(p.index for p in map(self.of, export.host_ranges)
                                 if isinstance(p, Iteration))

    @functools.cache
    def of(self, which):
        if which.style == "PushPop":
            which = self.by_id[which.id]
            return self.below(self.host.parent(which), which)
        return self.below(self.all.parent(which), which)

    def below(self, parent, which):
        name = normalized(which.name)
        if which is self.capture:
            return Scope("capture", (name,))
        if parent is None:
            return Scope("outside", (name,))
        above = self.of(parent)
        if isinstance(above, Iteration):
            return Scope("iteration", (name,))
        if above.context != "capture":
            return Scope(above.context, above.path + (name,))
        index = re.fullmatch("iteration ([0-9]+)", name)
        if index and which.style == "PushPop":
            return Iteration(int(index[1]))
        return Scope("between", (name,))

    def bucket(self, which):
        """What a range's operations count for; None: it was still open, and no iteration."""
        place = self.of(which)
        if isinstance(place, Iteration):
            return place
        return (place, which.style) if which.measured else None


# ---- what operations amount to ----

def union(operations):
    """The intervals in which any of them was running, merged where they overlap or touch."""
    merged = []
    for start, end in sorted((o.start, o.end) for o in operations):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def length(intervals):
    return sum(end - start for start, end in intervals)


def times(operations):
    running = union(operations)
    copies = [o for o in operations if o.kind == TRANSFER]
    compute = [o for o in operations if o.kind in (KERNEL, GRAPH)]
    span = running[-1][1] - running[0][0]
    return {
        "operations": len(operations),
        "span_ns": span,
        "busy_ns": length(running),
        "idle_ns": span - length(running),
        "largest_gap_ns": max((b[0] - a[1] for a, b in zip(running, running[1:])), default=0),
        # What is in both is what the two have more than their union.
        "copy_compute_overlap_ns":
            length(union(copies)) + length(union(compute)) - length(union(copies + compute)),
    }


def percentile(values, percent):
    """By linear interpolation between the two values beside the rank (n - 1) * percent / 100."""
    ordered = sorted(values)
    rank = fractions.Fraction((len(ordered) - 1) * percent, 100)
    low, high = ordered[math.floor(rank)], ordered[math.ceil(rank)]
    return float(low + (high - low) * (rank - math.floor(rank)))


def amounts(operations, kind):
    """By label: what analysis.json says of equal operations."""
    by_label = collections.defaultdict(list)
    for o in operations:
        if o.kind == kind:
            by_label[o.label].append(o)
    found = {}
    for label, equal in by_label.items():
        keys = {KERNEL: ["name"], TRANSFER: ["source_memory_kind", "destination_memory_kind"],
                SET: ["memory_kind"], GRAPH: []}[kind]
        found[label] = dict(zip(keys, label), instances=len(equal),
                            cumulative_duration_ns=sum(o.duration for o in equal))
        if kind in (TRANSFER, SET):
            found[label]["total_bytes"] = sum(o.bytes for o in equal)
    return found


def by_label(label):
    """Byte order, no text before any."""
    return [(text is not None, (text or "").encode()) for text in label]


def in_byte_order(operations, kind):
    found = amounts(operations, kind)
    return [found[label] for label in sorted(found, key=by_label)]


def longest_first(operations, kind):
    found = amounts(operations, kind)
    return [found[label] for label in sorted(
        found, key=lambda label: (-found[label]["cumulative_duration_ns"], by_label(label)))]


def in_sum(operations, kind):
    own = [o for o in operations if o.kind == kind]
    return {"cumulative_duration_ns": sum(o.duration for o in own), "instances": len(own)}


def by_device(operations):
    """The devices in order, each with its operations."""
    devices = collections.defaultdict(list)
    for o in operations:
        devices[o.device].append(o)
    return sorted(devices.items())


def summary(values):
    if not values:
        return None
    mean = fractions.Fraction(sum(values), len(values))
    variance = sum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1)
    return {"total_ns": sum(values), "minimum_ns": min(values), "maximum_ns": max(values),
            "mean_ns": float(mean), "stddev_ns": math.sqrt(variance),
            "median_ns": percentile(values, 50),
            **{f"p{p}_ns": percentile(values, p) for p in (50, 90, 95, 99)}}


# ---- the analysis ----

class Model:
    """The GPU parts of the analysis of an export."""

    def __init__(self, export, capture_range, kernel_limit=10):
        self.places = Places(export, capture_range)
        self.kernel_limit = kernel_limit
        self.untimed = [o for o in export.operations if o.untimed]
        self.operations = [o for o in export.operations if not o.untimed]
        self.of_key = collections.defaultdict(list)
        for o in self.operations:
            self.of_key[o.key].append(o)
        self.calls = [c for c in export.calls if c.key in self.of_key]
        self.around = {c: self.places.all.around(c.thread, c.start, c.end) for c in self.calls}
        self.launch = {}
        for c in sorted(self.calls, key=lambda c: (c.start, c.end, c.thread), reverse=True):
            self.launch[c.key] = c  # the first is put last
        self.attribute()
        self.project()

    def attribute(self):
        """Which operations are whose."""
        self.inclusive = collections.defaultdict(list)
        self.innermost = collections.defaultdict(list)
        self.fate = {}
        for o in self.operations:
            call = self.launch.get(o.key)
            around = self.around[call] if call else []
            buckets = {self.places.bucket(r) for r in around} - {None}
            for bucket in buckets:
                self.inclusive[bucket].append(o)
            own = self.places.bucket(min(around, key=closeness)) if around else None
            if own:
                self.innermost[own].append(o)
            self.fate[o] = ("attributed" if own else "in_open_ranges" if around else
                            "outside_ranges" if call else "launch_missing")

    def project(self):
        """The ranges that any call of an operation is in, by bucket, with their operations."""
        self.keys = collections.defaultdict(set)
        for c in self.calls:
            for r in self.around[c]:
                self.keys[r].add(c.key)
        self.projected = collections.defaultdict(list)
        for r in self.keys:
            self.projected[self.places.bucket(r)].append(r)

    def span(self, which):
        own = [o for key in self.keys[which] for o in self.of_key[key]]
        return max(o.end for o in own) - min(o.start for o in own)

    # ---- as analysis.json has it ----

    def share(self, operations):
        if not operations:
            return None
        delays = [o.start - self.launch[o.key].start for o in operations]
        kernels = longest_first(operations, KERNEL)
        return {
            **times(operations),
            "devices": [{"device_id": device, **times(own)}
                        for device, own in by_device(operations)],
            "graph_node_operations": sum(o.node for o in operations),
            "graphs": in_sum(operations, GRAPH),
            "kernels": {**in_sum(operations, KERNEL), "names": len(kernels),
                        "largest": kernels[:self.kernel_limit]},
            "launch_delay": {"median_ns": percentile(delays, 50), "p99_ns": percentile(delays, 99)},
            "memory_sets": longest_first(operations, SET),
            "memory_transfers": longest_first(operations, TRANSFER),
        }

    def gpu_work(self, bucket):
        return {"inclusive": self.share(self.inclusive[bucket]),
                "innermost": self.share(self.innermost[bucket])}

    def group(self, bucket):
        place, style = bucket
        ranges = self.projected[bucket]
        return {"name": ".".join(place.path), "path": list(place.path), "context": place.context,
                "style": style, "instances": len(ranges),
                "projected": summary([self.span(r) for r in ranges]),
                "host_total_ns": sum(r.end - r.start for r in ranges),
                "gpu_operation_count": sum(len(self.keys[r]) for r in ranges),
                "gpu_work": self.gpu_work(bucket)}

    def groups(self):
        def order(bucket):
            place, style = bucket
            return ([name.encode() for name in place.path], CONTEXTS.index(place.context), style)
        return [self.group(bucket) for bucket in
                sorted((b for b in self.projected if isinstance(b, tuple)), key=order)]

    def iteration(self, index):
        projection = None
        for r in self.projected[Iteration(index)]:
            projection = {"projected_ns": self.span(r), "host_range_total_ns": r.end - r.start,
                          "gpu_operation_count": len(self.keys[r])}
        return {"index": index, "gpu_projection": projection,
                "gpu_work": self.gpu_work(Iteration(index))}

    def iteration_summary(self):
        ended = [self.span(r) for index in self.places.iterations
                 for r in self.projected[Iteration(index)] if r.measured]
        return {"gpu_projected_iterations": len(ended), "gpu_projected": summary(ended)}

    def device(self, device, operations):
        counts = collections.Counter(self.fate.get(o, "untimed") for o in operations)
        fates = ("attributed", "in_open_ranges", "outside_ranges", "launch_missing", "untimed")
        return {"device_id": device, "operations": len(operations),
                **{fate: counts[fate] for fate in fates}}

    def analysis(self):
        outside = {c.key for c in self.calls if not self.around[c]}
        return {
            "capture_gpu_work": {"kernels": in_byte_order(self.operations, KERNEL),
                                 "memory_sets": in_byte_order(self.operations, SET),
                                 "memory_transfers": in_byte_order(self.operations, TRANSFER)},
            "gpu_devices": [self.device(*both) for both in
                            by_device(self.operations + self.untimed)],
            "gpu_projected_ranges": self.groups(),
            "iterations": [self.iteration(index) for index in self.places.iterations],
            "iteration_summary": self.iteration_summary(),
            "unattributed_gpu_operation_count": len(outside),
        }


# ---- against an analysis ----

class Comparison:
    """Holds an analysis against a model's, and counts the numbers."""

    def __init__(self):
        self.numbers = 0
        self.differences = []

    def compare(self, got, want, where=""):
        """Exact, but for the last digits of what is no integer."""
        if isinstance(want, dict) and isinstance(got, dict):
            if got.keys() != want.keys():
                self.differences.append(f"{where}: keys {sorted(got)}, not {sorted(want)}")
            for key in want.keys() & got.keys():
                self.compare(got[key], want[key], f"{where}.{key}")
        elif isinstance(want, list) and isinstance(got, list):
            if len(got) != len(want):
                self.differences.append(f"{where}: {len(got)} items, not {len(want)}: "
                                        f"{str(got)[:300]}, not {str(want)[:300]}")
            for i, (item, wanted) in enumerate(zip(got, want)):
                self.compare(item, wanted, f"{where}[{i}]")
        else:
            self.compare_values(got, want, where)

    def compare_values(self, got, want, where):
        number = isinstance(want, (int, float))
        self.numbers += number
        if type(got) is not type(want) or (
                not math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-9)
                if isinstance(want, float) else got != want):
            self.differences.append(f"{where}: {got!r}, not {want!r}")

    def analysis(self, got, want):
        """The GPU parts of an analysis."""
        own = {key: got[key] for key in want}
        own["iterations"] = [{key: value for key, value in item.items() if key != "host"}
                             for item in got["iterations"]]
        own["iteration_summary"] = {key: got["iteration_summary"][key]
                                    for key in want["iteration_summary"]}
        self.compare(own, want)
