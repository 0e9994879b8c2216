"""Learning curves: softmax policies that learn from the advantages of stepadv's functions.

Each problem and method has runs of a number of updates, each from one group of 8 rollouts.
One query computes the advantages for all runs of a method; each run is a group.  The policy
is a table of logits by state, changed by the step size times the sum of advantage times the
gradient of the log-probability, per rollout.  The step size of a method on a problem is the
one that learned best with other seeds.  The oracle has the exact advantages of the policy;
so has the limit, except in groups whose returns are all equal: no method learns from those.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import psycopg

from problems import HAZARD, PROBLEMS, Problem

METHODS = {
    "oracle": "",
    "limit": "",
    "history_td": "stepadv.history_td(x.rollouts)",
    "batch_td": "stepadv.batch_td(x.rollouts)",
    "rtmc": "stepadv.rtmc(x.rollouts)",
    "graphgpo": "stepadv.graphgpo(x.rollouts)",
    "hgpo": "stepadv.hgpo(x.rollouts)",
    "grpo": "stepadv.grpo(x.rollouts)",
}
# Advantages of some methods are in units of the reward, those of others are divided by a deviation.
# With the smallest sizes policies learn almost nothing; with the largest they keep what they tried first.
STEP_SIZES = {
    True: (0.7, 2.0, 6.0, 18.0, 54.0, 162.0, 486.0),
    False: (0.06, 0.2, 0.7, 2.0, 6.0, 18.0, 54.0),
}
SHORTLIST = 3
IN_REWARDS = {"oracle", "limit", "history_td", "batch_td", "rtmc"}
ROLLOUTS = 8
# Rollouts of steps: state, detail of its look, action, reward.
Group = list[list[tuple[int, int, int, float]]]
LONGEST = 80


@dataclass
class Run:
    """A policy that learns."""

    problem: Problem
    method: str
    step_size: float
    seed: int
    logits: list[list[float]] = field(default_factory=list)
    probabilities: list[list[float]] = field(default_factory=list)
    value: list[float] | None = None
    scores: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        # By the problem, not the method: runs of all methods begin with the same luck.
        self.random = random.Random(f"{self.problem.name} {self.seed}")
        self.logits = [[0.0] * len(actions) for actions in self.problem.table]
        self.probabilities = [softmax(row) for row in self.logits]

    def play(self) -> Group:
        """A group of rollouts."""
        group: Group = []
        for _ in range(ROLLOUTS):
            rollout = []
            state = 0
            while state >= 0:
                action = draw(self.random, self.probabilities[state])
                following, reward = self.outcome(state, action)
                detail = self.random.randrange(self.problem.details)
                rollout.append((state, detail, action, reward))
                state = following
                if self.random.random() < HAZARD or len(rollout) == LONGEST:
                    state = -1
            group.append(rollout)
        self.scores.append(sum(r for rollout in group for _, _, _, r in rollout) / ROLLOUTS / self.problem.optimum)
        return group

    def outcome(self, state: int, action: int) -> tuple[int, float]:
        outcomes = self.problem.table[state][action]
        if len(outcomes) == 1:
            return outcomes[0][1], outcomes[0][2]
        _, following, reward = outcomes[draw(self.random, [p for p, _, _ in outcomes])]
        return following, reward

    def true_advantages(self, group: Group) -> list[float]:
        policy = self.probabilities
        self.value = self.problem.values(
            lambda s, q: sum(p * x for p, x in zip(policy[s], q, strict=True)), self.value, enough=1e-6
        )
        known: dict[int, list[float]] = {}
        result = []
        for rollout in group:
            for state, _, action, _ in rollout:
                if state not in known:
                    known[state] = self.problem.action_values(state, self.value)
                result.append(known[state][action] - self.value[state])
        return result

    def informed_advantages(self, group: Group) -> list[float]:
        """True advantages if the group's returns differ, else 0."""
        if len({sum(reward for _, _, _, reward in rollout) for rollout in group}) == 1:
            return [0.0 for rollout in group for _ in rollout]
        return self.true_advantages(group)

    def learn(self, group: Group, advantages: Sequence[float]) -> None:
        place = 0
        moved = set()
        change: dict[int, list[float]] = {}
        for rollout in group:
            for state, _, action, _ in rollout:
                push = self.step_size * advantages[place] / ROLLOUTS
                place += 1
                if push == 0:
                    continue
                moved.add(state)
                row = change.setdefault(state, [0.0] * len(self.logits[state]))
                for a, p in enumerate(self.probabilities[state]):
                    row[a] += push * ((a == action) - p)
        for state in moved:
            # With larger logits a policy could hardly change any more.
            moves = zip(self.logits[state], change[state], strict=True)
            self.logits[state] = [max(-8.0, min(8.0, x + d)) for x, d in moves]
            self.probabilities[state] = softmax(self.logits[state])


def softmax(row: list[float]) -> list[float]:
    top = max(row)
    weights = [math.exp(x - top) for x in row]
    total = sum(weights)
    return [w / total for w in weights]


