"""TRL's completions of GRPOTrainer and RLOOTrainer, which it writes as Parquet, as lines of JSON.

    {"step": 10, "prompt": "Name a colour.", "completion": "Red.", "colour_reward": 1.0, "advantage": 0.7}
"""

from collections.abc import Iterator

from stepadv.importing.conversation import Conversation, hear_messages, keep
from stepadv.importing.format import Format, Rollout, Where, metadata, pick, tokens_of, training_group
from stepadv.importing.values import Json, digest, is_number, objects, unquoted

USED = ("prompt", "completion", "step", "reward", "prompt_ids", "completion_ids", "completion_mask", "completion_logprobs")


def messages_of(value: Json, role: str) -> list[dict[str, Json]]:
    """A prompt or a completion as messages: a text is one; a call may be a text of JSON."""
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    return [
        {**m, "tool_calls": [call_of(unquoted(c)) for c in m["tool_calls"]]} if isinstance(m.get("tool_calls"), list) else m
        for m in objects(value)
    ]


def call_of(call: Json) -> Json:
    if not isinstance(call, dict) or "function" in call:
        return call
    function = {"name": call.get("name"), "arguments": call.get("arguments")}
    return {"id": call.get("id"), "type": "function", "function": function}


def hear_completion(prompt: Json, completion: Json) -> tuple[Conversation, list[dict[str, Json]]]:
    """A prompt may have answers in it, which are not the model's."""
    asked = messages_of(prompt, "user")
    own = [m for m in asked if m.get("role") not in ("assistant", "tool")]
    messages = own + messages_of(completion, "assistant")
    talk = hear_messages(messages)
    talk.drop("answers in the prompt", len(asked) - len(own))
    return talk, messages


def reward_of(record: dict[str, Json]) -> Json:
    """Functions that had nothing to say are null."""
    if is_number(record.get("reward")):
        return record["reward"]
    found = [v for k, v in record.items() if k not in ("step", "advantage") and is_number(v)]
    return sum(found) if found else None


def read(document: Json, where: Where) -> Iterator[Rollout]:
    talk, messages = hear_completion(document.get("prompt"), document.get("completion"))
    made = talk.about()
    # Of one answer the tokens are known.
    if len(made["steps"]) == 1:
        made["steps"][0] |= tokens_of(document)
    task = digest(document.get("prompt"))
    yield keep({
        **pick({"policy_version": "step", "policy_step": "step"}, document),
        "outcome": reward_of(document),
        "task_id": task,
        "group_id": training_group(document.get("step"), None, task),
        "rollout_id": where.line or digest(document),
        "meta": metadata(where, document, USED),
        **made,
    }, messages)  # fmt: skip


FORMAT = Format((("prompt", "completion", "step", "advantage", "!example_id"),), read)
