"""Text logs of ReAct agents: Reflexion's of HotpotQA, ReAct's of WebShop.

    Question: Who wrote it?
    Thought 1: I search.
    Action 1: Search[it]
    Observation 1: Nobody knows.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from stepadv.importing.conversation import reads_well
from stepadv.importing.format import Format, Rollout, Where, metadata
from stepadv.importing.values import Json, md5

# A line that starts with one of the marks begins a part, every other line goes on with the one before.
MARK = re.compile(r"(Question|Thought|Action|Observation|Correct answer)(?: [0-9]+)?: ?(.*)")
IS_LOG = re.compile(r"(^|\n)Action( [0-9]+)?: ")
TRIAL = re.compile(r"(?:-+ )?BEGIN (?:TRIAL ([0-9]+)|([A-Z]+) AGENTS -+)")
DASHES = re.compile(r"-{17}\s*$")
END = re.compile(r"(#{5,}|-{10,})\s*$|[0-9]+( [0-9.]+){3}\s*$")
AGAIN = re.compile(r"You have attempted to answer following question before.*$", re.DOTALL)
CALL = re.compile(r"\s*([A-Za-z_]\w*)\[(.*)\]\s*$", re.DOTALL)
SCORE = re.compile(r"Your score \(min [0-9.]+, max [0-9.]+\): ([0-9.]*[0-9])")


@dataclass
class Try:
    """A question, and what was done about it."""

    question: str
    is_episode: bool
    trial: int | None
    section: str | None
    answer: str | None = None
    # Texts by their marks, by the number of the action that they belong to.
    slots: dict[int, dict[str, str]] = field(default_factory=dict)
    n_actions: int = 0

    def add(self, mark: str, text: str) -> None:
        if mark == "Correct answer":
            self.answer = text
            return
        self.n_actions += mark == "Action"
        # A thought comes before its action.
        slot = self.slots.setdefault(self.n_actions + (mark == "Thought"), {})
        slot[mark] = f"{slot[mark]}\n{text}" if mark in slot else text

    @property
    def done(self) -> list[tuple[int, dict[str, str]]]:
        return [(n, slot) for n, slot in sorted(self.slots.items()) if "Action" in slot]

    @property
    def task(self) -> str:
        return (self.question if self.is_episode else AGAIN.sub("", self.question)).strip(" ")

    @property
    def content(self) -> str:
        return "\n".join(slot[m] for _, slot in self.done for m in ("Thought", "Action", "Observation") if m in slot)

    @property
    def result(self) -> str:
        return self.done[-1][1].get("Observation", "") if self.done else ""

    @property
    def outcome(self) -> float | None:
        if self.section == "CORRECT" or "Answer is CORRECT" in self.result:
            return 1
        if self.section is not None or "Answer is INCORRECT" in self.result:
            return 0
        # Nothing bought: WebShop gives no score, which is 0.
        score = SCORE.search(self.result)
        return None if not self.is_episode else float(score[1]) if score else 0


def parts_of(document: str) -> Iterator[tuple[str, str, bool]]:
    """Mark, text, and whether it is the number of an episode."""
    lines: list[str] = []
    mark, is_episode, before = "", False, ""
    for line in document.split("\n"):
        new, text = "", line
        begins_episode = bool(DASHES.match(before) and re.match(r"[0-9]+\s*$", line))
        if found := MARK.match(line):
            new, text = found[1], found[2]
        elif begins_episode:
            new = "Question"
        elif TRIAL.match(line):
            new = "Trial"
        elif END.match(line):
            new = "End"
        if new:
            yield mark, "\n".join(lines).rstrip("\n\r"), is_episode
            mark, lines, is_episode = new, [], begins_episode
        lines.append(text)
        before = line
    yield mark, "\n".join(lines).rstrip("\n\r"), is_episode


def tries_of(document: str) -> list[Try]:
    tries: list[Try] = []
    trial = section = None
    for mark, text, is_episode in parts_of(document):
        if mark == "Trial" and (found := TRIAL.match(text)):
            trial, section = int(found[1]) if found[1] else trial, found[2] or section
        elif mark == "Question":
            tries.append(Try(text, is_episode, trial, section))
        elif mark not in ("", "End", "Trial") and tries:
            tries[-1].add(mark, text)
    return tries


def steps_of(one: Try, repaired: Counter[str]) -> Iterator[dict[str, Json]]:
    seen, turn = None, 0
    for number, slot in one.done:
        action, told = slot["Action"], slot.get("Observation")
        if action.strip(" ") == "reset" and number == 1:
            seen = told
            continue
        call = CALL.match(action)
        repaired["actions that are no call"] += not call
        if number == 1 and not one.is_episode:
            seen = "Question: " + one.question.strip(" ")
        yield {
            "turn": turn,
            "observation": seen,
            "next_observation": told,
            "action": action,
            "tool": call[1] if call else None,
            "args": {"arg": call[2]} if call else None,
            "ok": reads_well(told) if call and told is not None and not told.startswith("Answer is") else None,
            "meta": {"thought": slot["Thought"]} if "Thought" in slot else None,
        }
        seen, turn = told, turn + 1


def read(document: str, where: Where) -> Iterator[Rollout]:
    tries = tries_of(document)
    if not tries:
        yield {"problem": "no line begins with Question: or follows a line of 17 hyphens"}
        return
    # Reflexion's logs list every agent after each trial: those that had solved their task are copies, and some stand in
    # two sections.
    solved: dict[str, int] = {}
    for one in tries:
        if one.trial is not None and one.outcome == 1:
            solved[one.task] = min(one.trial, solved.get(one.task, one.trial))
    told = set()
    dropped: Counter[str] = Counter()
    for one in tries:
        task, name = one.task, (one.task, one.trial, one.content)
        if one.trial is not None and one.trial > solved.get(task, one.trial):
            dropped["copies of rollouts that were done in an earlier trial"] += 1
            continue
        if one.trial is not None and name in told:
            dropped["rollouts listed twice"] += 1
            continue
        told.add(name)
        group = f"fixed_{task}" if one.is_episode else md5(task)
        repaired: Counter[str] = Counter()
        outcome = one.outcome
        never_bought = one.section is None and one.is_episode and "Your score" not in one.result
        yield {
            **({} if outcome is None else {"outcome": outcome}),
            "group_id": group,
            "rollout_id": "-".join(p for p in (where.rollout, group, f"t{one.trial}" if one.trial is not None else None) if p),
            "truncated": one.section == "HALTED" or never_bought,
            "meta": metadata(where, trial=one.trial, status=one.section, question=None if one.is_episode else task, answer=one.answer),
            "steps": list(steps_of(one, repaired)),
            "repaired": repaired,
        }
    if dropped:
        yield {"dropped": dropped}


def is_log(document: Json) -> bool:
    return isinstance(document, str) and document.lstrip()[:1] not in ("[", "{") and IS_LOG.search(document) is not None


FORMAT = Format(((("a log with lines that begin with Action: ", is_log),),), read)
