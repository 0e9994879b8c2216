"""What became of files, and the summary at the end."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from stepadv.importing.rows import Row
from stepadv.importing.verdicts import Outcomes
from stepadv.text import complain, count, safe

MOST_PROBLEMS = 20  # of a file that are listed


@dataclass
class Tally:
    """What became of a file, or of all of them."""

    # Documents that cannot be read, or have no known format, or are bad otherwise, and rollouts that contradict
    # others; rollouts and steps that were added, changed, and known before; rollouts without steps.
    counts: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[int, str]] = field(default_factory=list)  # the document's number, and why
    tries: dict[int, bool] = field(default_factory=dict)  # hash of the key: whether it is judged
    tasks: set[int] = field(default_factory=set)
    verdicts: dict[str, set[int]] = field(default_factory=dict)  # of which rollouts the verdict is beside, by the file
    matched: set[str] = field(default_factory=set)  # of the user's outcomes
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
        """A rollout that is in the tables."""
        judged = row.about.get("outcome") is not None or row.about.get("success") is not None
        name = hash(row.key)
        self.tries[name] = self.tries.get(name, False) or judged
        self.tasks.add(hash(row.task))
        self.counts["usable"] += 1
        self.counts["stepless"] += not row.steps
        self.counts["steps"] += len(row.steps)
        self.counts["with_action"] += sum(step.get("action") is not None for step in row.steps)

    def add(self, other: "Tally") -> None:
        for name in ("counts", "dropped", "repaired", "matched", "names", "tasks"):
            getattr(self, name).update(getattr(other, name))
        for label, found in other.verdicts.items():
            self.verdicts.setdefault(label, set()).update(found)
        for name, judged in other.tries.items():
            self.tries[name] = self.tries.get(name, False) or judged


@dataclass
class Summary:
    """Of a whole import; show: prints it, and gives the exit status."""

    looked_for: list[str] = field(default_factory=list)
    n_files: int = 0
    n_unread: int = 0  # names that could not be read
    n_passed: int = 0
    left_out: list[str] = field(default_factory=list)
    nothing: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    outcomes: Outcomes | None = None
    tally: Tally = field(default_factory=Tally)

    def show(self) -> int:
        tally, n_left_out = self.tally, len(self.left_out) + self.n_unread
        for line in self.lines(n_left_out):
            print(safe(line))
        if tally.tries and not any(tally.tries.values()):
            self.warn()
        lost = list(self.outcomes.unmatched(tally.matched, tally.names)) if self.outcomes else []
        for line in lost:
            complain(line)
        return int(tally.n_problems + n_left_out + len(self.empty) + len(lost) > 0 or not tally.tries)

    def lines(self, n_left_out: int) -> Iterator[str]:
        tally, n = self.tally, self.tally.counts
        yield f"{count(self.n_files, 'file')}, {n_left_out} left out"
        lists = {"left out": self.left_out, "nothing in it": self.nothing, "no files to read": self.empty}
        yield from (f"{words}: {name}" for words, names in lists.items() for name in names)
        if self.n_passed:
            yield f"passed over: {count(self.n_passed, 'file')} beside the tries (reports, settings, logs)"
        for what in ("added", "changed", "known already"):
            rollouts, steps = n[f"rollouts {what}"], n[f"steps {what}"]
            if rollouts or steps or what == "added":
                yield f"{what}: {count(rollouts, 'rollout')}, {count(steps, 'step')}"
        if tally.n_problems:
            contradict = f", {n['contradictions']} contradict what is there" if n["contradictions"] else ""
            yield f"could not be used: {count(tally.n_problems - n['contradictions'], 'document')}{contradict}"
        for words, found in (("not loaded", tally.dropped), ("repaired", tally.repaired)):
            listed = ", ".join(f"{what} ({k})" for what, k in sorted(found.items()) if k)
            if listed:
                yield f"{words}: {listed}"
        if n["stepless"]:
            wrong = "" if n["steps"] else ": is the format the right one?"
            has = "has" if n["stepless"] == 1 else "have"
            yield f"{n['stepless']} of {count(len(tally.tries), 'rollout')} {has} no step{wrong}"
        elif n["steps"] and not n["with_action"]:
            yield "no step has an action: is the format the right one?"
        if tally.tries:
            yield self.tries()

    def tries(self) -> str:
        """How many tries there are, how many have a verdict, and from which file."""
        tally, n, judged = self.tally, len(self.tally.tries), sum(self.tally.tries.values())
        labels = {label: len(found) for label, found in sorted(tally.verdicts.items())}
        if own := judged - sum(labels.values()):
            labels = {"the files themselves": own, **labels}
        parts = [f"{k} from {label}" if len(labels) > 1 else f"from {label}" for label, k in labels.items()]
        by = f" ({', '.join(parts)})" if judged else ""
        rest = f", {n - judged} without a verdict: --outcomes" if judged < n else ""
        return f"{count(n, 'try', 'tries')} of {count(len(tally.tasks), 'task')}, {judged} judged{by}{rest}"

    def warn(self) -> None:
        """A table of numbers does not show that there are no advantages in it."""
        looked = ["reward, score, outcome, success or resolved in the files", *self.looked_for]
        lines = [
            "WARNING: no rollout has a verdict.  Without verdicts, no method can compute",
            "advantages.  These were looked for:",
            *(f"  - {words}" for words in looked),
            "Use --outcomes FILE: csv, json or jsonl with task_id or rollout_id, and success",
            "or reward.",
        ]
        bar = "*" * 78
        for line in (bar, *(f"* {line}" for line in lines), bar):
            complain(line)
