#!/usr/bin/env python3
"""Make small exports of several shapes and run a fuzz target over them and their mutations.

usage: replay.py PROGRAM MUTATIONS
"""
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SOURCE  # noqa: E402

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


def seeds(directory):
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


def main():
    with tempfile.TemporaryDirectory(prefix="nvtxa-fuzz-") as directory:
        files = list(seeds(pathlib.Path(directory)))
        done = subprocess.run([sys.argv[1], sys.argv[2], *files], timeout=600, check=False)
    sys.exit(done.returncode)


main()
