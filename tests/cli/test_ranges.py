#!/usr/bin/env python3
"""`nvtxa ranges`: its command line, the table of root ranges, and what it says to do next."""
import pathlib
import shlex
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cli_case import CliCase  # noqa: E402
from generate_export import DOMAIN, PUSH_POP, START_END, TABLES  # noqa: E402
from support import main, run  # noqa: E402


def tid(thread, process=1):
    return 1 << 48 | 4000 + process << 24 | 4000 + thread


def push_pop(start, end, text, thread=1, **more):
    """A row of NVTX_EVENTS, times in microseconds; an end that is None was never reached."""
    return {"start": start * 1000, "end": end and end * 1000, "eventType": PUSH_POP, "text": text,
            "globalTid": tid(thread), "domainId": 0} | more


def iterations(start, indexes, **more):
    """Ranges `iteration N` of 8 us, one each 10 us."""
    return [push_pop(start + 10 * i, start + 10 * i + 8, f"iteration {index}", **more)
            for i, index in enumerate(indexes)]


def root(name, start, indexes, **more):
    """A root range with iterations directly below it, each of which holds a step."""
    inside = iterations(start + 1, indexes, **more)
    steps = [row | {"start": row["start"] + 1000, "end": row["end"] - 1000, "text": "step"}
             for row in inside]
    return [push_pop(start, start + 10 * len(inside) + 2, name, **more), *inside, *steps]


class RangesCase(CliCase):
    def export(self, *events, name="trace.sqlite"):
        """An SQLite export of these rows."""
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path)
        for table in ("StringIds", "META_DATA_EXPORT", "NVTX_EVENTS"):
            database.execute(f"CREATE TABLE {table} ({', '.join(TABLES[table])})")
        database.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.7.2')")
        for event in events:
            database.execute(f"INSERT INTO NVTX_EVENTS ({', '.join(event)}) VALUES "
                             f"({', '.join('?' * len(event))})", list(event.values()))
        database.commit()
        database.close()
        return path

    def ranges(self, *arguments, status=0, **more):
        done = self.nvtxa("ranges", *arguments, **more)
        self.assert_status(done, status)
        return done.stdout.decode()

    def command(self, *arguments):
        """The command at the end of what is printed, as a shell reads it."""
        last = self.ranges(*arguments).splitlines()[-1]
        return shlex.split(last[last.index("nvtxa init"):])


class CommandLine(RangesCase):
    def test_help(self):
        done = self.golden("ranges-help", "ranges", "--help")
        self.assertEqual(self.nvtxa("help", "ranges").stdout, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.decode().splitlines())), 92)

    def test_examples_in_help_run(self):
        self.standin_exports()
        self.export(*root("profile-target", 0, range(3)))
        self.write(self.top / "trace.nsys-rep", b"a trace")
        (self.top / "trace.nsys-rep.made").write_bytes((self.top / "trace.sqlite").read_bytes())
        text = self.nvtxa("ranges", "--help").stdout.decode()
        examples = text.partition("\nExamples:\n")[2].splitlines()
        self.assertEqual(len(examples), 2)
        for line in examples:
            done = run(["sh", "-c", line], cwd=self.top, env=self.environment())
            self.assert_status(done, 0)

    def test_wrong(self):
        self.golden("ranges-no-file", "ranges")
        self.golden("ranges-two-files", "ranges", "a.sqlite", "b.sqlite")
        self.golden("ranges-unknown-option", "ranges", "--limits", "3", "trace.sqlite")
        self.golden("ranges-limit-text", "ranges", "--limit", "few", "trace.sqlite")
        self.golden("ranges-limit-zero", "ranges", "--limit=0", "trace.sqlite")

    def test_bad_files(self):
        (self.top / "text.sqlite").write_text("not a database\n" * 99)
        self.golden("ranges-missing", "ranges", "missing.sqlite")
        self.golden("ranges-missing-trace", "ranges", "missing.nsys-rep")
        self.golden("ranges-text", "ranges", "text.sqlite")

    def test_no_ranges(self):
        """Ranges made with start and end are none of those that are looked for."""
        self.export(push_pop(0, 9, "profile-target", eventType=START_END))
        self.golden("ranges-none", "ranges", "trace.sqlite")


