"""tau2: results, or a simulation alone; with messages, or ticks in which both may speak at once."""

from collections.abc import Iterator

from stepadv.importing.conversation import Conversation, hear_message, text_of
from stepadv.importing.format import Format, Rollout, Where, rollout_of
from stepadv.importing.values import Json, at, fields, listed, objects, path_of, words

TABLE = {
    "outcome": "reward_info.reward",
    "model": "^info.agent_info.llm",
    "started_at": "start_time",
    "ended_at": "end_time",
    "truncated": "termination_reason~^(max_steps|timeout|too_many_errors|context_window_exceeded)$",
} | {f"meta.{key}": key for key in "trial seed termination_reason reward_info agent_cost user_cost".split()}


def hear(messages: list[Json]) -> Conversation:
    """Calls of the simulated user and their results, which the agent does not see, are left out."""
    talk = Conversation()
    for message in objects(messages):
        # Results may come together.
        for part in objects(message.get("tool_messages") or [message]):
            calls, text = objects(part.get("tool_calls")), text_of(part.get("content"))
            if part.get("role") == "tool" and part.get("requestor") == "user":
                talk.dropped["results of the user's calls"] += 1
            elif part.get("role") == "user":
                talk.dropped["calls of the user"] += len(calls)
                if text:
                    talk.see(text)
            else:
                hear_message(talk, part if calls else {**part, "content": text or ""})
    return talk


def untick(ticks: list[Json]) -> list[Json]:
    """What one says in ticks one after the other is one message, which is placed where it began, whatever the other
    says meanwhile; a call ends it."""
    placed: list[tuple[int, int, Json]] = []
    for name, role, part in (("agent", "assistant", 0), ("user", "user", 2)):
        message: dict[str, Json] | None = None
        for i, tick in enumerate(ticks):
            text = text_of(at(tick, f"{name}_chunk.content")) or None
            calls = listed(at(tick, f"{name}_tool_calls")) or None
            if text is None and calls is None:
                message = None
            elif message is None:
                message = {"role": role, "content": text}
                placed.append((i, part, message))
            elif text is not None:
                message["content"] = (message["content"] or "") + text
            if calls is not None and message is not None:
                message["tool_calls"] = calls
                message = None
            for result in objects(at(tick, f"{name}_tool_results")):
                placed.append((i, part + 1, {**result, "requestor": "user"} if role == "user" else result))
    return [message for *_, message in sorted(placed, key=lambda p: p[:2])]


def read(document: Json, where: Where) -> Iterator[Rollout]:
    found = at(document, "simulations")
    for simulation in map(fields, found if isinstance(found, list) else [document]):
        messages, ticks = simulation.get("messages"), simulation.get("ticks")
        if not isinstance(messages, list) and not isinstance(ticks, list):
            yield {"problem": "a simulation has no list messages or ticks"}
            continue
        talk = hear(messages if isinstance(messages, list) else untick(ticks))
        task = words(simulation.get("task_id"))
        group = path_of(at(document, "info.environment_info.domain_name"), task) or ""
        own = words(simulation.get("id")) or f"{task}-t{words(simulation.get('trial'))}"
        yield rollout_of(where, simulation, TABLE, talk, document, group_id=group, rollout_id=own)


FORMAT = Format(
    (
        ("simulations[]", "info.agent_info", "info.environment_info"),
        ("termination_reason", "task_id", "start_time", "messages[] | ticks[]"),
    ),
    read,
)
