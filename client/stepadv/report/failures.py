"""Clusters of failed rollouts by how they end, and states in which two versions act differently."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any

from stepadv.report.read import Group, Rollout
from stepadv.text import shorten

MOST_CLUSTERS = 12
MOST_DIFFERENCES = 15
LEAST_VISITS = 3
LAST_STEPS = 3
OF_A_STATE = "Last shared state: "
PROGRAM = re.compile(r"[\w.+-]{1,24}(?= |$|\[)")
WORD = re.compile(r"[^\W\d_]\w{2,}")


def _one_line(text: str | None, length: int) -> str:
    return shorten(" ".join((text or "").split()), length)


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "#", text)


def _program(call: str, tool: str) -> str:
    """The program of a call whose only argument is a shell command, else an empty string."""
    words = PROGRAM.match(call.removeprefix(f"{tool}: "))
    return words[0] if words and call.startswith(f"{tool}: ") else ""


def _last_call(steps: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Title and step of the last tool call, or of the last action if there is no tool call."""
    for step in reversed(steps):
        if step["t"]:
            return f"Last call: {step['t']}", step
    last = steps[-1]
    return f"Last did: {_without_numbers(_one_line(last['d'], 60)) or '(nothing)'}", last


def _came_of(steps: list[dict[str, Any]], step: dict[str, Any]) -> str | None:
    """The result of a step; if it has none, the observation of the next step, where many scaffolds store it."""
    i = steps.index(step) + 1
    found: str | None = step["x"] or (steps[i]["o"] if i < len(steps) else None)
    return found


def _ending(steps: list[dict[str, Any]], truncated: bool, shared: Counter[int]) -> tuple[str, dict[str, Any]]:
    """How a failed rollout ended: the title of its cluster, and the step that shows it."""
    last = steps[-1]
    for step in reversed(steps[-LAST_STEPS:]):
        if step["e"] is False:
            return f"Ends after an error: {_without_numbers(_one_line(_came_of(steps, step) or step['d'], 60))}", step
    if truncated:
        return "Cut off before it was done", last
    for step in reversed(steps):
        if step["s"] is not None and shared[step["s"]] > 1 and WORD.search(step["o"] or ""):
            return f"{OF_A_STATE}{_without_numbers(_one_line(step['o'], 60))}", step
    return _last_call(steps)


class Failures:
    """Failed rollouts, collected group by group."""

    def __init__(self) -> None:
        """Start without rollouts."""
        self._tools: set[str] = set()
        self._rollouts: list[tuple[str, str, set[str], dict[str, Any]]] = []
        self._clusters: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._words: dict[str, Counter[str]] = defaultdict(Counter)
        self._all: Counter[str] = Counter()

    def add(self, group: Group, steps: list[dict[str, Any]]) -> None:
        """Add the failed rollouts of a group."""
        by_rollout: dict[int, list[dict[str, Any]]] = defaultdict(list)
        visitors: dict[int, set[int]] = defaultdict(set)
        for step in steps:
            by_rollout[step["r"]].append(step)
            if step["s"] is not None:
                visitors[step["s"]].add(step["r"])
        shared = Counter({state: len(who) for state, who in visitors.items()})
        for r, rollout in enumerate(group.rollouts):
            if rollout.success is not False or r not in by_rollout:
                continue
            title, step = _ending(by_rollout[r], rollout.truncated, shared)
            words = {w.lower() for s in by_rollout[r][-LAST_STEPS:] for part in (s["o"], s["d"], s["x"])
                     for w in WORD.findall((part or "")[:2000])}
            other, call = _last_call(by_rollout[r])
            self._tools.add(call["t"] or "")
            said = _one_line(step["d"], 90), _one_line(_came_of(by_rollout[r], step), 110)
            self._rollouts.append((title, other, words, {
                "task": group.task, "group": group.place, "page": group.page, "rollout": r, "step": step["n"],
                "version": rollout.version or "(no name)", "name": f"{group.name}, {rollout.name}",
                "text": " → ".join(filter(None, said)),
                "program": _program(call["d"] or "", call["t"]) if call["t"] else ""}))

    def rows(self) -> list[dict[str, Any]]:
        """Clusters, largest first; single rollouts and small clusters are combined into one."""
        self._gather()
        large = {t: c for t, c in self._clusters.items() if len(c) > 1}
        rest = [e for t, c in self._clusters.items() if t not in large for e in c]
        ordered = sorted(large.items(), key=lambda item: (-len(item[1]), item[0]))
        rest += [e for _, c in ordered[MOST_CLUSTERS:] for e in c]
        found = [self._row(title, cluster, self._telling(title)) for title, cluster in ordered[:MOST_CLUSTERS]]
        return found + ([self._row("Each in its own way", rest, [])] if rest else [])

    def _gather(self) -> None:
        """Cluster the rollouts; by the last call instead of a state if the state occurs in only one task."""
        tasks: dict[str, set[str]] = defaultdict(set)
        for title, _, _, example in self._rollouts:
            tasks[title].add(example["task"])
        for title, other, words, example in self._rollouts:
            name = other if title.startswith(OF_A_STATE) and len(tasks[title]) < 2 else title
            # If all calls use the same tool, its name does not distinguish them.
            if name == other and len(self._tools) == 1 and example["program"]:
                name = f"{other}: {example['program']}"
            self._clusters[name].append(example)
            self._words[name].update(words)
            self._all.update(words)

    def _telling(self, title: str) -> list[str]:
        """Words more common at the end of these rollouts than of others."""
        n, total = len(self._clusters[title]), sum(map(len, self._clusters.values()))
        if n == total:
            return []

        def lift(word: str) -> float:
            inside, outside = self._words[title][word], self._all[word] - self._words[title][word]
            return inside / n - outside / (total - n)

        telling = [w for w in self._words[title] if lift(w) > 0.3]
        return sorted(telling, key=lambda w: (-lift(w), w))[:8]

    @staticmethod
    def _row(title: str, cluster: list[dict[str, Any]], words: list[str]) -> dict[str, Any]:
        return {"title": title, "words": words, "rollouts": len(cluster),
                "versions": Counter(e["version"] for e in cluster),
                "examples": sorted(cluster, key=lambda e: (not e["page"], e["group"], e["rollout"]))[:4]}


