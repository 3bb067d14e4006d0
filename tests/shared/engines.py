#!/usr/bin/env python3
"""Both engines over recorded captures that stand outside this repository, where they are given: the
SQLite export read natively, against the reports that nsys 2023.4 made of it. The analyses must be
equal but for provenance and what only one engine can know: which ranges were still open. GPU work is
left out: the recorded reports have rounded sizes, or none.

usage: engines.py NVTXA [DIRECTORY]      DIRECTORY, else $NVTXA_SHARED, holds cases/real and /files
"""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import given

VERSION = "2023.4.4"
REPORTS = ("nvtx_pushpop_trace", "nvtx_gpu_proj_trace")
# nsys's reports are wrong or missing there: names that its CSV cannot carry or that stop it,
# identical intervals, a range that ends before it starts, names that are blobs, a table without rows.
WRONG = {"names", "gpu-names", "mut-identical", "mut-end-before-start", "mut-blob-text",
         "mut-empty-table"}


def captures(top):
    for directory in sorted((top / "real").iterdir()) + sorted((top / "files").iterdir()):
        for database in sorted(directory.glob(f"{VERSION}/*.sqlite")):
            yield directory.name, database, database.parent, database.stem
        reports = directory / f"csv-by-{VERSION}"
        for database in sorted(directory.glob("*.sqlite")) if reports.is_dir() else []:
            yield directory.name, database, reports, database.stem


def root_names(database):
    """Every name of a push/pop range: each is tried as the capture range."""
    with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
        try:
            rows = connection.execute(
                "SELECT DISTINCT coalesce(s.value, e.text) FROM NVTX_EVENTS e LEFT JOIN StringIds s "
                "ON s.id = e.textId WHERE e.eventType = 59").fetchall()
        except sqlite3.OperationalError:
            return []
    return sorted(name for name, in rows if name)


def has_open(database):
    with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
        return connection.execute("SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (59, 60) "
                                  "AND end IS NULL").fetchone() > (0,)


def analyse(nvtxa, run, engine):
    out = run / f"{engine}.json"
    out.unlink(missing_ok=True)
    done = subprocess.run([nvtxa, "analyze", "-q", "--engine", engine, "--no-export", "--no-reports",
                           "--no-gpu-work", "-o", out, run], capture_output=True, text=True, errors="replace",
                          check=False)
    if done.returncode != 0:
        return done.stderr.split(": ", 2)[-1].split("\n")[0]
    analysis = json.loads(out.read_bytes())
    del analysis["provenance"]
    analysis["warnings"] = [w for w in analysis["warnings"] if not w.startswith((
        "Could not determine the Nsight", "Nothing says which trace", "trace.nsys-rep is absent"))]
    return analysis


def main():
    cases = given.directory("cases/real") / "cases"
    nvtxa = os.path.abspath(sys.argv[1])
    compared = failed = 0
    for name, database, reports, stem in captures(cases):
        files = [reports / f"{stem}_{report}.csv" for report in REPORTS]
        if name in WRONG or not all(f.exists() for f in files) or not files[0].stat().st_size or \
                has_open(database):
            continue
        with tempfile.TemporaryDirectory(prefix="nvtxa-engines-") as where:
            run = pathlib.Path(where)
            shutil.copyfile(database, run / "trace.sqlite")
            (run / "stats").mkdir()
            for file, report in zip(files, REPORTS):
                shutil.copyfile(file, run / "stats" / f"nsys_{report}.csv")
            for capture_range in root_names(database)[:40]:
                (run / "manifest.yaml").write_text(
                    f"capture_range: {json.dumps(capture_range)}\nworkload: {{iterations: 3}}\n")
                native, nsys = analyse(nvtxa, run, "native"), analyse(nvtxa, run, "nsys")
                compared += 1
                if native != nsys:
                    failed += 1
                    print(f"FAIL {name}/{stem}, capture range {capture_range!r}:\n"
                          f"  native {str(native)[:600]}\n  nsys   {str(nsys)[:600]}")
    print(f"engines: {compared - failed} equal, {failed} different")
    sys.exit(1 if failed or not compared else 0)


main()
