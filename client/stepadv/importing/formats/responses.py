"""Items of the OpenAI Responses interface: lines of NeMo Gym's rollouts, a response alone, a list of items (sessions of
the OpenAI Agents SDK), results of the Agents SDK (new_items, each with its raw_item).

    {"reward": 1, "responses_create_params": {"input": [{"role": "user", "content": "Go."}]}, "response": {"output": [
        {"type": "function_call", "call_id": "c1", "name": "go", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "gone"}]}}
"""

from collections.abc import Iterator

from stepadv.importing.conversation import Conversation, join, text_of
from stepadv.importing.format import TRIALS, Format, Rollout, Where, about, metadata, pick
from stepadv.importing.formats.openai_chat import has_items
from stepadv.importing.values import Json, at, digest, fields, first, given, listed, objects, path_of, words

RUN_ITEMS = "new_items newItems generated_items generatedItems"
OWN = ("call", "hosted", "say", "think")


def item_of(run_item: Json) -> Json:
    """The item in one of the Agents SDK."""
    raw = first(run_item, "raw_item rawItem")
    if not isinstance(raw, dict):
        return run_item
    return ({"output": run_item["output"]} if "output" in run_item else {}) | raw


def parts_of(document: Json) -> tuple[Json, list[Json], bool]:
    """The response, its input, and whether there are items alone, without a response."""
    items = document if isinstance(document, list) else first(document, RUN_ITEMS)
    is_list = isinstance(items, list)
    if is_list:
        items = [item_of(i) for i in items]
        told = first(document, "input original_input originalInput") if isinstance(document, dict) else None
        if told is None:
            # What comes before the model's first item is input.
            begin = next((i for i, x in enumerate(items) if at(x, "role") in (None, "assistant")), len(items))
            told, items = items[:begin], items[begin:]
        response: Json = {"output": items}
    else:
        response = document["response"] if "response" in document else document
        told = at(document, "responses_create_params.input") or document.get("input")
    if isinstance(told, str):
        told = [{"role": "user", "content": told}]
    return response, listed(told), is_list


def hosted_call(item: dict[str, Json]) -> dict[str, Json]:
    """Tools that the provider or the scaffold runs have items of their own (mcp_call, local_shell_call, …): what was
    called with what, and what came back where the item says it."""
    table = {"id": "call_id id", "args": "arguments input action operation", "text": "output error outputs results"}
    more = given({"queries": item.get("queries"), "code": item.get("code")})
    found = ({"args": more} if more else {}) | pick(table, item)
    return found | {"tool": item.get("name") or item["type"].removesuffix("_call")}


def kind_of(item: Json) -> str:
    kind, role = words(at(item, "type")) or "message", at(item, "role")
    if kind == "message":
        return "say" if role == "assistant" else "system" if role in ("system", "developer") else "see"
    if kind in ("function_call", "custom_tool_call"):
        return "call"
    if kind.endswith("_call_output"):
        return "result"
    if kind.endswith("_call") and hosted_call(item).keys() & {"args", "text"}:
        return "hosted"
    return "think" if kind == "reasoning" else "other"


def hear_item(talk: Conversation, item: dict[str, Json], kind: str) -> None:
    if kind == "call":
        talk.call(item.get("name"), item["arguments"] if "arguments" in item else item.get("input"), item.get("call_id"))
    elif kind == "hosted":
        call = hosted_call(item)
        talk.call(call["tool"], call.get("args"), call.get("id"))
        # Items that say what came back do so where the call stands.
        if "text" in call:
            failed = item.get("error") is not None or item.get("status") == "failed"
            talk.result(text_of(call["text"]), call.get("id"), False if failed else None)
    elif kind == "result":
        talk.result(text_of(item.get("output")), item.get("call_id"))
    elif kind == "think":
        talk.think(text_of(item.get("content")) or text_of(item.get("summary")) or None)
    elif kind == "say":
        talk.say(text_of(item.get("content")))
    else:
        talk.see(text_of(at(item, "content")))


def hear(told: list[Json], output: list[Json]) -> tuple[Conversation, str | None]:
    """What went before in the input is not this rollout's doing: only what came after the last of it is what the first
    step sees.  Beside it, what the system said."""
    talk = Conversation()
    system = []
    last = max((i for i, item in enumerate(told) if kind_of(item) in OWN), default=-1)
    for i, item in enumerate([*told, *output]):
        kind = kind_of(item)
        if kind == "other":
            talk.drop(f"items of type {at(item, 'type')}"[:100])
        elif kind == "system":
            talk.drop("system messages")
            system.append(text_of(at(item, "content")))
        elif i <= last:
            talk.drop("earlier turns in the input")
        else:
            hear_item(talk, item, kind)
    return talk, join(system)


def read(document: Json, where: Where) -> Iterator[Rollout]:
    response, told, is_list = parts_of(document)
    record = fields(document)
    output = at(response, "output")
    if not isinstance(output, list):
        yield {"problem": "there is no list output of a response"}
        return
    params = fields(record.get("responses_create_params")) or record
    environment = at(record, "agent_ref.name") or (None if is_list else where.base)
    number = words(first(record, "_ng_task_index task_index"))
    task = words(record.get("instance_id") or at(params, "metadata.instance_id") or record.get("task_id"))
    task = task or (None if number is None else f"task{number}")
    group = path_of(environment, task or digest(told))
    talk, system = hear(told, output)
    made = talk.about()
    asked = words(at(params, "metadata.problem_statement"))
    begins = made["steps"][:1]
    for step in made["steps"]:
        if asked is not None and step["turn"] == begins[0]["turn"] and step.get("observation") is None:
            step["observation"] = asked
    trial = words(first(record, TRIALS))
    yield {
        **given({
            "model": at(response, "model") or params.get("model") or None,
            "truncated": True if at(response, "status") == "incomplete" else None,
        }),
        **about(record),
        "group_id": group,
        "rollout_id": (f"{group}-{trial}" if trial is not None else None)
        or words(record.get("rollout_id") or at(response, "id"))
        or digest(output),
        "meta": metadata(
            where,
            response_id=at(response, "id"),
            environment=environment,
            usage=at(response, "usage"),
            # What an export begins the conversation with.
            system_prompt=join((text_of(params.get("instructions")), system)) or None,
        ),
        **made,
    }


def has_run_items(document: Json) -> bool:
    items = objects(first(document, RUN_ITEMS)) if isinstance(document, dict) else []
    return any("raw_item" in item or "rawItem" in item for item in items)


FORMAT = Format(
    (
        ("output[]", "output[].type"),
        ("response.output[]",),
        (("a list of items like function_call, function_call_output, message or raw_item", lambda d: isinstance(d, list) and has_items(d)),),
        (("new_items[].raw_item", has_run_items),),
    ),
    read,
)
