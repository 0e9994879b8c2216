"""Rollouts into the tables of a schema, a file in a transaction, and what became of them.

Rollouts are inserted, in one order so that two loads with the same ones wait for each other; what the tables had not
gets its steps by COPY, what they had is compared with theirs.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from stepadv.database import value
from stepadv.importing.format import Bad, Rollout, plain_path
from stepadv.importing.rows import (
    NO_RARE,
    OF_GROUP,
    OF_ROLLOUT,
    RARE,
    STEP_COLUMNS,
    Row,
    Settings,
    Shape,
    check_text,
    make_row,
    make_step_lines,
    time,
)
from stepadv.importing.values import Json
from stepadv.text import Failed

CHUNK = 4 << 20  # characters that are written at once
MOST_ROWS = 5000
MOST_PROBLEMS = 1000
COMPARED = ("turn", "observation", "action", "tool", "args", "ok", "reward")
COUNTS = ("documents_read", "bad_documents", "bad_rollouts", "contradictions", "rollouts_added", "rollouts_updated",
          "rollouts_repeated", "stepless_rollouts", "unjudged_rollouts", "steps_added", "steps_repeated", "nul_replaced")  # fmt: skip
JUDGED, TIMED, VERSIONED, WITH_STEPS = 1, 2, 4, 8  # what is known of a try


@dataclass
class Tally:
    """What became of a file, or of all of them."""

    counts: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)  # with action, state, tokens
    problems: list[tuple[int, str]] = field(default_factory=list)  # the document's number, and why
    verdicts: dict[str, set[int]] = field(default_factory=dict)  # that stood beside: where, and of which rollouts
    matched: set[str] = field(default_factory=set)  # of the user's outcomes, and the names of rollouts
    names: set[str] = field(default_factory=set)
    tries: dict[int, int] = field(default_factory=dict)  # hash of the key: what is known of it
    tasks: set[int] = field(default_factory=set)
    span: list[str] = field(default_factory=list)  # when the first began and the last ended
    usable: int = 0
    is_of_other: bool = False

    @property
    def n_problems(self) -> int:
        return sum(self.counts[name] for name in COUNTS[1:4])

    def problem(self, place: int, words: str, kind: str) -> None:
        self.counts[kind] += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append((place, words))

    def number(self, flag: int) -> int:
        """How many tries there are of which this is known."""
        return sum(bool(flags & flag) for flags in self.tries.values())

    def tell(self, row: Row) -> None:
        """A rollout that is in the tables."""
        about, counts = row.about, self.counts
        judged = about.get("outcome") is not None or about.get("success") is not None
        flags = judged * JUDGED | (about.get("started_at") is not None) * TIMED | bool(about["policy_version"]) * VERSIONED
        name = hash(row.key)
        self.tries[name] = self.tries.get(name, 0) | flags | bool(row.steps) * WITH_STEPS
        self.tasks.add(hash(row.task))
        times = [time(about[key], key) for key in ("started_at", "ended_at") if about.get(key) is not None]
        self.span = [min(self.span[:1] + times), max(self.span[1:] + times)] if times else self.span
        self.usable += 1
        counts["stepless_rollouts"] += not row.steps
        counts["unjudged_rollouts"] += not judged
        steps = self.steps
        for i, step in enumerate(row.steps):
            steps["steps"] += 1
            steps["action"] += step.get("action") is not None
            steps["state"] += i == 0 or step.get("observation") is not None
            steps["tokens"] += bool(step.get("response_token_ids"))

    def add(self, other: "Tally") -> None:
        for mine, theirs in ((self.counts, other.counts), (self.dropped, other.dropped), (self.repaired, other.repaired),
                             (self.steps, other.steps)):  # fmt: skip
            mine.update(theirs)
        for label, found in other.verdicts.items():
            self.verdicts.setdefault(label, set()).update(found)
        for name, flags in other.tries.items():
            self.tries[name] = self.tries.get(name, 0) | flags
        for mine, theirs in ((self.matched, other.matched), (self.names, other.names), (self.tasks, other.tasks)):
            mine |= theirs
        if other.span:
            self.span = [min(self.span[:1] + other.span[:1]), max(self.span[1:] + other.span[1:])]


class Tables:
    """The tables of a schema, and how they are written."""

    def __init__(self, connection: psycopg.Connection, schema: str, settings: Settings):
        self.connection, self.schema, self.settings = connection, schema, settings
        self.rollouts, self.steps = sql.Identifier(schema, "rollouts"), sql.Identifier(schema, "steps")
        if value(connection, "SELECT getdatabaseencoding()") != "UTF8":
            raise Failed("rollouts cannot be loaded into a database that is not in UTF8")
        self.shape = self.find_shape()
        # Whose bytes are those of U+0000: no text's.
        self.start = str(value(connection, r"SELECT stepadv.signature_hash('\x00'::bytea)"))
        self.keys = [*self.shape.keys, "rollout_id"]
        self.columns = [*self.keys, *self.shape.others, *OF_ROLLOUT]
        self.sources: dict[str, str] | None = None
        # COPY knows no policies.
        self.is_guarded = value(connection, "SELECT row_security_active(to_regclass(format('%%I.steps', %s::text)))", schema)
        # Where rollouts wait until it is known which of them are new; and steps, where COPY must not write them.
        create = "CREATE TEMP TABLE {name} ON COMMIT DELETE ROWS AS SELECT {columns} FROM {table} WHERE false"
        waiting = {"stepadv_rollouts": (["n", *self.columns], self.rollouts)}
        if self.is_guarded:
            waiting["stepadv_steps"] = ([*self.keys, *STEP_COLUMNS, *RARE], self.steps)
        for name, (columns, table) in waiting.items():
            listed = sql.SQL(", ").join(sql.SQL("0 AS n") if c == "n" else sql.Identifier(c) for c in columns)
            connection.execute(sql.SQL(create).format(name=sql.Identifier(name), columns=listed, table=table))

    def find_shape(self) -> Shape:
        query = """SELECT a.attname::text, k.i, pg_get_expr(d.adbin, d.adrelid)
            FROM pg_attribute a
            LEFT JOIN pg_index x ON x.indrelid = a.attrelid AND x.indisprimary
            LEFT JOIN LATERAL unnest(x.indkey::smallint[]) WITH ORDINALITY k(number, i) ON k.number = a.attnum
            LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = to_regclass(format('%%I.rollouts', %s::text)) AND a.attnum > 0 AND NOT a.attisdropped
            ORDER BY a.attnum"""
        rows = self.connection.execute(query, (self.schema,)).fetchall()
        names = [name for name, _, _ in rows]
        keys = {name: default for name, place, default in rows if place is not None and name != "rollout_id"}
        if not keys or value(self.connection, "SELECT to_regclass(format('%%I.steps', %s::text))", self.schema) is None:
            raise Failed(f'schema "{self.schema}" has no tables rollouts and steps: SELECT stepadv.create_tables(…) makes them')
        said = {"run_id": self.settings.run_id, "policy_version": self.settings.policy_version}
        otherwise = [
            value(self.connection, f"SELECT ({default})::text") if said.get(name) is None and default is not None else said.get(name)
            for name, default in keys.items()
        ]
        others = [name for name in OF_GROUP if name in names and name not in keys]
        return Shape(list(keys), others, [name for name in OF_GROUP if name not in names], otherwise)

    # ----------
    # Statements
    # ----------

    def execute(self, template: str, *given: Any) -> psycopg.Cursor:
        """With {r} and {s} for the tables, {t} for the rollouts that wait, {c} and {k} for columns and those of the key, and
        {same} for: of the same rollout."""
        return self.connection.execute(sql.SQL(template).format(
            r=self.rollouts,
            s=self.steps,
            t=sql.Identifier("pg_temp", "stepadv_rollouts"),
            c=sql.SQL(", ").join(map(sql.Identifier, self.columns)),
            k=sql.SQL(", ").join(map(sql.Identifier, self.keys)),
            same=sql.SQL(" AND ").join(sql.SQL("x.{0} = t.{0}").format(sql.Identifier(c)) for c in self.keys),
        ), given or None)  # fmt: skip

    def copy(self, target: sql.Composable, columns: Sequence[str], lines: list[str]) -> None:
        listed = sql.SQL(", ").join(map(sql.Identifier, columns))
        data = "\n".join([*lines, ""]).encode()
        with self.connection.cursor() as cursor, cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(target, listed)) as copy:
            for at in range(0, len(data), 1 << 18):
                copy.write(data[at : at + (1 << 18)])

    def insert_rollouts(self, rows: list[Row]) -> set[tuple[str, ...]]:
        """Those that are new."""
        self.execute("TRUNCATE {t}")
        lines = [f"{n}\t{row.line}" for n, row in enumerate(rows)]
        self.copy(sql.Identifier("pg_temp", "stepadv_rollouts"), ["n", *self.columns], lines)
        order = ", ".join('t."{}" COLLATE "C"'.format(c.replace('"', '""')) for c in self.keys).replace("{", "{{").replace("}", "}}")
        query = f"INSERT INTO {{r}} ({{c}}) SELECT {{c}} FROM {{t}} t ORDER BY {order} ON CONFLICT ({{k}}) DO NOTHING RETURNING {{k}}"
        return set(self.execute(query).fetchall())

    def known(self) -> dict[int, tuple[Json, Json, str | None]]:
        """Of rollouts that wait and that the table has: outcome, success and source there, by their numbers."""
        query = "WITH t AS MATERIALIZED (SELECT * FROM {t}) SELECT t.n, x.outcome, x.success, x.metadata ->> 'source' FROM t JOIN {r} x ON {same}"
        return {n: tuple(about) for n, *about in self.execute(query).fetchall()}

    def known_steps(self, numbers: list[int]) -> dict[int, dict[int, tuple[Any, ...]]]:
        columns = ", ".join(f"x.{name}" for name in COMPARED)
        query = f"WITH t AS MATERIALIZED (SELECT * FROM {{t}} w WHERE w.n = ANY (%s)) SELECT t.n, x.step_no, {columns} FROM t JOIN {{s}} x ON {{same}}"
        found: dict[int, dict[int, tuple[Any, ...]]] = {n: {} for n in numbers}
        for n, step_no, *step in self.execute(query, numbers):
            found[n][step_no] = tuple(step)
        return found

    def update_rollouts(self, numbers: list[int]) -> None:
        """What comes later of a rollout: outcomes, times.  (An UPDATE from a table of the session's is nothing that Citus
        takes.)"""
        new = """(coalesce(excluded.outcome, r.outcome), coalesce(excluded.success, r.success), r.truncated OR excluded.truncated,
            coalesce(r.model, excluded.model), least(r.started_at, excluded.started_at), greatest(r.ended_at, excluded.ended_at))"""
        old = "(r.outcome, r.success, r.truncated, r.model, r.started_at, r.ended_at)"
        self.execute(
            "INSERT INTO {r} AS r ({c}) SELECT {c} FROM {t} t WHERE t.n = ANY (%s) ON CONFLICT ({k}) DO UPDATE"
            f" SET (outcome, success, truncated, model, started_at, ended_at) = ROW {new} WHERE {new} IS DISTINCT FROM {old}", numbers)

    def replace_rollout(self, number: int) -> None:
        """With all its steps."""
        self.execute("DELETE FROM {r} x USING {t} t WHERE {same} AND t.n = %s", number)
        self.execute("INSERT INTO {r} ({c}) SELECT {c} FROM {t} t WHERE t.n = %s", number)

    def delete_steps(self, number: int, step_numbers: list[int]) -> None:
        self.execute("DELETE FROM {s} x USING {t} t WHERE {same} AND t.n = %s AND x.step_no = ANY (%s)", number, step_numbers)

    def write_steps(self, rows: list[Row]) -> int:
        lines = [line for row in rows for line in row.step_lines]
        columns = [*self.keys, *STEP_COLUMNS]
        if any(row.has_rare for row in rows):
            columns += RARE
        else:
            lines = [line[: -len(NO_RARE)] for line in lines]
        if not lines:
            return 0
        if not self.is_guarded:
            self.copy(self.steps, columns, lines)
            return len(lines)
        waiting = sql.Identifier("pg_temp", "stepadv_steps")
        self.copy(waiting, columns, lines)
        listed = sql.SQL(", ").join(map(sql.Identifier, columns))
        self.connection.execute(sql.SQL("INSERT INTO {0} ({1}) SELECT {1} FROM {2}").format(self.steps, listed, waiting))
        self.connection.execute(sql.SQL("TRUNCATE {}").format(waiting))
        return len(lines)

    # ----------
    # Names of files
    # ----------

    def source_of(self, source: str) -> str:
        """A file's path with the part "." of which its ids are made in the tables; as it was given where they have nothing
        of it: whoever names other files with it the next time must not have the same rollouts twice."""
        if self.sources is None:
            self.sources = {}
            has_long = "SELECT EXISTS (SELECT FROM {r} x WHERE x.rollout_id LIKE '%/%--%' OR x.rollout_id LIKE '% / %/%')"
            # Metadata may be long: they are looked at once, and only where there are such names.
            if "metadata" in self.columns and ("/./" in source or self.execute(has_long).fetchone() == (True,)):
                found = self.execute("SELECT DISTINCT x.metadata ->> 'source' FROM {r} x").fetchall()
                self.sources = {plain_path(s): s for (s,) in found if s}
        return self.sources.get(plain_path(source), source)

    def version_of(self, task: str, rollout: str) -> str | None:
        """Of a rollout of which the tables have a part."""
        names = [name for name in ("task_id", "group_id") if name in self.columns]
        if "policy_version" not in self.columns or not names:
            return None
        query = f"SELECT min(x.policy_version) FROM {{r}} x WHERE x.rollout_id = %s AND x.{names[0]} = %s AND x.policy_version <> ''"
        return self.execute(query, rollout, self.settings.prefix + task).fetchone()[0]  # type: ignore[index]


def is_same(step: dict[str, Json], known: tuple[Any, ...]) -> bool:
    """Compared by what the user gave."""
    pairs = ((step.get(name), theirs) for name, theirs in zip(COMPARED, known, strict=True))
    return all(m == t or isinstance(t, str) and m is not None and str(m) == t for m, t in pairs)


class Writer:
    """The rollouts of one file; replace: what says something else than the tables takes its place there."""

    def __init__(self, tables: Tables, replace: bool, noun: str = "document"):
        self.tables, self.replace, self.noun = tables, replace, noun
        self.tally = Tally()
        self.rows: dict[tuple[str, ...], Row] = {}
        self.size = 0
        self.places: dict[int, int] = {}  # of the file's rollouts, by the hash of their keys

    def add(self, rollout: Rollout, place: int) -> None:
        tally = self.tally
        tally.dropped.update(rollout.get("dropped") or {})
        if rollout.keys() <= {"dropped"}:
            # What only says what was dropped is no rollout.
            return
        places = rollout.get("places")
        try:
            row = make_row(rollout, place, self.tables.shape, self.tables.settings)
            make_step_lines(row, self.tables.start)
            check_text(row)
        except Bad as bad:
            is_line = bad.step is not None and places
            words = str(bad) if is_line or bad.step is None else f"step {bad.step + 1}: {bad}"
            tally.problem(places[bad.step] if is_line else place, words, "bad_documents" if places is not None else "bad_rollouts")
            return
        if rollout.get("contradictions") and not self.replace:
            for n, words in rollout["contradictions"]:
                tally.problem(n, words.format(row.key[-1], row.name.partition(" of group ")[2]), "contradictions")
            return
        tally.counts["steps_repeated"] += rollout.get("n_repeated", 0)
        tally.repaired.update(rollout.get("repaired") or {})
        # What was before is then in the tables to be compared with.
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
        if len(written) < len(rows):
            written += self.meet_known(rows, new)
        self.tally.counts["steps_added"] += self.tables.write_steps(written)
        self.tally.counts["rollouts_added"] += len(new)
        for row in rows:
            if row.key in new:
                self.places[hash(row.key)] = row.place
                self.tally.tell(row)

    def meet_known(self, rows: list[Row], new: set[tuple[str, ...]]) -> list[Row]:
        """Of rollouts that the tables have: those with steps to be written."""
        known = {n: about for n, about in self.tables.known().items() if rows[n].key not in new}
        for n, row in enumerate(rows):
            if row.key not in new and n not in known:
                self.tally.problem(row.place, f"{row.name} was not written: a trigger or rule refused it", "bad_rollouts")
        steps = self.tables.known_steps(list(known))
        met = [n for n, about in known.items() if self.meet(n, rows[n], steps[n], *about)]
        self.tables.update_rollouts(met)
        for n in met:
            self.tally.tell(rows[n])
        return [rows[n] for n in met]

    def meet(self, n: int, row: Row, known: dict[int, Any], outcome: Json, success: Json, source: str | None) -> bool:
        """Whether anything of the row may be written; its lines are then those that the tables have not."""
        tally, counts = self.tally, self.tally.counts
        numbers = {step["step_no"] for step in row.steps}
        other = [s["step_no"] for s in row.steps if s["step_no"] in known and not is_same(s, known[s["step_no"]])]
        gone = [number for number in known if number not in numbers] if row.is_whole else []
        mine, theirs = (row.about.get("outcome"), row.about.get("success")), (outcome, success)
        said = [f for f, m, t in zip(("outcome", "success"), mine, theirs, strict=True) if None not in (m, t) and m != t]
        before = self.places.get(hash(row.key))
        if before is not None and row.is_whole and not self.replace:
            # Of two of one name in a file the first; the same once more is counted.
            if other or gone or numbers - known.keys() or mine[0] != outcome:
                tally.problem(row.place, f"{row.name} is another than the one of that name in {self.noun} {before}", "bad_rollouts")
            counts["rollouts_repeated"] += not other
            counts["steps_repeated"] += len(numbers & known.keys()) if not other else 0
            return False
        if (other or said) and not self.replace:
            same = source is None or row.about["source"] is None or plain_path(source) == plain_path(row.about["source"])
            tally.is_of_other = tally.is_of_other or bool(other) and not same
            words = f"step {other[0]} of {row.name} is not what the table has" if other else f"{row.name} has more than one {' and '.join(said)}"
            tally.problem(row.place, words, "contradictions")
            return False
        if self.replace and row.is_whole and (other or gone or said):
            self.tables.replace_rollout(n)
            known = {}
        elif other:
            self.tables.delete_steps(n, other)
        counts["rollouts_updated"] += bool(self.replace and (other or gone)) or any(m is not None and m != t for m, t in zip(mine, theirs, strict=True))
        counts["rollouts_repeated"] += row.is_whole
        kept = {number for number in known if number not in other}
        counts["steps_repeated"] += len(numbers & kept)
        first = min(known, default=None)
        make_step_lines(row, self.tables.start, is_new=first is None or any(number < first for number in numbers))
        row.step_lines = [line for line, step in zip(row.step_lines, row.steps, strict=True) if step["step_no"] not in kept]
        return True
