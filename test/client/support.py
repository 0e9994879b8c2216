"""Shared by the tests of the client: a schema to import into, files, and the program's output."""

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "client"))

import psycopg  # noqa: E402

from stepadv import cli  # noqa: E402

DATA = TOP / "test" / "data" / "import"
PROGRAM = str(TOP / "client" / "bin" / "stepadv")


# How the end of an import shows its counts.
COUNTED = {
    "rollouts_added": r"^added: (\d+)", "steps_added": r"^added: .* (\d+) steps?$", "rollouts_updated": r"^changed: (\d+)",
    "rollouts_repeated": r"^known already: (\d+)", "steps_repeated": r"^known already: .* (\d+) steps?$", "bad": r"^could not be used: (\d+)",
    "contradictions": r"^could not be used: .* (\d+) contradict", "stepless_rollouts": r"^without a step: (\d+) of",
    "unjudged_rollouts": r", (\d+) without a verdict", "nul_replaced": r"U\+0000 in texts, now U\+FFFD \((\d+)\)",
}  # fmt: skip
# The warning that no rollout is judged, which test_runs.py tests.
WARNING = re.compile(r"\*{78}\n(?:\* .*\n)+\*{78}\n")


class Said:
    """The result of a call of the program."""

    def __init__(self, status: int, out: str, err: str):
        self.status, self.out, self.err = status, out, WARNING.sub("", err)
        self.warning = "".join(WARNING.findall(err))

    def count(self, *names: str) -> str:
        """Counts by names of COUNTED, or by names in the list of what was repaired or not loaded."""
        patterns = (COUNTED.get(name, rf"[ ,]{re.escape(name)} \((\d+)\)") for name in names)
        found = (re.search(pattern, self.out, re.M) for pattern in patterns)
        return " ".join(match[1] if match else "0" for match in found)


class Case(unittest.TestCase):
    """Tests with a schema, which is emptied before each test, and a folder."""

    schema = ""
    maxDiff = None

    @classmethod
    def setUpClass(cls) -> None:
        cls.connection = psycopg.connect(autocommit=True)
        cls.connection.execute("SET timezone = 'UTC'")
        # Made once: making the tables takes longer than most tests.
        cls.schema = "t"
        if cls.connection.execute("SELECT to_regclass('t.steps') IS NULL").fetchone()[0]:
            cls.connection.execute("SELECT count(*) FROM stepadv.create_tables('t', partitions => 2)")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.connection.close()

    def setUp(self) -> None:
        self.connection.execute("DELETE FROM t.rollouts")
        self.folder = Path(tempfile.mkdtemp(prefix="stepadv.test."))
        self.addCleanup(shutil.rmtree, self.folder)

    def value(self, query: str) -> object:
        return self.connection.execute(query).fetchone()[0]

    def lines(self, query: str) -> str:
        """Rows of a query, a line each: values separated by bars, nothing for NULL."""
        show = {True: "t", False: "f", None: ""}
        rows = self.connection.execute(query).fetchall()
        return "\n".join("|".join(show[v] if v is None or isinstance(v, bool) else str(v) for v in row) for row in rows)

    def write(self, name: str, content: str | bytes) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def stepadv(self, *arguments: object, stdin: bytes = b"") -> Said:
        """Runs the program in this process, which is faster than starting one."""
        out, err = io.StringIO(), io.StringIO()
        out.reconfigure = err.reconfigure = lambda **_: None  # type: ignore[attr-defined]
        before = sys.stdin
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    status = cli.main([str(a) for a in arguments])
                except SystemExit as stop:
                    status = int(stop.code or 0)
        finally:
            sys.stdin = before
        return Said(status, out.getvalue(), err.getvalue())

    def load(self, *arguments: object, stdin: bytes = b"", schema: str = "t") -> Said:
        return self.stepadv("import", "-s", schema, *arguments, stdin=stdin)

    def loaded(self, *arguments: object, stdin: bytes = b"") -> Said:
        """Loads files without errors and warnings."""
        said = self.load(*arguments, stdin=stdin)
        self.assertEqual((said.status, said.err), (0, ""), said.out)
        return said

    def refused(self, pattern: str, *arguments: object, status: int = 1, stdin: bytes = b"") -> Said:
        said = self.load(*arguments, stdin=stdin)
        self.assertEqual(said.status, status, said.out + said.err)
        self.assertRegex(said.err, pattern or "(?s)^")
        return said

    def rows(self) -> str:
        return self.lines("SELECT (SELECT count(*) FROM t.rollouts), (SELECT count(*) FROM t.steps)")


def environment() -> dict[str, str]:
    return {**{k: v for k, v in os.environ.items() if k != "PGAPPNAME"}, "PYTHONDONTWRITEBYTECODE": "1"}
