"""Lines of stepadv's own form, a step each: the keys of docs/tables.md.  A rollout is what any of its lines says."""

from collections.abc import Iterator

from stepadv.importing.format import Bad, Format, Rollout, Where
from stepadv.importing.rows import OF_GROUP, OF_ROLLOUT, OF_STEP, RARE
from stepadv.importing.values import Json, given, type_of, words

NAMES = ("run_id", "policy_version", "task_id", "group_id", "rollout_id")
IN_ROLLOUT = {*NAMES, *OF_GROUP, *OF_ROLLOUT} - {"metadata"}
IN_STEP = {*OF_STEP, *RARE} - {"state", "meta"}
TEXTS = ("observation", "next_observation", "action")
# terminal: of the last step.
OTHERS = ("meta", "terminal")


def split(document: Json, where: Where) -> Iterator[tuple[str, Json]]:
    """A step, or members of the rollout alone; what has no column is metadata."""
    if not isinstance(document, dict):
        raise Bad(f"a line must be a JSON object, not {type_of(document)}")
    step, rollout, rest = {}, {}, {}
    for key, value in document.items():
        if value is None or key in OTHERS:
            continue
        if key in IN_STEP:
            step[key] = words(value) if key in TEXTS else value
        else:
            (rollout if key in IN_ROLLOUT else rest)[key] = value
    meta = document.get("meta")
    if isinstance(meta, dict) and meta.get("model") is not None:
        rollout.setdefault("model", words(meta["model"]))
    if rest:
        meta = {**(meta if isinstance(meta, dict) else given({"meta": meta})), **rest}
    if meta is not None and "step_no" in step:
        step["meta"] = meta
    elif meta is not None and "action" not in step:
        rollout["meta"] = meta
    key = "\0".join([str(rollout.get(name)) for name in NAMES])
    yield key, (where.n, rollout, step if "step_no" in step else None, meta)


def join(parts: list[Json], where: Where) -> Iterator[Rollout]:
    """Of two lines that contradict each other the later counts, if the user says so."""
    about: Rollout = {}
    steps: dict[Json, dict[str, Json]] = {}
    places: dict[Json, int] = {}
    contradictions = []
    n_repeated, place = 0, where.n
    for n, rollout, step, meta in parts:
        if step:
            number = step["step_no"]
            if steps.get(number, step) != step:
                said = f"step {number} of rollout {{}} of group {{}} differs from line {places[number]}"
                contradictions.append((n, said))
            n_repeated += steps.get(number) == step
            steps[number], places[number] = step, n
        differs = [k for k in ("outcome", "success") if k in about and k in rollout and about[k] != rollout[k]]
        if differs:
            contradictions.append((n, f"rollout {{}} of group {{}} has more than one {' and '.join(differs)}"))
        truncated, noted = about.get("truncated"), about.get("meta")
        about |= rollout
        about |= given({"truncated": truncated or None, "meta": noted})
        # Columns of the group that the user has added are among the metadata.
        about.setdefault("keys", meta)
        place = n if rollout.keys() & {"outcome", "success"} else place
    numbers = sorted(steps) if all(isinstance(n, int) for n in steps) else list(steps)
    about |= {"steps": [steps[n] for n in numbers], "places": [places[n] for n in numbers], "place": place}
    yield about | {"contradictions": contradictions, "n_repeated": n_repeated}


LISTS = ("messages", "traj", "trajectory", "turn_history", "output", "response", "steps")
HAS = ("group_id | task_id", "rollout_id", *(f"!{key}" for key in LISTS))
FORMAT = Format((HAS,), split=split, join=join, in_parts=True)
