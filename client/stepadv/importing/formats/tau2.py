"""tau2: results, or a simulation alone; with messages, or ticks where both may speak at once.

    {"info": {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": "parcels"}}, "tasks": [], "simulations": [
        {"id": "s1", "task_id": "7", "start_time": "…", "termination_reason": "user_stop", "reward_info": {"reward": 1},
         "messages": [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello."}]}]}
"""

from collections.abc import Iterator

from stepadv.importing.conversation import Conversation, text_of, words
from stepadv.importing.rollouts import Format, Json, Rollout, Where, at, fields, given, has, listed, metadata, objects

CUT_OFF = ("max_steps", "timeout", "too_many_errors", "context_window_exceeded")
KEPT = ("trial", "seed", "termination_reason", "reward_info", "agent_cost", "user_cost")


def hear(messages: list[Json]) -> Conversation:
    """Calls of the simulated user and their results, which the agent does not see, are left out."""
    talk = Conversation()
    for message in objects(messages):
        # Results may come together.
        for part in objects(message.get("tool_messages")) if isinstance(message.get("tool_messages"), list) else [message]:
            role, text, calls = part.get("role"), text_of(part.get("content")), objects(part.get("tool_calls"))
            if role == "system":
                talk.drop("system messages")
            elif role == "user":
                if text:
                    talk.see(text)
                if calls:
                    talk.drop("calls of the user", len(calls))
            elif role == "tool" and part.get("requestor") == "user":
                talk.drop("results of the user's calls")
            elif role == "tool":
                talk.result(text or "", part.get("id"), False if part.get("error") is True else None)
            elif role == "assistant":
                is_new = bool(text or not calls)
                if is_new:
                    talk.say(text or "", new=True)
                for call in calls:
                    talk.call(call.get("name"), call.get("arguments"), call.get("id"))
    return talk


def untick(ticks: list[Json]) -> list[Json]:
    """What one says in ticks one after the other is one message, which stands where it began, whatever the other says
    meanwhile; a call ends it."""
    placed: list[tuple[int, int, int, Json]] = []
    for name, role, part in (("agent", "assistant", 0), ("user", "user", 2)):
        message: dict[str, Json] | None = None
        for i, tick in enumerate(ticks):
            text = text_of(at(tick, f"{name}_chunk", "content")) or None
            calls = listed(at(tick, f"{name}_tool_calls")) or None
            if text is None and calls is None:
                message = None
            elif message is None:
                message = {"role": role, "content": text}
                placed.append((i, part, 0, message))
            elif text is not None:
                message["content"] = (message["content"] or "") + text
            if calls is not None and message is not None:
                message["tool_calls"] = calls
                message = None
            for j, result in enumerate(listed(at(tick, f"{name}_tool_results"))):
                if role == "user" and isinstance(result, dict):
                    result = {**result, "requestor": "user"}
                placed.append((i, part + 1, j, result))
    return [message for *_, message in sorted(placed, key=lambda p: p[:3])]


def read_simulation(simulation: dict[str, Json], document: Json, where: Where) -> Rollout:
    if isinstance(simulation.get("messages"), list):
        messages = simulation["messages"]
    elif isinstance(simulation.get("ticks"), list):
        messages = untick(simulation["ticks"])
    else:
        return {"problem": "a simulation has no list messages or ticks"}
    task, trial = words(simulation.get("task_id")), words(simulation.get("trial"))
    parts = (at(document, "info", "environment_info", "domain_name"), task)
    return {
        **given({
            "outcome": at(simulation, "reward_info", "reward"),
            "model": at(document, "info", "agent_info", "llm"),
            "started_at": simulation.get("start_time"),
            "ended_at": simulation.get("end_time"),
            "truncated": True if simulation.get("termination_reason") in CUT_OFF else None,
        }),
        "group_id": "/".join(words(p) for p in parts if p is not None),
        "rollout_id": words(simulation.get("id")) or "-".join(p for p in (task, trial and f"t{trial}") if p),
        "meta": metadata(where, **{k: simulation.get(k) for k in KEPT}),
        **hear(messages).about(),
    }


def read(document: Json, where: Where) -> Iterator[Rollout]:
    found = at(document, "simulations")
    for simulation in found if isinstance(found, list) else [document]:
        yield read_simulation(fields(simulation), document, where)


def is_simulation(d: dict[str, Json]) -> bool:
    return "termination_reason" in d and "task_id" in d and "start_time" in d


def is_results(d: dict[str, Json]) -> bool:
    return at(d, "info", "agent_info") is not None and at(d, "info", "environment_info") is not None


OF_SIMULATION = "termination_reason, task_id and start_time"
FORMAT = Format(
    "tau2",
    "tau2's results and simulations",
    (
        (
            has("a list simulations (or a simulation alone)", lambda d: isinstance(d.get("simulations"), list)),
            has("info.agent_info and info.environment_info", is_results),
        ),
        (has(OF_SIMULATION, is_simulation), has("a list messages", lambda d: isinstance(d.get("messages"), list))),
        (
            has(OF_SIMULATION, is_simulation),
            has("a list ticks", lambda d: isinstance(d.get("ticks"), list) and not isinstance(d.get("messages"), list)),
        ),
    ),
    read,
)
