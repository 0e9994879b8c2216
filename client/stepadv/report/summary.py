"""Numbers of all groups, and sentences made from them."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from typing import Any

from stepadv.report.read import Group, Hidden, in_order
from stepadv.text import count, shorten

BINS = 40
NO_NAME = "(no name)"


def wilson(successes: int, n: int) -> tuple[float, float]:
    """The 95 % confidence interval of a proportion (Wilson 1927)."""
    if n == 0:
        return 0.0, 1.0
    z, p = 1.959964, successes / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def sign_test(wins: int, losses: int) -> float:
    """The two-sided exact p-value of the sign test."""
    n, least = wins + losses, min(wins, losses)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(least + 1)) / (1 << n)) if n else 1.0


def versions(groups: list[Group]) -> list[dict[str, Any]]:
    """Success and length by version; empty if no rollout has a version."""
    by: dict[str, list[Any]] = defaultdict(list)
    for group in groups:
        for rollout in group.rollouts:
            by[rollout.version].append(rollout)
    if set(by) <= {""}:
        return []
    found = []
    for name in sorted(by, key=in_order):
        judged = [r for r in by[name] if r.success is not None]
        successes = sum(r.success for r in judged)
        low, high = wilson(successes, len(judged))
        length = sum(r.steps for r in by[name]) / len(by[name])
        found.append({"name": name or NO_NAME, "rollouts": len(by[name]), "judged": len(judged),
                      "successes": successes, "low": low, "high": high, "length": length})
    return found


def lengths(groups: list[Group]) -> list[dict[str, Any]]:
    """Histogram of the steps per judged rollout, up to the 99th percentile."""
    rollouts = [r for g in groups for r in g.rollouts if r.success is not None]
    if not rollouts:
        return []
    most = max(1, sorted(r.steps for r in rollouts)[math.ceil(0.99 * (len(rollouts) - 1))])
    width = max(1, math.ceil((most + 1) / BINS))
    counts = Counter((r.steps // width, "solved" if r.success else "failed") for r in rollouts if r.steps <= most)
    return [{"from": i * width, "to": (i + 1) * width, "kind": kind, "n": n}
            for (i, kind), n in sorted(counts.items())]


def histogram(method: str, values: array[float]) -> dict[str, Any]:
    """Histogram of nonzero advantages, from the 1st to the 99th percentile; zeros and NaNs are counted apart."""
    known = [x for x in values if not math.isnan(x)]
    others = sorted(x for x in known if x != 0)
    found: dict[str, Any] = {"method": method, "zeros": len(known) - len(others), "missing": len(values) - len(known),
                             "outside": 0, "bins": []}
    if not others:
        return found
    low, high = others[int(0.01 * (len(others) - 1))], others[math.ceil(0.99 * (len(others) - 1))]
    if low == high:
        low, high = low - 0.5, high + 0.5
    width = (high - low) / BINS
    counts = Counter(min(BINS - 1, int((x - low) / width)) for x in others if low <= x <= high)
    found["outside"] = sum(not low <= x <= high for x in others)
    found["bins"] = [{"from": low + i * width, "to": low + (i + 1) * width, "n": counts[i]} for i in range(BINS)]
    return found


def _percent(x: float) -> str:
    return f"{round(100 * x)} %"


def last_two(groups: list[Group]) -> list[str]:
    """The last two versions with judged rollouts; empty if there are not two."""
    found = {r.version for g in groups for r in g.rollouts if r.success is not None}
    return sorted(found, key=in_order)[-2:] if len(found) > 1 else []


def changes(groups: list[Group]) -> dict[str, Any] | None:
    """Compare the last two versions: tasks that one solves in most tries and the other does not."""
    by: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    of_task: dict[tuple[str, str], Group] = {}
    for group in groups:
        for rollout in group.rollouts:
            if rollout.success is not None:
                of_task.setdefault((rollout.version, group.task), group)
                solved, n = by[rollout.version].get(group.task, (0, 0))
                by[rollout.version][group.task] = (solved + rollout.success, n + 1)
    if not (compared := last_two(groups)):
        return None
    old, new = compared
    both = by[old].keys() & by[new].keys()

    def solves(version: str, task: str) -> bool:
        solved, n = by[version][task]
        return 2 * solved > n

    apart = [t for t in both if solves(old, t) != solves(new, t)]
    apart.sort(key=lambda t: (solves(new, t), -abs(by[new][t][0] / by[new][t][1] - by[old][t][0] / by[old][t][1]), t))
    return {"old": old or NO_NAME, "new": new or NO_NAME, "both": len(both),
            "wins": sum(solves(new, t) for t in apart), "losses": sum(solves(old, t) for t in apart),
            "tasks": [{"name": t, "words": of_task[new, t].words, "tries": [
                {"solved": by[v][t][0], "n": by[v][t][1], "group": of_task[v, t].place, "page": of_task[v, t].page}
                for v in (old, new)]} for t in apart]}


def _in_words(found: dict[str, Any]) -> str:
    p = sign_test(found["wins"], found["losses"])
    shown = "< .001" if p < 0.001 else f"{p:.2g}".removeprefix("0")
    return (f"Of {count(found['both'], 'task')} that both tried, {found['new']} solves {found['wins']} in most tries"
            f" that {found['old']} did not, and loses {found['losses']} (p {shown}).")


def headline(groups: list[Group], between: dict[str, Any] | None, problems: list[dict[str, Any]],
             tools: list[dict[str, Any]]) -> list[str]:
    """The most important findings, as sentences."""
    tries = sum(len(g.rollouts) for g in groups)
    judged, solved = sum(g.judged for g in groups), sum(g.successes for g in groups)
    tasks = len({g.task for g in groups})
    of = " of those judged" if judged < tries else ""
    said = [f"{tries:,} tries of {tasks:,} task{'' if tasks == 1 else 's'}"
            + (f", {_percent(solved / judged)}{of} solved." if judged else ".")]
    if judged < tries:
        are = "is" if tries - judged == 1 else "are"
        said.append(f"{tries - judged:,} of them {are} not judged: no method says anything of these."
                    if judged else "None is judged: without an outcome no method gives an advantage.")
    if between and between["both"]:
        said.append(_in_words(between))
    informative = sum(0 < g.successes < g.judged for g in groups)
    if judged:
        said.append(f"{informative:,} of {len(groups):,} groups are informative: their tries came out differently.")
    # Groups without judged rollouts have no shared_step_share.
    shares = [(share, g.numbers.get("n_steps") or 0) for g in groups
              if (share := g.numbers.get("shared_step_share")) is not None]
    if n_steps := sum(n for _, n in shares):
        shared = sum(share * n for share, n in shares) / n_steps
        said.append(f"{_percent(shared)} of {n_steps:,} steps share a state with another try: " + _enough(shared))
    worst = max((t for t in tools if t["known"] >= 20), key=lambda t: float(t["errors"] / t["known"]), default=None)
    if worst and worst["errors"] / worst["known"] > 0.1:
        share = _percent(worst["errors"] / worst["known"])
        said.append(f"{worst['name']} fails in {share} of {worst['known']:,} calls whose result is known.")
    if problems:
        said.append(f"{count(len(problems), 'kind')} of problem in the rows; see the end of this page.")
    return said


def hides(checked: int, hidden: list[Hidden]) -> list[str]:
    """Sentences about the tasks whose states hide something, of the number that state_check could check."""
    if not hidden:
        return []
    said = (f"In {len(hidden):,} of {count(checked, 'task')} with 16 groups or more the state hides something that"
            " tries did before (state_check): use history TD, HGPO and GiGPO there, not batch TD or GraphGPO.")
    return [said, *(
        f"{one.task}: after “{shorten(one.done, 60)}” in “{shorten(one.seen or 'a state', 60)}” tries end"
        f" {abs(one.difference):.2f} {'better' if one.difference > 0 else 'worse'} than their state says"
        f" (z {one.z:.1f}, {count(one.n_rollouts, 'try', 'tries')})." for one in hidden if one.done)]


def _enough(shared: float) -> str:
    if shared >= 0.5:
        return "enough for methods that compare steps (RTMC, GiGPO, GraphGPO, batch TD)."
    if shared >= 0.15:
        return "enough for RTMC and GiGPO to say something of these; other steps get the rollout's advantage or 0."
    return "too little for RTMC, GiGPO and GraphGPO; choose a coarser state, or use rollout-level advantages."


class Tools:
    """Counts of calls by tool, of those with a known result, and of errors."""

    def __init__(self) -> None:
        """Start without calls."""
        self._calls: Counter[str] = Counter()
        self._known: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()

    def add(self, steps: list[dict[str, Any]]) -> None:
        """Add the calls of a group."""
        for step in steps:
            if step["t"]:
                self._calls[step["t"]] += 1
                self._known[step["t"]] += step["e"] is not None
                self._errors[step["t"]] += step["e"] is False

    def rows(self) -> list[dict[str, Any]]:
        """Tools, most called first."""
        return [{"name": name, "calls": n, "known": self._known[name], "errors": self._errors[name]}
                for name, n in sorted(self._calls.items(), key=lambda item: (-item[1], item[0]))]
