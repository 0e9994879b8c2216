"""stepadv export.  Expected values are computed by hand, or are the imported document."""

import json
import os
import subprocess
from pathlib import Path

from support import PROGRAM, Case, Said, environment

PUSH = {"id": "call_0", "type": "function", "function": {"name": "push", "arguments": '{"how": "hard"}'}}
SYSTEM = {"role": "system", "content": "Find the exit."}
TOOLS = [{"type": "function", "function": {"name": "push"}}]


def user(text):
    return {"role": "user", "content": text}


def said(text, weight=1, **more):
    return {"role": "assistant", "content": text, **more, "weight": weight}


def result(text):
    return {"role": "tool", "tool_call_id": "call_0", "content": text}


# Push is a call, so its result is a message of the tool: a's is its next observation; d has
# a result and then observes the hall.  Only the last message has weight 1.
MESSAGES = [
    [SYSTEM, user("door"), said("I push.", tool_calls=[PUSH])],
    [SYSTEM, user("door"), said("I push.", 0, tool_calls=[PUSH]), result("hall"), said("go left")],
    [user("door"), said(None, tool_calls=[PUSH])],
    [user("door"), said(None, 0, tool_calls=[PUSH]), result("hall"), said("go right")],
    [user("door"), said("pull")],
    [user("door"), said(None, tool_calls=[PUSH])],
    [user("door"), said(None, 0, tool_calls=[PUSH]), result("it gives"), user("hall"), said("go right")],
    [user("door"), said("pull")],
]


