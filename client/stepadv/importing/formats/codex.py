"""Session logs of Codex (rollout-….jsonl): items of the Responses interface, a line each; a file is a rollout.

    {"timestamp": "…", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}
    {"timestamp": "…", "type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": "c1",
        "arguments": "{}"}}

There is no verdict inside.
"""

from collections.abc import Iterator

from stepadv.importing.conversation import Conversation, text_of, words
from stepadv.importing.formats.responses import hear_item, kind_of
from stepadv.importing.jsontext import digest
from stepadv.importing.rollouts import Format, Json, Rollout, Where, at, fields, given, has, metadata

LINES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
# What the program tells the model in the user's name.
OF_PROGRAM = ("<user_instructions>", "<environment_context>", "<permissions instructions>", "# AGENTS.md instructions", "<turn_aborted>")


def parts(document: Json, where: Where) -> Iterator[tuple[str, Json]]:
    yield "", fields(document)


def item_of(record: dict[str, Json]) -> dict[str, Json] | None:
    """Earlier versions have the items as they are."""
    if record.get("type") == "response_item":
        return fields(record.get("payload"))
    if record.get("type") in LINES or "record_type" in record or "type" not in record:
        return None
    return record


def join(records: list[Json], where: Where) -> Rollout:
    talk = Conversation()
    asked = None
    for record in records:
        item = item_of(record)
        if item is None:
            talk.drop("lines of the program")
            continue
        kind = kind_of(item)
        text = text_of(item.get("content")) or "" if kind == "see" else ""
        if kind == "other":
            talk.drop(f"items of type {words(item.get('type'))}"[:100])
        elif kind == "system" or text.lstrip().startswith(OF_PROGRAM):
            talk.drop("system messages")
        else:
            asked = text if kind == "see" and asked is None else asked
            hear_item(talk, item, kind)
    first = next((fields(r.get("payload", r)) for r in records if r.get("type") == "session_meta" or "instructions" in r), {})
    context = next((fields(r.get("payload")) for r in records if r.get("type") == "turn_context"), {})
    times = [r["timestamp"] for r in records if isinstance(r.get("timestamp"), str)]
    if not any(item.kind >= 2 for item in talk.items):
        talk.drop("sessions without an answer")
        return {"dropped": talk.dropped}
    session = words(first.get("id"))
    return {
        **given({
            "model": context.get("model"),
            "started_at": min(times, default=None),
            "ended_at": max(times, default=None),
            "truncated": True if at(records, -1, "payload", "type") == "turn_aborted" else None,
        }),
        "group_id": digest(asked) if asked is not None else session or where.rollout,
        "rollout_id": session or where.rollout or digest(records),
        "meta": metadata(
            where,
            prompt=asked,
            cwd=first.get("cwd"),
            version=first.get("cli_version"),
            git=first.get("git"),
            system_prompt=text_of(first.get("instructions")) or text_of(at(first, "base_instructions", "text")),
        ),
        **talk.about(),
    }


def read(document: Json, where: Where) -> Iterator[Rollout]:
    yield join([fields(r) for r in document] if isinstance(document, list) else [fields(document)], where)


FORMAT = Format(
    "codex",
    "session logs of Codex",
    (
        (
            has("timestamp and payload", lambda d: "timestamp" in d and isinstance(d.get("payload"), dict)),
            has("a type like session_meta or response_item", lambda d: d.get("type") in LINES),
        ),
        (
            has("id, timestamp and instructions", lambda d: "id" in d and "timestamp" in d and "instructions" in d),
            has("nothing of another format beside them", lambda d: not any(k in d for k in ("messages", "observations", "type"))),
        ),
    ),
    read,
    parts,
    join,
)
