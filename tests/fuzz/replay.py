#!/usr/bin/env python3
"""Make small inputs of several shapes and run a fuzz target over them and their mutations.

usage: replay.py sqlite|csv PROGRAM MUTATIONS
"""
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SOURCE  # noqa: E402 (support also makes testdata/ importable)
from nsys_reports import (DIALECTS, GPU_COLUMNS, Range, gpu_rows, reports, to_csv,  # noqa: E402
                          unattributed_row)

# ---- SQLite exports ----

SHAPES = {
    "plain": ("--ranges", "20", "--operations", "10"),
    "mixed": ("--mixed", "--ranges", "60", "--operations", "40", "--threads", "2"),
    "deep": ("--mixed", "--depth", "12", "--ranges", "60", "--operations", "20"),
}
CHANGES = {
    "open": "UPDATE NVTX_EVENTS SET end = NULL WHERE rowid % 3 = 0",
    "blobs": "UPDATE NVTX_EVENTS SET text = CAST(text AS BLOB), start = start + 0.0",
    "old": "ALTER TABLE META_DATA_EXPORT RENAME TO EXPORT_META_DATA; DROP TABLE StringIds",
    "nothing": "DELETE FROM NVTX_EVENTS",
}


def sqlite_seeds(directory):
    for name, options in SHAPES.items():
        path = directory / f"{name}.sqlite"
        subprocess.run([sys.executable, SOURCE / "testdata" / "generate_export.py", *options, path],
                       check=True)
        yield path
    for name, change in CHANGES.items():
        path = directory / f"{name}.sqlite"
        path.write_bytes((directory / "mixed.sqlite").read_bytes())
        database = sqlite3.connect(path, isolation_level=None)
        database.executescript(f"PRAGMA page_size = 512; {change}; VACUUM")
        database.close()
        yield path


# ---- CSV reports ----

# One has a line that is a record by itself, for whoever begins to read there.
NAMES = ("plain", "a,b", 'say "hi"', "line\nbreak", '"', "cr\r\nlf", ",,\n", "", "\n", 'both, "of"',
         "a\n5,9,4,0,4,in,1,1,0,0,99,,:99,in\nin,5,4,5,4,PushPop,1,1,1,0,0,99,,:99\nb")


def trace():
    children = [Range(name, 1000 + 100 * k, 1090 + 100 * k, tid=7,
                      operations=[(1020 + 100 * k, 1050 + 100 * k)])
                for k, name in enumerate(NAMES * 3)]
    return [Range("root", 900, 9000, children, tid=7)]


KERNEL_COLUMNS = ("Time (%)", "Total Time (ns)", "Instances", "Name")
WORK_COLUMNS = ("Duration (ns)", "GrdX", "Bytes (B)", "SrcMemKd", "DstMemKd", "Device", "Name")


def work_texts(version):
    nothing = DIALECTS[version].nothing
    names = [name for name in NAMES if "\n" not in name]
    kernels = [(50.0, 100 + k, k, name) for k, name in enumerate(names * 2)]
    operations = [(5 + k, 8, nothing, nothing, nothing, "GPU (0)", name)
                  for k, name in enumerate(names)]
    operations += [(7, nothing, 64, "Pinned", "Device", "GPU (0)", "[CUDA memcpy HtoD]"),
                   (3, nothing, 16, "Device", nothing, "GPU (0)", "[CUDA memset]"),
                   (3, nothing, 2 ** 62, nothing, nothing, "GPU (0)", "[CUDA memset]")] * 2
    for name, columns, rows in (("kernels", KERNEL_COLUMNS, kernels),
                                ("work", WORK_COLUMNS, operations)):
        yield name, to_csv([dict(zip(columns, row)) for row in rows], columns, version)


def csv_texts():
    for version in DIALECTS:
        host, gpu = reports(trace(), version)
        yield f"host-{version}", host
        yield f"gpu-{version}", gpu
        for name, text in work_texts(version):
            yield f"{name}-{version}", text
    yield "host-crlf", "\ufeff" + host.replace("\n", "\r\n") + "\r\n\r\n"
    yield "gpu-cut", gpu[:-1]
    # The sum is too large half way.
    outside = [unattributed_row(2 ** 62, 5, 9) for _ in range(3)]
    yield "gpu-outside", to_csv([*outside, *gpu_rows(trace())], GPU_COLUMNS)


def csv_seeds(directory):
    for name, text in csv_texts():
        path = directory / f"{name}.csv"
        path.write_bytes(text.encode())
        yield path


def main():
    seeds = {"sqlite": sqlite_seeds, "csv": csv_seeds}[sys.argv[1]]
    with tempfile.TemporaryDirectory(prefix="nvtxa-fuzz-") as directory:
        files = list(seeds(pathlib.Path(directory)))
        done = subprocess.run([*sys.argv[2:], *files], timeout=600, check=False)
    sys.exit(done.returncode)


main()
