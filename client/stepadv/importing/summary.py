"""What is said of an import: how far it is, and in the end what came of it and what is missing for whom."""

import sys
import time
from dataclasses import dataclass, field

from stepadv.importing.files import File
from stepadv.importing.load import Result
from stepadv.importing.runs import looked_for
from stepadv.importing.verdicts import Outcomes
from stepadv.importing.writer import COUNTS, JUDGED, TIMED, VERSIONED, WITH_STEPS, Tally
from stepadv.text import complain, count, safe


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


class Progress:
    """A line on standard error, written over and over: files, bytes as they lie on disk, steps, and the time left."""

    def __init__(self, files: list[File], is_shown: bool):
        self.n, self.bytes, self.is_shown = len(files), sum(f.size for f in files), is_shown
        self.n_done = self.n_bytes = self.n_steps = 0
        self.began = time.monotonic()
        self.show()

    def done(self, file: File, result: Result) -> None:
        self.n_done += 1
        self.n_bytes += file.size
        self.n_steps += 0 if result.failed else result.tally.counts["steps_added"]
        self.show()

    def show(self) -> None:
        seconds = time.monotonic() - self.began
        line = f"{self.n_done}/{self.n} files, {self.n_bytes / 1e6:.1f} of {self.bytes / 1e6:.1f} MB, {self.n_steps} steps"
        if seconds >= 1 and self.n_done:
            line += f", {self.n_steps / seconds:.0f} steps/s"
        if self.n_done == self.n:
            line += f", {clock(seconds)}"
        elif seconds >= 1 and self.n_bytes:
            line += f", {clock(seconds * (self.bytes - self.n_bytes) / self.n_bytes + 0.5)} left"
        self.write(f"\r{line:<78}")

    def write(self, text: str) -> None:
        if self.is_shown:
            print(text, end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        self.write(f"\r{'':78}\r")


def say(line: str) -> None:
    print(safe(line))


@dataclass
class Summary:
    n_files: int = 0
    n_unread: int = 0  # names that could not be read
    n_passed: int = 0
    left_out: list[str] = field(default_factory=list)
    nothing: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    outcomes: Outcomes | None = None
    tally: Tally = field(default_factory=Tally)

    def show(self) -> int:
        """The exit status, too."""
        counts, tally = self.tally.counts, self.tally
        n_left_out = len(self.left_out) + self.n_unread
        say(f"{count(self.n_files, 'file')}, {n_left_out} left out")
        for words, names in (("left out", self.left_out), ("nothing in it", self.nothing), ("no files to read", self.empty)):
            for name in names:
                say(f"{words}: {name}")
        for name in COUNTS:
            say(f"{name:<18} {counts[name]}")
        for words, found in (("dropped", tally.dropped), ("repaired", tally.repaired)):
            for what, n in sorted(found.items()):
                if n:
                    say(f"{words}: {what} {n}")
        if self.n_passed:
            say(f"passed over: {count(self.n_passed, 'file')} beside the tries (reports, settings, logs)")
        self.show_missing()
        if tally.tries:
            say(self.tries())
            if not tally.number(JUDGED):
                self.warn()
        lost = list(self.outcomes.unmatched(tally.matched, tally.names)) if self.outcomes else []
        for line in lost:
            complain(line)
        return int(tally.n_problems + n_left_out + len(self.empty) + len(lost) > 0 or not tally.tries)

    def tries(self) -> str:
        """How many tries there are, how many are judged, and by whom."""
        tally = self.tally
        n, judged = len(tally.tries), tally.number(JUDGED)
        labels = {label: len(found) for label, found in sorted(tally.verdicts.items())}
        own = judged - sum(labels.values())
        if own > 0:
            labels = {"the files themselves": own, **labels}
        by = ", ".join(f"{k} from {label}" if len(labels) > 1 else f"from {label}" for label, k in labels.items())
        rest = f", {n - judged} without a verdict: --outcomes" if judged < n else ""
        return f"{count(n, 'try', 'tries')} of {count(len(tally.tasks), 'task')}, {judged} judged{f' ({by})' if judged else ''}{rest}"

    @staticmethod
    def warn() -> None:
        """Nobody sees in a table of numbers that there is no advantage in it."""
        bar = "*" * 78
        looked = "\n".join(f"*   - {words}" for words in ("reward, score, outcome, success or resolved in the files", *looked_for()))
        for line in f"""{bar}
* WARNING: nothing is judged.  No method gives a step an advantage without a
* verdict on some rollouts of its task.  Looked for:
{looked}
* --outcomes FILE says them: csv, json or jsonl with task_id or rollout_id, and
* success or reward.
{bar}""".split("\n"):
            complain(line)

    def show_missing(self) -> None:
        tally = self.tally
        n, n_steps = len(tally.tries), tally.steps["steps"]
        say(f"{'judged, with states':<18} {tally.number(JUDGED)} of {n} rollouts, {tally.steps['state']} of {n_steps} steps")
        if tally.span:
            say(f"{'time span':<18} {tally.span[0]} to {tally.span[1]}")
        wrong = ": is the format the right one?"
        for there, of, what in (
            (tally.number(WITH_STEPS), n, "rollouts have no step" + ("" if tally.number(WITH_STEPS) else wrong)),
            (tally.number(TIMED), n, "started_at: panels over time leave it out"),
            (tally.number(VERSIONED), n, "policy_version (-v): versions cannot be compared"),
            (tally.steps["action"], n_steps, "action" + ("" if tally.steps["action"] else ": all are NULL" + wrong.replace(": is", ", is"))),
            (tally.steps["state"], n_steps, "state: methods that compare steps take them for one"),
            (tally.steps["tokens"], n_steps, "response_token_ids: nothing can be said of tokens"),
        ):
            if there < of:
                say(f"missing: {f'{of - there} of {of} ' if there else ''}{what}")
