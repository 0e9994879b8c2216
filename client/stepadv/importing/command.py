"""stepadv import: loads files and directories into the tables of a schema."""

import argparse
import gc
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import chain, islice

import psycopg

from stepadv import database
from stepadv.database import Connection, columns_of
from stepadv.importing.files import ENDINGS, CannotRead, File, documents_of, list_files, spooled_stdin
from stepadv.importing.format import Rollout
from stepadv.importing.formats import FORMATS, explain
from stepadv.importing.load import Loader, Reader, Result, load_at_once
from stepadv.importing.runs import LOOKED_FOR, Runs
from stepadv.importing.tally import MOST_PROBLEMS, Tally, warn
from stepadv.importing.values import Json, first, words
from stepadv.importing.verdicts import Outcomes
from stepadv.importing.writer import Tables
from stepadv.text import Failed, complain, count, perhaps, quoted, safe, shorten

HELP = "load runs, files and directories"
DESCRIPTION = """Loads rollouts of scaffolds, trainers and tracers into the tables of a schema, and creates the tables
if they do not exist.  Each file is one transaction: it is loaded, or left out with a message."""
EPILOG = """Files can be compressed by gzip, bzip2 or xz.  In directories, all .json, .jsonl, .ndjson, .traj, .txt and
.eval files are read.

Exit status: 0 if everything was loaded, 1 if something was left out or there was nothing to load, 2 if nothing could
be tried."""
NO_FILES = f"no files to read ({', '.join(ENDINGS)})"
OF_TRY = {"task": "task_id", "rollout": "rollout_id", "step": "step_no", "turn": "turn", "outcome": "outcome"}
COLUMNS = ("observation", "action", "tool", "args", "ok", "reward", "next_observation")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("names", nargs="+", metavar="FILE_OR_DIRECTORY", help="- is standard input")
    add("-s", "--schema", default="rl", help="schema of the tables (rl)")
    add("-f", "--format", help=f"{', '.join(FORMATS)}; by default it is detected")
    add("-r", "--run-id", metavar="RUN", help="run_id if the source has none")
    add("-v", "--policy-version", metavar="VERSION", help="policy_version if the source has none")
    add("-n", "--policy-step", metavar="STEP", type=int, help="policy_step if the source has none")
    wanted = "outcome from which a rollout is a success if the source has no verdict (1)"
    add("-a", "--success-at", metavar="SCORE", type=float, default=1.0, help=wanted)
    add("-k", "--keep-going", action="store_true", help="skip the parts of a file that cannot be used")
    add("--update", action="store_true", dest="replace", help="rollouts that differ replace those in the tables")
    add("--outcomes", metavar="FILE", help="verdicts by task or rollout id (csv, json, jsonl); override files' own")
    add("--retries", choices=("last",), help="if a rollout or step was tried again, use the last attempt")
    add("--explain", action="store_true", help="load nothing: show which format each file has, or why it has none")
    add("--preview", action="store_true", help="load nothing: show the first three steps of each file")
    add("-J", "--jobs", metavar="N", type=int, default=1, help="number of files to load in parallel (1)")


def steps_of(rollout: Rollout) -> Iterator[dict[str, Json]]:
    about = {"task_id": first(rollout, "task_id group_id"), **{n: rollout.get(n) for n in ("rollout_id", "outcome")}}
    for i, step in enumerate(rollout.get("steps") or ()):
        yield {**about, "step_no": i, **step}


def preview(file: File, options: argparse.Namespace) -> Iterator[str]:
    """The first three steps of a file as they would be stored."""
    rollouts = Reader(file, file.source, options, Tally(), lambda: None).rollouts()
    for step in islice(chain.from_iterable(steps_of(rollout) for rollout, _ in rollouts), 3):
        yield ", ".join(f"{name} {step[key]}" for name, key in OF_TRY.items() if step.get(key) is not None)
        texts = {name: " ".join((words(step.get(name)) or "").split()) for name in COLUMNS}
        yield from (f"  {name}: {shorten(text, 110)}" for name, text in texts.items() if text)


def explained(file: File) -> list[str]:
    documents = documents_of(file.path)
    begin = next(documents, None)
    return ["the file is empty"] if begin is None else explain(begin.value, 1 + sum(1 for _ in documents))


def look_over(file: File, options: argparse.Namespace) -> bool:
    print(safe(file.name))
    try:
        lines = list(preview(file, options)) if options.preview else []
        is_shown = bool(lines) or not options.preview
        lines = lines or [*(["no step could be read:"] if options.preview else []), *explained(file)]
    except CannotRead as error:
        lines, is_shown = [str(error)], False
    for line in lines:
        print(safe(f"  {line}"))
    return is_shown


def make_tables(connection: Connection, schema: str) -> None:
    """Creates the tables if they do not exist.  The lock is for imports that run at the same time."""
    lock = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
    with connection.transaction():
        connection.execute(lock, (f"stepadv tables in {schema}",))
        if not columns_of(connection, schema, "steps")[0]:
            connection.execute("SELECT count(*) FROM stepadv.create_tables(%s::text)", (schema,))


