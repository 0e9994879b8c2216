"""OpenHands: trajectories (lists of events), lines of its evaluation's output (history, instance_id, test_result).
Events of version 0 have action or observation, those of version 1 (its agent SDK) a kind."""

from collections.abc import Iterator

from stepadv.importing.conversation import Conversation, text_of
from stepadv.importing.format import Format, Rollout, Where, about, pick, rollout_of
from stepadv.importing.values import Json, at, digest, fields, first, is_number, listed, objects, without, words

OF_PROGRAM = ("recall", "change_agent_state", "initialize", "null", "agent_state_changed")
HIDDEN = ("thought", "hidden", "confirmation_state", "security_risk")
NO_ARGUMENT = (
    *("action", "images_urls", "wait_for_response", "action_risk"),
    *("is_confirmed", "keep_prompt", "kernel_init_code"),
)
TIMES = {"started_at": "0.timestamp", "ended_at": "-1.timestamp"}
TABLE = {
    "model": "metadata.llm_config.model metadata.llm.model",
    # Cut off, not given up.
    "truncated": "error~maximum.iteration|[Mm]ax.[Bb]udget",
    "meta.instruction": "instruction",
    "meta.metrics": "metrics",
    "meta.error": "error",
    "meta.git_patch": "test_result.git_patch",
}


def events_of(found: Json) -> list[dict[str, Json]]:
    """In version 0 some lists have pairs of action and observation."""
    return [e for event in listed(found) for e in objects(event if isinstance(event, list) else [event])]


