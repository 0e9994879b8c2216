"""Which format a document has.  A format is recognised by what no other has; where two fit none is taken."""

import json
import re

from stepadv.importing.format import fits, lacks
from stepadv.importing.formats import FORMATS
from stepadv.importing.formats.react import is_log
from stepadv.importing.values import Json, Unreadable, objects, parse, type_of
from stepadv.text import safe, shorten


def formats_of(document: Json) -> list[str]:
    return [name for name, format in sorted(FORMATS.items()) if fits(format, document)]


def format_of(document: Json, likely: str | None = None) -> str | None:
    """None: no format, or more than one.  Of documents that are mostly of one format only its own marks are looked for."""
    if likely is not None and fits(FORMATS[likely], document):
        return likely
    found = formats_of(document)
    return found[0] if len(found) == 1 else None


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


def guess(text: str) -> str | None:
    """The format of a text that may be no document."""
    try:
        return format_of(document_of(text)[0])
    except Unreadable:
        return None


def format_of_list(first: Json) -> str | None:
    """Of a list that begins with this, where such a list can be read in parts."""
    name = format_of([first])
    return name if name is not None and FORMATS[name].has_lists and fits(FORMATS[name], first) else None


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
    found = formats_of(document)
    return f"the document may be {' or '.join(found)}: say which" if len(found) > 1 else "the document has no known format"


# ----------
# What a file is, for somebody whose file is not what we think
# ----------

# Keys by which many name the same thing, the earlier the likelier, and what they then are.
TEXT = ("string", "object", "array", "number")
OF_ROLLOUT = {
    "task_id": ("task_id instance_id problem_id question_id env_id task problem question goal id idx index", ("string", "number")),
    "rollout_id": ("rollout_id trajectory_id episode_id run_id session_id trace_id uuid trial attempt seed", ("string", "number")),
    "outcome": ("outcome reward score return total_reward final_reward", ("number",)),
    "success": ("success resolved solved won correct passed", ("boolean",)),
    "started_at": ("started_at start_time timestamp created_at", ("string", "number")),
}
OF_STEP = {
    "observation": ("observation obs state saw input prompt question env", TEXT),
    "action": ("action act response output completion did command content text", TEXT),
    "tool": ("tool tool_name function name", ("string",)),
    "args": ("args arguments tool_input parameters action_input", ("object", "string")),
    "reward": ("reward step_reward score r", ("number",)),
}
STEPS = ("steps turns trajectory history transitions events messages log traj interactions", ("array",))


def key_for(record: Json, keys: tuple[str, tuple[str, ...]]) -> str | None:
    """The likeliest key of a record for something, spelled as in a path."""
    found = (k for k in keys[0].split() if isinstance(record, dict) and k in record and type_of(record[k]) in keys[1])
    return next(found, None)


def likely_paths(document: Json) -> dict[str, str]:
    """Paths that somebody may begin with, made of keys that often mean what they say."""
    paths = {"rollouts": "$[*]"} if isinstance(document, list) else {}
    item = document[0] if isinstance(document, list) and document else document
    steps = key_for(item, STEPS)
    if steps is None and isinstance(item, dict):
        # A list of records, one level down?
        inner = next((k for k, v in item.items() if isinstance(v, list) and v and key_for(v[0], STEPS)), None)
        if inner is not None:
            name = inner if re.fullmatch(r"[A-Za-z_]\w*", inner, re.ASCII) else json.dumps(inner)
            item, paths["rollouts"] = item[inner][0], f"$.{name}[*]"
            steps = key_for(item, STEPS)
    found = {role: key for role, keys in OF_ROLLOUT.items() if (key := key_for(item, keys))}
    paths |= {"task_id": "$source"} | {role: f"$.{key}" for role, key in found.items()}
    if steps is not None:
        paths["steps"] = f"$.{steps}[*]"
        inside = (objects(item[steps]) or [{}])[0]
        paths |= {role: f"$.{key}" for role, keys in OF_STEP.items() if (key := key_for(inside, keys))}
    return paths


def explain(text: str, n_documents: int | None) -> list[str]:
    """What a document is, in words: n_documents of such on lines, or (None) alone in its file."""
    lines = ["one document" if n_documents is None else f"{n_documents} documents, one a line"]
    try:
        document = document_of(text)[0]
    except Unreadable as error:
        return [*lines, f"no JSON: {error}"]
    of = "keys" if n_documents is None else "keys of the first"
    lines.append(f"{of} at the top: {keys_of(document)}")
    found = {name: lacks(format, document) for name, format in FORMATS.items()}
    for name in sorted(found, key=lambda n: (bool(found[n]), n)):
        lines.append(f"{name}: " + ("fits" if not found[name] else "no: without " + "; ".join(found[name])))
    format = format_of(document)
    lines.append(unknown(document) if format is None else f"it is loaded as {format}")
    paths = json.dumps(likely_paths(document), ensure_ascii=False).replace("'", "'\\''")
    lines.append(f"paths to begin with: -j '{shorten(paths, 2000)}'")
    return lines