class ExportTest(Case):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        if cls.connection.execute("SELECT to_regclass('tr.steps') IS NULL").fetchone()[0]:
            cls.connection.execute((Path(__file__).parent / "export.sql").read_text())

    def export(self, relation: str, shape: str, *options: str) -> Said:
        return self.stepadv("export", "--shape", shape, *options, relation)

    def lines(self, relation: str, shape: str, *options: str) -> list[dict]:
        keep = ["--keep-negative"] if shape in ("messages", "prompt_completion") else []
        said = self.export(relation, shape, *keep, *options)
        self.assertEqual((said.status, said.err), (0, ""))
        # Lines end only at newlines, as in JSON Lines.
        return [json.loads(line) for line in said.out.removesuffix("\n").split("\n")]

    def refused(self, pattern: str, relation: str, shape: str, *options: str, status: int = 2) -> None:
        said = self.export(relation, shape, *options)
        self.assertEqual(said.status, status, said.err)
        self.assertRegex(said.err, pattern)

    def changed(self, statement: str, pattern: str, relation: str, shape: str, *options: str) -> None:
        """An export is refused after a statement has changed rows; restores them."""
        name = relation.partition(".")[0]
        table = f"{name}.steps"
        self.connection.execute(f"CREATE TABLE before AS TABLE {table}")
        try:
            self.connection.execute(statement)
            self.refused(pattern, relation, shape, *options)
        finally:
            self.connection.execute(f"DELETE FROM {table}")
            self.connection.execute(f"INSERT INTO {table} TABLE before")
            self.connection.execute("DROP TABLE before")

    def test_messages(self) -> None:
        """messages: the conversation before each step, and the step"""
        lines = self.lines("tr.steps_rtmc", "messages", "--columns", "")
        self.assertEqual([line["messages"] for line in lines], MESSAGES)
        self.assertEqual([line.get("tools") for line in lines], [TOOLS, TOOLS, *[None] * 6])

    def test_prompt_completion(self) -> None:
        """prompt_completion: with all other fields"""
        lines = self.lines("tr.steps_rtmc", "prompt_completion")
        # q = 0.99 * 2 / 3 = 0.66, V'(door) = (3 * 0.66 + 2 * 0.4) / (5 + 2) = 0.39714: 0.26286, on tokens 1 and 3.
        self.assertAlmostEqual(lines[0].pop("advantage"), 0.66 - 2.78 / 7)
        self.assertEqual(lines[0], {
            "prompt": [SYSTEM, user("door")],
            "completion": [{"role": "assistant", "content": "I push.", "tool_calls": [PUSH]}], "tools": TOOLS,
            "task_id": "T", "rollout_id": "a", "step_no": 0, "step_id": 1, "prompt_token_ids": [1, 2], "response_token_ids": [5, 6, 7],
            "response_mask": [True, False, True], "rollout_logprobs": [-0.5, -1, -2], "advantages": [0.26285714, 0, 0.26285714]})
        self.assertEqual([line["advantages"] for line in lines[1:3]], [[0.3], None])

    def test_verl(self) -> None:
        """verl: the columns of its files, and the tokens"""
        lines = self.lines("tr.with_tokens", "verl")
        self.assertAlmostEqual(lines[0]["extra_info"].pop("advantage"), 0.66 - 2.78 / 7)
        self.assertEqual(lines[0], {
            "data_source": "tr.with_tokens", "prompt": [SYSTEM, user("door")], "ability": "agent",
            "reward_model": {"style": "rule", "ground_truth": "left"},
            "extra_info": {"index": 0, "split": "train", "task_id": "T", "rollout_id": "a", "step_no": 0, "step_id": 1},
            "prompt_ids": [1, 2], "response_ids": [5, 6, 7], "response_mask": [1, 0, 1], "response_logprobs": [-0.5, -1, -2],
            "advantages": [0.26285714, 0, 0.26285714]})
        self.assertEqual((lines[1]["extra_info"]["index"], lines[1]["response_mask"]), (1, [1]))

    def test_pairs(self) -> None:
        """dpo: push over pull in the state door, 2/3 over 0; hall has one rollout for each action"""
        (line,) = self.lines("tr.steps_rtmc", "dpo")
        self.assertEqual(line["prompt"], [SYSTEM, user("door")])
        self.assertEqual(line["chosen"], [{"role": "assistant", "content": "I push.", "tool_calls": [PUSH]}])
        self.assertEqual(line["rejected"], [{"role": "assistant", "content": "pull"}])
        self.assertEqual([line[k] for k in ("task_id", "chosen_rollout_id", "chosen_step_id", "rejected_rollout_id", "rejected_step_no",
                                            "rejected_step_id", "n_chosen_visits", "n_rejected_visits", "same_prompt")],
                         ["T", "a", 1, "c", 0, 5, 3, 2, False])
        self.assertAlmostEqual(line["gap"], 2 / 3)
        self.assertEqual(self.export("tr.steps_rtmc", "dpo", "--min-gap", "0.7").status, 3)
        (line,) = self.lines("tr.steps_batch_td", "dpo", "--columns", "", "--min-gap", "0.5", "--min-visits", "1")
        self.assertEqual(sorted(line), ["chosen", "prompt", "rejected"])

    def test_pairs_of_selections(self) -> None:
        """dpo: a selection has pairs for the states of its steps; a turn is a step"""
        for relation in ("tr.pulls", "tr.doors", "tr.doors_again", "tr.steps_batch_td"):
            (line,) = self.lines(relation, "dpo")
            self.assertEqual((line["chosen_step_id"], line["rejected_step_id"]), (1, 5), relation)
        self.assertEqual(self.export("tr.lefts", "dpo").status, 3)
        first, second = (self.lines(r, "dpo")[0] for r in ("tt.steps_rtmc", "tt.second"))
        self.assertEqual(first, second)
        self.assertEqual(self.export("tt.last", "dpo").status, 3)

    def test_process(self) -> None:
        """prm: q of each step is 0.66 and 1 (a), 0.66 and 1 (b), 0 (c), 0.66 and 0 (d), 0 (e)"""
        lines = self.lines("tr.steps_rtmc", "prm")
        for line, q in zip(lines, ([0.66, 1], [0.66, 1], [0], [0.66, 0], [0]), strict=True):
            for target, expected in zip(line["targets"], q, strict=True):
                self.assertAlmostEqual(target, expected)
            self.assertEqual(line["labels"], [x > 0 for x in q])
        self.assertEqual((lines[0]["prompt"], lines[0]["step_nos"], lines[0]["rollout_id"]), ("Find the exit.\n\ndoor", [0, 2], "a"))
        self.assertEqual(lines[0]["completions"][1], "hall\ngo left")
        (line, *_) = self.lines("tr.steps_rtmc", "prm", "--columns", "")
        self.assertEqual(sorted(line), ["completions", "labels", "prompt"])

    def test_columns(self) -> None:
        """steps: columns unchanged, with any texts; GRPO of 1 and 0 is 0.70710578"""
        lines = self.lines("texts.steps_grpo", "steps")
        self.assertEqual(len(lines), 4)
        self.assertAlmostEqual(lines[0].pop("advantage"), 0.70710578)
        self.assertEqual(lines[0], {
            "group_id": "g", "rollout_id": "a", "step_no": 0, "step_id": 1, "observation": "two\nlines\r\n\ttab",
            "action": 'a "quote", a back\\slash, \\n no line', "tool": None, "args": {"path": "C:\\new"}, "prompt_token_ids": [1, 2],
            "response_token_ids": [5, 6, 7], "response_mask": [True, False, True], "rollout_logprobs": [-0.5, -1, -2],
            "advantages": [0.70710576, 0, 0.70710576]})
        self.assertEqual((lines[1]["observation"], lines[1]["action"]), ("ä→🙂\u2028\x01\x02", "\\."))
        self.assertEqual([line["advantages"] for line in lines[1:]], [[0.70710576] * 2, None, []])
        self.assertEqual(sorted(self.lines("texts.steps_grpo", "steps", "--columns", "turn")[0]),
                         ["advantage", "advantages", "group_id", "rollout_id", "step_id", "step_no", "turn"])

    def test_order(self) -> None:
        """steps: numbers are ordered as numbers, names are names"""
        lines = self.lines("tr.tokens", "steps", "--group-by", "task", "--columns", 'select "%s,step_no')
        self.assertEqual([x["advantages"] for x in lines], [[], None, [0, 0.5, 0.5], [-0.5] * 2], "on the tokens of the mask, or on all")
        self.assertEqual([(x["step_id"], x['select "%s']) for x in lines], [(4, "d"), (3, "a"), (1, "b"), (2, "c")])

    def test_names(self) -> None:
        """hostile names are quoted"""
        relation, group = '"my schema; --"."Adv""; %s"', "g'; %s --"
        options = ["--group-by", group, "--columns", "$$a$$"]
        self.assertEqual([x["step_id"] for x in self.lines(relation, "steps", *options)], [4, 3, 1, 2])
        lines = self.lines(relation, "prompt_completion", *options, "--steps", relation)
        self.assertEqual([len(x["prompt"]) for x in lines], [1, 1, 3, 1])

    def test_chats(self) -> None:
        """messages are exported as they were imported"""
        documents = self.connection.execute("SELECT d.r FROM docs, jsonb_array_elements(document::jsonb) d(r)").fetchall()
        original = {f"chat-t{d['trial']}": d["messages"] for (d,) in documents}
        lines = self.lines("chats.steps_grpo", "prompt_completion")
        self.assertEqual(len(lines), 7)
        for line in lines[:6]:
            told = line["prompt"] + line["completion"]
            self.assertEqual(told, original[line["rollout_id"]][: len(told)])
        self.assertEqual([len(x["prompt"]) for x in lines], [2, 5, 5, 8, 10, 2, 1])
        # Messages with a content that looks like a mark are not kept as imported.
        self.assertEqual(lines[6]["prompt"], [user('{"observation": 0}')])

    def test_conversations_with_holes(self) -> None:
        """a conversation with a hole is an error with the rollout's name"""
        for statement, problem in (
            ("DELETE FROM tr.steps WHERE step_id = 3; UPDATE tr.steps SET turn = 2 WHERE step_id = 4", "step 1 of rollout b has no step of turn 0"),
            ("UPDATE tr.steps SET turn = 3 WHERE step_id = 4", "step 1 of rollout b has no step of turn 1"),
            ("UPDATE tr.steps SET observation = NULL WHERE step_id = 5", "step 0 of rollout c has nothing before step 0"),
            ("UPDATE tr.steps SET action = NULL WHERE step_id = 5", "step 0 of rollout c has no action of step 0"),
            ("UPDATE tr.steps SET observation = NULL WHERE step_id = 4", "step 1 of rollout b has no result of the call of step 0"),
        ):
            self.changed(statement, f"the conversation of {problem}", "tr.steps_rtmc", "messages", "--keep-negative")
        self.changed("DELETE FROM chats.steps WHERE (rollout_id, turn) = ('chat-t0', 0)", "has no step of turn 0", "chats.steps_grpo", "messages", "--keep-negative")
        self.changed("INSERT INTO chats.steps (group_id, rollout_id, step_no, turn, observation, action) VALUES ('chat', 'chat-t1', 1, 1, 'Think!', 'I do.')",
                     "step 1 of rollout chat-t1 has no turn 1", "chats.steps_grpo", "messages", "--keep-negative")

    def test_refusals(self) -> None:
        """invalid combinations are errors"""
        self.refused('relation "tr.steps_rmtc" does not exist; perhaps you meant "steps_rtmc"$', "tr.steps_rmtc", "steps")
        self.refused("not a table or view", "tr.steps_step_id_seq", "steps")
        self.refused("rows for verl need tokens: step 0 of rollout b has none", "tr.steps_rtmc", "verl")
        self.refused("tr.plain has no column prompt_token_ids", "tr.plain", "verl")
        self.refused('column "step_no" does not exist in tr.rollouts', "tr.plain", "messages", "--steps", "tr.rollouts", "--keep-negative")
        self.refused("the columns of the group of tr.copied are not known", "tr.copied", "steps")
        self.refused("pairs compare all steps of a group, but those of tr.copied are not known", "tr.copied", "dpo", "--group-by", "task_id")
        self.refused("task_id", "tr.nameless", "dpo", "--group-by", "task")
        self.refused("--columns takes no names for dpo", "tr.steps_rtmc", "dpo", "--columns", "step_no")
        self.refused("has no column q", "tr.steps_grpo", "prm")
        self.refused("step 0 of rollout a has no q in tr.lacking", "tr.lacking", "prm")
        self.refused('perhaps you meant "action"', "tr.steps_rtmc", "steps", "--columns", "actions")
        self.refused('column "advantages" has the name', "tr.named", "steps", "--group-by", "task_id", "--columns", "advantages")
        self.refused('column "prompt" has the name', "tr.named", "prompt_completion", "--group-by", "task_id", "--columns", "prompt", "--steps", "tr.steps", "--keep-negative")
        self.refused("its type is text", "tr.worded", "steps", "--group-by", "task_id")
        self.refused("of step 0 of rollout a is not a finite number", "tr.infinite", "steps", "--group-by", "task_id")
        self.assertEqual(len(self.lines("tr.plain", "messages", "--steps", "tr.steps")), 8)

    def test_negative(self) -> None:
        """steps to imitate must not have negative advantages, except with --keep-negative"""
        n = self.value("SELECT count(*) FROM tr.steps_rtmc WHERE advantage < 0")
        for shape in ("messages", "prompt_completion"):
            self.refused(f"{n} of 8 steps of tr.steps_rtmc have a negative advantage.*sign => 'positive'.*--keep-negative", "tr.steps_rtmc", shape)
        self.assertEqual(self.export("tr.rounded", "messages", "--steps", "tr.steps", "--group-by", "task_id").err, "", "as good as 0")
        said = self.export("tr.best", "messages", "--columns", "advantage")
        self.assertEqual(said.status, 0, said.err)
        self.assertEqual(len(said.out.splitlines()), 8 - n)
        for line in said.out.splitlines():
            self.assertGreater(json.loads(line)["advantage"], 0)

    def test_empty(self) -> None:
        """without lines, no file is made, and the error says why"""
        path = self.folder / "lines.jsonl"
        self.refused("tr.none has no rows; stepadv.explain_selection", "tr.none", "steps", "-o", str(path), status=3)
        self.refused("none of the 1 step of tr.unjudged has an advantage", "tr.unjudged", "messages", "--group-by", "task_id", status=3)
        self.refused("--min-visits.*--min-gap", "tr.steps_rtmc", "dpo", "--min-gap", "0.9", status=3)
        self.assertFalse(path.exists())

    def test_file(self) -> None:
        """a file appears only when it is complete"""
        path = self.folder / "lines.jsonl"
        said = self.export("tr.steps_rtmc", "steps", "-o", str(path))
        self.assertEqual((said.status, said.out, said.err), (0, "", f"8 lines of shape steps in {path}\n"))
        before = path.read_text()
        self.assertEqual(path.stat().st_mode & 0o777, 0o666 & ~umask())
        # A rollout in the middle has no tokens: the error comes after some lines.
        self.refused("step 0 of rollout b has none", "tr.steps_rtmc", "verl", "-o", str(path))
        self.refused("step 0 of rollout b has none", "tr.steps_rtmc", "verl", "-o", str(self.folder / "other.jsonl"))
        self.assertEqual(path.read_text(), before)
        self.assertEqual(os.listdir(self.folder), ["lines.jsonl"])
        self.refused("No such file or directory", "tr.steps_rtmc", "steps", "-o", str(self.folder / "no" / "x"))
        self.assertEqual(self.export("tr.steps_rtmc", "steps", "-o", "/dev/null").status, 0)

    def test_rights(self) -> None:
        """relations that the caller may not read are refused"""
        self.connection.execute("DROP ROLE IF EXISTS exporter")
        self.connection.execute("CREATE ROLE exporter LOGIN; GRANT USAGE ON SCHEMA tr TO exporter; GRANT SELECT ON tr.copied TO exporter")
        try:
            as_role = ["-U", "exporter", "--group-by", "task_id"]
            self.refused("permission denied for view steps_rtmc: ask its owner for it, or use another user", "tr.steps_rtmc", "steps", *as_role)
            self.assertEqual(len(self.lines("tr.copied", "steps", *as_role)), 8)
            self.refused("permission denied for table steps", "tr.copied", "messages", *as_role, "--steps", "tr.steps", "--keep-negative")
        finally:
            self.connection.execute("DROP OWNED BY exporter; DROP ROLE exporter")

    def test_memory(self) -> None:
        """the client holds only some rows in memory"""
        self.connection.execute("CREATE TABLE IF NOT EXISTS tr.many AS SELECT 't' AS task_id, i / 10 AS rollout_id, i % 10 AS step_no, i AS step_id, 0.5 AS advantage,"
                                " repeat('seen ', 500) || i AS observation, repeat('done ', 100) AS action FROM generate_series(0, 4999) i")
        self.connection.execute("CREATE INDEX IF NOT EXISTS many_i ON tr.many (task_id, rollout_id)")

        def most(*options: str) -> tuple[int, int]:
            """The size of the file, and the largest memory in kB."""
            code = ("import resource, sys; sys.path.insert(0, sys.argv.pop(1)); from stepadv.cli import main; status = main(sys.argv[1:]);"
                    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(status)")
            out = self.folder / "many.jsonl"
            ran = subprocess.run(["/usr/bin/python3", "-c", code, str(Path(PROGRAM).parents[1]), "export", "-o", str(out), *options],
                                 env=environment(), capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return len(out.read_bytes()), int(ran.stderr.splitlines()[-1])

        _, least = most("--group-by", "task_id", "tr.plain")
        size, used = most("--shape", "messages", "--group-by", "task_id", "--steps", "tr.many", "tr.many")
        self.assertGreater(size, 70_000_000)
        self.assertLess(used - least, 30_000)


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
