"""JSON as PostgreSQL can hold it: decoded strictly, U+0000 replaced, what is wrong in words; and what lies in it."""

import codecs
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

Json = Any
MAX_BYTES = 268435455  # of a document; an object of jsonb holds no more
NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
WHITE = " \t\r\n"

sys.setrecursionlimit(max(sys.getrecursionlimit(), 3000))


class Unreadable(Exception):
    """A document that is none, in words."""


# ----------
# Texts of JSON
# ----------


def _constant(name: str) -> Any:
    raise Unreadable(f"{name} is no number of JSON")


_decoder = json.JSONDecoder(parse_constant=_constant)
_sorted = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
_quote = json.encoder.encode_basestring
# What JSONEncoder.encode makes anew for every value, which takes longer than most values.
_encode = json.encoder.c_make_encoder(None, None, _quote, None, ": ", ", ", False, False, False)


def to_json(value: Json) -> str:
    return _quote(value) if isinstance(value, str) else "".join(_encode(value, 0))


def too_large(n: int) -> Unreadable:
    return Unreadable(f"it has {n // 1048576} MB, more than the 256 that a document may have")


def decode(data: bytes) -> str:
    """Bytes as text; nothing but UTF-8 is."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise Unreadable("it is UTF-16: iconv -f UTF-16 -t UTF-8 makes it UTF-8") from None
        wrong = data[error.start : error.start + 4].hex(" ")
        raise Unreadable(f"invalid UTF-8 at byte {error.start + 1}: {wrong}") from None


def complaint(error: ValueError | RecursionError) -> str:
    """What the JSON parser complains of."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if not isinstance(error, json.JSONDecodeError):
        return "a number out of range: it has too many digits" if "limit" in str(error) else f"invalid JSON: {error}"
    if error.msg.startswith("Invalid control character"):
        return f"a control character (byte {ord(error.doc[error.pos])}) in a string, which JSON does not allow"
    where = f"character {error.pos + 1}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"invalid JSON: it ends too early ({error.msg.removesuffix(' starting at')} at {where})"
    return f"invalid JSON at {where}: {error.msg}"


def parse(text: str) -> tuple[Json, int]:
    r"""A document, and how many \u0000 were made U+FFFD in it."""
    n_nul = 0
    if "\\u0000" in text:
        text, n_nul = NUL.subn(r"\1\\ufffd", text)
    try:
        return _decoder.decode(text), n_nul
    except (ValueError, RecursionError) as error:
        raise Unreadable(complaint(error)) from None


def unquoted(value: Json) -> Json:
    """A string of JSON as what it spells; another value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            found = parse(value)[0]
        except Unreadable:
            return value
        return value if found is None else found
    return value


def digest(value: Json) -> str:
    """An id made of content, for what has none of its own."""
    try:
        text = _sorted.encode(value)
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        raise Unreadable(complaint(error) if deep else "a number out of range") from None
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def short_id(text: str) -> str:
    """Made of a text."""
    return hashlib.md5(text.encode(errors="replace"), usedforsecurity=False).hexdigest()[:10]


def elements(stream: Any, block: int = 1 << 20) -> Iterator[tuple[Json, int]]:
    """The elements of a list that is too long to be held, one by one, as parse() gives them."""
    to_text = codecs.getincrementaldecoder("utf-8-sig")().decode
    text, at, at_end, before = "", 0, False, "["
    while True:
        while text[at : at + 1] in WHITE and at < len(text):
            at += 1
        if before and text[at : at + 1] == before:
            before, at = "", at + 1
            continue
        if text[at : at + 1] == "]" and before != "[":
            if (text[at + 1 :] + to_text(stream.read(), True)).strip():
                raise Unreadable("invalid JSON: something follows the list")
            return
        if before and at < len(text):
            raise Unreadable(f"invalid JSON at character {at + 1} of a list: , or ] expected")
        try:
            value, end = _decoder.raw_decode(text, at) if not before else (None, 0)
            # A number may go on in what was not read yet.
            if end and (at_end or text[end : end + 1]):
                yield parse(text[at:end]) if "\\u0000" in text[at:end] else (value, 0)
                before, at = ",", end
                continue
        except (json.JSONDecodeError, RecursionError) as error:
            if at_end or isinstance(error, RecursionError):
                raise Unreadable(complaint(error)) from None
        if at_end:
            raise Unreadable("invalid JSON: it ends too early")
        if len(text) - at > MAX_BYTES:
            raise too_large(len(text) - at)
        # As much again, so that a long element is not looked at too often.
        data = stream.read(max(block, len(text) - at))
        at_end = not data
        try:
            text, at = text[at:] + to_text(data, at_end), 0
        except UnicodeDecodeError:
            raise Unreadable("invalid UTF-8") from None


# ----------
# What lies in a document
# ----------


def type_of(value: Json) -> str:
    """Its type in JSON."""
    names = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")


def words(value: Json) -> str | None:
    """A scalar as text, anything else as JSON."""
    return value if value is None or isinstance(value, str) else to_json(value)


@lru_cache(2048)
def _keys(path: str) -> list[str]:
    return path.split(".")


def at(value: Json, path: str) -> Json:
    """What lies below keys and places, as in "info.steps.0" (-1: the last); None: nothing."""
    for key in _keys(path):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and value and (key == "-1" or key.isdecimal() and int(key) < len(value)):
            value = value[int(key)]
        else:
            return None
    return value


def first(value: Json, paths: str) -> Json:
    """The first of these paths, with spaces between them, that leads to something that is not null."""
    return next((v for path in paths.split() if (v := at(value, path)) is not None), None)


def given(record: dict[str, Json]) -> dict[str, Json]:
    """Without members that are null."""
    return {key: value for key, value in record.items() if value is not None}


def without(record: dict[str, Json], names: Iterable[str]) -> dict[str, Json]:
    """What a record has beside these members."""
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
    """Those that are there, with slashes between them."""
    return "/".join(words(part) or "" for part in parts if part is not None) or None


# ----------
# Times, however somebody has written them
# ----------

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NUMBER = re.compile(r"[0-9]{1,25}(\.[0-9]{1,20})?")


def parse_time(text: str) -> datetime | None:
    """A time in words; without a zone it is UTC, as those who leave it out mean it."""
    try:
        found = datetime.fromisoformat(text.strip().removesuffix(" UTC"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def instant(value: Json) -> int | None:
    """Microseconds since 1970 of a text or a number; None: none, or 0, or no time."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = str(value).strip()
    if text in ("", "0"):
        return None
    if isinstance(value, (int, float)) or NUMBER.fullmatch(text):
        # Seconds, milliseconds, microseconds or nanoseconds: those of our time tell.
        number = int(text) if text.isdigit() else float(text)
        size = abs(number)
        factor = 1e6 if size < 1e11 else 1e3 if size < 1e14 else 1
        return int(number * factor) if size < 1e17 else int(number) // 1000
    found = parse_time(text)
    return None if found is None else (found - EPOCH) // timedelta(microseconds=1)


def time_of(microsecond: int | None) -> str | None:
    """In words, UTC."""
    if microsecond is None:
        return None
    try:
        return (EPOCH + timedelta(microseconds=microsecond)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except OverflowError:
        return None


def time_at(value: Json) -> str | None:
    """A text or a number that is a time, in words."""
    return time_of(instant(value))
