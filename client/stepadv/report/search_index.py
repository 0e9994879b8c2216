"""The search index of a report: the steps of each word, columns of the steps for filters, and their texts.

Words are in files by their first two characters, so that a search reads only the files it needs: an
index of all words takes some hundred megabytes for 10,000 rollouts.
"""

from __future__ import annotations

import base64
import re
from array import array
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from stepadv.report.read import Group

STEPS_PER_FILE = 500
LONGEST_WORD = 40
EXCERPT = 4000


def words_of(text: str) -> set[str]:
    """The words of a text, split as the viewer splits a query: letters, digits and underscores, in lower case."""
    return {word[:LONGEST_WORD] for word in re.findall(r"\w+", text.lower())}


def shard_of(word: str) -> str:
    """The file that has this word."""
    return "-".join(f"{ord(c):x}" for c in word[:2])


def _packed(kind: str, values: array[Any]) -> list[str]:
    return [kind, base64.b64encode(values.tobytes()).decode()]


class SearchIndex:
    """Built group by group; files of texts are written as they fill, the rest by finish."""

    def __init__(self, methods: list[str], first: int, write: Callable[[str, Any], None]) -> None:
        """Call write with the name and the value of each data file."""
        self._write = write
        self._methods, self._first = methods, first
        self._postings: dict[str, array[int]] = defaultdict(lambda: array("i"))
        self._texts: list[str] = []
        self._n = 0
        self._groups: list[dict[str, Any]] = []
        self._versions: dict[str, int] = {}
        self._tools: dict[str, int] = {"": 0}
        self._ints = {name: array("i") for name in ("group", "rollout", "step_no", "version", "tool")}
        self._bytes = {name: array("B") for name in ("outcome", "error")}
        self.advantages = [array("f") for _ in methods]

    def add(self, group: Group, steps: list[dict[str, Any]]) -> None:
        """Add the steps of a group."""
        names = [r.name for r in group.rollouts]
        self._groups.append({"id": group.place, "name": group.name, "page": group.page, "rollouts": names})
        for step in steps:
            rollout = group.rollouts[step["r"]]
            self._ints["group"].append(len(self._groups) - 1)
            self._ints["rollout"].append(step["r"])
            self._ints["step_no"].append(step["n"])
            self._ints["version"].append(self._versions.setdefault(rollout.version, len(self._versions)))
            self._ints["tool"].append(self._tools.setdefault(step["t"] or "", len(self._tools)))
            self._bytes["outcome"].append(0 if rollout.success is None else 2 if rollout.success else 1)
            self._bytes["error"].append(0 if step["e"] is None else 1 if step["e"] else 2)
            for column, value in zip(self.advantages, step["adv"], strict=True):
                column.append(float("nan") if value is None else value)
            self._add_text(" — ".join(filter(None, (step["o"], step["d"], step["x"]))))

    def _add_text(self, text: str) -> None:
        for word in words_of(text):
            self._postings[word].append(self._n)
        self._texts.append(" ".join(text[:EXCERPT].split()))
        self._n += 1
        if len(self._texts) == STEPS_PER_FILE:
            self._flush()

    def _flush(self) -> None:
        if self._texts:
            self._write(f"texts-{(self._n - 1) // STEPS_PER_FILE}", self._texts)
            self._texts = []

    def finish(self) -> None:
        """Write the remaining texts, the words, and the columns."""
        self._flush()
        shards: dict[str, list[str]] = defaultdict(list)
        for word in self._postings:
            shards[shard_of(word)].append(word)
        for shard, words in shards.items():
            self._write(f"words-{shard}", {word: self._distances(word) for word in sorted(words)})
        columns = {name: _packed("Int32", values) for name, values in self._ints.items()}
        columns |= {name: _packed("Uint8", values) for name, values in self._bytes.items()}
        columns |= {f"advantage_{i}": _packed("Float32", values) for i, values in enumerate(self.advantages)}
        self._write("search", {
            "n": self._n, "per_file": STEPS_PER_FILE, "methods": self._methods, "first": self._first,
            "groups": self._groups, "versions": list(self._versions), "tools": list(self._tools), "columns": columns})

    def _distances(self, word: str) -> list[int]:
        """Differences between successive step numbers of a word; frees its list."""
        steps = self._postings.pop(word)
        return [b - a for a, b in zip([0, *steps], steps, strict=False)]
