"""stepadv's advantages in verl: an advantage estimator named stepadv.

Import this module where the trainer is created, call install() once, and set algorithm.adv_estimator=stepadv.  The
agent loop must set extra_fields["steps"] to a list with a dict of observation and action for each turn of the model.
Environment variables: STEPADV, a connection string; STEPADV_METHOD, the method (default rtmc).
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
    """Rollouts with the same uid are a group.  The tokens of a turn get the advantage of its step."""
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
    """verl passes columns that are not tensors only to its own estimator gdpo, so keep them here for ours."""
    original = ray_trainer.compute_advantage

    def compute_advantage(data, *arguments, **more):
        rows.update(data.non_tensor_batch)
        return original(data, *arguments, **more)

    ray_trainer.compute_advantage = compute_advantage
