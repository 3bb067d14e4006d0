"""Where the shared cases stand, if they were given."""
import os
import pathlib
import sys


def directory(needed):
    """The second argument, else $NVTXA_SHARED; `needed` must be in it. Skips aloud without."""
    given = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] else os.environ.get("NVTXA_SHARED")
    if not given:
        print("SKIPPED: no shared cases were given (meson option `shared`, or NVTXA_SHARED)",
              file=sys.stderr)
        sys.exit(77)
    path = pathlib.Path(given).resolve()
    if not (path / needed).exists():
        sys.exit(f"there is no {path / needed}")
    return path