def draw(source: random.Random, probabilities: Sequence[float]) -> int:
    x = source.random()
    for i, p in enumerate(probabilities):
        x -= p
        if x < 0:
            return i
    return len(probabilities) - 1


class Server:
    """Computes the advantages of many groups in one query."""

    def __init__(self) -> None:
        self.connection = psycopg.connect(autocommit=True)
        self.connection.execute("SET jit = off")
        self.connection.execute("SET max_parallel_workers_per_gather = 0")
        self.connection.execute(
            "CREATE TEMP TABLE step (g int, id bigint, r int, t int, state bigint, action bigint, reward float8)"
        )
        self.look_number: dict[object, int] = {}

    def look(self, problem: Problem, state: int, detail: int) -> int:
        key = (problem.name, problem.look(problem.states[state]), detail)
        return self.look_number.setdefault(key, len(self.look_number))

    def advantages(self, method: str, runs: Sequence[Run], groups: Sequence[Group]) -> list[list[float]]:
        self.connection.execute("TRUNCATE step")
        result = []
        with self.connection.cursor() as cursor:
            with cursor.copy("COPY step FROM STDIN") as copy:
                for g, (run, group) in enumerate(zip(runs, groups, strict=True)):
                    lines = []
                    for r, rollout in enumerate(group):
                        for t, (state, detail, action, reward) in enumerate(rollout):
                            look = self.look(run.problem, state, detail)
                            lines.append(f"{g}\t{len(lines)}\t{r}\t{t}\t{look}\t{action}\t{reward}\n")
                    copy.write("".join(lines))
                    result.append([0.0] * len(lines))
            cursor.execute(
                "SELECT x.number, array_agg(a.step_id), array_agg(a.advantage) FROM (SELECT s.g AS number,"
                " stepadv.rollout_agg(s.id, s.r, s.t, s.state, s.action, s.reward) AS rollouts"
                " FROM step s GROUP BY s.g) x,"
                f" LATERAL {METHODS[method]} a GROUP BY x.number"
            )
            for g, ids, advantages in cursor:
                row = result[g]
                for i, a in zip(ids, advantages, strict=True):
                    row[i] = a
        return result


def train(server: Server, method: str, runs: Sequence[Run], updates: int) -> None:
    for _ in range(updates):
        groups = [run.play() for run in runs]
        if method == "oracle":
            answers = [run.true_advantages(group) for run, group in zip(runs, groups, strict=True)]
        elif method == "limit":
            answers = [run.informed_advantages(group) for run, group in zip(runs, groups, strict=True)]
        else:
            answers = server.advantages(method, runs, groups)
        for run, group, answer in zip(runs, groups, answers, strict=True):
            run.learn(group, answer)


def area(run: Run) -> float:
    return sum(run.scores) / len(run.scores)


def by_area(runs: Sequence[Run]) -> list[float]:
    """The step sizes of the runs, the one with the largest mean area first."""
    areas: dict[float, list[float]] = {}
    for run in runs:
        areas.setdefault(run.step_size, []).append(area(run))
    return sorted(areas, key=lambda size: (-sum(areas[size]) / len(areas[size]), size))


def choose_step_sizes(
    server: Server, method: str, problems: Sequence[Problem], seeds: int, updates: int
) -> dict[str, float]:
    """By problem: a few seeds for every size, then twice as many more for the best sizes."""
    first = [
        Run(problem, method, size, -1 - seed)
        for problem in problems
        for size in STEP_SIZES[method in IN_REWARDS]
        for seed in range(seeds)
    ]
    train(server, method, first, updates)
    best = {p.name: by_area([run for run in first if run.problem is p])[:SHORTLIST] for p in problems}
    more = [
        Run(problem, method, size, -1 - seed)
        for problem in problems
        for size in best[problem.name]
        for seed in range(seeds, 3 * seeds)
    ]
    train(server, method, more, updates)
    both = [run for run in [*first, *more] if run.step_size in best[run.problem.name]]
    return {p.name: by_area([run for run in both if run.problem is p])[0] for p in problems}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--tuning-seeds", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--problems", nargs="+", default=[p.name for p in PROBLEMS])
    options = parser.parse_args()
    server = Server()
    problems = [p for p in PROBLEMS if p.name in options.problems]
    results = []
    for method in options.methods:
        sizes = choose_step_sizes(server, method, problems, options.tuning_seeds, options.updates)
        runs = [
            Run(problem, method, sizes[problem.name], seed)
            for problem in problems
            for seed in range(options.seeds)
        ]
        train(server, method, runs, options.updates)
        print(method, file=sys.stderr, flush=True)
        for problem in problems:
            own = [run for run in runs if run.problem is problem]
            results.append(
                {
                    "problem": problem.name,
                    "method": method,
                    "step_size": own[0].step_size,
                    "scores": [run.scores for run in own],
                }
            )
    json.dump({"rollouts": ROLLOUTS, "results": results}, sys.stdout)


if __name__ == "__main__":
    main()
