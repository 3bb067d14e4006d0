#!/usr/bin/env python3
"""Write an SQLite export as nsys makes it, of a run that never was: any size, and the same rows for
the same options.

usage: generate_export.py [options] FILE.sqlite

Each thread has one root range, iterations below it and steps below those, as a profiling harness
makes them; each step launches GPU work. The first thread's root is the capture range,
`profile-target`. The mixed shape adds what real traces have as well: domains that overlap, start/end
ranges, launches that make several kernels (CUDA graphs), copies and fills, work outside every range,
operations whose call is missing, correlation ids that several processes use, several devices, kernel
names, kinds of memory and sizes.

No two ranges of a thread have equal bounds, and no range has two enclosing ranges of one length:
nsys's own answer is arbitrary there.
"""
import argparse
import heapq
import itertools
import os
import sqlite3

PUSH_POP, START_END, DOMAIN = 59, 60, 75
SLOT_NS = 20_000  # what one step takes, with the gap after it

KERNEL_COLUMNS = (
    "start end deviceId contextId greenContextId streamId correlationId globalPid demangledName "
    "shortName mangledName launchType cacheConfig registersPerThread gridX gridY gridZ blockX "
    "blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal "
    "gridId sharedMemoryExecuted graphNodeId").split()
TABLES = {
    "StringIds": ["id INTEGER NOT NULL PRIMARY KEY", "value TEXT NOT NULL"],
    "META_DATA_EXPORT": ["name TEXT NOT NULL", "value TEXT"],
    "NVTX_EVENTS": [
        "start INTEGER NOT NULL", "end INTEGER", "eventType INTEGER NOT NULL", "rangeId INTEGER",
        "category INTEGER", "color INTEGER", "text TEXT", "globalTid INTEGER",
        "endGlobalTid INTEGER", "textId INTEGER", "domainId INTEGER", "uint64Value INTEGER",
        "int64Value INTEGER", "doubleValue REAL", "uint32Value INTEGER", "int32Value INTEGER",
        "floatValue REAL", "jsonTextId INTEGER", "jsonText TEXT"],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [
        "start INTEGER NOT NULL", "end INTEGER NOT NULL", "eventClass INTEGER NOT NULL",
        "globalTid INTEGER", "correlationId INTEGER", "nameId INTEGER NOT NULL",
        "returnValue INTEGER NOT NULL", "callchainId INTEGER"],
    "CUPTI_ACTIVITY_KIND_KERNEL": [name + " INTEGER" for name in KERNEL_COLUMNS],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [
        name + " INTEGER" for name in
        "start end deviceId contextId greenContextId streamId correlationId globalPid bytes copyKind "
        "srcKind dstKind".split()],
    "CUPTI_ACTIVITY_KIND_MEMSET": [
        name + " INTEGER" for name in
        "start end deviceId contextId greenContextId streamId correlationId globalPid value bytes "
        "memKind".split()],
    "TARGET_INFO_GPU": ["id INTEGER NOT NULL", "name TEXT"],
    "ENUM_CUDA_MEM_KIND": ["id INTEGER NOT NULL PRIMARY KEY", "name TEXT", "label TEXT"],
    "ENUM_CUDA_MEMCPY_OPER": ["id INTEGER NOT NULL PRIMARY KEY", "name TEXT", "label TEXT"],
}
STRINGS = ["preprocessing", "infer", "postprocessing", "resize", "cudaLaunchKernel",
           "cudaMemcpyAsync", "cudaMemsetAsync", "cudaGraphLaunch", "gemm_kernel",
           "void reduce<float, (int)512>(const float *, float *, int)", "softmax",
           "void elementwise<(int)4, Add<float>>(int, T1, T2)", "Im2Col<float>"]
PREPROCESSING, RESIZE, LAUNCH, KERNEL = 1, 4, 5, 9
MEMCPY_CALL, MEMSET_CALL, GRAPH_CALL = 6, 7, 8
KERNELS = len(STRINGS) - KERNEL + 1
DEVICES = ["NVIDIA H100 80GB HBM3", "NVIDIA A10, 24 GB"]
MEM_KINDS = ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static",
             "Unknown"]
COPY_KINDS = ["Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host",
              "Array-to-Array", "Array-to-Device", "Device-to-Array", "Device-to-Device",
              "Host-to-Host", "Peer-to-Peer"]
COPIES = [(1, 0, 2), (2, 2, 1), (1, 1, 2), (8, 2, 2), (2, 2, 0), (10, 2, 2), (1, 4, 2)]


class Numbers:
    """Pseudo-random numbers that are the same on every machine and cheap."""

    def __init__(self, seed):
        self.state = seed * 0x9E3779B97F4A7C15 + 1 & 0xFFFFFFFFFFFFFFFF

    def below(self, limit):
        self.state = self.state * 6364136223846793005 + 1442695040888963407 & 0xFFFFFFFFFFFFFFFF
        return (self.state >> 33) % limit


