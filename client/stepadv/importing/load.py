"""Loads a file in one transaction, all of it or nothing; and many files in parallel."""

import os
import signal
import tempfile
from argparse import Namespace
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

import psycopg

from stepadv.database import words_of
from stepadv.importing.files import CannotRead, Document, File, documents_of, has_lines
from stepadv.importing.format import OTHER_TYPES, Bad, Format, Rollout, Where
from stepadv.importing.formats import FORMATS, format_of, keys_of, unknown
from stepadv.importing.tally import MOST_PROBLEMS, Tally
from stepadv.importing.values import Json, Unreadable
from stepadv.importing.writer import CHUNK, Tables, Writer
from stepadv.text import Failed, safe

MOST_TRIES = 5  # after deadlocks with other loads
AGAIN = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)
# Adds to a rollout what other files say about it: verdicts, names.
Amend = Callable[[Rollout, File, Tally], Rollout]


class Parts:
    """Parts of rollouts, by the keys of the rollouts, until the file is read; on disk if they are large."""

    def __init__(self) -> None:
        self.begins: dict[Hashable, int] = {}  # the number of the first document of a key
        self.held: dict[Hashable, list[Json]] = {}
        self.file: IO[bytes] | None = None
        self.places: dict[Hashable, list[int]] = {}  # offsets in the file, by key

    def add(self, key: Hashable, n: int, part: Json) -> None:
        self.begins.setdefault(key, n)
        self.held.setdefault(key, []).append(part)

    def spill(self) -> None:
        # Loaded only when it is needed, as most files do not need it.
        import pickle

        try:
            self.file = self.file or tempfile.TemporaryFile(prefix="stepadv.")  # noqa: SIM115
            for key, parts in self.held.items():
                self.places.setdefault(key, []).append(self.file.tell())
                pickle.dump(parts, self.file, 5)
            self.file.flush()
        except OSError as error:
            # Otherwise Python 3.14 also reports that the rest of the file cannot be written.
            with suppress(OSError):
                if self.file is not None:
                    self.file.close()
            raise CannotRead(f"no room in TMPDIR for parts of rollouts: {error.strerror}") from None
        self.held = {}

    def of(self, key: Hashable) -> Iterator[Json]:
        if self.file is not None:
            import pickle

            for place in self.places.get(key, ()):
                self.file.seek(place)
                yield from pickle.load(self.file)
        yield from self.held.pop(key, ())

    def take(self, but: Hashable = None) -> Iterator[tuple[int, list[Json]]]:
        """Yields and removes the parts of all keys but one, each with the number of its first document."""
        for key in [key for key in self.begins if key != but]:
            yield self.begins.pop(key), list(self.of(key))


class Reader:
    def __init__(self, file: File, source: str, options: Namespace, tally: Tally, between: Callable[[], Any]):
        """between is called after each document is read."""
        self.file, self.source, self.tally, self.between = file, source, tally, between
        self.paths = (file.path, *file.more)
        self.given = self.likely = options.format
        self.top: str | None = None
        self.size = 0  # characters read since parts were last taken

    def documents(self) -> Iterator[Document]:
        """The readable documents of all files of the rollout; if there are several files, numbered by file."""
        for n, path in enumerate(self.paths, 1):
            name = f"{os.path.basename(path)}: " if n > 1 else ""
            try:
                for document in documents_of(path):
                    if self.file.more:
                        document = document._replace(n=n)
                    self.tally.counts["documents"] += 1
                    if isinstance(document.value, Unreadable):
                        self.tally.problem(document.n, f"{name}{document.value}", "unreadable")
                    else:
                        yield document
            except CannotRead as error:
                raise CannotRead(f"{name}{error}") from None

    def rollouts(self) -> Iterator[tuple[Rollout, int]]:
        parts = Parts()
        for n, value, n_nul, size in self.documents():
            self.between()
            self.size += size
            self.tally.repaired["U+0000 in texts, now U+FFFD"] += n_nul
            if self.top is None and not isinstance(value, str):
                self.top = keys_of(value)
            format = self.format_of(n, value)
            if format is None:
                continue
            where = Where(self.paths[n - 1]) if self.file.more else Where(self.source, n)
            if format.split is None:
                for rollout in self.trying(n, format.read, value, where):
                    yield rollout, n
                continue
            for key, part in self.trying(n, format.split, value, where):
                parts.add("" if self.file.more else key, n, part)
            if self.size > CHUNK and format.in_parts:
                # More parts of the last key may follow.
                yield from self.joined(parts, format, next(reversed(parts.held), None))
            elif self.size > CHUNK:
                parts.spill()
            self.size = 0 if self.size > CHUNK else self.size
        if parts.begins and self.likely is not None:
            yield from self.joined(parts, FORMATS[self.likely])

    def format_of(self, n: int, value: Json) -> Format | None:
        """The format of a document.  If documents are parts of rollouts, the first decides, as lines of a log differ.
        The format that the user gives counts if none, or more than one, is detected."""
        if not (self.likely and FORMATS[self.likely].split):
            name = format_of(value, self.likely) or self.given
            if name is None or self.given not in (None, name):
                words = unknown(value) if name is None else f"the document is {name}, not {self.given}"
                self.tally.problem(n, words, "unknown" if name is None else "bad")
                return None
            self.likely = name
        return FORMATS[self.likely] if self.likely else None

    def trying(self, n: int, made: Callable[..., Iterable[Any]], *given: Any) -> list[Any]:
        """Everything that a function makes of a document; or nothing, and the error is recorded."""
        try:
            found = list(made(*given))
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

    def joined(self, parts: Parts, format: Format, but: Hashable = None) -> Iterator[tuple[Rollout, int]]:
        for n, found in parts.take(but):
            for rollout in self.trying(n, format.join, found, Where(self.source, n)):
                yield rollout, n


