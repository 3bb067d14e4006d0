#!/usr/bin/env python3
"""Rows that `nvtxa stats` computes held against those of a real nsys, by a check that stands outside
this repository, where it is given.

usage: rows.py NVTXA [DIRECTORY]      DIRECTORY, else $NVTXA_SHARED, holds cases/rows

The check reads CSV as RFC 4180 has it, and nsys 2023.4 does not write it so: it leaves quotes inside
of a quoted name as they are. Such rows are read as other names than nsys meant, so the check gets a
copy of the recorded reports in which those quotes are doubled.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import given

HOST_ROW = re.compile(r'(-?\d+(?:,-?\d+){4},)"(.*)"(,\d+,\d+,\d+,\d+,\d+,\d*,[:\d]*,)"(.*)"')


def doubled(line):
    row = HOST_ROW.fullmatch(line)
    if row is None:
        return line
    name, tree = (text.replace('""', '"').replace('"', '""') for text in row.group(2, 4))
    return f'{row.group(1)}"{name}"{row.group(3)}"{tree}"'


def copied(cases, where):
    copy = pathlib.Path(shutil.copytree(cases, where / "cases"))
    for path in (copy, *copy.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    for report in copy.glob("real/*/2023.4.4/*_nvtx_pushpop_trace.csv"):
        if report.parent.parent.name in ("names", "gpu-names"):
            continue  # names with line breaks; the check leaves them out
        text = report.read_text(encoding="utf-8")
        mended = "\n".join(doubled(line) for line in text.split("\n"))
        if mended != text:
            print(f"note: quotes doubled in {report.relative_to(copy)}")
            report.write_text(mended, encoding="utf-8")
    return copy


def main():
    cases = given.directory("cases/rows") / "cases"
    with tempfile.TemporaryDirectory(prefix="nvtxa-rows-") as where:
        done = subprocess.run([sys.executable, copied(cases, pathlib.Path(where)) / "rows",
                               os.path.abspath(sys.argv[1])], check=False)
    sys.exit(done.returncode)


main()
