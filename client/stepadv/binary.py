"""Rows and numbers in PostgreSQL's binary format."""

import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from psycopg import DataError
from psycopg.pq import Format
from psycopg.types.json import Jsonb

from stepadv.database import Column, Connection
from stepadv.text import perhaps, quoted

Rows = Sequence[Mapping[str, Any]]
# How struct packs a number of an array, and the type of it.
ARRAYS = {"real[]": ("f", 700), "integer[]": ("i", 23)}
# What COPY begins with, and how many rows it is given at a time: the server works on them while we make the next.
SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
SENT_AT_ONCE = 500


def copy(connection: Connection, schema: str, table: str, rows: Rows, types: dict[str, Column]) -> None:
    """COPY of what the rows have; what some of them have not is NULL."""
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    sent, head = [], struct.pack("!h", len(names))
    for name in names:
        if name not in types:
            raise ValueError(f'{schema}.{table} has no column "{name}"{perhaps(name, types)}')
        type = types[name].type
        dumper = connection.adapters.get_dumper_by_oid(connection.adapters.types.get_oid(type), Format.BINARY)
        sent.append((name, type, dumper(list if type.endswith("[]") else object, connection).dump))
    statement = f"COPY {quoted(schema, table)} ({', '.join(map(quoted, names))}) FROM STDIN (FORMAT binary)"
    with connection.cursor() as cursor, cursor.copy(statement) as out:
        out.write(SIGNATURE)
        for i in range(0, len(rows), SENT_AT_ONCE):
            some = rows[i : i + SENT_AT_ONCE]
            columns = [fields([row.get(name) for row in some], type, dump) for name, type, dump in sent]
            out.write(b"".join(chain.from_iterable((head, *row) for row in zip(*columns, strict=True))))
        out.write(b"\xff\xff")


def fields(values: list[Any], type: str, dump: Callable[[Any], Any]) -> list[bytes]:
    """Each value after its length, as COPY takes it; -1: NULL."""

    def field(value: Any) -> bytes:
        if value is None:
            return b"\xff\xff\xff\xff"
        try:
            sent: bytes = dump(Jsonb(value) if type == "jsonb" else value)
        except (struct.error, OverflowError) as error:  # psycopg 3.2, in Python and in C
            raise DataError(f"a number is out of range for type {type}") from error
        return len(sent).to_bytes(4, "big") + sent

    # Of those of a batch many are the same.
    if type == "text":
        known = {value: field(value) for value in set(values)}
        return [known[value] for value in values]
    values = [value.tolist() if hasattr(value, "tolist") else value for value in values]
    if type in ARRAYS and (arrays := packed_arrays(values, *ARRAYS[type])):
        values, dump = arrays, bytes
    return list(map(field, values))


def packed_arrays(values: list[Any], typecode: str, oid: int) -> list[Any] | None:
    """Arrays of numbers of four bytes as the server takes them, which is a fifth of psycopg's work: dimensions, type,
    length, first index; each number after its length.  None: some are something else."""
    packed: list[Any] = []
    frames: dict[int, array[int]] = {}
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


def numbers(typecode: str, sent: bytes) -> "array[Any]":
    """Those that the server has sent, the first byte being the largest."""
    return array(typecode, struct.unpack(f"!{len(sent) // struct.calcsize(typecode)}{typecode}", sent))
