"""Logs of Inspect (inspect_ai, version 2 of its log): .json, and .eval, where each sample is a document."""

from stepadv.importing.conversation import hear_messages
from stepadv.importing.format import Format, Rollouts, Where, rollout_of
from stepadv.importing.values import Json, at, fields, first, objects, path_of, words
from stepadv.importing.verdicts import score_of

TABLE = {
    "model": "^eval.model output.model",
    "run_id": "^eval.run_id",
    "started_at": "started_at events.0.timestamp ^stats.started_at ^eval.created",
    "ended_at": "completed_at ^stats.completed_at",
    "truncated": "limit~^{",
    "meta.scores": "scores score",
    "meta.error": "error.message",
    "meta.limit": "limit.type",
} | {f"meta.{key}": key for key in ("epoch", "target", "model_usage")}


def outcome_of(sample: dict[str, Json], log: Json) -> float | None:
    """The score of the first scorer, in the order in which the log lists them."""
    scores = fields(sample.get("scores"))
    asked = [name for s in objects(at(log, "results.scores")) for name in (s.get("name"), s.get("scorer"))]
    named = min(scores, key=lambda name: (asked.index(name) if name in asked else len(asked), name), default="")
    outcome = score_of(at(scores.get(named), "value"))
    return score_of(at(sample, "score.value")) if outcome is None else outcome


def read(document: Json, where: Where) -> Rollouts:
    log = fields(at(document, "header") or document)
    sample = at(document, "sample")
    for one in objects([sample] if sample is not None else document.get("samples")):
        id, epoch = words(one.get("id")), words(one.get("epoch")) or 1
        own = path_of(first(log, "eval.eval_id eval.run_id") or where.rollout, id, f"e{epoch}")
        about = {
            "outcome": outcome_of(one, log),
            "group_id": path_of(at(log, "eval.task"), id) or "",
            "rollout_id": words(one.get("uuid")) or own,
        }
        yield rollout_of(where, one, TABLE, about, hear_messages(one.get("messages")), log)


FORMAT = Format("samples[] & eval.task & eval.model || header.eval.task & sample", read)
