#!/usr/bin/env python3
"""How reports are written: headers, units, quoting, damage. A report is read right or refused with
its file, line and column; nothing is guessed and no row is dropped."""
from plain import (BEGIN, HOST_COLUMNS, Range, ReportCase, capture, damaged, group, host_rows,
                   iteration, reports, to_csv)
from support import main, warning_with

HOST, GPU = reports([capture()])


class Headers(ReportCase):
    def test_milliseconds(self):
        """--timeunit msec: 5.0000 was read as 5 ns."""
        def milliseconds(value):
            return f"{value / 1e6:.4f}"
        rows = host_rows([capture()])
        columns = [column.replace("(ns)", "(ms)") for column in HOST_COLUMNS]
        changed = [{name: milliseconds(row[old]) if "(ns)" in old else row[old]
                    for name, old in zip(columns, HOST_COLUMNS)} for row in rows]
        self.bad(self.run_dir(to_csv(changed, columns), GPU), "Start (ms)", "nvtx_pushpop_trace")

    def test_raw_headers(self):
        """A report script run by hand names its columns in another way."""
        raw = HOST.replace("Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns)",
                           "Start:ts_ns,End:ts_ns,Duration:dur_ns,DurChild:dur_ns,"
                           "DurNonChild:dur_ns")
        self.bad(self.run_dir(raw, GPU), "Start:ts_ns")

    def test_no_header(self):
        headless = HOST.split("\n", 1)[1]
        self.bad(self.run_dir(headless, GPU), "nvtx_pushpop_trace", headless.split(",")[0])

    def test_another_vendors_columns(self):
        """A clone of nsys: a row number first, another operation count, '-' for no parent."""
        lines = GPU.replace("NumGPUOps", "NumPPUOps").replace(",,:1", ",-,:1").splitlines()
        clone = "".join(f"{'Row#' if not k else k},{line},\n" for k, line in enumerate(lines))
        self.bad(self.run_dir(HOST, clone), "NumGPUOps", "nvtx_gpu_proj_trace")

    def test_missing_columns(self):
        columns = [c for c in HOST_COLUMNS if c not in ("RangeId", "Start (ns)")]
        host = to_csv(host_rows([capture()]), columns)
        self.bad(self.run_dir(host, GPU), "Start (ns)", "RangeId", "nvtx_pushpop_trace")

    def test_order_and_extra_columns(self):
        columns = ("Name", "New", *[c for c in reversed(HOST_COLUMNS) if c != "Name"])
        rows = [dict(row, New="x") for row in host_rows([capture()])]
        self.assert_plain(self.good(self.run_dir(to_csv(rows, columns), GPU)))

    def test_byte_order_mark(self):
        self.assert_plain(self.good(self.run_dir("\ufeff" + HOST, "\ufeff" + GPU)))

    def test_crlf(self):
        self.assert_plain(self.good(self.run_dir(HOST.replace("\n", "\r\n"),
                                                 GPU.replace("\n", "\r\n"))))

    def test_no_last_line_break(self):
        self.assert_plain(self.good(self.run_dir(HOST.rstrip("\n"), GPU.rstrip("\n"))))


class Numbers(ReportCase):
    def test_thousands_separators(self):
        """"5,020,000" was read as 5."""
        def damage(rows):
            rows[1]["Start (ns)"] = f"{rows[1]['Start (ns)']:,}"
        self.bad(self.run_dir(damaged(damage), GPU), "nsys_nvtx_pushpop_trace.csv:3", "Start (ns)",
                 "5,020,000")

    def test_no_number(self):
        def damage(rows):
            rows[4]["Duration (ns)"] = "431x93"
        self.bad(self.run_dir(damaged(damage), GPU), "nsys_nvtx_pushpop_trace.csv:6",
                 "Duration (ns)", "431x93")

    def test_past_64_bits(self):
        def damage(rows):
            rows[0]["RangeId"] = "9223372036854775808"
        self.bad(self.run_dir(damaged(damage), GPU), "nsys_nvtx_pushpop_trace.csv:2", "RangeId",
                 "9223372036854775808")

    def test_total_past_64_bits(self):
        """Three ranges of 2^62 ns: each fits, the sum does not and must not wrap."""
        length = 2 ** 62
        others = [Range("long", 0, length, tid=5000 + k) for k in range(3)]
        self.bad(self.run_of([capture(), *others]), "64 bits")


