"""Which format a document has.  A format is recognised by what no other has; where two fit none is taken."""

from stepadv.importing.format import Bad, fits, lacks
from stepadv.importing.formats import FORMATS
from stepadv.importing.formats.react import is_log
from stepadv.importing.values import Json, Unreadable, parse, type_of
from stepadv.text import safe


def formats_of(document: Json) -> list[str]:
    return [name for name, format in sorted(FORMATS.items()) if fits(format, document)]


def format_of(document: Json, likely: str | None = None) -> str | None:
    """None: no format, or more than one.  Of documents that are mostly of one format only its own marks are looked
    for."""
    if likely is not None and fits(FORMATS[likely], document):
        return likely
    found = formats_of(document)
    return found[0] if len(found) == 1 else None


def in_parts(first: Json) -> bool:
    """Whether a list that begins with this is a list of documents of a format."""
    name = format_of([first])
    return name is not None and fits(FORMATS[name], first)


def document_of(text: str) -> tuple[Json, int]:
    """What a text spells, or a log; and how many U+0000 were replaced in it."""
    if is_log(text):
        return text.replace("\0", "\ufffd"), text.count("\0")
    try:
        return parse(text)
    except Unreadable:
        if text.lstrip()[:1] not in ("{", "["):
            raise Unreadable("it is neither JSON nor a log of a ReAct agent") from None
        raise


def keys_of(document: Json) -> str:
    """What stands at the top of a document, for people: its keys, the first 20, or those of its first element."""
    is_list = isinstance(document, list)
    if is_list and not document:
        return "an empty list"
    item = document[0] if is_list else document
    if isinstance(item, dict):
        found = ", ".join(safe(key)[:40] for key in list(item)[:20]) + (", …" if len(item) > 20 else "")
    else:
        found = f"no object but {'null' if item is None else 'a ' + type_of(item)}"
    return ("in a list: " if is_list else "") + found


def unknown(document: Json) -> Bad:
    """Why a document is none of the formats, or more than one."""
    found = formats_of(document)
    is_one_of = f"the document may be {' or '.join(found)}: -f says which"
    return Bad(is_one_of if len(found) > 1 else "the document has no known format")


def explain(text: str, n_documents: int) -> list[str]:
    """What a file is, in words, by the first of its documents."""
    lines = ["one document" if n_documents == 1 else f"{n_documents} documents, one a line"]
    try:
        document = document_of(text)[0]
    except Unreadable as error:
        return [*lines, f"no JSON: {error}"]
    lines.append(f"keys at the top: {keys_of(document)}")
    found = {name: lacks(format, document) for name, format in FORMATS.items()}
    for name in sorted(found, key=lambda n: (bool(found[n]), n)):
        lines.append(f"{name}: " + ("fits" if not found[name] else "no: without " + "; ".join(found[name])))
    format = format_of(document)
    return [*lines, str(unknown(document)) if format is None else f"it is loaded as {format}"]
