"""Writes rollouts into the tables of a schema.

Rollouts are inserted in a fixed order, so that two loads of the same rollouts wait for each other.  Steps of new
rollouts are copied; the server compares those of known rollouts with what the tables have.
"""

from argparse import Namespace
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple

import psycopg

from stepadv.database import columns_of, value
from stepadv.importing.format import Bad, Rollout
from stepadv.importing.rows import COPIED_AS, OF_GROUP, OF_ROLLOUT, STEP_COLUMNS, Row, Shape, for_copy
from stepadv.importing.tally import Tally
from stepadv.text import Failed, quoted

CHUNK = 4 << 20  # bytes that are written at a time
HELD = 128 << 10  # roughly the bytes that the kernel buffers of what was sent
MOST_ROWS = 5000
CREATE = "CREATE TEMP TABLE IF NOT EXISTS {} ON COMMIT DELETE ROWS AS SELECT {} FROM {} WHERE false"
# Temporary tables are read in queries of their own: Citus does not join them with other tables.
KNOWN = """WITH t AS MATERIALIZED (SELECT * FROM {t})
    SELECT t.n, x.outcome, x.success, x.metadata ->> 'source' FROM t JOIN {r} x ON {same}"""
KNOWN_STEPS = """WITH t AS MATERIALIZED (SELECT * FROM {t} w WHERE w.n = ANY (%s)),
        p AS MATERIALIZED (SELECT * FROM {p})
    SELECT t.n, string_agg(x.step_no::text, ' '), string_agg(x.step_no::text, ' ') FILTER (WHERE p.step_no IS NULL),
        string_agg(x.step_no::text, ' ') FILTER (WHERE p.step_no IS NOT NULL AND
            (x.turn, x.observation, x.action, x.tool, x.args, x.ok, x.reward)
            IS DISTINCT FROM (p.turn, p.observation, p.action, p.tool, p.args, p.ok, p.reward))
    FROM t JOIN {s} x ON {same} LEFT JOIN p ON {also} AND p.step_no = x.step_no GROUP BY t.n"""
INSERT = "INSERT INTO {r} AS r ({c}) SELECT {c} FROM {t} t "
# How a rollout in the tables is updated: no known value is lost.
MERGED = {f"{n}_at": f"{f}(r.{n}_at, excluded.{n}_at)" for n, f in (("started", "least"), ("ended", "greatest"))}
MERGED |= {name: f"coalesce(excluded.{name}, r.{name})" for name in ("outcome", "success", "model")}
MERGED["truncated"] = "r.truncated OR excluded.truncated"
# And if it has new or changed steps.
RENEWED = {"metadata": "coalesce(excluded.metadata, r.metadata)"}


def plain_path(source: str) -> str:
    return source.replace("/./", "/")


