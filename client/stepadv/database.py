"""Connections, as psql makes them, and what a database must have."""

import argparse
import contextlib
import re
from typing import Any

import psycopg
from psycopg import sql

from stepadv import __version__
from stepadv.text import Failed

# What the server would plan anew for every step, and what costs more than it gives.
SETTINGS = "-c plan_cache_mode=force_generic_plan -c jit=off"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("connection, as psql has it (also PGHOST, PGDATABASE, …)")
    group.add_argument("-d", "--dbname", metavar="DB", help="name of the database, or a connection string")
    group.add_argument("-h", "--host")
    group.add_argument("-p", "--port")
    group.add_argument("-U", "--username", metavar="USER")


def parameters(arguments: argparse.Namespace) -> dict[str, str]:
    """Those of libpq, which reads the environment for the rest."""
    given: dict[str, str] = {}
    name = arguments.dbname
    if name and ("=" in name or re.match(r"postgres(ql)?://", name)):
        given.update(psycopg.conninfo.conninfo_to_dict(name))
    elif name:
        given["dbname"] = name
    for key, value in (("host", arguments.host), ("port", arguments.port), ("user", arguments.username)):
        if value:
            given[key] = value
    return given


def words_of(error: psycopg.Error) -> str:
    """What the server says, without where in itself it found it."""
    diagnostic = error.diag
    if diagnostic is None or diagnostic.message_primary is None:
        return " ".join(str(error).split()) or type(error).__name__
    parts = [diagnostic.message_primary]
    if diagnostic.message_detail:
        parts.append(f"({diagnostic.message_detail})")
    if diagnostic.message_hint:
        parts.append(diagnostic.message_hint)
    return " ".join(parts)


def connect(given: dict[str, str], name: str = "stepadv") -> psycopg.Connection:
    options = dict(given)
    options.setdefault("fallback_application_name", name)
    try:
        connection = psycopg.connect(**options, client_encoding="UTF8", autocommit=True)
        connection.execute("SET search_path = pg_catalog, pg_temp")
        for setting in SETTINGS.split("-c ")[1:]:
            connection.execute(sql.SQL("SET {} = {}").format(*map(sql.SQL, setting.strip().split("="))))
        connection.execute("SET client_min_messages = error")
        if has_lz4(connection):
            connection.execute("SET default_toast_compression = lz4")
    except psycopg.Error as error:
        raise Failed(f"no connection: {words_of(error)}") from None
    return connection


def has_lz4(connection: psycopg.Connection) -> bool:
    """Long texts take less time so; whoever has chosen something has it as chosen."""
    return value(
        connection,
        "SELECT count(*) > 0 FROM pg_settings s WHERE s.name = 'default_toast_compression' AND s.source = 'default'"
        " AND 'lz4' = ANY (s.enumvals)",
    )


def value(connection: psycopg.Connection, query: str, *arguments: Any) -> Any:
    """The first column of the first row."""
    row = connection.execute(query, arguments or None).fetchone()
    return None if row is None else row[0]


def number_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def check_version(connection: psycopg.Connection) -> None:
    """The database must have the extension, in this program's version."""
    version = value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'stepadv'")
    name = value(connection, "SELECT current_database()")
    if version is None:
        raise Failed(f'the database "{name}" has no extension stepadv: CREATE EXTENSION stepadv')
    if number_of(version) < number_of(__version__):
        raise Failed(
            f'the database "{name}" has stepadv {version}, this is {__version__}: ALTER EXTENSION stepadv UPDATE'
        )
    if number_of(version) > number_of(__version__):
        raise Failed(
            f'the database "{name}" has stepadv {version}, this is {__version__}: install stepadv-client {version}'
        )


def close(connection: psycopg.Connection) -> None:
    with contextlib.suppress(psycopg.Error):
        connection.close()
