"""The loop of a trainer that claims groups from a pool, for test/t/trainer.pl."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "client"))

import psycopg  # noqa: E402

from stepadv import insert as insert_into  # noqa: E402


def insert(connection, rollouts, steps):
    """Inserts finished rollouts with all their steps."""
    return insert_into(connection, rollouts, steps, schema="train")


def query(connection, text, *parameters):
    return connection.execute(text, parameters).fetchall()


def claim(connection, n, lease="10 minutes"):
    """Claims up to n groups: returns the claim, and the groups as (run_id, policy_version, task_id)."""
    rows = query(connection, """
        SELECT run_id, policy_version, task_id, claim
        FROM stepadv.claim_groups(NULL::train.steps_ready, %s, lease => %s::interval)""", n, lease)
    return (rows[0][3] if rows else None), [row[:3] for row in rows]


def steps(connection, claim, groups):
    """A row per step.  The arrays let the query use the index; the claim selects among their combinations."""
    columns = [sorted(set(column)) for column in zip(*groups, strict=True)]
    return query(connection, """
        SELECT s.task_id, s.rollout_id, s.step_no, s.response_token_ids, s.rollout_logprobs, s.advantage
        FROM train.steps_rtmc s JOIN train.steps_pool p USING (run_id, policy_version, task_id)
        WHERE p.claim = %s AND s.run_id = ANY (%s) AND s.policy_version = ANY (%s) AND s.task_id = ANY (%s) AND s.advantage IS NOT NULL
        ORDER BY s.task_id, s.rollout_id, s.step_no""", claim, *columns)


def consume(connection, claim, policy_step):
    return query(connection, "SELECT stepadv.consume_groups('train.steps_ready', %s::uuid, %s)", claim, policy_step)[0][0]


def train(connection, update, policy_step, n=16):
    """Trains on a batch, if there is one: update gets its steps."""
    held, groups = claim(connection, n)
    if groups:
        update(steps(connection, held, groups))
        consume(connection, held, policy_step)
    return groups


def batch(version, tasks, rollouts=range(4), outcome=lambda r: r % 2):
    """Groups of 4 rollouts of 3 steps; every other rollout reaches the goal."""
    group = [(t, r) for t in tasks for r in rollouts]
    return ([{"run_id": "r", "policy_version": f"v{version}", "task_id": f"täsk {t}", "policy_step": version, "rollout_id": str(r), "outcome": outcome(r)}
             for t, r in group],
            [[{"observation": f"o{n}", "action": f"a{(n + r) % 3}", "response_token_ids": list(range(n)), "rollout_logprobs": None if n == 2 else [-0.5] * n}
              for n in range(3)] for _, r in group])


def connect():
    return psycopg.connect(sys.argv[1], autocommit=True)
