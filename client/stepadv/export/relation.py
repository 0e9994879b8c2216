"""A relation of advantages: its columns, its group, the attachment it comes from, and where all steps are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from stepadv.text import Failed, nearest

INTEGERS = ("smallint", "integer", "bigint")
NUMBERS = (*INTEGERS, "real", "double precision", "numeric")
OF_A_STEP = ("rollout_id", "step_no", "step_id")
TOLD = ("rollout_id", "step_no", "observation", "action")

_COLUMNS = """
WITH RECURSIVE under(number, type) AS (
    SELECT a.attnum, a.atttypid FROM pg_attribute a WHERE a.attrelid = %(oid)s AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT u.number, t.typbasetype FROM under u JOIN pg_type t ON t.oid = u.type WHERE t.typbasetype <> 0)
SELECT a.attname, format_type(a.atttypid, a.atttypmod), format_type(u.type, NULL), t.typcategory
FROM under u JOIN pg_attribute a ON a.attrelid = %(oid)s AND a.attnum = u.number JOIN pg_type t ON t.oid = u.type
WHERE t.typbasetype = 0 ORDER BY a.attnum"""

# What the query of a view names, and so on, and who owns it.
_BELOW = """
WITH RECURSIVE below(oid) AS (
    SELECT %(oid)s::oid
    UNION SELECT d.refobjid FROM below b JOIN pg_rewrite r ON r.ev_class = b.oid
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass)
SELECT c.oid, c.relkind::text, c.relowner FROM below b JOIN pg_class c ON c.oid = b.oid
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')"""

# Reading a view runs its owner's code, so that a table of the same owner is trusted as much.
_ATTACHMENTS = """
SELECT c.oid, c.relowner FROM pg_class c WHERE c.reloftype = 'stepadv.attachment'::regtype AND c.relkind = 'r'
AND c.relowner = ANY (%s::oid[]) AND has_table_privilege(c.oid, 'SELECT')"""


def quoted(name: str) -> str:
    """A name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """A value as SQL, whatever the server thinks of backslashes."""
    return "E'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"


@dataclass(frozen=True)
class Column:
    """A column: its type, what lies under that type's domains, and the category of this."""

    type: str
    base: str
    category: str


@dataclass(frozen=True)
class Attachment:
    """What is known of the views that a relation is, or is made of."""

    values: Relation
    keys: list[str]
    kinds: dict[int, str]
    shown: int
    shown_rollouts: int | None
    options: dict[str, Any]


class Relation:
    """A table or view."""

    def __init__(self, connection: psycopg.Connection[Any], oid: int) -> None:
        """Reads its columns."""
        self.connection, self.oid = connection, oid
        row = connection.execute(
            "SELECT n.nspname, c.relname, c.relkind::text"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s",
            (oid,),
        ).fetchone()
        if row is None:
            raise Failed(f"relation {oid} does not exist")
        self.sql = f"{quoted(row[0])}.{quoted(row[1])}"
        self.name = f"{row[0]}.{row[1]}"
        if row[2] not in "rpvmf":
            raise Failed(f"{self.name} is not a table or view")
        self.columns = {c[0]: Column(*c[1:]) for c in connection.execute(_COLUMNS, {"oid": oid})}

    def need(self, names: Iterable[str], why: str = "") -> None:
        """Says which column is missing."""
        for name in names:
            if name not in self.columns:
                near = nearest(name, self.columns)
                raise Failed(
                    f'column "{name}" does not exist in {self.name}'
                    + (f"; {why}" if why else f'; perhaps you meant "{near}"' if near else "")
                )

    def order(self, names: Iterable[str], alias: str = "s") -> str:
        """The same in every database: numbers as numbers, everything else by the bytes of its text."""
        return ", ".join(
            f"{alias}.{quoted(n)}" + ("" if self.columns[n].base in (*INTEGERS, "numeric") else '::text COLLATE "C"')
            for n in names
        )

    def where(self, names: Iterable[str], values: Iterable[str | None], alias: str) -> tuple[str, list[str]]:
        """The condition that columns have these values, given as texts, that an index can answer; its parameters."""
        parts, given = [], []
        for name, value in zip(names, values, strict=True):
            column = f"{alias}.{quoted(name)}".replace("%", "%%")
            if value is None:
                parts.append(f"{column} IS NULL")
            else:
                parts.append(f"{column} = %s::{self.columns[name].type}")
                given.append(value)
        return " AND ".join(parts), given

    def rows(self, query: str, size: int = 100) -> Iterator[tuple[Any, ...]]:
        """Rows of a query as they come: neither side holds many of them."""
        with self.connection.cursor(f"stepadv_{id(query)}") as cursor:
            cursor.itersize = size
            cursor.execute(query)
            yield from cursor


