"""Session logs of Codex (rollout-….jsonl): items of the Responses interface, a line each; a file is a rollout.

    {"timestamp": "…", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}
    {"timestamp": "…", "type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": "c1",
        "arguments": "{}"}}

There is no verdict inside.
"""

from collections.abc import Iterator

from stepadv.importing.conversation import SAY, Conversation, text_of
from stepadv.importing.format import Format, Rollout, Where, metadata
from stepadv.importing.formats.responses import hear_item, kind_of
from stepadv.importing.values import Json, at, digest, fields, given, words

LINES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
# What the program tells the model in the user's name.
OF_PROGRAM = ("<user_instructions>", "<environment_context>", "<permissions instructions>", "# AGENTS.md instructions",
              "<turn_aborted>")  # fmt: skip


def split(document: Json, where: Where) -> Iterator[tuple[str, Json]]:
    for record in document if isinstance(document, list) else [document]:
        yield "", fields(record)


def item_of(record: dict[str, Json]) -> dict[str, Json] | None:
    """Earlier versions have the items as they are."""
    if record.get("type") == "response_item":
        return fields(record.get("payload"))
    return None if record.get("type") in (*LINES, None) or "record_type" in record else record


def join(records: list[Json], where: Where) -> Iterator[Rollout]:
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
    if not any(item.kind >= SAY for item in talk.items):
        talk.drop("sessions without an answer")
        yield {"dropped": talk.dropped}
        return
    begins = [r for r in records if r.get("type") == "session_meta" or "instructions" in r]
    about = fields(begins[0].get("payload", begins[0])) if begins else {}
    times = [r["timestamp"] for r in records if isinstance(r.get("timestamp"), str)]
    session = words(about.get("id"))
    yield {
        **given({
            "model": next((at(r, "payload.model") for r in records if r.get("type") == "turn_context"), None),
            "started_at": min(times, default=None),
            "ended_at": max(times, default=None),
            "truncated": True if at(records, "-1.payload.type") == "turn_aborted" else None,
        }),
        "group_id": digest(asked) if asked is not None else session or where.rollout,
        "rollout_id": session or where.rollout or digest(records),
        "meta": metadata(
            where,
            prompt=asked,
            cwd=about.get("cwd"),
            version=about.get("cli_version"),
            git=about.get("git"),
            system_prompt=text_of(about.get("instructions")) or text_of(at(about, "base_instructions.text")),
        ),
        **talk.about(),
    }


FORMAT = Format(
    (
        ("timestamp", "payload", " | ".join(f"type={kind}" for kind in LINES)),
        ("id", "timestamp", "instructions", "!messages", "!observations", "!type"),
    ),
    split=split,
    join=join,
    is_lines=True,
)
