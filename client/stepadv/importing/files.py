"""Files and directories, compressed or not: which files to read, their source names, and their documents."""

import bz2
import contextlib
import gzip
import lzma
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, NamedTuple

from stepadv.importing.format import name_parts
from stepadv.importing.values import MAX_BYTES, Json, Unreadable, decode, parse
from stepadv.text import Failed

ENDINGS = (".json", ".jsonl", ".ndjson", ".traj", ".txt", ".eval")
PACKED: dict[str, Callable[..., Any]] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
MARKS = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\0"}
BOM = b"\xef\xbb\xbf"
IS_LOG = re.compile(r"(^|\n)Action( [0-9]+)?: ")
# Files given by mistake: bytes at their beginning, and what to do.
MISTAKEN = {b"PK\3\4": "a zip file: unpack it", b"ustar": "a tar file: unpack it"}
MISTAKEN |= {b"//git-lfs": "a pointer of Git LFS: git lfs pull"}


class CannotRead(Exception):
    """A file cannot be read; the message says why."""


@dataclass
class File:
    path: str  # to open
    source: str  # its path without a suffix of compression; a part "." marks where ids begin
    more: tuple[str, ...] = ()  # further files of the same rollout
    is_below: bool = False  # found in a directory, not named itself
    is_optional: bool = False  # not a problem if it is not a rollout

    @property
    def name(self) -> str:
        return "standard input" if self.source == "stdin" else self.path


def plain_name(path: str) -> str:
    """A path without the suffix of its compression; bytes that are not UTF-8 become U+FFFD."""
    text = os.fsencode(path).decode(errors="replace")
    root, ending = os.path.splitext(text)
    return root if ending.lower()[1:] in PACKED else text


def below(directory: str, failed: Callable[[str], None]) -> Iterator[str]:
    """The files with known endings below a directory; links are not followed."""
    walk = os.walk(directory, onerror=lambda error: failed(f"cannot read {error.filename}: {error.strerror}"))
    for folder, _, names in walk:
        for name in names:
            path = os.path.join(folder, name)
            is_wanted = plain_name(name).lower().endswith(ENDINGS) and not name.startswith("._")
            if is_wanted and os.path.isfile(path) and not os.path.islink(path):
                yield path


def list_files(names: list[str]) -> tuple[list[File], list[str], list[str]]:
    """Returns the files to read, the directories without one, and messages about names that cannot be read."""
    paths: dict[str, bool] = {}  # and whether they were found in a directory
    empty: list[str] = []
    failed: list[str] = []
    for name in names:
        if name == "-":
            paths["-"] = False
        elif os.path.isdir(name):
            n_failed = len(failed)
            found = sorted(below(os.path.realpath(name), failed.append), key=os.fsencode)
            if not found and len(failed) == n_failed:
                empty.append(name)
            paths.update({path: True for path in found if path not in paths})
        elif os.path.isfile(name) and os.access(name, os.R_OK):
            folder, base = os.path.split(name)
            paths[os.path.join(os.path.realpath(folder or "."), base)] = False
        else:
            why = "no permission" if os.path.isfile(name) else "it is a special file"
            failed.append(f"cannot read {name}: {why if os.path.exists(name) else 'it does not exist'}")
    files = [File(path, source, is_below=paths[path]) for path, source in sources_of(list(paths)).items()]
    return files, empty, failed


def sources_of(paths: list[str]) -> dict[str, str]:
    """The source name of each path.  Ids consist of the last directory and the name.  If several files share these,
    their ids include the directories that they do not share, which follow a part "." in the source name."""
    found = {path: "stdin" if path == "-" else plain_name(path) for path in paths}
    alike: dict[tuple[str, str], list[str]] = {}
    for path, source in found.items():
        alike.setdefault(name_parts(source), []).append(path)
    for several in alike.values():
        # A file and its compressed copy have the same name.
        if len({os.path.dirname(found[path]) for path in several}) > 1:
            n = len(os.path.commonpath([os.path.dirname(found[path]) for path in several]).rstrip("/"))
            found |= {path: f"{found[path][:n]}/.{found[path][n:]}" for path in several}
    return found


