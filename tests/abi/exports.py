#!/usr/bin/env python3
"""The shared library exports what the headers declare, and nothing else.

usage: exports.py LIBRARY INCLUDE_DIR
"""
import pathlib
import re
import subprocess
import sys


def exported(library):
    """The functions and objects that a program can link against, by `nm -D`."""
    text = subprocess.run(["nm", "-D", "--defined-only", "--extern-only", library], check=True,
                          capture_output=True, text=True).stdout
    names = set()
    for line in text.splitlines():
        _, kind, name = line.split()
        if kind != "A":  # not the version's own name, an absolute symbol
            names.add(name.split("@")[0])
    return names


def declared(include_dir):
    """The names after NVTXA_API in the public headers."""
    names = set()
    for header in sorted(pathlib.Path(include_dir, "nvtxa").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.DOTALL)
        text = re.sub(r"^\s*#.*$", " ", text, flags=re.MULTILINE)
        for declaration in re.findall(r"\bNVTXA_API\b([^;]*);", text):
            names.add(re.search(r"(\w+)\s*\(", declaration).group(1))
    return names


def main():
    library, include_dir = sys.argv[1:]
    have, want = exported(library), declared(include_dir)
    for name in sorted(want - have):
        print(f"declared but not exported: {name}")
    for name in sorted(have - want):
        print(f"exported but not declared: {name}")
    print(f"{len(want)} declared, {len(have)} exported")
    sys.exit(not want or want != have)


main()
