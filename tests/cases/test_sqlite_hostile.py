#!/usr/bin/env python3
"""SQLite files that are damaged, being written, or made to do harm: one clear error or the right
answer, and nothing beside them is touched."""
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import NVTXA, SOURCE, Case, main, run  # noqa: E402


# Another process, since a lock is lost when its own process opens and closes the file elsewhere.
WRITER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN EXCLUSIVE")
database.execute("DELETE FROM NVTX_EVENTS WHERE rowid = 5")
print("writing", flush=True)
sys.stdin.readline()
database.execute("ROLLBACK")
"""


class HostileCase(Case):
    def setUp(self):
        super().setUp()
        self.path = self.top / "in" / "trace.sqlite"
        self.path.parent.mkdir()
        done = run([sys.executable, SOURCE / "testdata" / "generate_export.py", "--mixed",
                    "--ranges", "300", "--operations", "200", self.path])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.good = self.path.read_bytes()
        self.right = self.stats()
        self.assertEqual(self.right.returncode, 0, self.right.stderr)

    def stats(self, path=None, **options):
        """Run, and see that the directory is as it was."""
        before = self.listing()
        done = run([NVTXA, "stats", path or self.path], timeout=60, **options)
        self.assertEqual(self.listing(), before)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done

    def listing(self):
        return {p.name: p.read_bytes() for p in self.path.parent.iterdir() if p.is_file()}

    def sql(self, script):
        database = sqlite3.connect(self.path)
        database.executescript(script)
        database.commit()
        database.close()

    def assert_error(self, *texts, path=None, **options):
        done = self.stats(path, **options)
        self.assertEqual(done.returncode, 1, done.stdout[:200])
        errors = [line for line in done.stderr.splitlines() if line.startswith("nvtxa: ") and
                  "warning" not in line]
        self.assertEqual(len(errors), 1, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def assert_right(self):
        done = self.stats()
        self.assertEqual((done.returncode, done.stdout), (0, self.right.stdout), done.stderr)


class NoDatabase(HostileCase):
    def test_other_files(self):
        for content in (b"", b"SQLite format 3\0", b"SQLite format 3\0" + b"\0" * 84,
                        b"text\n" * 1000, bytes(range(256)) * 64):
            self.path.write_bytes(content)
            self.assert_error("trace.sqlite")

    def test_directory(self):
        self.assert_error("not a regular file", path=self.path.parent)

    def test_fifo(self):
        """Nobody writes to it: waiting would be for ever."""
        fifo = self.top / "fifo.sqlite"
        os.mkfifo(fifo)
        self.assert_error("not a regular file", path=fifo)

    def test_name_like_a_uri(self):
        name = "file:trace.sqlite?mode=memory"
        shutil.copyfile(self.path, self.top / name)
        done = run([NVTXA, "stats", name], cwd=self.top)
        self.assertEqual((done.returncode, done.stdout), (0, self.right.stdout), done.stderr)

    def test_truncated(self):
        for part in range(1, 20):
            self.path.write_bytes(self.good[:len(self.good) * part // 20])
            self.assert_error("trace.sqlite")

    def test_flipped(self):
        """An error or a report, never a crash, nor anything endless."""
        r = random.Random(5)
        for _ in range(120):
            content = bytearray(self.good)
            for _ in range(r.choice((1, 3, 40))):
                content[r.randrange(r.choice((200, 4096, len(content))))] = r.randrange(256)
            self.path.write_bytes(content)
            self.stats()

    def test_random_pages(self):
        r = random.Random(6)
        for _ in range(30):
            content = bytearray(self.good)
            at = 4096 * r.randrange(1, len(content) // 4096)
            content[at:at + 4096] = r.randbytes(4096)
            self.path.write_bytes(content)
            self.stats()


class BeingWritten(HostileCase):
    def test_locked(self):
        with subprocess.Popen([sys.executable, "-c", WRITER, self.path], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as writer:
            self.assertEqual(writer.stdout.readline(), b"writing\n")
            done = run([NVTXA, "stats", self.path])
            self.assertEqual(done.returncode, 1)
            self.assertIn("locked: it is being written", done.stderr)
            writer.communicate(b"stop\n")
        self.assert_right()

    def test_wal(self):
        """Reading it would write beside it."""
        self.sql("PRAGMA journal_mode = WAL")
        self.assert_error("WAL mode")

    def test_journal_left_behind(self):
        """Whoever wrote it died half way: what it was before is in the journal, which is not ours to
        play back."""
        database = sqlite3.connect(self.path, isolation_level=None)
        database.execute("PRAGMA cache_size = 5")
        database.execute("PRAGMA cache_spill = 1")
        database.execute("BEGIN")
        database.execute("UPDATE NVTX_EVENTS SET start = start + 1, text = text || 'x'")
        journal = self.path.with_name("trace.sqlite-journal")
        torn = self.path.read_bytes(), journal.read_bytes()
        database.execute("ROLLBACK")
        database.close()
        self.assertNotEqual(torn[0], self.good, "half of it has been written")
        self.path.write_bytes(torn[0])
        journal.write_bytes(torn[1])
        self.assert_error("journal")

    def test_read_only_directory(self):
        self.path.chmod(0o444)
        self.path.parent.chmod(0o555)
        self.addCleanup(self.path.parent.chmod, 0o755)
        self.assert_right()


class Executed(HostileCase):
    def replace_table(self, definition):
        self.sql(f"ALTER TABLE NVTX_EVENTS RENAME TO hidden; {definition}")

    def test_view(self):
        self.replace_table("CREATE VIEW NVTX_EVENTS AS SELECT * FROM hidden")
        self.assert_error("NVTX_EVENTS", "view")

    def test_endless_view(self):
        self.replace_table("""
            CREATE VIEW nvtx_events AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
            SELECT i AS start, i AS end, 59 AS eventType, 1 AS globalTid, 'x' AS text FROM n""")
        self.assert_error("view")

    def test_virtual_table(self):
        try:
            self.replace_table("CREATE VIRTUAL TABLE NVTX_EVENTS USING rtree(id, start, end)")
        except sqlite3.OperationalError as error:
            self.skipTest(str(error))
        self.assert_error("NVTX_EVENTS", "virtual table")

    def test_computed_column(self):
        self.replace_table("""
            CREATE TABLE NVTX_EVENTS (start INTEGER, length INTEGER, eventType INTEGER, text TEXT,
              globalTid INTEGER, end INTEGER GENERATED ALWAYS AS (start + length) VIRTUAL)""")
        self.assert_error("NVTX_EVENTS", "computed columns")

    def test_triggers_and_indexes(self):
        """Neither changes what is read, nor its order."""
        self.sql("""
            CREATE TRIGGER harm AFTER INSERT ON NVTX_EVENTS BEGIN DELETE FROM NVTX_EVENTS; END;
            CREATE INDEX backwards ON NVTX_EVENTS (start DESC, end, eventType, text, globalTid,
              endGlobalTid, textId, domainId);
            CREATE INDEX calls ON CUPTI_ACTIVITY_KIND_RUNTIME (correlationId DESC, globalTid, start,
              end)""")
        self.assert_right()

    def test_without_row_ids(self):
        self.replace_table("""
            CREATE TABLE NVTX_EVENTS (start INTEGER PRIMARY KEY, end INTEGER, eventType INTEGER,
              text TEXT, globalTid INTEGER) WITHOUT ROWID""")
        self.assert_error("trace.sqlite")

    def test_columns_named_like_the_row_id(self):
        self.sql("ALTER TABLE NVTX_EVENTS ADD COLUMN rowid INTEGER DEFAULT 77;"
                 "ALTER TABLE NVTX_EVENTS ADD COLUMN oid TEXT DEFAULT 'x'")
        self.assert_right()

    def test_names_that_quote(self):
        """Names of the schema are never put into SQL."""
        self.sql("""CREATE TABLE "a"") FROM x; --" (x); CREATE TABLE "META_DATA_EXPORT "" (x)" (y)""")
        self.assert_right()


class Cells(HostileCase):
    def test_wrong_types(self):
        for column, value, shown in (
                ("start", "'soon'", "'soon'"), ("start", "x'00FF'", "a blob"),
                ("start", "1.5", "'1.5'"), ("start", "1e300", "'1.0e+300'"),
                ("end", "'never'", "'never'"), ("eventType", "'push'", "'push'"),
                ("globalTid", "NULL", "NULL"), ("globalTid", "'x'", "'x'"),
                ("textId", "'three'", "'three'"), ("domainId", "2.5", "'2.5'"),
                ("start", "9223372036854775807", "'9223372036854775807'"),
                ("end", "-9223372036854775807 - 1", "'-9223372036854775808'")):
            with self.subTest(column=column, value=value):
                self.path.write_bytes(self.good)
                self.sql(f"UPDATE NVTX_EVENTS SET {column} = {value} WHERE rowid = 17")
                self.assert_error("trace.sqlite", f"NVTX_EVENTS, row 17, column '{column}'", shown)

    def test_wrong_types_of_operations(self):
        for table, column in (("KERNEL", "start"), ("KERNEL", "globalPid"),
                              ("RUNTIME", "correlationId")):
            with self.subTest(table=table, column=column):
                self.path.write_bytes(self.good)
                self.sql(f"UPDATE CUPTI_ACTIVITY_KIND_{table} SET {column} = 'x' WHERE rowid = 3")
                self.assert_error(f"CUPTI_ACTIVITY_KIND_{table}, row 3, column '{column}': 'x'")

    def test_numbers_as_reals(self):
        """As tools leave them that know no integer column with gaps."""
        self.replace("CREATE TABLE NVTX_EVENTS AS SELECT CAST(start AS REAL) AS start, "
                     "CAST(end AS REAL) AS end, eventType, text, CAST(globalTid AS REAL) AS "
                     "globalTid, endGlobalTid, CAST(textId AS REAL) AS textId, domainId FROM hidden "
                     "ORDER BY rowid")
        self.assert_right()

    def replace(self, definition):
        self.sql(f"ALTER TABLE NVTX_EVENTS RENAME TO hidden; {definition}; DROP TABLE hidden")

    def test_columns_in_any_order_and_case(self):
        self.replace("CREATE TABLE nvtx_events AS SELECT domainId AS DOMAINID, text, textId, 'x' AS "
                     "more, globalTid, eventType, endGlobalTid, end AS \"END\", start AS Start "
                     "FROM hidden ORDER BY rowid")
        self.assert_right()

    def test_missing_column(self):
        for column, table in (("eventType", "NVTX_EVENTS"), ("globalTid", "NVTX_EVENTS"),
                              ("correlationId", "CUPTI_ACTIVITY_KIND_RUNTIME")):
            self.path.write_bytes(self.good)
            self.sql(f"ALTER TABLE {table} DROP COLUMN {column}")
            self.assert_error(table, f"lacks the column '{column}'")

    def test_huge_row_ids(self):
        self.sql("UPDATE NVTX_EVENTS SET rowid = 9223372036854775807 WHERE rowid = 300;"
                 "UPDATE NVTX_EVENTS SET rowid = -9223372036854775807 WHERE rowid = 299;"
                 "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET rowid = 9223372036854775806 WHERE rowid = 9")
        done = self.stats()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), self.right.stdout.count("\n"))
        self.assertIn(",9223372036854775807,", done.stdout)

    def test_far_times(self):
        """As far from 0 as a time may be: the distance of any two still fits 64 bits."""
        most = (1 << 62) - 1
        self.sql(f"UPDATE NVTX_EVENTS SET start = -{most}, end = {most} WHERE rowid IN (4, 5)")
        done = self.stats()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count(f"-{most},{most},{2 * most},"), 2)
        self.sql(f"UPDATE NVTX_EVENTS SET end = {most + 1} WHERE rowid = 4")
        self.assert_error("row 4", "'end'", str(most + 1))

    def test_long_name(self):
        self.sql("UPDATE NVTX_EVENTS SET text = printf('%.*c', 3000000, 'n'), textId = NULL "
                 "WHERE rowid = 17")
        done = self.stats()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("n" * 3_000_000, done.stdout)


if __name__ == "__main__":
    main()
