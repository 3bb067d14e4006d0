#!/usr/bin/env python3
"""Run a conformance suite that stands outside this repository, where one is given.

usage: check.py NVTXA [DIRECTORY]      DIRECTORY, else $NVTXA_SHARED, holds conformance/check
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import given


def copied(suite, where):
    """The suite, whole. A run directory without any file gets lost where git carries a suite about,
    so one that is missing is made again: that case is about nothing being there."""
    copy = pathlib.Path(shutil.copytree(suite, where / "conformance"))
    for case in sorted((copy / "cases").iterdir()):
        if case.is_dir() and not (case / "run").exists():
            print(f"note: {case.name} came without its empty run directory")
            case.chmod(0o755)
            (case / "run").mkdir()
    return copy


def main():
    suite = given.directory("conformance/check") / "conformance"
    # Its stand-in for nsys asks env for a python3: let it find this one.
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
    with tempfile.TemporaryDirectory(prefix="nvtxa-conformance-") as where:
        done = subprocess.run([sys.executable, copied(suite, pathlib.Path(where)) / "check",
                               os.path.abspath(sys.argv[1])], env=dict(os.environ, PATH=path))
        for directory in pathlib.Path(where).rglob("*"):
            if directory.is_dir():
                directory.chmod(0o755)
    sys.exit(done.returncode)


main()
