"""stepadv export: writes lines for a trainer."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import psycopg

from stepadv import database
from stepadv.export.lines import SHAPES, Lines, Options
from stepadv.export.pairs import pairs, why_none
from stepadv.export.relation import Relation, Source, find
from stepadv.text import Failed, complain, count

HELP = "write steps as lines of JSON for a trainer"
DESCRIPTION = """Writes a view of attach, a selection or any relation of advantages as lines of JSON, a row at a time
on both sides.  A file has its name when all of it is written.  Exit status: 0; 2 where nothing could be
written; 3 where there is nothing to write."""
EPILOG = """shapes: steps (columns), messages (OpenAI), prompt_completion (TRL's SFT), verl (a row of its files),
dpo (pairs, TRL), prm (stepwise supervision, TRL).  docs/training.md says more."""
# These teach the model to do as the step did.
IMITATION = ("messages", "prompt_completion")


def names(text: str) -> list[str]:
    """Names of columns, with commas between them."""
    return [n for n in text.split(",") if n] if text else []


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = parser.add_argument
    add("relation", metavar="RELATION", help="a view of attach, a selection, or any relation of advantages")
    add("-o", "--out", default="-", metavar="FILE", help="to write (default: standard output)")
    add("-s", "--shape", choices=(*SHAPES, "dpo"), default="steps", help="of a line (default steps)")
    add(
        "--keep-negative",
        action="store_true",
        help="messages, prompt_completion: also steps whose advantage is negative",
    )
    add("--columns", type=names, metavar="A,B", help="beside the shape's members; '': none")
    add("--steps", metavar="RELATION", help="of all steps, for conversations (default: the table below)")
    add("--system", metavar="TEXT", help="of the system, where a conversation has none")
    add("--advantage", default="advantage", metavar="COLUMN", help="that is the advantage")
    add("--group-by", type=names, metavar="A,B", help="columns of the group, where they are not known")
    add("--token-mask", metavar="COLUMN", help="that is the mask of tokens (default response_mask)")
    add("--tokens", metavar="COLUMN", help="that has the tokens, or their number (default response_token_ids)")
    add("--data-source", metavar="NAME", help="verl: of its rows (default: the relation)")
    add("--ability", default="agent", metavar="NAME", help="verl: of its rows (default agent)")
    add("--min-gap", type=float, default=0, metavar="Q", help="dpo: the least difference of q (default 0)")
    add(
        "--min-visits",
        type=int,
        default=2,
        metavar="N",
        help="dpo: the fewest rollouts that took each action (default 2)",
    )
    add(
        "--label-above",
        type=float,
        default=0,
        metavar="Q",
        help="prm: q above which a step is labelled true (default 0)",
    )


@contextlib.contextmanager
def file_to_write(path: str) -> Iterator[IO[str]]:
    """It has its name when all is written, and not before."""
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8") as out:
            yield out
        return
    target = os.path.realpath(path)
    handle, part = tempfile.mkstemp(prefix=os.path.basename(target) + ".", dir=os.path.dirname(target))
    try:
        with open(handle, "w", encoding="utf-8") as out:
            yield out
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise


def refuse_negative(lines: Lines) -> None:
    """What was worse than the policy's average is not to be imitated."""
    row = lines.source.connection.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {lines.advantage} < 0) FROM {lines.source.sql} s"
        f" WHERE {lines.column(lines.options.advantage)} IS NOT NULL"
    ).fetchone()
    assert row is not None
    if row[1]:
        raise Failed(
            f"{row[1]} of {count(row[0], 'step')} of {lines.source.name} have a negative advantage,"
            f" and shape {lines.options.shape} teaches to do as they did: select with sign => 'positive',"
            " or say --keep-negative"
        )


def why_empty(lines: Lines) -> str:
    """What an empty file means."""
    row = lines.source.connection.execute(
        f"SELECT count(*), count({lines.column(lines.options.advantage)}) FROM {lines.source.sql} s"
    ).fetchone()
    assert row is not None
    name = lines.source.name
    if row[0] == 0:
        known = lines.source.attachment.kinds if lines.source.attachment else {}
        if lines.source.oid in known:
            return f"{name} has no rows"
        return (
            f"{name} has no rows; of a selection, stepadv.explain_selection with its rules says"
            " which removed the steps"
        )
    if row[1] == 0:
        return f"none of the {count(row[0], 'step')} of {name} has an advantage: no rollout of theirs is judged"
    return why_none(lines) if lines.options.shape == "dpo" else f"{name} has no line of shape {lines.options.shape}"


def write(connection: psycopg.Connection[Any], options: argparse.Namespace) -> int:
    """How many lines were written."""
    oid = find(connection, options.relation)
    steps = Relation(connection, find(connection, options.steps)) if options.steps else None
    asked = Options(**{name: getattr(options, name) for name in Options.__dataclass_fields__})
    lines = Lines(Source(connection, oid, options.group_by), asked, steps)
    if asked.shape in IMITATION and not options.keep_negative:
        refuse_negative(lines)
    made = (pairs if asked.shape == "dpo" else SHAPES[asked.shape])(lines)
    first = next(made, None)
    if first is None:
        raise Failed(f"nothing to write: {why_empty(lines)}", 3)
    n = 0
    with file_to_write(options.out) as out:
        line: str | None = first
        while line is not None:
            out.write(line + "\n")
            n += 1
            line = next(made, None)
    return n


def run(connection: psycopg.Connection[Any], options: argparse.Namespace) -> int:
    """Writes the file; exit status 0."""
    # A file that is not finished goes also then.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        # One snapshot: lines are of one moment.
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            n = write(connection, options)
    except psycopg.Error as error:
        raise Failed(database.words_of(error)) from None
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Failed(f"{error.filename or options.out}: {error.strerror}") from None
    if options.out != "-":
        complain(f"{count(n, 'line')} of shape {options.shape} in {options.out}")
    return 0
