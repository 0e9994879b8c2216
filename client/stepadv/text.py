"""For messages: text that is safe on a terminal, quoted names, counts, the most similar name."""

import difflib
import re
import sys
from collections.abc import Iterable

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def safe(text: object) -> str:
    """Replaces characters that control a terminal by question marks."""
    return _UNSAFE.sub("?", str(text))


def shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def quoted(*names: str) -> str:
    """A quoted SQL identifier; the names before the last qualify it."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def count(n: int, noun: str, plural: str | None = None) -> str:
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def perhaps(name: str, names: Iterable[str]) -> str:
    """A suggestion of the most similar name, to be added to a message; empty if none is similar."""
    meant = re.sub("[^a-z0-9]+", "_", name.lower()[:63])
    names = list(names)
    found = difflib.get_close_matches(meant, names, 1, 0.6)
    if not found and len(meant) >= 3:
        found = [n for n in names if meant in n]
    return f'; perhaps you meant "{found[0]}"' if found else ""


class Failed(Exception):
    """Something that ends the program with a message and an exit status."""

    def __init__(self, message: str, status: int = 2):
        super().__init__(message)
        self.status = status


def complain(message: str) -> None:
    print(safe(message), file=sys.stderr, flush=True)
