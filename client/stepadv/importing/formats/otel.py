"""Spans of OpenTelemetry, by the semantic conventions of GenAI (1.40) or OpenInference (0.1): OTLP JSON, the console
exporter's, Phoenix's interface and lines of its data frames; attributes numbered message by message (OpenLLMetry)."""

import re
from collections import defaultdict
from collections.abc import Iterator

from stepadv.importing.conversation import news, system_of, text_of
from stepadv.importing.format import Bad, Format, Rollout, Where
from stepadv.importing.spans import KINDS, Span, named, noted, rollout_of_trace, times
from stepadv.importing.values import Json, at, fields, first, given, instant, listed, objects, unquoted, words

# Messages of GenAI stay as they are.
WHOLE = re.compile(
    r"(gen_ai\.(input\.messages|output\.messages|system_instructions|tool\..*)|(input|output)\.value|tool\.parameters)"
)
CONTENTS = re.compile(r"(llm|gen_ai\.(input|output|prompt|completion|system_instructions)|input|output)(\.|$)")
SCORE = re.compile(
    r"((?:trace\.)?(?:evaluations|annotations)\.[0-9]{1,9})\.(?:evaluation|annotation)\.(name|score|label)"
)
EVAL = re.compile(r"eval\.(.+)\.(score|label)")
NUMBERED = re.compile(r"\.([0-9]{1,9})\.(?:message\.)?(.*)", re.DOTALL)
CALL = re.compile(r"tool_calls\.([0-9]{1,9})\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)")
BLOCK = re.compile(r"contents\.([0-9]{1,9})\.message_content\.(type|text)")
OPERATIONS = dict.fromkeys(("chat", "text_completion", "generate_content", "completion"), "llm")
OPERATIONS |= {"execute_tool": "tool", "retrieval": "tool"}
# Names of the conventions, now and before: of what was told, and of what was answered.
TOLD = ("user", "gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages", "input.value")
SAID = ("assistant", "gen_ai.output.messages", "gen_ai.completion", "llm.output_messages", "output.value")
ARGS = (
    "gen_ai.tool.call.arguments tool_call.function.arguments tool.parameters input.value traceloop.entity.input"
    " gen_ai.retrieval.query.text"
)
RESULT = "gen_ai.tool.call.result output.value traceloop.entity.output gen_ai.retrieval.documents"


def value_of(value: Json) -> Json:
    """A value of OTLP JSON ({"stringValue": …})."""
    for key, found in fields(value).items():
        kind = key.replace("_value", "Value")
        if kind == "intValue":
            # 64 bits are a string in JSON.
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
    """As one object of names with dots, whether they are a list of keys and values, an object, or one in the other."""
    found: dict[str, Json] = {}
    for key, value in (by_key(attributes) if isinstance(attributes, list) else fields(attributes)).items():
        flatten(found, key, value)
    return found


# ----------
# Messages
# ----------


def by_number(found: dict[str, Json], pattern: re.Pattern[str]) -> list[dict[str, Json]]:
    """Values whose names match, by their number and the rest of the name."""
    parts: dict[int, dict[str, Json]] = defaultdict(dict)
    for name, value in found.items():
        if match := pattern.fullmatch(name):
            parts[int(match[1])][match[2]] = value
    return [part for _, part in sorted(parts.items())]


def numbered(attributes: dict[str, Json], prefix: str) -> list[Json]:
    """Messages spread over attributes, number by number: OpenInference's (<prefix>.0.message.content) and
    OpenLLMetry's (<prefix>.0.content)."""
    own = {key[len(prefix) :]: value for key, value in attributes.items() if key.startswith(prefix)}
    return [numbered_message(part) for part in by_number(own, NUMBERED)]


def numbered_message(part: dict[str, Json]) -> dict[str, Json]:
    texts = {name: words(value) for name, value in part.items()}
    # Calls stand beside, too.
    blocks = [block for block in by_number(texts, BLOCK) if block.get("type") != "tool_use"]
    keys = ("id", "name", "arguments")
    calls = [{"id": c.get("id"), "function": {key: c.get(key) for key in keys[1:]}} for c in by_number(texts, CALL)]
    name = texts.get("function_call_name") or texts.get("function_call.name")
    args = texts.get("function_call_arguments_json") or texts.get("function_call.arguments")
    if name and not calls:
        calls = [{"function": {"name": name, "arguments": args}}]
    about = {key: texts.get(key) for key in ("role", "tool_call_id")}
    return given({**about, "content": texts.get("content") or blocks or None, "tool_calls": calls or None})


def messages_of(records: list[dict[str, Json]], names: tuple[str, ...]) -> list[Json]:
    """Of the span or of its events."""
    role, now, old, inference, value = names
    for name in (now, old):
        for record in records:
            if record.get(name) is not None:
                return noted(record[name], role)
    return numbered(records[0], inference) or numbered(records[0], old) or noted(records[0].get(value), role)


# ----------
# Spans
# ----------


def kind_of(a: dict[str, Json], span_kind: Json) -> str:
    own = a.get("openinference.span.kind")
    kind = KINDS.get(str(span_kind if own is None else own).upper())
    if kind is not None or own is not None:
        return kind or "other"
    found = {OPERATIONS.get(str(a.get(name))) for name in ("gen_ai.operation.name", "llm.request.type")}
    if "llm" in found:
        return "llm"
    if "tool" in found or a.get("traceloop.span.kind") == "tool":
        return "tool"
    return KINDS.get(str(a.get("langfuse.observation.type")).upper(), "other")


