"""Ranges in Python, and the CSV reports that a given nsys would write of them.

The generator of the sample run and the recorded cases of faults describe a trace as a tree of Range
objects; host_rows(), gpu_rows(), kernel_rows() and operation_rows() compute the reports' columns
from it as nsys does, so that a case states what happened and not what nsys made of it. A case that
is about damage changes the rows, or the text, before it writes them.
"""
import statistics
from dataclasses import dataclass, field

HOST_COLUMNS = ("Start (ns)", "End (ns)", "Duration (ns)", "DurChild (ns)", "DurNonChild (ns)",
                "Name", "PID", "TID", "Lvl", "NumChild", "RangeId", "ParentId", "RangeStack",
                "NameTree")
GPU_COLUMNS = ("Name", "Projected Start (ns)", "Projected Duration (ns)", "Orig Start (ns)",
               "Orig Duration (ns)", "Style", "PID", "TID", "NumGPUOps", "Lvl", "NumChild",
               "RangeId", "ParentId", "RangeStack")
# Those that all versions have; sizes are asked for in bytes.
KERNEL_COLUMNS = ("Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)",
                  "Max (ns)", "StdDev (ns)", "Name")
OPERATION_COLUMNS = ("Start (ns)", "Duration (ns)", "CorrId", "GrdX", "GrdY", "GrdZ", "BlkX",
                     "BlkY", "BlkZ", "Reg/Trd", "StcSMem (B)", "DymSMem (B)", "Bytes (B)",
                     "SrcMemKd", "DstMemKd", "Device", "Ctx", "Strm", "Name")
KERNEL = "void work<float, (int)4>(T1 *)"  # each operation is one


@dataclass(frozen=True)
class Dialect:
    """How one family of nsys versions writes reports."""
    host_report: str
    gpu_report: str
    kernel_report: str
    operation_report: str
    nothing: str      # what an absent value is written as
    prefix: str       # what stands before a name of the default domain
    rfc4180: bool     # whether quotes are doubled and line breaks quoted


NEW_NAMES = ("nvtx_pushpop_trace", "nvtx_gpu_proj_trace", "cuda_gpu_kern_sum", "cuda_gpu_trace")
DIALECTS = {
    "2022.4": Dialect("nvtxpptrace", "nvtxgpuproj", "gpukernsum", "gputrace", "None", "", False),
    "2023.2": Dialect(*NEW_NAMES, "None", "", False),
    "2023.4": Dialect(*NEW_NAMES, "", "", False),
    "2025.1": Dialect(*NEW_NAMES, "", ":", True),
}


@dataclass
class Range:
    """One range instance: host times in nanoseconds, and what it launched on the GPU."""
    name: str
    start: int
    end: int
    children: list = field(default_factory=list)
    operations: list = field(default_factory=list)  # (start, end) of what it launched itself
    pid: int = 4242
    tid: int = 4242
    style: str = "PushPop"
    domain: str = None  # None: the default domain
    id: int = 0

    def every(self):
        """This range and all below it."""
        yield self
        for child in self.children:
            yield from child.every()

    def every_operation(self):
        """The GPU operations launched from inside it, its descendants' included."""
        return [op for part in self.every() for op in part.operations]

    @property
    def duration(self):
        return self.end - self.start


def number(roots):
    """Give each range its id as nsys does: in the order of their starts, the outer one first."""
    ranges = [item for root in roots for item in root.every()]
    for position, item in enumerate(sorted(ranges, key=lambda r: (r.start, -r.end)), 1):
        item.id = position


def _walk(roots, above=()):
    for item in roots:
        yield item, above
        yield from _walk(item.children, (*above, item))


def _shown(item, dialect):
    return (dialect.prefix if item.domain is None else item.domain + ":") + item.name


def _stack(item, above):
    return "".join(f":{part.id}" for part in (*above, item))


