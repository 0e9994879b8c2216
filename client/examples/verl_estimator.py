"""Advantages of stepadv in verl: an advantage estimator called stepadv.

Import this module where the trainer is made, call install() once, and set algorithm.adv_estimator=stepadv.  An
agent loop puts what its steps were into extra_fields["steps"]: a list with a dict of observation and action for
each turn of the model.  Environment: STEPADV, a connection string; STEPADV_METHOD, rtmc unless it says otherwise.
"""

import os
import uuid

import psycopg
from verl.trainer.ppo import ray_trainer
from verl.trainer.ppo.core_algos import register_adv_est

import stepadv

METHOD = os.environ.get("STEPADV_METHOD", "rtmc")
rows = {}


@register_adv_est("stepadv")
def stepadv_advantages(token_level_rewards, response_mask, index=None, config=None, non_tensor_batch=None, **kwargs):
    """Rollouts of one uid are a group; each turn's tokens have its step's advantage."""
    steps = (non_tensor_batch or rows)["steps"]
    outcomes = token_level_rewards.sum(-1).tolist()
    rollouts = [
        {"task_id": str(uid), "rollout_id": uuid.uuid4().hex, "outcome": outcome}
        for uid, outcome in zip(index, outcomes, strict=True)
    ]
    with psycopg.connect(os.environ.get("STEPADV", ""), autocommit=True) as connection:
        batch = stepadv.insert(connection, rollouts, [list(s) for s in steps])
        arrays = stepadv.advantages(connection, batch, [METHOD])[METHOD]
    tokens = [stepadv.per_token(a, mask) for a, mask in zip(arrays, response_mask.tolist(), strict=True)]
    advantages = token_level_rewards.new_tensor(tokens)
    return advantages, advantages


def install():
    """verl hands the columns that are no tensors to its own estimator gdpo alone: here they are kept for ours."""
    original = ray_trainer.compute_advantage

    def compute_advantage(data, *arguments, **more):
        rows.update(data.non_tensor_batch)
        return original(data, *arguments, **more)

    ray_trainer.compute_advantage = compute_advantage