class Table(RangesCase):
    def test_one(self):
        self.export(*root("profile-target", 1000, range(50)), push_pop(0, 300, "warm up"),
                    push_pop(400, 500, "warm up"))
        self.golden("ranges", "ranges", "trace.sqlite")

    def test_quiet(self):
        self.export(*root("profile-target", 0, range(2)))
        self.golden("ranges-quiet", "ranges", "-q", "trace.sqlite")

    def test_roots_and_threads(self):
        """Two processes may have a thread of one number. Names are told apart by bytes; of equal
        totals the lower name comes first."""
        self.export(*root("profile-target", 0, range(4)), *root(":worker", 0, range(4), thread=2),
                    *root("worker", 100, range(4, 6), thread=2),
                    *root("worker", 0, (0, 9), thread=2, globalTid=tid(2, process=2)),
                    *root("mine", 0, (3, 1, 2), thread=3, domainId=1),
                    push_pop(0, 1, "mine", eventType=DOMAIN, domainId=1),
                    push_pop(500, 700, "b"), push_pop(800, 900, "a"), push_pop(1000, 1100, "a"),
                    push_pop(1200, 3200, "c"))
        self.golden("ranges-several", "ranges", "trace.sqlite")

    def test_indexes(self):
        """As the analysis takes them: digits alone, below 2^63, on any number of leading zeros."""
        names = ("iteration 00", "iteration 1", "iteration 9223372036854775807",
                 "iteration 9223372036854775808", "iteration ", "iteration 1 ", "iteration -1",
                 "iteration +1", "Iteration 2", "iteration 0x2", "iteration  2", "iteration")
        inside = [push_pop(10 * i + 1, 10 * i + 8, name) for i, name in enumerate(names)]
        self.export(push_pop(0, 900, "root"), *inside,
                    *root("gaps", 1000, (0, 1, 2, 5, 7, 9, 10, 12, 20), thread=2))
        self.golden("ranges-indexes", "ranges", "trace.sqlite")

    def test_limit(self):
        self.export(*(push_pop(10 * i, 10 * i + 5, f"step {i:02}") for i in range(25)))
        self.golden("ranges-limit", "ranges", "--limit", "3", "trace.sqlite")
        default, all_of_them = self.ranges("trace.sqlite"), self.ranges("--limit=all", "trace.sqlite")
        self.assertIn("  step 19 ", default)
        self.assertNotIn("  step 20 ", default)
        self.assertIn("\nand 5 more;", default)
        self.assertIn("  step 24 ", all_of_them)
        self.assertNotIn("more", all_of_them)

    def test_open(self):
        """No time is counted for what never ended, nor for what ended before it began."""
        self.export(*iterations(1, range(2)), push_pop(0, None, "profile-target"),
                    push_pop(0, 20, "half", thread=2), push_pop(30, None, "half", thread=2),
                    push_pop(50, 40, "backward", thread=3))
        self.golden("ranges-open", "ranges", "trace.sqlite")

    def test_narrow_terminal(self):
        self.export(*root("a rather long name of a range that is the capture range", 0, range(2)))
        status, shown = self.on_terminal("ranges", "--progress=never", "trace.sqlite",
                                         environment={"NO_COLOR": "1"})
        self.assertEqual(status, 0)
        table = shown.splitlines()[:2]
        self.assertLessEqual(max(map(len, table)), 80, table)
        self.assertIn("\u2026", table[1])
        self.assertIn("'a rather long name of a range that is the capture range'", shown)


