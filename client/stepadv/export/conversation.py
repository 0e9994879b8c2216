"""The conversation before a step of a rollout, and the step's own turn, as OpenAI messages."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from stepadv.importing.conversation import is_demo, is_of_model
from stepadv.text import Failed

Message = dict[str, Any]


class Step(NamedTuple):
    """A step.  args is JSON; said is the text that came with a call."""

    step_no: int
    turn: int | None
    observation: str | None
    action: str | None
    tool: str | None
    args: str | None
    next_observation: str | None
    said: Any


def fail(whose: str, problem: str, hint: str) -> Failed:
    return Failed(f"the conversation of {whose} {problem}: {hint}")


def results_of(calls: list[Step], seen: str | None, whose: str) -> Iterator[Message]:
    """The messages after the calls of a turn: each call's result, then the rest of what was seen, from the user."""
    told = []
    for call in calls:
        result = call.next_observation
        # If they differ, the next step's observation counts: it was in the prompt.
        if len(calls) == 1 and seen is not None and (result is None or not seen.startswith(result + "\n")):
            result = seen
        elif result is None:
            hint = "set next_observation of the step, or observation of the next step"
            raise fail(whose, f"has no result of the call of step {call.step_no}", hint)
        told.append(result)
        yield {"role": "tool", "tool_call_id": f"call_{call.step_no}", "content": result}
    before = "\n".join(told) + "\n"
    if seen is not None and seen.startswith(before):
        yield {"role": "user", "content": seen[len(before) :]}


def message_of(turn: list[Step]) -> Message:
    if turn[0].tool is None:
        return {"role": "assistant", "content": turn[0].action}
    args = [call.args if call.args not in (None, "null") else "{}" for call in turn]
    functions = [{"name": call.tool, "arguments": text} for call, text in zip(turn, args, strict=True)]
    ids = [f"call_{call.step_no}" for call in turn]
    calls = [{"id": i, "type": "function", "function": f} for i, f in zip(ids, functions, strict=True)]
    return {"role": "assistant", "content": turn[0].said, "tool_calls": calls}


class Conversation:
    """The conversation of one rollout, built only up to the requested step: problems of later turns do not matter."""

    def __init__(self, steps: list[Step], metadata: Any, table: str) -> None:
        """As imported if the metadata has the messages, else built from the steps.  table: its name, for errors."""
        self._table = table
        about = metadata if isinstance(metadata, dict) else {}
        self._turns: dict[Any, list[Step]] = {}
        for step in steps:
            # A step without a turn is a turn of its own.
            self._turns.setdefault(("step", step.step_no) if step.turn is None else step.turn, []).append(step)
        self._place = {step.step_no: i for i, turn in enumerate(self._turns.values()) for step in turn}
        kept, system = about.get("messages"), about.get("system_prompt")
        self._kept = kept if isinstance(kept, list) else None
        self._messages: list[Message] = [] if system is None else [{"role": "system", "content": system}]
        self._ends: list[int] = []

    def at(self, step_no: int, whose: str) -> tuple[list[Message], Message]:
        """The messages before the turn of a step, and the message of the turn."""
        if step_no not in self._place:
            raise Failed(f"{self._table} has no {whose}: it must have all steps")
        turns = list(self._turns.values())
        if self._kept is not None:
            return self._as_imported(turns[self._place[step_no]][0].turn, whose)
        while len(self._ends) <= self._place[step_no]:
            self._tell(turns[n := len(self._ends)], turns[n - 1] if n else [], whose)
        end = self._ends[self._place[step_no]]
        return self._messages[:end], self._messages[end]

    def _tell(self, turn: list[Step], before: list[Step], whose: str) -> None:
        """Appends the messages of a turn: observations from the user or a tool, and the action from the assistant."""
        number, number_before = turn[0].turn, before[0].turn if before else None
        seen = turn[0].observation
        if seen is None and len(before) == 1:
            seen = before[0].next_observation
        # Turns are numbered from 0 or from 1.
        most = number_before + 1 if number_before is not None else None if before else 1
        if number is not None and most is not None and number > most:
            raise fail(whose, f"has no step of turn {most if before else 0}", "insert it, or leave the rollout out")
        if before and before[0].tool is not None:
            self._messages += results_of(before, seen, whose)
        elif seen is not None:
            self._messages.append({"role": "user", "content": seen})
        elif before or not self._messages:
            hint = "set observation of the step, or next_observation of the step before"
            raise fail(whose, f"has nothing before step {turn[0].step_no}", hint)
        message = message_of(turn)
        if message["content"] is None and "tool_calls" not in message:
            raise fail(whose, f"has no action of step {turn[0].step_no}", "a turn without a tool call needs an action")
        self._ends.append(len(self._messages))
        self._messages.append(message)

    def _as_imported(self, turn: int | None, whose: str) -> tuple[list[Message], Message]:
        messages: list[Message] = []
        number = -1
        for kept in self._kept or []:
            message = self._with_text(kept, whose)
            # Demonstrations are not turns.
            number += is_of_model(message) and not is_demo(message)
            if number == turn:
                return messages, message
            messages.append(message)
        hint = "the messages in the metadata of its rollout end before it: import the rollout again with --update"
        raise fail(whose, f"has no turn {turn if turn is not None else 'of its own'}", hint)

    def _with_text(self, message: Any, whose: str) -> Any:
        """A message with its text.  A mark such as {"observation": 3} replaces a text that the step of turn 3 has."""
        mark = message.get("content") if isinstance(message, dict) else None
        if not isinstance(mark, dict) or not mark:
            return message
        what, turn = next(iter(mark.items()))
        steps = self._turns.get(turn)
        text = getattr(steps[0], str(what), None) if steps else None
        if not isinstance(text, str):
            hint = "a step that the messages in the metadata refer to was deleted or changed"
            raise fail(whose, f"has no step of turn {turn}", hint)
        return {**message, "content": text}


def weighted(prompt: list[Message], completion: Message) -> list[Message]:
    """Weights with which only the last message is learned."""
    return [{**m, "weight": 0} if m.get("role") == "assistant" else m for m in prompt] + [{**completion, "weight": 1}]


def without_call_ids(value: Any) -> Any:
    """Removes the ids of calls, which are made up, so that conversations can be compared."""
    if isinstance(value, list):
        return [without_call_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    is_call = "function" in value
    return {k: without_call_ids(v) for k, v in value.items() if k != "tool_call_id" and not (is_call and k == "id")}
