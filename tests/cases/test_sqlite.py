#!/usr/bin/env python3
"""Exports that nsys's own reports get wrong or give up on, each in its smallest form, with the right
answer and why it is that; and the ways to an SQLite export."""
import csv
import json
import os
import pathlib
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import NVTXA, Case, group, main, run, warning_with  # noqa: E402

TID = 1 << 48 | 4242 << 24 | 4242
COLUMNS = ("start", "end", "eventType", "text", "globalTid", "endGlobalTid", "textId", "domainId")
SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
  text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('PATH', 'SECRET_TOKEN=do-not-print-me');
"""
GPU_SCHEMA = """
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME
  (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
  (start INTEGER, end INTEGER, correlationId INTEGER, globalPid INTEGER,
   deviceId INTEGER DEFAULT 0, demangledName INTEGER DEFAULT 0);
"""
MANIFEST = "capture_range: profile-target\nworkload: {{iterations: {}}}\n"


def push_pop(start, end, text, tid=TID, **more):
    return dict(start=start, end=end, eventType=59, text=text, globalTid=tid, domainId=0) | more


def plain(iterations=2):
    """A capture range with iterations of 80 us, in each `infer` of 50 us."""
    events = [push_pop(1_000_000, 1_010_000 + 100_000 * iterations, "profile-target")]
    for i in range(iterations):
        start = 1_010_000 + 100_000 * i
        events += [push_pop(start, start + 80_000, f"iteration {i}"),
                   push_pop(start + 20_000, start + 70_000, "infer")]
    return events


class SqliteCase(Case):
    def export(self, events, calls=(), kernels=(), strings=(), schema="3.7.2", name="trace.sqlite",
               sql=""):
        path = self.top / "run" / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path)
        database.executescript(SCHEMA + (GPU_SCHEMA if calls or kernels else ""))
        for event in events:
            database.execute(
                f"INSERT INTO NVTX_EVENTS ({', '.join(COLUMNS)}) VALUES "
                f"({', '.join('?' * len(COLUMNS))})", [event.get(c) for c in COLUMNS])
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", strings)
        for table, columns, rows in (
                ("RUNTIME", "start, end, globalTid, correlationId", calls),
                ("KERNEL", "start, end, correlationId, globalPid", kernels)):
            for row in rows:
                database.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_{table} ({columns}) "
                                 "VALUES (?, ?, ?, ?)", row)
        if schema:
            database.executemany("INSERT INTO META_DATA_EXPORT VALUES (?, ?)", [
                ("EXPORT_SCHEMA_VERSION", schema), ("EXPORT_PRODUCT_VERSION", "2023.4.4.54")])
        database.executescript(sql)
        database.commit()
        database.close()
        return path

    def rows(self, path, report="nvtx_pushpop_trace"):
        done = run([NVTXA, "stats", "-r", report, "--force-overwrite", "-o", self.top / "out", path])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.top / f"out_{report}.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def native(self, iterations=2, *options, status=0):
        """The analysis of run/trace.sqlite."""
        directory = self.top / "run"
        self.write(directory / "manifest.yaml", MANIFEST.format(iterations))
        done = self.analyze(directory, "--engine", "native", "--no-export", *options, status=status)
        return self.result(directory) if status == 0 else done.stderr


class GpuWork(SqliteCase):
    def export_kernels(self, count=12):
        """In each of two iterations a call in `infer` for each of so many kernels."""
        calls, kernels, strings = [], [], [(k, f"kernel {k}") for k in range(count)]
        for i in range(2):
            for k in range(count):
                start = 1_031_000 + 100_000 * i + 1000 * k
                calls.append((start, start + 100, TID, i * count + k))
                kernels.append((start + 500, start + 600 + k, i * count + k, TID & ~0xFFFFFF, k))
        path = self.export(plain(2), calls, [k[:4] for k in kernels], strings)
        with sqlite3.connect(path) as database:
            database.executemany("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = ?1 "
                                 "WHERE correlationId = ?2", [(k[4], k[2]) for k in kernels])
        return path

    def test_which_kernels_are_named(self):
        self.export_kernels()
        for options, count in (((), 10), (("--kernels", "3"), 3), (("--kernels", "all"), 12),
                               (("--kernels=99",), 12)):
            analysis = self.native(2, *options)
            (infer,) = (g for g in analysis["gpu_projected_ranges"] if g["path"] == ["infer"])
            for work in (infer["gpu_work"], analysis["iterations"][1]["gpu_work"]):
                kernels = work["inclusive"]["kernels"]
                self.assertEqual([k["name"] for k in kernels["largest"]],
                                 [f"kernel {11 - k}" for k in range(count)])
                self.assertEqual(kernels["names"], 12)
            self.assertIsNone(analysis["iterations"][1]["gpu_work"]["innermost"])

    def test_a_number_of_kernels_that_is_none(self):
        self.export_kernels(1)
        for text in ("0", "-1", "many", "1e3", "", "1000000000", "3x"):
            done = self.analyze(self.top / "run", f"--kernels={text}", status=2)
            self.assertIn(f"--kernels '{text}' is neither", done.stderr)

    def test_left_out(self):
        self.export_kernels()
        analysis = self.native(2, "--no-gpu-work")
        self.assertIsNone(analysis["capture_gpu_work"])
        self.assertIsNone(analysis["gpu_devices"])
        self.assertEqual({i["gpu_work"] for i in analysis["iterations"]}, {None})
        self.assertIsNotNone(analysis["iterations"][0]["gpu_projection"])

    def test_columns_that_are_missing(self):
        """Exports of a known schema have them. What does not need them can still be had."""
        path = self.export_kernels()
        with sqlite3.connect(path) as database:
            database.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN deviceId")
        error = self.native(2, status=1)
        self.assertIn("CUPTI_ACTIVITY_KIND_KERNEL lacks the column 'deviceId'", error)
        self.assertIn("--no-gpu-work", error)
        self.native(2, "--no-gpu-work")


class WhereNsysIsWrong(SqliteCase):
    def test_identical_intervals(self):
        """nsys makes two ranges of the same bounds each other's parent and loses both, and all below
        them. One was pushed first: the lower row id is the outer."""
        events = plain(1) + [push_pop(1_010_000, 1_090_000, "twin of the iteration"),
                             push_pop(1_040_000, 1_040_000, "instant")]
        rows = {r["Name"]: r for r in self.rows(self.export(events))}
        self.assertEqual(len(rows), 5)
        self.assertEqual(rows[":twin of the iteration"]["ParentId"],
                         rows[":iteration 0"]["RangeId"])
        self.assertEqual(rows[":infer"]["ParentId"], rows[":twin of the iteration"]["RangeId"])
        self.assertEqual(rows[":iteration 0"]["DurNonChild (ns)"], "0")
        analysis = self.native(1)
        self.assertEqual(analysis["iterations"][0]["host"], {
            "inclusive_ns": 80_000, "exclusive_ns": 0, "child_total_ns": 80_000})
        instant = group(analysis, "host_ranges", "twin of the iteration", "infer", "instant")
        self.assertEqual((instant["instances"], instant["inclusive"]["total_ns"]), (1, 0))

    def test_end_before_start(self):
        """nsys's report fails on a range that ends before it starts. Its clock was turned back, so
        its length is not known: it stands in the hierarchy, without length, and in no summary."""
        events = plain(1)
        events[2]["end"] = events[2]["start"] - 1_500
        rows = {r["Name"]: r for r in self.rows(self.export(events))}
        self.assertEqual(rows[":infer"]["Duration (ns)"], "0")
        self.assertEqual(rows[":infer"]["ParentId"], rows[":iteration 0"]["RangeId"])
        analysis = self.native(1)
        self.assertTrue(warning_with(analysis, "1 range of nvtx_pushpop_trace ended before it"))
        self.assertEqual([g["name"] for g in analysis["host_ranges"]], ["profile-target"])
        self.assertEqual(analysis["iterations"][0]["host"]["exclusive_ns"], 80_000)

    def test_names_that_are_blobs(self):
        """Tools that rewrite exports leave names as blobs; nsys prints Python's b'infer'. The bytes
        are the name."""
        path = self.export(plain(1), sql="UPDATE NVTX_EVENTS SET text = CAST(text AS BLOB)")
        self.assertEqual([r["Name"] for r in self.rows(path)],
                         [":profile-target", ":iteration 0", ":infer"])
        self.assertEqual(self.native(1)["iteration_summary"]["host_iterations"], 1)

    def test_no_rows(self):
        """A table of events without any is no error of its own: reports with a header alone. There is
        nothing to analyse, though."""
        path = self.export([])
        for report in ("nvtx_pushpop_trace", "nvtx_gpu_proj_trace"):
            self.assertEqual(self.rows(path, report), [])
        self.assertIn("no rows", self.native(1, status=1))

    def test_names_that_csv_must_quote(self):
        """nsys quotes a name for a comma only, leaves quotes inside as they are, and stops at the
        first byte that is no UTF-8. All ranges are there, and CSV readers read the names."""
        names = ['say "hi", twice', '"', "a,b", "two\nlines", "cr\rlf\r\n", ":leading colon", "",
                 " spaces ", "caf\u00e9 \u2603", "tab\there"]
        events = plain(1) + [push_pop(1_031_000 + 1_000 * i, 1_031_900 + 1_000 * i, name)
                             for i, name in enumerate(names)]
        path = self.export(events, sql="UPDATE NVTX_EVENTS SET text = CAST(x'6261FF64' AS TEXT) "
                                       "WHERE text = ' spaces '")
        names[names.index(" spaces ")] = "ba\ufffdd"
        self.assertEqual([r["Name"] for r in self.rows(path)][3:], [":" + n for n in names])
        analysis = self.native(1)
        self.assertTrue(warning_with(analysis, "not UTF-8"))
        found = {g["path"][1] for g in analysis["host_ranges"] if g["path"][:1] == ["infer"] and
                 len(g["path"]) == 2}
        self.assertEqual(found, set(names))
        # And the reports that were kept read back as they are.
        again = json.loads(run([NVTXA, "analyze", "--no-export", "-o", "-",
                                self.top / "run"]).stdout)
        self.assertEqual(again["host_ranges"], analysis["host_ranges"])

    def test_names_of_projections(self):
        """The same for the report of projections."""
        name = 'a "b", c\nd'
        events = plain(1) + [push_pop(1_031_000, 1_039_000, name)]
        path = self.export(events, calls=[(1_032_000, 1_033_000, TID, 7)],
                           kernels=[(1_035_000, 1_036_000, 7, TID & ~0xFFFFFF)])
        rows = self.rows(path, "nvtx_gpu_proj_trace")
        self.assertEqual([r["Name"] for r in rows],
                         [":profile-target", ":iteration 0", ":infer", ":" + name])
        self.assertEqual({r["Projected Duration (ns)"] for r in rows}, {"1000"})

    def test_domain_created_by_two_threads(self):
        """Two threads of a process create one domain: nsys 2023.4 fails. The first event names it."""
        events = plain(1) + [
            dict(start=900, eventType=75, text="lib", globalTid=TID, domainId=3),
            dict(start=950, eventType=75, text="later", globalTid=TID + 1, domainId=3),
            push_pop(1_031_000, 1_032_000, "step", domainId=3)]
        self.assertIn("lib:step", [r["Name"] for r in self.rows(self.export(events))])

    def test_ids_of_two_processes(self):
        """Correlation ids count up in each process: a kernel belongs to the call of its own."""
        other = TID + (1 << 24)
        events = plain(1) + [push_pop(1_000_000, 1_090_000, "other", tid=other)]
        path = self.export(events,
                           calls=[(1_031_000, 1_032_000, TID, 7), (1_031_000, 1_032_000, other, 7),
                                  (500, 600, TID, 8), (500, 600, other, 8)],
                           kernels=[(1_040_000, 1_041_000, 7, TID & ~0xFFFFFF),
                                    (1_050_000, 1_053_000, 7, other & ~0xFFFFFF),
                                    (700, 800, 8, TID & ~0xFFFFFF),
                                    (700, 900, 8, other & ~0xFFFFFF)])
        rows = {r["Name"]: r for r in self.rows(path, "nvtx_gpu_proj_trace")}
        self.assertEqual({n: r["Projected Duration (ns)"] for n, r in rows.items()},
                         {"": "200", ":profile-target": "1000", ":iteration 0": "1000",
                          ":infer": "1000", ":other": "3000"})
        # nsys counts the id 8 once, though it stands for two operations.
        self.assertEqual(rows[""]["NumGPUOps"], "2")


class WhatIsReported(SqliteCase):
    def test_open_ranges(self):
        """No end: as nsys has it in the report, at the last timestamp; in no summary of an analysis,
        and the iteration has no host time."""
        events = plain(3)
        events[0]["end"] = events[5]["end"] = events[6]["end"] = None
        rows = self.rows(self.export(events))
        self.assertEqual({r["End (ns)"] for r in rows if r["RangeId"] in "167"}, {"1230000"})
        analysis = self.native(3)
        self.assertEqual([i["host"] is None for i in analysis["iterations"]], [False, False, True])
        self.assertEqual(analysis["iteration_summary"]["host_iterations"], 2)
        self.assertEqual(group(analysis, "host_ranges", "infer")["instances"], 2)
        self.assertTrue(warning_with(analysis, "Missing host ranges for iterations: [2]."))
        self.assertTrue(warning_with(analysis, "3 ranges of nvtx_pushpop_trace had not ended"))

    def test_again_from_the_reports(self):
        """CSV cannot say that a range was open, or ended before it started. export.json does."""
        events = plain(3)
        events[0]["end"] = events[5]["end"] = events[6]["end"] = None
        events[2]["end"] = events[2]["start"] - 10
        self.export(events)
        first = self.native(3, "--no-gpu-work")  # which the reports do not hold
        (self.top / "run" / "trace.sqlite").unlink()
        self.analyze(self.top / "run", "--no-export")
        again = self.result(self.top / "run")
        for key in ("host_ranges", "iterations", "iteration_summary"):
            self.assertEqual(again[key], first[key], key)
        self.assertTrue(warning_with(again, "4 ranges of nvtx_pushpop_trace had no measured end"))

    def test_open_iteration_with_gpu_work(self):
        events = plain(2)
        events[0]["end"] = events[3]["end"] = None
        self.export(events, calls=[(1_031_000, 1_032_000, TID, 7), (1_131_000, 1_132_000, TID, 8)],
                    kernels=[(1_040_000, 1_041_000, 7, TID & ~0xFFFFFF),
                             (1_140_000, 1_149_000, 8, TID & ~0xFFFFFF)])
        analysis = self.native(2)
        self.assertEqual([i["gpu_projection"]["projected_ns"] for i in analysis["iterations"]],
                         [1_000, 9_000])
        summary = analysis["iteration_summary"]
        self.assertEqual(summary["gpu_projected_iterations"], 1)
        self.assertEqual(summary["gpu_projected"]["total_ns"], 1_000)

    def test_texts_and_ids(self):
        events = plain(1) + [push_pop(1_031_000, 1_032_000, "stale", textId=13),
                             push_pop(1_033_000, 1_034_000, None),
                             push_pop(1_035_000, 1_036_000, None, textId=999),
                             push_pop(1_037_000, 1_038_000, "fallback", textId=999)]
        rows = self.rows(self.export(events, strings=[(13, "registered"), (14, "unused")]))
        self.assertEqual([r["Name"] for r in rows][3:], [":registered", "", "", ":fallback"])
        self.assertTrue(warning_with(self.native(1), "names of 2 ranges"))

    def test_ranges_across_threads(self):
        """They stand on no thread's time line: in neither report, and no parent of anything."""
        events = plain(1) + [push_pop(1_000_500, 1_095_000, "put", eventType=60,
                                      endGlobalTid=TID + 9),
                             push_pop(1_000_600, 1_094_000, "own", eventType=60, endGlobalTid=TID)]
        path = self.export(events, calls=[(1_031_000, 1_032_000, TID, 7)],
                           kernels=[(1_040_000, 1_041_000, 7, TID & ~0xFFFFFF)])
        rows = {r["Name"]: r for r in self.rows(path, "nvtx_gpu_proj_trace")}
        self.assertEqual(sorted(rows), [":infer", ":iteration 0", ":own", ":profile-target"])
        self.assertEqual(rows[":own"]["Style"], "StartEnd")
        self.assertEqual(rows[":iteration 0"]["ParentId"], rows[":own"]["RangeId"])
        self.assertEqual(len(self.rows(path)), 3)
        # The host hierarchy has push/pop ranges only, and the projections join it.
        analysis = self.native(1)
        self.assertIsNotNone(analysis["iterations"][0]["gpu_projection"])
        self.assertEqual(group(analysis, "gpu_projected_ranges", "infer")["context"], "iteration")

    def test_no_environment(self):
        """Only what an analysis needs is read: the environment stays in the export."""
        self.export(plain(1))
        self.native(1)
        for path in (self.top / "run").rglob("*"):
            if path.is_file() and path.name != "trace.sqlite":
                self.assertNotIn(b"do-not-print-me", path.read_bytes(), path)

    def test_no_nvtx(self):
        self.export([], sql="DROP TABLE NVTX_EVENTS")
        stderr = self.native(1, status=1)
        self.assertIn("no NVTX data", stderr)
        self.assertIn("trace.sqlite", stderr)

    def test_wrong_type(self):
        self.export(plain(1), sql="UPDATE NVTX_EVENTS SET start = 'soon' WHERE rowid = 2")
        stderr = self.native(1, status=1)
        for text in ("trace.sqlite", "NVTX_EVENTS, row 2, column 'start'", "'soon'"):
            self.assertIn(text, stderr)
        self.assert_no_result(self.top / "run")


class WaysToAnExport(SqliteCase):
    def setUp(self):
        super().setUp()
        self.directory = self.top / "run"
        self.sqlite = self.export(plain(2))
        self.write(self.directory / "manifest.yaml", MANIFEST.format(2))
        self.trace = self.write(self.directory / "trace.nsys-rep", b"a trace")
        self.no_nsys = dict(os.environ, PATH=str(self.top / "nowhere"))
        os.utime(self.trace, (1_000_000, 1_000_000))

    def provenance(self):
        return self.result(self.directory)["provenance"]

    def test_no_export(self):
        self.analyze(self.directory, "--no-export")  # auto: there are no reports
        provenance = self.provenance()
        self.assertEqual(provenance["engine"], "native")
        self.assertEqual(provenance["export_path"], "trace.sqlite")
        self.assertEqual(provenance["export_schema_version"], "3.7.2")
        self.assertEqual(provenance["export_product_version"], "2023.4.4.54")
        self.assertEqual(provenance["reports_origin"], "computed")
        self.assertIsNone(provenance["trace_sha256"])
        paths = provenance["reports"]
        self.assertEqual((paths.pop("cuda_gpu_kern_sum"), paths.pop("cuda_gpu_trace")), (None, None))
        for path in paths.values():
            self.assertTrue((self.directory / path).is_file(), path)
        self.assertEqual(self.result(self.directory)["warnings"][2:], [])

    def test_auto_takes_reports_that_are_there(self):
        self.analyze(self.directory, "--no-export")
        first = self.result(self.directory)
        self.sqlite.write_bytes(b"no longer one")
        self.analyze(self.directory, "--no-export")
        again = self.result(self.directory)
        self.assertEqual(again["host_ranges"], first["host_ranges"])
        self.assertEqual(again["provenance"]["engine"], "native")
        self.assertEqual(again["provenance"]["reports_origin"], "existing")
        self.assertIsNone(again["provenance"]["export_path"])
        self.assertTrue(warning_with(again, "computed from a trace.sqlite"), again["warnings"])

    def test_without_nsys(self):
        done = self.analyze(self.directory, env=self.no_nsys)
        self.assertIn("there is no nsys here: taking", done.stderr)
        self.assertEqual(self.provenance()["export_path"], "trace.sqlite")

    def test_without_nsys_but_older(self):
        os.utime(self.sqlite, (999_999, 999_999))
        done = self.analyze(self.directory, env=self.no_nsys, status=1)
        self.assertIn("older than the trace", done.stderr)
        self.assertIn("--no-export --engine native", done.stderr)
        self.assert_no_result(self.directory)
        self.analyze(self.directory, "--no-export", "--engine", "native")
        self.assertTrue(warning_with(self.result(self.directory), "trace.sqlite is older"))

    def test_an_nsys_that_was_asked_for(self):
        for options in (["--nsys", self.top / "nsys"], ["--engine", "nsys"]):
            done = self.analyze(self.directory, *options, env=self.no_nsys, status=1)
            self.assertIn("nsys", done.stderr)
            self.assert_no_result(self.directory)

    def test_no_sqlite(self):
        self.sqlite.unlink()
        done = self.analyze(self.directory, "--no-export", "--engine", "native", status=1)
        self.assertIn("trace.sqlite", done.stderr)
        self.assertIn("nsys export --type sqlite", done.stderr)

    def test_no_reports(self):
        self.analyze(self.directory, "--no-export", "--no-reports")
        self.assertFalse((self.directory / "stats").exists())
        self.assertEqual(set(self.provenance()["reports"].values()), {None})
        self.assertIsNone(self.provenance()["reports_origin"])

    def test_reports_in_spite_of_a_failed_analysis(self):
        """They may show why: here, that the capture range has another name."""
        self.write(self.directory / "manifest.yaml", "capture_range: something else\n")
        self.analyze(self.directory, "--no-export", status=1)
        self.assert_no_result(self.directory)
        self.assertEqual(sorted(p.name for p in (self.directory / "stats").iterdir()),
                         ["export.json", "nsys_nvtx_gpu_proj_trace.csv",
                          "nsys_nvtx_pushpop_trace.csv"])

    def test_gpu_reports_of_an_earlier_export(self):
        """They are not of this SQLite export, beside whose reports they would stand."""
        for name in ("cuda_gpu_kern_sum", "cuda_gpu_trace", "gpukernsum", "gputrace"):
            self.write(self.directory / "stats" / f"nsys_{name}.csv", "stale")
        self.analyze(self.directory, "--no-export")
        self.assertEqual(sorted(p.name for p in (self.directory / "stats").iterdir()),
                         ["export.json", "nsys_nvtx_gpu_proj_trace.csv",
                          "nsys_nvtx_pushpop_trace.csv"])

    def test_unknown_schema(self):
        for schema, text in (("4.1.0", "follows schema 4.1.0"),
                             ("", "does not say which schema")):
            self.export(plain(2), schema=schema)
            self.analyze(self.directory, "--no-export", "--engine", "native")
            self.assertTrue(warning_with(self.result(self.directory), text), schema)

    def test_stats_cannot_be_written(self):
        self.write(self.directory / "stats", "in the way")
        done = self.analyze(self.directory, "--no-export", "--engine", "native", status=1)
        self.assertIn("--no-reports", done.stderr)
        self.assert_no_result(self.directory)
        self.analyze(self.directory, "--no-export", "--engine", "native", "--no-reports")


if __name__ == "__main__":
    main()
