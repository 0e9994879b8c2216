"""Inspect's logs (inspect_ai, version 2 of its log): .json; .eval, of which each sample is a document by itself.

    {"eval": {"task": "rooms", "model": "m"}, "samples": [{"id": 1, "epoch": 1, "scores": {"match": {"value": "C"}},
        "messages": [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Gone."}]}]}
"""

import re
from collections.abc import Iterator

from stepadv.importing.conversation import hear_messages
from stepadv.importing.format import Format, Rollout, Where, metadata, pick
from stepadv.importing.values import Json, at, fields, first, objects, path_of, words

NUMBER = re.compile(r"[-+]?[0-9]{1,15}(\.[0-9]{1,15})?")
TABLE = {
    "model": "^eval.model output.model",
    "run_id": "^eval.run_id",
    "started_at": "started_at events.0.timestamp ^stats.started_at ^eval.created",
    "ended_at": "completed_at ^stats.completed_at",
}
OF_META = {"epoch": "epoch", "target": "target", "scores": "scores score", "error": "error.message",
           "limit": "limit.type", "model_usage": "model_usage"}  # fmt: skip


def score_of(value: Json) -> float | None:
    """A number, or C, P, I, N as Inspect's own value_to_float reads them; None: no score."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if not isinstance(value, str):
        return None
    known = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
    found = known.get(value, known.get(value.lower()) if len(value) > 1 else None)
    return float(value) if found is None and NUMBER.fullmatch(value) else found


def outcome_of(sample: dict[str, Json], log: Json) -> float | None:
    """Of several scorers the first, in the order in which they were asked for."""
    scores = fields(sample.get("scores"))
    asked = [name for s in objects(at(log, "results.scores")) for name in (s.get("name"), s.get("scorer"))]
    named = min(scores, key=lambda name: (asked.index(name) if name in asked else len(asked), name), default="")
    outcome = score_of(at(scores.get(named), "value"))
    return score_of(at(sample, "score.value")) if outcome is None else outcome


def read_sample(sample: dict[str, Json], log: Json, where: Where) -> Rollout:
    id, epoch = words(sample.get("id")), words(sample.get("epoch")) or 1
    outcome = outcome_of(sample, log)
    return {
        **pick(TABLE, sample, log),
        **({} if outcome is None else {"outcome": outcome}),
        **({"truncated": True} if isinstance(sample.get("limit"), dict) else {}),
        "group_id": path_of(at(log, "eval.task"), id) or "",
        "rollout_id": words(sample.get("uuid"))
        or path_of(first(log, "eval.eval_id eval.run_id") or where.rollout, id, f"e{epoch}"),
        "meta": metadata(where, **pick(OF_META, sample)),
        **hear_messages(sample.get("messages")).about(),
    }


def read(document: Json, where: Where) -> Iterator[Rollout]:
    log = fields(at(document, "header") or document)
    sample = at(document, "sample")
    for one in objects([sample] if sample is not None else document.get("samples")):
        yield read_sample(one, log, where)


FORMAT = Format((("samples[]", "eval.task", "eval.model"), ("header.eval.task", "sample")), read)
