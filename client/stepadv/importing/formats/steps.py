"""stepadv's own format: a step on each line, with the keys of docs/tables.md.  Any line may describe its rollout."""

from functools import lru_cache

from stepadv.importing.format import Bad, Format, Parts, Rollout, Rollouts, Where
from stepadv.importing.rows import OF_GROUP, OF_ROLLOUT, OF_STEP
from stepadv.importing.values import Json, given, type_of, words

NAMES = ("run_id", "policy_version", "task_id", "group_id", "rollout_id")
IN_ROLLOUT = {*NAMES, *OF_GROUP, *OF_ROLLOUT} - {"metadata"}
IN_STEP = OF_STEP.keys() - {"state", "meta"}
# Neither columns nor further metadata; terminal marks the last step.
BESIDE = ("meta", "terminal")


@lru_cache(256)
def kinds_of(keys: tuple[str, ...]) -> tuple[list[str], list[str], list[str]]:
    """The keys of a step, of a rollout, and of metadata.  Most lines of a file have the same keys."""
    of_step = [key for key in keys if key in IN_STEP]
    of_rollout = [key for key in keys if key in IN_ROLLOUT and key not in IN_STEP]
    return of_step, of_rollout, [key for key in keys if key not in {*of_step, *of_rollout, *BESIDE}]


def split(document: Json, where: Where) -> Parts:
    """A step, or only members of its rollout.  Keys without a column become metadata."""
    if not isinstance(document, dict):
        raise Bad(f"a line must be a JSON object, not {type_of(document)}")
    of_step, of_rollout, others = kinds_of(tuple(document))
    step = {key: value for key in of_step if (value := document[key]) is not None}
    rollout = {key: value for key in of_rollout if (value := document[key]) is not None}
    more = {key: value for key in others if (value := document[key]) is not None} if others else {}
    meta = document.get("meta")
    if isinstance(meta, dict) and meta.get("model") is not None:
        rollout.setdefault("model", words(meta["model"]))
    if more:
        meta = {**(meta if isinstance(meta, dict) else given({"meta": meta})), **more}
    if meta is not None and "step_no" in step:
        step["meta"] = meta
    elif meta is not None and "action" not in step:
        rollout["meta"] = meta
    key = tuple([repr(rollout.get(name)) for name in NAMES])
    yield key, (where.n, rollout, step if "step_no" in step else None, meta)


def join(parts: list[Json], where: Where) -> Rollouts:
    """The rollout of these lines.  If lines contradict each other, the last one counts, if the user allows it."""
    about: Rollout = {}
    # Key columns that the user has added are in the metadata.
    keys = next((meta for _, _, _, meta in parts if meta is not None), None)
    steps: dict[Json, dict[str, Json]] = {}
    places: dict[Json, int] = {}
    contradictions = []
    n_repeated, place, last = 0, where.n, None
    for n, rollout, step, _ in parts:
        if step is not None:
            number = step["step_no"]
            before = steps.setdefault(number, step)
            if before != step:
                said = f"step {number} of rollout {{}} of group {{}} differs from line {places[number]}"
                contradictions.append((n, said))
            n_repeated += before is not step and before == step
            steps[number], places[number] = step, n
        if rollout.keys() & {"outcome", "success"}:
            place = n
        if rollout != last:
            differs = [k for k in ("outcome", "success") if k in about and k in rollout and about[k] != rollout[k]]
            if differs:
                contradictions.append((n, f"rollout {{}} of group {{}} has more than one {' and '.join(differs)}"))
            about |= rollout | given({"truncated": about.get("truncated") or None, "meta": about.get("meta")})
            last = rollout
    numbers = sorted(steps) if all(isinstance(n, int) for n in steps) else list(steps)
    about |= {"steps": [steps[n] for n in numbers], "places": [places[n] for n in numbers]}
    yield about | {"place": place, "keys": keys, "contradictions": contradictions, "n_repeated": n_repeated}


NO_LISTS = "!messages & !traj & !trajectory & !turn_history & !output & !response & !steps"
FORMAT = Format(f"group_id | task_id & rollout_id & {NO_LISTS}", split=split, join=join, in_parts=True)