class WhatToDo(RangesCase):
    def test_command(self):
        """Each word of the command is one for a shell, whatever is in it."""
        names = ("profile-target", "a b", "it's", "$HOME `id` \"x\" \\", "-x", "--help", "", "~", "*",
                 "caf\u00e9", "mine:own")
        for name in names:
            path = f"a dir's/{len(name)}.sqlite"
            self.export(*root(name, 0, range(3)), name=path)
            with self.subTest(name):
                self.assertEqual(self.command("--", path),
                                 ["nvtxa", "init", "RUN_DIR", "--trace", path, "--capture-range",
                                  name, "--iterations", "3"])

    def test_iterations_are_declared_only_from_zero_on(self):
        for indexes, declared in (((0, 1, 2), True), ((2, 0, 1), True), ((1, 2, 3), False),
                                  ((0, 1, 3), False), ((0,), True), ((1,), False)):
            self.export(*root("profile-target", 0, indexes))
            self.assertEqual("--iterations" in self.command("trace.sqlite"), declared, indexes)

    def test_what_is_said_can_be_analysed(self):
        """The name and the number of the command make a manifest that finds the iterations."""
        self.export(*root("odd: name #1", 0, range(3)), push_pop(100, 200, "other"),
                    name="run/trace.sqlite")
        command = self.command("run/trace.sqlite")
        name, count = command[command.index("--capture-range") + 1], command[-1]
        self.write(self.top / "run" / "manifest.yaml",
                   f"capture_range: {name!r}\nworkload: {{iterations: {count}}}\n")
        done = self.nvtxa("analyze", "--no-export", "run")
        self.assertIn(b"3 of 3 declared iterations", done.stdout)

    def test_unsafe_names(self):
        """What a terminal would act on is shown, not done; as YAML it is still the name."""
        self.export(*root("red\x1b[31m \"\\ \u202e", 0, range(2)), push_pop(500, 600, "\r\tother\n"),
                    name="run/trace.sqlite")
        self.golden("ranges-unsafe-names", "ranges", "run/trace.sqlite")
        line = self.ranges("run/trace.sqlite").splitlines()[-1]
        self.write(self.top / "run" / "manifest.yaml", line[line.index("capture_range:"):] + "\n")
        done = self.nvtxa("analyze", "--no-export", "run")
        self.assertIn(b"2 iterations (none declared)", done.stdout)
        self.assert_status(done, 0)

    def test_unsafe_file(self):
        self.export(*root("profile-target", 0, range(2)), name="new\nline.sqlite")
        self.assertIn(" --trace FILE --capture-range ", self.ranges("new\nline.sqlite"))

    def test_no_candidate(self):
        """Names that occur twice, or hold an iteration twice."""
        self.export(*root("epoch", 0, range(2)), *root("epoch", 100, range(2)),
                    *root("twice", 300, (0, 1, 1)), push_pop(400, 500, "warm up"))
        self.golden("ranges-repeated", "ranges", "trace.sqlite")

    def test_several_candidates(self):
        self.export(*(row for i in range(7) for row in root(f"target {i}", 100 * i, range(2))))
        self.golden("ranges-many-candidates", "ranges", "trace.sqlite")

    def test_no_iterations(self):
        self.export(push_pop(0, 9, "profile-target"))
        self.golden("ranges-no-iterations", "ranges", "trace.sqlite")

    def test_iterations_elsewhere(self):
        """At the root themselves, or too deep."""
        self.export(push_pop(0, 900, "main"), push_pop(1, 100, "epoch"), *iterations(2, range(5)),
                    push_pop(200, 300, "epoch"), *iterations(201, range(2)),
                    push_pop(400, 500, "red\x1b[31m"), *iterations(401, range(1)))
        self.golden("ranges-deeper", "ranges", "trace.sqlite")
        self.export(*iterations(0, range(3)), push_pop(100, 200, "warm up"))
        self.golden("ranges-outermost", "ranges", "trace.sqlite")
        self.export(*iterations(0, range(1)), push_pop(100, 900, "main"),
                    *(row for i in range(7) for row in (
                        push_pop(101 + 100 * i, 190 + 100 * i, f"epoch {i}"),
                        *iterations(102 + 100 * i, range(1)))))
        self.golden("ranges-many-elsewhere", "ranges", "trace.sqlite")

    def test_iterations_in_a_domain(self):
        """Their names are others, with the domain in front."""
        self.export({"start": 0, "eventType": DOMAIN, "text": "mine", "globalTid": tid(1),
                     "domainId": 1}, *root("profile-target", 0, range(3), domainId=1))
        self.golden("ranges-in-domain", "ranges", "trace.sqlite")


class Traces(RangesCase):
    """A trace is exported by nsys first, here by a stand-in, in a place that is tidied up."""

    def test_trace(self):
        self.standin_exports()
        (self.top / "tmp").mkdir()
        made = self.export(*root("profile-target", 0, range(3)), name="t/trace.nsys-rep.made")
        self.write(self.top / "t" / "trace.nsys-rep", b"a trace")
        shown = self.ranges("t/trace.nsys-rep", environment={"TMPDIR": str(self.top / "tmp")})
        self.assertEqual(list((self.top / "tmp").iterdir()), [])
        self.assertEqual(shown, self.ranges(made.relative_to(self.top)).replace(".made", ""))

    def test_damaged_export(self):
        self.standin_exports()
        self.write(self.top / "trace.nsys-rep.made", b"SQLite format 3\0" + b"x" * 9000)
        self.write(self.top / "trace.nsys-rep", b"a trace")
        self.ranges("trace.nsys-rep", status=1)


if __name__ == "__main__":
    main()
