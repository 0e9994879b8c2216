"""The functions for training loops, and the examples for verl and TRL, compared with the views.

The trainers are stand-ins with the names and signatures that the examples use.
"""

import importlib.util
import math
import os
import sys
from array import array
from types import ModuleType, SimpleNamespace

import psycopg
from support import TOP, Case

import stepadv


class Tensor:
    """Rows of numbers, with the methods of torch that the examples use."""

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def tolist(self) -> list:
        return self.rows

    def sum(self, dim: int) -> "Tensor":
        assert dim == -1
        return Tensor([sum(row) for row in self.rows])

    def new_tensor(self, rows: list[list[float]]) -> "Tensor":
        return Tensor(rows)

    def __mul__(self, other: "Tensor") -> "Tensor":
        return Tensor([[x * y for x, y in zip(a, b, strict=True)] for a, b in zip(self.rows, other.rows, strict=True)])


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TOP / "client" / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def steps(actions: str) -> list[dict]:
    """A step per letter; rollouts that did the same before are in the same state."""
    return [{"observation": f"after {actions[:n]}", "action": action} for n, action in enumerate(actions)]


class TrainerTest(Case):
    def setUp(self) -> None:
        super().setUp()
        os.environ["STEPADV"] = ""

    def as_views_say(self, method: str, rollout_id: str) -> list[float | None]:
        rows = self.connection.execute(f"SELECT advantage FROM t.steps_{method} WHERE rollout_id = %s ORDER BY step_no", (rollout_id,))
        return [advantage for (advantage,) in rows]

    def test_insert(self) -> None:
        """insert and advantages: arrays per rollout, in the order of the rollouts"""
        outcomes = [1, 0, 0.5, None]
        rollouts = [{"task_id": "a", "rollout_id": f"r{i}", "policy_version": "v1", "outcome": o, "metadata": {"i": [i, None]}, "tags": ["x"]}
                    for i, o in enumerate(outcomes)]
        told = [steps("left"), steps("lost"), [{**s, "response_token_ids": [n, 7], "rollout_logprobs": [-0.5, -1.0], "response_mask": [True, False]}
                                               for n, s in enumerate(steps("lend"))], []]
        batch = stepadv.insert(self.connection, rollouts, told, schema="t")
        self.assertEqual(self.rows(), "4|12")
        self.assertEqual(self.lines("SELECT run_id, policy_version, rollout_id, metadata ->> 'i', tags FROM t.rollouts WHERE rollout_id = 'r1'"), "|v1|r1|[1, null]|['x']")
        self.assertEqual(self.lines("SELECT response_token_ids, rollout_logprobs, response_mask FROM t.steps WHERE (rollout_id, step_no) = ('r2', 3)"),
                         "[3, 7]|[-0.5, -1.0]|[True, False]")
        odd = [{"prompt_token_ids": [], "response_token_ids": [-1, 2147483647], "policy_logprobs": array("f", [-0.5, math.nan]), "ref_logprobs": [-0.5, None], "task_id": "else"}, {"step_no": 7, "ok": 1, "value": 2}]
        stepadv.insert(self.connection, [{"task_id": "odd", "rollout_id": "o"}], [odd], schema="t")
        self.assertEqual(self.lines("SELECT prompt_token_ids, response_token_ids, policy_logprobs, ref_logprobs, ok, value, step_no FROM t.steps WHERE task_id = 'odd' ORDER BY step_no"),
                         "[]|[-1, 2147483647]|[-0.5, nan]|[-0.5, None]|||0\n||||t|2.0|7")
        for large in ({"response_token_ids": [2147483648]}, {"turn": 2147483648}):
            with self.assertRaises(psycopg.Error):
                stepadv.insert(self.connection, [{"task_id": "odd", "rollout_id": "p"}], [[large]], schema="t")
        found = stepadv.advantages(self.connection, batch, methods=["grpo", "rtmc", "gigpo"])
        self.assertEqual(list(found), ["grpo", "rtmc", "gigpo"])
        for method, arrays in found.items():
            for i, one in enumerate(arrays):
                self.assertEqual((one.typecode, list(one)), ("d", self.as_views_say(method, f"r{i}")), (method, i))
        # GRPO: returns 1, 0 and .5 have mean .5 and deviation .5.
        self.assertTrue(all(abs(x - 1) < 1e-5 for x in found["grpo"][0]), found["grpo"])

    def test_later(self) -> None:
        """earlier rollouts of the group count; advantages of rollouts that are not judged are NaN"""
        first = stepadv.insert(self.connection, [{"task_id": "a", "rollout_id": "r1", "outcome": 1}], [steps("ab")], schema="t")
        self.assertEqual(list(stepadv.advantages(self.connection, first, ["gigpo"])["gigpo"][0]), self.as_views_say("gigpo", "r1"))
        later = stepadv.insert(self.connection, [{"task_id": "a", "rollout_id": r, "outcome": o} for r, o in (("r3", None), ("r2", 0))], [steps("abc"), steps("a")], schema="t")
        r3, r2 = stepadv.advantages(self.connection, later, ["grpo"])["grpo"]
        self.assertTrue(all(map(math.isnan, r3)) and len(r3) == 3)
        self.assertEqual(list(r2), self.as_views_say("grpo", "r2"))
        self.assertLess(r2[0], 0)

    def test_refusals(self) -> None:
        """invalid input is an error, and nothing is inserted"""
        row = {"task_id": "a", "rollout_id": "r"}
        for rollouts, told, problem in (
            ([row], [], "rollouts and steps differ in length: 1 and 0"),
            ([{"rollout_id": "r"}], [[]], "rollout 0 has no task_id"),
            ([{"task_id": "a"}], [[]], "rollout 0 has no rollout_id"),
            ([row], [[{"observed": "x"}]], 't.steps has no column "observed"'),
        ):
            with self.assertRaisesRegex(ValueError, problem):
                stepadv.insert(self.connection, rollouts, told, schema="t")
        with self.assertRaises(psycopg.errors.UniqueViolation):
            stepadv.insert(self.connection, [row, row], [[], []], schema="t")
        with self.assertRaises(psycopg.errors.UniqueViolation):
            stepadv.insert(self.connection, [row], [[{"step_no": 1}, {"step_no": 1}]], schema="t")
        self.assertEqual(self.rows(), "0|0")
        with self.assertRaisesRegex(ValueError, "no table nowhere.rollouts: SELECT stepadv.create_tables"):
            stepadv.insert(self.connection, [], [], schema="nowhere")
        batch = stepadv.insert(self.connection, [row], [steps("a")], schema="t")
        with self.assertRaisesRegex(ValueError, r"no view t.steps_hgpo2: SELECT stepadv.add_views\('t.rollout_rows', '\{hgpo2\}'\)"):
            stepadv.advantages(self.connection, batch, ["hgpo2"])
        self.connection.execute("DELETE FROM t.steps")
        for methods, view in ((["grpo"], "grpo"), (["grpo", "rtmc"], "compare")):
            with self.assertRaisesRegex(ValueError, f"has 0 steps in t.steps_{view}, and 1 were inserted"):
                stepadv.advantages(self.connection, batch, methods)

    def test_transaction(self) -> None:
        """within a transaction nothing is committed, and the search_path stays"""
        with psycopg.connect() as other:
            other.execute("SET search_path = t, public")
            stepadv.insert(other, [{"task_id": "a", "rollout_id": "r"}], [steps("a")], schema="t")
            self.assertEqual(self.rows(), "0|0")
            self.assertEqual(other.execute("SHOW search_path").fetchone(), ("t, public",))
            other.commit()
        self.assertEqual(self.rows(), "1|1")

    def test_per_token(self) -> None:
        """per_token: each turn is a run of ones in the mask"""
        self.assertEqual(stepadv.per_token([1.5, -2], [0, 1, 1, 0, 0, 1, 0]), [0, 1.5, 1.5, 0, 0, -2, 0])
        self.assertEqual(stepadv.per_token([], [0, 0]), [0, 0])
        with self.assertRaisesRegex(ValueError, "turns of the mask and advantages differ in number: 2 and 1"):
            stepadv.per_token([1], [1, 0, 1])

    def in_rl(self) -> None:
        """The examples use the default schema."""
        if self.value("SELECT to_regclass('rl.steps') IS NULL"):
            self.connection.execute("SELECT count(*) FROM stepadv.create_tables('rl', partitions => 2)")
        self.connection.execute("DELETE FROM rl.rollouts")

    def by_task(self, method: str, actions: dict[str, str]) -> dict[str, list[float]]:
        """The advantages of rollouts in rl, which are distinguished by their actions."""
        rows = self.connection.execute(f"SELECT string_agg(action, '' ORDER BY step_no), array_agg(advantage ORDER BY step_no) FROM rl.steps_{method} GROUP BY rollout_id")
        found = dict(rows.fetchall())
        self.assertEqual(sorted(found), sorted(actions.values()))
        return found

    def test_verl(self) -> None:
        """the estimator for verl: by its registry, with the rows in any order"""
        self.in_rl()
        registry = {}

        def register_adv_est(name):
            return lambda function: registry.setdefault(name, function)

        def compute_advantage(data, adv_estimator, gamma=1.0, lam=1.0, num_repeat=1, norm_adv_by_std_in_grpo=True, config=None):
            function = registry[adv_estimator]
            advantages, returns = function(token_level_rewards=data.batch["token_level_rewards"], response_mask=data.batch["response_mask"],
                                           config=config, index=data.non_tensor_batch["uid"])
            data.batch["advantages"], data.batch["returns"] = advantages, returns
            return data

        trainer = ModuleType("verl.trainer.ppo.ray_trainer")
        trainer.compute_advantage = compute_advantage
        core = ModuleType("verl.trainer.ppo.core_algos")
        core.register_adv_est = register_adv_est
        ppo = ModuleType("verl.trainer.ppo")
        ppo.ray_trainer, ppo.core_algos = trainer, core
        stand_ins = {"verl": ModuleType("verl"), "verl.trainer": ModuleType("verl.trainer"), "verl.trainer.ppo": ppo,
                     "verl.trainer.ppo.ray_trainer": trainer, "verl.trainer.ppo.core_algos": core}
        sys.modules.update(stand_ins)
        try:
            load("verl_estimator").install()
            actions = {"0": "ab", "1": "ac", "2": "b"}
            mask = [[1, 1, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]]
            data = SimpleNamespace(
                batch={"token_level_rewards": Tensor([[0, 0, 0, 1.0], [0, 0, 0, 0], [0, 0, 0.5, 0]]), "response_mask": Tensor(mask)},
                non_tensor_batch={"uid": ["u", "u", "u"], "steps": [steps(a) for a in actions.values()]})
            trainer.compute_advantage(data, "stepadv")
        finally:
            for name in stand_ins:
                del sys.modules[name]
        found = self.by_task("rtmc", actions)
        (a, b), (a2, c), (d,) = found["ab"], found["ac"], found["b"]
        self.assertEqual(data.batch["advantages"].tolist(), [[a, a, 0, b], [a2, 0, 0, c], [0, d, d, 0]])
        self.assertEqual(self.value("SELECT array_agg(outcome ORDER BY outcome) FROM rl.rollouts"), [0, 0.5, 1])

    def test_trl(self) -> None:
        """the trainer for TRL: advantages of tokens in place of those of completions"""
        self.in_rl()
        mask, tools = [[1, 1, 1], [1, 1, 1]], [[1, 0, 1], [1, 0, 1]]

        class GRPOTrainer:
            accelerator = SimpleNamespace(wait_for_everyone=lambda: None)

            def _generate_and_score_completions(self, inputs):
                for x, action in zip(inputs, ("xy", "xz"), strict=True):
                    x.update(steps=steps(action), outcome=float(action == "xy"))
                return {"completion_mask": Tensor(mask), "tool_mask": Tensor(tools), "advantages": Tensor([[1.0], [-1.0]])}

        trl = ModuleType("trl")
        trl.GRPOTrainer = GRPOTrainer
        sys.modules["trl"] = trl
        try:
            trainer = load("trl_trainer").StepGRPOTrainer()
            output = trainer._generate_and_score_completions([{"prompt": "p", "task_id": "t"}, {"prompt": "p", "task_id": "t"}])
        finally:
            del sys.modules["trl"]
        found = self.by_task("rtmc", {"0": "xy", "1": "xz"})
        self.assertEqual(output["advantages"].tolist(), [[found[a][0], 0, found[a][1]] for a in ("xy", "xz")])
