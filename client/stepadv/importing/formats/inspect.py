"""Inspect's logs (inspect_ai, version 2 of its log): .json; .eval, of which each sample is a document by itself.

    {"eval": {"task": "rooms", "model": "m"}, "samples": [{"id": 1, "epoch": 1, "scores": {"match": {"value": "C"}},
        "messages": [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Gone."}]}]}
"""

import re
from collections.abc import Iterator

from stepadv.importing.conversation import Conversation, first, join, text_of, words
from stepadv.importing.rollouts import Format, Json, Rollout, Where, at, fields, given, has, listed, metadata, objects

NUMBER = re.compile(r"[-+]?[0-9]{1,15}(\.[0-9]{1,15})?")


def score_of(value: Json) -> float | None:
    """A number, or C, P, I, N as Inspect's own value_to_float reads them; None: no score."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if not isinstance(value, str):
        return None
    if value == "C" or value.lower() in ("yes", "true"):
        return 1
    if value == "P":
        return 0.5
    if value in ("I", "N") or value.lower() in ("no", "false"):
        return 0
    return float(value) if NUMBER.fullmatch(value) else None


def hear(messages: Json) -> Conversation:
    """Messages of the chat interface but for calls ({id, function, arguments}) and errors of results."""
    talk = Conversation()
    for message in objects(messages):
        role, content = message.get("role"), message.get("content")
        parts = listed(content)
        text = content if isinstance(content, str) else text_of([p for p in parts if at(p, "type") != "reasoning"])
        if role == "system":
            talk.drop("system messages")
        elif role == "user":
            talk.see(text)
        elif role == "tool":
            error = fields(message.get("error"))
            talk.result(text or words(error.get("message")) or "", message.get("tool_call_id"), False if error else None)
        elif role == "assistant":
            talk.think(join(words(at(p, "reasoning")) for p in parts if at(p, "type") == "reasoning"), new=True)
            calls = objects(message.get("tool_calls"))
            if text or not calls:
                talk.say(text)
            for call in calls:
                talk.call(first(call, "function", "name"), call.get("arguments"), call.get("id"))
    return talk


def outcome_of(sample: dict[str, Json], log: dict[str, Json]) -> float | None:
    """Of several scorers the first, in the order in which they were asked for."""
    scores = fields(sample.get("scores"))
    asked = objects(at(log, "results", "scores"))
    order = {name: i for i, s in reversed(list(enumerate(asked))) for name in (s.get("name"), s.get("scorer")) if isinstance(name, str)}
    named = min(scores, key=lambda name: (order.get(name, len(asked)), name), default=None)
    outcome = None if named is None else score_of(at(scores[named], "value"))
    return score_of(at(sample, "score", "value")) if outcome is None else outcome


def read_sample(sample: dict[str, Json], log: dict[str, Json], where: Where) -> Rollout:
    task, id = words(at(log, "eval", "task")), words(sample.get("id"))
    epoch = words(sample.get("epoch"))
    name = words(sample.get("uuid"))
    if name is None:
        eval = words(first(log.get("eval"), "eval_id", "run_id")) or where.rollout
        name = "/".join(p for p in (eval, id, f"e{epoch or 1}") if p is not None)
    return {
        **given({
            "outcome": outcome_of(sample, log),
            "model": at(log, "eval", "model") or at(sample, "output", "model"),
            "run_id": at(log, "eval", "run_id"),
            "started_at": sample.get("started_at") or at(sample, "events", 0, "timestamp") or at(log, "stats", "started_at")
            or at(log, "eval", "created"),
            "ended_at": sample.get("completed_at") or at(log, "stats", "completed_at"),
            "truncated": True if isinstance(sample.get("limit"), dict) else None,
        }),
        "group_id": "/".join(p for p in (task, id) if p is not None),
        "rollout_id": name,
        "meta": metadata(
            where,
            epoch=sample.get("epoch"),
            target=sample.get("target"),
            scores=first(sample, "scores", "score"),
            error=at(sample, "error", "message"),
            limit=at(sample, "limit", "type"),
            model_usage=sample.get("model_usage"),
        ),
        **hear(sample.get("messages")).about(),
    }


def read(document: Json, where: Where) -> Iterator[Rollout]:
    log = fields(at(document, "header") or document)
    samples = [document["sample"]] if at(document, "sample") is not None else at(document, "samples")
    for sample in objects(samples):
        yield read_sample(sample, log, where)


FORMAT = Format(
    "inspect",
    "Inspect's logs, .json and .eval",
    (
        (
            has("a list samples (or header and sample, of an .eval file)", lambda d: isinstance(d.get("samples"), list)),
            has("eval.task and eval.model", lambda d: at(d, "eval", "task") is not None and at(d, "eval", "model") is not None),
        ),
        (
            has("header.eval.task (of an .eval file)", lambda d: at(d, "header", "eval", "task") is not None),
            has("a sample beside it", lambda d: isinstance(d.get("sample"), dict)),
        ),
    ),
    read,
)
