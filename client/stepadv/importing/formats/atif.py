"""ATIF, the trajectories of Harbor, versions 1.0 to 1.7: every step of the agent is a turn.

    {"schema_version": "ATIF-v1.4", "session_id": "s", "steps": [{"source": "user", "message": "Fix it."},
        {"source": "agent", "message": "", "tool_calls": [{"tool_call_id": "c", "function_name": "bash", "arguments": {}}],
         "observation": {"results": [{"source_call_id": "c", "content": "a.py"}]}}]}
"""

from collections import Counter
from collections.abc import Iterator

from stepadv.importing.conversation import Conversation, text_of
from stepadv.importing.jsontext import digest
from stepadv.importing.rollouts import Format, Json, Rollout, Where, about, at, fields, given, has, metadata, objects


def hear(steps: list[dict[str, Json]]) -> Conversation:
    talk = Conversation()
    for step in steps:
        source, text = step.get("source"), text_of(step.get("message"))
        calls, results = objects(step.get("tool_calls")), objects(at(step, "observation", "results"))
        if source == "system" and not results:
            talk.drop("system messages")
        elif source == "user":
            talk.see(text)
        elif source == "agent":
            talk.think(text_of(step.get("reasoning_content")), new=True)
            if text or not calls:
                talk.say(text)
            for call in calls:
                talk.call(call.get("function_name"), call.get("arguments"), call.get("tool_call_id"))
        for result in results:
            told = text_of(result.get("content")) or ""
            if calls:
                talk.result(told, result.get("source_call_id"))
            else:
                talk.see(told)
    return talk


def metrics_of(step: dict[str, Json]) -> dict[str, Json]:
    """What a turn took: its tokens, where the trainer's way to them is noted, and the numbers beside them as they are."""
    metrics = fields(step.get("metrics"))
    ids, logprobs = metrics.get("completion_token_ids"), metrics.get("logprobs")
    found = {}
    if isinstance(metrics.get("prompt_token_ids"), list):
        found["prompt_token_ids"] = metrics["prompt_token_ids"]
    used = {"prompt_token_ids", "completion_token_ids"}
    if isinstance(ids, list):
        found["response_token_ids"] = ids
        if isinstance(logprobs, list) and len(logprobs) == len(ids):
            found["rollout_logprobs"] = logprobs
            used.add("logprobs")
    others = given({key: value for key, value in metrics.items() if key not in used})
    return {**found, **({"meta": {"metrics": others}} if others else {})}


def add_metrics(steps: list[dict[str, Json]], told: list[dict[str, Json]], repaired: Counter[str]) -> None:
    """To the first step of each turn; where the agent's steps are not the turns, one for one, to none."""
    found = [metrics_of(step) for step in told if step.get("source") == "agent"]
    if not any(found):
        return
    firsts = [s for i, s in enumerate(steps) if i == 0 or s["turn"] != steps[i - 1]["turn"]]
    if len(firsts) != len(found):
        repaired["metrics that no turn tells apart"] += 1
        return
    for step, more in zip(firsts, found, strict=True):
        meta = {**(step.get("meta") or {}), **more.pop("meta", {})}
        step |= more
        step["meta"] = meta or None


def read(document: Json, where: Where) -> Iterator[Rollout]:
    if not isinstance(at(document, "steps"), list):
        yield {"problem": "there is no list steps"}
        return
    told = objects(document["steps"])
    extra = fields(document.get("extra"))
    talk = hear(told)
    made = talk.about()
    add_metrics(made["steps"], told, made["repaired"])
    asked = next((s.get("message") for s in told if s.get("source") == "user"), None)
    yield {
        **about(document),
        **about(extra),
        **given({
            "model": at(document, "agent", "model_name") or next((s["model_name"] for s in told if s.get("model_name")), None),
            "started_at": at(told, 0, "timestamp"),
            "ended_at": at(told, -1, "timestamp"),
        }),
        "group_id": next((extra[k] for k in ("task_id", "task_name", "instance_id") if extra.get(k) is not None), None)
        or (digest(asked) if asked is not None else None)
        or where.rollout
        or document.get("session_id"),
        "rollout_id": document.get("trajectory_id") or document.get("session_id") or where.rollout or digest(told),
        "meta": metadata(
            where,
            **{k: document.get(k) for k in ("agent", "final_metrics", "notes", "schema_version")},
        ),
        **made,
    }


def is_versioned(document: dict[str, Json]) -> bool:
    version = document.get("schema_version")
    return isinstance(version, str) and version.startswith("ATIF-v")


FORMAT = Format(
    "atif",
    "ATIF, the trajectories of Harbor",
    (
        (
            has('schema_version "ATIF-v…"', is_versioned),
            has("a list steps", lambda d: isinstance(d.get("steps"), list)),
        ),
    ),
    read,
)