class Visits:
    """Actions of one version in one state.  Has __slots__ because there are many of these."""

    __slots__ = ("actions", "judged", "rollout", "several", "solved")

    def __init__(self) -> None:
        """Start without visits."""
        self.actions: dict[str, int] = {}
        self.judged = self.solved = 0
        self.rollout: str | None = None
        self.several = False

    def add(self, action: str, rollout: Rollout) -> None:
        """Add a visit."""
        self.actions[action] = self.actions.get(action, 0) + 1
        self.judged += rollout.success is not None
        self.solved += rollout.success is True
        self.several |= self.rollout not in (None, rollout.name)
        self.rollout = rollout.name

    def __len__(self) -> int:
        """Number of visits."""
        return sum(self.actions.values())

    def share(self, action: str) -> float:
        """Fraction of the visits in which the version takes this action."""
        return self.actions.get(action, 0) / len(self)

    def row(self, version: str) -> dict[str, Any]:
        """The most frequent action, in the form that the viewer reads."""
        action = min(self.actions, key=lambda a: (-self.actions[a], a))
        return {"name": version, "action": action, "share": self.share(action), "visits": len(self),
                "solved": self.solved / self.judged if self.judged else None}


class Differences:
    """Actions of two policy versions in the same state of the same task."""

    def __init__(self, versions: list[str]) -> None:
        """Start without steps."""
        self.compared = self.apart = 0
        self._versions = versions
        self._seen: dict[tuple[str, int], dict[str, Visits]] = defaultdict(lambda: defaultdict(Visits))
        self._text: dict[tuple[str, int], str] = {}
        self._actions: dict[str, str] = {}

    def add(self, group: Group, steps: list[dict[str, Any]]) -> None:
        """Add the steps of a group."""
        for step in steps:
            rollout = group.rollouts[step["r"]]
            if step["state"] is not None and rollout.version in self._versions:
                key = (group.task, step["state"])
                action = _one_line(step["d"], 200)
                # Store equal strings once.
                self._seen[key][rollout.version].add(self._actions.setdefault(action, action), rollout)
                if key not in self._text:
                    self._text[key] = _one_line(step["o"], 300)

    def rows(self) -> list[dict[str, Any]]:
        """States in which the versions differ most, with at least 3 visits and 2 rollouts of each."""
        found = []
        for key, by_version in self._seen.items():
            often = [v for v in by_version.values() if len(v) >= LEAST_VISITS and v.several]
            if len(often) < 2:
                continue
            self.compared += 1
            one, other = often
            apart = 0.5 * sum(abs(one.share(a) - other.share(a)) for a in one.actions.keys() | other.actions.keys())
            if apart >= 0.5:
                self.apart += 1
                rows = [by_version[v].row(v or "(no name)") for v in self._versions]
                found.append((apart * min(len(one), len(other)) ** 0.5, key, rows))
        found.sort(key=lambda item: (-item[0], item[1]))
        return [{"task": key[0], "observed": self._text[key], "versions": rows}
                for _, key, rows in found[:MOST_DIFFERENCES]]
