"""Text logs of ReAct agents: Reflexion's of HotpotQA, ReAct's of WebShop.

    Question: Who wrote it?
    Thought 1: I search.
    Action 1: Search[it]
    Observation 1: Nobody knows.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from stepadv.importing.conversation import reads_well
from stepadv.importing.rollouts import Format, Json, Rollout, Where, given, metadata

# A line that starts with one of the marks begins a part, every other line goes on with the one before.
MARK = re.compile(r"(Question|Thought|Action|Observation|Correct answer)(?: [0-9]+)?: ?(.*)")
IS_LOG = re.compile(r"(^|\n)Action( [0-9]+)?: ")
DASHES = re.compile(r"-{17}\s*$")
END = re.compile(r"(#{5,}|-{10,})\s*$|[0-9]+( [0-9.]+){3}\s*$")
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
    # (thought, action, result) by the number of the action.
    steps: dict[int, dict[str, list[str]]] = field(default_factory=dict)
    n_actions: int = 0

    def add(self, mark: str, text: str) -> None:
        if mark == "Correct answer":
            self.answer = text
            return
        if mark == "Action":
            self.n_actions += 1
        # A thought comes before its action.
        slot = self.n_actions + 1 if mark == "Thought" else self.n_actions
        self.steps.setdefault(slot, {}).setdefault(mark, []).append(text)

    def told(self, slot: int, mark: str) -> str | None:
        texts = self.steps[slot].get(mark)
        return "\n".join(texts) if texts else None

    @property
    def done(self) -> list[int]:
        return [slot for slot in sorted(self.steps) if "Action" in self.steps[slot]]

    @property
    def task(self) -> str:
        if self.is_episode:
            return self.question.strip(" ")
        return re.sub(r"You have attempted to answer following question before.*$", "", self.question, flags=re.DOTALL).strip(" ")

    @property
    def content(self) -> str:
        return "\n".join("\n".join(t for m in ("Thought", "Action", "Observation") if (t := self.told(s, m)) is not None) for s in self.done)

    @property
    def result(self) -> str:
        return (self.told(self.done[-1], "Observation") or "") if self.done else ""

    @property
    def outcome(self) -> float | None:
        if self.section == "CORRECT" or "Answer is CORRECT" in self.result:
            return 1
        if self.section is not None or "Answer is INCORRECT" in self.result:
            return 0
        if self.is_episode:
            # Nothing bought: WebShop gives no score, which is 0.
            score = SCORE.search(self.result)
            return float(score[1]) if score else 0
        return None


def parts_of(document: str) -> Iterator[tuple[str, str, bool]]:
    """Mark, text, and whether it is the number of an episode."""
    mark, lines, is_episode, before = "", [], False, ""
    for line in document.split("\n"):
        found = MARK.match(line)
        begins_episode = bool(DASHES.match(before) and re.match(r"[0-9]+\s*$", line))
        if found:
            new, text = found[1], found[2]
        elif begins_episode:
            new, text = "Question", line
        elif re.match(r"BEGIN TRIAL [0-9]+", line):
            new, text = "Trial", line
        elif re.match(r"-+ BEGIN [A-Z]+ AGENTS -+", line):
            new, text = "Section", line
        else:
            new, text = "End" if END.match(line) else "", line
        if new:
            if mark:
                yield mark, "\n".join(lines).rstrip("\n\r"), is_episode
            mark, lines, is_episode = new, [], begins_episode
        lines.append(text)
        before = line
    if mark:
        yield mark, "\n".join(lines).rstrip("\n\r"), is_episode


def tries_of(document: str) -> list[Try]:
    tries: list[Try] = []
    trial = section = None
    for mark, text, is_episode in parts_of(document):
        if mark == "Trial":
            trial = int(re.search(r"[0-9]+", text)[0])
        elif mark == "Section":
            section = re.search(r"BEGIN ([A-Z]+)", text)[1]
        elif mark == "Question":
            tries.append(Try(text, is_episode, trial, section))
        elif mark != "End" and tries:
            tries[-1].add(mark, text)
    return tries


def steps_of(one: Try, repaired: Counter[str]) -> list[dict[str, Json]]:
    steps = []
    seen = None
    for slot in one.done:
        action, told, thought = (one.told(slot, mark) for mark in ("Action", "Observation", "Thought"))
        if action.strip(" ") == "reset" and slot == 1:
            seen = told
            continue
        call = CALL.match(action)
        if not call:
            repaired["actions that are no call"] += 1
        observation = seen
        if slot == 1 and observation is None and not one.is_episode:
            observation = "Question: " + one.question.strip(" ")
        ok = reads_well(told) if call and told is not None and not told.startswith("Answer is") else None
        steps.append(
            {
                "turn": len(steps),
                "observation": observation,
                "next_observation": told,
                "action": action,
                "tool": call[1] if call else None,
                "args": {"arg": call[2]} if call else None,
                "ok": ok,
                "meta": None if thought is None else {"thought": thought},
            }
        )
        seen = told
    return steps


def read(document: Json, where: Where) -> Iterator[Rollout]:
    tries = tries_of(document) if isinstance(document, str) else []
    if not tries:
        yield {"problem": "no line begins with Question: or follows a line of 17 hyphens"}
        return
    # Reflexion's logs list every agent after each trial: those that had solved their task are copies, and some stand in
    # two sections.
    solved: dict[str, int] = {}
    for one in tries:
        if one.trial is not None and one.outcome == 1:
            solved[one.task] = min(one.trial, solved.get(one.task, one.trial))
    listed = set()
    dropped: Counter[str] = Counter()
    for one in tries:
        if one.trial is not None:
            if one.task in solved and one.trial > solved[one.task]:
                dropped["copies of rollouts that were done in an earlier trial"] += 1
                continue
            if (one.task, one.trial, one.content) in listed:
                dropped["rollouts listed twice"] += 1
                continue
            listed.add((one.task, one.trial, one.content))
        task = one.task
        md5 = hashlib.md5(task.encode(errors="replace"), usedforsecurity=False).hexdigest()[:10]
        group = f"fixed_{task}" if one.is_episode else md5
        repaired: Counter[str] = Counter()
        steps = steps_of(one, repaired)
        trial = None if one.trial is None else f"t{one.trial}"
        yield {
            **given({"outcome": one.outcome}),
            "group_id": group,
            "rollout_id": "-".join(p for p in (where.rollout, group, trial) if p),
            "truncated": one.section == "HALTED" or one.section is None and one.is_episode and "Your score" not in one.result,
            "meta": metadata(where, trial=one.trial, status=one.section, question=None if one.is_episode else task, answer=one.answer),
            "steps": steps,
            "repaired": repaired,
        }
    if dropped:
        yield {"dropped": dropped}


FORMAT = Format("react", "text logs of ReAct agents", (), read)
