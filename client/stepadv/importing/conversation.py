"""A conversation as steps: each call is a step, and so is a turn without calls.

Items are added in order: what the model sees (see, result), then what it does (think, say, call).  A turn begins with
what the model does after it has seen something, or with begin.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stepadv.importing.values import Json, Unreadable, at, fields, first, given, listed, objects, parse, to_json, words

SEE, RESULT, SAY, THINK, CALL = range(5)


class Item(NamedTuple):
    kind: int
    text: str | None = None
    id: str | None = None
    tool: str | None = None
    args: Json = None
    ok: bool | None = None


def join(lines: Sequence[str | None]) -> str | None:
    if len(lines) < 2:
        return lines[0] if lines else None
    found = [line for line in lines if line is not None]
    return found[0] if len(found) == 1 else "\n".join(found) if found else None


def text_of(content: Json) -> str | None:
    """The text of a message's content: a string, or the texts of a list of parts."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        return join([p if isinstance(p, str) else words(first(p, "text refusal content")) for p in content])
    return words(content["text"] if at(content, "text") is not None else content)


RETURNCODE = re.compile(r"\s*<returncode>(0</returncode>)?")
STATUS = re.compile(r'"(?:exit_code|returncode)": *(?:(0)(?!\w)|-?[0-9])')
FAILURE = re.compile(
    r"[\s\[({\"'<]*(?:error\b|(?=\w++:)\w*(?:error|exception):|traceback \(most recent call last\)|tool_use_error"
    r"|command failed|fatal:|invalid action|could not find|no results\b|the last page searched was not found)",
    re.IGNORECASE,
)


def reads_well(result: str) -> bool:
    """False if a result begins like an error, or has an exit status other than 0."""
    head = result[:200]
    mark = head.lstrip()[:1]
    if mark == "<" and (found := RETURNCODE.match(head)):
        return found[1] is not None
    if mark == "{" and (statuses := STATUS.findall(result)):
        return "0" in statuses
    return FAILURE.match(head) is None


HUGE = re.compile(r"\d(?:[eE]\+?\d{3}|\d{299})")


def parse_arguments(raw: Json) -> tuple[Json, str | None, str | None]:
    """The arguments of a call, which may be a string of JSON: their value, their JSON text, and what was repaired."""
    if not isinstance(raw, str):
        return raw, None if raw is None else to_json(raw), None
    if not raw.strip():
        return {}, "{}", None
    try:
        args, n_nul = parse(raw)
        if "\\u" in raw or HUGE.search(raw):
            # This fails for half of a surrogate pair and for an infinite number.
            to_json(args).encode()
        text = raw.replace("\\u0000", "\\ufffd") if n_nul else raw
        return args, text, "U+0000 in arguments" if n_nul else None
    except (Unreadable, ValueError, RecursionError):
        return None, to_json(raw), "arguments that are not JSON"


class Conversation:
    def __init__(self) -> None:
        self.turns: list[list[Item]] = [[]]  # the first has what came before any turn
        self.is_seen = True  # the last item is not the model's
        self.dropped: Counter[str] = Counter()
        self.repaired: Counter[str] = Counter()

    def begin(self) -> None:
        self.turns.append([])
        self.is_seen = False

    def add(self, item: Item) -> None:
        if item.kind < SAY:
            self.is_seen = True
        elif self.is_seen:
            self.begin()
        self.turns[-1].append(item)

    def see(self, text: str | None) -> None:
        self.add(Item(SEE, text))

    def result(self, text: str | None, id: Json = None, ok: bool | None = None) -> None:
        self.is_seen = True
        self.turns[-1].append(Item(RESULT, text, words(id), None, None, ok))

    def say(self, text: str | None) -> None:
        self.add(Item(SAY, text))

    def think(self, text: str | None) -> None:
        self.add(Item(THINK, text))

    def call(self, tool: Json, args: Json, id: Json = None) -> None:
        self.add(Item(CALL, None, words(id), words(tool), args))

    def about(self) -> dict[str, Json]:
        return {"steps": self.steps(), "dropped": self.dropped, "repaired": self.repaired}

    def steps(self) -> list[dict[str, Json]]:
        """In a turn, the model's items come first, then what came back, which is the next turn's observation."""
        steps: list[dict[str, Json]] = []
        seen = None
        for turn, items in enumerate(self.turns, -1):
            kinds: list[list[Item]] = [[], [], [], [], []]
            for item in items:
                kinds[item.kind].append(item)
            _, results, said, thoughts, calls = kinds
            told = join([item.text for item in items if item.kind < SAY])
            text = join([item.text for item in said])
            meta = given({"thought": join([item.text for item in thoughts])}) if thoughts else {}
            if calls:
                meta |= {} if text is None else {"text": text}
                for position, call in enumerate(calls):
                    steps.append(self._step_of_call(call, result_of(results, call, position)))
                    steps[-1] |= {"turn": turn, "observation": seen, "meta": meta or None}
                    meta = {}
            elif said:
                about = {"turn": turn, "observation": seen, "next_observation": told, "action": text}
                steps.append({**about, "meta": meta or None})
            elif turn >= 0:
                self.dropped["reasoning without an action"] += 1
            seen = told
        return steps

    def _step_of_call(self, call: Item, result: Item | None) -> dict[str, Json]:
        args, written, repaired = parse_arguments(call.args)
        told, ok = (result.text, result.ok) if result else (None, None)
        if repaired:
            self.repaired[repaired] += 1
        if call.tool is None:
            self.repaired["calls without a name"] += 1
        if told is None:
            self.repaired["calls without a result"] += 1
        elif ok is None:
            ok = reads_well(told)
        action = f'{{"name": {to_json(call.tool)}, "arguments": {"null" if written is None else written}}}'
        return {"next_observation": told, "action": action, "tool": call.tool, "args": args, "ok": ok}