def with_sources(events: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Of a history that does not say who did what (the resolver's): the first message is the user's, what is observed
    is of the action before."""
    if any("source" in e or "kind" in e for e in events):
        return events
    told, last = [], None
    for n, event in enumerate(events):
        if "action" in event:
            last = n
            args = without(event, NO_ARGUMENT)
            told.append({"id": n, "source": "agent" if n else "user", "action": event["action"], "args": args})
        elif "observation" in event:
            told.append(event | {"cause": last, "extras": event})
    return told


# An event in our words: what it is (see, say, call, result, system; none: of the program), and members of it.
Event = tuple[str | None, dict[str, Json]]


def of_version_0(event: dict[str, Json]) -> Event:
    args = fields(event.get("args"))
    if "observation" in event:
        name = words(event["observation"])
        if name != "error" and (event.get("cause") is None or name in OF_PROGRAM):
            return None, {}
        told, status = first(event, "content message"), first(event, "extras.metadata.exit_code extras.exit_code")
        id = f"e{words(event.get('cause'))}"
        return "result", {"text": words(told), "id": id, "failed": name == "error", "status": status}
    name, is_own = words(event.get("action")), event.get("source") == "agent"
    if name == "message":
        kind = "see" if event.get("source") == "user" else "say" if is_own else "other"
        return kind, {"text": words(first(event, "args.content message"))}
    if name == "system":
        return "system", {}
    if "action" not in event or event.get("source") == "environment" or name in OF_PROGRAM:
        return None, {}
    call = {"name": at(event, "tool_call_metadata.function_name") or name, "args": without(args, HIDDEN)}
    answer, thought = at(event, "tool_call_metadata.model_response.id"), words(args.get("thought"))
    about = {"thought": thought, "answer": answer, "is_own": is_own, "id": f"e{words(event.get('id'))}"}
    return "call", call | about


def of_version_1(event: dict[str, Json]) -> Event:
    kind = event["kind"]
    if kind == "MessageEvent":
        text = text_of(at(event, "llm_message.content"))
        return "see" if event.get("source") == "user" else "say", {"text": text}
    if kind == "SystemPromptEvent":
        return "system", {}
    id = event.get("tool_call_id")
    if kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        seen = fields(event.get("observation"))
        told = text_of(seen.get("content")) or words(seen.get("output"))
        told = told or words(first(event, "error rejection_reason"))
        failed = kind != "ObservationEvent" or seen.get("is_error") is True
        return "result", {"text": told, "id": id, "failed": failed, "status": seen.get("exit_code")}
    if kind != "ActionEvent":
        return None, {}
    args = at(event, "tool_call.arguments")
    args = without(fields(event.get("action")), ("kind",)) if args is None else args
    call = {"name": event.get("tool_name") or at(event, "action.kind"), "args": args, "is_own": True, "id": id}
    return "call", call | {"thought": text_of(event.get("thought")), "answer": event.get("llm_response_id")}


def hear(events: list[dict[str, Json]]) -> Conversation:
    talk = Conversation()
    before: Json = None
    for event in events:
        kind, found = of_version_1(event) if event.get("kind") is not None else of_version_0(event)
        if kind is None:
            talk.drop("events of the program")
        elif kind == "system":
            talk.drop("system messages")
        elif kind == "see":
            talk.see(found["text"])
        elif kind == "say":
            talk.say(found["text"], new=True)
        elif kind == "result":
            ok = found["status"] == 0 if is_number(found["status"]) else None
            talk.result(found["text"] or "", found["id"], False if found["failed"] else ok)
        elif kind == "call":
            # A call of another answer of the model begins a turn.
            if found["is_own"]:
                talk.think(found["thought"] or None, new=found["answer"] != before)
                before = found["answer"]
            talk.call(found["name"], found["args"], found["id"])
    return talk


def asked(events: list[dict[str, Json]]) -> Json:
    """The first message of the user."""
    for event in events:
        if event.get("source") == "user" and (event.get("action") == "message" or event.get("kind") == "MessageEvent"):
            for value in event.values():
                if isinstance(value, dict) and "content" in value:
                    return value["content"]
    return None


def read(document: Json, where: Where) -> Iterator[Rollout]:
    record = fields(document)
    found = document if isinstance(document, list) else first(record, "history events trajectory")
    if not isinstance(found, list):
        yield {"problem": "there is no list of events"}
        return
    events = with_sources(events_of(found))
    instance, issue = words(record.get("instance_id")), fields(record.get("issue"))
    if instance is None and issue.get("number") is not None:
        instance = f"{words(issue.get('owner'))}/{words(issue.get('repo'))}#{words(issue['number'])}"
    question, attempt = asked(events), record.get("attempt")
    verdicts = (
        first(record, "test_result.report.resolved report.resolved"),
        record.get("resolved"),
        record.get("success"),
    )
    name = (where.try_of(instance) if instance else where.rollout) or digest(events)
    otherwise = digest(question) if question is not None else where.rollout or digest(events[0] if events else None)
    names = {
        "success": next((v for v in verdicts if isinstance(v, bool)), None),
        "group_id": instance or otherwise,
        "rollout_id": name if attempt is None else f"{name} / try {words(attempt)}",
    }
    yield rollout_of(where, record, TABLE, hear(events), **about(record) | pick(TIMES, events) | names)


def has_events(document: Json) -> bool:
    return any("source" in e and "id" in e and ("args" in e or "cause" in e) for e in objects(document))


def has_kind(events: list[Json], *kinds: str) -> bool:
    return any(e.get("kind") in kinds for e in objects(events))


def acts(document: Json, name: str, *keys: str) -> bool:
    return any(all(key in e for key in keys) for e in events_of(document.get(name)))


def has_history(document: Json) -> bool:
    return acts(document, "history", "source", "action") or has_kind(events_of(document.get("history")), "ActionEvent")


KINDS = ("ActionEvent", "ObservationEvent")
FORMAT = Format(
    (
        (("a list of events with id, source, and args or cause", has_events),),
        (("a list of ActionEvent and ObservationEvent", lambda d: isinstance(d, list) and has_kind(d, *KINDS)),),
        (("history[] of source and action, or of ActionEvent", has_history),),
        ("issue.number", ("history[].action", lambda d: acts(d, "history", "action"))),
        (("trajectory[] of source, action and args", lambda d: acts(d, "trajectory", "source", "action", "args")),),
    ),
    read,
)
