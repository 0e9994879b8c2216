"""Trials of Harbor and terminal-bench: what the result.json (results.json, config.json) of a trial says about its try.
A trial without a readable trajectory is a rollout without steps: the baseline of its group needs it."""

from stepadv.importing.format import Format, Rollout, Rollouts, Where, pick, rollout_of
from stepadv.importing.values import Json, at, fields, first, given, words
from stepadv.importing.verdicts import verdict_of_rewards

TABLE = {
    "model": "config.agent.model_name agent.model_name agent_info.model_info.name",
    "started_at": "agent_execution.started_at agent_started_at trial_started_at started_at",
    "ended_at": "agent_execution.finished_at agent_ended_at trial_ended_at finished_at",
}
TABLE |= {"meta.trial": "trial_name", "meta.rewards": "verifier_result.rewards"}
TABLE |= {"meta.agent": "agent_info", "meta.agent_result": "agent_result"}


def about_trial(document: Json) -> Rollout:
    """The members of a rollout, from a trial's result or only its settings; policy has the agent and the model."""
    task = words(first(document, "task_name config.task.name task.name"))
    if task is None:
        path = words(first(document, "config.task.path task.path task_id.path")) or ""
        task = document["task_id"] if isinstance(document.get("task_id"), str) else path.rstrip("/").rpartition("/")[2]
    # A trial's name is that of its task, perhaps cut, and what distinguishes the trial.
    trial, base = words(document.get("trial_name")) or "", task.rpartition("/")[2]
    which = trial[len(base) + 1 :] if trial.startswith(f"{base}.") else trial.rpartition("__")[2]
    agent = words(first(document, "config.agent.name agent.name agent_info.name"))
    problem = at(document, "exception_info.exception_type") or document.get("failure_mode")
    resolved, model = document.get("is_resolved"), words(pick(TABLE, document).get("model"))
    members = {
        "group_id": task or None,
        "rollout_id": f"{task} / {which}" if which else task or None,
        "success": resolved if isinstance(resolved, bool) else None,
        **verdict_of_rewards(at(document, "verifier_result.rewards")),
        "truncated": all(word in str(problem).lower() for word in ("timeout", "agent")) or None,
        "policy": " ".join(part for part in (agent, model) if part) or None,
    }
    noted = {} if problem in (None, "none", "unset") else {"exception": words(problem)}
    began = [document[key] for key in ("agent_execution", "agent_started_at") if key in document]
    is_early = noted and (began == [None] or problem == "agent_installation_failed")
    # The reason, if the rollout has no steps.
    members["lacks"] = f"{words(problem)} before the agent began" if is_early else "no trajectory in the trial"
    return rollout_of(Where(), document, TABLE, members, meta=noted)


def read(document: Json, where: Where) -> Rollouts:
    made = about_trial(document)
    version = {"policy_version": made.pop("policy")} if "policy" in made else {}
    yield {**made, **version, "meta": given({"source": where.source}) | fields(made["meta"]), "steps": []}


def has_verdict(document: Json) -> bool:
    is_settings = at(document, "agent") is not None and isinstance(at(document, "task"), dict)
    return is_settings or "verifier_result" in fields(document)


TESTS = {"verifier_result, or agent and task": has_verdict, "is_resolved": lambda d: "is_resolved" in fields(d)}
HAS = "trial_name & verifier_result, or agent and task || trial_name & task_id & is_resolved"
FORMAT = Format(HAS, read, tests=TESTS)
