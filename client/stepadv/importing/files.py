"""Files and directories, packed or plain: what is to be read, under which names, and their documents."""

import bz2
import contextlib
import gzip
import lzma
import os
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, NamedTuple

from stepadv.importing.format import name_parts
from stepadv.importing.values import MAX_BYTES, Json, Unreadable, decode, parse, too_large
from stepadv.text import Failed, complain

ENDINGS = (".json", ".jsonl", ".ndjson", ".traj", ".txt", ".eval")
PACKED = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
MARKS = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\0"}
GB = 1 << 30
BOM = b"\xef\xbb\xbf"


class CannotRead(Exception):
    """A file that cannot be read, in words."""


@dataclass
class File:
    path: str  # as it is opened
    source: str  # as it is called: without its packing, with a part "." where its name begins
    size: int = 0
    more: tuple[str, ...] = ()  # files that belong to the same rollout
    is_below: bool = False  # of a directory, not named itself
    is_optional: bool = False  # no problem if it is no rollout

    @property
    def name(self) -> str:
        return "standard input" if self.source == "stdin" else self.path


# ----------
# Which files
# ----------


def plain_name(path: str) -> str:
    """Without its packing; what is not UTF-8 is U+FFFD."""
    text = os.fsencode(path).decode(errors="replace")
    root, ending = os.path.splitext(text)
    return root if ending.lower()[1:] in PACKED else text


def below(directory: str, failed: Callable[[str], None]) -> Iterator[str]:
    """All files below a directory; links to files are not followed."""
    walk = os.walk(directory, onerror=lambda error: failed(f"cannot read {error.filename}: {error.strerror}"))
    for folder, _, names in walk:
        for name in names:
            path = os.path.join(folder, name)
            is_wanted = plain_name(name).lower().endswith(ENDINGS) and not name.startswith("._")
            if is_wanted and os.path.isfile(path) and not os.path.islink(path):
                yield path


@dataclass
class Listing:
    files: list[File] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)  # directories without a file to read
    n_failed: int = 0


def list_files(names: list[str]) -> Listing:
    paths: dict[str, bool] = {}  # and whether they are below a directory
    listing = Listing()

    def failed(words: str) -> None:
        listing.n_failed += 1
        complain(f"stepadv import: {words}")

    for name in names:
        if name == "-":
            paths["-"] = False
        elif os.path.isdir(name):
            n_failed = listing.n_failed
            found = sorted(below(os.path.realpath(name), failed), key=os.fsencode)
            if not found and listing.n_failed == n_failed:
                listing.empty.append(name)
            paths.update({path: True for path in found if path not in paths})
        elif os.path.isfile(name) and os.access(name, os.R_OK):
            folder, base = os.path.split(name)
            paths[os.path.join(os.path.realpath(folder or "."), base)] = False
        else:
            why = "no permission" if os.path.isfile(name) else "it is a special file"
            failed(f"cannot read {name}: {why if os.path.exists(name) else 'it does not exist'}")
    for path, source in sources_of(list(paths)).items():
        size = os.path.getsize(path) if path != "-" else 0
        listing.files.append(File(path, source, size, is_below=paths[path]))
    return listing


def sources_of(paths: list[str]) -> dict[str, str]:
    """Ids are made of the last directory and the name.  If several files have these in common, the directories that
    not all of them have count too: a part "." in what is called the source is before these."""
    found = {path: "stdin" if path == "-" else plain_name(path) for path in paths}
    alike: dict[tuple[str, str], list[str]] = {}
    for path, source in found.items():
        alike.setdefault(name_parts(source), []).append(path)
    for several in alike.values():
        # Packed and plain, a file is the same.
        if len({os.path.dirname(found[path]) for path in several}) > 1:
            n = len(os.path.commonpath(os.path.dirname(found[path]) for path in several).rstrip("/"))
            found |= {path: f"{found[path][:n]}/.{found[path][n:]}" for path in several}
    return found


# ----------
# What is in them
# ----------


class Limited:
    """A stream that is read no further than a limit: a file made to fill the disk unpacks to a thousand times its
    size, and a log to twenty times."""

    def __init__(self, stream: IO[bytes], limit: int):
        self.stream, self.limit, self.n_read = stream, limit, 0

    def _count(self, data: bytes) -> bytes:
        self.n_read += len(data)
        if self.n_read > self.limit:
            raise CannotRead(f"it unpacks to more than {self.limit} bytes: unpack it first")
        return data

    def read(self, n: int = -1) -> bytes:
        return self._count(self.stream.read(n)) if n >= 0 else b"".join(iter(lambda: self.read(1 << 20), b""))

    def readline(self, n: int) -> bytes:
        return self._count(self.stream.readline(n))


