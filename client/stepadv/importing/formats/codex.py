"""Session logs of Codex (rollout-….jsonl): items of the Responses interface, one on each line; a file is a rollout.
There is no verdict."""

import re

from stepadv.importing.conversation import text_of
from stepadv.importing.format import Format, Parts, Rollouts, Where, lasting, rollout_of
from stepadv.importing.formats.responses import hear_items
from stepadv.importing.values import Json, at, digest, fields, words

LINES = "type=session_meta | type=response_item | type=event_msg | type=turn_context | type=compacted"
EARLY = "id & timestamp & !type & !payload & instructions | git"
# What the program tells the model in the role of the user.
OF_TAGS = "user_instructions|environment_context|permissions instructions|turn_aborted"
OF_PROGRAM = re.compile(rf"\s*(<({OF_TAGS})>|# AGENTS.md instructions)")
TABLE = {"meta.cwd": "cwd", "meta.version": "cli_version", "meta.git": "git", "started_at": "timestamp"}


def split(document: Json, where: Where) -> Parts:
    for record in map(fields, document if isinstance(document, list) else [document]):
        # Until September 2025, items were lines, after a line about the session.
        early = {"type": "response_item" if "type" in record else "session_meta", "payload": record}
        yield "", record if "payload" in record else early


def is_of_program(item: dict[str, Json]) -> bool:
    return item.get("role") == "user" and OF_PROGRAM.match(text_of(item.get("content")) or "") is not None


def join(records: list[Json], where: Where) -> Rollouts:
    items = [fields(r.get("payload")) for r in records if r.get("type") == "response_item"]
    own = [item for item in items if not is_of_program(item)]
    talk, _ = hear_items([], own)
    talk.dropped.update({"lines of the program": len(records) - len(items), "system messages": len(items) - len(own)})
    if len(talk.turns) == 1:
        talk.dropped["sessions without an answer"] += 1
        yield {"dropped": talk.dropped}
        return
    asked = next((text_of(item.get("content")) or "" for item in own if item.get("role") == "user"), None)
    session = fields(next((r.get("payload") for r in records if r.get("type") == "session_meta"), None))
    told = text_of(session.get("instructions")) or text_of(at(session, "base_instructions.text"))
    own_id = words(session.get("id"))
    members = {
        "model": next((at(r, "payload.model") for r in records if r.get("type") == "turn_context"), None),
        "truncated": True if at(records, "-1.payload.type") == "turn_aborted" else None,
        "group_id": digest(asked) if asked is not None else own_id or where.rollout,
        "rollout_id": own_id or where.rollout or digest(records),
        **lasting(r.get("timestamp") for r in records),
    }
    yield rollout_of(where, session, TABLE, members, talk, meta={"prompt": asked, "system_prompt": told})


FORMAT = Format(f"timestamp & payload & {LINES} || {EARLY}", split=split, join=join)
