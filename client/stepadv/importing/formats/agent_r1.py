"""Agent-R1's dumps: a line for each trajectory, with its steps."""

from stepadv.importing.format import Format, Rollouts, Where, pick, rollout_of, tokens_of, training_group
from stepadv.importing.values import Json, digest, objects, without, words

USED = ("trajectory_uid", "input", "output", "score", "step", "num_steps", "steps")
TABLE = {"outcome": "score", "policy_version": "step", "policy_step": "step", "rollout_id": "trajectory_uid"}
OF_STEP = {"step_no": "step_index", "turn": "step_index", "reward": "score"}
IN_COLUMNS = "step_index input output gts score prompt_ids response_ids response_mask rollout_log_probs".split()


def read_step(step: dict[str, Json]) -> dict[str, Json]:
    texts = {"observation": words(step.get("input")), "action": words(step.get("output"))}
    return tokens_of(step) | pick(OF_STEP, step) | texts | {"meta": without(step, IN_COLUMNS) or None}


def read(document: Json, where: Where) -> Rollouts:
    task = digest(document.get("input"))
    group = training_group(document.get("step"), document.get("uid"), task)
    steps = [read_step(s) for s in objects(document.get("steps"))]
    yield rollout_of(where, document, TABLE, {"task_id": task, "group_id": group, "steps": steps}, used=USED)


FORMAT = Format("trajectory_uid & input & steps[] & steps[].step_index", read)
