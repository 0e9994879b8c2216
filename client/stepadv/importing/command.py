"""stepadv import: files and directories into the tables of a schema."""

import argparse
import gc
import os
import signal
import sys
import time
from collections.abc import Iterator

import psycopg
from psycopg import sql

from stepadv import database
from stepadv.importing.files import CannotRead, File, documents_of, list_files, spool_stdin
from stepadv.importing.formats import FORMATS, explain
from stepadv.importing.load import Interrupted, Loader, Options, Reader, Result, cancel, load_at_once, on_signals
from stepadv.importing.rows import Settings
from stepadv.importing.runs import LOOKED_FOR, Runs
from stepadv.importing.tally import Summary, Tally
from stepadv.importing.values import Unreadable, words
from stepadv.importing.verdicts import Outcomes
from stepadv.importing.writer import THERE, Tables
from stepadv.text import Failed, complain, count, nearest, safe, shorten

CONNECTS = False
HELP = "load runs, files and directories"
DESCRIPTION = """Loads rollouts of scaffolds, trainers and tracers into the tables of a schema, and creates the tables
if they do not exist.  Each file is one transaction: it is loaded, or left out with a message."""
EPILOG = """Files can be compressed by gzip, bzip2 or xz.  In directories, all .json, .jsonl, .ndjson, .traj, .txt and
.eval files are read.

Exit status: 0 if everything was loaded, 1 if something was left out or there was nothing to load, 2 if nothing could
be tried."""
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
    add("-k", "--keep-going", action="store_true", help="skip what cannot be used of a file, load the rest")
    add("--update", action="store_true", help="rollouts that differ replace those in the tables")
    wanted = "verdicts by task or rollout id (csv, json, jsonl), which override those of the files"
    add("--outcomes", metavar="FILE", help=wanted)
    add("--retries", choices=("last",), help="of two attempts at one rollout or step, use the newest")
    add("--explain", action="store_true", help="load nothing: show which format each file has, or why it has none")
    add("--preview", action="store_true", help="load nothing: show the first three steps of each file")
    add("-J", "--jobs", metavar="N", type=int, default=1, help="number of files to load in parallel (1)")


# ----------
# Looking
# ----------


def preview(file: File, options: Options, most: int = 3) -> Iterator[str]:
    """The first steps of a file as they would be stored."""
    n = 0
    for rollout, _ in Reader(file, file.source, options, Tally()).rollouts():
        task = rollout.get("task_id") or rollout.get("group_id")
        about = {"task_id": task, "rollout_id": rollout.get("rollout_id"), "outcome": rollout.get("outcome")}
        for i, step in enumerate((rollout.get("steps") or [])[: most - n]):
            step = {**about, "step_no": i, **step}
            yield ", ".join(f"{name} {step[key]}" for name, key in OF_TRY.items() if step.get(key) is not None)
            texts = {name: " ".join((words(step.get(name)) or "").split()) for name in COLUMNS}
            yield from (f"  {name}: {shorten(text, 110)}" for name, text in texts.items() if text)
            n += 1
        if n >= most:
            return


def explained(file: File) -> list[str]:
    n, first = 0, None
    for n, (_, document) in enumerate(documents_of(file.path), 1):
        first = document if n == 1 else first
    if isinstance(first, Unreadable):
        raise first
    if first is None:
        return ["the file is empty"]
    return explain(first, n) if isinstance(first, str) else ["a log of Inspect"]


def look_over(file: File, options: Options, is_preview: bool) -> bool:
    """Whether it could be shown."""
    print(safe(file.name))
    lines: list[str] = []
    is_shown = not is_preview
    try:
        lines = list(preview(file, options)) if is_preview else []
        is_shown = is_shown or bool(lines)
        lines = lines or (["no step could be read:"] if is_preview else []) + explained(file)
    except (CannotRead, Unreadable) as error:
        lines, is_shown = [str(error)], False
    for line in lines:
        print(safe(f"  {line}"))
    return is_shown


# ----------
# Loading
# ----------


def make_tables(connection: psycopg.Connection, schema: str) -> None:
    """Of several imports at once, the first makes them."""
    if not database.value(connection, THERE, schema):
        lock = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
        with connection.transaction():
            connection.execute(lock, (f"stepadv tables in {schema}",))
            if not database.value(connection, THERE, schema):
                connection.execute("SELECT count(*) FROM stepadv.create_tables(%s::text)", (schema,))