@dataclass
class Result:
    tally: Tally = field(default_factory=Tally)
    failed: bool = False
    said: list[str] = field(default_factory=list)  # what was left out, why, what may help
    is_passed: bool = False  # it is not a rollout, and need not be one


class Loader:
    def __init__(self, tables: Tables, amend: Amend):
        self.tables, self.options, self.amend = tables, tables.options, amend

    def load(self, file: File) -> Result:
        for attempt in range(MOST_TRIES):
            try:
                return self.load_once(file)
            except CannotRead as error:
                return Result(failed=True, said=[str(error)])
            except psycopg.Error as error:
                if self.tables.connection.closed:
                    raise
                # Try again after a deadlock: the other load goes first.
                if not isinstance(error, AGAIN) or attempt == MOST_TRIES - 1:
                    return Result(failed=True, said=[words_of(error)])
        raise AssertionError

    def load_once(self, file: File) -> Result:
        tally = Tally()
        reader = Reader(file, self.tables.source_of(file.source), self.options, tally, self.tables.send)
        with self.tables.transaction() as transaction:
            writer = Writer(self.tables, tally)
            for rollout, n in reader.rollouts():
                writer.add(rollout if "problem" in rollout else self.amend(rollout, file, tally), n)
            writer.flush()
            writer.insert()
            self.tables.settle()
            n_usable, n_problems = tally.counts["usable"], tally.n_problems
            failed = n_problems > 0 and not (self.options.keep_going and n_usable)
            if failed:
                raise psycopg.Rollback(transaction)
        is_none = tally.counts["unknown"] + tally.counts["unreadable"] == n_problems
        if failed and file.is_optional and not n_usable and is_none:
            return Result(is_passed=True)
        return Result(tally, failed, self.tell(reader, tally) if n_problems else [])

    def tell(self, reader: Reader, tally: Tally) -> list[str]:
        """Messages about what was left out: the first with the options that may help, then the others."""
        noun = "line" if reader.likely == "steps" or has_lines(reader.file.path) else "document"
        problems = sorted(tally.problems, key=lambda p: p[0])
        listed = [f"{noun} {place}: {safe(words)}" for place, words in problems]
        top = [f"at the top: {reader.top}"] if reader.top else []
        more = [f"  and {tally.n_problems - MOST_PROBLEMS} more"] if tally.n_problems > MOST_PROBLEMS else []
        first = "; ".join([listed[0], *top, *self.advice(tally)])
        return [first, *(f"  {line}" for line in listed[1:]), *more]

    def advice(self, tally: Tally) -> Iterator[str]:
        options, n_usable = self.options, tally.counts["usable"]
        if tally.counts["unknown"]:
            yield "--explain shows what was looked for, -f names the format"
        if tally.is_of_other:
            yield "the tables have it from another file of that name: -r RUN tells them apart"
        elif tally.counts["contradictions"] and not options.replace:
            yield "--update or --retries last takes the newest"
        if not options.keep_going and n_usable and tally.n_problems > tally.counts["contradictions"]:
            yield f"-k loads the other {n_usable}"


Make = Callable[[], Loader]
# In each worker process.
make_loader: Make | None = None
loader: Loader | None = None


def start(make: Make) -> None:
    """Prepares a worker process, which the main process terminates when it is interrupted."""
    global make_loader
    make_loader = make
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def work(file: File) -> Result:
    global loader
    loader = loader or make_loader()  # type: ignore[misc]
    return loader.load(file)


def load_at_once(jobs: int, make: Make, files: list[File], done: Callable[[File, Result], None]) -> None:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), start, (make,)) as pool:
        waiting = {pool.submit(work, file): file for file in files}
        try:
            for future in as_completed(waiting):
                done(waiting[future], future.result())
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            if isinstance(error, BrokenProcessPool):
                raise Failed("a process that loaded files has ended") from None
            raise
