#!/usr/bin/env python3
"""Reports of kernels, copies and fills held against those that nsys 2023.4 made of recorded captures,
which stand outside this repository, where they are given.

usage: gpu_rows.py NVTXA [DIRECTORY]      DIRECTORY, else $NVTXA_SHARED, holds cases/files

nsys rounds sizes to thousandths of a megabyte unless it is told otherwise; ours are rounded here.
"""
import csv
import io
import os
import subprocess
import sys

import given

VERSION = "2023.4.4"
REPORTS = ("cuda_gpu_kern_sum", "cuda_gpu_trace")


def recorded(top):
    """Each database with a report of it that nsys could make."""
    for directory in sorted((top / "files").iterdir()):
        for database in sorted(directory.glob("*.sqlite")):
            for report in REPORTS:
                path = directory / f"csv-by-{VERSION}" / f"trace_{report}.csv"
                if path.exists() and path.stat().st_size > 0:
                    yield database, report, path


def rounded(row):
    return {column.replace("(B)", "(MB)"):
            f"{int(value) / 1e6:.3f}" if value and column.endswith("(B)") else value
            for column, value in row.items()}


def main():
    cases = given.directory("cases/files") / "cases"
    nvtxa = os.path.abspath(sys.argv[1])
    equal = failed = 0
    for database, report, path in recorded(cases):
        done = subprocess.run([nvtxa, "stats", "-q", "-r", report, database], capture_output=True,
                              check=False)
        ours = [rounded(row) for row in csv.DictReader(io.StringIO(done.stdout.decode(), newline=""))]
        with open(path, newline="", encoding="utf-8") as file:
            theirs = list(csv.DictReader(file))
        if done.returncode == 0 and ours == theirs:
            equal += len(ours)
            continue
        failed += 1
        print(f"FAIL {path}: {len(ours)} rows for {len(theirs)}, {done.stderr.decode()}")
        print(*(pair for pair in zip(ours, theirs) if pair[0] != pair[1]), sep="\n")
    print(f"rows of GPU work: {equal} equal, {failed} reports different")
    sys.exit(1 if failed or not equal else 0)


main()
