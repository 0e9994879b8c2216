"""So many files at once: processes with a connection each, and what an interrupt means to them."""

import contextlib
import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

import psycopg

from stepadv.importing.files import File
from stepadv.importing.load import Loader, Result
from stepadv.text import Failed

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    def __init__(self, number: int):
        self.signal = signal.SIGTERM if number == signal.SIGHUP else number


@contextlib.contextmanager
def on_signals(connection: psycopg.Connection) -> Iterator[None]:
    """What is being loaded when a signal comes is left out: the server is told to stop."""

    def stop(number: int, frame: Any) -> None:
        for n in SIGNALS:
            signal.signal(n, signal.SIG_IGN)
        with contextlib.suppress(psycopg.Error):
            connection.cancel()
        raise Interrupted(number)

    before = {n: signal.signal(n, stop) for n in SIGNALS}
    try:
        yield
    except Interrupted:
        with contextlib.suppress(psycopg.Error):
            connection.close()
        raise
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)


def work(make_loader: Callable[[], Loader], path_of: Callable[[File], str], pipe: Connection) -> None:
    """In a process of its own: files as they are asked for, until there is none."""
    try:
        loader = make_loader()
        with on_signals(loader.connection):
            pipe.send(None)
            while (asked := pipe.recv()) is not None:
                file, allowed = asked
                pipe.send(loader.load(file, path_of(file), allowed))
        loader.connection.close()
    except Interrupted:
        pass
    except (Failed, psycopg.Error, EOFError, pickle.PickleError) as error:
        with contextlib.suppress(OSError):
            pipe.send(f"{error}")
    os._exit(0)


class Workers:
    def __init__(self, n: int, make_loader: Callable[[], Loader], path_of: Callable[[File], str]):
        context = multiprocessing.get_context("fork")
        self.busy: dict[Connection, File | None] = {}
        self.processes = []
        for _ in range(n):
            mine, theirs = context.Pipe()
            process = context.Process(target=work, args=(make_loader, path_of, theirs), daemon=True)
            process.start()
            theirs.close()
            self.processes.append(process)
            self.busy[mine] = None

    def run(self, files: list[File], allowed: Callable[[], set[str] | None], done: Callable[[File, Result], None]) -> None:
        def stop(number: int, frame: Any) -> None:
            raise Interrupted(number)

        before = {n: signal.signal(n, stop) for n in SIGNALS}
        try:
            self.give_out(list(files), allowed, done)
        finally:
            for n in SIGNALS:
                signal.signal(n, signal.SIG_IGN)
            self.end()
            for n, handler in before.items():
                signal.signal(n, handler)

    def give_out(self, waiting: list[File], allowed: Callable[[], set[str] | None], done: Callable[[File, Result], None]) -> None:
        n_left = len(waiting)
        while n_left > 0:
            for pipe in wait(list(self.busy)):
                try:
                    told = pipe.recv()
                except EOFError:
                    told = "a process that loaded files has gone"
                if isinstance(told, str):
                    raise Failed(told)
                if told is not None:
                    file, self.busy[pipe] = self.busy[pipe], None
                    done(file, told)
                    n_left -= 1
                if waiting:
                    self.busy[pipe] = waiting.pop(0)
                    pipe.send((self.busy[pipe], allowed()))

    def end(self) -> None:
        """Those that have nothing to do are told so, others are stopped."""
        for (pipe, file), process in zip(self.busy.items(), self.processes, strict=True):
            if file is None:
                with contextlib.suppress(OSError):
                    pipe.send(None)
            elif process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(10)
            if process.is_alive():
                process.kill()
