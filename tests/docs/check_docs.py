#!/usr/bin/env python3
"""The documentation agrees with the rest: every status and warning is explained, every link leads
somewhere, every C snippet compiles, and what is named in one place is named so in the other.

usage: check_docs.py      NVTXA_SOURCE_ROOT and NVTXA_BUILD_ROOT say where things are
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import BUILD, NVTXA, SOURCE, Case, main, run  # noqa: E402

BASE_H = SOURCE / "include" / "nvtxa" / "base.h"
DOCS = SOURCE / "docs"
PAGES = [*sorted(SOURCE.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def headings(page):
    """The anchors of a page, as the usual hosts make them."""
    found = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in found}


def blocks(page, language):
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


class Errors(Case):
    def test_every_number_is_explained(self):
        declared = dict(re.findall(r"^\s*(NVTXA_(?:OK|ERROR_\w+|WARNING_\w+)) = (-?\d+)",
                                   BASE_H.read_text(), re.MULTILINE))
        explained = dict(re.findall(r"^### (NVTXA_\w+) \((-?\d+)\)$",
                                    (DOCS / "errors.md").read_text(), re.MULTILINE))
        self.assertGreater(len(declared), 30)
        self.assertEqual(explained, declared)

    def test_quoted_warnings_exist(self):
        """Each explanation quotes its warning's beginning: the library must still say that."""
        sources = "".join(p.read_text() for p in (SOURCE / "lib").rglob("*.c"))
        spoken = re.sub(r'"\s*\n\s*"', "", sources)
        quoted = re.findall(r"^### (NVTXA_WARNING_\w+) \(\d+\)\n\n`([^`]+)`",
                            (DOCS / "errors.md").read_text(), re.MULTILINE)
        self.assertGreaterEqual(len(quoted), 12)
        for kind, text in quoted:
            for piece in text.split("..."):
                if len(piece.strip(" ,.")) > 3:
                    self.assertTrue(piece.strip(" ,.") in spoken, f"{kind}: nothing says '{piece}'")


class Pages(Case):
    def test_links(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                path, _, anchor = target.partition("#")
                self.assertNotIn("://", target, f"{page.name} links out: {target}")
                file = (page.parent / path).resolve() if path else page
                self.assertTrue(file.exists(), f"{page.name} links to {target}")
                if anchor:
                    self.assertIn(anchor, headings(file), f"{page.name} links to {target}")

    def test_every_page_is_in_the_index(self):
        index = (DOCS / "index.md").read_text()
        for page in DOCS.glob("*.md"):
            if page.name != "index.md":
                self.assertIn(f"({page.name})", index)

    def test_lines(self):
        """At most 100 columns, but for tables."""
        for page in PAGES:
            for number, line in enumerate(page.read_text().splitlines(), 1):
                if not line.startswith("|"):
                    self.assertLessEqual(len(line), 100, f"{page.name}:{number}")

    def test_c_snippets_compile(self):
        """With a stand-in for NVTX's headers."""
        count = 0
        for page in PAGES:
            for block in blocks(page, "c"):
                source = self.write(self.top / "snippet.c", block)
                done = run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                            f"-I{SOURCE / 'include'}", f"-I{BUILD / 'include'}",
                            f"-I{SOURCE / 'tests' / 'headers' / 'stub'}", source])
                self.assertEqual(done.returncode, 0, f"{page.name}:\n{block}\n{done.stderr}")
                count += 1
        self.assertGreaterEqual(count, 4)

    def test_readme_names_two_commands(self):
        """.ci/run copies them out of the README: each stands alone in a block for sh."""
        commands = [block.strip() for block in blocks(SOURCE / "README.md", "sh")]
        self.assertEqual(commands, ["sh examples/quickstart.sh", "sh tests/run.sh"])

    def test_artifacts_name_the_columns(self):
        """The columns that the reader asks for are those that the page lists."""
        page = (DOCS / "artifacts.md").read_text()
        source = (SOURCE / "lib" / "ranges" / "csv" / "columns.c").read_text()
        needed = {column for table in re.findall(r"(?:host|gpu|kernel|operation)_columns"
                                                 r"\[\] = \{(.*?)\n\};", source, re.DOTALL)
                  for column in re.findall(r'\{"([^"]+)"', table)}
        (section,) = re.findall(r"^## Reports\n(.*?)^CSV is read", page, re.MULTILINE | re.DOTALL)
        listed = {c for line in section.splitlines() if line.startswith("`")
                  for c in re.findall(r"`([^`]+)`", line)}
        self.assertEqual(len(needed), 24)
        self.assertEqual(listed, needed)

    def test_artifacts_name_the_keys(self):
        """The keys of analysis.json that the page lists are those of its schema."""
        schema = json.loads((DOCS / "schema" / "analysis-2.schema.json").read_text())
        page = (DOCS / "artifacts.md").read_text()
        (table,) = re.findall(r"^\| key \| holds \|\n\| --- \| --- \|\n(\| `schema_version`.*?)\n\n",
                              page, re.MULTILINE | re.DOTALL)
        listed = re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)
        self.assertEqual(sorted(listed), sorted(schema["properties"]))
        (table,) = re.findall(r"^In `provenance`.*?\n\n(.*?)\n\n", page, re.MULTILINE | re.DOTALL)
        listed = {key for line in table.splitlines()[2:]
                  for key in re.findall(r"`([^`]+)`", line.split("|")[1])}
        self.assertEqual(listed, set(schema["properties"]["provenance"]["properties"]))

    def test_engines_name_the_columns(self):
        """What the reader asks an SQLite export for is what the page says that is read."""
        page = (DOCS / "engines.md").read_text()
        sources = "".join(p.read_text() for folder in ("ranges", "database")
                          for p in (SOURCE / "lib" / folder).rglob("*.c"))
        needed = set(re.findall(r'\{"(\w+)", (?:true|false)\}', sources))
        # Texts that are looked up: in which table, and in which column of it.
        needed |= set(re.findall(r'"(?:StringIds|[A-Z_]+)",\s+"(\w+)",', sources))
        (section,) = re.findall(r"^## What is read\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
        listed = {c for line in section.splitlines() if line.startswith("| `")
                  for c in re.findall(r"`([^`]+)`", line.split("|")[2])}
        self.assertGreater(len(needed), 10)
        self.assertEqual(listed, needed)

    def test_manual_has_every_option(self):
        for command in ("analyze", "doctor", "init", "ranges", "record", "stats"):
            page = (DOCS / "man" / f"nvtxa-{command}.1.scd").read_text()
            explained = set(re.findall(r"^\*(?:-\w\*, \*)?(--[a-z-]+)\*", page, re.MULTILINE))
            shown = set(re.findall(r"(?<![\w-])(--[a-z]+(?:-[a-z]+)*)",
                                   run([NVTXA, command, "--help"]).stdout))
            self.assertGreater(len(shown), 6)
            self.assertEqual(explained, shown)


if __name__ == "__main__":
    main()
