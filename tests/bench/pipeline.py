#!/usr/bin/env python3
"""The analysis of two reports as one would write it in plain Python: the same iterations, scopes
and groups as nvtxa's, from rows of csv.DictReader. It is what nvtxa is compared with, and it is
held against nvtxa's result, so it does the same job. It takes the reports' parent ids as they are,
and does not look for anything that could be wrong with a report.

usage: pipeline.py HOST.csv GPU.csv [CAPTURE_RANGE]     prints JSON, with keys as in analysis.json
"""
import collections
import csv
import json
import re
import statistics
import sys

HARNESS = ("capture", "iteration range")  # the ranges that scopes do not hold


def normalized(name):
    return name[1:] if name.startswith(":") else name


def key_of(row, column="RangeId"):
    """Process, thread and range id; none where there is no such range."""
    return (row["PID"], row["TID"], row[column]) if row[column] not in ("", "None") else None


class Range:
    """What is kept of a row of either report."""

    def __init__(self, row):
        self.name, self.parent = normalized(row["Name"]), key_of(row, "ParentId")
        self.style, self.place = row.get("Style"), None
        if self.style is None:
            self.inclusive = int(row["Duration (ns)"])
            self.exclusive = int(row["DurNonChild (ns)"])
            self.child_total = int(row["DurChild (ns)"])
        else:
            self.projected = int(row["Projected Duration (ns)"])
            self.host_total = int(row["Orig Duration (ns)"])
            self.operations = int(row["NumGPUOps"])


def read(path):
    """The ranges of a report by their keys, and the GPU operations that are in none."""
    ranges, unattributed = {}, 0
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = key_of(row)
            if key:
                ranges[key] = Range(row)
            else:
                unattributed += int(row["NumGPUOps"])
    return ranges, unattributed


def place(ranges, key, above=None):
    """The context and scope of a range, from its parents; those in `above` are placed already."""
    if above and key in above:
        return above[key].place
    item = ranges[key]
    if item.place is None:
        context, scope = "outside", ()
        if item.parent in ranges:
            context, scope = place(ranges, item.parent, above)
            if context in HARNESS:
                context, scope = "between" if context == "capture" else "iteration", ()
        item.place = context, scope + (item.name,)
    return item.place


def find_iterations(host, capture_range):
    """Place the capture range and the iterations; the latter by key, with their indexes."""
    (capture,) = [k for k, r in host.items() if r.parent is None and r.name == capture_range]
    host[capture].place = "capture", (capture_range,)
    found = {}
    for key, item in host.items():
        name = re.fullmatch("iteration ([0-9]+)", item.name)
        if name and item.parent == capture:
            found[key] = int(name[1])
            item.place = "iteration range", ()
    return found


def summary(values):
    total, count = sum(values), len(values)
    mean = total / count
    spread = sum((v - mean) ** 2 for v in values)
    return {"total_ns": total, "mean_ns": mean, "median_ns": statistics.median(values),
            "minimum_ns": min(values), "maximum_ns": max(values),
            "stddev_ns": (spread / (count - 1)) ** 0.5 if count > 1 else 0.0}


def groups(ranges, numbers):
    """One for each scope, context and style; `numbers` makes what is reported of its ranges."""
    members = collections.defaultdict(list)
    for item in ranges.values():
        if item.place[0] != "iteration range":
            members[item.place[1], item.place[0], item.style].append(item)
    return [{"name": ".".join(path), "path": path, "context": context, "instances": len(items),
             **({"style": style} if style else {}), **numbers(items)}
            for (path, context, style), items in members.items()]


def host_numbers(items):
    return {"inclusive": summary([i.inclusive for i in items]),
            "exclusive": summary([i.exclusive for i in items]),
            "child_total_ns": sum(i.child_total for i in items)}


def gpu_numbers(items):
    return {"projected": summary([i.projected for i in items]),
            "host_total_ns": sum(i.host_total for i in items),
            "gpu_operation_count": sum(i.operations for i in items)}


def iteration(index, host, gpu):
    return {"index": index,
            "host": {"inclusive_ns": host.inclusive, "exclusive_ns": host.exclusive,
                     "child_total_ns": host.child_total},
            "gpu_projection": gpu and {"projected_ns": gpu.projected,
                                       "host_range_total_ns": gpu.host_total,
                                       "gpu_operation_count": gpu.operations}}


def analyze(host_report, gpu_report, capture_range):
    host, _ = read(host_report)
    gpu, unattributed = read(gpu_report)
    indexes = find_iterations(host, capture_range)
    for key in host:
        place(host, key)
    for key, item in gpu.items():
        item.place = place(gpu, key, host)
    iterations = [iteration(index, host[key], gpu.get(key))
                  for key, index in sorted(indexes.items(), key=lambda entry: entry[1])]
    on_host = [i["host"] for i in iterations]
    projected = [i["gpu_projection"]["projected_ns"] for i in iterations if i["gpu_projection"]]
    return {
        "host_ranges": groups(host, host_numbers),
        "gpu_projected_ranges": groups(gpu, gpu_numbers),
        "iterations": iterations,
        "iteration_summary": {
            "iterations": len(iterations),
            "host_iterations": len(iterations),
            "gpu_projected_iterations": len(projected),
            "host_inclusive": summary([h["inclusive_ns"] for h in on_host]) if on_host else None,
            "host_exclusive": summary([h["exclusive_ns"] for h in on_host]) if on_host else None,
            "gpu_projected": summary(projected) if projected else None,
        },
        "unattributed_gpu_operation_count": unattributed,
    }


if __name__ == "__main__":
    json.dump(analyze(*sys.argv[1:3], *(sys.argv[3:] or ["profile-target"])), sys.stdout)
