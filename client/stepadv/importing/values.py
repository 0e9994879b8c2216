"""JSON that PostgreSQL can store: strict decoding, U+0000 replaced, messages for errors; and values in it."""

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

Json = Any
MAX_BYTES = 268435455  # of a document; a jsonb object cannot hold more
BLANKS = " \t\n\r"
NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")

sys.setrecursionlimit(max(sys.getrecursionlimit(), 3000))


class Unreadable(Exception):
    """A document cannot be read; the message says why."""


def _constant(name: str) -> Any:
    raise Unreadable(f"{name} is not a JSON number")


_decoder = json.JSONDecoder(parse_constant=_constant)
_sorted = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
_quote: Callable[[str], str] = json.encoder.encode_basestring  # type: ignore[attr-defined]
# JSONEncoder.encode makes this anew for every value, which takes longer than to encode most values.
_make = json.encoder.c_make_encoder  # type: ignore[attr-defined]
_encode = _make(None, None, _quote, None, ": ", ", ", False, False, False)


def to_json(value: Json) -> str:
    return _quote(value) if isinstance(value, str) else "".join(_encode(value, 0))


def decode(data: bytes) -> str:
    """Decodes bytes, which must be UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise Unreadable("it is UTF-16: iconv -f UTF-16 -t UTF-8 makes it UTF-8") from None
        wrong = data[error.start : error.start + 4].hex(" ")
        raise Unreadable(f"invalid UTF-8 at byte {error.start + 1}: {wrong}") from None


def complaint(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if not isinstance(error, json.JSONDecodeError):
        return "a number out of range: it has too many digits"
    if error.msg.startswith("Invalid control character"):
        return f"a control character (byte {ord(error.doc[error.pos])}) in a string, which JSON does not allow"
    where = f"character {error.pos + 1}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"invalid JSON: it ends too early ({error.msg.removesuffix(' starting at')} at {where})"
    hint = "; of several documents jq -c . FILE makes lines" if error.msg == "Extra data" else ""
    return f"invalid JSON at {where}: {error.msg}{hint}"


def parse(text: str) -> tuple[Json, int]:
    r"""Parses a document.  Returns it, and how many \u0000 became U+FFFD."""
    n_nul = 0
    if "\\u0000" in text:
        text, n_nul = NUL.subn(r"\1\\ufffd", text)
    try:
        # Not decode: what else it does takes as long as a short document.
        value, end = _decoder.raw_decode(text, len(text) - len(text.lstrip(BLANKS)))
        if end < len(text) and (rest := text[end:].lstrip(BLANKS)):
            raise json.JSONDecodeError("Extra data", text, len(text) - len(rest))
        return value, n_nul
    except (ValueError, RecursionError) as error:
        raise Unreadable(complaint(error)) from None


def unquoted(value: Json) -> Json:
    """The value in a string of JSON; any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            found = parse(value)[0]
        except Unreadable:
            return value
        return value if found is None else found
    return value


def digest(value: Json) -> str:
    """An id derived from the content, for something without an id."""
    try:
        text = _sorted.encode(value)
    except RecursionError as error:
        raise Unreadable(complaint(error)) from None
    except ValueError:
        raise Unreadable("a number out of range") from None
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


TYPES = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array"}


def type_of(value: Json) -> str:
    return TYPES.get(type(value), "object")


def words(value: Json) -> str | None:
    """A scalar as text, anything else as JSON."""
    return value if value is None or isinstance(value, str) else to_json(value)


@lru_cache(2048)
def _keys(paths: str) -> list[list[str]]:
    return [path.split(".") for path in paths.split() or [""]]


def at(value: Json, path: str) -> Json:
    """The value at a path of keys and positions, such as "info.steps.0" (-1: the last); None if there is none."""
    return _below(value, _keys(path)[0])


def _below(value: Json, keys: list[str]) -> Json:
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and value and (key == "-1" or key.isdecimal() and int(key) < len(value)):
            value = value[int(key)]
        else:
            return None
    return value


def first(value: Json, paths: str) -> Json:
    """The first value that is not null at one of these paths, which spaces separate."""
    for keys in _keys(paths):
        if (found := _below(value, keys)) is not None:
            return found
    return None


def given(record: Mapping[str, Json]) -> dict[str, Json]:
    """The members that are not null."""
    return {key: value for key, value in record.items() if value is not None}


def without(record: dict[str, Json], names: Iterable[str]) -> dict[str, Json]:
    """The members of a record without these."""
    return {key: value for key, value in record.items() if key not in names}


def fields(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def objects(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_name(value: Json) -> bool:
    return isinstance(value, str) or is_number(value)


def path_of(*parts: Json) -> str | None:
    """Joins the parts that are not None by slashes; None if there are none."""
    return "/".join(words(part) or "" for part in parts if part is not None) or None


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NUMBER = re.compile(r"[0-9]{1,25}(\.[0-9]{1,20})?")


def parse_time(text: str) -> datetime | None:
    """A time without a zone is UTC, as is usually meant.  None if the text is not a time."""
    try:
        found = datetime.fromisoformat(text.strip().removesuffix(" UTC"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def time_of(value: Json) -> str | None:
    """A time, from a text or a number, as a text in UTC that sorts; None if it is not a time, or 0."""
    text = str(value).strip() if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
    try:
        if NUMBER.fullmatch(text):
            # Seconds, milliseconds, microseconds or nanoseconds: the size of present times decides.
            number = int(text) if text.isdigit() else float(text)
            factor = 1e6 if number < 1e11 else 1e3 if number < 1e14 else 1
            microseconds = int(number * factor) if number < 1e17 else int(number) // 1000
            found = EPOCH + timedelta(microseconds=microseconds) if number else None
        else:
            found = parse_time(text)
        return f"{found.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}" if found else None
    except OverflowError:
        return None
