"""Connections with the options of psql, and checks of what a database must have."""

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg

from stepadv import __version__
from stepadv.text import Failed

Connection = psycopg.Connection[Any]
# Names resolve to PostgreSQL's catalog, even if other users have created objects with the same names.  The check of a
# foreign key is planned once, not for every step; Citus has no generic plans.
SETTINGS = {"search_path": "pg_catalog, pg_temp", "plan_cache_mode": "force_generic_plan", "jit": "off"}
# For our own connections.  lz4 compresses long texts faster; it is not set if the setting is not the default.
OF_PROGRAMS = SETTINGS | {"client_min_messages": "error", "default_toast_compression": "lz4"}
CHANGE = """SELECT s.name, pg_catalog.current_setting(s.name), pg_catalog.set_config(s.name, s.value, {})
    FROM ROWS FROM (pg_catalog.unnest(%s::pg_catalog.text[]), pg_catalog.unnest(%s::pg_catalog.text[])) s(name, value)
    WHERE CASE s.name
        WHEN 'plan_cache_mode'::pg_catalog.text THEN pg_catalog.to_regclass('pg_catalog.pg_dist_partition') IS NULL
        WHEN 'default_toast_compression'::pg_catalog.text THEN EXISTS (SELECT FROM pg_catalog.pg_settings p
            WHERE p.name OPERATOR(pg_catalog.=) s.name AND p.source OPERATOR(pg_catalog.=) 'default'
            AND 'lz4' OPERATOR(pg_catalog.=) ANY (p.enumvals))
        ELSE true END"""
COLUMNS = """SELECT json_agg(json_build_array(r.name, a.attname, format_type(a.atttypid, -1),
        pg_get_expr(d.adbin, d.adrelid), coalesce(a.attnum = ANY (i.indkey), false),
        format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL), t.typcategory) ORDER BY a.attrelid, a.attnum)
    FROM unnest(%s::text[]) r(name)
    JOIN pg_attribute a ON a.attrelid = to_regclass(format('%%I.%%I', %s::text, r.name))
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped"""


class Column(NamedTuple):
    type: str
    default: str | None
    is_key: bool  # in the primary key
    base: str  # the type under a domain
    category: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("connection, as in psql (also PGHOST, PGDATABASE, …)")
    group.add_argument("-d", "--dbname", metavar="DB", help="name of the database, or a connection string")
    group.add_argument("-h", "--host")
    group.add_argument("-p", "--port")
    group.add_argument("-U", "--username", metavar="USER")


def words_of(error: psycopg.Error) -> str:
    """The message, detail and hint of an error, without its location in the server."""
    diagnostic = error.diag
    if diagnostic is None or diagnostic.message_primary is None:
        words = re.sub("^connection (is bad|failed): ", "", " ".join(str(error).split())) or type(error).__name__
        is_lost = isinstance(error, psycopg.OperationalError)
    else:
        detail = f"({diagnostic.message_detail})" if diagnostic.message_detail else None
        is_refused = isinstance(error, psycopg.errors.InsufficientPrivilege)
        hint = diagnostic.message_hint or ("ask its owner for it, or use another user (-U)" if is_refused else "")
        words = " ".join(part for part in (diagnostic.message_primary, detail) if part) + (f": {hint}" if hint else "")
        # psycopg before 3.2 does not pass on the message of a server that ends the session.
        is_lost = diagnostic.severity_nonlocalized == "FATAL"
    where = "; -h, -p, -d and -U say where to connect" if error.pgconn is not None else ""
    return f"the connection failed: {words}{where}" if is_lost else words


def connect(options: argparse.Namespace) -> Connection:
    """Connects to a database, which must have the extension in this program's version."""
    name = options.dbname or None
    is_string = name is not None and ("=" in name or re.match(r"postgres(ql)?://", name))
    given: dict[str, Any] = {"host": options.host, "port": options.port, "user": options.username}
    given |= {"client_encoding": "UTF8", "fallback_application_name": f"stepadv {options.command}"}
    given |= {} if is_string else {"dbname": name}
    connection = psycopg.connect(name or "" if is_string else "", autocommit=True, **given)
    change(connection, OF_PROGRAMS)
    check_version(connection)
    return connection


def change(connection: Connection, settings: dict[str, str], is_local: bool = False) -> dict[str, str]:
    """Changes settings until the end of the session or (is_local) of the transaction; returns their earlier values."""
    rows = connection.execute(CHANGE.format(is_local), (list(settings), list(settings.values())))
    return {name: before for name, before, _ in rows}


@contextmanager
def our_settings(connection: Connection) -> Iterator[None]:
    """A transaction, or a savepoint in one, with our settings; afterwards the previous settings apply again."""
    is_part = connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
    with connection.transaction():
        before = change(connection, SETTINGS, is_local=True)
        yield
        if is_part:
            change(connection, before, is_local=True)


def columns_of(connection: Connection, schema: str, *relations: str) -> list[dict[str, Column]]:
    """The columns of each relation by name; none if it does not exist."""
    found: dict[str, dict[str, Column]] = {name: {} for name in relations}
    # As one value: psycopg needs as long to read a value as the server to look up a column.
    for relation, column, *about in value(connection, COLUMNS, list(relations), schema) or []:
        found[relation][column] = Column(*about)
    return list(found.values())


def value(connection: Connection, query: str, *arguments: Any) -> Any:
    row = connection.execute(query, arguments or None).fetchone()
    return None if row is None else row[0]


def check_version(connection: Connection) -> None:
    version = value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'stepadv'")
    name = value(connection, "SELECT current_database()")
    if version is None:
        raise Failed(f'the database "{name}" has no extension stepadv: CREATE EXTENSION stepadv')
    if version != __version__:
        theirs, mine = ([int(n) for n in re.findall(r"\d+", v)] for v in (version, __version__))
        hint = "ALTER EXTENSION stepadv UPDATE" if theirs <= mine else f"install stepadv-client {version}"
        raise Failed(f'the database "{name}" has stepadv {version}, this is {__version__}: {hint}')
