"""tau2: results, or a single simulation."""

from stepadv.importing.conversation import Conversation, hear_message, text_of
from stepadv.importing.format import Format, Rollouts, Where, rollout_of
from stepadv.importing.values import Json, at, fields, objects, path_of, words

TABLE = {
    "outcome": "reward_info.reward",
    "model": "^info.agent_info.llm",
    "started_at": "start_time",
    "ended_at": "end_time",
    "truncated": "termination_reason~^(max_steps|timeout|too_many_errors|context_window_exceeded)$",
} | {f"meta.{key}": key for key in "trial seed termination_reason reward_info agent_cost user_cost".split()}


def hear(messages: list[Json]) -> Conversation:
    """The conversation without the calls of the simulated user and their results, which the agent does not see."""
    talk = Conversation()
    for message in objects(messages):
        # One message may have several results.
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


def read(document: Json, where: Where) -> Rollouts:
    found = at(document, "simulations")
    for simulation in map(fields, found if isinstance(found, list) else [document]):
        if not isinstance(simulation.get("messages"), list):
            yield {"problem": "a simulation has no list messages"}
            continue
        talk = hear(simulation["messages"])
        task = words(simulation.get("task_id"))
        group = path_of(at(document, "info.environment_info.domain_name"), task) or ""
        own = words(simulation.get("id")) or f"{task}-t{words(simulation.get('trial'))}"
        yield rollout_of(where, simulation, TABLE, {"group_id": group, "rollout_id": own}, talk, document)


RESULTS = "simulations[] & info.agent_info & info.environment_info"
FORMAT = Format(f"{RESULTS} || termination_reason & task_id & start_time & messages[]", read)
