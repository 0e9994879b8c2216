"""The views of an attachment that a report reads, and the roles of their columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from stepadv.text import Failed

# Columns that the views add before those of the user.
KEYS_OF_A_STEP = ("rollout_id", "step_no", "step_id", "success")
# Columns that may have the text of a step; the first that exists is used.
OBSERVATIONS = ("observation", "state_text", "obs")
ACTIONS = ("action", "response", "act")
RESULTS = ("result", "next_observation", "next_obs")
INTEGERS = {"smallint", "integer", "bigint"}
HASHED = {"text", "uuid", "bytea", "jsonb"}


@dataclass
class Source:
    """One attachment: its schema, prefix and columns."""

    connection: psycopg.Connection[Any]
    schema: str
    prefix: str
    key: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    methods: list[str] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)
    observation: str | None = None
    action: str | None = None
    result: str | None = None
    tool: str | None = None
    value_method: str | None = None

    @property
    def title(self) -> str:
        """The name of the attachment."""
        return f"{self.schema}.{self.prefix}"

    def view(self, suffix: str) -> sql.Identifier:
        """The name of a view of the attachment."""
        return sql.Identifier(self.schema, f"{self.prefix}_{suffix}")

    def columns(self, suffix: str) -> dict[str, str]:
        """Names and types of the columns of a view, in order; empty if there is no such view."""
        rows = self.connection.execute(
            "SELECT a.attname, pg_catalog.format_type(a.atttypid, NULL) FROM pg_catalog.pg_attribute a"
            " JOIN pg_catalog.pg_class c ON c.oid = a.attrelid"
            " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
            (self.schema, f"{self.prefix}_{suffix}"),
        )
        return dict(rows.fetchall())

    def key_list(self, alias: str) -> sql.Composable:
        """The group's key columns, qualified by the alias."""
        return sql.SQL(", ").join(sql.Identifier(alias, name) for name in self.key)

    def key_filter(self, alias: str, key: tuple[Any, ...]) -> tuple[sql.Composable, list[Any]]:
        """The condition for one group and its parameters.  Uses = where possible, so that an index can be used."""
        parts: list[sql.Composable] = []
        values = []
        for name, value in zip(self.key, key, strict=True):
            column = sql.Identifier(alias, name)
            if value is None:
                parts.append(sql.SQL("{} IS NULL").format(column))
            else:
                parts.append(sql.SQL("{} = %s").format(column))
                values.append(value)
        return sql.SQL(" AND ").join(parts), values

    def identity(self, alias: str, column: str) -> sql.Composable:
        """The id that rollout_agg reads: an integer as it is, anything else as its hash."""
        name = sql.Identifier(alias, column)
        kind = self.types.get(column, "text")
        if kind in INTEGERS:
            return sql.SQL("{}::bigint").format(name)
        if kind in HASHED:
            return sql.SQL("stepadv.signature_hash({})").format(name)
        return sql.SQL("stepadv.signature_hash({}::text)").format(name)


def _first(columns: dict[str, str], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in columns), None)


def _own_attachments(connection: psycopg.Connection[Any]) -> list[str]:
    """The attachments of the current user; those of other users are read only if they are named."""
    rows = connection.execute(
        "SELECT n.nspname || '.' || pg_catalog.regexp_replace(c.relname, '_attachment$', '') FROM pg_catalog.pg_class c"
        " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_catalog.pg_roles r ON r.oid = c.relowner"
        " WHERE c.reloftype = pg_catalog.to_regtype('stepadv.attachment') AND r.rolname = current_user"
        " AND c.relname LIKE '%\\_attachment' ORDER BY 1"
    )
    return [name for (name,) in rows.fetchall()]


def find(connection: psycopg.Connection[Any], attachment: str | None, **texts: str | None) -> Source:
    """The named attachment, or the only one of the current user."""
    if attachment is None:
        own = _own_attachments(connection)
        if len(own) != 1:
            raise Failed(
                f"several attachments are yours: name one of {', '.join(own[:8])}" if own
                else "no attachment of yours was found: name one, such as rl.steps"
            )
        attachment = own[0]
    schema, _, prefix = attachment.rpartition(".")
    if not schema:
        raise Failed(f'name the schema of "{attachment}", too, such as rl.{attachment}')
    source = Source(connection, schema, prefix)
    compare = source.columns("compare")
    missing = [s for s in ("compare", "groups", "rollouts", "values") if not source.columns(s)]
    if missing:
        made = connection.execute("SELECT source::text FROM stepadv.attachments() WHERE schema = %s AND prefix = %s",
                                  (schema, prefix)).fetchone()
        hint = f": make it with stepadv.add_views('{made[0]}', '{{{','.join(missing)}}}')" if made else ""
        raise Failed(f'no view "{prefix}_{missing[0]}" in schema "{schema}"{hint}')
    _read_columns(source, compare, texts)
    return source


def _read_columns(source: Source, compare: dict[str, str], texts: dict[str, str | None]) -> None:
    names = list(compare)
    source.types = compare
    source.key = names[: names.index("rollout_id")]
    after = names.index("success") + 1
    methods = source.comments = _methods(source.connection)
    for name in names[after:]:
        if compare[name] != "double precision" or (methods and name not in methods and source.methods):
            break
        source.methods.append(name)
    source.observation = texts.get("observation") or _first(compare, OBSERVATIONS) or (
        "state" if compare.get("state") in ("text", "character varying") else None)
    source.action = texts.get("action") or _first(compare, ACTIONS)
    source.result = texts.get("result") or _first(compare, RESULTS)
    source.tool = _first(compare, ("tool",))
    for text in (source.observation, source.action, source.result):
        if text is not None and text not in compare:
            raise Failed(f'column "{text}" does not exist in view "{source.prefix}_compare"')
    needed = {"q", "v", "n_state", "n_action"}
    source.value_method = next((m for m in source.methods if needed <= set(source.columns(m))), None)


def _methods(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """The functions that return an advantage per step, with their comments."""
    rows = connection.execute(
        "SELECT DISTINCT ON (p.proname) p.proname, coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), '')"
        " FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace"
        " WHERE n.nspname = 'stepadv' AND 'advantage' = ANY (p.proargnames) ORDER BY p.proname, p.oid"
    )
    return dict(rows.fetchall())