@contextlib.contextmanager
def spooled_stdin() -> Iterator[str]:
    """A temporary copy of standard input, which is read more than once."""
    with tempfile.NamedTemporaryFile(prefix="stepadv.") as spool:
        try:
            shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
            spool.flush()
        except OSError as error:
            raise Failed(f"no room in TMPDIR for standard input: {error.strerror}") from None
        yield spool.name


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Turns errors of reading into CannotRead."""
    try:
        yield
    except EOFError:
        raise CannotRead("it cannot be unpacked: unexpected end of file") from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise CannotRead(f"it cannot be unpacked: {error}") from None
    except OSError as error:
        raise CannotRead(f"{error.strerror or error}") from None


@contextlib.contextmanager
def open_file(path: str) -> Iterator[IO[bytes]]:
    with reading():
        with open(path, "rb") as raw:
            begin = raw.read(6)
        kind = next((kind for kind, mark in MARKS.items() if begin.startswith(mark)), "")
        if not kind and path.endswith(".gz") and begin:
            raise CannotRead("it is not in gzip format")
        # A larger buffer, as lines are long.
        with PACKED[kind](path, "rb") if kind else open(path, "rb", 1 << 17) as stream:
            yield stream


class Document(NamedTuple):
    """A document; its value is JSON, the text of a log, or Unreadable with the reason."""

    n: int  # its number, or that of its line
    value: Json
    n_nul: int = 0  # how many U+0000 were replaced
    size: int = 0  # in characters


def parsed(n: int, data: bytes) -> Document:
    is_json = False
    try:
        if len(data) > MAX_BYTES:
            raise Unreadable("it has more than the 256 MB that a document may have")
        text = decode(data)
        is_json = text.lstrip()[:1] in ("{", "[")
        if not is_json and IS_LOG.search(text):
            return Document(n, text.replace("\0", "\ufffd"), text.count("\0"), len(text))
        return Document(n, *parse(text), len(text))
    except Unreadable as wrong:
        found = [] if is_json else [words for mark, words in MISTAKEN.items() if mark in data[:300]]
        if not is_json and str(wrong).startswith("invalid JSON"):
            found.append("neither JSON nor a log of a ReAct agent; for a table of verdicts there is --outcomes")
        return Document(n, Unreadable(f"it is {found[0]}") if found else wrong)


def lines_of(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; only the beginning of a line that is too long."""
    n = 0
    while line := stream.readline(MAX_BYTES + 1):
        n += 1
        rest = line
        while rest and rest[-1:] != b"\n":
            rest = stream.readline(1 << 24)
        line = line.removeprefix(BOM) if n == 1 else line
        if not line.isspace():
            yield n, line


def has_lines(path: str) -> bool:
    """Whether every line is a document.  The first two lines decide: both must begin a value, and the first must not
    leave one open."""
    with open_file(path) as stream:
        lines = [line for _, line in islice(lines_of(stream), 2)]
    if len(lines) < 2 or lines[0][:1] not in (b"{", b"["):
        return False
    first, mark = lines[0].rstrip(), lines[1].lstrip()[:1]
    if first[-1:] not in (b",", b":", b"[", b"{") and mark == first[:1]:
        return True
    return mark in (b"{", b"[") and not isinstance(parsed(1, first).value, Unreadable)


def documents_of(path: str) -> Iterator[Document]:
    """The documents of a file: its samples (.eval), its lines, or the whole file."""
    if path.lower().endswith(".eval"):
        yield from samples_of(path)
        return
    is_lines = has_lines(path)
    with open_file(path) as stream:
        if is_lines:
            yield from (parsed(n, line) for n, line in lines_of(stream))
        elif (data := stream.read(MAX_BYTES + 1).removeprefix(BOM)) and not data.isspace():
            yield parsed(1, data)


def samples_of(path: str) -> Iterator[Document]:
    """The samples of an Inspect log (.eval, a zip file), each with the header of the log."""
    # Loaded only when it is needed.
    import zipfile

    try:
        with reading(), zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "header.json" not in names:
                raise CannotRead("there is no header.json in it")
            header = parsed(0, archive.read("header.json")).value
            if isinstance(header, Unreadable):
                raise CannotRead(f"header.json: {header}")
            for n, name in enumerate((name for name in names if re.fullmatch(r"samples/.*\.json", name)), 1):
                with archive.open(name) as entry:
                    sample = parsed(n, entry.read(MAX_BYTES + 1))
                is_wrong = isinstance(sample.value, Unreadable)
                yield sample if is_wrong else sample._replace(value={"header": header, "sample": sample.value})
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise CannotRead(f"it is not a zip file that can be read: {error}") from None
