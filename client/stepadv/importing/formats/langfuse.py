"""Langfuse, versions 2 to 4: traces with observations and scores as its interface or its download gives them
({"trace": …, "observations": […]}), and rows of its exports (traces, observations, scores; camel or snake case).

GENERATION is the model; TOOL and RETRIEVER are tools, a SPAN is one where the model calls something of its name;
EVALUATOR and GUARDRAIL judge."""

import re
from collections.abc import Iterator

from stepadv.importing.conversation import news, system_of
from stepadv.importing.format import Bad, Format, Where
from stepadv.importing.formats.otel import attributes_of, join
from stepadv.importing.spans import KINDS, Span, named, noted, times
from stepadv.importing.values import Json, at, first, given, instant, objects, unquoted, words

TYPES = {*KINDS, "SPAN", "EVENT", "AGENT", "CHAIN", "EMBEDDING"}
CAPITAL = re.compile(r"([A-Z])")
OF_TRACE = {"tags": "tags", "user": "userId", "release": "release", "environment": "environment"}
INPUT = ("usageDetails.input", "usage.input", "usage.promptTokens", "promptTokens")
OUTPUT = ("usageDetails.output", "usage.output", "usage.completionTokens", "completionTokens")


def get(record: Json, camel: str) -> Json:
    """A member that is the same in both spellings."""
    snake = CAPITAL.sub(r"_\1", camel).lower()
    return first(record, f"{camel} {snake}")


def span_of_trace(v: dict[str, Json]) -> Span:
    """A trace is the root of what is observed in it."""
    meta = unquoted(v.get("metadata"))
    a = attributes_of({"metadata": meta})
    return {
        "trace": v.get("id"),
        "span": v.get("id"),
        "kind": "other",
        "name": v.get("name"),
        **times(instant(v.get("timestamp")), None),
        **named(a, "task"),
        "session": get(v, "sessionId"),
        "asked": words(v.get("input")) or None,
        "about": given({"policy_version": v.get("version")}) | named(a, "run_id", "policy_version", "policy_step"),
        "more": given({name: get(v, key) or None for name, key in OF_TRACE.items()} | {"metadata": meta}),
    }


def tokens_of(v: dict[str, Json], paths: tuple[str, ...]) -> int | None:
    """Tokens are numbers, or spelled so."""
    usage = {"usageDetails": unquoted(get(v, "usageDetails")), "usage": v.get("usage")}
    found = (words(at(usage, path) if "." in path else get(v, path)) or "" for path in paths)
    return next((int(text) for text in found if re.fullmatch(r"[0-9]{1,18}", text)), None)


def span_of(v: dict[str, Json]) -> Span:
    trace, kind = get(v, "traceId"), KINDS.get(str(v.get("type")).upper(), "other")
    span: Span = {
        "trace": trace,
        "span": v.get("id"),
        "parent": get(v, "parentObservationId") or trace,
        "kind": kind,
        "name": v.get("name"),
        **times(instant(get(v, "startTime")), instant(get(v, "endTime"))),
        "failed": v.get("level") == "ERROR",
        "message": words(get(v, "statusMessage")) or None,
    }
    if kind != "llm":
        id = first(unquoted(v.get("metadata")), "tool_call_id toolCallId")
        return span | {"call": {"id": id, "args": v.get("input"), "text": words(v.get("output"))}}
    heard = noted(v.get("input"), "user")
    return span | {
        "heard": news(heard),
        "said": noted(v.get("output"), "assistant"),
        "system": system_of(heard),
        "model": v.get("model") or get(v, "providedModelName"),
        "input_tokens": tokens_of(v, INPUT),
        "output_tokens": tokens_of(v, OUTPUT),
    }


def scores_of(scores: Json, trace: Json, of: Json = None) -> Iterator[Span]:
    """Scores stand beside what they are of: the trace, or one observation."""
    if isinstance(scores, dict):
        # A table's export has a column of names and their values.
        values = {k.removeprefix("# "): v[0] if isinstance(v, list) and v else v for k, v in scores.items()}
        scores = [{"name": k, "value": v} for k, v in values.items()]
    for s in objects(scores):
        of_trace = get(s, "traceId") or trace
        if of_trace is not None and s.get("name") is not None:
            score = given({"name": s["name"], "value": s.get("value"), "label": get(s, "stringValue")})
            yield {"trace": of_trace, "kind": "score", "scores": [score], "of": of or get(s, "observationId")}


def spans_of(document: Json) -> Iterator[Span]:
    found = document if isinstance(document, list) else at(document, "data")
    for record in objects(found if isinstance(found, list) else [document]):
        if isinstance(record.get("trace"), dict):
            # Its own download: the trace, and beside it what was observed.
            record = record["trace"] | given({key: record.get(key) for key in ("observations", "scores")})
        trace = get(record, "traceId")
        if trace is not None and get(record, "startTime") is not None:
            yield span_of(record)
            yield from scores_of(record.get("scores"), trace, record.get("id"))
        elif trace is not None:
            yield from scores_of([record], None)
        elif record.get("id") is not None and ("timestamp" in record or "observations" in record):
            yield span_of_trace(record)
            for v in objects(record.get("observations")):
                yield span_of({"traceId": record["id"], **v})
            yield from scores_of(record.get("scores"), record["id"])


def split(document: Json, where: Where) -> Iterator[tuple[str, Span]]:
    spans = list(spans_of(document))
    if not spans:
        raise Bad("there is no trace, observation or score in the document")
    for span in spans:
        yield words(span["trace"]) or "", span


def has_observations(document: Json) -> bool:
    record = document[0] if isinstance(document, list) else document
    observed = record.get("observations")
    is_list = isinstance(observed, list) and (not observed or get(observed[0], "startTime") is not None)
    return is_list and ("id" in record or at(record, "trace.id") is not None)


FORMAT = Format(
    (
        (("id (or trace.id) and observations[].startTime", has_observations),),
        ("traceId | trace_id", "startTime | start_time", " | ".join(f"type={kind}" for kind in sorted(TYPES))),
        ("traceId | trace_id", "dataType | data_type", "name"),
        ("timestamp", "bookmarked", "sessionId | session_id | id"),
        ("data[].traceId", "data[].startTime", "data[].type", "data.0"),
    ),
    split=split,
    join=join,
)
