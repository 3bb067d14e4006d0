"""The same figures, counted another way: from a capture's SQLite export, with a stack per thread.

Shares no code with the library, and takes no column of nsys's reports: only the push/pop events.
"""
import re
import sqlite3
import statistics

PUSH_POP = 59
ITERATION = re.compile(r"iteration ([0-9]+)")


class Event:
    def __init__(self, row):
        self.start, self.end, self.name, self.thread, self.id = row
        self.parent = None
        self.child_total = 0

    @property
    def duration(self):
        return self.end - self.start

    @property
    def exclusive(self):
        return self.duration - self.child_total


def has_ranges(sqlite_file):
    """Whether an export holds any push/pop range."""
    with sqlite3.connect(f"file:{sqlite_file}?mode=ro", uri=True) as database:
        tables = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'NVTX_EVENTS'")
        if tables.fetchone() == (0,):
            return False
        rows = database.execute("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = ?", (PUSH_POP,))
        return rows.fetchone() > (0,)


def read(sqlite_file):
    """All closed push/pop ranges, each with its parent."""
    with sqlite3.connect(f"file:{sqlite_file}?mode=ro", uri=True) as database:
        rows = database.execute(
            "SELECT e.start, e.end, coalesce(s.value, e.text, ''), e.globalTid, e.rowid"
            " FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId"
            " WHERE e.eventType = ? ORDER BY e.globalTid, e.start, e.end DESC, e.rowid",
            (PUSH_POP,)).fetchall()
    stack, events = [], [Event(row) for row in rows]
    for event in events:
        while stack and not (stack[-1].thread == event.thread and event.end <= stack[-1].end
                             and event.start < stack[-1].end):
            stack.pop()
        if stack:
            event.parent = stack[-1]
            event.parent.child_total += event.duration
        stack.append(event)
    return events


def _ancestors(event):
    while event is not None:
        yield event
        event = event.parent


def _place(event, capture, iterations):
    """The context and the path of a range."""
    names = []
    for item in _ancestors(event):
        if item is capture and event is not capture:
            return "between", tuple(reversed(names))
        if item in iterations:
            return "iteration", tuple(reversed(names))
        names.append(item.name)
    return ("capture" if event is capture else "outside"), tuple(reversed(names))


def summary(values):
    return {"total_ns": sum(values), "minimum_ns": min(values), "maximum_ns": max(values),
            "mean_ns": statistics.fmean(values), "median_ns": statistics.median(values),
            "stddev_ns": statistics.stdev(values) if len(values) > 1 else 0.0}


def count(sqlite_file, capture_name):
    """The host groups by (context, path), and the iterations by index."""
    events = read(sqlite_file)
    (capture,) = [e for e in events if e.parent is None and e.name == capture_name]
    iterations = {e: int(ITERATION.fullmatch(e.name).group(1)) for e in events
                  if e.parent is capture and ITERATION.fullmatch(e.name)}
    groups = {}
    for event in events:
        if event not in iterations:
            groups.setdefault(_place(event, capture, iterations), []).append(event)
    return (
        {key: {"instances": len(members),
               "inclusive": summary([m.duration for m in members]),
               "exclusive": summary([m.exclusive for m in members]),
               "child_total_ns": sum(m.child_total for m in members)}
         for key, members in groups.items()},
        {index: {"inclusive_ns": e.duration, "exclusive_ns": e.exclusive,
                 "child_total_ns": e.child_total} for e, index in iterations.items()})
