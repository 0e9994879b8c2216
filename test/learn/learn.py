"""Learning curves: softmax policies that learn from the advantages of stepadv's functions.

For every problem and method runs of so many updates, each from one group of 8 rollouts: the
advantages are asked of the server for all runs of a method at once, a run a group.  The
policy is a table of logits by state, moved by the step size times the sum of advantage
times the gradient of the log-probability, per rollout.  The step size of a method on a problem
is the one that learned best with other seeds.  The oracle has the advantages of the policy, exactly.
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
    "history_td": "stepadv.history_td(x.rollouts)",
    "batch_td": "stepadv.batch_td(x.rollouts)",
    "rtmc": "stepadv.rtmc(x.rollouts)",
    "graphgpo": "stepadv.graphgpo(x.rollouts)",
    "hgpo": "stepadv.hgpo(x.rollouts)",
    "grpo": "stepadv.grpo(x.rollouts)",
}
# Advantages of some are in the scale of rewards, of the others divided by a deviation.
STEP_SIZES = {True: (4.0, 12.0, 36.0), False: (0.7, 2.0, 6.0)}
IN_REWARDS = {"oracle", "history_td", "batch_td", "rtmc"}
ROLLOUTS = 8
# Rollouts of steps: state, detail of how it looks, action, reward.
Group = list[list[tuple[int, int, int, float]]]
LONGEST = 80


@dataclass
class Run:
    """One policy that learns."""

    problem: Problem
    method: str
    step_size: float
    seed: int
    logits: list[list[float]] = field(default_factory=list)
    probabilities: list[list[float]] = field(default_factory=list)
    value: list[float] | None = None
    scores: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        # The problem, not the method: runs of all methods begin with the same luck.
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
            # Logits stay where a policy can still change its mind.
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
    """Asks for the advantages of many groups at once."""

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
                    place = 0
                    for r, rollout in enumerate(group):
                        for t, (state, detail, action, reward) in enumerate(rollout):
                            copy.write_row((g, place, r, t, self.look(run.problem, state, detail), action, reward))
                            place += 1
                    result.append([0.0] * place)
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
        else:
            answers = server.advantages(method, runs, groups)
        for run, group, answer in zip(runs, groups, answers, strict=True):
            run.learn(group, answer)


def area(run: Run) -> float:
    return sum(run.scores) / len(run.scores)


def best_step_size(problem: Problem, runs: Sequence[Run]) -> float:
    own = [run for run in runs if run.problem is problem]
    sizes = {run.step_size for run in own}
    return max(sorted(sizes), key=lambda size: sum(area(run) for run in own if run.step_size == size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--tuning-seeds", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--problems", nargs="+", default=[p.name for p in PROBLEMS])
    options = parser.parse_args()
    server = Server()
    problems = [p for p in PROBLEMS if p.name in options.problems]
    results = []
    for method in options.methods:
        tuning = [
            Run(problem, method, size, -1 - seed)
            for problem in problems
            for size in STEP_SIZES[method in IN_REWARDS]
            for seed in range(options.tuning_seeds)
        ]
        train(server, method, tuning, options.updates)
        runs = [
            Run(problem, method, best_step_size(problem, tuning), seed)
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
