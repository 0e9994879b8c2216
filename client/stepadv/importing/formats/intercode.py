"""InterCode's logs: episodes with turn_history, at the top or in logs (plans that were refined).

    {"0": {"environment": "ic_bash", "query": "Count files", "turn_history": {"actions": ["ls | wc -l"],
        "observations": ["3"], "rewards": [1.0], "valid_action": [true]}, "summary": {"max_reward": 1.0}}}
"""

import hashlib
from collections import Counter
from collections.abc import Iterator

from stepadv.importing.conversation import words
from stepadv.importing.jsontext import digest
from stepadv.importing.rollouts import Format, Json, Mark, Rollout, Where, at, element, fields, metadata


def get(history: Json, name: str, i: int) -> Json:
    return at(history, name, i) if i >= 0 else None


def read_episode(key: str, episode: Json, where: Where) -> Rollout:
    history = fields(fields(episode).get("turn_history"))
    actions = history.get("actions")
    if not isinstance(actions, list):
        return {"problem": f"episode {key} has no list turn_history.actions"}
    environment = words(episode.get("environment")) or "intercode"
    environment = environment.removeprefix("ic_")
    query = words(episode.get("query"))
    # Task ids are those of one file of the data set: the question tells tasks apart.
    task = hashlib.md5((key if query is None else query).encode(errors="replace"), usedforsecurity=False).hexdigest()[:10]
    summary = fields(episode.get("summary"))
    best = summary.get("max_reward")
    steps = [
        {
            "turn": i,
            "observation": query if i == 0 else words(get(history, "observations", i - 1)),
            "next_observation": words(get(history, "observations", i)),
            "action": words(action),
            "tool": environment,
            "args": {"command": action},
            "ok": valid if isinstance(valid := get(history, "valid_action", i), bool) else None,
            "reward": get(history, "rewards", i),
        }
        for i, action in enumerate(actions)
    ]
    unseen = len(actions) - len(history["observations"] if isinstance(history.get("observations"), list) else [])
    return {
        "group_id": f"{environment}-{task}",
        "rollout_id": f"{where.rollout or digest(history)}-{key}",
        "outcome": best,
        "truncated": best is not None and not words(best).startswith("1") and summary.get("turns_taken") is not None
        and summary.get("turns_taken") == summary.get("turns_max"),
        "meta": metadata(where, **{k: episode.get(k) for k in ("environment", "dataset", "task_id", "query", "hardness")}),
        "steps": steps,
        "repaired": Counter({"actions without an observation": max(unseen, 0)}),
    }


def read(document: Json, where: Where) -> Iterator[Rollout]:
    record = fields(document)
    if "turn_history" in record:
        yield read_episode(words(record.get("task_id")) or "0", record, where)
        return
    episodes = record["logs"] if isinstance(record.get("logs"), dict) else record
    for key, episode in episodes.items():
        yield read_episode(key, episode, where)


def any_history(value: Json) -> bool:
    return isinstance(value, dict) and any(isinstance(e, dict) and "turn_history" in e for e in value.values())


EPISODES = "an object turn_history in every episode"
FORMAT = Format(
    "intercode",
    "InterCode's logs",
    (
        (Mark(EPISODES, lambda d: isinstance(at(element(d), "turn_history"), dict)),),
        (Mark(EPISODES, lambda d: any_history(element(d))),),
        (Mark(EPISODES + " of logs", lambda d: any_history(at(element(d), "logs"))),),
    ),
    read,
)