def analyze(connection: Connection, schema: str, steps_added: int) -> None:
    """Analyzes the tables for good plans if a tenth of the steps or more is new: only columns by which rollouts and
    steps are found and compared.  Long texts and the rest are left to autovacuum."""
    query = "SELECT c.reltuples FROM pg_class c WHERE c.oid = to_regclass(format('%%I.steps', %s::text))"
    if steps_added == 0 or steps_added * 10 < (database.value(connection, query, schema) or 0):
        return
    columns = """SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = to_regclass(format('%%I.%%I', %s::text, %s::text)) AND a.attnum > 0 AND NOT a.attisdropped
        AND (a.attlen > 0 OR a.attname IN ('tool', 'channel', 'curation')
            OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND a.attnum = ANY (i.indkey)))"""
    for name in ("rollouts", "steps"):
        listed = ", ".join(map(quoted, database.value(connection, columns, schema, name)))
        # The load is committed, so it does not fail if a node that has a part of it is gone by now.
        with suppress(psycopg.OperationalError):
            connection.execute(f"ANALYZE (SKIP_LOCKED) {quoted(schema, name)} ({listed})")


class Import:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.outcomes = Outcomes(options.outcomes) if options.outcomes is not None else None
        files, self.empty, self.unread = list_files(options.names)
        for problem in self.unread:
            complain(f"stepadv import: {problem}")
        self.runs = Runs(files, self.outcomes, options.policy_version is not None)
        self.tally = Tally()
        self.n_files, self.n_passed = 0, self.runs.n_passed
        self.left_out: list[str] = []
        self.nothing: list[str] = []
        self.began = time.monotonic()

    def run(self) -> int:
        files, options = self.runs.files, self.options
        with ExitStack() as stack:
            for file in (file for file in files if file.path == "-"):
                file.path = stack.enter_context(spooled_stdin())
            if options.retries:
                files.sort(key=lambda file: os.stat(file.path).st_mtime_ns)
            if options.explain or options.preview:
                shown = [look_over(file, options) for file in files]
                for name in self.empty:
                    print(safe(f"{NO_FILES}: {name}"))
                return int(not all(shown) or len(self.unread) + len(self.empty) > 0)
            if files:
                self.load(files)
        return self.summary()

    def make_loader(self, connection: Connection | None = None) -> Loader:
        return Loader(Tables(connection or database.connect(self.options), self.options), self.runs.amend)

    def load(self, files: list[File]) -> None:
        with database.connect(self.options) as connection:
            make_tables(connection, self.options.schema)
            if self.options.jobs > 1 and len(files) > 1:
                load_at_once(min(self.options.jobs, len(files)), self.make_loader, files, self.done)
            else:
                loader = self.make_loader(connection)
                for file in files:
                    self.done(file, loader.load(file))
            self.progress("")
            analyze(connection, self.options.schema, self.tally.counts["steps added"])

    def progress(self, line: str) -> None:
        """Overwrites the line of progress, if standard error is a terminal."""
        if sys.stderr.isatty():
            print(f"\r{line:<78}" + ("" if line else "\r"), end="", file=sys.stderr, flush=True)

    def done(self, file: File, result: Result) -> None:
        if result.is_passed:
            self.n_passed += 1
            return
        self.n_files += 1
        if result.failed:
            self.left_out.append(file.name)
        else:
            self.tally.add(result.tally)
            if result.tally.counts["documents"] == 0:
                self.nothing.append(file.name)
        if result.said:
            self.progress("")
            complain(f"{file.name}: {'' if result.failed else 'left out of it: '}{result.said[0]}")
            for line in result.said[1:]:
                complain(line)
        seconds, n = time.monotonic() - self.began, self.tally.counts["steps added"]
        self.progress(f"{self.n_files} of {count(len(self.runs.files), 'file')}, {n} steps, {seconds:.0f} s")

    def summary(self) -> int:
        tally, n_left_out = self.tally, len(self.left_out) + len(self.unread)
        lines = [f"{count(self.n_files, 'file')}, {n_left_out} left out"]
        listed = {"left out": self.left_out, "nothing in it": self.nothing, NO_FILES: self.empty}
        for what, names in listed.items():
            more = len(names) - MOST_PROBLEMS
            lines += [f"{what}: {name}" for name in (*names[:MOST_PROBLEMS], *([f"{more} more"] if more > 0 else []))]
        if self.n_passed:
            hint = "" if self.n_files else ": name the trajectories, too"
            lines.append(f"passed over: {count(self.n_passed, 'file')} beside tries (reports, settings, logs){hint}")
        for line in (*lines, *tally.lines()):
            print(safe(line))
        if tally.tries and not any(verdict is not None for verdict in tally.tries.values()):
            warn(LOOKED_FOR)
        lost = list(self.outcomes.unmatched(tally.matched, tally.names)) if self.outcomes else []
        for line in lost:
            complain(line)
        return int(tally.n_problems + n_left_out + len(self.empty) + len(lost) > 0 or not tally.tries)


def run(options: argparse.Namespace) -> int:
    if options.format not in (None, *FORMATS):
        hint = f"{perhaps(options.format, FORMATS)}; formats are {', '.join(FORMATS)}"
        raise Failed(f"unknown format: {options.format}{hint}")
    if not 0 < options.jobs < 10000:
        raise Failed("-J must be a number of files from 1 to 9999")
    options.replace |= options.retries is not None
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Documents have no reference cycles, and by default the search for cycles takes a tenth of the time.
    gc.set_threshold(100000, 50, 100)
    return Import(options).run()
