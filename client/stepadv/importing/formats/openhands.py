"""OpenHands: trajectories (lists of events), lines of its evaluation's output (history, instance_id, test_result), the
resolver's output.  Events of version 0 have action or observation, those of version 1 (its agent SDK) a kind."""

from stepadv.importing.conversation import Conversation, text_of
from stepadv.importing.format import Format, Rollouts, Where, about, pick, rollout_of
from stepadv.importing.values import Json, at, digest, fields, first, is_number, objects, without, words

OF_PROGRAM = ("recall", "change_agent_state", "initialize", "null", "agent_state_changed")
HIDDEN = ("thought", "hidden", "confirmation_state", "security_risk")
NO_ARGUMENT = "action images_urls wait_for_response action_risk is_confirmed keep_prompt kernel_init_code".split()
RESULTS = ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation")
TIMES = {"started_at": "0.timestamp", "ended_at": "-1.timestamp"}
TABLE = {
    "model": "metadata.llm_config.model metadata.llm.model",
    # The rollout was cut off; the agent did not give up.
    "truncated": "error~maximum.iteration|[Mm]ax.[Bb]udget",
    "meta.git_patch": "test_result.git_patch",
} | {f"meta.{key}": key for key in ("instruction", "metrics", "error")}


def with_sources(events: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Adds the sources and causes that the resolver's history lacks: the first action is the user's, and an
    observation belongs to the action before it."""
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


class Events:
    def __init__(self, events: list[dict[str, Json]]) -> None:
        self.talk = Conversation()
        self.answer: Json = None  # the id of the model's answer that had the last call
        for event in events:
            (self.hear_0 if event.get("kind") is None else self.hear_1)(event)

    def drop(self, what: str = "events of the program") -> None:
        self.talk.dropped[what] += 1

    def message(self, source: Json, text: str | None) -> None:
        if source == "user":
            self.talk.see(text)
        elif source == "agent":
            self.talk.begin()
            self.talk.say(text)

    def result(self, told: Json, id: Json, is_error: bool, status: Json) -> None:
        ok = status == 0 if is_number(status) else None
        self.talk.result(words(told) or "", id, False if is_error else ok)

    def call(self, tool: Json, args: Json, id: Json, thought: Json, answer: Json, is_own: bool = True) -> None:
        # A call in another answer of the model begins a turn.
        if is_own:
            if answer != self.answer:
                self.talk.begin()
            self.talk.think(thought or None)
            self.answer = answer
        self.talk.call(tool, args, id)

    def hear_0(self, event: dict[str, Json]) -> None:
        name, seen, source = words(event.get("action")), words(event.get("observation")), event.get("source")
        args = fields(event.get("args"))
        if "observation" in event:
            if seen != "error" and (event.get("cause") is None or seen in OF_PROGRAM):
                self.drop()
                return
            told, status = first(event, "content message"), first(event, "extras.metadata.exit_code extras.exit_code")
            self.result(told, f"e{words(event.get('cause'))}", seen == "error", status)
        elif name == "message":
            self.message(source, words(first(event, "args.content message")))
        elif name == "system":
            self.drop("system messages")
        elif "action" not in event or source == "environment" or name in OF_PROGRAM:
            self.drop()
        else:
            tool = at(event, "tool_call_metadata.function_name") or name
            answer, thought = at(event, "tool_call_metadata.model_response.id"), words(args.get("thought"))
            is_own, id = source == "agent", f"e{words(event.get('id'))}"
            self.call(tool, without(args, HIDDEN), id, thought, answer, is_own)

    def hear_1(self, event: dict[str, Json]) -> None:
        kind, id = event["kind"], event.get("tool_call_id")
        if kind == "MessageEvent":
            self.message(event.get("source"), text_of(at(event, "llm_message.content")))
        elif kind in RESULTS:
            seen = fields(event.get("observation"))
            told = text_of(seen.get("content")) or seen.get("output") or first(event, "error rejection_reason")
            is_error = kind != "ObservationEvent" or seen.get("is_error") is True
            self.result(told, id, is_error, seen.get("exit_code"))
        elif kind == "ActionEvent":
            args = at(event, "tool_call.arguments")
            args = without(fields(event.get("action")), ("kind",)) if args is None else args
            tool = event.get("tool_name") or at(event, "action.kind")
            self.call(tool, args, id, text_of(event.get("thought")), event.get("llm_response_id"))
        else:
            self.drop("system messages" if kind == "SystemPromptEvent" else "events of the program")


def read(document: Json, where: Where) -> Rollouts:
    record = fields(document)
    found = document if isinstance(document, list) else document["history"]
    # In version 0 some lists have pairs of action and observation.
    events = with_sources([e for event in found for e in objects(event if isinstance(event, list) else [event])])
    instance, issue = words(record.get("instance_id")), fields(record.get("issue"))
    if instance is None and issue.get("number") is not None:
        instance = f"{words(issue.get('owner'))}/{words(issue.get('repo'))}#{words(issue['number'])}"
    told = (e for e in events if e.get("source") == "user")
    asked = next((e for e in told if e.get("action") == "message" or e.get("kind") == "MessageEvent"), None)
    question, attempt = first(asked, "args.content llm_message.content"), record.get("attempt")
    verdicts = (at(record, path) for path in ("test_result.report.resolved", "report.resolved", "resolved", "success"))
    name = (where.try_of(instance) if instance else where.rollout) or digest(events)
    otherwise = digest(question) if question is not None else where.rollout or digest(events[0] if events else None)
    names = {
        "success": next((v for v in verdicts if isinstance(v, bool)), None),
        "group_id": instance or otherwise,
        "rollout_id": name if attempt is None else f"{name} / try {words(attempt)}",
    }
    yield rollout_of(where, record, TABLE, about(record) | pick(TIMES, events) | names, Events(events).talk)


HAS = (
    "[].id & [].source & [].args | [].cause || [].kind=ActionEvent | [].kind=ObservationEvent"
    " || history[].source | history[].0.source & history[].action | history[].0.action"
    " || history[].kind=ActionEvent | history[].kind=ObservationEvent || issue.number & history[].action"
)
FORMAT = Format(HAS, read)
