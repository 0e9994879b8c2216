"""Logs of InterCode: episodes with turn_history by number, at the top or in logs (plans that were refined)."""

from collections import Counter

from stepadv.importing.conversation import in_turn
from stepadv.importing.format import Format, Rollout, Rollouts, Where, element, rollout_of
from stepadv.importing.values import Json, at, digest, fields, listed, words

TABLE = {"outcome": "summary.max_reward"}
TABLE |= {f"meta.{key}": key for key in "environment dataset task_id query hardness".split()}


def read_episode(key: str, episode: Json, where: Where) -> Rollout:
    history = fields(at(episode, "turn_history"))
    actions = history.get("actions")
    if not isinstance(actions, list):
        return {"problem": f"episode {key} has no list turn_history.actions"}
    environment = (words(episode.get("environment")) or "intercode").removeprefix("ic_")
    query = words(episode.get("query"))
    turns = []
    for i, action in enumerate(actions):
        told, reward, valid = (at(history, f"{name}.{i}") for name in ("observations", "rewards", "valid_action"))
        call = {"action": words(action), "tool": environment, "args": {"command": action}}
        ok = valid if isinstance(valid, bool) else None
        turns.append({"next_observation": words(told), **call, "ok": ok, "reward": reward})
    best, taken, most = (at(episode, f"summary.{name}") for name in ("max_reward", "turns_taken", "turns_max"))
    n_missing = max(len(actions) - len(listed(history.get("observations"))), 0)
    members = {
        # Task ids are unique only within a file of the data set, so the question identifies the task.
        "group_id": f"{environment}-{digest(key if query is None else query)}",
        "rollout_id": f"{where.rollout or digest(history)}-{key}",
        "truncated": best is not None and str(best)[:1] != "1" and taken is not None and taken == most,
        "steps": in_turn(query, turns),
        "repaired": Counter({"actions without an observation": n_missing}),
    }
    return rollout_of(where, episode, TABLE, members)


def read(document: Json, where: Where) -> Rollouts:
    for key, episode in (fields(document.get("logs")) or document).items():
        yield read_episode(key, episode, where)


def has_history(document: Json) -> bool:
    """Whether an episode, at the top or in logs, has a turn_history."""
    found = fields(element(document))
    return any(isinstance(at(e, "turn_history"), dict) for e in (fields(found.get("logs")) or found).values())


FORMAT = Format("turn_history of every episode", read, tests={"turn_history of every episode": has_history})
