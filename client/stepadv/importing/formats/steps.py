"""Lines in our own words, a step each: the keys of docs/tables.md.  A rollout is what any of its lines says.

    {"task_id": "door", "rollout_id": "a", "step_no": 0, "observation": "a locked door", "action": "knock", "outcome": 1}
"""

from collections.abc import Iterator

from stepadv.importing.format import Bad, Format, Rollout, Where
from stepadv.importing.values import Json, type_of, words

NAMES = ("run_id", "policy_version", "task_id", "group_id", "rollout_id")
OF_ROLLOUT = {*NAMES, "policy_step", "tags", "outcome", "success", "truncated", "model", "channel", "curation",
              "started_at", "ended_at"}  # fmt: skip
OF_STEP = {"step_no", "turn", "observation", "next_observation", "action", "tool", "args", "ok", "reward",
           "turn_reward", "value", "cost", "prompt_token_ids", "response_token_ids", "response_mask",
           "rollout_logprobs"}  # fmt: skip
TEXTS = ("observation", "next_observation", "action")
# terminal: the last step is the last.
OTHERS = ("meta", "terminal")


def split(document: Json, where: Where) -> Iterator[tuple[str, Json]]:
    """A step, or what is said of the rollout alone; what has no column of its own is kept all the same."""
    if not isinstance(document, dict):
        raise Bad(f"a line must be a JSON object, not {type_of(document)}")
    step, rollout, rest = {}, {}, {}
    for key, value in document.items():
        if value is None or key in OTHERS:
            continue
        if key in OF_STEP:
            step[key] = words(value) if key in TEXTS else value
        elif key in OF_ROLLOUT:
            rollout[key] = value
        else:
            rest[key] = value
    meta = document.get("meta")
    if isinstance(meta, dict) and meta.get("model") is not None:
        rollout.setdefault("model", words(meta["model"]))
    if rest:
        meta = {**(meta if isinstance(meta, dict) else {} if meta is None else {"meta": meta}), **rest}
    if meta is not None:
        if "step_no" in step:
            step["meta"] = meta
        elif "action" not in step:
            rollout["meta"] = meta
    yield "\0".join([str(rollout.get(name)) for name in NAMES]), (where.n, rollout, step if "step_no" in step else None, meta)


def join(parts: list[Json], where: Where) -> Iterator[Rollout]:
    """Of two lines that contradict each other the later counts, if the user says so."""
    about: Rollout = {}
    steps: dict[Json, dict[str, Json]] = {}
    places: dict[Json, int] = {}
    contradictions = []
    n_repeated, place = 0, where.n
    for n, rollout, step, meta in parts:
        number = step["step_no"] if step else None
        if step and number in steps and steps[number] != step:
            contradictions.append((n, f"step {number} of rollout {{}} of group {{}} is not what line {places[number]} says"))
        n_repeated += bool(step) and steps.get(number) == step
        if step:
            steps[number], places[number] = step, n
        differs = [k for k in ("outcome", "success") if k in about and k in rollout and about[k] != rollout[k]]
        if differs:
            contradictions.append((n, f"rollout {{}} of group {{}} has more than one {' and '.join(differs)}"))
        for key, value in rollout.items():
            if key == "truncated":
                value = value or about.get(key)
            elif key in ("started_at", "ended_at") and isinstance(about.get(key), str) and isinstance(value, str):
                value = (min if key == "started_at" else max)(about[key], value)
            elif key == "meta" and key in about:
                continue
            about[key] = value
        # Columns of the group that are somebody's own stand among what else is said.
        about.setdefault("keys", meta)
        place = n if rollout.keys() & {"outcome", "success"} else place
    numbers = sorted(steps) if all(isinstance(n, int) for n in steps) else list(steps)
    about |= {"steps": [steps[n] for n in numbers], "places": [places[n] for n in numbers], "place": place}
    yield about | {"contradictions": contradictions, "n_repeated": n_repeated}


LISTS = ("messages", "traj", "trajectory", "turn_history", "output", "response", "steps")
FORMAT = Format((("group_id | task_id", "rollout_id", *(f"!{key}" for key in LISTS)),), split=split, join=join, is_lines=True, in_parts=True)
