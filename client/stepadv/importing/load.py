"""One file into the tables, in one transaction: it is loaded, or nothing of it is; and many files at once."""

import contextlib
import multiprocessing
import os
import pickle
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

import psycopg

from stepadv.database import words_of
from stepadv.importing import paths as by_paths
from stepadv.importing import recognise
from stepadv.importing.files import CannotRead, Document, File, Look, Parsed, documents_of, is_zip, look, open_file, samples_of
from stepadv.importing.format import OTHER_TYPES, Bad, Format, Rollout, Where
from stepadv.importing.formats import FORMATS
from stepadv.importing.values import Json, Unreadable
from stepadv.importing.writer import CHUNK, Tables, Tally, Writer
from stepadv.text import Failed, safe

NO_ROLLOUT = re.compile("no known format|neither JSON nor|^invalid JSON")
MOST_TRIES = 5  # after deadlocks with other loads


@dataclass
class Options:
    """What the user says of how files are read."""

    format: str | None = None
    paths: by_paths.Paths | None = None  # of any other JSON
    beside: dict[str, by_paths.Path] = field(default_factory=dict)  # with a format
    keep_going: bool = False
    replace: bool = False
    limit: float | None = None
    # What else is known of a file's rollouts: verdicts, names.
    amend: Callable[[Rollout, File, Tally], Rollout] | None = None


@dataclass
class Result:
    """What became of a file."""

    tally: Tally = field(default_factory=Tally)
    failed: bool = False
    said: str | None = None  # in one line: what was left out, why, what may help
    more: list[str] = field(default_factory=list)
    lacks: dict[str, str] = field(default_factory=dict)  # paths that found nothing in it, in words
    found: set[str] = field(default_factory=set)  # and those that found something
    is_postponed: bool = False
    is_passed: bool = False  # it is no rollout, and nobody misses one


class LeftOut(Exception):
    """Rolls back."""


# ----------
# From a file to rollouts
# ----------