def result_of(results: list[Item], call: Item, position: int) -> Item | None:
    """The result of a call, among the results of its turn, as some scaffolds reuse ids in every turn: the first that
    has the call's id, or that is at its position if one of the two has no id."""
    if position == 0 and results and results[0].id == call.id:
        return results[0]
    in_order = results[position] if position < len(results) else None
    if call.id is None:
        return in_order
    ids = [result.id for result in results]
    place = ids.index(call.id) if call.id in ids else None
    if in_order is not None and in_order.id is None and (place is None or position < place):
        return in_order
    return None if place is None else results[place]


def firsts_of_turns(steps: list[dict[str, Json]]) -> list[dict[str, Json]]:
    return [s for i, s in enumerate(steps) if i == 0 or s["turn"] != steps[i - 1]["turn"]]


def in_turn(seen: Json, turns: Iterable[dict[str, Json]]) -> list[dict[str, Json]]:
    """Steps of a scaffold with one step per turn: each observes the next_observation of the step before it."""
    steps = []
    for turn, step in enumerate(turns):
        steps.append({"turn": turn, "observation": seen, **step})
        seen = step.get("next_observation")
    return steps


# Messages of chat interfaces: OpenAI's, Anthropic's blocks, parts of OpenTelemetry's GenAI messages
SYSTEM = ("system", "developer")
USER = ("user", "human", "environment", "exit")
TOOL = ("tool", "function")
MODEL = ("assistant", "ai", "gpt", "model")
THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
# Compared with endings of types: tools that the provider runs have types such as server_tool_use and
# web_search_tool_result.  A part of Gemini's has no type, but a member with such a name.
OF_CALL = ("tool_use", "tool_call", "function_call", "functionCall")
OF_RESULT = ("tool_result", "tool_call_response", "function_response", "functionResponse")


def is_of_model(message: Json) -> bool:
    return isinstance(message, dict) and message.get("role") in MODEL


def ends(block: Json, endings: tuple[str, ...]) -> bool:
    kind = fields(block).get("type")
    return kind.endswith(endings) if isinstance(kind, str) else bool(inner_of(block, endings))


def inner_of(block: Json, names: tuple[str, ...]) -> dict[str, Json]:
    record = fields(block)
    there = () if record.keys().isdisjoint(names) else names
    return next((fields(record[name]) for name in there if record.get(name) is not None), {})


def text_of_blocks(blocks: list[Json], thoughts: bool = False) -> str | None:
    """The text of blocks that are not calls, results or pictures (blob): of thoughts, or of all others."""
    found = [b for b in blocks if ends(b, THOUGHTS) == thoughts and not ends(b, (*OF_CALL, *OF_RESULT, "blob"))]
    return join([text_of(first(b, "thinking content text reasoning")) for b in found]) if thoughts else text_of(found)


def failed(record: dict[str, Json]) -> bool | None:
    """The value of ok: False if the record reports an error, else None, as it need not."""
    return False if record.get("is_error") is True or record.get("status") == "error" or record.get("error") else None


def hear_returned_blocks(talk: Conversation, content: list[Json]) -> bool:
    found = [block for block in content if ends(block, OF_RESULT)]
    for block in (inner_of(block, OF_RESULT) or block for block in found):
        # An empty result is a result, too.
        told = text_of(first(block, "content response result"))
        talk.result(told or "", first(block, "tool_use_id id"), failed(block))
    return bool(found)


