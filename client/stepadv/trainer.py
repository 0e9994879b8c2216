"""For a training loop: rollouts go into the canonical tables, their advantages come back as arrays.

    import psycopg, stepadv
    batch = stepadv.insert(connection, rollouts, steps)
    rtmc = stepadv.advantages(connection, batch, methods=["rtmc"])["rtmc"]    # rtmc[i][n]: of step n of rollouts[i]

rollouts: a dict per rollout, of columns of <schema>.rollouts; steps: for each of them a list of dicts, of columns
of <schema>.steps, in the order of its steps.  A group's rollouts that are there already count for its advantages.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from stepadv.text import nearest, quoted

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

Row = Mapping[str, Any]
Rows = Sequence[Row]
# Names are those of PostgreSQL's catalog, whoever may create others; and the check of a foreign key is planned once,
# not for every step.  Citus has no generic plans.
_SETTINGS = {"search_path": "pg_catalog, pg_temp", "plan_cache_mode": "force_generic_plan", "jit": "off"}
# How struct packs a number of an array, and the type of it.
_ARRAYS = {"real[]": ("f", 700), "integer[]": ("i", 23)}
_COLUMNS = """
SELECT r.name, a.attname, format_type(a.atttypid, NULL), coalesce(pg_get_expr(d.adbin, d.adrelid), ''),
    coalesce(a.attnum = ANY (i.indkey), false)
