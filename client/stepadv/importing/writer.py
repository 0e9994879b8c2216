"""Rollouts into the tables of a schema.

Rollouts are inserted, in one order so that two loads with the same ones wait for each other; new ones get their steps
by COPY, the others are compared with what the tables have.
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import sql

from stepadv.database import value
from stepadv.importing.format import Bad, Rollout
from stepadv.importing.rows import NO_RARE, OF_GROUP, OF_ROLLOUT, RARE, STEP_COLUMNS, Row, Settings, Shape, make_row
from stepadv.importing.tally import Tally
from stepadv.importing.values import Json
from stepadv.text import Failed

CHUNK = 4 << 20  # characters that are written at once
MOST_ROWS = 5000
COMPARED = ("turn", "observation", "action", "tool", "args", "ok", "reward")
SHAPE = """SELECT a.attname::text, k.i, pg_get_expr(d.adbin, d.adrelid)
    FROM pg_attribute a
    LEFT JOIN pg_index x ON x.indrelid = a.attrelid AND x.indisprimary
    LEFT JOIN LATERAL unnest(x.indkey::smallint[]) WITH ORDINALITY k(number, i) ON k.number = a.attnum
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = to_regclass(format('%%I.rollouts', %s::text)) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum"""
THERE = "SELECT to_regclass(format('%%I.steps', %s::text)) IS NOT NULL"
# What a rollout becomes that is there already: nothing that is known is lost.
MERGED = {
    "truncated": "r.truncated OR excluded.truncated",
    "started_at": "least(r.started_at, excluded.started_at)",
    "ended_at": "greatest(r.ended_at, excluded.ended_at)",
} | {name: f"coalesce(excluded.{name}, r.{name})" for name in ("outcome", "success", "model")}
# And if its steps have changed.
RENEWED = {"metadata": "coalesce(excluded.metadata, r.metadata)"}


def names(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def plain_path(source: str) -> str:
    return source.replace("/./", "/")


class Tables:
    """The tables of a schema, and how they are written."""

    def __init__(self, connection: psycopg.Connection, schema: str, settings: Settings):
        self.connection, self.schema, self.settings = connection, schema, settings
        self.rollouts, self.steps = sql.Identifier(schema, "rollouts"), sql.Identifier(schema, "steps")
        if value(connection, "SELECT getdatabaseencoding()") != "UTF8":
            raise Failed("rollouts cannot be loaded into a database whose encoding is not UTF8")
        self.shape = self.find_shape()
        # The bytes of U+0000 are no text's.
        self.start = str(value(connection, r"SELECT stepadv.signature_hash('\x00'::bytea)"))
        self.keys = [*self.shape.keys, "rollout_id"]
        self.columns = [*self.keys, *self.shape.others, *OF_ROLLOUT]
        self.sources: dict[str, str] | None = None
        # Where rollouts wait until it is known which of them are new.
        self.waiting = sql.Identifier("pg_temp", "stepadv_rollouts")
        create = "CREATE TEMP TABLE stepadv_rollouts ON COMMIT DELETE ROWS AS SELECT 0 AS n, {} FROM {} WHERE false"
        connection.execute(sql.SQL(create).format(names(self.columns), self.rollouts))

    def find_shape(self) -> Shape:
        rows = self.connection.execute(SHAPE, (self.schema,)).fetchall()
        there = [name for name, _, _ in rows]
        keys = {name: default for name, place, default in rows if place is not None and name != "rollout_id"}
        if not keys or not value(self.connection, THERE, self.schema):
            hint = "SELECT stepadv.create_tables(…) creates them"
            raise Failed(f'schema "{self.schema}" has no tables rollouts and steps: {hint}')
        defaults = [getattr(self.settings, name, None) for name in keys]
        for i, default in enumerate(keys.values()):
            if defaults[i] is None and default is not None:
                defaults[i] = value(self.connection, f"SELECT ({default})::text")
        others = [name for name in OF_GROUP if name in there and name not in keys]
        return Shape(list(keys), others, [name for name in OF_GROUP if name not in there], defaults)

    # ----------
    # Statements
    # ----------

    def execute(self, template: str, *given: Any) -> psycopg.Cursor:
        """With {r} and {s} for the tables, {t} for the rollouts that wait, {c} and {k} for columns and those of the
        key, {o} for an order by the key, and {same} for: of the same rollout."""
        keys = [sql.Identifier(key) for key in self.keys]
        statement = sql.SQL(template).format(
            r=self.rollouts,
            s=self.steps,
            t=self.waiting,
            c=names(self.columns),
            k=names(self.keys),
            o=sql.SQL(", ").join(sql.SQL('t.{} COLLATE "C"').format(key) for key in keys),
            same=sql.SQL(" AND ").join(sql.SQL("x.{0} = t.{0}").format(key) for key in keys),
        )
        # Citus plans some of these statements only with the values in their text.
        cursor = psycopg.ClientCursor(self.connection) if given else self.connection.cursor()
        return cursor.execute(statement, given or None)

    def copy(self, target: sql.Composable, columns: Sequence[str], lines: list[str]) -> None:
        data = "\n".join([*lines, ""]).encode()
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(target, names(columns))
        with self.connection.cursor() as cursor, cursor.copy(statement) as copy:
            for at in range(0, len(data), 1 << 18):
                copy.write(data[at : at + (1 << 18)])

    def insert_rollouts(self, rows: list[Row]) -> set[tuple[str, ...]]:
        """Those that are new."""
        self.execute("TRUNCATE {t}")
        self.copy(self.waiting, ["n", *self.columns], [f"{n}\t{row.line}" for n, row in enumerate(rows)])
        insert = "INSERT INTO {r} ({c}) SELECT {c} FROM {t} t ORDER BY {o} ON CONFLICT ({k}) DO NOTHING RETURNING {k}"
        return set(self.execute(insert).fetchall())

    def known(self) -> dict[int, tuple[Json, Json, str | None]]:
        """Of rollouts that wait and that the table has: outcome, success and source there, by their numbers."""
        query = """WITH t AS MATERIALIZED (SELECT * FROM {t})
            SELECT t.n, x.outcome, x.success, x.metadata ->> 'source' FROM t JOIN {r} x ON {same}"""
        return {n: tuple(about) for n, *about in self.execute(query).fetchall()}

    def known_steps(self, numbers: list[int]) -> dict[int, dict[int, tuple[Any, ...]]]:
        columns = ", ".join(f"x.{name}" for name in COMPARED)
        query = f"""WITH t AS MATERIALIZED (SELECT * FROM {{t}} w WHERE w.n = ANY (%s))
            SELECT t.n, x.step_no, {columns} FROM t JOIN {{s}} x ON {{same}}"""
        found: dict[int, dict[int, tuple[Any, ...]]] = {n: {} for n in numbers}
        for n, step_no, *step in self.execute(query, numbers):
            found[n][step_no] = tuple(step)
        return found

    def update_rollouts(self, numbers: list[int], merged: dict[str, str]) -> None:
        """(Citus takes no UPDATE from a temporary table.)"""
        old, new = ", ".join(f"r.{name}" for name in merged), ", ".join(merged.values())
        insert = "INSERT INTO {r} AS r ({c}) SELECT {c} FROM {t} t WHERE t.n = ANY (%s) ON CONFLICT ({k}) DO UPDATE"
        change = f" SET ({', '.join(merged)}) = ROW ({new}) WHERE ({new}) IS DISTINCT FROM ({old})"
        self.execute(insert + change, numbers)

    def delete_steps(self, number: int, step_numbers: list[int]) -> None:
        delete = "DELETE FROM {s} x USING {t} t WHERE {same} AND t.n = %s AND x.step_no = ANY (%s)"
        self.execute(delete, number, step_numbers)

    def write_steps(self, rows: list[Row]) -> int:
        lines = [line for row in rows for line in row.step_lines]
        columns = [*self.keys, *STEP_COLUMNS]
        if any(row.has_rare for row in rows):
            columns += RARE
        else:
            lines = [line[: -len(NO_RARE)] for line in lines]
        if lines:
            self.copy(self.steps, columns, lines)
        return len(lines)

    # ----------
    # What the tables know of files
    # ----------

    def source_of(self, source: str) -> str:
        """A file's path with the part "." of which its ids in the tables are made: the same file named in another way
        must not become other rollouts."""
        if self.sources is None:
            self.sources = {}
            has_long = """SELECT EXISTS (SELECT 1 FROM {r} x
                WHERE x.rollout_id LIKE '%/%--%' OR x.rollout_id LIKE '% / %/%')"""
            # Metadata may be long: they are looked at once, and only if there are such names.
            if "/./" in source or self.execute(has_long).fetchone() == (True,):
                found = self.execute("SELECT DISTINCT x.metadata ->> 'source' FROM {r} x").fetchall()
                self.sources = {plain_path(s): s for (s,) in found if s}
        return self.sources.get(plain_path(source), source)


def is_same(step: dict[str, Json], known: tuple[Any, ...]) -> bool:
    """Compared by what the source has."""
    pairs = ((step.get(name), theirs) for name, theirs in zip(COMPARED, known, strict=True))
    return all(m == t or isinstance(t, str) and m is not None and str(m) == t for m, t in pairs)


class Writer:
    """The rollouts of one file; replace: steps that differ replace those of the tables."""

    def __init__(self, tables: Tables, replace: bool):
        self.tables, self.replace = tables, replace
        self.tally = Tally()
        self.rows: dict[tuple[str, ...], Row] = {}
        self.size = 0

    def add(self, rollout: Rollout, place: int) -> None:
        tally = self.tally
        tally.dropped.update(rollout.get("dropped") or {})
        if rollout.keys() <= {"dropped"}:
            return
        try:
            row = make_row(rollout, place, self.tables.shape, self.tables.settings)
            row.make_lines(self.tables.start)
        except Bad as bad:
            places = rollout.get("places")
            if bad.step is None or places:
                tally.problem(place if bad.step is None else places[bad.step], str(bad))
            else:
                tally.problem(place, f"step {bad.step + 1}: {bad}")
            return
        if rollout.get("contradictions") and not self.replace:
            for n, words in rollout["contradictions"]:
                tally.problem(n, words.format(row.key[-1], row.group), "contradictions")
            return
        tally.counts["steps known already"] += rollout.get("n_repeated", 0)
        tally.repaired.update(rollout.get("repaired") or {})
        # The one before is then in the tables, to be compared with.
        if row.key in self.rows:
            self.flush()
        self.rows[row.key] = row
        self.size += len(row.line) + sum(map(len, row.step_lines))
        if self.size >= CHUNK or len(self.rows) >= MOST_ROWS:
            self.flush()

    def flush(self) -> None:
        rows = list(self.rows.values())
        self.rows, self.size = {}, 0
        if not rows:
            return
        new = self.tables.insert_rollouts(rows)
        written = [row for row in rows if row.key in new]
        self.tally.counts["rollouts added"] += len(written)
        if len(written) < len(rows):
            written += self.meet_known(rows, new)
        for row in written:
            self.tally.tell(row)
        self.tally.counts["steps added"] += self.tables.write_steps(written)

    def meet_known(self, rows: list[Row], new: set[tuple[str, ...]]) -> list[Row]:
        """Of rollouts that the tables have: those that do not contradict them."""
        known = {n: about for n, about in self.tables.known().items() if rows[n].key not in new}
        for n, row in enumerate(rows):
            if row.key not in new and n not in known:
                self.tally.problem(row.place, f"{row.name} was not written: a trigger or rule refused it")
        steps = self.tables.known_steps(list(known))
        met = [n for n, about in known.items() if self.meet(n, rows[n], steps[n], *about)]
        self.tables.update_rollouts(met, MERGED)
        self.tables.update_rollouts([n for n in met if rows[n].step_lines], RENEWED)
        return [rows[n] for n in met]

    def meet(self, n: int, row: Row, known: dict[int, Any], outcome: Json, success: Json, source: str | None) -> bool:
        """Whether the row may be written; its lines are then those of steps that the tables do not have."""
        counts = self.tally.counts
        numbers = {step["step_no"] for step in row.steps}
        other = [s["step_no"] for s in row.steps if s["step_no"] in known and not is_same(s, known[s["step_no"]])]
        pairs = {"outcome": (row.about.get("outcome"), outcome), "success": (row.about.get("success"), success)}
        said = [name for name, (mine, theirs) in pairs.items() if None not in (mine, theirs) and mine != theirs]
        if (other or said) and not self.replace:
            sources = [plain_path(s) for s in (source, row.about["source"]) if s is not None]
            self.tally.is_of_other |= bool(other) and len(set(sources)) == 2
            which = f"step {other[0]} of {row.name}" if other else f"{' and '.join(said)} of {row.name}"
            self.tally.problem(row.place, f"{which} differs from what was loaded before", "contradictions")
            return False
        gone = [number for number in known if number not in numbers] if self.replace and row.is_whole else []
        if other or gone:
            self.tables.delete_steps(n, other + gone)
        is_judged = any(mine is not None and mine != theirs for mine, theirs in pairs.values())
        kept = known.keys() - {*other, *gone}
        counts["rollouts changed"] += bool(other or gone) or is_judged
        counts["rollouts known already"] += row.is_whole
        counts["steps known already"] += len(numbers & kept)
        row.make_lines(self.tables.start, is_new=not known or min(numbers, default=0) < min(known))
        lines = zip(row.step_lines, row.steps, strict=True)
        row.step_lines = [line for line, step in lines if step["step_no"] not in kept]
        return True