class Tables:
    def __init__(self, connection: psycopg.Connection[Any], options: Namespace):
        self.connection, self.options = connection, options
        if (encoding := value(connection, "SELECT getdatabaseencoding()")) != "UTF8":
            name = connection.info.dbname
            raise Failed(f"encoding {encoding} of database {name} is not UTF8: use createdb -E UTF8 -T template0")
        self.shape = self.find_shape()
        keys = [*self.shape.keys, "rollout_id"]
        self.columns = [*keys, *self.shape.others, *OF_ROLLOUT]
        self.step_columns = [*keys, *STEP_COLUMNS]
        self.sources: dict[str, str] | None = None
        self.copying, self.unsent = ExitStack(), deque[bytes]()
        self.parts = {
            "r": quoted(options.schema, "rollouts"),
            "s": quoted(options.schema, "steps"),
            # Temporary: rollouts until it is known which of them are new, and the steps of those that are not.
            "t": quoted("pg_temp", "stepadv_rollouts"),
            "p": quoted("pg_temp", "stepadv_steps"),
        }
        self.parts |= {"c": listed(self.columns), "k": listed(keys), "o": listed(keys, 't.{} COLLATE "C"')}
        alike = {"same": "x", "also": "p"}
        self.parts |= {name: listed(keys, f"{t}.{{0}} = t.{{0}}", " AND ") for name, t in alike.items()}
        self.parts["all"] = listed(self.step_columns)
        self.execute(CREATE.format("stepadv_rollouts", "0 AS n, {c}", "{r}"))

    def find_shape(self) -> Shape:
        schema = self.options.schema
        there, steps = columns_of(self.connection, schema, "rollouts", "steps")
        keys = {name: column.default for name, column in there.items() if column.is_key and name != "rollout_id"}
        if not keys or not steps:
            hint = "SELECT stepadv.create_tables(…) creates them"
            raise Failed(f'schema "{schema}" has no tables rollouts and steps: {hint}')
        defaults = [getattr(self.options, name, None) for name in keys]
        for i, default in enumerate(keys.values()):
            if defaults[i] is None and default is not None:
                defaults[i] = value(self.connection, f"SELECT ({default})::text")
        others = [name for name in OF_GROUP if name in there and name not in keys]
        lacking = [name for name in OF_GROUP if name not in there]
        # No text contains U+0000.
        start = str(value(self.connection, r"SELECT stepadv.signature_hash('\x00'::bytea)"))
        return Shape(list(keys), others, lacking, defaults, start)

    def execute(self, template: str, *given: Any) -> psycopg.Cursor[Any]:
        self.settle()
        return self.connection.execute(template.format(**self.parts), given or None)

    def copy(self, target: str, columns: list[str], lines: Iterable[bytes]) -> None:
        """Begins a COPY.  send passes on what the server takes without waiting, settle the rest."""
        self.settle()
        statement = f"COPY {self.parts[target]} ({listed(columns)}) FROM STDIN {COPIED_AS}"
        self.copy_in = self.copying.enter_context(self.connection.cursor().copy(statement))
        self.unsent.extend(lines)

    def send(self) -> bool:
        """Sends lines until the server would have to be waited for; true if some are left."""
        server = self.connection.pgconn
        while self.unsent and server.flush() == 0 and server.put_copy_data(self.unsent[0]) == 1:
            self.unsent.popleft()
        return len(self.unsent) > 0

    def settle(self) -> None:
        if self.unsent:
            self.copy_in.write(b"".join(self.unsent))
            self.unsent.clear()
        self.copying.close()

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Transaction]:
        with self.connection.transaction() as transaction:
            try:
                yield transaction
            except BaseException as error:
                self.unsent.clear()
                with suppress(psycopg.Error):
                    self.copying.__exit__(type(error), error, None)
                raise

    def copy_steps(self, target: str, rows: list[Row]) -> None:
        if some := [row.data for row in rows if row.lines]:
            self.copy(target, self.step_columns, some)

    # ----------
    # Rollouts that are there already
    # ----------

    def update(self, numbers: list[int], merged: dict[str, str]) -> None:
        """By INSERT ... ON CONFLICT, since Citus does not support UPDATE from a temporary table."""
        old, new = ", ".join(f"r.{name}" for name in merged), ", ".join(merged.values())
        where = f"WHERE t.n = ANY (%s) ON CONFLICT ({{k}}) DO UPDATE SET ({', '.join(merged)}) = ROW ({new})"
        self.execute(f"{INSERT} {where} WHERE ({new}) IS DISTINCT FROM ({old})", numbers)

    def source_of(self, source: str) -> str:
        """The path of a file with the part "." that its rollouts in the tables have: the same file, named in another
        way, must not become other rollouts."""
        if self.sources is None:
            self.sources = {}
            has_long = """SELECT EXISTS (SELECT 1 FROM {r} x
                WHERE x.rollout_id LIKE '%/%--%' OR x.rollout_id LIKE '% / %/%')"""
            # Metadata may be long, so it is read only once, and only if the tables have such ids.
            if "/./" in source or self.execute(has_long).fetchone() == (True,):
                found = self.execute("SELECT DISTINCT x.metadata ->> 'source' FROM {r} x").fetchall()
                self.sources = {plain_path(s): s for (s,) in found if s}
        return self.sources.get(plain_path(source), source)


def listed(names: Iterable[str], template: str = "{}", between: str = ", ") -> str:
    return between.join(template.format(quoted(name)) for name in names)


class Known(NamedTuple):
    """What the tables have of a rollout: its verdict and source, and the numbers of its steps, of those that the file
    does not have, and of those that differ in it."""

    outcome: float | None
    success: bool | None
    source: str | None
    numbers: set[int]
    gone: set[int]
    differ: set[int]


