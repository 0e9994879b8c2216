"""Which format a document has.  A format is recognised by what no other has; where two fit none is taken."""

import json
import re

from stepadv.importing.formats import FORMATS
from stepadv.importing.formats.react import IS_LOG
from stepadv.importing.jsontext import Unreadable, parse
from stepadv.importing.jsonpath import type_of
from stepadv.importing.rollouts import Format, Json
from stepadv.text import safe, shorten


def fits(format: Format, document: Json) -> bool:
    return any(all(mark.test(document) for mark in variant) for variant in format.has)


def missing(format: Format, document: Json) -> list[str]:
    """What a document lacks; of several variants the one that lacks least tells."""
    return min(([m.words for m in variant if not m.test(document)] for variant in format.has), key=len)


def format_of(document: Json, likely: str | None = None) -> str | None:
    """None: no format, or more than one.  Of documents that are mostly of one format only its own marks are looked for."""
    if likely is not None and fits(FORMATS[likely], document):
        return likely
    found = [name for name, format in FORMATS.items() if fits(format, document)]
    return found[0] if len(found) == 1 else None


def is_log(text: str) -> bool:
    return text.lstrip()[:1] not in ("[", "{") and IS_LOG.search(text) is not None


def guess(text: str) -> str | None:
    """The format of a text that may be no JSON."""
    try:
        return format_of(parse(text)[0])
    except Unreadable:
        return "react" if is_log(text) else None


def keys_of(document: Json) -> str:
    """What stands at the top of a document, for people: its keys, the first 20, or those of its first element."""
    is_list = isinstance(document, list)
    if is_list and not document:
        return "an empty list"
    item = document[0] if is_list else document
    if isinstance(item, dict):
        keys = [safe(key)[:40] for key in list(item)[:20]]
        found = ", ".join(keys) + (", …" if len(item) > 20 else "")
    else:
        found = f"no object but {'null' if item is None else 'a ' + type_of(item)}"
    return ("in a list: " if is_list else "") + found


def unknown(document: Json) -> str:
    """Why a document is none of the formats, or more than one."""
    found = [name for name, format in sorted(FORMATS.items()) if fits(format, document)]
    if len(found) > 1:
        return f"the document may be {' or '.join(found)}: say which"
    return "the document has no known format"


# ----------
# What a file is, for somebody whose file is not what we think
# ----------

# Keys by which many name the same thing; the earlier the likelier.
WORDS = {
    "steps": "steps turns trajectory history transitions events messages log traj interactions",
    "task_id": "task_id instance_id problem_id question_id env_id task problem question goal id idx index",
    "rollout_id": "rollout_id trajectory_id episode_id run_id session_id trace_id uuid trial attempt seed",
    "outcome": "outcome reward score return total_reward final_reward",
    "success": "success resolved solved won correct passed",
    "started_at": "started_at start_time timestamp created_at",
    "observation": "observation obs state saw input prompt question env",
    "action": "action act response output completion did command content text",
    "tool": "tool tool_name function name",
    "args": "args arguments tool_input parameters action_input",
    "reward": "reward step_reward score r",
}
TYPES = {"outcome": ("number",), "reward": ("number",), "success": ("boolean",), "args": ("object", "string"), "tool": ("string",)}
RESERVED = "is to last flag lax strict true false null with exists unknown starts like_regex".split()


def key_for(record: Json, role: str, *types: str) -> str | None:
    """The likeliest key of a record for a role."""
    if not isinstance(record, dict):
        return None
    return next((k for k in WORDS[role].split() if k in record and type_of(record[k]) in types), None)


def spell(key: str) -> str:
    """A key as a path of SQL/JSON spells it."""
    if re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII) and key.lower() not in RESERVED:
        return key
    return json.dumps(key)


def likely_paths(document: Json) -> dict[str, str]:
    """Paths that somebody may begin with, made of keys that often mean what they say."""
    paths = {}
    item = document
    if isinstance(document, list):
        item = document[0] if document else None
        paths["rollouts"] = "$[*]"
    key = key_for(item, "steps", "array")
    if key is None and isinstance(item, dict):
        # A list of records, one level down?
        for name, value in item.items():
            if isinstance(value, list) and value and key_for(value[0], "steps", "array"):
                item, paths["rollouts"] = value[0], f"$.{spell(name)}[*]"
                key = key_for(item, "steps", "array")
                break
    for role in ("task_id", "rollout_id", "outcome", "success", "started_at"):
        found = key_for(item, role, *TYPES.get(role, ("string", "number")))
        if found:
            paths[role] = f"$.{spell(found)}"
    paths.setdefault("task_id", "$source")
    if key is not None:
        paths["steps"] = f"$.{spell(key)}[*]"
        first = item[key][0] if item[key] else None
        for role in ("observation", "action", "tool", "args", "reward"):
            found = key_for(first, role, *TYPES.get(role, ("string", "object", "array", "number")))
            if found:
                paths[role] = f"$.{spell(found)}"
    return paths


def explain(text: str, n_documents: int | None) -> list[str]:
    """What a document is, in words: n_documents of such on lines, or (None) alone in its file."""
    lines = ["one document" if n_documents is None else f"{n_documents} documents, one a line"]
    try:
        document = parse(text)[0]
    except Unreadable as error:
        log = "fits" if is_log(text) else 'no: no line begins with "Action: "'
        return [*lines, f"no JSON: {error}", f"react: {log}"]
    of = "keys" if n_documents is None else "keys of the first"
    lines.append(f"{of} at the top: {keys_of(document)}")
    found = {name: missing(format, document) for name, format in FORMATS.items() if format.has}
    for name in sorted(found, key=lambda n: (bool(found[n]), n)):
        lines.append(f"{name}: " + ("fits" if not found[name] else "no: without " + "; ".join(found[name])))
    format = format_of(document)
    lines.append(unknown(document) if format is None else f"it is loaded as {format}")
    paths = json.dumps(likely_paths(document), ensure_ascii=False).replace("'", "'\\''")
    lines.append(f"paths to begin with: -j '{shorten(paths, 2000)}'")
    return lines
