"""Trials of Harbor and terminal-bench: what result.json (results.json, config.json) of a trial says of its try.

    {"task_name": "fix", "trial_name": "fix__a1b2c3d", "agent_info": {"name": "terminus-2"},
     "verifier_result": {"rewards": {"reward": 1.0}}, "exception_info": null}
    {"task_id": "fix", "trial_name": "fix.1-of-2.monday", "is_resolved": true, "failure_mode": "unset"}

A trial without a trajectory that can be read is a rollout without steps: its group's baseline needs it.
"""

from collections.abc import Iterator

from stepadv.importing.format import Format, Rollout, Where, metadata, pick
from stepadv.importing.values import Json, at, fields, first, given, is_number, words

TABLE = {
    "model": "config.agent.model_name agent.model_name agent_info.model_info.name",
    "started_at": "agent_execution.started_at agent_started_at trial_started_at started_at",
    "ended_at": "agent_execution.finished_at agent_ended_at trial_ended_at finished_at",
}
OF_META = {"trial": "trial_name", "rewards": "verifier_result.rewards", "agent": "agent_info", "agent_result": "agent_result"}


def reward_of(rewards: Json) -> float | None:
    """Of several rewards that which is called so, or the only one."""
    found = {k: v for k, v in fields(rewards).items() if is_number(v) or isinstance(v, bool)}
    value = first(found, "reward score outcome resolved success")
    if value is None and len(found) == 1:
        value = next(iter(found.values()))
    return None if value is None else float(value)


def about_trial(document: Json) -> Rollout:
    """Members of the rollout, from a trial's result or its settings alone; policy: whose tries are compared."""
    task = words(first(document, "task_name config.task.name task.name"))
    if task is None:
        path = words(first(document, "config.task.path task.path task_id.path")) or ""
        task = document["task_id"] if isinstance(document.get("task_id"), str) else path.rstrip("/").rpartition("/")[2]
    # A trial is called like its task, cut, and what tells it from others.
    trial, base = words(document.get("trial_name")) or "", task.rpartition("/")[2]
    which = trial[len(base) + 1 :] if trial.startswith(f"{base}.") else trial.rpartition("__")[2]
    agent = words(first(document, "config.agent.name agent.name agent_info.name"))
    problem = at(document, "exception_info.exception_type") or document.get("failure_mode")
    has_stopped = all(word in str(problem).lower() for word in ("timeout", "agent"))
    resolved = document.get("is_resolved")
    found = pick(TABLE, document)
    return {
        **found,
        **given({
            "group_id": task or None,
            "rollout_id": f"{task} / {which}" if which else task or None,
            "outcome": reward_of(at(document, "verifier_result.rewards")),
            "success": resolved if isinstance(resolved, bool) else None,
            "truncated": has_stopped or None,
            "policy": " ".join(part for part in (agent, words(found.get("model"))) if part) or None,
        }),
        "meta": pick(OF_META, document) | ({} if problem in (None, "none", "unset") else {"exception": words(problem)}),
    }


def read(document: Json, where: Where) -> Iterator[Rollout]:
    made = about_trial(document)
    version = {"policy_version": made.pop("policy")} if "policy" in made else {}
    yield {**made, **version, "meta": {**(metadata(where) or {}), **made["meta"]}, "steps": []}


def has_verdict(document: Json) -> bool:
    return "verifier_result" in document or "agent" in document and isinstance(document.get("task"), dict)


FORMAT = Format(
    (
        ("trial_name", ("verifier_result, or agent and task", has_verdict)),
        ("trial_name", "task_id", ("is_resolved", lambda d: "is_resolved" in d)),
    ),
    read,
)
