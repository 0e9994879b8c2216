"""What is said of an import: how far it is, and in the end what came of it and what is missing for whom."""

import argparse
import sys
import time
from dataclasses import dataclass, field

from stepadv.importing.files import File
from stepadv.importing.load import Result
from stepadv.importing.writer import COUNTS, Tally
from stepadv.text import count, safe


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
        if not self.is_shown:
            return
        seconds = time.monotonic() - self.began
        line = f"{self.n_done}/{self.n} files, {self.n_bytes / 1e6:.1f} of {self.bytes / 1e6:.1f} MB, {self.n_steps} steps"
        if seconds >= 1 and self.n_done:
            line += f", {self.n_steps / seconds:.0f} steps/s"
        if self.n_done == self.n:
            line += f", {clock(seconds)}"
        elif seconds >= 1 and self.n_bytes:
            line += f", {clock(seconds * (self.bytes - self.n_bytes) / self.n_bytes + 0.5)} left"
        print(f"\r{line:<78}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.is_shown:
            print(f"\r{'':78}\r", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.is_shown:
            print(file=sys.stderr)


@dataclass
class Summary:
    n_files: int = 0
    n_left_out: int = 0
    left_out: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    nothing: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    def leave_out(self, file: File) -> None:
        self.n_left_out += 1
        self.left_out.append(file.name)

    def show(self, given: argparse.Namespace) -> int:
        """The exit status, too."""
        counts, tally = self.tally.counts, self.tally
        say(f"{count(self.n_files, 'file')}, {self.n_left_out} left out")
        for words, names in (("left out", self.left_out), ("nothing in it", self.nothing), ("no files to read", self.empty)):
            for name in names:
                say(f"{words}: {name}")
        for name in COUNTS:
            say(f"{name:<18} {counts[name]}")
        for words, found in (("dropped", tally.dropped), ("repaired", tally.repaired)):
            for what, n in sorted(found.items()):
                if n:
                    say(f"{words}: {what} {n}")
        self.show_missing()
        n_problems = tally.n_problems + self.n_left_out + len(self.empty)
        return int(n_problems > 0 or not tally.rollouts)

    def show_missing(self) -> None:
        tally, steps = self.tally, self.tally.steps
        n, n_steps = len(tally.rollouts), steps["steps"]
        say(f"{'judged, with states':<18} {tally.judged} of {n} rollouts, {steps['with_state']} of {n_steps} steps")
        if tally.first_at is not None:
            say(f"{'time span':<18} {tally.first_at} to {tally.last_at}")
        if n:
            stepless = n - tally.number(8)
            missing(stepless, n, "rollouts have no step" + (": is the format the right one?" if stepless == n else ""))
            missing(n - tally.timed, n, "started_at: panels over time leave it out")
            missing(n - tally.of_version, n, "policy_version (-v): versions cannot be compared")
        if n_steps:
            missing(n_steps - steps["with_action"], n_steps, "action" + ("" if steps["with_action"] else ": all are NULL, is the format the right one?"))
            missing(n_steps - steps["with_state"], n_steps, "state: methods that compare steps take them for one")
            missing(n_steps - steps["with_tokens"], n_steps, "response_token_ids: nothing can be said of tokens")
        if n:
            missing(n - tally.judged, n, "outcome: no method gives a rollout an advantage before it is judged")


def say(line: str) -> None:
    print(safe(line))


def missing(n: int, of: int, what: str) -> None:
    if n > 0:
        say(f"missing: {f'{n} of {of} ' if n < of else ''}{what}")
