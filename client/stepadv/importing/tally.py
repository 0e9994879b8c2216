"""The results of loading files: counts, problems, and the summary at the end."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stepadv.importing.rows import Row
from stepadv.text import complain, count

MOST_PROBLEMS = 20  # of a file that are listed


@dataclass
class Tally:
    """The result of loading a file, or all files."""

    # Documents that are unreadable, of an unknown format, or bad otherwise; rollouts that contradict others; rollouts
    # and steps that were added, changed, or known already.
    counts: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[int, str]] = field(default_factory=list)  # the document's number, and why
    tries: dict[int, str | None] = field(default_factory=dict)  # by the hash of the key: the file of the verdict
    tasks: set[int] = field(default_factory=set)
    stepless: dict[int, str] = field(default_factory=dict)  # by the hash of the key: the reason, or "" if unknown
    matched: set[str] = field(default_factory=set)  # ids in the user's outcomes
    names: set[str] = field(default_factory=set)  # of rollouts, if there are outcomes
    is_of_other: bool = False  # a contradiction with another file of that name

    @property
    def n_problems(self) -> int:
        return sum(self.counts[kind] for kind in ("unreadable", "unknown", "bad", "contradictions"))

    def problem(self, place: int, words: str, kind: str = "bad") -> None:
        self.counts[kind] += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append((place, words))

    def tell(self, row: Row) -> None:
        self.note_try(hash(row.key), row.verdict)
        self.tasks.add(hash(row.task))
        self.counts["usable"] += 1
        self.counts["steps added"] += len(row.lines)
        self.stepless.update({} if row.numbers else {hash(row.key): row.lacks})
        self.counts["steps"] += len(row.numbers)
        self.counts["with_action"] += row.n_actions

    def note_try(self, key: int, verdict: str | None) -> None:
        self.tries[key] = self.tries.get(key) if verdict is None else verdict

    def add(self, other: "Tally") -> None:
        for name in ("counts", "dropped", "repaired", "matched", "names", "tasks", "stepless"):
            getattr(self, name).update(getattr(other, name))
        for key, verdict in other.tries.items():
            self.note_try(key, verdict)

    def lines(self) -> Iterator[str]:
        n = self.counts
        for what in ("added", "changed", "known already"):
            rollouts, steps = n[f"rollouts {what}"], n[f"steps {what}"]
            if rollouts or steps or what == "added":
                yield f"{what}: {count(rollouts, 'rollout')}, {count(steps, 'step')}"
        if self.n_problems:
            contradict = f", {n['contradictions']} contradict what is there" if n["contradictions"] else ""
            yield f"could not be used: {count(self.n_problems - n['contradictions'], 'document')}{contradict}"
        stepless = f"without a step: {len(self.stepless)} of {count(len(self.tries), 'rollout')}"
        why = Counter(filter(None, self.stepless.values()))
        for words, found in (("not loaded", self.dropped), ("repaired", self.repaired), (stepless, why)):
            listed = ", ".join(f"{what} ({k})" for what, k in sorted(found.items()) if k)
            if listed:
                yield f"{words}: {listed}"
        if self.stepless and not why:
            yield stepless + ("" if n["steps"] else ": is the format the right one?")
        elif n["steps"] and not n["with_action"]:
            yield "no step has an action: is the format the right one?"
        if self.tries:
            labels = Counter(label or "the files themselves" for label in self.tries.values() if label is not None)
            n_tries, judged = len(self.tries), labels.total()
            parts = [f"{k} from {name}" if len(labels) > 1 else f"from {name}" for name, k in sorted(labels.items())]
            by = f" ({', '.join(parts)})" if judged else ""
            rest = f", {n_tries - judged} without a verdict: --outcomes" if judged < n_tries else ""
            yield f"{count(n_tries, 'try', 'tries')} of {count(len(self.tasks), 'task')}, {judged} judged{by}{rest}"


def warn(looked_for: Iterable[str]) -> None:
    """The warning that no rollout is judged: the summary alone does not show that there are no advantages."""
    lines = [
        "WARNING: no rollout has a verdict.  Without verdicts, no method can compute",
        "advantages.  These were looked for:",
        "  - reward, score, outcome, success or resolved in the files",
        *(f"  - {words}" for words in looked_for),
        "Use --outcomes FILE: csv, json or jsonl with task_id or rollout_id, and success",
        "or reward.",
    ]
    bar = "*" * 78
    for line in (bar, *(f"* {line}" for line in lines), bar):
        complain(line)
