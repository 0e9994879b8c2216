"""Rows and numbers in PostgreSQL's binary format."""

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise, repeat
from typing import Any

from psycopg import DataError
from psycopg.pq import Format
from psycopg.types.json import Jsonb

from stepadv.database import Column, Connection
from stepadv.text import perhaps, quoted

Rows = Sequence[Mapping[str, Any]]
Parts = Sequence[tuple[Mapping[str, Any], Rows]]
# By type: the struct format of a field (length and number); that of an array's element, and the element type's oid.
SCALARS = {"integer": "!ii", "bigint": "!iq", "double precision": "!id", "boolean": "!i?"}
ARRAYS = {"real[]": ("f", 700), "integer[]": ("i", 23)}
# The header of COPY data, and how many rows are sent at a time: the server reads them while we encode the next.
SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
SENT_FIRST, SENT_AT_ONCE = 100, 500


def encoder(connection: Connection, type: str) -> tuple[str, Callable[[Any], Any]]:
    dumper = connection.adapters.get_dumper_by_oid(connection.adapters.types.get_oid(type), Format.BINARY)
    return type, dumper(list if type.endswith("[]") else object, connection).dump


def encoders(connection: Connection, relation: str, parts: Parts, types: dict[str, Column]) -> dict[str, Any]:
    """The columns to copy, first those that all rows of a part share, each with the arguments of fields for it."""
    names = dict.fromkeys(chain(parts[0][0], {"step_no"} & types.keys(), *(row for _, rows in parts for row in rows)))
    for name in (name for name in names if name not in types):
        raise ValueError(f'{relation} has no column "{name}"{perhaps(name, types)}')
    return {name: encoder(connection, types[name].type) for name in names}


def starts_of(parts: Parts, sent: dict[str, Any]) -> list[bytes]:
    """The beginning of each row: the number of fields, and the fields that all rows of its part share."""
    shared = [fields([common[name] for common, _ in parts], *sent[name]) for name in parts[0][0]]
    starts = map(b"".join, zip(repeat(struct.pack("!h", len(sent))), *shared))
    return [start for start, (_, rows) in zip(starts, parts, strict=False) for _ in rows]


def copy(connection: Connection, schema: str, table: str, parts: Parts, types: dict[str, Column]) -> None:
    """Copies rows into a table.  A part has the values that all its rows share, which override the rows' own, and the
    rows.  A column that a row lacks is NULL, except step_no: the row's number within its part, from 0."""
    rows = list(chain.from_iterable(some for _, some in parts))
    sent = encoders(connection, f"{schema}.{table}", parts, types)
    own = list(sent)[len(parts[0][0]) :]
    starts, places = starts_of(parts, sent), [i for _, some in parts for i in range(len(some))]
    statement = f"COPY {quoted(schema, table)} ({', '.join(map(quoted, sent))}) FROM STDIN (FORMAT binary)"
    with connection.cursor() as cursor, cursor.copy(statement) as out:
        out.write(SIGNATURE)
        for i, end in pairwise((0, SENT_FIRST, *range(SENT_AT_ONCE, len(rows), SENT_AT_ONCE), None)):
            columns = [starts[i:end]]
            for name in own:
                pairs = zip(rows[i:end], places[i:end] if name == "step_no" else repeat(None), strict=False)
                columns.append(fields([row.get(name, missing) for row, missing in pairs], *sent[name]))
            out.write(b"".join(chain.from_iterable(zip(*columns, strict=True))))
        out.write(b"\xff\xff")


def fields(values: list[Any], type: str, dump: Callable[[Any], Any]) -> list[bytes]:
    """The values as fields of COPY: the length, then the value; length -1 is NULL."""

    def field(value: Any) -> bytes:
        if value is None:
            return b"\xff\xff\xff\xff"
        sent: bytes = dump(Jsonb(value) if type == "jsonb" else value)
        return len(sent).to_bytes(4, "big") + sent

    try:
        if type in SCALARS:
            pack, size = struct.Struct(SCALARS[type]).pack, struct.calcsize(SCALARS[type]) - 4
            return [field(value) if value is None else pack(size, value) for value in values]
        # Many texts of a batch are equal.
        if type == "text":
            known = {value: field(value) for value in set(values)}
            return [known[value] for value in values]
        values = [value.tolist() if hasattr(value, "tolist") else value for value in values]
        if type in ARRAYS and (arrays := packed_arrays(values, *ARRAYS[type])):
            values, dump = arrays, bytes
        return list(map(field, values))
    except (struct.error, OverflowError) as error:  # psycopg 3.2, in Python and in C
        raise DataError(f"a number is out of range for type {type}") from error


def packed_arrays(values: list[Any], typecode: str, oid: int) -> list[Any] | None:
    """Encodes arrays of four-byte numbers, in a tenth of psycopg's time: number of dimensions, flags, element type,
    length, lower bound; then each number after its length.  None if a value is not such an array."""
    packed: list[Any] = []
    frames: dict[int, tuple[bytes, Callable[..., bytes], bytes]] = {}
    try:
        for n, value in ((0 if value is None else len(value), value) for value in values):
            if n not in frames:
                head = struct.pack("!5i", 1, 0, oid, n, 1) if n else struct.pack("!3i", 0, 0, oid)
                frames[n] = head, struct.Struct(f"!{len(head)}x" + f"4x{typecode}" * n).pack, b"\4" * n
            head, pack, fours = frames[n]
            numbers = bytearray(pack(*value or ()))
            numbers[: len(head)], numbers[23::8] = head, fours
            packed.append(None if value is None else numbers)
    except (struct.error, TypeError, OverflowError):
        return None
    return packed
