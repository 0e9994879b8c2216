"""For a training loop: rollouts go into the canonical tables, their advantages come back as arrays.

    import psycopg, stepadv
    batch = stepadv.insert(connection, rollouts, steps)
    rtmc = stepadv.advantages(connection, batch, methods=["rtmc"])["rtmc"]    # rtmc[i][n]: of step n of rollouts[i]

rollouts: a dict per rollout, of columns of <schema>.rollouts; steps: for each of them a list of dicts, of columns
of <schema>.steps, in the order of its steps.  A group's rollouts that are there already count for its advantages.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from stepadv.text import nearest, quoted

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

Row = Mapping[str, Any]
Rows = Sequence[Row]
# Names are those of PostgreSQL's catalog, whoever may create others; and the check of a foreign key is planned once,
# not for every step.
_SETTINGS = {"search_path": "pg_catalog, pg_temp", "plan_cache_mode": "force_generic_plan", "jit": "off"}
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, NULL), coalesce(pg_get_expr(d.adbin, d.adrelid), ''),
    a.attnum = ANY (SELECT unnest(i.indkey) FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary)
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""


@dataclass(frozen=True)
class Batch:
    """What was inserted: the columns of the group, and of each rollout its group and id, and how many steps it has."""

    schema: str
    keys: tuple[str, ...]
    rollouts: list[tuple[Any, ...]]
    lengths: list[int]


@contextmanager
def _our_settings(connection: Connection) -> Iterator[None]:
    """A transaction, or a part of one, after which settings are what they were."""
    change = "SELECT pg_catalog.current_setting(%(name)s), pg_catalog.set_config(%(name)s, %(value)s, true)"
    with connection.transaction():
        before = {n: connection.execute(change, {"name": n, "value": v}).fetchone() for n, v in _SETTINGS.items()}
        yield
        for name, (value, _) in before.items():
            connection.execute(change, {"name": name, "value": value})


def _columns(connection: Connection, schema: str, table: str) -> dict[str, tuple[str, str, bool]]:
    """Of each column its type, its default, and whether it is of the primary key."""
    if found := {row[0]: row[1:] for row in connection.execute(_COLUMNS, (quoted(schema, table),))}:
        return found
    raise ValueError(f"there is no table {schema}.{table}: SELECT stepadv.create_tables('{schema}')")


def _copy(connection: Connection, schema: str, table: str, rows: list[Row], types: Row) -> None:
    """COPY of what the rows have; what some of them have not is NULL."""
    from psycopg.types.json import Jsonb

    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        if name not in types:
            hint = f'; perhaps you meant "{near}"' if (near := nearest(name, types)) else ""
            raise ValueError(f'{schema}.{table} has no column "{name}"{hint}')

    def plain(value: Any, type: str) -> Any:
        if value is not None and type == "jsonb":
            return Jsonb(value)
        return value.tolist() if hasattr(value, "tolist") else value

    copy = f"COPY {quoted(schema, table)} ({', '.join(map(quoted, names))}) FROM STDIN (FORMAT binary)"
    with connection.cursor() as cursor, cursor.copy(copy) as out:
        out.set_types([types[name][0] for name in names])
        for row in rows:
            out.write_row([plain(row.get(name), types[name][0]) for name in names])


def insert(connection: Connection, rollouts: Rows, steps: Sequence[Rows], schema: str = "rl") -> Batch:
    """Inserts rollouts with all their steps, or nothing; commits, unless the connection is within a transaction."""
    if len(rollouts) != len(steps):
        raise ValueError(f"{len(rollouts)} rollouts, but steps of {len(steps)}")
    made: dict[str, list[Row]] = {"rollouts": [], "steps": []}
    with _our_settings(connection):
        types = {table: _columns(connection, schema, table) for table in ("rollouts", "steps")}
        keys = tuple(name for name, (_, _, key) in types["rollouts"].items() if key and name != "rollout_id")
        for i, rollout in enumerate(rollouts):
            key = {name: rollout.get(name) for name in (*keys, "rollout_id")}
            for name in (name for name in key if key[name] is None):
                if types["rollouts"][name][1] != "''::text":
                    raise ValueError(f"rollout {i} has no {name}")
                key[name] = ""
            made["rollouts"].append({**rollout, **key})
            made["steps"] += ({"step_no": n, **step, **key} for n, step in enumerate(steps[i]))
        for table in (table for table, rows in made.items() if rows):
            _copy(connection, schema, table, made[table], types[table])
    ids = [tuple(row[name] for name in (*keys, "rollout_id")) for row in made["rollouts"]]
    return Batch(schema, keys, ids, list(map(len, steps)))


def advantages(connection: Connection, batch: Batch, methods: Sequence[str] = ("rtmc",)) -> dict[str, list[array]]:
    """By method, of each rollout of the batch an array with a number for each of its steps; NaN: it is not judged."""
    with _our_settings(connection):
        return {method: _of_method(connection, batch, method) for method in methods}


def _of_method(connection: Connection, batch: Batch, method: str) -> list[array]:
    view = quoted(batch.schema, f"steps_{method}")
    if connection.execute("SELECT to_regclass(%s) IS NULL", (view,)).fetchone() == (True,):
        hint = f"SELECT stepadv.add_views('{batch.schema}.rollout_rows', '{{{method}}}')"
        raise ValueError(f"there is no view {batch.schema}.steps_{method}: {hint}")
    found: dict[tuple[Any, ...], list[tuple[int, float]]] = {rollout: [] for rollout in batch.rollouts}
    names = ", ".join(f"x.{quoted(name)}" for name in (*batch.keys, "rollout_id"))
    # The arrays bring the condition to the index; of their combinations some may be of no rollout of the batch.
    where = " AND ".join(f"x.{quoted(name).replace('%', '%%')} = ANY (%s)" for name in batch.keys)
    with connection.cursor(binary=True) as cursor:
        query = f"SELECT {names}, x.step_no, x.advantage FROM {view} x".replace("%", "%%")
        values = [sorted({rollout[k] for rollout in batch.rollouts}) for k in range(len(batch.keys))]
        cursor.execute(f"{query} WHERE {where} AND x.step_no IS NOT NULL", values)
        for *rollout, step_no, advantage in cursor:
            if tuple(rollout) in found:
                found[tuple(rollout)].append((step_no, math.nan if advantage is None else advantage))
    for (name, rows), n in zip(found.items(), batch.lengths, strict=True):
        if len(rows) != n:
            hint = f"and {n} were inserted: {batch.schema}.steps_problems says why"
            raise ValueError(f"rollout {name} has {len(rows)} steps in {batch.schema}.steps_{method}, {hint}")
    return [array("d", (advantage for _, advantage in sorted(rows))) for rows in found.values()]


def per_token(advantages: Sequence[float], mask: Sequence[float]) -> list[float]:
    """A number per token: a turn is a run of the mask that is not 0; the first has the first advantage, and so on."""
    begins = [bool(token) and (i == 0 or not mask[i - 1]) for i, token in enumerate(mask)]
    if sum(begins) != len(advantages):
        raise ValueError(f"the mask has {sum(begins)} turns, and there are advantages of {len(advantages)}")
    return [advantages[turn - 1] if token else 0.0 for turn, token in zip(accumulate(begins), mask, strict=True)]