class Damage(ReportCase):
    def test_short_row(self):
        lines = HOST.splitlines()
        lines[3] = ",".join(lines[3].split(",")[:9])
        self.bad(self.run_dir("\n".join(lines) + "\n", GPU), "nsys_nvtx_pushpop_trace.csv:4")

    def test_open_quote(self):
        self.bad(self.run_dir(HOST.replace(":load", '":load', 1), GPU), "nvtx_pushpop_trace")

    def test_zero_byte_host_report(self):
        self.bad(self.run_dir("", GPU), "nvtx_pushpop_trace", "no rows")

    def test_ends_early(self):
        """nsys stopped at a byte that it could not decode and left a well-formed beginning: the
        parent's own count of children is what is left to tell."""
        rows = host_rows([capture()])
        host = to_csv(rows[:7], HOST_COLUMNS)  # iteration 2 and all after it are lost
        analysis = self.good(self.run_dir(host, GPU))
        self.assertTrue(warning_with(analysis, "Missing expected iteration indexes: [2]."))
        self.assertTrue(any("rows" in w or "children" in w for w in analysis["warnings"]),
                        analysis["warnings"])

    def test_no_report(self):
        directory = self.run_dir(HOST, GPU)
        (directory / "stats" / "nsys_nvtx_gpu_proj_trace.csv").unlink()
        self.bad(directory, "nvtx_gpu_proj_trace")


class Names(ReportCase):
    """Names as programs really write them, in both ways of quoting."""
    ODD = ['say "hi"', 'both, "of" them', "line\nbreak", "cr\r\nlf", ",", ",,\n", '"', "None", "",
           "a,b", "tab\there", '"quoted"', "caf\u00e9 \u65e5\u672c", "dot.in.name",
           "--dashes"]

    def odd(self, version):
        steps = [iteration(0), iteration(1), iteration(2)]
        start = steps[2].start
        steps[2].children = [Range(name, start + 1_000 + 2_000 * k, start + 2_000 + 2_000 * k)
                             for k, name in enumerate(self.ODD)]
        analysis = self.good_of([capture(steps=steps)], version, name=version)
        for name in self.ODD:
            part = group(analysis, "host_ranges", name, context="iteration")
            self.assert_summary(part["inclusive"], [1_000])
        self.assertEqual(analysis["iterations"][2]["host"], {
            "inclusive_ns": 90_000, "exclusive_ns": 90_000 - 1_000 * len(self.ODD),
            "child_total_ns": 1_000 * len(self.ODD)})

    def test_rfc_4180(self):
        self.odd("2025.1")

    def test_as_older_versions_quote(self):
        """Quotes around a field for a comma only, none doubled, none for a line break."""
        self.odd("2023.4")

    def test_latin_1(self):
        """A byte that is not UTF-8 becomes U+FFFD, the same one each time, with one warning."""
        host = HOST.replace("load", "pr\u00e9").encode("latin-1")
        analysis = self.good(self.run_dir(host, GPU))
        part = group(analysis, "host_ranges", "pr\ufffd", context="iteration")
        self.assert_summary(part["inclusive"], [20_000] * 3)
        self.assertEqual(sum("UTF-8" in warning for warning in analysis["warnings"]), 1)

    def test_nul_byte(self):
        """A NUL byte in a name cut it, or the row."""
        analysis = self.good(self.run_dir(HOST.replace("load", "lo\0ad"), GPU))
        part = group(analysis, "host_ranges", "lo\0ad", context="iteration")
        self.assert_summary(part["inclusive"], [20_000] * 3)

    def test_dotted_names_stay_apart(self):
        """`a` holding `b.c` and `a.b` holding `c` print alike; their paths differ."""
        steps = [iteration(0), iteration(1), iteration(2)]
        start = BEGIN + 20_000
        steps[0].children = [
            Range("a", start, start + 9_000, [Range("b.c", start + 2_000, start + 3_000)]),
            Range("a.b", start + 9_500, start + 19_000,
                  [Range("c", start + 12_000, start + 14_000)])]
        analysis = self.good_of([capture(steps=steps)])
        self.assert_summary(group(analysis, "host_ranges", "a", "b.c")["inclusive"], [1_000])
        self.assert_summary(group(analysis, "host_ranges", "a.b", "c")["inclusive"], [2_000])


if __name__ == "__main__":
    main()
