"""Items of the OpenAI Responses interface: lines of NeMo Gym's rollouts, a response alone, a list of items (sessions
of the OpenAI Agents SDK), results of the Agents SDK (new_items, each with its raw_item)."""

from collections.abc import Iterator

from stepadv.importing.conversation import Conversation, join, text_of
from stepadv.importing.format import TRIALS, Format, Rollout, Where, about, pick, rollout_of
from stepadv.importing.values import Json, at, digest, fields, first, given, listed, objects, path_of, words

RUN_ITEMS = "new_items newItems generated_items generatedItems"
OWN = ("call", "hosted", "say", "think")
KINDS = {"function_call": "call", "custom_tool_call": "call", "reasoning": "think"}
ROLES = {"assistant": "say", "system": "system", "developer": "system"}
# Tools that the provider or the scaffold runs have items of their own (mcp_call, local_shell_call, …): what was called
# with what, and what came back where the item says it.
HOSTED = {"id": "call_id id", "args": "arguments input action operation", "text": "output error outputs results"}


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
        response = document.get("response", document)
        told = at(document, "responses_create_params.input") or document.get("input")
    return response, [{"role": "user", "content": told}] if isinstance(told, str) else listed(told), is_list


def hosted_call(item: dict[str, Json]) -> dict[str, Json]:
    more = given({"queries": item.get("queries"), "code": item.get("code")})
    found = ({"args": more} if more else {}) | pick(HOSTED, item)
    return found | {"tool": item.get("name") or item["type"].removesuffix("_call")}


def kind_of(item: Json) -> str:
    kind = words(at(item, "type")) or "message"
    if kind == "message":
        return ROLES.get(words(at(item, "role")) or "", "see")
    if kind.endswith("_call_output"):
        return "result"
    is_hosted = kind not in KINDS and kind.endswith("_call") and hosted_call(item).keys() & {"args", "text"}
    return "hosted" if is_hosted else KINDS.get(kind, "other")


def hear_item(talk: Conversation, item: dict[str, Json], kind: str) -> None:
    if kind == "call":
        args = item["arguments"] if "arguments" in item else item.get("input")
        talk.call(item.get("name"), args, item.get("call_id"))
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
    else:
        (talk.say if kind == "say" else talk.see)(text_of(at(item, "content")))


def hear_items(told: list[Json], output: list[Json]) -> tuple[Conversation, str | None]:
    """What went before in the input is not this rollout's doing: only what came after the last of it is what the first
    step sees.  Beside it, what the system said."""
    talk = Conversation()
    system = []
    last = max((i for i, item in enumerate(told) if kind_of(item) in OWN), default=-1)
    for i, item in enumerate([*told, *output]):
        kind = kind_of(item)
        if kind == "other":
            talk.drop(f"items of type {words(at(item, 'type'))}"[:100])
        elif kind == "system":
            talk.drop("system messages")
            system.append(text_of(at(item, "content")))
        elif i <= last:
            talk.drop("earlier turns in the input")
        else:
            hear_item(talk, item, kind)
    return talk, join(system)


TABLE = {
    "truncated": "^status~^incomplete$",
    "meta.response_id": "^id",
    "meta.usage": "^usage",
}


def read(document: Json, where: Where) -> Iterator[Rollout]:
    response, told, is_list = parts_of(document)
    record, output = fields(document), at(response, "output")
    if not isinstance(output, list):
        yield {"problem": "there is no list output of a response"}
        return
    params = fields(record.get("responses_create_params")) or record
    environment = at(record, "agent_ref.name") or (None if is_list else where.base)
    number = words(first(record, "_ng_task_index task_index"))
    task = words(record.get("instance_id") or at(params, "metadata.instance_id") or record.get("task_id"))
    task = task or (None if number is None else f"task{number}")
    group, trial = path_of(environment, task or digest(told)), words(first(record, TRIALS))
    own = words(record.get("rollout_id") or at(response, "id")) or digest(output)
    talk, system = hear_items(told, output)
    # What an export begins the conversation with.
    begins = join((text_of(params.get("instructions")), system)) or None
    model = {"model": at(response, "model") or params.get("model") or None}
    names = {"group_id": group, "rollout_id": own if trial is None else f"{group}-{trial}"}
    more = {"environment": environment, "system_prompt": begins}
    found = rollout_of(where, params, TABLE, talk, response, meta=more, **model | about(record) | names)
    asked, steps = words(at(params, "metadata.problem_statement")), found["steps"]
    for step in steps:
        if asked is not None and step["turn"] == steps[0]["turn"] and step.get("observation") is None:
            step["observation"] = asked
    yield found


def has_items(document: Json) -> bool:
    return any(
        "raw_item" in item
        or "rawItem" in item
        or item.get("type") in ("function_call", "function_call_output")
        or any(part.get("type") == "output_text" for part in objects(item.get("content")))
        for item in objects(document)
    )


def has_run_items(document: Json) -> bool:
    items = objects(first(document, RUN_ITEMS)) if isinstance(document, dict) else []
    return any("raw_item" in item or "rawItem" in item for item in items)


ITEMS = "a list of items like function_call, function_call_output, message or raw_item"
FORMAT = Format(
    (
        ("output[]", "output[].type"),
        ("response.output[]",),
        ((ITEMS, lambda d: isinstance(d, list) and has_items(d)),),
        (("new_items[].raw_item", has_run_items),),
    ),
    read,
)
