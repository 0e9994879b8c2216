"""One file into the tables, in one transaction: all of it, or nothing; and many files at once."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

import psycopg

from stepadv.database import words_of
from stepadv.importing.files import CannotRead, Document, File, documents_of, has_lines
from stepadv.importing.format import OTHER_TYPES, Bad, Format, Rollout, Where
from stepadv.importing.formats import FORMATS, document_of, format_of, keys_of, unknown
from stepadv.importing.tally import MOST_PROBLEMS, Tally
from stepadv.importing.values import Json, Unreadable
from stepadv.importing.writer import CHUNK, Tables, Writer
from stepadv.text import Failed, safe

MOST_TRIES = 5  # after deadlocks with other loads
AGAIN = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)


@dataclass
class Options:
    """How files are read."""

    format: str | None = None
    keep_going: bool = False
    replace: bool = False
    # Adds what is known of a file's rollouts beside it: verdicts, names.
    amend: Callable[[Rollout, File, Tally], Rollout] = lambda rollout, file, tally: rollout


@dataclass
class Result:
    """What became of a file."""

    tally: Tally = field(default_factory=Tally)
    failed: bool = False
    said: list[str] = field(default_factory=list)  # what was left out, why, what may help
    is_passed: bool = False  # it is no rollout, and need not be one


class LeftOut(Exception):
    """Rolls back."""


# ----------
# From a file to rollouts
# ----------


class Parts:
    """Parts of rollouts, by the keys of these, until the rest of a file is read; on disk, if they are many."""

    def __init__(self) -> None:
        self.begins: dict[str, int] = {}  # the first document of a key
        self.held: dict[str, list[Json]] = {}
        self.disk: sqlite3.Connection | None = None

    def add(self, key: str, n: int, part: Json) -> None:
        self.begins.setdefault(key, n)
        self.held.setdefault(key, []).append(part)

    def spill(self) -> None:
        if self.disk is None:
            self.disk = sqlite3.connect("")
            self.disk.executescript("PRAGMA journal_mode = OFF; CREATE TABLE part (key INTEGER, data BLOB)")
        numbers = {key: number for number, key in enumerate(self.begins)}
        rows = ((numbers[key], pickle.dumps(part, 5)) for key, parts in self.held.items() for part in parts)
        self.disk.executemany("INSERT INTO part VALUES (?, ?)", rows)
        self.held = {}

    def take(self, but: str | None = None) -> Iterator[tuple[int, list[Json]]]:
        """Those of all keys but one, each with its first document."""
        if self.disk is not None:
            self.spill()
            self.disk.execute("CREATE INDEX by_key ON part (key)")
        for number, key in enumerate([key for key in self.begins if key != but]):
            if self.disk is None:
                found = self.held.pop(key)
            else:
                rows = self.disk.execute("SELECT data FROM part WHERE key = ? ORDER BY rowid", (number,))
                found = [pickle.loads(data) for (data,) in rows]
            yield self.begins.pop(key), found


class Reader:
    """The rollouts of one file."""

    def __init__(self, file: File, source: str, options: Options, tally: Tally):
        self.file, self.source, self.options, self.tally = file, source, options, tally
        self.paths = (file.path, *file.more)
        self.likely = options.format
        self.top: str | None = None
        self.size = 0  # of what was read since parts were taken, in characters

    def documents(self) -> Iterator[Document]:
        """Those of all files of the rollout; if it has several, their numbers are those of the files."""
        for n, path in enumerate(self.paths, 1):
            name = f"{os.path.basename(path)}: " if n > 1 else ""
            try:
                for number, document in documents_of(path):
                    is_wrong = isinstance(document, Unreadable) and name
                    yield n if self.file.more else number, Unreadable(f"{name}{document}") if is_wrong else document
            except CannotRead as error:
                raise CannotRead(f"{name}{error}") from None

    def values(self) -> Iterator[tuple[int, Json]]:
        """The values of documents that can be read."""
        for n, document in self.documents():
            self.tally.counts["documents"] += 1
            try:
                if isinstance(document, Unreadable):
                    raise document
                value, n_nul = document_of(document) if isinstance(document, str) else document
            except Unreadable as wrong:
                self.tally.problem(n, str(wrong), "unreadable")
                continue
            self.size += len(document) if isinstance(document, str) else 1000
            self.tally.repaired["U+0000 in texts, now U+FFFD"] += n_nul
            if self.top is None and not isinstance(value, str):
                self.top = keys_of(value)
            yield n, value

    def rollouts(self) -> Iterator[tuple[Rollout, int]]:
        parts = Parts()
        try:
            for n, value in self.values():
                format = self.format_of(n, value)
                if format is None:
                    continue
                where = Where(self.paths[n - 1]) if self.file.more else Where(self.source, n)
                if format.split is None:
                    for rollout in self.trying(n, lambda v=value, w=where, f=format: f.read(v, w)):
                        yield rollout, n
                    continue
                for key, part in self.trying(n, lambda v=value, w=where, f=format: f.split(v, w)):
                    parts.add("" if self.file.more else key, n, part)
                if self.size > CHUNK and format.in_parts:
                    # Of the last there may be more.
                    yield from self.joined(parts, format, next(reversed(parts.held), None))
                elif self.size > CHUNK:
                    parts.spill()
                self.size = 0 if self.size > CHUNK else self.size
            if parts.begins and self.likely is not None:
                yield from self.joined(parts, FORMATS[self.likely])
        except sqlite3.Error as error:
            raise CannotRead(f"no room in TMPDIR for what waits until all of it is read: {error}") from None

    def format_of(self, n: int, value: Json) -> Format | None:
        """If documents are parts of rollouts, the first tells; lines of a log differ."""
        if self.options.format is None and not (self.likely and FORMATS[self.likely].split):
            name = format_of(value, self.likely)
            if name is None:
                self.tally.problem(n, unknown(value), "unknown")
                return None
            self.likely = name
        return FORMATS[self.likely] if self.likely else None

    def trying(self, n: int, made: Callable[[], Iterable[Any]]) -> list[Any]:
        """What is made of a document, all of it; or nothing, and what is wrong with it is noted."""
        try:
            found = list(made())
            if not found:
                raise Bad("there is no rollout in the document")
            return found
        except (Bad, Unreadable) as wrong:
            words = str(wrong)
        except RecursionError:
            words = "it is nested too deeply"
        except OverflowError:
            words = "a number out of range"
        except OTHER_TYPES as error:
            words = f"a value is not what {self.likely or 'the format'} has there ({error})"
        self.tally.problem(n, words)
        return []

    def joined(self, parts: Parts, format: Format, but: str | None = None) -> Iterator[tuple[Rollout, int]]:
        for n, found in parts.take(but):
            for rollout in self.trying(n, lambda n=n, found=found: format.join(found, Where(self.source, n))):
                yield rollout, n


# ----------
# From a file to the tables
# ----------


class Loader:
    """Files by one connection, one after the other."""

    def __init__(self, tables: Tables, options: Options):
        self.tables, self.options = tables, options
        self.connection = tables.connection

    def load(self, file: File) -> Result:
        for attempt in range(MOST_TRIES):
            try:
                return self.load_once(file)
            except AGAIN as error:
                # Another load writes the same in another order, and goes first.
                if attempt == MOST_TRIES - 1:
                    return Result(failed=True, said=[words_of(error)])
        raise AssertionError

    def load_once(self, file: File) -> Result:
        writer = Writer(self.tables, self.options.replace)
        tally = writer.tally
        reader = Reader(file, self.tables.source_of(file.source), self.options, tally)
        result = Result(tally)
        try:
            with self.connection.transaction():
                self.write(reader, writer)
                if tally.n_problems and not (self.options.keep_going and tally.counts["usable"]):
                    raise LeftOut
        except LeftOut:
            is_none = tally.counts["unknown"] + tally.counts["unreadable"] == tally.n_problems
            if file.is_optional and not tally.counts["usable"] and is_none:
                return Result(is_passed=True)
            result.failed = True
        except CannotRead as error:
            return Result(failed=True, said=[str(error)])
        except AGAIN:
            raise
        except psycopg.Error as error:
            if self.connection.closed or isinstance(error, psycopg.errors.QueryCanceled):
                raise
            return Result(failed=True, said=[words_of(error)])
        result.said = self.tell(reader, tally) if tally.n_problems else []
        return result

    def write(self, reader: Reader, writer: Writer) -> None:
        for rollout, n in reader.rollouts():
            writer.add(rollout if "problem" in rollout else self.options.amend(rollout, reader.file, writer.tally), n)
        writer.flush()

    def tell(self, reader: Reader, tally: Tally) -> list[str]:
        """What was left out: the first in a line with the option that may help, then others."""
        noun = "line" if reader.likely == "steps" or has_lines(reader.file.path) else "document"
        problems = sorted(tally.problems, key=lambda p: p[0])
        listed = [f"{noun} {place}: {safe(words)}" for place, words in problems]
        top = [f"at the top: {reader.top}"] if reader.top else []
        more = [f"  and {tally.n_problems - MOST_PROBLEMS} more"] if tally.n_problems > MOST_PROBLEMS else []
        first = "; ".join([listed[0], *top, *self.advice(tally)])
        return [first, *(f"  {line}" for line in listed[1:]), *more]

    def advice(self, tally: Tally) -> Iterator[str]:
        """The option that may help with what was left out."""
        options, n_usable = self.options, tally.counts["usable"]
        if tally.counts["unknown"]:
            yield "--explain shows what was looked for, -f names the format"
        if tally.is_of_other:
            yield "the tables have it from another file of that name: -r RUN tells them apart"
        elif tally.counts["contradictions"] and not options.replace:
            yield "--update or --retries last takes the newest"
        if not options.keep_going and n_usable and tally.n_problems > tally.counts["contradictions"]:
            yield f"-k loads the other {n_usable}"


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


def work(file: File) -> Result:
    global loader
    loader = loader or make_loader()  # type: ignore[misc]
    return loader.load(file)


def load_at_once(
    jobs: int, make: Callable[[], Loader], files: list[File], done: Callable[[File, Result], None]
) -> None:
    """So many files at once, over a connection each."""

    def stop() -> None:
        for child in multiprocessing.active_children():
            child.terminate()

    context = multiprocessing.get_context("fork")
    with on_signals(stop), ProcessPoolExecutor(jobs, context, start, (make,)) as pool:
        waiting = {pool.submit(work, file): file for file in files}
        try:
            for future in as_completed(waiting):
                done(waiting[future], future.result())
        except BrokenProcessPool:
            raise Failed("a process that loaded files has ended") from None
        except (Failed, psycopg.Error):
            pool.shutdown(wait=False, cancel_futures=True)
            raise
