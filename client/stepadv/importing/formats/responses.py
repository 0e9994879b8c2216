"""Items of the OpenAI Responses interface: NeMo Gym's rollouts, single responses, results and states of runs of the
OpenAI Agents SDK for Python (new_items or generated_items, each with its raw_item)."""

from stepadv.importing.conversation import Conversation, join, text_of
from stepadv.importing.format import TRIALS, Bad, Format, Rollouts, Where, about, pick, rollout_of
from stepadv.importing.values import Json, at, digest, fields, first, given, listed, objects, path_of, words

RUN_ITEMS = "new_items generated_items"
OWN = ("call", "say", "think")
ROLES = {"assistant": "say", "system": "system", "developer": "system"}
# Tools that the provider or the scaffold runs have items of their own (mcp_call, local_shell_call, …), with the
# arguments and, in some, the result.
OF_CALL = {"id": "call_id id", "args": "arguments input action operation", "text": "output error outputs results"}


def parts_of(document: dict[str, Json]) -> tuple[Json, list[Json]]:
    run_items = first(document, RUN_ITEMS)
    if isinstance(run_items, list):
        items = [given({"output": i.get("output")}) | fields(i.get("raw_item")) for i in objects(run_items)]
        response, told = {"output": items}, first(document, "input original_input")
    else:
        response = document.get("response", document)
        # Aviary's agent repeats all earlier items after each turn.
        last = at(response, "output.-1")
        if isinstance(last, list):
            if any(turn != last[: len(turn)] for turn in response["output"]):
                raise Bad("output is a list of lists, and the last does not begin with the others")
            response = response | {"output": last}
        told = at(document, "responses_create_params.input") or document.get("input")
    return response, [{"role": "user", "content": told}] if isinstance(told, str) else listed(told)


def call_of(item: dict[str, Json]) -> dict[str, Json]:
    more = given({"queries": item.get("queries"), "code": item.get("code")})
    found = ({"args": more} if more else {}) | pick(OF_CALL, item)
    return found | {"tool": item.get("name") or item["type"].removesuffix("_call")}


def kind_of(item: Json) -> str:
    kind = words(at(item, "type")) or "message"
    if kind == "message":
        return ROLES.get(words(at(item, "role")) or "", "see")
    if kind.endswith("_call_output"):
        return "result"
    if kind.endswith("_call") and (item.get("name") is not None or call_of(item).keys() & {"args", "text"}):
        return "call"
    return "think" if kind == "reasoning" else "other"


def hear_item(talk: Conversation, item: dict[str, Json], kind: str) -> None:
    if kind == "call":
        call = call_of(item)
        talk.call(call["tool"], call.get("args"), call.get("id"))
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


def hear_items(told: list[Json], output: list[Json]) -> tuple[Conversation, str | None]:
    """The conversation and the system prompt.  Turns in the input are not this rollout's: the first step observes only
    what came after the last of them."""
    talk = Conversation()
    system = []
    last = max((i for i, item in enumerate(told) if kind_of(item) in OWN), default=-1)
    for i, item in enumerate([*told, *output]):
        kind = kind_of(item)
        if kind == "other":
            talk.dropped[f"items of type {words(at(item, 'type'))}"[:100]] += 1
        elif kind == "system":
            talk.dropped["system messages"] += 1
            system.append(text_of(at(item, "content")))
        elif i <= last:
            talk.dropped["earlier turns in the input"] += 1
        else:
            hear_item(talk, item, kind)
    return talk, join(system)


TABLE = {"truncated": "^status~^incomplete$", "meta.response_id": "^id", "meta.usage": "^usage"}


def read(document: dict[str, Json], where: Where) -> Rollouts:
    response, told = parts_of(document)
    output = response["output"]
    params = fields(document.get("responses_create_params")) or document
    is_run = first(document, RUN_ITEMS) is not None
    named = at(document, "agent_ref.name")
    environment = named or (None if is_run else where.base)
    number = words(first(document, "_ng_task_index task_index task_idx"))
    task = words(document.get("instance_id") or at(params, "metadata.instance_id") or document.get("task_id"))
    if task is None and number is not None:
        # Numbers are unique within an environment, which the name of a file does not identify.
        task = f"task{number}" if named else f"task{number}-{digest(told)}"
    group, trial = path_of(environment, task or digest(told or output[:1])), words(first(document, TRIALS))
    own = words(document.get("rollout_id") or at(response, "id")) or where.line or digest(output)
    talk, system = hear_items(told, output)
    members = {
        "model": at(response, "model") or params.get("model") or None,
        **about(document),
        "group_id": group,
        "rollout_id": own if trial is None else f"{group}-{trial}",
    }
    # An export begins the conversation with the system prompt.
    meta = {"environment": environment, "system_prompt": join((text_of(params.get("instructions")), system)) or None}
    found = rollout_of(where, params, TABLE, members, talk, response, meta=meta)
    asked, steps = words(at(params, "metadata.problem_statement")), found["steps"]
    for step in steps:
        if asked is not None and step["turn"] == steps[0]["turn"] and step.get("observation") is None:
            step["observation"] = asked
    yield found


HAS = "output[].type || response.output[] || new_items.0.raw_item | generated_items.0.raw_item"
FORMAT = Format(HAS, read)