def analyze(connection: psycopg.Connection, schema: str, steps_added: int) -> None:
    """For good plans, if a tenth of the table or more is new: columns that rollouts and steps are found and compared
    by.  Long texts and the rest are left to autovacuum."""
    query = "SELECT c.reltuples FROM pg_class c WHERE c.oid = to_regclass(format('%%I.steps', %s::text))"
    if steps_added == 0 or steps_added * 10 < (database.value(connection, query, schema) or 0):
        return
    columns = """SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = to_regclass(format('%%I.%%I', %s::text, %s::text)) AND a.attnum > 0 AND NOT a.attisdropped
        AND (a.attlen > 0 OR a.attname IN ('tool', 'channel', 'curation')
            OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND a.attnum = ANY (i.indkey)))"""
    for name in ("rollouts", "steps"):
        listed = sql.SQL(", ").join(map(sql.Identifier, database.value(connection, columns, schema, name)))
        connection.execute(sql.SQL("ANALYZE (SKIP_LOCKED) {} ({})").format(sql.Identifier(schema, name), listed))


class Import:
    def __init__(self, given: argparse.Namespace):
        if given.format not in (None, *FORMATS):
            meant = nearest(given.format, FORMATS)
            perhaps = f'; perhaps you meant "{meant}"' if meant else ""
            raise Failed(f"unknown format: {given.format}{perhaps}; formats are {', '.join(FORMATS)}")
        if not 0 < given.jobs < 10000:
            raise Failed("-J must be a number of files from 1 to 9999")
        self.given = given
        self.options = Options(given.format, given.keep_going, given.update or given.retries is not None)
        self.settings = Settings(given.success_at, given.run_id, given.policy_version, given.policy_step)
        self.parameters = database.parameters(given)
        self.summary = Summary(LOOKED_FOR)
        self.is_shown = sys.stderr.isatty()
        self.began = time.monotonic()

    def run(self) -> int:
        given, summary = self.given, self.summary
        summary.outcomes = Outcomes(given.outcomes) if given.outcomes is not None else None
        listing = list_files(given.names)
        summary.n_unread, summary.empty = listing.n_failed, listing.empty
        runs = Runs(listing.files, summary.outcomes, self.settings.policy_version is not None)
        files, self.options.amend, summary.n_passed = runs.files, runs.amend, runs.n_passed
        spool = next((file for file in files if file.path == "-"), None)
        try:
            if spool is not None:
                spool.path = spool_stdin()
            if given.retries:
                files.sort(key=lambda file: os.stat(file.path).st_mtime_ns)
            if given.explain or given.preview:
                shown = [look_over(file, self.options, given.preview) for file in files]
                for name in summary.empty:
                    print(safe(f"no files to read: {name}"))
                return int(not all(shown) or listing.n_failed + len(summary.empty) > 0)
            if files:
                self.load(files)
        finally:
            if spool is not None and spool.path != "-":
                os.unlink(spool.path)
        return summary.show()

    def make_loader(self, connection: psycopg.Connection | None = None) -> Loader:
        connection = connection or database.connect(self.parameters, "stepadv import")
        return Loader(Tables(connection, self.given.schema, self.settings), self.options)

    def load(self, files: list[File]) -> None:
        connection = database.connect(self.parameters, "stepadv import")
        database.check_version(connection)
        try:
            make_tables(connection, self.given.schema)
        except psycopg.Error as error:
            raise Failed(database.words_of(error)) from None
        self.n_all = len(files)
        if self.given.jobs > 1 and len(files) > 1:
            load_at_once(min(self.given.jobs, len(files)), self.make_loader, files, self.done)
        else:
            loader = self.make_loader(connection)
            with on_signals(lambda: cancel(connection)):
                for file in files:
                    self.done(file, loader.load(file))
        self.progress("")
        try:
            analyze(connection, self.given.schema, self.summary.tally.counts["steps added"])
        except psycopg.Error as error:
            complain(f"stepadv import: could not analyze the tables: {database.words_of(error)}")
        database.close(connection)

    def progress(self, line: str) -> None:
        """A line on a terminal, overwritten each time."""
        if self.is_shown:
            print(f"\r{line:<78}" + ("" if line else "\r"), end="", file=sys.stderr, flush=True)

    def done(self, file: File, result: Result) -> None:
        summary = self.summary
        if result.is_passed:
            summary.n_passed += 1
            return
        summary.n_files += 1
        if result.failed:
            summary.left_out.append(file.name)
        else:
            summary.tally.add(result.tally)
            if result.tally.counts["documents"] == 0:
                summary.nothing.append(file.name)
        if result.said:
            self.progress("")
            complain(f"{file.name}: {'' if result.failed else 'left out of it: '}{result.said[0]}")
            for line in result.said[1:]:
                complain(line)
        seconds, n = time.monotonic() - self.began, summary.tally.counts["steps added"]
        self.progress(f"{summary.n_files} of {count(self.n_all, 'file')}, {n} steps, {seconds:.0f} s")


def run(given: argparse.Namespace) -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Documents are trees: looking for circles in them takes a tenth of the time.
    gc.set_threshold(100000, 50, 100)
    try:
        return Import(given).run()
    except Interrupted as interrupted:
        return 128 + interrupted.signal
    except psycopg.OperationalError as error:
        raise Failed(f"the connection failed: {database.words_of(error)}") from None
