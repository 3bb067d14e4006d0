#!/usr/bin/env python3
"""What the GPU did in recorded traces that stand outside this repository, where they are given:
each total against a query that groups and sums in SQL, and every number against the model of the
cases.

usage: gpu_work.py NVTXA [DIRECTORY]      DIRECTORY, else $NVTXA_SHARED, holds cases/real and /files
"""
import collections
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import given

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cases"))
from gpu_model import CALLS, TABLES, Comparison, Export, Model, Threads, normalized  # noqa: E402

MOST_CAPTURE_RANGES = 2
KERNELS = f"""
    SELECT sum(o.end - o.start) cumulative_duration_ns, count(*) instances,
           coalesce(s.value, '') name
    FROM {TABLES["kernel"]} o LEFT JOIN StringIds s ON s.id = o.demangledName
    GROUP BY name ORDER BY CAST(name AS BLOB)"""
MEMORY_SETS = f"""
    SELECT sum(o.end - o.start) cumulative_duration_ns, count(*) instances, k.label memory_kind,
           sum(o.bytes) total_bytes
    FROM {TABLES["set"]} o LEFT JOIN ENUM_CUDA_MEM_KIND k ON k.id = o.memKind
    GROUP BY memory_kind ORDER BY CAST(memory_kind AS BLOB)"""
MEMORY_TRANSFERS = f"""
    SELECT sum(o.end - o.start) cumulative_duration_ns, b.label destination_memory_kind,
           count(*) instances, a.label source_memory_kind, sum(o.bytes) total_bytes
    FROM {TABLES["transfer"]} o LEFT JOIN ENUM_CUDA_MEM_KIND a ON a.id = o.srcKind
         LEFT JOIN ENUM_CUDA_MEM_KIND b ON b.id = o.dstKind
    GROUP BY a.label, b.label ORDER BY CAST(a.label AS BLOB), CAST(b.label AS BLOB)"""
# Whether some call may have launched an operation; NULL where it has no key.
LAUNCHED = f"""(correlationId, globalPid) IN
    (SELECT correlationId, globalTid & ~0xFFFFFF FROM {CALLS} WHERE correlationId IS NOT NULL)"""


def captures(cases):
    for database in sorted([*(cases / "files").glob("*/*.sqlite"),
                            *(cases / "real").glob("gpu-*/*/trace.sqlite")]):
        if "NVTX_EVENTS" in tables_of(database):
            yield database.relative_to(cases), database


def query(database, sql):
    """The rows as objects."""
    connection = sqlite3.connect(f"file:{database}?immutable=1", uri=True)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute(sql)]
    connection.close()
    return rows


def tables_of(database):
    return {row["name"] for row in query(database, "SELECT name FROM sqlite_master")}


def devices(database, there):
    """Of each device: its operations, and for how many there is no call."""
    operations = " UNION ALL ".join(
        f"SELECT deviceId, coalesce({LAUNCHED}, 0) launched FROM {table}"
        for table in TABLES.values() if table in there)
    return query(database, f"""
        SELECT deviceId device_id, sum(NOT launched) launch_missing, count(*) operations
        FROM ({operations}) GROUP BY deviceId ORDER BY deviceId""") if operations else []


def totals(database):
    """What analysis.json says of the whole trace and of the devices, as far as SQL tells."""
    there = tables_of(database)
    lists = {"kernels": ("kernel", KERNELS), "memory_sets": ("set", MEMORY_SETS),
             "memory_transfers": ("transfer", MEMORY_TRANSFERS)}
    return {"capture_gpu_work": {key: query(database, sql) if TABLES[kind] in there else []
                                 for key, (kind, sql) in lists.items()},
            "gpu_devices": devices(database, there)}


def same_keys(analysis, wanted):
    """The part of an analysis that the totals have."""
    kept = [{key: device[key] for key in ("device_id", "launch_missing", "operations")}
            for device in analysis["gpu_devices"]]
    return {"capture_gpu_work": analysis["capture_gpu_work"], "gpu_devices": kept}


def root_names(export):
    """The names that one root range alone has, and all root ranges; the longest first."""
    threads = Threads(export.host_ranges)
    roots = [r for r in export.host_ranges if threads.parent(r) is None]
    counts = collections.Counter(normalized(r.name) for r in roots)
    roots.sort(key=lambda r: (r.start - r.end, r.id))
    return [name for name in (normalized(r.name) for r in roots) if counts[name] == 1], roots


def own_copy(database, run):
    """The trace of a run. Where threads have root ranges of one name, the first gets another."""
    copy = shutil.copyfile(database, run / "trace.sqlite")
    copy.chmod(0o600)
    export = Export(copy)
    names, roots = root_names(export)
    if names:
        return export, names
    connection = sqlite3.connect(copy)
    connection.execute("UPDATE NVTX_EVENTS SET text = 'capture', textId = NULL WHERE rowid = ?",
                       [roots[0].id])
    connection.commit()
    connection.close()
    return Export(copy), ["capture"]


def analyse(nvtxa, run, capture_range):
    """None where iterations of one number stand below that range, which is refused."""
    (run / "manifest.yaml").write_text(f"capture_range: {json.dumps(capture_range)}\n")
    done = subprocess.run([nvtxa, "analyze", "-q", "--engine", "native", "--no-export",
                           "--no-reports", "-o", "-", run], capture_output=True, text=True,
                          check=False)
    if "stands twice below the capture range" in done.stderr:
        return None
    if done.returncode != 0:
        sys.exit(f"FAIL with the capture range {capture_range!r}: {done.stderr}")
    return json.loads(done.stdout)


def compare(nvtxa, database, comparison):
    with tempfile.TemporaryDirectory(prefix="nvtxa-gpu-work-") as where:
        run = pathlib.Path(where)
        export, names = own_copy(database, run)
        wanted = totals(run / "trace.sqlite")
        for capture_range in names[:MOST_CAPTURE_RANGES]:
            analysis = analyse(nvtxa, run, capture_range)
            if analysis is None:
                print(f"note: two iterations of one number below {capture_range!r} are refused")
                continue
            comparison.compare(same_keys(analysis, wanted), wanted, f"{capture_range} in SQL: ")
            comparison.analysis(analysis, Model(export, capture_range).analysis())


def main():
    cases = given.directory("cases/real") / "cases"
    nvtxa = os.path.abspath(sys.argv[1])
    numbers = failed = exports = 0
    for name, database in captures(cases):
        comparison = Comparison()
        compare(nvtxa, database, comparison)
        exports += 1
        numbers += comparison.numbers
        failed += len(comparison.differences)
        for difference in comparison.differences[:10]:
            print(f"FAIL {name}: {difference[:600]}")
    print(f"gpu_work: {numbers} numbers of {exports} exports compared, {failed} differences")
    sys.exit(1 if failed or not numbers else 0)


main()
