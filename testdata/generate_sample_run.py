#!/usr/bin/env python3
"""Make the embedded sample run: generate_sample_run.py [DIRECTORY]

The run is that of an imaginary image model: four measured iterations, each with preprocessing,
inference and postprocessing, a checkpoint between two of them, and a loader on another thread. It is
computed, not recorded: no nsys, GPU or random number has a part in it, and the files are the same on
every machine (a test says so). The reports are written as nsys 2025.1 writes them.

Without DIRECTORY, the files beside this script are written: sample-run/.
"""
import hashlib
import json
import pathlib
import sys

from nsys_reports import Range, reports

MAIN, LOADER = 31337, 31360  # thread ids; the process has the id of its main thread
BEGIN = 812_000_000          # the capture range's start, in ns since the trace's
ITERATIONS = 4
PERIOD = 9_000_000           # from one iteration's start to the next one's

MANIFEST = """\
# What the profiling harness says about the run. See docs/artifacts.md.
profile_name: sample-detector
run_id: sample-2025.1
device: cuda:0
git_commit: 0192117
capture_range: profile-target
record_ids: [cat-0, cat-1, street-7]
workload:
  iterations: 4
  warmup: 2
  batch_size: 8
cuda:
  synchronize_each_iteration: false
"""


class Thread:
    """Ranges on one thread, one after the other: each begins a gap after the last one ended."""

    def __init__(self, tid):
        self.tid = tid

    def leaf(self, name, start, duration, operations=()):
        return Range(name, start, start + duration, operations=list(operations), pid=MAIN,
                     tid=self.tid)

    def parent(self, name, children, lead, tail):
        return Range(name, children[0].start - lead, children[-1].end + tail, children, pid=MAIN,
                     tid=self.tid)


def kernels(launched, durations, delay=210_000, gap=3_400):
    """GPU operations in a row, the first one a delay after its launch."""
    start, result = launched + delay, []
    for duration in durations:
        result.append((start, start + duration))
        start += duration + gap
    return result


def wobble(index, step, span):
    """A small number that differs from iteration to iteration: 0 .. span - 1."""
    return (index * step + step // 3) % span


def iteration(thread, index):
    """One measured iteration. The first one is slower: caches are cold."""
    cold = 900_000 if index == 0 else 0
    start = BEGIN + 160_000 + index * PERIOD
    resized = 612_000 + wobble(index, 7_919, 90_000) + cold // 3
    resize = thread.leaf("resize", start + 41_000, resized)
    normalize = thread.leaf("normalize", resize.end + 6_200, 188_000 + wobble(index, 3_571, 31_000))
    copied = normalize.end + 19_000
    upload = thread.leaf("upload", copied, 94_000 + wobble(index, 1_009, 9_000),
                         kernels(copied, [61_440 + wobble(index, 331, 2_048)], delay=38_000))
    before = thread.parent("preprocessing", [resize, normalize, upload], 11_000, 8_500)

    launched = before.end + 14_000
    layers = [182_304 + wobble(index * 31 + layer, 877, 24_000) for layer in range(12)]
    infer = thread.leaf("infer", launched, 2_304_000 + wobble(index, 23_459, 210_000) + cold,
                        kernels(launched, layers))

    scaled = infer.end + 17_500
    upscale = thread.leaf("resize", scaled, 141_000 + wobble(index, 5_003, 22_000),
                          kernels(scaled, [44_128, 39_776 + wobble(index, 613, 4_000)], 120_000))
    suppress = thread.leaf("nms", upscale.end + 4_300, 1_016_000 + wobble(index, 40_961, 330_000))
    after = thread.parent("postprocessing", [upscale, suppress], 7_700, 12_100)
    return thread.parent(f"iteration {index}", [before, infer, after], 21_000, 30_000)


def checkpoint(thread, after):
    """Work between two iterations: below the capture range, in no iteration."""
    start = after.end + 55_000
    return thread.leaf("checkpoint", start, 740_000, kernels(start, [512_000], delay=66_000))


def loader(thread, index):
    """A batch made ready on another thread while the main one works: outside the capture range."""
    start = BEGIN - 2_000_000 + index * PERIOD
    decode = [thread.leaf("decode", start + 30_000 + k * 610_000,
                          560_000 + wobble(k + 3 * index, 7_001, 40_000)) for k in range(3)]
    pinned = thread.leaf('copy, "pinned"', decode[-1].end + 9_000, 210_000,
                         kernels(decode[-1].end + 9_000, [158_720], delay=44_000))
    return thread.parent("load batch", [*decode, pinned], 30_000, 15_000)


def trace():
    """The whole trace: its root ranges."""
    main, worker = Thread(MAIN), Thread(LOADER)
    steps = [iteration(main, index) for index in range(ITERATIONS)]
    steps.insert(2, checkpoint(main, steps[1]))
    return [main.parent("profile-target", steps, 139_000, 88_000),
            *(loader(worker, index) for index in range(ITERATIONS))]


def export_description(host, gpu):
    """export.json, as honest as its form allows: no nsys made these reports, so a script stands in
    its place, and there never was a trace, so the digest is that of no bytes at all."""
    return {
        "nsys_path": "testdata/generate_sample_run.py",
        "nsys_version": "generate_sample_run.py, after NVIDIA Nsight Systems version 2025.1.3",
        "reports": {
            "nvtx_gpu_proj_trace": {"file": "nsys_nvtx_gpu_proj_trace.csv", "size_bytes": len(gpu)},
            "nvtx_pushpop_trace": {"file": "nsys_nvtx_pushpop_trace.csv", "size_bytes": len(host)},
        },
        "schema_version": 1,
        "trace": {"modified_ns": 0, "path": "trace.nsys-rep", "sha256": hashlib.sha256().hexdigest(),
                  "size_bytes": 0},
    }


def main():
    top = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else \
        pathlib.Path(__file__).resolve().parent / "sample-run"
    host, gpu = (text.encode() for text in reports(trace()))
    stats = top / "stats"
    stats.mkdir(parents=True, exist_ok=True)
    (top / "manifest.yaml").write_text(MANIFEST)
    (stats / "nsys_nvtx_pushpop_trace.csv").write_bytes(host)
    (stats / "nsys_nvtx_gpu_proj_trace.csv").write_bytes(gpu)
    described = json.dumps(export_description(host, gpu), indent=2, sort_keys=True)
    (stats / "export.json").write_text(described + "\n")


if __name__ == "__main__":
    main()
