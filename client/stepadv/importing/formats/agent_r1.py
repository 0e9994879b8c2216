"""Agent-R1's dumps: a line for each trajectory, with its steps.

    {"trajectory_uid": "u1", "input": "2 + 2 =", "score": 1, "step": 20, "steps": [
        {"step_index": 0, "input": "2 + 2 =", "output": " 4", "score": 1}]}
"""

from collections.abc import Iterator

from stepadv.importing.format import Format, Rollout, Where, metadata, pick, tokens_of, training_group
from stepadv.importing.values import Json, digest, objects, without, words

USED = ("trajectory_uid", "input", "output", "score", "step", "num_steps", "steps")
OF_STEP = ("step_index", "input", "output", "gts", "score", "prompt_ids", "response_ids", "response_mask",
           "rollout_log_probs")  # fmt: skip


def read_step(step: dict[str, Json]) -> dict[str, Json]:
    found = pick({"step_no": "step_index", "turn": "step_index", "reward": "score"}, step)
    texts = {"observation": words(step.get("input")), "action": words(step.get("output"))}
    return tokens_of(step) | found | texts | {"meta": without(step, OF_STEP) or None}


def read(document: Json, where: Where) -> Iterator[Rollout]:
    task = digest(document.get("input"))
    yield {
        **pick({"outcome": "score", "policy_version": "step", "policy_step": "step"}, document),
        "task_id": task,
        "group_id": training_group(document.get("step"), document.get("uid"), task),
        "rollout_id": document.get("trajectory_uid"),
        "meta": metadata(where, document, USED),
        "steps": [read_step(s) for s in objects(document.get("steps"))],
    }


FORMAT = Format((("trajectory_uid", "input", "steps[]", "steps[].step_index"),), read)
