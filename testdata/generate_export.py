#!/usr/bin/env python3
"""Write an SQLite export as nsys makes it, of a run that never was: any size, and the same rows for
the same options.

usage: generate_export.py [options] FILE.sqlite

Each thread has one root range, iterations below it and steps below those, as a profiling harness
makes them; each step launches GPU work. The first thread's root is the capture range,
`profile-target`. The mixed shape adds what real traces have as well: domains that overlap, start/end
ranges, launches that make several kernels (CUDA graphs), copies and fills, work outside every range,
and correlation ids that several processes use.

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
        "start end deviceId contextId streamId correlationId globalPid bytes copyKind srcKind "
        "dstKind".split()],
    "CUPTI_ACTIVITY_KIND_MEMSET": [
        name + " INTEGER" for name in
        "start end deviceId contextId streamId correlationId globalPid value bytes memKind".split()],
}
STRINGS = ["preprocessing", "infer", "postprocessing", "resize", "cudaLaunchKernel",
           "cudaMemcpyAsync", "cudaMemsetAsync", "cudaGraphLaunch", "gemm_kernel"]
PREPROCESSING, RESIZE, LAUNCH, KERNEL = 1, 4, 5, 9
MEMCPY_CALL, MEMSET_CALL, GRAPH_CALL = 6, 7, 8


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

    def event(self, start, end, text=None, text_id=None, kind=PUSH_POP, end_tid=None, domain=0):
        return (start, ("NVTX_EVENTS", (start, end, kind, None, None, None, text, self.tid, end_tid,
                                        text_id, domain) + (None,) * 8))

    def launch(self, start, end, gpu_start, name_id=LAUNCH, kernels=1):
        correlation = next(self.correlation)
        yield (start, ("CUPTI_ACTIVITY_KIND_RUNTIME",
                       (start, end, 0, self.tid, correlation, name_id, 0, None)))
        for i in range(kernels):
            gpu_end = gpu_start + 900 + self.numbers.below(3000)
            if name_id == MEMCPY_CALL:
                row = ("CUPTI_ACTIVITY_KIND_MEMCPY",
                       (gpu_start, gpu_end, 0, 1, 7, correlation, self.pid, 4096, 1, 0, 2))
            elif name_id == MEMSET_CALL:
                row = ("CUPTI_ACTIVITY_KIND_MEMSET",
                       (gpu_start, gpu_end, 0, 1, 7, correlation, self.pid, 0, 4096, 2))
            else:
                row = ("CUPTI_ACTIVITY_KIND_KERNEL",
                       (gpu_start, gpu_end, 0, 1, None, 7, correlation, self.pid, KERNEL, KERNEL,
                        KERNEL, 1, 0, 32, 128, 1, 1, 256, 1, 1, 0, 0, 0, 0, correlation, 32768,
                        i if kernels > 1 else None))
            yield (start, row)
            gpu_start = gpu_end + 100

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