class Reader:
    """The rollouts of one file."""

    def __init__(self, file: File, path: str, source: str, options: Options, tally: Tally):
        self.file, self.path, self.source, self.options, self.tally = file, path, source, options, tally
        self.likely = options.format
        self.top: str | None = None
        self.lacking: Counter[str] = Counter()
        self.n_read = 0
        self.first: tuple[Json, Where] | None = None  # where paths found something to read

    def rollouts(self) -> Iterator[tuple[Rollout, int]]:
        if is_zip(self.path):
            yield from self.read(samples_of(self.path, self.options.limit))
            return
        seen = self.look(self.path)
        kind = None if self.options.paths else self.options.format or seen.guessed
        if kind is None and self.file.more:
            # What is printed over several lines is known when all of it is read.
            _, first = next(self.documents(seen, None), (0, ""))
            kind = recognise.guess(first) if isinstance(first, str) else None
        self.likely = kind
        format = FORMATS[kind] if kind is not None else None
        documents = self.documents(seen, format)
        if format is not None and format.split is not None:
            yield from self.gather(documents, format)
        else:
            yield from self.read(documents)

    def look(self, path: str) -> Look:
        of_list = (lambda _: None) if self.options.paths else recognise.format_of_list
        return look(path, self.options.limit, recognise.guess, of_list)

    def documents(self, seen: Look, format: Format | None) -> Iterator[Document]:
        """Those of all files of the rollout: then their numbers are those of the files."""
        for n, path in enumerate((self.path, *self.file.more), 1):
            seen = self.look(path) if n > 1 else seen
            is_one = seen.is_one and not (format is not None and format.is_lines) or self.options.format == "react"
            try:
                with open_file(path, self.options.limit) as stream:
                    for number, document in documents_of(stream, is_one, seen.is_list):
                        if n > 1 and isinstance(document, Unreadable):
                            document = Unreadable(f"{os.path.basename(path)}: {document}")
                        yield number if not self.file.more else n, document
            except CannotRead as error:
                raise CannotRead(f"{os.path.basename(path)}: {error}" if n > 1 else str(error)) from None

    def value_of(self, document: str | Parsed | Unreadable) -> Json:
        self.tally.counts["documents_read"] += 1
        if isinstance(document, Unreadable):
            raise document
        value, n_nul = (document.value, document.n_nul) if isinstance(document, Parsed) else recognise.document_of(document)
        self.tally.counts["nul_replaced"] += n_nul
        if self.top is None and not isinstance(value, str):
            self.top = recognise.keys_of(value)
        return value

    def trying(self, n: int, kind: str | None, made: Callable[[], Iterable[Any]]) -> list[Any]:
        """What is made of a document, all of it; or nothing, and what is wrong with it is noted."""
        try:
            return list(made())
        except (Bad, Unreadable) as wrong:
            words = str(wrong)
        except RecursionError:
            words = "it is nested too deeply"
        except OverflowError:
            words = "a number out of range"
        except OTHER_TYPES as error:
            words = f"a value is not what {kind or self.likely or 'the format'} has there ({error})"
        self.tally.problem(n, words, "bad_documents")
        return []

    def read(self, documents: Iterator[Document]) -> Iterator[tuple[Rollout, int]]:
        for n, document in documents:
            where = Where(self.source, n)
            for rollout in self.trying(n, None, lambda d=document, w=where: self.rollouts_of(self.value_of(d), w)):
                yield rollout, n

    def rollouts_of(self, value: Json, where: Where) -> list[Rollout]:
        options = self.options
        if options.paths is not None:
            return self.by_paths(value, options.paths, where)
        name = options.format or recognise.format_of(value, self.likely)
        if name is None:
            raise Bad(recognise.unknown(value))
        self.likely, format = name, FORMATS[name]
        if format.read is None:
            parts: dict[str, list[Json]] = {}
            for key, part in format.split(value, where):  # type: ignore[misc]
                parts.setdefault(key, []).append(part)
            found = [r for listed in parts.values() for r in format.join(listed, where)]  # type: ignore[misc]
        else:
            found = list(format.read(value, where))
        if not found:
            raise Bad("there is no rollout in the document")
        return [by_paths.override(rollout, options.beside, where) for rollout in found] if options.beside else found

    def by_paths(self, value: Json, paths: by_paths.Paths, where: Where) -> list[Rollout]:
        found = by_paths.read(value, paths, where)
        self.first = self.first or (value, where)
        for rollout in found:
            if "problem" not in rollout:
                self.n_read += 1
                self.lacking.update(rollout.pop("lacks"))
        return found

    def gather(self, documents: Iterator[Document], format: Format) -> Iterator[tuple[Rollout, int]]:
        """Many documents make one rollout.  Where that can be loaded in parts, those of some megabytes are one; else they wait
        on disk until all are there."""
        size = 0
        groups: dict[str, tuple[int, list[Json]]] = {}
        if format.in_parts:
            for n, document in documents:
                size += len(document) if isinstance(document, str) else 1000
                for key, part in self.parts_of(n, document, format):
                    groups.setdefault(key, (n, []))[1].append(part)
                if size > CHUNK:
                    # Of the last there may be more.
                    last = next(reversed(groups), "")
                    for key, (begin, parts) in groups.items():
                        yield from self.joined(parts, format, begin) if key != last else ()
                    groups, size = {last: groups[last]} if groups else {}, 0
            for begin, parts in groups.values():
                yield from self.joined(parts, format, begin)
            return
        try:
            yield from self.gather_on_disk(documents, format)
        except sqlite3.Error as error:
            raise CannotRead(f"no room in TMPDIR for what waits until all of it is read: {error}") from None

    def gather_on_disk(self, documents: Iterator[Document], format: Format) -> Iterator[tuple[Rollout, int]]:
        numbers: dict[str, int] = {}
        begins: list[int] = []
        waiting = sqlite3.connect("")
        waiting.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; CREATE TABLE part (name INTEGER, data BLOB)")

        def wait() -> Iterator[tuple[int, bytes]]:
            for n, document in documents:
                for key, part in self.parts_of(n, document, format):
                    if key not in numbers:
                        numbers[key] = len(begins)
                        begins.append(n)
                    yield numbers[key], pickle.dumps(part, 5)

        waiting.executemany("INSERT INTO part VALUES (?, ?)", wait())
        parts: list[Json] = []
        last = 0
        for name, data in waiting.execute("SELECT name, data FROM part ORDER BY name, rowid"):
            if name != last:
                yield from self.joined(parts, format, begins[last])
                parts, last = [], name
            parts.append(pickle.loads(data))
        if parts:
            yield from self.joined(parts, format, begins[last])
        waiting.close()

    def parts_of(self, n: int, document: str | Parsed | Unreadable, format: Format) -> list[tuple[str, Json]]:
        where = Where((self.path, *self.file.more)[n - 1]) if self.file.more else Where(self.source, n)
        found = self.trying(n, None, lambda: format.split(self.value_of(document), where))  # type: ignore[misc]
        return [("", part) for _, part in found] if self.file.more else found

    def joined(self, parts: list[Json], format: Format, n: int) -> list[tuple[Rollout, int]]:
        where = Where(self.source, n)
        found = self.trying(n, None, lambda: format.join(parts, where))  # type: ignore[misc]
        return [(by_paths.override(rollout, self.options.beside, where), n) for rollout in found]

    def unfound(self) -> tuple[dict[str, str], set[str]]:
        """Paths that found nothing in any rollout of the file, in words, and those that found something."""
        paths = self.options.paths
        if paths is None or self.n_read == 0 or self.first is None:
            return {}, set()
        lacking = {name for name, n in self.lacking.items() if n == self.n_read}
        names = paths.names
        if "steps" in lacking:
            # Without steps nothing of them is found, or missed.
            lacking, names = lacking - set(by_paths.OF_STEP), names - set(by_paths.OF_STEP)
        document, where = self.first
        return by_paths.unfound(lacking, document, paths, where) if lacking else {}, names - lacking


