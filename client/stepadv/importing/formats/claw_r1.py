"""Step records of Claw-R1, one on each line; many make one rollout, in any order."""

from stepadv.importing.format import Bad, Format, Parts, Rollouts, Where, pick, tokens_of
from stepadv.importing.values import Json, fields, first, given, is_number, without, words

# Members with a column, and members that only count others.
USED = (
    "prompt_uid trajectory_uid step_index is_last prompt_ids response_ids response_mask rollout_log_probs"
    " routed_experts prompt_text prompt response_text response reward policy_version channel metadata curation"
    " step_key storage_index complete reward_state prompt_len response_len token_count action_summary"
).split()
OF_STEP = {"step_no": "step_index", "turn": "step_index", "reward": "reward"}
CHANNELS = {"val": "validation", "validation": "validation", "train": "train"}


def split(document: Json, where: Where) -> Parts:
    """A record, with the key of its rollout."""
    yield f"{words(document['prompt_uid'])}\0{words(document['trajectory_uid'])}", document


def read_step(record: dict[str, Json], version: Json) -> dict[str, Json]:
    other = record.get("policy_version")
    meta = fields(record.get("metadata")) | given(without(record, USED))
    meta |= given({"curation": record.get("curation"), "policy_version": other if other != version else None})
    texts = [words(first(record, paths)) for paths in ("prompt_text prompt", "response_text response")]
    members = {"observation": texts[0], "action": texts[1], "meta": meta or None}
    return tokens_of(record) | pick(OF_STEP, record) | members


def join(records: list[Json], where: Where) -> Rollouts:
    """The policy version of a rollout is that of its first step, though later steps may have another."""
    ordered = sorted(records, key=lambda r: r["step_index"] if is_number(r.get("step_index")) else float("inf"))
    if ordered[0].get("step_index") != 0:
        # Without the first step, the version is unknown.
        raise Bad("the record of the first step is missing: cat FILES | stepadv import - takes several files for one")
    version = ordered[0].get("policy_version")
    rewards = (r["reward"] for r in ordered if r.get("is_last") is True and is_number(r.get("reward")))
    members = {
        "outcome": next(rewards, None),
        "policy_version": version,
        "policy_step": version if isinstance(version, int) and not isinstance(version, bool) else None,
        "channel": CHANNELS.get(str(ordered[0].get("channel"))),
    }
    yield {
        "task_id": ordered[0]["prompt_uid"],
        "rollout_id": ordered[0]["trajectory_uid"],
        **given(members),
        "steps": [read_step(record, version) for record in ordered],
        "dropped": {"experts of tokens": sum(r.get("routed_experts") is not None for r in records)},
    }


FORMAT = Format("prompt_uid & trajectory_uid & step_index & prompt_ids[] & response_ids[]", split=split, join=join)