def host_rows(roots, version="2025.1"):
    """The rows of nvtx_pushpop_trace, as dictionaries by column, sorted as nsys sorts them."""
    dialect = DIALECTS[version]
    number(roots)
    rows = []
    for item, above in _walk(roots):
        child_total = sum(child.duration for child in item.children)
        name = _shown(item, dialect)
        rows.append(dict(zip(HOST_COLUMNS, (
            item.start, item.end, item.duration, child_total, item.duration - child_total, name,
            item.pid, item.tid, len(above), len(item.children), item.id,
            above[-1].id if above else dialect.nothing, _stack(item, above),
            "--" * len(above) + name))))
    return sorted(rows, key=lambda row: (row["Start (ns)"], row["RangeId"]))


def gpu_rows(roots, version="2025.1"):
    """The rows of nvtx_gpu_proj_trace: only ranges with GPU operations inside have one."""
    dialect = DIALECTS[version]
    number(roots)
    rows = []
    for item, above in _walk(roots):
        operations = item.every_operation()
        if not operations:
            continue
        first = min(start for start, _ in operations)
        rows.append(dict(zip(GPU_COLUMNS, (
            _shown(item, dialect), first, max(end for _, end in operations) - first, item.start,
            item.duration, item.style, item.pid, item.tid, len(operations), len(above),
            sum(1 for child in item.children if child.every_operation()), item.id,
            above[-1].id if above else dialect.nothing, _stack(item, above)))))
    return sorted(rows, key=lambda row: (row["Projected Start (ns)"], row["RangeId"]))


def unattributed_row(operations, start, duration, version="2025.1", pid=4242, tid=4299):
    """The row that nsys 2023.2 and later write for GPU work outside every range."""
    row = dict.fromkeys(GPU_COLUMNS, DIALECTS[version].nothing)
    row.update({"Projected Start (ns)": start, "Projected Duration (ns)": duration, "PID": pid,
                "TID": tid, "NumGPUOps": operations, "NumChild": 0})
    return row


def _operations(roots):
    return sorted(op for root in roots for op in root.every_operation())


def kernel_rows(roots):
    """The rows of cuda_gpu_kern_sum: one, where there is GPU work."""
    times = [end - start for start, end in _operations(roots)]
    if not times:
        return []
    deviation = statistics.stdev(times) if len(times) > 1 else 0
    return [dict(zip(KERNEL_COLUMNS, (
        100.0, sum(times), len(times), round(statistics.mean(times), 1),
        float(statistics.median(times)), min(times), max(times), round(deviation, 1), KERNEL)))]


def operation_rows(roots, version="2025.1"):
    """The rows of cuda_gpu_trace: each operation, sorted by its start."""
    nothing = DIALECTS[version].nothing
    return [dict(zip(OPERATION_COLUMNS, (
        start, end - start, number, 1, 1, 1, 32, 1, 1, 16, 0, 0, nothing, nothing, nothing,
        "A GPU (0)", 1, 7, KERNEL))) for number, (start, end) in enumerate(_operations(roots), 1)]


def _field(value, rfc4180):
    text = str(value)
    if rfc4180 and any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return f'"{text}"' if "," in text else text


def to_csv(rows, columns, version="2025.1"):
    """The report's text. A report of no rows is a header alone."""
    rfc4180 = DIALECTS[version].rfc4180
    lines = [",".join(columns)]
    lines += [",".join(_field(row[column], rfc4180) for column in columns) for row in rows]
    return "\n".join(lines) + "\n"


def reports(roots, version="2025.1"):
    """Both reports of ranges, host and GPU, as text."""
    return (to_csv(host_rows(roots, version), HOST_COLUMNS, version),
            to_csv(gpu_rows(roots, version), GPU_COLUMNS, version))


def work_reports(roots, version="2025.1"):
    """Both reports of GPU work, kernels in sum and each operation, as text."""
    return (to_csv(kernel_rows(roots), KERNEL_COLUMNS, version),
            to_csv(operation_rows(roots, version), OPERATION_COLUMNS, version))
