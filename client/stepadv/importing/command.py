"""stepadv import: files and directories into the tables of a schema."""

import argparse
import gc
import json
import os
import re
import signal
import sys
from typing import Any

import psycopg
from psycopg import sql

from stepadv import database
from stepadv.importing import paths as by_paths
from stepadv.importing.files import CannotRead, File, list_files, spool_stdin
from stepadv.importing.formats import FORMATS
from stepadv.importing.load import Interrupted, Loader, Options, Result, cancel, explain, load_at_once, on_signals, preview
from stepadv.importing.rows import Settings
from stepadv.importing.runs import Runs
from stepadv.importing.summary import Progress, Summary
from stepadv.importing.values import Unreadable, words
from stepadv.importing.verdicts import Outcomes
from stepadv.importing.writer import Tables
from stepadv.text import Failed, complain, nearest, safe, shorten

CONNECTS = False
HELP = "load runs, files and directories"
DESCRIPTION = """Loads what scaffolds, trainers and tracers write into the tables of a schema, which are made if it has none.
Each file is one transaction: loaded, or left out, with a line that says why."""
EPILOG = """Files may be gzip, bzip2 or xz, and Inspect's .eval.  Of directories all .json, .jsonl, .ndjson, .traj, .txt and .eval
are read (with -f swe_agent: .traj, with -f mini_swe_agent: .traj.json).

Exit status: 0 all is loaded, 1 something was left out or there was nothing to load, 2 nothing could be tried."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    database.add_arguments(parser)
    add = parser.add_argument
    add("names", nargs="+", metavar="FILE_OR_DIRECTORY", help="- is what comes on standard input")
    add("-s", "--schema", default="rl", help="schema of the tables (rl)")
    add("-f", "--format", help=f"{', '.join(FORMATS)}, or paths; guessed if not given")
    add("-j", "--paths", metavar="PATHS", help="where things are, JSON or @FILE: any other JSON, or with -f what is to be said instead")
    add("-g", "--prefix", default="", help="put before the source's ids of groups and tasks")
    add("-r", "--run-id", metavar="RUN", help="run_id, where the source does not say")
    add("-v", "--policy-version", metavar="VERSION", help="policy_version, where the source does not say")
    add("-n", "--policy-step", metavar="STEP", help="policy_step, a whole number, where the source does not say")
    add("-a", "--success-at", metavar="SCORE", default="1", help="the outcome from which on a rollout is a success where the source does not say (1)")
    add("-k", "--keep-going", action="store_true", help="leave out what cannot be used of a file, load the rest")
    add("--update", action="store_true", help="what says something else than the tables takes its place there")
    add("--outcomes", metavar="FILE", help="verdicts by task or rollout id (csv, json, jsonl), which count before what files say")
    add("--retries", choices=("last",), help="of two attempts at one rollout or step the newest counts")
    add("--states", help="what is a state, of tables that are made (docs/states.md)")
    add("--explain", action="store_true", help="load nothing: what each file is, and why it is none of the formats")
    add("--preview", action="store_true", help="load nothing: the first three steps of each file as they would be stored")
    add("--verbose", action="store_true", help="all that was left out, not only the first of each file")
    add("--limit", metavar="GB", help="what a packed file may unpack to; else 1 GB, or 100 times its size")
    add("-J", "--jobs", default="1", help="so many files at once, over a connection each (1)")
    add("-q", "--quiet", action="store_true", help="no progress, only problems and the summary")
    add("--progress", action="store_true", help="the line of progress even if standard error is no terminal")


# ----------
# What the user says
# ----------


def number(text: str, pattern: str, words: str) -> str:
    if not re.fullmatch(pattern, text, re.ASCII):
        raise Failed(f"{words}, not {shorten(text, 60)}")
    return text


def read_paths(text: str) -> Any:
    if text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError):
            raise Failed("cannot read the paths of -j") from None
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failed(f"-j: no JSON: {error}") from None


def options_of(given: argparse.Namespace) -> Options:
    options = Options(given.format, keep_going=given.keep_going, replace=given.update or given.retries is not None)
    known = (*FORMATS, "paths")
    if given.format not in (None, *known):
        meant = nearest(given.format, known)
        perhaps = f'; perhaps you meant "{meant}"' if meant else ""
        raise Failed(f"unknown format: {given.format}{perhaps}; there are {', '.join(known)}")
    if given.paths is None and given.format == "paths":
        raise Failed("with -f paths, -j must say where things are; --explain shows paths to begin with")
    if given.paths is not None and given.format == "steps":
        raise Failed("-j is not for -f steps")
    if given.paths is not None:
        found = read_paths(given.paths)
        try:
            if given.format in (None, "paths"):
                options.paths, options.format = by_paths.paths_of(found), None
            else:
                options.beside = by_paths.beside_format(found)
        except by_paths.Wrong as wrong:
            raise Failed(f"-j: {wrong}") from None
    if given.limit is not None:
        options.limit = float(number(given.limit, r"\d{1,6}(\.\d{1,6})?", "--limit must be a number of GB"))
    return options


def settings_of(given: argparse.Namespace) -> Settings:
    step = given.policy_step
    return Settings(
        prefix=given.prefix,
        success_at=float(number(given.success_at, r"-?\d+(\.\d+)?", "-a must be a number")),
        run_id=given.run_id,
        policy_version=given.policy_version,
        policy_step=None if step is None else int(number(step, r"-?\d{1,18}", "-n must be a whole number")),
    )


# ----------
# Looking
# ----------

COLUMNS = ("observation", "action", "tool", "args", "ok", "reward", "next_observation")


def show_step(step: dict[str, Any]) -> None:
    about = {"task": "task_id", "rollout": "rollout_id", "step": "step_no", "turn": "turn", "outcome": "outcome"}
    print(safe("  " + ", ".join(f"{name} {step[key]}" for name, key in about.items() if step.get(key) is not None)))
    for name in COLUMNS:
        if step.get(name) is not None:
            print(safe(f"    {name}: {shorten(' '.join((words(step[name]) or '').split()), 110)}"))


def look_over(file: File, path: str, options: Options, is_preview: bool) -> bool:
    """Whether something can be said of it."""
    print(safe(file.name))
    is_fine = True
    try:
        found = preview(file, path, options) if is_preview else []
        for step in found:
            show_step(step)
        if is_preview and not found:
            print("  no step could be read:")
            is_fine = False
        for line in explain(path, options) if not found else ():
            print(safe(f"  {line}"))
    except (CannotRead, Unreadable) as error:
        print(safe(f"  {error}"))
        return False
    return is_fine


# ----------
# Loading
# ----------


def make_tables(connection: psycopg.Connection, schema: str, states: str | None) -> None:
    """Of several at once the first makes them."""
    there = "SELECT to_regclass(format('%%I.steps', %s::text)) IS NOT NULL"
    if database.value(connection, there, schema):
        query = "SELECT a.states FROM stepadv.attachments() a WHERE a.schema = %s AND a.prefix = 'steps'"
        has = database.value(connection, query, schema) if states else states
        if states and has is not None and has != states:
            raise Failed(f"the tables of schema {schema} have states by {has}: --states is for tables that are made")
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"stepadv tables in {schema}",))
        if not database.value(connection, there, schema):
            connection.execute("SELECT count(*) FROM stepadv.create_tables(%s::text, states => %s::text)", (schema, states))


def analyze(connection: psycopg.Connection, schema: str, steps_added: int) -> None:
    """Plans should know of what has come, where it is a tenth of the table or more: the columns that rollouts and steps are
    found and compared by.  Long texts and the rest are left to autovacuum."""
    query = "SELECT c.reltuples FROM pg_class c WHERE c.oid = to_regclass(format('%%I.steps', %s::text))"
    if steps_added == 0 or steps_added * 10 < (database.value(connection, query, schema) or 0):
        return
    columns = """SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = to_regclass(format('%%I.%%I', %s::text, %s::text)) AND a.attnum > 0 AND NOT a.attisdropped
        AND (a.attlen > 0 OR a.attname IN ('tool', 'channel', 'curation')
            OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND a.attnum = ANY (i.indkey)))"""
    tables = []
    for name in ("rollouts", "steps"):
        listed = sql.SQL(", ").join(map(sql.Identifier, database.value(connection, columns, schema, name)))
        tables.append(sql.SQL("{} ({})").format(sql.Identifier(schema, name), listed))
    connection.execute(sql.SQL("ANALYZE (SKIP_LOCKED) ") + sql.SQL(", ").join(tables))


class Import:
    def __init__(self, given: argparse.Namespace):
        self.given = given
        self.options, self.settings = options_of(given), settings_of(given)
        self.jobs = int(number(given.jobs, r"[1-9]\d{0,3}", "-J must be a number of files from 1 to 9999"))
        self.parameters = database.parameters(given)
        self.spool: str | None = None
        self.summary = Summary()
        self.found: set[str] = set()  # paths that found something in some file
        self.postponed: list[tuple[File, Result]] = []

    def run(self) -> int:
        given, summary = self.given, self.summary
        outcomes = Outcomes(given.outcomes) if given.outcomes is not None else None
        listing = list_files(given.names, given.format)
        files = listing.files
        summary.n_unread, summary.empty, summary.outcomes = listing.n_failed, listing.empty, outcomes
        if self.options.paths is None or outcomes is not None:
            runs = Runs(files, outcomes, self.settings.prefix, self.settings.policy_version is not None)
            files, self.options.amend, summary.n_passed = runs.files, runs.amend, runs.n_passed
        if given.retries:
            files.sort(key=lambda f: f.path != "-" and os.stat(f.path).st_mtime_ns)
        try:
            if any(file.path == "-" for file in files):
                self.spool = spool_stdin()
            if given.explain or given.preview:
                said = [look_over(file, self.path_of(file), self.options, given.preview) for file in files]
                for name in summary.empty:
                    print(safe(f"no files to read: {name}"))
                return int(not all(said) or listing.n_failed + len(summary.empty) > 0)
            if files:
                self.load(files)
        finally:
            if self.spool is not None:
                os.unlink(self.spool)
        return summary.show()

    def path_of(self, file: File) -> str:
        return self.spool if file.path == "-" and self.spool is not None else file.path

    def make_loader(self) -> Loader:
        connection = database.connect(self.parameters, "stepadv import")
        return Loader(Tables(connection, self.given.schema, self.settings), self.options, self.spool)

    def load(self, files: list[File]) -> None:
        connection = database.connect(self.parameters, "stepadv import")
        database.check_version(connection)
        try:
            make_tables(connection, self.given.schema, self.given.states)
        except psycopg.Error as error:
            raise Failed(database.words_of(error)) from None
        self.summary.n_files = len(files)
        is_shown = self.given.progress or sys.stderr.isatty() and not self.given.quiet
        self.progress = Progress(files, is_shown)
        self.load_all(files, connection)
        if self.postponed:
            self.load_postponed(connection)
        self.progress.write("\n")
        try:
            analyze(connection, self.given.schema, self.summary.tally.counts["steps_added"])
        except psycopg.Error as error:
            complain(f"stepadv import: the tables were not analyzed: {database.words_of(error)}")
        database.close(connection)

    def load_all(self, files: list[File], connection: psycopg.Connection, all_paths: bool = False) -> None:
        """all_paths: those that find nothing in a file are right, as they found something in another."""
        strict = self.options.paths is not None and not all_paths
        if self.jobs > 1 and len(files) > 1:
            load_at_once(min(self.jobs, len(files)), self.make_loader, files, set() if strict else None, self.done)
            return
        loader = Loader(Tables(connection, self.given.schema, self.settings), self.options, self.spool)
        try:
            with on_signals(lambda: cancel(connection)):
                for file in files:
                    self.done(file, loader.load(file, self.found if strict else None))
        except Interrupted:
            database.close(connection)
            raise
        connection.execute("DROP TABLE IF EXISTS pg_temp.stepadv_rollouts, pg_temp.stepadv_steps")

    def load_postponed(self, connection: psycopg.Connection) -> None:
        """A path that found nothing in one file may be right: in others it found something.  What found nothing in any is a
        mistake, and no file is loaded."""
        waiting, self.postponed = sorted(self.postponed, key=lambda w: os.fsencode(w[0].path)), []
        mistakes: dict[str, str] = {}
        for _, result in waiting:
            mistakes = {name: said for name, said in result.lacks.items() if name not in self.found} | mistakes
        if not mistakes:
            self.load_all([file for file, _ in waiting], connection, True)
            return
        others = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        self.progress.clear()
        for said in dict.fromkeys(mistakes.values()):
            complain(f"{waiting[0][0].name}{others}: {said}")
        self.summary.left_out += [file.name for file, _ in waiting]

    def done(self, file: File, result: Result) -> None:
        summary = self.summary
        self.found |= result.found
        if result.is_postponed:
            self.postponed.append((file, result))
            return
        self.progress.done(file, result)
        if result.is_passed:
            summary.n_passed += 1
            summary.n_files -= 1
        elif result.failed:
            summary.left_out.append(file.name)
        else:
            summary.tally.add(result.tally)
            if result.tally.counts["documents_read"] == 0:
                summary.nothing.append(file.name)
        if result.said:
            self.progress.clear()
            complain(f"{safe(file.name)}: {'' if result.failed else 'left out of it: '}{result.said}")
            for line in result.more if self.given.verbose else ():
                complain(f"  {line}")


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