class Thread:
    """One thread's rows, in the order of their starts."""

    def __init__(self, options, process, thread):
        self.options = options
        self.first = process == 0 and thread == 0
        self.number = thread
        self.tid = (1 << 48) | (4000 + process << 24) | (4000 + process + thread)
        self.pid = self.tid & ~0xFFFFFF
        self.numbers = Numbers(options.seed * 1000 + process * 100 + thread)
        # Each process numbers its own launches: the ids of two processes meet.
        self.correlation = itertools.count(1 + thread, options.threads)
        # What operations are, in the mixed shape, follows from their ids: times do not hang on it.
        self.variety = int(options.mixed)

    def event(self, start, end, text=None, text_id=None, kind=PUSH_POP, end_tid=None, domain=0):
        return (start, ("NVTX_EVENTS", (start, end, kind, None, None, None, text, self.tid, end_tid,
                                        text_id, domain) + (None,) * 8))

    def copy(self, start, end, correlation):
        n = correlation * self.variety
        kind, source, destination = COPIES[n % len(COPIES)]
        return ("CUPTI_ACTIVITY_KIND_MEMCPY",
                (start, end, n % 5 % len(DEVICES), 1, n % 3 or None, 7 + n % 4, correlation,
                 self.pid, 4096 + n * n * 37 % 1_000_003, kind, source, destination))

    def fill(self, start, end, correlation):
        n = correlation * self.variety
        return ("CUPTI_ACTIVITY_KIND_MEMSET",
                (start, end, n % 5 % len(DEVICES), 1, None, 7 + n % 4, correlation, self.pid, 0,
                 4096 + n * 129 % 5000, 2 + n % 3 % 2 * 2))

    def kernel(self, start, end, correlation, node=None):
        n = ((correlation or 0) + (node or 0)) * self.variety
        name = KERNEL + (n + n // 7) % KERNELS
        return ("CUPTI_ACTIVITY_KIND_KERNEL",
                (start, end, n % 5 % len(DEVICES), 1, n % 4 if n % 2 else None, 7 + n % 4,
                 correlation, self.pid, name, name, name, 1, 0, 32 + n % 9, 128 + n % 1000,
                 1 + n % 2, 1, 256, 1 + n % 3, 1, n % 6 * 16, n % 11 * 1024, 0, 0, correlation,
                 32768, node))

    def launch(self, start, end, gpu_start, name_id=LAUNCH, kernels=1):
        correlation = next(self.correlation)
        yield (start, ("CUPTI_ACTIVITY_KIND_RUNTIME",
                       (start, end, 0, self.tid, correlation, name_id, 0, None)))
        for i in range(kernels):
            gpu_end = gpu_start + 900 + self.numbers.below(3000)
            if name_id == MEMCPY_CALL:
                row = self.copy(gpu_start, gpu_end, correlation)
            elif name_id == MEMSET_CALL:
                row = self.fill(gpu_start, gpu_end, correlation)
            else:
                row = self.kernel(gpu_start, gpu_end, correlation, i if kernels > 1 else None)
            yield (start, row)
            gpu_start = gpu_end + 100

    def unlaunched(self, start):
        """Operations whose call is missing, as where the capture began between the two."""
        lost = (1 << 30) + self.number
        yield (start, self.kernel(start + 10, start + 1210, lost))
        yield (start, self.kernel(start + 20, start + 917, lost + 7))
        yield (start, self.kernel(start + 30, start + 1031, None))
        yield (start, self.copy(start + 40, start + 40, lost))  # too short for the clock

    def step(self, start, launches):
        """A step and what is in it; `launches` calls, evenly spread."""
        r, options = self.numbers, self.options
        # All bounds stay inside the slot, whatever the jitter.
        end = start + SLOT_NS - 200 - r.below(1000)
        start += 100 + r.below(1000)
        which = r.below(3)
        if r.below(2):
            yield self.event(start, end, text=STRINGS[which])
        else:
            yield self.event(start, end, text_id=PREPROCESSING + which)
        inner = start
        for level in range(options.depth):
            inner += 7 + r.below(5)
            end -= 7 + r.below(5)
            yield self.event(inner, end, text=f"level {level % 3}" if level else None,
                             text_id=None if level else RESIZE)
        at = inner + 50
        width = (end - at - 50) // max(launches, 1)
        for _ in range(launches):
            call = MEMCPY_CALL if options.mixed and r.below(9) == 0 else LAUNCH
            kernels = 1
            if options.mixed and r.below(17) == 0:
                call, kernels = GRAPH_CALL, 4
            elif options.mixed and r.below(23) == 0:
                call = MEMSET_CALL
            yield from self.launch(at, at + width // 2, at + 5000 + r.below(2000), call, kernels)
            at += width

    def extras(self, start):
        """What lies across the steps. A slot takes one of it, so that no two are of one length."""
        r = self.numbers
        length = SLOT_NS + 1500 + r.below(9000)
        which = r.below(6)
        if which == 0:
            yield self.event(start + 3000, start + 3000 + length, text="across", domain=1)
        elif which == 1:
            yield self.event(start + 3000, start + 3000 + length, text="task", kind=START_END)
        elif which == 2:
            yield self.event(start + 3000, start + 3000 + length, text="handed over",
                             kind=START_END, end_tid=self.tid + 1)
        elif which == 3:
            yield from self.launch(start + 20, start + 60, start + 4000)

    def rows(self, steps, launches):
        """`steps` in iterations of 50; `launches` calls in all."""
        options, r = self.options, self.numbers
        per_iteration = min(50, max(steps, 1))
        now = 1_000_000 + self.number * 1111
        whole = ((steps // per_iteration + 1) * (per_iteration + 3)) * SLOT_NS
        if options.mixed and self.number == 0:
            yield (now - 9000, ("NVTX_EVENTS", (now - 9000, None, DOMAIN, None, None, None,
                                                f"lib{self.tid >> 24 & 0xFFFFFF}", self.tid, None,
                                                None, 1) + (None,) * 8))
        if options.mixed:
            yield from self.unlaunched(now - 8000)
            yield from self.launch(now - 5000, now - 4000, now)
        yield self.event(now - 500, now + whole,
                         text="profile-target" if self.first else f"worker {self.number}")
        done = 0
        for index in range((steps + per_iteration - 1) // per_iteration):
            count = min(per_iteration, steps - done)
            yield self.event(now, now + count * SLOT_NS + 40 + r.below(20),
                             text=f"iteration {index}")
            for k in range(count):
                share = launches * (done + k + 1) // steps - launches * (done + k) // steps
                inside = self.step(now, share)
                if options.mixed and k % 3 == 1 and k + 3 < count:
                    inside = heapq.merge(inside, self.extras(now), key=lambda row: row[0])
                yield from inside
                now += SLOT_NS
            done += count
            now += SLOT_NS + r.below(500)


def share(total, parts, index):
    return total * (index + 1) // parts - total * index // parts


def write(options):
    if os.path.exists(options.file):
        os.unlink(options.file)
    database = sqlite3.connect(options.file)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    inserts = {}
    for table, columns in TABLES.items():
        database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        inserts[table] = f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})"
    database.executemany(inserts["StringIds"], enumerate(STRINGS, 1))
    database.executemany(inserts["META_DATA_EXPORT"], [
        ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
        ("EXPORT_PRODUCT_VERSION", "2023.4.4.54"),
        ("EXPORT_SCHEMA_VERSION", "3.7.2"),
    ])
    database.executemany(inserts["TARGET_INFO_GPU"], enumerate(DEVICES))
    for table, labels in (("ENUM_CUDA_MEM_KIND", MEM_KINDS), ("ENUM_CUDA_MEMCPY_OPER", COPY_KINDS)):
        database.executemany(inserts[table], ((i, label.upper(), label)
                                              for i, label in enumerate(labels)))
    threads = [Thread(options, p, t)
               for p in range(options.processes) for t in range(options.threads)]
    # A thread has a root, its iterations (one for up to 50 steps) and its steps.
    streams = []
    for i, thread in enumerate(threads):
        ranges = share(options.ranges, len(threads), i)
        steps = max((ranges - 1) * 50 // (50 * (options.depth + 1) + 1), 1)
        streams.append(thread.rows(steps, share(options.operations, len(threads), i)))
    rows = heapq.merge(*streams, key=lambda row: row[0]) if len(streams) > 1 else streams[0]
    batches = {table: [] for table in TABLES}
    for _, (table, values) in rows:
        batch = batches[table]
        batch.append(values)
        if len(batch) == 10_000:
            database.executemany(inserts[table], batch)
            batch.clear()
    for table, batch in batches.items():
        database.executemany(inserts[table], batch)
    database.commit()
    database.close()


def main():
    parser = argparse.ArgumentParser(description="Write a generated nsys SQLite export.")
    parser.add_argument("file", metavar="FILE.sqlite")
    parser.add_argument("--ranges", type=int, default=1000, help="about how many (default: 1000)")
    parser.add_argument("--operations", type=int, default=900, help="launches (default: 900)")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="in each process")
    parser.add_argument("--depth", type=int, default=0, help="further levels below each step")
    parser.add_argument("--mixed", action="store_true",
                        help="with domains, start/end ranges, graphs, copies and the like")
    parser.add_argument("--seed", type=int, default=1)
    write(parser.parse_args())


if __name__ == "__main__":
    main()