class Writer:
    """Writes the rollouts of one file.  With replace, steps that differ replace those in the tables."""

    def __init__(self, tables: Tables, tally: Tally):
        self.tables, self.tally, self.replace = tables, tally, tables.options.replace
        self.rows: dict[tuple[str, ...], Row] = {}
        self.sent: list[Row] = []  # to the temporary table
        self.size, self.behind = 0, 0  # bytes of rows, now and when send last left some

    def add(self, rollout: Rollout, place: int) -> None:
        tally = self.tally
        if self.tables.send():
            self.behind = self.size
        # By then the server has read what the kernel buffered, too, so that insert need not wait.
        is_idle = self.size - self.behind > HELD
        if is_idle:
            self.insert()
        tally.dropped.update(rollout.get("dropped") or {})
        if rollout.keys() <= {"dropped"}:
            return
        try:
            row = Row(rollout, place, self.tables.shape, self.tables.options)
        except Bad as bad:
            if bad.step is not None and "places" in rollout:
                tally.problem(rollout["places"][bad.step], str(bad))
            else:
                tally.problem(place, str(bad) if bad.step is None else f"step {bad.step + 1}: {bad}")
            return
        if rollout.get("contradictions") and not self.replace:
            for n, words in rollout["contradictions"]:
                tally.problem(n, words.format(row.key[-1], row.group), "contradictions")
            return
        tally.counts["steps known already"] += rollout.get("n_repeated", 0)
        tally.repaired.update(rollout.get("repaired") or {})
        # Write the earlier rollout with this key first, so that the two are compared.
        if row.key in self.rows:
            self.flush()
        self.rows[row.key] = row
        self.size += len(row.line) + len(row.data)
        if self.size >= (CHUNK if is_idle else 2 * CHUNK) or len(self.rows) >= MOST_ROWS:
            self.flush()

    def flush(self) -> None:
        self.insert()
        self.sent, tables = list(self.rows.values()), self.tables
        self.rows, self.size, self.behind = {}, 0, 0
        tables.execute("TRUNCATE {t}")
        tables.copy("t", ["n", *tables.columns], (b"%d\t%s" % (n, row.line) for n, row in enumerate(self.sent)))

    def insert(self) -> None:
        rows, tables = self.sent, self.tables
        self.sent = []
        if not rows:
            return
        new = set(tables.execute(INSERT + "ORDER BY {o} ON CONFLICT ({k}) DO NOTHING RETURNING {k}").fetchall())
        self.tally.counts["rollouts added"] += len(new)
        if len(new) < len(rows):
            rows = [row for row in rows if row.key in new] + self.meet_known(rows, new)
        tables.copy_steps("s", rows)
        for row in rows:
            self.tally.tell(row)

    def meet_known(self, rows: list[Row], new: set[tuple[str, ...]]) -> list[Row]:
        """Compares the rollouts that the tables have already; returns those that do not contradict them."""
        tables = self.tables
        about = {n: told for n, *told in tables.execute(KNOWN) if rows[n].key not in new}
        for n, row in enumerate(rows):
            if row.key not in new and n not in about:
                self.tally.problem(row.place, f"{row.name} was not written: a trigger or rule refused it")
        tables.execute(CREATE.format("stepadv_steps", "{all}", "{s}"))
        tables.execute("TRUNCATE {p}")
        tables.copy_steps("p", [rows[n] for n in about])
        # psycopg would take longer to read arrays.
        steps = {
            n: [set(map(int, (t or "").split())) for t in told]
            for n, *told in tables.execute(KNOWN_STEPS, list(about))
        }
        known = {n: Known(*told, *steps.get(n, (set(), set(), set()))) for n, told in about.items()}
        met = [n for n in known if self.meet(n, rows[n], known[n])]
        tables.update(met, MERGED)
        tables.update([n for n in met if rows[n].lines], RENEWED)
        return [rows[n] for n in met]

    def meet(self, n: int, row: Row, known: Known) -> bool:
        """Whether the row may be written.  Deletes steps it replaces; its lines are then those of missing steps."""
        counts = self.tally.counts
        pairs = {"outcome": (row.outcome, known.outcome), "success": (row.success, known.success)}
        said = [name for name, (mine, theirs) in pairs.items() if None not in (mine, theirs) and mine != theirs]
        if (known.differ or said) and not self.replace:
            sources = {plain_path(s) for s in (row.source, known.source) if s is not None}
            self.tally.is_of_other |= bool(known.differ) and len(sources) == 2
            which = f"step {min(known.differ)}" if known.differ else " and ".join(said)
            words = f"{which} of {row.name} differs from what was loaded before"
            self.tally.problem(row.place, words, "contradictions")
            return False
        removed = known.differ | (known.gone if self.replace and row.is_whole else set())
        if removed:
            delete = "DELETE FROM {s} x USING {t} t WHERE {same} AND t.n = %s AND x.step_no = ANY (%s)"
            self.tables.execute(delete, n, list(removed))
        kept = known.numbers - removed
        is_judged = any(mine is not None and mine != theirs for mine, theirs in pairs.values())
        counts["rollouts changed"] += bool(removed) or is_judged
        counts["rollouts known already"] += row.is_whole
        counts["steps known already"] += len(kept.intersection(row.numbers))
        if row.later is not None and known.numbers and min(known.numbers) < row.numbers[0]:
            row.lines[0] = row.later
        lines = zip(row.lines, row.numbers, strict=True)
        row.lines = [line for line, number in lines if number not in kept]
        row.data = for_copy(row.lines)
        return True
