"""Lines in our own words, a step each: the keys of docs/tables.md.

    {"task_id": "door", "rollout_id": "a", "step_no": 0, "observation": "a locked door", "action": "knock", "outcome": 1}
"""

from collections.abc import Iterator

from stepadv.importing.conversation import words
from stepadv.importing.rollouts import Format, Json, Rollout, Where, has

OF_ROLLOUT = {"task_id", "group_id", "rollout_id", "run_id", "policy_version", "policy_step", "tags", "outcome", "success",
              "truncated", "model", "channel", "curation", "started_at", "ended_at"}  # fmt: skip
OF_STEP = {"step_no", "turn", "observation", "next_observation", "action", "tool", "args", "ok", "reward", "turn_reward",
           "value", "cost", "prompt_token_ids", "response_token_ids", "response_mask", "rollout_logprobs"}  # fmt: skip
TEXTS = ("observation", "next_observation", "action")
# terminal: the last step is the last.
USED = {*OF_ROLLOUT, *OF_STEP, "meta", "terminal"}


def read(document: Json, where: Where) -> Iterator[Rollout]:
    if not isinstance(document, dict):
        kind = {list: "array", str: "string", bool: "boolean", type(None): "null"}.get(type(document), "number")
        yield {"problem": f"a line must be a JSON object, not {kind}"}
        return
    rollout: Rollout = {}
    step: dict[str, Json] = {}
    # What has no column of its own is kept all the same.
    rest: dict[str, Json] = {}
    for key, value in document.items():
        if key in USED:
            if value is None:
                continue
            if key in OF_STEP:
                step[key] = words(value) if key in TEXTS and not isinstance(value, str) else value
            elif key in OF_ROLLOUT:
                rollout[key] = value
        else:
            rest[key] = value
    meta = document.get("meta")
    if isinstance(meta, dict) and "model" in meta and "model" not in rollout:
        rollout["model"] = words(meta["model"])
    if rest:
        meta = {**(meta if isinstance(meta, dict) else {} if meta is None else {"meta": meta}), **rest}
    if "step_no" in step:
        if meta is not None:
            step["meta"] = meta
        rollout["steps"] = [step]
    else:
        # A line without a step has nowhere else to leave its remarks.
        if meta is not None and "action" not in step:
            rollout["meta"] = meta
        rollout["steps"] = []
    yield rollout


LISTS = ("messages", "traj", "trajectory", "turn_history", "output", "response", "steps")
FORMAT = Format(
    "steps",
    "a step a line in our own words",
    (
        (
            has("task_id or group_id", lambda d: "group_id" in d or "task_id" in d),
            has("rollout_id", lambda d: "rollout_id" in d),
            has("a step a line, no list of them", lambda d: not any(key in d for key in LISTS)),
        ),
    ),
    read,
)
