"""Text logs of ReAct agents: Reflexion's of HotpotQA, ReAct's of WebShop."""

import re
from collections import Counter
from dataclasses import dataclass, field

from stepadv.importing.conversation import in_turn, reads_well
from stepadv.importing.files import IS_LOG
from stepadv.importing.format import Format, Rollout, Rollouts, Where, rollout_of
from stepadv.importing.values import Json, digest

# The beginning of a part, which ends where the next begins; a line of 17 hyphens and a number begin an episode.
PART = re.compile(
    r"^(?:-{17}[ \t\r]*\n(?P<episode>[0-9]+)[ \t\r]*$"
    r"|(?P<mark>Question|Thought|Action|Observation|Correct answer)(?: [0-9]+)?: ?"
    r"|(?:-+ )?BEGIN (?:TRIAL (?P<trial>[0-9]+)|(?P<section>[A-Z]+) AGENTS -+)"
    r"|(?:#{5,}|-{10,}|[0-9]+(?: [0-9.]+){3})[ \t\r]*$)",
    re.MULTILINE,
)
AGAIN = re.compile(r"You have attempted to answer following question before.*$", re.DOTALL)
CALL = re.compile(r"\s*([A-Za-z_]\w*)\[(.*)\]\s*$", re.DOTALL)
SCORE = re.compile(r"Your score \(min [0-9.]+, max [0-9.]+\): ([0-9.]*[0-9])")


@dataclass
class Try:
    """A question and its turns, each with an action, the thought before it, and the observation after it."""

    question: str
    is_episode: bool
    trial: int | None
    section: str | None
    answer: str | None = None
    turns: list[dict[str, str]] = field(default_factory=list)

    def add(self, mark: str, text: str) -> None:
        if mark == "Correct answer":
            self.answer = text
            return
        # A thought comes before its action.
        if not self.turns or mark in ("Action", "Thought") and "Action" in self.turns[-1]:
            self.turns.append({})
        turn = self.turns[-1]
        turn[mark] = f"{turn[mark]}\n{text}" if mark in turn else text

    @property
    def done(self) -> list[dict[str, str]]:
        return [turn for turn in self.turns if "Action" in turn]

    @property
    def task(self) -> str:
        return (self.question if self.is_episode else AGAIN.sub("", self.question)).strip(" ")

    @property
    def result(self) -> str:
        return self.done[-1].get("Observation", "") if self.done else ""

    @property
    def outcome(self) -> float | None:
        if self.section == "CORRECT" or "Answer is CORRECT" in self.result:
            return 1
        if self.section is not None or "Answer is INCORRECT" in self.result:
            return 0
        # WebShop gives no score if nothing was bought: it is 0.
        score = SCORE.search(self.result)
        return None if not self.is_episode else float(score[1]) if score else 0


def tries_of(document: str) -> list[Try]:
    tries: list[Try] = []
    trial = section = None
    parts = list(PART.finditer(document))
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        text = document[part.end() : after.start() if after else None].rstrip("\n\r")
        trial, section = int(part["trial"]) if part["trial"] else trial, part["section"] or section
        if part["episode"] or part["mark"] == "Question":
            tries.append(Try(part["episode"] or text, part["episode"] is not None, trial, section))
        elif part["mark"] and tries:
            tries[-1].add(part["mark"], text)
    return tries


def steps_of(one: Try, repaired: Counter[str]) -> list[dict[str, Json]]:
    seen, done = None if one.is_episode else "Question: " + one.question.strip(" "), one.done
    if done and done[0]["Action"].strip(" ") == "reset":
        seen, done = done[0].get("Observation"), done[1:]
    steps = []
    for turn in done:
        action, told = turn["Action"], turn.get("Observation")
        call = CALL.match(action)
        repaired["actions that are not calls"] += not call
        is_told = call and told is not None and not told.startswith("Answer is")
        step = {"next_observation": told, "action": action, "ok": reads_well(told or "") if is_told else None}
        called = {"tool": call[1], "args": {"arg": call[2]}} if call else {}
        steps.append(step | called | ({"meta": {"thought": turn["Thought"]}} if "Thought" in turn else {}))
    return in_turn(seen, steps)


def read_try(one: Try, where: Where) -> Rollout:
    repaired = Counter[str]()
    group = f"fixed_{one.task}" if one.is_episode else digest(one.task)
    parts = (where.rollout, group, f"t{one.trial}" if one.trial is not None else None)
    never_bought = one.section is None and one.is_episode and "Your score" not in one.result
    members = {
        "outcome": one.outcome,
        "group_id": group,
        "rollout_id": "-".join(part for part in parts if part),
        "truncated": one.section == "HALTED" or never_bought,
        "steps": steps_of(one, repaired),
        "repaired": repaired,
    }
    question = None if one.is_episode else one.task
    meta = {"trial": one.trial, "status": one.section, "question": question, "answer": one.answer}
    return rollout_of(where, None, {}, members, meta=meta)


def read(document: str, where: Where) -> Rollouts:
    tries = tries_of(document)
    # Reflexion's logs list every agent after each trial: those that had already solved their task are copies, and some
    # are in two sections.
    solved: dict[str, int] = {}
    for one in tries:
        if one.trial is not None and one.outcome == 1:
            solved[one.task] = min(one.trial, solved.get(one.task, one.trial))
    told: list[tuple[str, int, Json]] = []
    dropped: Counter[str] = Counter()
    for one in tries:
        key = (one.task, one.trial or 0, one.done)
        if one.trial is not None and one.trial > solved.get(one.task, one.trial):
            dropped["copies of rollouts that were done in an earlier trial"] += 1
        elif one.trial is not None and key in told:
            dropped["rollouts listed twice"] += 1
        else:
            told.append(key)
            yield read_try(one, where)
    if dropped:
        yield {"dropped": dropped}


MARK = "a log with lines that begin with Action: "
FORMAT = Format(MARK, read, tests={MARK: lambda document: isinstance(document, str) and IS_LOG.search(document)})
