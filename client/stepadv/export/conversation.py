"""The conversation before a step of a rollout, and the step's own turn, as messages of OpenAI's form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stepadv.text import Failed

Message = dict[str, Any]
ASSISTANT = ("assistant", "ai", "gpt", "model")


@dataclass
class Step:
    """A step as it is told; args: JSON."""

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
    """What came back from the calls of a turn: each call's own result, and what was said besides."""
    told = []
    for call in calls:
        result = call.next_observation
        # What the agent saw is what was in its prompt.
        if len(calls) == 1 and seen is not None and (result is None or not seen.startswith(result + "\n")):
            result = seen
        elif result is None:
            raise fail(
                whose,
                f"has no result of the call of step {call.step_no}",
                "next_observation of a step, or the observation of the next one, is what came back",
            )
        told.append(result)
        yield {"role": "tool", "tool_call_id": f"call_{call.step_no}", "content": result}
    before = "\n".join(told) + "\n"
    if seen is not None and seen.startswith(before):
        yield {"role": "user", "content": seen[len(before) :]}


def message_of(turn: list[Step]) -> Message:
    """A turn of the model, with its calls."""
    if turn[0].tool is None:
        return {"role": "assistant", "content": turn[0].action}
    return {
        "role": "assistant",
        "content": turn[0].said,
        "tool_calls": [
            {
                "id": f"call_{c.step_no}",
                "type": "function",
                "function": {"name": c.tool, "arguments": c.args if c.args not in (None, "null") else "{}"},
            }
            for c in turn
        ],
    }


def by_model(message: Any) -> bool:
    """Whether a message is a turn of the model's; what it was shown as an example is none."""
    return (
        isinstance(message, dict) and message.get("role") in ASSISTANT and message.get("is_demo") not in (True, "true")
    )


class Conversation:
    """Of one rollout.  It is made as far as it is asked for: what is wrong with later turns is no matter."""

    def __init__(self, steps: list[Step], metadata: Any, system: str | None) -> None:
        """As it was imported, where the metadata has the messages; else made of the steps."""
        self._steps, self._system = steps, system
        self._metadata = metadata if isinstance(metadata, dict) else {}
        self._turn_of: dict[int, int] = {}
        self._turns: list[list[Step]] = []
        places: dict[int, int] = {}
        for step in steps:
            if step.turn is None or step.turn not in places:
                if step.turn is not None:
                    places[step.turn] = len(self._turns)
                self._turns.append([])
            place = len(self._turns) - 1 if step.turn is None else places[step.turn]
            self._turns[place].append(step)
            self._turn_of[step.step_no] = place
        self._messages: list[Message] = []
        self._ends: list[int] = []
        kept = self._metadata.get("messages")
        self._kept = kept if isinstance(kept, list) else None
        if self._kept is None:
            system = system if system is not None else self._metadata.get("system_prompt")
            if system is not None:
                self._messages.append({"role": "system", "content": system})

    def has(self, step_no: int) -> bool:
        """Whether there is such a step."""
        return step_no in self._turn_of

    def at(self, step_no: int, whose: str) -> tuple[list[Message], Message]:
        """The messages before the turn of a step, and the turn's own."""
        if self._kept is not None:
            return self._as_imported(step_no, whose)
        place = self._turn_of[step_no]
        while len(self._ends) <= place:
            self._tell_next(whose)
        end = self._ends[place]
        return self._messages[:end], self._messages[end]

    def _tell_next(self, whose: str) -> None:
        """What was seen is said by the user or by a tool, what was done by the assistant."""
        place = len(self._ends)
        turn, before = self._turns[place], self._turns[place - 1] if place else None
        number, number_before = turn[0].turn, before[0].turn if before else None
        seen = turn[0].observation
        if seen is None and before is not None and len(before) == 1:
            seen = before[0].next_observation
        # Counted from 0 or from 1.
        most = number_before + 1 if number_before is not None else None if before else 1
        if number is not None and most is not None and number > most:
            missing = 0 if number_before is None else number_before + 1
            raise fail(
                whose,
                f"has no step of turn {missing}",
                "steps of later turns cannot be told without it: insert it, or leave the rollout out",
            )
        if before is not None and before[0].tool is not None:
            self._messages += results_of(before, seen, whose)
        elif seen is not None:
            self._messages.append({"role": "user", "content": seen})
        elif before is not None or not self._messages:
            raise fail(
                whose,
                f"has nothing before step {turn[0].step_no}",
                "what the model was told is observation of a step, or next_observation of the one before;"
                " for the first, --system will do",
            )
        message = message_of(turn)
        if message["content"] is None and "tool_calls" not in message:
            raise fail(whose, f"has no action of step {turn[0].step_no}", "a turn without its words cannot be told")
        self._ends.append(len(self._messages))
        self._messages.append(message)

    def _as_imported(self, step_no: int, whose: str) -> tuple[list[Message], Message]:
        turn = self._turns[self._turn_of[step_no]][0].turn
        messages: list[Message] = []
        number = -1
        for kept in self._kept or []:
            message = self._with_text(kept, whose)
            number += by_model(message)
            if number == turn:
                if self._system is not None and not (messages and messages[0].get("role") == "system"):
                    messages.insert(0, {"role": "system", "content": self._system})
                return messages, message
            messages.append(message)
        raise fail(
            whose,
            f"has no turn {turn if turn is not None else 'of its own'}",
            "the rollout's metadata has the messages it was imported with: no later step is among them",
        )

    def _with_text(self, message: Any, whose: str) -> Any:
        """A message as it was: only a text that a step has was left out, for a mark such as {"observation": 3}."""
        mark = message.get("content") if isinstance(message, dict) else None
        if not isinstance(mark, dict) or not mark:
            return message
        what, turn = next(iter(mark.items()))
        text = next((getattr(t[0], str(what), None) for t in self._turns if str(t[0].turn) == str(turn)), None)
        if not isinstance(text, str):
            raise fail(
                whose,
                f"has no step of turn {turn}",
                "its rollout was imported with it; a step is gone, or its text is",
            )
        return {**message, "content": text}


def weighted(prompt: list[Message], completion: Message) -> list[Message]:
    """Only the last word is to be learned."""
    return [{**m, "weight": 0} if m.get("role") == "assistant" else m for m in prompt] + [{**completion, "weight": 1}]


def without_call_ids(messages: list[Message]) -> list[Message]:
    """Ids of calls are made up: they make no other conversation of one."""
    return [
        {
            k: [{n: v for n, v in c.items() if n != "id"} if isinstance(c, dict) else c for c in value]
            if k == "tool_calls" and isinstance(value, list)
            else value
            for k, value in m.items()
            if k != "tool_call_id"
        }
        for m in messages
    ]
