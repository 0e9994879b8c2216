"""Spans of OpenTelemetry with the semantic conventions of GenAI (1.40) or OpenInference (0.1): as OTLP JSON, from the
console exporter, or from Phoenix's interface; also attributes numbered by message (OpenLLMetry)."""

import re
from collections import defaultdict
from collections.abc import Iterator

from stepadv.importing.conversation import heard_of, text_of
from stepadv.importing.format import Format, Parts, Rollouts, Where
from stepadv.importing.spans import KINDS, Span, named, noted, rollout_of_trace
from stepadv.importing.values import Json, at, fields, first, given, listed, objects, time_of, unquoted, words

# Attributes that are not flattened.
WHOLE = re.compile(
    r"(gen_ai\.(input\.messages|output\.messages|system_instructions|tool\..*)|(input|output)\.value|tool\.parameters)"
)
CONTENTS = re.compile(r"(llm|gen_ai\.(input|output|prompt|completion|system_instructions)|input|output)(\.|$)")
SCORES = [
    re.compile(rf"(?:trace\.)?{kind}s\.([0-9]{{1,9}})\.{kind}\.(name|score|label)")
    for kind in ("evaluation", "annotation")
]
NUMBERED = re.compile(r"\.([0-9]{1,9})\.(?:message\.)?(.*)", re.DOTALL)
CALL = re.compile(r"tool_calls\.([0-9]{1,9})\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)")
BLOCK = re.compile(r"contents\.([0-9]{1,9})\.message_content\.(type|text)")
OPERATIONS = dict.fromkeys(("chat", "text_completion", "generate_content", "completion"), "llm")
OPERATIONS |= {"execute_tool": "tool", "retrieval": "tool"}
# Roles, and attributes of the input and of the output: current, earlier, numbered (OpenInference), plain values.
TOLD = ("user", "gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages", "input.value")
SAID = ("assistant", "gen_ai.output.messages", "gen_ai.completion", "llm.output_messages", "output.value")
ARGS = "gen_ai.tool.call.arguments tool_call.function.arguments tool.parameters input.value traceloop.entity.input"
RESULT = "gen_ai.tool.call.result output.value traceloop.entity.output"
OF_EVALUATION = {"name": "name", "value": "score.value", "label": "score.label"}


def value_of(value: Json) -> Json:
    """A value of OTLP JSON ({"stringValue": …})."""
    for key, found in fields(value).items():
        kind = key.replace("_value", "Value")
        if kind == "intValue":
            # OTLP JSON has 64-bit integers as strings.
            return int(found) if re.fullmatch(r"-?[0-9]{1,20}", words(found) or "") else None
        if kind == "arrayValue":
            return [value_of(v) for v in listed(at(found, "values"))]
        if kind == "kvlistValue":
            return by_key(at(found, "values"))
        if found is not None:
            return found
    return None


def by_key(pairs: Json) -> dict[str, Json]:
    return {words(e["key"]) or "": value_of(e.get("value")) for e in objects(pairs) if e.get("key") is not None}


def flatten(found: dict[str, Json], key: str, value: Json) -> None:
    if isinstance(value, (dict, list)) and not WHOLE.fullmatch(key):
        for part, item in value.items() if isinstance(value, dict) else enumerate(value):
            flatten(found, f"{key}.{part}" if key else str(part), item)
    else:
        found[key] = value


def attributes_of(attributes: Json) -> dict[str, Json]:
    """Attributes as one object of names with dots, from a list of keys and values, an object, or nested ones."""
    found: dict[str, Json] = {}
    for key, value in (by_key(attributes) if isinstance(attributes, list) else fields(attributes)).items():
        flatten(found, key, value)
    return found


def by_number(found: dict[str, Json], pattern: re.Pattern[str]) -> list[dict[str, Json]]:
    """The values whose names match: an object for each number, in order, by the rest of the name."""
    parts: dict[int, dict[str, Json]] = defaultdict(dict)
    for name, value in found.items():
        if match := pattern.fullmatch(name):
            parts[int(match[1])][match[2]] = value
    return [part for _, part in sorted(parts.items())]


def numbered(attributes: dict[str, Json], prefix: str) -> list[Json]:
    """Messages in numbered attributes: OpenInference's (<prefix>.0.message.content) and OpenLLMetry's
    (<prefix>.0.content)."""
    own = {key[len(prefix) :]: value for key, value in attributes.items() if key.startswith(prefix)}
    return [numbered_message(part) for part in by_number(own, NUMBERED)]


def numbered_message(part: dict[str, Json]) -> dict[str, Json]:
    texts = {name: words(value) for name, value in part.items()}
    # tool_calls has the calls, too.
    blocks = [block for block in by_number(texts, BLOCK) if block.get("type") != "tool_use"]
    keys = ("id", "name", "arguments")
    calls = [{"id": c.get("id"), "function": {key: c.get(key) for key in keys[1:]}} for c in by_number(texts, CALL)]
    members = {key: texts.get(key) for key in ("role", "tool_call_id")}
    return given({**members, "content": texts.get("content") or blocks or None, "tool_calls": calls or None})