def preview(file: File, path: str, options: Options, most: int = 3) -> list[dict[str, Json]]:
    """The first steps of a file as they would be stored."""
    found: list[dict[str, Json]] = []
    for rollout, _ in Reader(file, path, file.source, options, Tally()).rollouts():
        task = rollout.get("task_id") or rollout.get("group_id")
        about = {"task_id": task, "rollout_id": rollout.get("rollout_id"), "outcome": rollout.get("outcome")}
        found += [{**about, "step_no": i, **step} for i, step in enumerate(rollout.get("steps") or [])]
        if len(found) >= most:
            break
    return found[:most]


def explain(path: str, options: Options) -> list[str]:
    """What a file is."""
    if is_zip(path):
        return ["a zip: a log of Inspect, if header.json and samples/ are in it"]
    seen = look(path, options.limit, recognise.guess, lambda _: None)
    with open_file(path, options.limit) as stream:
        documents = (document for _, document in documents_of(stream, seen.is_one))
        first = next(documents, None)
        n = 1 + sum(1 for _ in documents)
    if isinstance(first, Unreadable):
        raise CannotRead(str(first))
    return ["the file is empty"] if first is None else recognise.explain(str(first), None if seen.is_one else n)


# ----------
# From a file to the tables
# ----------


class Loader:
    """Files by one connection, one after the other."""

    def __init__(self, tables: Tables, options: Options, spool: str | None = None):
        self.tables, self.options, self.spool = tables, options, spool
        self.connection = tables.connection

    def load(self, file: File, allowed: set[str] | None) -> Result:
        """allowed: the paths that may find nothing in this file, as they did in another; None: all."""
        for attempt in range(MOST_TRIES):
            try:
                return self.load_once(file, allowed)
            except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
                # Another load writes the same in another order: let it.
                if attempt == MOST_TRIES - 1:
                    return Result(failed=True, said=words_of(error))
        raise AssertionError

    def load_once(self, file: File, allowed: set[str] | None) -> Result:
        result = Result()
        try:
            with self.connection.transaction():
                reader = self.write(file, result)
                if allowed is not None and not result.lacks.keys() <= allowed:
                    result.is_postponed = True
                    raise LeftOut
                if result.tally.n_problems and not (self.options.keep_going and result.tally.usable):
                    result.failed = True
                    raise LeftOut
        except LeftOut:
            problems = [words for _, words in result.tally.problems]
            if file.is_optional and not result.tally.usable and all(map(NO_ROLLOUT.search, problems)):
                return Result(is_passed=True)
        except CannotRead as error:
            return Result(failed=True, said=str(error))
        except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
            raise
        except psycopg.Error as error:
            if self.connection.closed or isinstance(error, psycopg.errors.QueryCanceled):
                raise
            return Result(failed=True, said=words_of(error))
        if result.tally.n_problems and not result.is_postponed:
            self.tell(result, reader)
        return result

    def write(self, file: File, result: Result) -> Reader:
        path = self.spool if file.path == "-" and self.spool is not None else file.path
        is_steps = self.options.format == "steps"
        writer = Writer(self.tables, self.options.replace, "line" if is_steps else "document")
        result.tally = writer.tally
        reader = Reader(file, path, self.tables.source_of(file.source), self.options, writer.tally)
        for rollout, n in reader.rollouts():
            if rollout.pop("is_part", False):
                rollout = self.of_version(rollout)
            if self.options.amend is not None and "problem" not in rollout:
                rollout = self.options.amend(rollout, file, writer.tally)
            writer.add(rollout, n)
        writer.flush()
        result.lacks, result.found = reader.unfound()
        return reader

    def of_version(self, rollout: Rollout) -> Rollout:
        """A rollout whose first step came with another file is of that step's version; other steps say theirs."""
        version = self.tables.version_of(str(rollout["task_id"]), str(rollout["rollout_id"]))
        if version is None:
            return rollout
        steps, own = rollout["steps"], rollout.get("policy_version")
        if own is not None and str(own) != version:
            steps = [{**step, "meta": {"policy_version": own, **(step.get("meta") or {})}} for step in steps]
        number = int(version) if version.lstrip("-").isdigit() else None
        return {**rollout, "policy_version": version, "policy_step": number, "steps": steps}

    def tell(self, result: Result, reader: Reader) -> None:
        """In one line what was left out, and which option may help."""
        tally, n = result.tally, result.tally.n_problems
        noun = "line" if reader.likely == "steps" else "document"
        problems = sorted(tally.problems, key=lambda p: p[0])
        listed = [f"{noun} {place}: {safe(words)}" for place, words in problems]
        said = listed[0] + (f" (and {n - 1} more)" if n > 1 else "")
        top = f"at the top: {reader.top}" if reader.top else None
        result.said = "; ".join(part for part in (said, top, *self.advice(tally, problems[0][1])) if part)
        result.more = listed[1:]

    def advice(self, tally: Tally, reason: str) -> Iterator[str]:
        """The option that may help with what was left out."""
        options = self.options
        if options.format is None and any(w in reason for w in ("known format", "say which", "no rollout in the document")):
            yield "--explain shows what was looked for, -f names the format, -j says where things are"
        if options.paths is not None and re.search("(boolean|number), not string$", reason):
            yield 'a map of -j says what words mean, as {"path": "$.verdict", "map": {"pass": true, "fail": false}}'
        if tally.is_of_other:
            yield ("the tables have it from another file of that name: in one call with that file it has an id of its own,"
                   " and -r RUN tells them apart")  # fmt: skip
        elif tally.counts["contradictions"] and not options.replace:
            is_within = "is not what line" in reason
            yield "--retries last takes the newest" if is_within else "--update replaces what the tables have, --retries last takes the newest"
        if not options.keep_going and tally.usable and tally.counts["bad_documents"] + tally.counts["bad_rollouts"]:
            yield f"-k loads the other {tally.usable}"


