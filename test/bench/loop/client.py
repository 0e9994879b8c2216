"""A trainer's loop as in docs/training.md: stepadv.insert and stepadv.advantages over the tables of create_tables.

    client.py FOLDER ROUNDS TOKENS METHOD…

FOLDER contains the package.  Every round has 16 groups x 8 rollouts x 50 steps of a new policy version; a step has
TOKENS log-probabilities of each of two policies.  Prints the sum of all advantages, the same in every round; then, for
each round, "insert advantages server client" in milliseconds: elapsed time of both calls, processor time of both sides.
"""

import os
import random
import sys
import time

sys.path.insert(0, sys.argv[1])

import psycopg  # noqa: E402

import stepadv  # noqa: E402


def batch(version: int, tokens: int) -> tuple[list[dict], list[list[dict]]]:
    draw = random.Random(7)

    def step() -> dict:
        row = {"observation": f"the agent is in room {draw.randrange(30)} of the house", "action": f"go {draw.randrange(4)}"}
        if tokens:
            row |= {name: [-draw.random() for _ in range(tokens)] for name in ("rollout_logprobs", "policy_logprobs")}
        return row

    rollouts = [{"run_id": "run", "policy_version": f"v{version}", "policy_step": version, "task_id": f"task {g}", "rollout_id": f"{g} {r}", "outcome": r % 2}
                for g in range(16) for r in range(8)]
    return rollouts, [[step() for _ in range(50)] for _ in rollouts]


def processor(pid: str | int) -> float:
    """Processor time of a process in milliseconds, from Linux."""
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e6


def main() -> None:
    rounds, tokens, methods = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    connection = psycopg.connect("", autocommit=True)
    before = 0.0
    for version in range(rounds):
        rollouts, steps = batch(version, tokens)
        server, client, start = processor(connection.info.backend_pid), processor(os.getpid()), time.perf_counter()
        inserted = stepadv.insert(connection, rollouts, steps)
        between = time.perf_counter()
        found = stepadv.advantages(connection, inserted, methods)
        end = time.perf_counter()
        server, client = processor(connection.info.backend_pid) - server, processor(os.getpid()) - client
        total = sum(sum(map(sum, arrays)) for arrays in found.values())
        if version == 0:
            print(total)
        elif abs(total - before) > 1e-9 * max(1, abs(before)):
            sys.exit("the sum differs from that of the previous round")
        before = total
        print(f"{1e3 * (between - start):.6f} {1e3 * (end - between):.6f} {server:.6f} {client:.6f}")


main()