FROM unnest(%s::text[]) r(name) JOIN pg_attribute a ON a.attrelid = to_regclass(r.name)
LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum"""
# What COPY begins with, and how many rows it is given at a time: the server works on them while we make the next.
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_SENT_AT_ONCE = 500


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
    change = """SELECT s.name, pg_catalog.current_setting(s.name), pg_catalog.set_config(s.name, s.value, true)
        FROM ROWS FROM (pg_catalog.unnest(%s::pg_catalog.text[]), pg_catalog.unnest(%s::pg_catalog.text[]))
        s(name, value) WHERE s.name OPERATOR(pg_catalog.<>) 'plan_cache_mode'
            OR pg_catalog.to_regclass('pg_catalog.pg_dist_partition') IS NULL"""
    with connection.transaction():
        before = connection.execute(change, (list(_SETTINGS), list(_SETTINGS.values()))).fetchall()
        yield
        connection.execute(change, ([name for name, _, _ in before], [value for _, value, _ in before]))


def _found(connection: Connection, schema: str, *relations: str) -> list[dict[str, tuple[str, str, bool]]]:
    """Of each relation, of each column its type, its default, and whether it is of the primary key."""
    names = [quoted(schema, relation) for relation in relations]
    found: dict[str, dict[str, tuple[str, str, bool]]] = {name: {} for name in names}
    for relation, column, *known in connection.execute(_COLUMNS, (names,)):
        found[relation][column] = tuple(known)
    return list(found.values())


def _copy(connection: Connection, schema: str, table: str, rows: list[Row], types: Row) -> None:
    """COPY of what the rows have; what some of them have not is NULL."""
    from psycopg.pq import Format

    names = list(dict.fromkeys(chain.from_iterable(rows)))
    for name in names:
        if name not in types:
            hint = f'; perhaps you meant "{near}"' if (near := nearest(name, types)) else ""
            raise ValueError(f'{schema}.{table} has no column "{name}"{hint}')
    sent, head = [], struct.pack("!h", len(names))
    for name, type in ((name, types[name][0]) for name in names):
        dumper = connection.adapters.get_dumper_by_oid(connection.adapters.types.get_oid(type), Format.BINARY)
        sent.append((name, type, dumper(list if type.endswith("[]") else object, connection).dump))
    copy = f"COPY {quoted(schema, table)} ({', '.join(map(quoted, names))}) FROM STDIN (FORMAT binary)"
    with connection.cursor() as cursor, cursor.copy(copy) as out:
        out.write(_SIGNATURE)
        for i in range(0, len(rows), _SENT_AT_ONCE):
            some = rows[i : i + _SENT_AT_ONCE]
            fields = [_fields([row.get(name) for row in some], type, dump) for name, type, dump in sent]
            out.write(b"".join(chain.from_iterable((head, *row) for row in zip(*fields, strict=True))))
        out.write(b"\xff\xff")


def _fields(values: list[Any], type: str, dump: Callable[[Any], Any]) -> list[bytes]:
    """Each value after its length, as COPY takes it; -1: NULL."""
    from psycopg.types.json import Jsonb

    def field(value: Any) -> bytes:
        if value is None:
            return b"\xff\xff\xff\xff"
        sent = dump(Jsonb(value) if type == "jsonb" else value)
        return len(sent).to_bytes(4, "big") + sent

    # Of those of a batch many are the same.
    if type == "text":
        known = {value: field(value) for value in set(values)}
        return [known[value] for value in values]
    values = [value.tolist() if hasattr(value, "tolist") else value for value in values]
    if type in _ARRAYS and (packed := _packed(values, *_ARRAYS[type])):
        values, dump = packed, bytes
    return list(map(field, values))


def _packed(values: list[Any], typecode: str, oid: int) -> list[Any] | None:
    """Arrays of numbers of four bytes as the server takes them, which is a fifth of psycopg's work: dimensions, type,
    length, first index; each number after its length.  None: some are something else."""
    packed: list[Any] = []
    frames: dict[int, array] = {}
    try:
        for n, value in ((0 if value is None else len(value), value) for value in values):
            if n not in frames:
                head = struct.pack("!5i", 1, 0, oid, n, 1) if n else struct.pack("!3i", 0, 0, oid)
                frames[n] = array("I", head + b"\0\0\0\4\0\0\0\0" * n)
            words = frames[n][:]
            words[6::2] = array("I", struct.pack(f"!{n}{typecode}", *value or ()))
            packed.append(None if value is None else words.tobytes())
    except (struct.error, TypeError, OverflowError):
        return None
    return packed


def insert(connection: Connection, rollouts: Rows, steps: Sequence[Rows], schema: str = "rl") -> Batch:
    """Inserts rollouts with all their steps, or nothing; commits, unless the connection is within a transaction."""
    if len(rollouts) != len(steps):
        raise ValueError(f"{len(rollouts)} rollouts, but steps of {len(steps)}")
    made: dict[str, list[Row]] = {"rollouts": [], "steps": []}
    with _our_settings(connection):
        types = dict(zip(made, _found(connection, schema, *made), strict=True))
        for table in (table for table in made if not types[table]):
            raise ValueError(f"there is no table {schema}.{table}: SELECT stepadv.create_tables('{schema}')")
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
        # Of those that stand beside each other the groups are folded once.
        beside = _found(connection, batch.schema, "steps_compare")[0] if len(methods) > 1 else {}
        together = {method: method for method in methods if method in beside}
        for method in (method for method in methods if method not in together):
            if not _found(connection, batch.schema, f"steps_{method}")[0]:
                hint = f"SELECT stepadv.add_views('{batch.schema}.rollout_rows', '{{{method}}}')"
                raise ValueError(f"there is no view {batch.schema}.steps_{method}: {hint}")
        found = _of_view(connection, batch, "steps_compare", together) if together else {}
        for method in methods:
            if method not in found:
                found |= _of_view(connection, batch, f"steps_{method}", {method: "advantage"})
        return {method: found[method] for method in methods}


def _of_view(connection: Connection, batch: Batch, view: str, columns: dict[str, str]) -> dict[str, list[array]]:
    """By method, of each rollout what is in the method's column.  A row per rollout, with numbers as bytes, takes a
    tenth of the time of a row per step."""
    names = ", ".join(f"x.{quoted(name)}" for name in (*batch.keys, "rollout_id"))
    numbers = ", ".join(f"string_agg(float8send(coalesce(x.{quoted(c)}, 'NaN')), '')" for c in columns.values())
    # Each condition goes to the index; of the combinations of several values some may be of no rollout of the batch.
    keys = [sorted({rollout[k] for rollout in batch.rollouts}) for k in range(len(batch.keys))]
    values = [key[0] if len(key) == 1 else key for key in keys]
    equal = ["= \0" if len(key) == 1 else "= ANY (\0)" for key in keys]
    where = " AND ".join(f"x.{quoted(name)} {one}" for name, one in zip(batch.keys, equal, strict=True))
    query = f"""SELECT {names}, string_agg(int4send(x.step_no), ''), {numbers} FROM {quoted(batch.schema, view)} x
        WHERE {where} AND x.step_no IS NOT NULL GROUP BY {names}""".replace("%", "%%").replace("\0", "%s")
    place = {rollout: i for i, rollout in enumerate(batch.rollouts)}
    found: dict[str, list[array]] = {method: [array("d") for _ in place] for method in columns}
    with connection.cursor(binary=True) as cursor:
        for row in cursor.execute(query, values):
            rollout, step_no = row[: len(values) + 1], _numbers("i", row[len(values) + 1])
            order = sorted(range(len(step_no)), key=step_no.__getitem__)
            in_order = order == list(range(len(order)))
            for method, sent in zip(columns, row[len(values) + 2 :], strict=True):
                numbers = _numbers("d", sent)
                if not in_order:
                    numbers = array("d", map(numbers.__getitem__, order))
                if rollout in place:
                    found[method][place[rollout]] = numbers
    for i, n in enumerate(batch.lengths):
        for rows in (rows for rows in found.values() if len(rows[i]) != n):
            hint = f"and {n} were inserted: {batch.schema}.steps_problems says why"
            raise ValueError(f"rollout {batch.rollouts[i]} has {len(rows[i])} steps in {batch.schema}.{view}, {hint}")
    return found


def _numbers(typecode: str, sent: bytes) -> array:
    """Those that the server has sent, the first byte being the largest."""
    numbers = array(typecode, sent)
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers


def per_token(advantages: Sequence[float], mask: Sequence[float]) -> list[float]:
    """A number per token: a turn is a run of the mask that is not 0; the first has the first advantage, and so on."""
    begins = [bool(token) and (i == 0 or not mask[i - 1]) for i, token in enumerate(mask)]
    if sum(begins) != len(advantages):
        raise ValueError(f"the mask has {sum(begins)} turns, and there are advantages of {len(advantages)}")
    return [advantages[turn - 1] if token else 0.0 for turn, token in zip(accumulate(begins), mask, strict=True)]