def hear_call(talk: Conversation, call: Json) -> None:
    record = inner_of(call, OF_CALL) or fields(call)
    function = record.get("function")
    inner = fields(function)
    args = inner["arguments"] if "arguments" in inner else first(record, "arguments args input")
    name = function if isinstance(function, str) else inner.get("name") or record.get("name")
    talk.call(name, args, record.get("id"))


def calls_of(message: dict[str, Json]) -> list[Json]:
    """The calls of a message; LangChain also has them in additional_kwargs."""
    extra = fields(message.get("additional_kwargs"))
    for record in (message, extra):
        calls = record.get("tool_calls")
        if isinstance(calls, list) and (calls or record is extra):
            return calls
        if isinstance(record.get("function_call"), dict) and "tool_calls" not in record:
            return [record["function_call"]]
    return []


def hear_model(talk: Conversation, message: dict[str, Json], content: Json) -> None:
    blocks: list[Json] = content if isinstance(content, list) else []
    said = text_of_blocks(blocks) if blocks else text_of(content)
    thought = message.get("reasoning_content")
    thought = text_of(message.get("reasoning") if thought is None else thought)
    thought = text_of_blocks(blocks, True) if thought is None and blocks else thought
    talk.begin()
    if thought is not None:
        talk.think(thought)
    # Some messages have the same calls in both places.
    calls = calls_of(message) or [block for block in blocks if ends(block, OF_CALL)]
    if said or not calls:
        talk.say(said)
    for call in calls:
        hear_call(talk, call)
    if blocks:
        hear_returned_blocks(talk, blocks)


def hear_message(talk: Conversation, message: Json) -> None:
    record = fields(message)
    role = record.get("role")
    content = record["content"] if "content" in record else record.get("parts")
    if role in SYSTEM:
        talk.dropped["system messages"] += 1
    elif role in MODEL:
        hear_model(talk, record, content)
    elif role in TOOL:
        id = record.get("tool_call_id")
        # One message may have several results.
        if id is None and isinstance(content, list) and hear_returned_blocks(talk, content):
            return
        told = text_of(content)
        told = told or words(at(record, "error.message")) or told
        talk.result(told, record.get("id") if id is None else id, failed(record))
    elif role in USER:
        has_results = isinstance(content, list) and hear_returned_blocks(talk, content)
        told = text_of_blocks(content) if has_results else text_of(content)
        if told is not None or not has_results:
            talk.see(told)
    else:
        talk.dropped["messages of an unknown role"] += 1


def hear_messages(messages: Json) -> Conversation:
    talk = Conversation()
    for message in listed(messages):
        hear_message(talk, message)
    return talk


def heard_of(messages: list[Json]) -> dict[str, Json]:
    """Of the messages sent to a model: those after its last message, and the system prompt."""
    last = max((i for i, m in enumerate(messages) if is_of_model(m)), default=-1)
    system = [m for m in objects(messages) if m.get("role") in SYSTEM]
    return {"heard": messages[last + 1 :], "system": join([text_of(first(m, "content parts")) or "" for m in system])}


# A content that equals the observation or action of a step is replaced by a mark, {"observation": turn} or
# {"action": turn}, which is not a valid content of a chat message.  Contents that are shorter than this stay.
LEAST_LENGTH = 64


def is_demo(message: dict[str, Json]) -> bool:
    return message.get("is_demo") in (True, "true")


def keep(rollout: dict[str, Json], messages: Json) -> dict[str, Json]:
    """Puts the original messages into the metadata of a rollout, if each turn corresponds to a message of the model;
    messages with is_demo are not turns."""
    turns: dict[int, dict[str, Json]] = {}
    for step in rollout["steps"]:
        turns.setdefault(step["turn"], step)
    kept = []
    turn = 0
    for message in listed(messages):
        if not isinstance(message, dict) or isinstance(content := message.get("content"), dict):
            return rollout
        acts = message.get("role") in MODEL and not is_demo(message)
        step = turns.get(turn, {})
        if acts and (not step or isinstance(message.get("action"), str) and message["action"] != step.get("action")):
            return rollout
        name = "action" if acts else "observation"
        if isinstance(content, str) and len(content) >= LEAST_LENGTH and content == step.get(name):
            message = {**message, "content": {name: turn}}
        kept.append(message)
        turn += acts
    if turn == len(turns) and turn > 0:
        rollout["meta"] = {**(rollout.get("meta") or {}), "messages": kept}
    return rollout
