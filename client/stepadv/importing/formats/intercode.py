"""InterCode's logs: episodes with turn_history, at the top or in logs (plans that were refined).

    {"0": {"environment": "ic_bash", "query": "Count files", "turn_history": {"actions": ["ls | wc -l"],
        "observations": ["3"], "rewards": [1.0], "valid_action": [true]}, "summary": {"max_reward": 1.0}}}
"""

from collections import Counter
from collections.abc import Iterator

from stepadv.importing.format import Format, Rollout, Where, element, metadata, pick
from stepadv.importing.values import Json, at, digest, fields, listed, md5, words

OF_META = {key: key for key in ("environment", "dataset", "task_id", "query", "hardness")}


def read_episode(key: str, episode: Json, where: Where) -> Rollout:
    history = fields(at(episode, "turn_history"))
    actions = history.get("actions")
    if not isinstance(actions, list):
        return {"problem": f"episode {key} has no list turn_history.actions"}
    environment = (words(episode.get("environment")) or "intercode").removeprefix("ic_")
    query = words(episode.get("query"))
    steps = []
    for i, action in enumerate(actions):
        told, reward, valid = (at(history, f"{name}.{i}") for name in ("observations", "rewards", "valid_action"))
        steps.append({
            "turn": i,
            "observation": words(at(history, f"observations.{i - 1}")) if i else query,
            "next_observation": words(told),
            "action": words(action),
            "tool": environment,
            "args": {"command": action},
            "ok": valid if isinstance(valid, bool) else None,
            "reward": reward,
        })
    best, taken, most = (at(episode, f"summary.{name}") for name in ("max_reward", "turns_taken", "turns_max"))
    return {
        # Task ids are those of one file of the data set: the question tells tasks apart.
        "group_id": f"{environment}-{md5(key if query is None else query)}",
        "rollout_id": f"{where.rollout or digest(history)}-{key}",
        "outcome": best,
        "truncated": best is not None and not str(words(best)).startswith("1") and taken is not None and taken == most,
        "meta": metadata(where, **pick(OF_META, episode)),
        "steps": steps,
        "repaired": Counter({"actions without an observation": max(len(actions) - len(listed(history.get("observations"))), 0)}),
    }


def read(document: Json, where: Where) -> Iterator[Rollout]:
    if "turn_history" in document:
        yield read_episode(words(document.get("task_id")) or "0", document, where)
        return
    for key, episode in (fields(document.get("logs")) or document).items():
        yield read_episode(key, episode, where)


def has_history(document: Json) -> bool:
    return any(isinstance(at(e, "turn_history"), dict) for e in fields(document).values())


FORMAT = Format(
    (
        ("turn_history", "turn_history.actions[]"),
        (("turn_history of every episode", lambda d: has_history(element(d))),),
        (("turn_history of every episode of logs", lambda d: has_history(at(element(d), "logs"))),),
    ),
    read,
)