# ----------
# Interrupts, and many files at once
# ----------

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Of a process that loads.
make_loader: Callable[[], Loader] | None = None
loader: Loader | None = None


class Interrupted(BaseException):
    def __init__(self, number: int):
        self.signal = signal.SIGTERM if number == signal.SIGHUP else number


@contextlib.contextmanager
def on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """What is being loaded when a signal comes is left out."""

    def interrupt(number: int, frame: Any) -> None:
        for n in SIGNALS:
            signal.signal(n, signal.SIG_IGN)
        stop()
        raise Interrupted(number)

    before = {n: signal.signal(n, interrupt) for n in SIGNALS}
    try:
        yield
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)


def cancel(connection: psycopg.Connection) -> None:
    """The server is told to stop, and nothing is committed."""
    with contextlib.suppress(psycopg.Error):
        connection.cancel()


def start(make: Callable[[], Loader]) -> None:
    """In a process of its own: what SIGTERM then means."""
    global make_loader

    def stop(number: int, frame: Any) -> None:
        if loader is not None:
            cancel(loader.connection)
        os._exit(1)

    make_loader = make
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)


def work(file: File, allowed: set[str] | None) -> Result | str:
    global loader
    try:
        loader = loader or make_loader()  # type: ignore[misc]
        return loader.load(file, allowed)
    except Failed as failure:
        return str(failure)
    except psycopg.Error as error:
        return f"the connection failed: {words_of(error)}"


def load_at_once(jobs: int, make: Callable[[], Loader], files: list[File], allowed: set[str] | None,
                 done: Callable[[File, Result], None]) -> None:  # fmt: skip
    """So many files at once, over a connection each."""

    def stop() -> None:
        for child in multiprocessing.active_children():
            child.terminate()

    context = multiprocessing.get_context("fork")
    with on_signals(stop), ProcessPoolExecutor(jobs, context, start, (make,)) as pool:
        waiting = {pool.submit(work, file, allowed): file for file in files}
        try:
            for future in as_completed(waiting):
                result = future.result()
                if isinstance(result, str):
                    raise Failed(result)
                done(waiting[future], result)
        except BrokenProcessPool:
            raise Failed("a process that loaded files has gone") from None
        except Failed:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
