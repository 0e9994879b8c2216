"""stepadv's advantages in TRL: a GRPOTrainer that gives each token the advantage of its step.

Besides prompt_ids, completion_ids, logprobs and env_mask, rollout_func must return task_id, outcome and steps for
each completion.  steps is a list with a dict of observation and action for each turn of the model.
"""

import os
import uuid

import psycopg
from trl import GRPOTrainer

import stepadv


class StepGRPOTrainer(GRPOTrainer):
    """GRPO with the step advantages of a method."""

    method = "rtmc"

    def _generate_and_score_completions(self, inputs):
        # This also adds the members of rollout_func's result to inputs.
        output = super()._generate_and_score_completions(inputs)
        rollouts = [{"task_id": x["task_id"], "rollout_id": uuid.uuid4().hex, "outcome": x["outcome"]} for x in inputs]
        with psycopg.connect(os.environ.get("STEPADV", ""), autocommit=True) as connection:
            batch = stepadv.insert(connection, rollouts, [x["steps"] for x in inputs])
            # Other processes may insert rollouts of the same group.
            self.accelerator.wait_for_everyone()
            arrays = stepadv.advantages(connection, batch, [self.method])[self.method]
        mask = output["completion_mask"]
        if "tool_mask" in output:
            mask = mask * output["tool_mask"]
        tokens = [stepadv.per_token(a, m) for a, m in zip(arrays, mask.tolist(), strict=True)]
        output["advantages"] = output["advantages"].new_tensor(tokens)
        return output
