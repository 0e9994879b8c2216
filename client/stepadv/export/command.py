"""stepadv export: writes lines for a trainer."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from itertools import chain
from typing import IO

from stepadv import database
from stepadv.database import Connection
from stepadv.export.pairs import pairs
from stepadv.export.relation import Relation, Source, find
from stepadv.export.shapes import SHAPES, Lines
from stepadv.text import Failed, complain, count

HELP = "write steps as lines of JSON for a trainer"
DESCRIPTION = """Writes a view of attach, a selection or any relation with advantages as lines of JSON, row by row.  A
file gets its name when it is complete.  Exit status: 0; 2 if nothing could be written; 3 if there is nothing to
write."""
EPILOG = """shapes: steps (columns), messages (OpenAI), prompt_completion (TRL's SFT), verl (a row of its files),
dpo (pairs, TRL), prm (stepwise supervision, TRL).  See docs/training.md."""
# Shapes that train the model to imitate the step.
IMITATION = ("messages", "prompt_completion")


def names(text: str) -> list[str]:
    """Splits a list of column names at its commas."""
    return [n for n in text.split(",") if n]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("relation", metavar="RELATION", help="a view of attach, a selection, or any relation with advantages")
    add("-o", "--out", default="-", metavar="FILE", help="output file (default: standard output)")
    add("--shape", choices=(*SHAPES, "dpo"), default="steps", help="shape of a line (default steps)")
    add("--keep-negative", action="store_true", help="messages, prompt_completion: also with a negative advantage")
    add("--columns", type=names, metavar="A,B", help="columns to add to the members of the shape; '': none")
    add("--steps", metavar="RELATION", help="relation with all steps, for conversations (default: the table below)")
    add("--group-by", type=names, metavar="A,B", help="columns of the group, if the relation is not a view of attach")
    add("--min-gap", type=float, default=0, metavar="Q", help="dpo: minimum difference of q (default 0)")
    add("--min-visits", type=int, default=2, metavar="N", help="dpo: minimum rollouts with each action (default 2)")


@contextlib.contextmanager
def file_to_write(path: str) -> Iterator[IO[str]]:
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8") as out:
            yield out
        return
    target = os.path.realpath(path)
    part = f"{target}.{os.getpid()}"
    made = open(part, "x", encoding="utf-8")  # noqa: SIM115
    try:
        with made as out:
            yield out
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise


def counted(lines: Lines) -> tuple[int, int, int]:
    """The number of rows, of those with an advantage, and of those with a negative one beyond rounding errors."""
    query = "SELECT count(*), count(s.advantage), count(*) FILTER (WHERE s.advantage < -1e-12)"
    return lines.source.connection.execute(f"{query} FROM {lines.source.sql} s").fetchone() or (0, 0, 0)


def refuse_negative(lines: Lines) -> None:
    """A step that was worse than the policy's average should not be imitated."""
    _, n, n_negative = counted(lines)
    if n_negative:
        hint = "select with sign => 'positive', or use --keep-negative"
        what = f"{n_negative} of {count(n, 'step')} of {lines.source.name} have a negative advantage"
        raise Failed(f"{what}, and shape {lines.options.shape} teaches to imitate them: {hint}")


def why_empty(lines: Lines) -> str:
    name, options = lines.source.name, lines.options
    n, n_judged, _ = counted(lines)
    if n == 0:
        return f"{name} has no rows; stepadv.explain_selection shows which rule of a selection removed the steps"
    if n_judged == 0:
        return f"none of the {count(n, 'step')} of {name} has an advantage: their rollouts have no verdict"
    visits, gap = f"{options.min_visits} rollouts with each (--min-visits)", f"{options.min_gap:g} in q (--min-gap)"
    return f"no state in {name} has two actions with {visits} that differ by more than {gap}"


def write(connection: Connection, options: argparse.Namespace) -> int:
    """Writes the lines and returns their number."""
    oid = find(connection, options.relation)
    steps = Relation(connection, find(connection, options.steps)) if options.steps else None
    lines = Lines(Source(connection, oid, options.group_by), options, steps)
    if options.shape in IMITATION and not options.keep_negative:
        refuse_negative(lines)
    made = (pairs if options.shape == "dpo" else SHAPES[options.shape])(lines)
    first = next(made, None)
    if first is None:
        raise Failed(f"nothing to write: {why_empty(lines)}", 3)
    n = 0
    with file_to_write(options.out) as out:
        for line in chain([first], made):
            out.write(line + "\n")
            n += 1
    return n


def run(options: argparse.Namespace) -> int:
    # One snapshot for all lines.
    with database.connect(options) as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        n = write(connection, options)
    if options.out != "-":
        complain(f"{count(n, 'line')} of shape {options.shape} in {options.out}")
    return 0