def messages_of(records: list[dict[str, Json]], names: tuple[str, ...]) -> list[Json]:
    """The messages of a span, in its attributes or those of its events."""
    role, now, old, inference, value = names
    for name in (now, old):
        for record in records:
            if record.get(name) is not None:
                return noted(record[name], role)
    return numbered(records[0], inference) or numbered(records[0], old) or noted(records[0].get(value), role)


def kind_of(a: dict[str, Json], span_kind: Json) -> str:
    kind = KINDS.get(str(a.get("openinference.span.kind", span_kind)).upper())
    if kind is not None or "openinference.span.kind" in a:
        return kind or "other"
    found = {OPERATIONS.get(str(a.get(name))) for name in ("gen_ai.operation.name", "llm.request.type")}
    if "llm" in found:
        return "llm"
    return "tool" if "tool" in found or a.get("traceloop.span.kind") == "tool" else "other"


def scores_of(a: dict[str, Json], events: list[dict[str, Json]]) -> list[Json]:
    """The scores in events of evaluations, in OpenInference's numbered annotations and evaluations, and in reward,
    outcome, success and resolved as attributes or in metadata."""
    found = [{key: e.get(f"gen_ai.evaluation.{name}") for key, name in OF_EVALUATION.items()} for e in events]
    parts = [part for pattern in SCORES for part in by_number(a, pattern)]
    found += [{"name": p.get("name"), "value": p.get("score"), "label": p.get("label")} for p in parts]
    for name in ("reward", "outcome", "success", "resolved"):
        found.append({"name": name, "value": a[name] if a.get(name) is not None else a.get(f"metadata.{name}")})
    told = [given(s) for s in found if s.get("name") is not None]
    return [s for s in told if "value" in s or "label" in s]


def id_of(value: Json) -> str | None:
    return (words(value) or "").removeprefix("0x") or None


def span_of(raw: dict[str, Json], resource: dict[str, Json]) -> Span:
    a = attributes_of(raw.get("attributes"))
    meta = unquoted(a.get("metadata"))
    if isinstance(meta, dict):
        a |= attributes_of({"metadata": meta})
    events = [attributes_of(e.get("attributes")) for e in objects(raw.get("events"))]
    kind, both = kind_of(a, raw.get("span_kind")), resource | a
    status = words(first(raw, "status.code status.status_code status_code"))
    said = first(raw, "status.message status.description status_message")
    said = said or next((e["exception.message"] for e in events if e.get("exception.message")), None)
    name = words(raw.get("name"))
    if kind == "tool":
        name = named(a, "tool").get("tool") or (name or "").removeprefix("execute_tool ") or None
    span = {
        "trace": id_of(first(raw, "traceId context.trace_id trace_id")),
        "span": id_of(first(raw, "spanId context.span_id span_id")),
        "parent": id_of(first(raw, "parentSpanId parent_span_id parent_id")),
        "name": name,
        "kind": kind,
        "started_at": time_of(first(raw, "startTimeUnixNano start_time_unix_nano start_time")),
        "ended_at": time_of(first(raw, "endTimeUnixNano end_time_unix_nano end_time")),
        "failed": str(status).upper() in ("2", "ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR"),
        "message": words(said) or None,
        **named(a, "agent"),
        **named(both, "task", "session"),
        "asked": a.get("input.value") if isinstance(a.get("input.value"), str) else None,
        "scores": scores_of(a, events),
        "about": named(both, "run_id", "policy_version", "policy_step"),
        "more": {"attributes": {k: v for k, v in both.items() if not CONTENTS.match(k)}},
    }
    if kind == "llm":
        told = text_of(unquoted(a.get("gen_ai.system_instructions")))
        span |= named(a, "model", "input_tokens", "output_tokens") | heard_of(messages_of([a, *events], TOLD))
        return span | {"said": messages_of([a, *events], SAID)} | ({} if told is None else {"system": told})
    is_tool = kind == "tool"
    named_so = (ARGS, RESULT) if is_tool else ("input.value", "output.value")
    args, text = (next((a[n] for n in names.split() if a.get(n) is not None), None) for names in named_so)
    id = named(a, "call_id").get("call_id") if is_tool else None
    return span | {"call": {"id": id, "args": args, "text": words(text)}}


def raw_spans(document: Json) -> Iterator[tuple[dict[str, Json], Json]]:
    """Each span, and the attributes of its resource."""
    parts = document if isinstance(document, list) else at(document, "data")
    for part in objects(parts if isinstance(parts, list) else [document]):
        # Copilot's CLI writes each batch as a document.
        batches = [part] if "scopeSpans" in part else first(part, "resourceSpans resource_spans")
        if batches is None:
            yield part, at(part, "resource.attributes")
        for batch in objects(batches):
            for scope in objects(first(batch, "scopeSpans scope_spans")):
                for span in objects(scope.get("spans")):
                    yield span, at(batch, "resource.attributes")


def split(document: Json, where: Where) -> Parts:
    for raw, resource in raw_spans(document):
        if first(raw, "traceId trace_id context.trace_id") is not None:
            span = span_of(raw, attributes_of(resource))
            yield span["trace"] or "", span


def join(spans: list[Span], where: Where) -> Rollouts:
    yield rollout_of_trace(spans, where)


HAS = (
    "resourceSpans[] | resource_spans[] | scopeSpans[] || context.trace_id & context.span_id"
    " || data[].context.trace_id & data[].context.span_id"
)
FORMAT = Format(HAS, split=split, join=join)
