"""OpenHands: trajectories (lists of events), lines of its evaluation's output (history, instance_id, test_result).

Version 0: {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}} and
{"id": 2, "source": "agent", "observation": "run", "cause": 1, "content": "a.py"}; version 1 (its agent SDK):
{"kind": "ActionEvent", "tool_name": "terminal", "tool_call_id": "c1", "action": {…}} and {"kind": "ObservationEvent", …}.
"""

from collections.abc import Callable, Iterator

from stepadv.importing.conversation import Conversation, text_of
from stepadv.importing.format import Format, Rollout, Where, about, metadata, pick
from stepadv.importing.values import Json, at, digest, fields, first, given, is_number, listed, objects, without, words

PROGRAM = "events of the program"
OF_PROGRAM = ("recall", "change_agent_state", "initialize", "null", "agent_state_changed")
HIDDEN = ("thought", "hidden", "confirmation_state", "security_risk")
NO_ARGUMENT = ("action", "images_urls", "wait_for_response", "action_risk", "is_confirmed", "keep_prompt", "kernel_init_code")
TABLE = {"model": "^metadata.llm_config.model ^metadata.llm.model", "started_at": "0.timestamp", "ended_at": "-1.timestamp"}
OF_META = {"instruction": "instruction", "metrics": "metrics", "error": "error", "git_patch": "test_result.git_patch"}


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
            told.append({"cause": last, "observation": event["observation"], "content": event.get("content"), "extras": event})
    return told


def ok_of(status: Json) -> bool | None:
    return status == 0 if is_number(status) else None


class Hearing:
    def __init__(self) -> None:
        self.talk = Conversation()
        self.answer: Json = None  # of the model, the one before

    def hear(self, event: dict[str, Json]) -> None:
        kind, is_user = event.get("kind"), event.get("source") == "user"
        name = words(first(event, "observation" if "observation" in event else "action"))
        if kind == "MessageEvent" or kind is None and name == "message" and "observation" not in event:
            said = text_of(at(event, "llm_message.content")) if kind else words(first(event, "args.content message"))
            if is_user:
                self.talk.see(said)
            elif kind or event.get("source") == "agent":
                self.talk.say(said, new=True)
        elif kind == "SystemPromptEvent" or kind is None and name == "system" and "observation" not in event:
            self.talk.drop("system messages")
        elif kind is None and "observation" in event:
            self.hear_observation(event, name)
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            self.hear_result(event, kind)
        elif kind == "ActionEvent" or kind is None and "action" in event:
            self.hear_action(event, kind, name)
        else:
            self.talk.drop(PROGRAM)

    def hear_action(self, event: dict[str, Json], kind: Json, name: str | None) -> None:
        if not kind and (event.get("source") == "environment" or name in OF_PROGRAM):
            self.talk.drop(PROGRAM)
            return
        if kind or event.get("source") == "agent":
            # A call of another answer of the model begins a turn.
            answer = first(event, "tool_call_metadata.model_response.id llm_response_id")
            thought = text_of(event.get("thought")) if kind else words(at(event, "args.thought"))
            self.talk.think(thought or None, new=answer != self.answer)
            self.answer = answer
        if kind:
            args = at(event, "tool_call.arguments")
            args = without(fields(event.get("action")), ("kind",)) if args is None else args
            self.talk.call(event.get("tool_name") or at(event, "action.kind"), args, event.get("tool_call_id"))
        else:
            args = without(fields(event.get("args")), HIDDEN)
            self.talk.call(at(event, "tool_call_metadata.function_name") or name, args, f"e{words(event.get('id'))}")

    def hear_observation(self, event: dict[str, Json], name: str | None) -> None:
        if name != "error" and (event.get("cause") is None or name in OF_PROGRAM):
            self.talk.drop(PROGRAM)
            return
        status = first(event, "extras.metadata.exit_code extras.exit_code")
        told = words(first(event, "content message")) or ""
        self.talk.result(told, f"e{words(event.get('cause'))}", False if name == "error" else ok_of(status))

    def hear_result(self, event: dict[str, Json], kind: Json) -> None:
        seen = fields(event.get("observation"))
        told = text_of(seen.get("content")) or words(seen.get("output")) or words(first(event, "error rejection_reason"))
        failed = kind != "ObservationEvent" or seen.get("is_error") is True
        self.talk.result(told or "", event.get("tool_call_id"), False if failed else ok_of(seen.get("exit_code")))


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
    hearing = Hearing()
    for event in events:
        hearing.hear(event)
    instance, issue = words(record.get("instance_id")), fields(record.get("issue"))
    if instance is None and issue.get("number") is not None:
        instance = f"{words(issue.get('owner'))}/{words(issue.get('repo'))}#{words(issue['number'])}"
    question, attempt, error = asked(events), record.get("attempt"), words(record.get("error")) or ""
    verdicts = (first(record, "test_result.report.resolved report.resolved"), record.get("resolved"), record.get("success"))
    name = (where.try_of(instance) if instance else where.rollout) or digest(events)
    yield {
        # Cut off, not given up.
        **({"truncated": True} if "maximum iteration" in error or "max budget" in error.lower() else {}),
        **about(record),
        **given({"success": next((v for v in verdicts if isinstance(v, bool)), None)}),
        **pick(TABLE, events, record),
        "group_id": instance
        or (digest(question) if question is not None else None)
        or where.rollout
        or digest(events[0] if events else None),
        "rollout_id": name if attempt is None else f"{name} / try {words(attempt)}",
        "meta": metadata(where, **pick(OF_META, record)),
        **hearing.talk.about(),
    }


def has_events(document: Json) -> bool:
    return any("source" in e and "id" in e and ("args" in e or "cause" in e) for e in objects(document))


def acts(name: str, *keys: str) -> Callable[[Json], bool]:
    def see(document: Json) -> bool:
        return any(all(key in e for key in keys) for e in events_of(document.get(name)))

    return see


FORMAT = Format(
    (
        (("a list of events with id, source, and args or cause", has_events),),
        (("a list of ActionEvent and ObservationEvent", lambda d: isinstance(d, list) and any(
            e.get("kind") in ("ActionEvent", "ObservationEvent") for e in objects(d))),),
        (("history[] of source and action, or of ActionEvent", lambda d: acts("history", "source", "action")(d) or any(
            e.get("kind") == "ActionEvent" for e in events_of(d.get("history")))),),
        ("issue.number", ("history[].action", lambda d: acts("history", "action")(d))),
        (("trajectory[] of source, action and args", acts("trajectory", "source", "action", "args")),),
    ),
    read,
)  # fmt: skip
