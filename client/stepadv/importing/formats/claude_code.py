"""Session logs of Claude Code, and its output (--output-format stream-json).  A line is a message or a part of one;
many lines make one rollout.  Sub-agents (isSidechain, parent_tool_use_id) are not tries: the metadata counts them.
There is no verdict."""

from stepadv.importing.conversation import hear_messages, text_of
from stepadv.importing.format import Format, Parts, Rollouts, Where, lasting, rollout_of
from stepadv.importing.values import Json, at, digest, fields, first, is_number, words

TABLE = {"meta.cwd": "cwd", "meta.version": "version", "meta.branch": "gitBranch"}


def is_sub_agent(record: dict[str, Json]) -> bool:
    return bool(record.get("isSidechain")) or record.get("parent_tool_use_id") is not None


def split(document: Json, where: Where) -> Parts:
    for record in document if isinstance(document, list) else [document]:
        # Summaries and snapshots name no session.
        yield words(first(record, "sessionId session_id")) or "", fields(record)


def whole_messages(records: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Joins the lines of an answer of the model, which may each have one block of its content."""
    messages: list[dict[str, Json]] = []
    for record in records:
        message = record["message"]
        last = messages[-1] if messages else {}
        if None is not message.get("id") == last.get("id") and isinstance(message.get("content"), list):
            last["content"] = [*last["content"], *message["content"]]
        else:
            messages.append(dict(message))
    return messages


def join(records: list[Json], where: Where) -> Rollouts:
    # A resumed session repeats the messages of the earlier one.
    unique = {words(r.get("uuid")) or str(i): r for i, r in reversed(list(enumerate(records)))}
    said = [r for r in reversed(unique.values()) if isinstance(r.get("message"), dict)]
    own = [r for r in said if not is_sub_agent(r)]
    if not own:
        found = {"messages of sub-agents": len(said)} if said else {"lines that are not messages": len(records)}
        yield {"dropped": found}
        return
    messages = whole_messages([r for r in own if not r.get("isMeta")])
    talk = hear_messages(messages)
    talk.dropped["messages of sub-agents"] += len(said) - len(own)
    talk.dropped["messages of the program"] += sum(bool(r.get("isMeta")) for r in own)
    # The output of the program begins with the answer.
    asked = text_of(messages[0].get("content")) if messages and messages[0].get("role") == "user" else None
    session = words(first(own[0], "sessionId session_id"))
    answers = [m for m in messages if m.get("role") == "assistant"]
    more = {
        "prompt": asked,
        "sub_agents": len({words(r.get("agentId")) for r in said if is_sub_agent(r)}) or None,
        "output_tokens": sum(n for m in answers if is_number(n := at(m, "usage.output_tokens"))) or None,
    }
    members = {
        "model": next((m["model"] for m in answers if m.get("model") not in (None, "<synthetic>")), None),
        "truncated": any(r.get("subtype") == "error_max_turns" for r in records) or None,
        "group_id": digest(asked) if asked is not None else session,
        "rollout_id": session or where.rollout or digest(messages),
        **lasting(r.get("timestamp") for r in own),
    }
    yield rollout_of(where, own[0], TABLE, members, talk, meta=more)


# Beside messages, a log has lines of many types.
HAS = (
    "sessionId & type= & !messages & !messageId"
    " || session_id & message.role | subtype & type=system | type=assistant | type=user | type=result"
    " || leafUuid | messageId & type=summary | type=file-history-snapshot"
)
FORMAT = Format(HAS, split=split, join=join)
