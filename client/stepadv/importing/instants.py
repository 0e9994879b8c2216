"""Times, however somebody has written them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NUMBER = re.compile(r"[0-9]{1,25}(\.[0-9]{1,20})?")
ZONE = re.compile(r"(Z|z|:[0-9.]+ ?[-+][0-9]{2}(:?[0-9]{2})?| UTC)$")


def microseconds(number: float) -> int:
    """Seconds, milliseconds, microseconds or nanoseconds since 1970: those of our time tell."""
    size = abs(number)
    factor = 1e6 if size < 1e11 else 1e3 if size < 1e14 else 1 if size < 1e17 else 1e-3
    return int(number * factor) if factor >= 1 else int(number) // 1000


def parse_time(text: str) -> datetime | None:
    """A time in words; without a zone it is UTC, as those who leave it out mean it."""
    text = text.strip()
    try:
        found = datetime.fromisoformat(text.removesuffix(" UTC"))
    except ValueError:
        # More digits than a microsecond has.
        shorter = re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text.removesuffix(" UTC"))
        try:
            found = datetime.fromisoformat(shorter)
        except ValueError:
            return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def instant(value: Any) -> int | None:
    """Microseconds since 1970 of a text or a number; None: none, or 0, or no time."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = str(value).strip()
    if text in ("", "0"):
        return None
    if isinstance(value, (int, float)) or NUMBER.fullmatch(text):
        return microseconds(int(text) if text.isdigit() else float(text))
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
