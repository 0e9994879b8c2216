"""Completions of TRL's GRPOTrainer and RLOOTrainer, converted from Parquet to lines of JSON."""

from stepadv.importing.conversation import Conversation, hear_messages, keep
from stepadv.importing.format import Format, Rollouts, Where, rollout_of, tokens_of, training_group
from stepadv.importing.values import Json, digest, is_number, listed, objects, unquoted

USED = "prompt completion step reward prompt_ids completion_ids completion_mask completion_logprobs".split()
TABLE = {"policy_version": "step", "policy_step": "step"}


def messages_of(value: Json, role: str) -> list[dict[str, Json]]:
    """A prompt or a completion as messages.  A text is one message; a call may be a string of JSON."""
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    found = objects(value)
    return [m | {"tool_calls": [*map(call_of, calls)]} if (calls := listed(m.get("tool_calls"))) else m for m in found]


def call_of(call: Json) -> Json:
    found = unquoted(call)
    if not isinstance(found, dict) or "function" in found:
        return found
    function = {key: found[key] for key in ("name", "arguments") if found.get(key) is not None}
    return {"id": found.get("id"), "type": "function", "function": function}


def hear_completion(prompt: Json, completion: Json) -> tuple[Conversation, list[dict[str, Json]]]:
    """The conversation and its messages, without answers in the prompt, which are not the model's."""
    asked = messages_of(prompt, "user")
    own = [m for m in asked if m.get("role") not in ("assistant", "tool")]
    messages = own + messages_of(completion, "assistant")
    talk = hear_messages(messages)
    talk.dropped["answers in the prompt"] += len(asked) - len(own)
    return talk, messages


def reward_of(record: dict[str, Json]) -> Json:
    """The reward, or the sum of the results of reward functions, which may be null."""
    if is_number(record.get("reward")):
        return record["reward"]
    found = [v for k, v in record.items() if k not in ("step", "advantage") and is_number(v)]
    return sum(found) if found else None


def read(document: Json, where: Where) -> Rollouts:
    talk, messages = hear_completion(document.get("prompt"), document.get("completion"))
    task = digest(document.get("prompt"))
    members = {
        "outcome": reward_of(document),
        "task_id": task,
        "group_id": training_group(document.get("step"), None, task),
        "rollout_id": where.line or digest(document),
    }
    found = rollout_of(where, document, TABLE, members, talk, used=USED)
    # The tokens of several turns cannot be distinguished.
    if len(found["steps"]) == 1:
        found["steps"][0] |= tokens_of(document)
    yield keep(found, messages)


FORMAT = Format("prompt & completion & step & advantage & !example_id", read)