def scores_of(a: dict[str, Json], events: list[dict[str, Json]]) -> list[Json]:
    """Events of evaluations, OpenInference's numbered annotations and evaluations, eval.<name>.score of Phoenix's data
    frames; reward, outcome, success and resolved by themselves or in metadata."""
    names = {"name": "name", "value": "score.value", "label": "score.label"}
    found = [{key: e.get(f"gen_ai.evaluation.{name}") for key, name in names.items()} for e in events]
    by_place: dict[str, dict[str, Json]] = {}
    for name in sorted(a):
        if match := SCORE.fullmatch(name) or EVAL.fullmatch(name):
            about = by_place.setdefault(match[1], {"name": match[1]})
            about["value" if match[2] == "score" else match[2]] = a[name]
    found += by_place.values()
    for name in ("reward", "outcome", "success", "resolved"):
        found.append({"name": name, "value": a[name] if a.get(name) is not None else a.get(f"metadata.{name}")})
    told = [given(s) for s in found if s.get("name") is not None]
    return [s for s in told if "value" in s or "label" in s]


def id_of(value: Json) -> str | None:
    return (words(value) or "").removeprefix("0x") or None


def first_of(raw: dict[str, Json], paths: str) -> Json:
    """Of keys that may have dots in them."""
    values = (raw[path] if raw.get(path) is not None else at(raw, path) for path in paths.split())
    return next((value for value in values if value is not None), None)


def span_of(
    raw: dict[str, Json], a: dict[str, Json], resource: dict[str, Json], events: list[dict[str, Json]]
) -> Span:
    kind = kind_of(a, first_of(raw, "span_kind attributes.openinference.span.kind"))
    status = words(first_of(raw, "status.code status.status_code status_code"))
    said = first_of(raw, "status.message status.description status_message")
    said = said or next((e["exception.message"] for e in events if e.get("exception.message")), None)
    both = resource | a
    name = words(raw.get("name"))
    if kind == "tool":
        name = named(a, "tool").get("tool") or (name or "").removeprefix("execute_tool ") or None
    span = {
        "trace": id_of(first_of(raw, "traceId context.trace_id trace_id")),
        "span": id_of(first_of(raw, "spanId context.span_id span_id")),
        "parent": id_of(first_of(raw, "parentSpanId parent_span_id parent_id")),
        "name": name,
        "kind": kind,
        **times(
            instant(first_of(raw, "startTimeUnixNano start_time_unix_nano start_time")),
            instant(first_of(raw, "endTimeUnixNano end_time_unix_nano end_time")),
        ),
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
        heard = messages_of([a, *events], TOLD)
        told = text_of(unquoted(a.get("gen_ai.system_instructions")))
        span |= named(a, "model", "input_tokens", "output_tokens")
        span |= {"heard": news(heard), "said": messages_of([a, *events], SAID)}
        return span | {"system": system_of(heard) if told is None else told}
    is_tool = kind == "tool"
    args, text = first_of(a, ARGS if is_tool else "input.value"), first_of(a, RESULT if is_tool else "output.value")
    return span | {
        "call": {"id": named(a, "call_id").get("call_id") if is_tool else None, "args": args, "text": words(text)}
    }


def raw_spans(document: Json) -> Iterator[tuple[dict[str, Json], Json]]:
    """Each span, and the attributes of its resource."""
    parts = document if isinstance(document, list) else at(document, "data")
    for part in objects(parts if isinstance(parts, list) else [document]):
        batches = part.get("resourceSpans", part.get("resource_spans"))
        if batches is None:
            yield part, at(part, "resource.attributes")
        for batch in objects(batches):
            for scope in objects(first(batch, "scopeSpans scope_spans instrumentationLibrarySpans")):
                for span in objects(scope.get("spans")):
                    yield span, at(batch, "resource.attributes")


def split(document: Json, where: Where) -> Iterator[tuple[str, Span]]:
    n = 0
    for raw, resource in raw_spans(document):
        if first_of(raw, "traceId trace_id context.trace_id") is None and "context" not in raw:
            continue
        found = raw.get("attributes")
        if found is None:
            # Of a data frame's columns each is an attribute by itself.
            own = {k: v for k, v in raw.items() if k.startswith(("attributes.", "eval.")) and v is not None}
            found = {k.removeprefix("attributes."): v for k, v in own.items()}
        a = attributes_of(found)
        meta = unquoted(a.get("metadata"))
        if isinstance(meta, dict):
            a |= attributes_of({"metadata": meta})
        events = [attributes_of(e.get("attributes")) for e in objects(raw.get("events"))]
        span = span_of(raw, a, attributes_of(resource), events)
        n += 1
        yield span["trace"] or "", span
    if n == 0:
        raise Bad("there is no span in the document")


def join(spans: list[Span], where: Where) -> Iterator[Rollout]:
    yield rollout_of_trace(spans, where)


def has_context(document: Json) -> bool:
    found = document[:1] if isinstance(document, list) else listed(at(document, "data")) or [document]
    return any(first_of(s, "context.trace_id") and first_of(s, "context.span_id") for s in objects(found))


FORMAT = Format(
    (("resourceSpans[] | resource_spans[]",), (("context.trace_id and context.span_id", has_context),)),
    split=split,
    join=join,
)
