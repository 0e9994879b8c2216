"""Spans of OpenTelemetry, by the semantic conventions of GenAI (1.40) or OpenInference (0.1): OTLP JSON, the console
exporter's, Phoenix's interface and lines of its data frames; attributes numbered message by message (OpenLLMetry), too.

    {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [
        {"traceId": "t", "spanId": "s", "name": "chat m", "startTimeUnixNano": "1", "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]}]}]}]}
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from stepadv.importing.conversation import text_of
from stepadv.importing.format import Bad, Format, Rollout, Where
from stepadv.importing.spans import KINDS, Span, named, news, noted, rollout_of_trace, system_of, times
from stepadv.importing.values import Json, at, fields, first, given, instant, listed, objects, unquoted, words

# Messages of GenAI stay as they are.
WHOLE = re.compile(r"(gen_ai\.(input\.messages|output\.messages|system_instructions|tool\..*)|(input|output)\.value|tool\.parameters)")
CONTENTS = re.compile(r"(llm|gen_ai\.(input|output|prompt|completion|system_instructions)|input|output)(\.|$)")
SCORE = re.compile(r"((?:trace\.)?(?:evaluations|annotations)\.[0-9]{1,9})\.(?:evaluation|annotation)\.(name|score|label)")
EVAL = re.compile(r"eval\.(.+)\.(score|label)")
CALL = re.compile(r"tool_calls\.([0-9]{1,9})\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)")
BLOCK = re.compile(r"contents\.([0-9]{1,9})\.message_content\.(type|text)")
OPERATIONS = {"chat": "llm", "text_completion": "llm", "generate_content": "llm", "execute_tool": "tool", "retrieval": "tool",
              "completion": "llm"}  # fmt: skip


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


def numbered(attributes: dict[str, Json], prefix: str) -> list[Json]:
    """Messages spread over attributes, number by number: OpenInference's (<prefix>.0.message.content) and OpenLLMetry's
    (<prefix>.0.content)."""
    parts: dict[int, dict[str, Json]] = defaultdict(dict)
    for key, value in attributes.items():
        found = re.fullmatch(r"\.([0-9]{1,9})\.(?:message\.)?(.*)", key[len(prefix) :], re.DOTALL) if key.startswith(prefix) else None
        if found:
            parts[int(found[1])][found[2]] = value
    return [numbered_message(part) for _, part in sorted(parts.items())]


def numbered_message(part: dict[str, Json]) -> dict[str, Json]:
    calls: dict[int, dict[str, Json]] = defaultdict(dict)
    blocks: dict[int, dict[str, Json]] = defaultdict(dict)
    for name, value in part.items():
        for pattern, found in ((CALL, calls), (BLOCK, blocks)):
            if match := pattern.fullmatch(name):
                found[int(match[1])][match[2]] = words(value)
    # Calls stand beside, too.
    content = words(part.get("content")) or [b for _, b in sorted(blocks.items()) if b.get("type") != "tool_use"] or None
    tool_calls = [{"id": c.get("id"), "function": {"name": c.get("name"), "arguments": c.get("arguments")}}
                  for _, c in sorted(calls.items())]  # fmt: skip
    if name := words(part.get("function_call_name") or part.get("function_call.name")):
        args = words(part.get("function_call_arguments_json") or part.get("function_call.arguments"))
        tool_calls = tool_calls or [{"function": {"name": name, "arguments": args}}]
    about = {key: words(part.get(key)) for key in ("role", "tool_call_id")}
    return given({**about, "content": content, "tool_calls": tool_calls or None})


def messages_of(records: list[dict[str, Json]], is_told: bool) -> list[Json]:
    """By the names of the conventions, old and new, of the span or of its events."""
    role, now, old, inference, value = (
        ("user", "gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages", "input.value")
        if is_told
        else ("assistant", "gen_ai.output.messages", "gen_ai.completion", "llm.output_messages", "output.value")
    )
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
    key = "gen_ai.evaluation."
    found = [{"name": e[f"{key}name"], "value": e.get(f"{key}score.value"), "label": e.get(f"{key}score.label")}
             for e in events if f"{key}name" in e]  # fmt: skip
    by_place: dict[str, dict[str, Json]] = {}
    for name in sorted(a):
        if match := SCORE.fullmatch(name) or EVAL.fullmatch(name):
            about = by_place.setdefault(match[1], {"name": match[1]})
            about["value" if match[2] == "score" else match[2]] = a[name]
    found += by_place.values()
    for name in ("reward", "outcome", "success", "resolved"):
        found.append({"name": name, "value": a[name] if a.get(name) is not None else a.get(f"metadata.{name}")})
    return [given(s) for s in found if s.get("name") is not None and (s.get("value") is not None or s.get("label") is not None)]


def id_of(value: Json) -> str | None:
    return (words(value) or "").removeprefix("0x") or None


def first_of(raw: dict[str, Json], *paths: str) -> Json:
    """Of keys that may have dots in them."""
    values = (raw[path] if raw.get(path) is not None else at(raw, path) for path in paths)
    return next((value for value in values if value is not None), None)


def span_of(raw: dict[str, Json], a: dict[str, Json], resource: dict[str, Json], events: list[dict[str, Json]]) -> Span:
    kind = kind_of(a, first_of(raw, "span_kind", "attributes.openinference.span.kind"))
    status = words(first_of(raw, "status.code", "status.status_code", "status_code"))
    said = first_of(raw, "status.message", "status.description", "status_message")
    said = said or next((e["exception.message"] for e in events if e.get("exception.message")), None)
    both = resource | a
    name = words(raw.get("name"))
    if kind == "tool":
        name = named(a, "tool").get("tool") or (name or "").removeprefix("execute_tool ") or None
    span = {
        "trace": id_of(first_of(raw, "traceId", "context.trace_id", "trace_id")),
        "span": id_of(first_of(raw, "spanId", "context.span_id", "span_id")),
        "parent": id_of(first_of(raw, "parentSpanId", "parent_span_id", "parent_id")),
        "name": name,
        "kind": kind,
        **times(
            instant(first_of(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time")),
            instant(first_of(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time")),
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
        heard = messages_of([a, *events], True)
        told = text_of(unquoted(a.get("gen_ai.system_instructions")))
        span |= named(a, "model", "input_tokens", "output_tokens")
        span |= {"heard": news(heard), "said": messages_of([a, *events], False), "system": system_of(heard) if told is None else told}
    elif kind == "tool":
        args = first_of(a, "gen_ai.tool.call.arguments", "tool_call.function.arguments", "tool.parameters", "input.value",
                        "traceloop.entity.input", "gen_ai.retrieval.query.text")  # fmt: skip
        text = first_of(a, "gen_ai.tool.call.result", "output.value", "traceloop.entity.output", "gen_ai.retrieval.documents")
        span["call"] = {"id": named(a, "call_id").get("call_id"), "args": args, "text": words(text)}
    else:
        span["call"] = {"args": a.get("input.value"), "text": words(a.get("output.value"))}
    return span


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
        if first_of(raw, "traceId", "trace_id", "context.trace_id") is None and "context" not in raw:
            continue
        found = raw.get("attributes")
        if found is None:
            # Of a data frame's columns each is an attribute by itself.
            found = {k.removeprefix("attributes."): v for k, v in raw.items() if k.startswith(("attributes.", "eval.")) and v is not None}
        a = attributes_of(found)
        meta = unquoted(a.get("metadata"))
        if isinstance(meta, dict):
            a |= attributes_of({"metadata": meta})
        span = span_of(raw, a, attributes_of(resource), [attributes_of(e.get("attributes")) for e in objects(raw.get("events"))])
        n += 1
        yield span["trace"] or "", span
    if n == 0:
        raise Bad("there is no span in the document")


def join(spans: list[Span], where: Where) -> Iterator[Rollout]:
    yield rollout_of_trace(spans, where)


def has_context(document: Json) -> bool:
    found = document[:1] if isinstance(document, list) else listed(at(document, "data")) or [document]
    return any(first_of(fields(s), "context.trace_id") is not None and first_of(s, "context.span_id") is not None for s in objects(found))


FORMAT = Format(
    (("resourceSpans[] | resource_spans[]",), (("context.trace_id and context.span_id", has_context),)),
    split=split,
    join=join,
    has_lists=True,
)
