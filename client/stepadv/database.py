"""Connections, as psql makes them, and what a database must have."""

import argparse
import re
from typing import Any

import psycopg

from stepadv import __version__
from stepadv.settings import OF_PROGRAMS, change
from stepadv.text import Failed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("connection, as in psql (also PGHOST, PGDATABASE, …)")
    group.add_argument("-d", "--dbname", metavar="DB", help="name of the database, or a connection string")
    group.add_argument("-h", "--host")
    group.add_argument("-p", "--port")
    group.add_argument("-U", "--username", metavar="USER")


def words_of(error: psycopg.Error) -> str:
    """What the server says, without where in itself it found it."""
    diagnostic = error.diag
    if diagnostic is None or diagnostic.message_primary is None:
        words = " ".join(str(error).split()).removeprefix("connection is bad: ") or type(error).__name__
        return f"the connection failed: {words}" if isinstance(error, psycopg.OperationalError) else words
    detail = f"({diagnostic.message_detail})" if diagnostic.message_detail else None
    return " ".join(part for part in (diagnostic.message_primary, detail, diagnostic.message_hint) if part)


def connect(options: argparse.Namespace) -> psycopg.Connection[Any]:
    """To a database that has the extension, in this program's version."""
    name = options.dbname or None
    is_string = name is not None and ("=" in name or re.match(r"postgres(ql)?://", name))
    given: dict[str, Any] = {"host": options.host, "port": options.port, "user": options.username}
    given |= {"client_encoding": "UTF8", "fallback_application_name": f"stepadv {options.command}"}
    given |= {} if is_string else {"dbname": name}
    connection = psycopg.connect(name or "" if is_string else "", autocommit=True, **given)
    change(connection, OF_PROGRAMS.items(), False)
    check_version(connection)
    return connection


def value(connection: psycopg.Connection[Any], query: str, *arguments: Any) -> Any:
    """The first column of the first row."""
    row = connection.execute(query, arguments or None).fetchone()
    return None if row is None else row[0]


def number_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def check_version(connection: psycopg.Connection[Any]) -> None:
    version = value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'stepadv'")
    name = value(connection, "SELECT current_database()")
    if version is None:
        raise Failed(f'the database "{name}" has no extension stepadv: CREATE EXTENSION stepadv')
    if version != __version__:
        is_old = number_of(version) <= number_of(__version__)
        hint = "ALTER EXTENSION stepadv UPDATE" if is_old else f"install stepadv-client {version}"
        raise Failed(f'the database "{name}" has stepadv {version}, this is {__version__}: {hint}')
