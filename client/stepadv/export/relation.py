"""A relation with advantages: its columns, its group, its attachment, and the relation that has all steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from stepadv.database import Connection, columns_of
from stepadv.text import Failed, perhaps, quoted

OF_A_STEP = ("rollout_id", "step_no", "step_id")
TOLD = ("rollout_id", "step_no", "observation", "action")

# The relation and all relations that it reads, directly or through views, with their kinds and owners.
_BELOW = """
WITH RECURSIVE below(oid) AS (
    SELECT %s::oid
    UNION SELECT d.refobjid FROM below b JOIN pg_rewrite r ON r.ev_class = b.oid
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass)
SELECT c.oid, c.relkind::text, c.relowner FROM below b JOIN pg_class c ON c.oid = b.oid
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')"""

# Reading a view runs its owner's code, so a table of the same owner can be trusted as much.
_ATTACHMENTS = """
SELECT c.oid, c.relowner FROM pg_class c WHERE c.reloftype = 'stepadv.attachment'::regtype AND c.relkind = 'r'
AND c.relowner = ANY (%s::oid[]) AND has_table_privilege(c.oid, 'SELECT')"""


def literal(value: object) -> str:
    """A value as an SQL literal, for any standard_conforming_strings."""
    return "E'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"


class Attachment(NamedTuple):
    """The attachment of a view, or of the views that it reads."""

    values: Relation
    keys: list[str]
    kinds: dict[int, str]
    shown: int
    shown_rollouts: int | None
    options: dict[str, Any]


class Relation:
    def __init__(self, connection: Connection, oid: int) -> None:
        self.connection, self.oid = connection, oid
        query = """SELECT n.nspname, c.relname, c.relkind::text FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s"""
        schema, name, kind = connection.execute(query, (oid,)).fetchone() or ("", str(oid), "")
        self.sql, self.name = quoted(schema, name), f"{schema}.{name}"
        if kind not in tuple("rpvmf"):
            raise Failed(f"{self.name} is not a table or view")
        self.columns = columns_of(connection, schema, name)[0]

    def has_metadata(self) -> bool:
        return "metadata" in self.columns and self.columns["metadata"].base == "jsonb"

    def need(self, names: Iterable[str], why: str = "") -> None:
        for name in (name for name in names if name not in self.columns):
            hint = f"; {why}" if why else perhaps(name, self.columns)
            raise Failed(f'column "{name}" does not exist in {self.name}{hint}')

    def order(self, names: Iterable[str], alias: str = "s") -> str:
        """An order that is the same in every database: numbers by value, everything else by the bytes of its text."""
        cast = {n: "" if self.columns[n].category == "N" else '::text COLLATE "C"' for n in names}
        return ", ".join(f"{alias}.{quoted(n)}{how}" for n, how in cast.items())

    def where(self, names: Iterable[str], values: Iterable[str | None], alias: str) -> tuple[str, list[str]]:
        """A condition that columns have these values, which are texts, and its parameters; it can use an index."""
        parts, given = [], []
        for name, value in zip(names, values, strict=True):
            column = f"{alias}.{quoted(name)}".replace("%", "%%")
            parts.append(f"{column} IS NULL" if value is None else f"{column} = %s::{self.columns[name].type}")
            given += [] if value is None else [value]
        return " AND ".join(parts), given

    def rows(self, query: str, size: int = 100) -> Iterator[tuple[Any, ...]]:
        """The rows of a query through a cursor, so that neither side holds many of them."""
        with self.connection.cursor(f"stepadv_{id(query)}") as cursor:
            cursor.itersize = size
            cursor.execute(query)
            yield from cursor


class Source(Relation):
    def __init__(self, connection: Connection, oid: int, group_by: list[str] | None) -> None:
        super().__init__(connection, oid)
        self._below = connection.execute(_BELOW, (oid,)).fetchall()
        self.attachment = self._attachment()
        if group_by is None and self.attachment is not None and all(k in self.columns for k in self.attachment.keys):
            group_by = self.attachment.keys
        if not group_by:
            hint = "name them by --group-by; they are known for views of attach, and for selections of these"
            raise Failed(f"the columns of the group of {self.name} are not known: {hint}")
        self.keys = list(dict.fromkeys(group_by))
        why = "a relation of advantages has the columns of the group, rollout_id, step_no, step_id and advantage"
        self.need([*self.keys, *OF_A_STEP, "advantage"], why)
        for name in ("step_no", "advantage"):
            if self.columns[name].category != "N":
                raise Failed(f"{name} of {self.name} must be a number; its type is {self.columns[name].type}")

    def _attachment(self) -> Attachment | None:
        """The attachment of the views that the relation reads, if there is exactly one."""
        owners = sorted({owner for _, kind, owner in self._below if kind == "v"})
        found = []
        for oid, owner in self.connection.execute(_ATTACHMENTS, (owners,)).fetchall():
            query = f"""SELECT a.views::oid[], a.view_kinds, a.n_group_columns, a.shown::oid, a.shown_rollouts::oid,
                    a.options
                FROM {Relation(self.connection, oid).sql} a WHERE a.views::oid[] && %s::oid[]
                AND EXISTS (SELECT FROM pg_class v WHERE v.oid = a.views[1] AND v.relowner = %s)"""
            found += self.connection.execute(query, ([o for o, _, _ in self._below], owner)).fetchall()
        if len(found) != 1:
            return None
        views, kinds, n, shown, shown_rollouts, options = found[0]
        values = Relation(self.connection, views[0])
        kind_of = dict(zip(views, kinds, strict=True))
        return Attachment(values, list(values.columns)[:n], kind_of, shown, shown_rollouts, options or {})

    def is_of_batch_td(self) -> bool:
        kinds = self.attachment.kinds if self.attachment else {}
        below = [self.oid] if self.oid in kinds else [oid for oid, _, _ in self._below]
        return "batch_td" in {kinds.get(oid) for oid in below}

    def all_steps(self, keys: list[str], given: Relation | None) -> Relation:
        """The relation with all steps of the rollouts, not only the selected ones: as given, or the table below."""
        if given is not None:
            given.need([*keys, *TOLD], f"conversations need the columns of the group, {', '.join(TOLD)}")
            return given
        tables = [Relation(self.connection, o) for o, kind, _ in self._below if kind != "v"]
        found = [t for t in tables if all(n in t.columns for n in (*keys, *TOLD))]
        if len(found) != 1:
            hint = "name the table or view with all steps by --steps"
            raise Failed(f"the table with the conversations of {self.name} is not known: {hint}")
        return found[0]


def find(connection: Connection, name: str) -> int:
    """The oid of a relation, looked up with the user's search_path."""
    connection.execute("SET LOCAL search_path TO DEFAULT")
    oid = connection.execute("SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid", (name,)).fetchone()
    connection.execute("SET LOCAL search_path = pg_catalog, pg_temp")
    if oid is None or oid[0] is None:
        schema, _, relation = name.replace('"', "").rpartition(".")
        beside = """SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = %s AND c.relkind IN ('r', 'p', 'v', 'm')"""
        known = [other for (other,) in connection.execute(beside, (schema,))]
        raise Failed(f'relation "{name}" does not exist{perhaps(relation, known)}')
    return int(oid[0])
