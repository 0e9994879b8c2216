"""Langfuse, versions 2 to 4: traces with observations and scores, from its interface or its download ({"trace": …,
"observations": […]}).

GENERATION is a call of the model; TOOL and RETRIEVER are tools, and so is a SPAN if the model calls something with its
name; EVALUATOR and GUARDRAIL are judges."""

import re

from stepadv.importing.conversation import heard_of
from stepadv.importing.format import Format, Rollouts, Where
from stepadv.importing.formats.otel import attributes_of
from stepadv.importing.spans import KINDS, Span, named, noted, rollout_of_trace
from stepadv.importing.values import Json, at, first, given, objects, time_of, unquoted, words

OF_TRACE = {"tags": "tags", "user": "userId", "release": "release", "environment": "environment"}
INPUT = "usageDetails.input usage.input usage.promptTokens promptTokens"
OUTPUT = "usageDetails.output usage.output usage.completionTokens completionTokens"


def scores_of(scores: Json, of: Json = None) -> list[Json]:
    """The scores of an observation, or of the trace.  Langfuse's table of traces has an object of names and values."""
    if isinstance(scores, dict):
        values = {k.removeprefix("# "): v[0] if isinstance(v, list) and v else v for k, v in scores.items()}
        scores = [{"name": k, "value": v} for k, v in values.items()]
    found = [s for s in objects(scores) if s.get("observationId") == of and s.get("name") is not None]
    return [given({"name": s["name"], "value": s.get("value"), "label": s.get("stringValue")}) for s in found]


def root_of(trace: dict[str, Json]) -> Span:
    """The trace as a span, which is the root of its observations."""
    meta = unquoted(trace.get("metadata"))
    a = attributes_of({"metadata": meta})
    return {
        "trace": trace.get("id"),
        "span": trace.get("id"),
        "kind": "other",
        "name": trace.get("name"),
        "started_at": time_of(trace.get("timestamp")),
        **named(a, "task"),
        "session": trace.get("sessionId"),
        "asked": words(trace.get("input")) or None,
        "scores": scores_of(trace.get("scores")),
        "about": given({"policy_version": trace.get("version")}) | named(a, "run_id", "policy_version", "policy_step"),
        "more": given({name: trace.get(key) or None for name, key in OF_TRACE.items()} | {"metadata": meta}),
    }


def tokens_of(v: dict[str, Json], paths: str) -> int | None:
    """A number of tokens, which may be given as text."""
    usage = v | {"usageDetails": unquoted(v.get("usageDetails"))}
    found = (words(at(usage, path)) or "" for path in paths.split())
    return next((int(text) for text in found if re.fullmatch(r"[0-9]{1,18}", text)), None)


def span_of(v: dict[str, Json], trace: dict[str, Json]) -> Span:
    kind = KINDS.get(str(v.get("type")).upper(), "other")
    span: Span = {
        "trace": trace.get("id"),
        "span": v.get("id"),
        "parent": v.get("parentObservationId") or trace.get("id"),
        "kind": kind,
        "name": v.get("name"),
        "started_at": time_of(v.get("startTime")),
        "ended_at": time_of(v.get("endTime")),
        "failed": v.get("level") == "ERROR",
        "message": words(v.get("statusMessage")) or None,
        "scores": scores_of(trace.get("scores"), v.get("id")),
    }
    if kind != "llm":
        id = first(unquoted(v.get("metadata")), "tool_call_id toolCallId")
        return span | {"call": {"id": id, "args": v.get("input"), "text": words(v.get("output"))}}
    return span | {
        **heard_of(noted(v.get("input"), "user")),
        "said": noted(v.get("output"), "assistant"),
        "model": v.get("model") or v.get("providedModelName"),
        "input_tokens": tokens_of(v, INPUT),
        "output_tokens": tokens_of(v, OUTPUT),
    }


def read(document: Json, where: Where) -> Rollouts:
    for record in objects(document if isinstance(document, list) else [document]):
        trace = record["trace"] if isinstance(record.get("trace"), dict) else record
        trace = trace | given({key: record.get(key) for key in ("observations", "scores")})
        observed = [span_of(v, trace) for v in objects(trace.get("observations"))]
        yield rollout_of_trace([root_of(trace), *observed], where)


FORMAT = Format("id | trace.id & observations[].startTime", read)