class Source(Relation):
    """A relation of advantages."""

    def __init__(self, connection: psycopg.Connection[Any], oid: int, group_by: list[str] | None) -> None:
        """Finds its group and its attachment."""
        super().__init__(connection, oid)
        self._below = connection.execute(_BELOW, {"oid": oid}).fetchall()
        self.attachment = self._attachment()
        if group_by is None and self.attachment is not None and all(k in self.columns for k in self.attachment.keys):
            group_by = self.attachment.keys
        if not group_by:
            raise Failed(
                f"the columns of the group of {self.name} are not known: name them by --group-by;"
                " they are known of views of attach, and of selections of these"
            )
        if len(set(group_by)) < len(group_by):
            raise Failed(f"--group-by names a column twice: {', '.join(group_by)}")
        self.keys = group_by
        self.need(
            [*self.keys, *OF_A_STEP],
            "a relation of advantages has the columns of the group, rollout_id, step_no, step_id and advantage",
        )
        if self.columns["step_no"].base not in INTEGERS:
            raise Failed(f"step_no of {self.name} must be an integer, not {self.columns['step_no'].type}")

    def _attachment(self) -> Attachment | None:
        """That whose views are below, if it is one."""
        owners = sorted({owner for _, kind, owner in self._below if kind == "v"})
        found = []
        for oid, owner in self.connection.execute(_ATTACHMENTS, (owners,)).fetchall():
            found += self.connection.execute(
                "SELECT a.views::oid[], a.view_kinds, a.n_group_columns, a.shown::oid, a.shown_rollouts::oid,"
                f" a.options FROM {Relation(self.connection, oid).sql} a"
                f" WHERE a.views::oid[] && ARRAY{[o for o, _, _ in self._below]}::oid[]"
                f" AND EXISTS (SELECT FROM pg_class v WHERE v.oid = a.views[1] AND v.relowner = {owner})"
            ).fetchall()
        if len(found) != 1:
            return None
        views, kinds, n, shown, shown_rollouts, options = found[0]
        values = Relation(self.connection, views[0])
        kind_of = dict(zip(views, kinds, strict=True))
        return Attachment(values, list(values.columns)[:n], kind_of, shown, shown_rollouts, options or {})

    def kind(self) -> str | None:
        """Which view of the attachment it is; of a selection whether it is of batch_td."""
        if self.attachment is None:
            return None
        if self.oid in self.attachment.kinds:
            return self.attachment.kinds[self.oid]
        found = {self.attachment.kinds[o] for o, _, _ in self._below if o in self.attachment.kinds}
        return "batch_td" if "batch_td" in found else None

    def all_steps(self, keys: list[str], given: Relation | None) -> Relation:
        """Where the steps of the rollouts all are, not only those chosen: the table below."""
        if given is not None:
            given.need(
                [*keys, *TOLD],
                "where conversations are, there are the columns of the group, rollout_id,"
                " step_no, observation and action",
            )
            return given
        tables = [Relation(self.connection, o) for o, kind, _ in self._below if kind != "v"]
        found = [t for t in tables if all(n in t.columns for n in (*keys, *TOLD))]
        if len(found) != 1:
            raise Failed(
                f"where the conversations of {self.name} are is not known:"
                " name the table or view of all steps by --steps"
            )
        return found[0]


def find(connection: psycopg.Connection[Any], name: str) -> int:
    """The relation that somebody means by a name, on their own search_path."""
    connection.execute("SET LOCAL search_path TO DEFAULT")
    oid = connection.execute("SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid", (name,)).fetchone()
    connection.execute("SET LOCAL search_path = pg_catalog, pg_temp")
    if oid is None or oid[0] is None:
        raise Failed(f'relation "{name}" does not exist')
    return oid[0]
