#!/usr/bin/env python3
"""The generator of the sample run still gives exactly the committed files."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SAMPLE, SOURCE, run, scratch  # noqa: E402


def files(top):
    return {str(p.relative_to(top)): p.read_bytes() for p in sorted(top.rglob("*")) if p.is_file()}


def main():
    with scratch() as made:
        done = run([sys.executable, "-B", SOURCE / "testdata" / "generate_sample_run.py", made])
        if done.returncode != 0:
            sys.exit(done.stderr)
        committed, generated = files(SAMPLE), files(made)
    differ = sorted(name for name in committed.keys() | generated.keys()
                    if committed.get(name) != generated.get(name))
    print("\n".join(differ) or f"{len(generated)} files are the same")
    sys.exit(bool(differ))


main()
