"""One module for each format: the marks of its documents, a table of paths, and a reader.

To add one: a module with FORMAT here, its name below, an example in test/data/import/<format>/, a line in
docs/import.md.  A document must have the marks of only one format; if two fit, it has none."""

from importlib import import_module

from stepadv.importing.format import Format, fits, lacks
from stepadv.importing.values import Json, Unreadable, type_of
from stepadv.text import safe

NAMES = (
    "openai_chat swe_agent mini_swe_agent responses verl intercode inspect openhands atif tau2 verifiers trl agent_r1"
    " claw_r1 otel langfuse claude_code codex harbor steps react"
).split()
FORMATS: dict[str, Format] = {name: import_module(f"{__name__}.{name}").FORMAT for name in NAMES}


def format_of(document: Json, likely: str | None = None) -> str | None:
    """None if no format fits, or more than one.  likely: the format of earlier documents, which counts if it fits."""
    if likely is not None and fits(FORMATS[likely], document):
        return likely
    found = [name for name, format in FORMATS.items() if fits(format, document)]
    return found[0] if len(found) == 1 else None


def keys_of(document: Json) -> str:
    """For messages: the first 20 keys of a document, or of the first element of a list."""
    is_list = isinstance(document, list)
    if is_list and not document:
        return "an empty list"
    item = document[0] if is_list else document
    if isinstance(item, dict):
        found = ", ".join(safe(key)[:40] for key in list(item)[:20]) + (", …" if len(item) > 20 else "")
    else:
        found = f"no object but {'null' if item is None else 'a ' + type_of(item)}"
    return ("in a list: " if is_list else "") + found


def unknown(document: Json) -> str:
    found = sorted(name for name, format in FORMATS.items() if fits(format, document))
    return f"the document may be {' or '.join(found)}" if len(found) > 1 else "the document has no known format"


def explain(document: Json, n_documents: int) -> list[str]:
    """Lines that explain the format of a file, by its first document."""
    lines = ["one document" if n_documents == 1 else f"{n_documents} documents, one a line"]
    if isinstance(document, Unreadable):
        return [*lines, f"no JSON: {document}"]
    lines.append(f"keys at the top: {keys_of(document)}")
    found = {name: lacks(format, document) for name, format in FORMATS.items()}
    for name in sorted(found, key=lambda n: (bool(found[n]), n)):
        lines.append(f"{name}: " + ("fits" if not found[name] else "no: without " + "; ".join(found[name])))
    format = format_of(document)
    return [*lines, unknown(document) if format is None else f"it is loaded as {format}"]