def limit_of(path: str) -> int:
    return max(GB, 100 * os.path.getsize(path))


def spool_stdin() -> str:
    """It is read more than once: whether it is packed, what it is, and what is in it."""
    with tempfile.NamedTemporaryFile(prefix="stepadv.", delete=False) as spool:
        try:
            shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
        except BaseException as error:
            os.unlink(spool.name)
            if isinstance(error, OSError):
                raise Failed(f"no room in TMPDIR for standard input: {error.strerror}") from None
            raise
    return spool.name


@contextlib.contextmanager
def open_file(path: str) -> Iterator[Limited]:
    """Plain or packed; errors in reading are CannotRead."""
    try:
        with open(path, "rb") as raw:
            begin = raw.read(6)
        kind = next((kind for kind, mark in MARKS.items() if begin.startswith(mark)), "")
        if not kind and path.endswith(".gz") and begin:
            raise CannotRead("it is not in gzip format")
        with PACKED.get(kind, open)(path, "rb") as stream:
            yield Limited(stream, limit_of(path) if kind else sys.maxsize)
    except EOFError:
        raise CannotRead("it cannot be unpacked: unexpected end of file") from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise CannotRead(f"it cannot be unpacked: {error}") from None
    except OSError as error:
        raise CannotRead(f"{error.strerror or error}") from None


class Parsed(NamedTuple):
    """What has been parsed already, and how many U+0000 were replaced in it."""

    value: Json
    n_nul: int


# Number, and a text, or its value, or what is wrong with it.
Document = tuple[int, str | Parsed | Unreadable]


def decoded(data: bytes) -> str | Unreadable:
    try:
        return decode(data)
    except Unreadable as wrong:
        return wrong


def lines_of(stream: Limited) -> Iterator[tuple[int, str | Unreadable]]:
    """Lines that are not empty, with their numbers."""
    n = 0
    while line := stream.readline(MAX_BYTES + 2):
        n += 1
        size = len(line)
        if size > MAX_BYTES + 1:
            while line and not line.endswith(b"\n"):
                line = stream.readline(1 << 24)
                size += len(line)
            yield n, too_large(size)
            continue
        line = line.removeprefix(BOM) if n == 1 else line
        if not line.isspace():
            yield n, decoded(line)


def has_lines(path: str) -> bool:
    """Whether a document is on every line.  Two lines that both begin a value are two documents, unless the first
    leaves one open."""
    with open_file(path) as stream:
        lines = [line for _, line in islice(lines_of(stream), 2)]
    first = lines[0] if lines else None
    if not isinstance(first, str) or len(lines) < 2 or first[:1] not in ("{", "["):
        return False
    mark = lines[1].lstrip()[:1] if isinstance(lines[1], str) else "{"
    if first.rstrip()[-1:] not in (",", ":", "[", "{") and mark == first[0]:
        return True
    with contextlib.suppress(Unreadable):
        return mark in ("{", "[") and parse(first) is not None
    return False


def documents_of(path: str) -> Iterator[Document]:
    """Each document of a file: a line each, or all of them one."""
    if path.lower().endswith(".eval"):
        yield from samples_of(path)
        return
    is_lines = has_lines(path)
    with open_file(path) as stream:
        if is_lines:
            yield from lines_of(stream)
            return
        data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            yield 1, too_large(len(data) + sum(map(len, iter(lambda: stream.read(1 << 24), b""))))
        elif (data := data.removeprefix(BOM)).strip():
            yield 1, decoded(data)


def samples_of(path: str) -> Iterator[Document]:
    """Of Inspect's .eval, a zip, each sample beside the log's header."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [i for i in archive.infolist() if re.fullmatch(r"samples/.*\.json", i.filename)]
            header = [i for i in archive.infolist() if i.filename == "header.json"]
            if not header:
                raise CannotRead("there is no header.json in it")
            if sum(i.file_size for i in entries + header) > (most := limit_of(path)) or len(entries) > 100000:
                raise CannotRead(f"it unpacks to more than {most} bytes or 100000 samples: unpack it first")
            about = parse(decode(archive.read(header[0])))[0]
            for n, entry in enumerate(entries, 1):
                try:
                    if entry.file_size > MAX_BYTES:
                        raise too_large(entry.file_size)
                    sample, n_nul = parse(decode(archive.read(entry)))
                    yield n, Parsed({"header": about, "sample": sample}, n_nul)
                except Unreadable as wrong:
                    yield n, wrong
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise CannotRead(f"it is not a zip file that can be read: {error}") from None
    except Unreadable as error:
        raise CannotRead(f"header.json: {error}") from None
    except OSError as error:
        raise CannotRead(f"{error.strerror or error}") from None
