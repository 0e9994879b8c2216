"""For a training loop: inserts rollouts into the canonical tables and returns their advantages as arrays.

    import psycopg, stepadv
    batch = stepadv.insert(connection, rollouts, steps)
    rtmc = stepadv.advantages(connection, batch, methods=["rtmc"])["rtmc"]    # rtmc[i][n]: step n of rollouts[i]

rollouts has a dict for each rollout, with columns of <schema>.rollouts.  steps has a list for each rollout: a dict for
each step, in order, with columns of <schema>.steps.  Rollouts that a group already has count for its advantages.
"""

import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from stepadv import binary
from stepadv.binary import Parts, Rows
from stepadv.database import Connection, columns_of, our_settings
from stepadv.text import quoted

Arrays = list["array[float]"]  # one for each rollout


@dataclass(frozen=True)
class Batch:
    """An inserted batch: the key columns of groups; for each rollout, the key with its id, and the number of steps."""

    schema: str
    keys: tuple[str, ...]
    rollouts: list[tuple[Any, ...]]
    lengths: list[int]


def insert(connection: Connection, rollouts: Rows, steps: Sequence[Rows], schema: str = "rl") -> Batch:
    """Inserts all rollouts with their steps, or nothing; commits unless the connection is in a transaction."""
    if len(rollouts) != len(steps):
        raise ValueError(f"rollouts and steps differ in length: {len(rollouts)} and {len(steps)}")
    made: list[dict[str, Any]] = []
    with our_settings(connection):
        types = dict(zip(("rollouts", "steps"), columns_of(connection, schema, "rollouts", "steps"), strict=True))
        for table in (table for table in types if not types[table]):
            raise ValueError(f"there is no table {schema}.{table}: SELECT stepadv.create_tables('{schema}')")
        keys = tuple(name for name, c in types["rollouts"].items() if c.is_key and name != "rollout_id")
        for i, rollout in enumerate(rollouts):
            key = {name: rollout.get(name) for name in (*keys, "rollout_id")}
            for name in (name for name in key if key[name] is None):
                if types["rollouts"][name].default != "''::text":
                    raise ValueError(f"rollout {i} has no {name}")
                key[name] = ""
            made.append({**rollout, **key})
        ids = [{name: row[name] for name in (*keys, "rollout_id")} for row in made]
        tables: dict[str, Parts] = {"rollouts": [({}, made)], "steps": list(zip(ids, steps, strict=True))}
        for table in (table for table, parts in tables.items() if any(rows for _, rows in parts)):
            binary.copy(connection, schema, table, tables[table], types[table])
    return Batch(schema, keys, [tuple(key.values()) for key in ids], list(map(len, steps)))


def advantages(connection: Connection, batch: Batch, methods: Sequence[str] = ("rtmc",)) -> dict[str, Arrays]:
    """For each method and rollout of the batch, an array with a number per step; NaN if the rollout is not judged."""
    with our_settings(connection):
        # Methods that steps_compare has share one fold of the groups.
        beside = columns_of(connection, batch.schema, "steps_compare")[0] if len(methods) > 1 else {}
        together = {method: method for method in methods if method in beside}
        found = _of_view(connection, batch, "steps_compare", together) if together else {}
        for method in (method for method in methods if method not in together):
            if not columns_of(connection, batch.schema, f"steps_{method}")[0]:
                hint = f"SELECT stepadv.add_views('{batch.schema}.rollout_rows', '{{{method}}}')"
                raise ValueError(f"there is no view {batch.schema}.steps_{method}: {hint}")
            found |= _of_view(connection, batch, f"steps_{method}", {method: "advantage"})
        return {method: found[method] for method in methods}


def _of_view(connection: Connection, batch: Batch, view: str, columns: dict[str, str]) -> dict[str, Arrays]:
    """Reads each method's column for each rollout.  One row per rollout, with all numbers in one value, takes a tenth
    of the time of a row per step."""
    sent = "".join(f" || string_agg(float8send(coalesce(x.{quoted(c)}, 'NaN')), '')" for c in columns.values())
    # One group at a time: for all groups at once the planner may choose an index scan that reads far more rows.
    groups = sorted({rollout[:-1] for rollout in batch.rollouts})
    values = [[group[k] for group in groups] for k in range(len(batch.keys))]
    keys, asked = ", ".join(map(quoted, batch.keys)), ", ".join("\0::text[]" for _ in batch.keys)
    where = " AND ".join(f"x.{name} = k.{name}" for name in map(quoted, batch.keys))
    query = f"""SELECT k.step_no - 1, q.* FROM unnest({asked}) WITH ORDINALITY k({keys}, step_no) CROSS JOIN LATERAL (
        SELECT x.rollout_id, string_agg(int4send(x.step_no), ''){sent} FROM {quoted(batch.schema, view)} x
        WHERE {where} AND x.step_no IS NOT NULL GROUP BY x.rollout_id) q""".replace("%", "%%").replace("\0", "%s")
    place = {rollout: i for i, rollout in enumerate(batch.rollouts)}
    found: dict[str, Arrays] = {method: [array("d") for _ in place] for method in columns}
    with connection.cursor(binary=True) as cursor:
        for group, rollout_id, numbers in cursor.execute(query, values):
            n = len(numbers) // (4 + 8 * len(columns))
            step_no, estimates = array("i", numbers[: 4 * n]), array("d", numbers[4 * n :])
            for sent_as in (step_no, estimates) if sys.byteorder == "little" else ():
                sent_as.byteswap()
            order = sorted(range(n), key=step_no.__getitem__)
            if (i := place.get((*groups[group], rollout_id))) is not None:
                for k, rows in enumerate(found.values()):
                    part = estimates[n * k : n * (k + 1)]
                    rows[i] = part if order == list(range(n)) else array("d", map(part.__getitem__, order))
    for i, n in enumerate(batch.lengths):
        for rows in (rows for rows in found.values() if len(rows[i]) != n):
            hint = f"and {n} were inserted: {batch.schema}.steps_problems says why"
            raise ValueError(f"rollout {batch.rollouts[i]} has {len(rows[i])} steps in {batch.schema}.{view}, {hint}")
    return found


def per_token(advantages: Sequence[float], mask: Sequence[float]) -> list[float]:
    """A number per token: the nth turn, a run of nonzero mask values, gets the nth advantage; other tokens get 0."""
    begins = [bool(token) and (i == 0 or not mask[i - 1]) for i, token in enumerate(mask)]
    if sum(begins) != len(advantages):
        raise ValueError(f"turns of the mask and advantages differ in number: {sum(begins)} and {len(advantages)}")
    return [advantages[turn - 1] if token else 0.0 for turn, token in zip(accumulate(begins), mask, strict=True)]
