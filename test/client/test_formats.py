"""The example files of every format in test/data/import: loaded rows agree with an independent count."""

import json
import re
from collections import Counter

from support import DATA, Case

Counts = tuple[int, int, int]  # rollouts, steps, calls


def documents(path):
    text = path.read_text()
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def of_messages(messages, calls=lambda m: len(m.get("tool_calls") or m.get("function_call", {}) and [1])):
    said = [m for m in messages if m.get("role") == "assistant"]
    return 1, sum(calls(m) or 1 for m in said), sum(calls(m) for m in said)


def blocks(message):
    content = message.get("content")
    used = [b for b in content if b.get("type", "").endswith("tool_use")] if isinstance(content, list) else []
    return len(used)


def chat(d):
    records = d if isinstance(d, list) and "role" not in d[0] else [d]
    return [of_messages(r if isinstance(r, list) else r.get("traj") or r["messages"]) for r in records]


def anthropic(d):
    return [of_messages(d["messages"] if isinstance(d, dict) else d, blocks)]


def swe(d):
    return [(1, len(d["trajectory"]), len(d["trajectory"]))]


def mini(d):
    if any("tool_calls" in m for m in d["messages"]):
        return [of_messages(d["messages"])]
    said = [m["content"] for m in d["messages"] if m["role"] == "assistant"]
    return [(1, len(said), sum(text.count("```") == 2 for text in said))]


def responses(d):
    """Counts turns, which end when a result arrives."""
    items = [
        {**({"output": i["output"]} if "output" in i else {}), **i["raw_item"]} for i in d["new_items"]
    ] if "new_items" in d else d["response"]["output"]
    calls = [i for i in items if re.fullmatch(r"(\w+_call)", i.get("type", "")) and set(i) - {"type", "id", "status"}]
    words, after = 0, []
    for i in [*items, {"type": "x_output"}]:
        if i.get("type", "message").endswith("_output"):
            words += "message" in after and "call" not in after
            after = []
        elif i in calls:
            after.append("call")
        elif i.get("type", "message") == "message" and i.get("role") == "assistant":
            after.append("message")
    return [(1, len(calls) + words, len(calls))]


def verl(d):
    calls = re.findall(r"<tool_call>\n(.*?)\n</tool_call>", d["output"], re.S)
    answer = re.sub(r"<\|.*?\|>", "", d["output"].rpartition("</tool_call>")[2]).rpartition("assistant\n")[2].strip()
    return [(1, len(calls) + bool(answer), sum(c.startswith('{"name"') for c in calls))]


def intercode(d):
    found = [len(e["turn_history"]["actions"]) for e in d.get("logs", d).values()]
    return [(1, n, n) for n in found]


def inspect(d):
    samples = [d["sample"]] if "sample" in d else d["samples"]
    return [of_messages(s["messages"]) for s in samples]


def openhands(d):
    events = d if isinstance(d, list) else d["history"]
    own = [e for e in events if e.get("source") == "agent" and ("action" in e or e.get("kind") == "MessageEvent") and e.get("action") != "recall"]
    return [(1, len(own), sum(e.get("kind") != "MessageEvent" for e in own))]


def atif(d):
    turns = [len(s.get("tool_calls") or []) for s in d["steps"] if s["source"] == "agent"]
    return [(1, sum(n or 1 for n in turns), sum(turns))]


def tau2(d):
    said = [[len(m.get("tool_calls") or []) for m in s["messages"] if m["role"] == "assistant"] for s in d.get("simulations", [d])]
    return [(1, sum(n or 1 for n in calls), sum(calls)) for calls in said]


def verifiers(d):
    return [of_messages(d["completion"])] if isinstance(d["completion"], list) else [(1, 1, 0)]


def records(d):
    return [(0, 1, 0) for _ in (d if isinstance(d, list) else [d])]


def agent_r1(d):
    return [(1, len(d["steps"]), 0)]


COUNT = {
    "openai_chat": chat, "anthropic": anthropic, "swe_agent": swe, "mini_swe_agent": mini, "responses": responses,
    "agents": responses, "verl": verl, "intercode": intercode, "inspect": inspect, "openhands": openhands, "atif": atif,
    "tau2": tau2, "verifiers": verifiers, "trl": lambda d: [(1, 1, 0)], "agent_r1": agent_r1, "claw_r1": records,
}  # fmt: skip
FORMAT = {"anthropic": "openai_chat", "agents": "responses"}
# Counted by hand: text, or many documents per rollout.
BY_HAND = {
    "otel/genai.json": (2, 5, 3), "otel/genai_lines.jsonl": (2, 5, 3), "otel/phoenix.json": (2, 3, 2),
    "langfuse/traces.json": (2, 4, 2), "langfuse/traces.jsonl": (2, 4, 2), "langfuse/download.json": (1, 2, 1), "react/hotpot.txt": (3, 5, 4),
    "react/shop.txt": (2, 4, 4), "steps/door.jsonl": (4, 4, 1), "claude_code/session.jsonl": (1, 3, 2), "claude_code/printed.jsonl": (1, 2, 1),
    "codex/rollout.jsonl": (1, 3, 2), "harbor/result.json": (1, 0, 0), "claw_r1/steps_1.jsonl": (2, 4, 0), "claw_r1/steps_2.jsonl": (1, 1, 0),
}  # fmt: skip


class Formats(Case):
    def check(self, path, expected: Counts) -> None:
        name, folder = f"{path.parent.name}/{path.name}", path.parent.name
        self.loaded(path)
        found = self.lines("SELECT (SELECT count(*) FROM t.rollouts), (SELECT count(*) FROM t.steps), (SELECT count(tool) FROM t.steps)")
        self.assertEqual(found, "|".join(map(str, expected)), name)
        again = self.loaded(path)
        self.assertEqual(again.count("rollouts_added", "rollouts_updated", "steps_added"), "0 0 0", name)
        format = FORMAT.get(folder, folder)
        told = self.load("--explain", path).out
        if format == "react":
            self.assertIn("react: fits", told)
        else:
            self.assertRegex(told, rf"(?s)^  |\n  {format}: fits\n")
            self.assertEqual(re.findall(r"^  (\w+): fits$", told, re.M), [format], name)
            self.assertIn(f"it is loaded as {format}", told)
        self.assertIn("task " if expected[1] else "harbor: fits", self.load("--preview", path).out, name)
        self.connection.execute("DELETE FROM t.rollouts")

    def test_examples(self):
        """each example is loaded, counted, recognized as one format, and adds nothing when it is loaded again"""
        folders = {p.parent.name for p in DATA.glob("*/*")}
        for path in sorted(DATA.glob("*/*")):
            by_hand = BY_HAND.get(f"{path.parent.name}/{path.name}")
            with self.subTest(path.name):
                if by_hand is None:
                    found = [c for d in documents(path) for c in COUNT[path.parent.name](d)]
                    by_hand = tuple(map(sum, zip(*found, strict=True)))
                self.check(path, by_hand)
        from stepadv.importing.formats import NAMES

        self.assertEqual({FORMAT.get(f, f) for f in folders}, set(NAMES), "there are examples of each format")

    def test_chat(self):
        """a conversation: calls of one turn, results by their ids, invalid JSON as arguments, thoughts"""
        said = self.loaded(DATA / "openai_chat/trials.json")
        self.assertEqual(said.count("stepless_rollouts", "arguments that are not JSON", "system messages"), "1 1 1")
        self.assertEqual(self.lines("""SELECT rollout_id, turn, observation, next_observation, tool, args, ok, metadata::text FROM t.steps ORDER BY step_no"""), "\n".join([
            '7-t0|0|Hello||||' + '|{"thought": "polite"}',
            "7-t0|1|Find my\nbag|{\"bag\": 5}|find_bag|{'n': [1, 2], 'color': 'red'}|t|{\"text\": \"I look.\"}",
            "7-t0|1|Find my\nbag|Error: bad arguments|find_owner||f|",
            "7-t0|2|Error: bad arguments\n{\"bag\": 5}|###STOP###||||"]))
        self.assertEqual(self.lines("SELECT task_id, rollout_id, outcome, success, metadata -> 'info' FROM t.rollouts ORDER BY 2"),
                         "7|7-t0|1.0|t|{'k': 1}\n7|7-t1|0.0|f|")
        self.assertEqual(self.value("SELECT count(DISTINCT state) FROM t.steps WHERE turn = 1"), 1)
        self.loaded(DATA / "openai_chat/plain.jsonl")
        self.assertEqual(self.lines("SELECT tool, args, next_observation FROM t.steps WHERE tool = 'add'"), "add|{'a': 2}|5")
        groups = "SELECT count(*), bool_or(success), max(model) FROM t.rollouts WHERE task_id NOT LIKE '7%' GROUP BY task_id ORDER BY 1"
        self.assertEqual(self.lines(groups), "1||\n2|f|m")

    def test_scaffolds(self):
        """SWE-agent, mini-swe-agent, NeMo Gym: commands, exit codes, limits"""
        self.loaded(DATA / "mini_swe_agent")
        self.assertEqual(self.lines("SELECT task_id, rollout_id, model, truncated FROM t.rollouts ORDER BY 1"),
                         "own__proj-1|own__proj-1 / mini_swe_agent|g3|f\nown__proj-2|own__proj-2 / mini_swe_agent||t")
        self.assertEqual(self.lines("SELECT turn, tool, args ->> 'command', ok FROM t.steps WHERE task_id = 'own__proj-1' ORDER BY step_no"),
                         "0|bash|ls -la \\\n  /tmp|f\n1|||f\n2|||f\n3|bash|pwd|t")
        self.connection.execute("DELETE FROM t.rollouts")
        self.loaded(DATA / "responses/gym.jsonl")
        self.assertEqual(self.lines("SELECT rollout_id, turn, observation, tool, args, next_observation, metadata ->> 'thought' FROM t.steps ORDER BY rollout_id DESC, step_no"), "\n".join([
            "shop/task3-1|0|seen|a|{'x': 1}|one|why", "shop/task3-1|0|seen|b|{}||", "shop/task3-1|1|one|||" + "|",
            "resp_2|0|a question|||" + "|"]))
        self.assertEqual(self.lines("SELECT outcome, success, model FROM t.rollouts ORDER BY outcome"), "0.5|f|m5\n1.0|t|")
        self.connection.execute("DELETE FROM t.rollouts")
        # A number alone does not identify a task; lists that repeat a conversation after each turn are one.
        said = {"role": "assistant", "content": "yes"}
        for number, asked in enumerate(("Is it red?", "Is it blue?", "Is it blue?")):
            items = [{"role": "user", "content": asked}, said, {"role": "user", "content": "Sure?"}, said]
            line = {"_ng_task_index": number // 2, "_ng_rollout_index": 0, "response": {"output": [items[:2], items]}}
            line |= {"responses_create_params": {"input": [items[0] | {"role": "system"}]}, "trajectory": [{"action": "x", "observation": "y"}]}
            self.loaded(self.write(f"{number}/data/rollouts.jsonl", json.dumps(line)))
        steps = "SELECT count(DISTINCT task_id), string_agg(observation, ' ' ORDER BY step_no, observation) FROM t.steps"
        self.assertEqual(self.lines(steps), "3|Is it blue? Is it blue? Is it red? Sure? Sure? Sure?")
        twice = 2 * '{"response": {"id": "x", "output": []}, "reward": 0}\n'
        self.assertIn("without a step: 1 of 1 rollout:", self.loaded(self.write("twice.jsonl", twice)).out)
        line["response"]["output"].append([said])
        self.refused("output is a list of lists, and the last does not begin with", self.write("cut.jsonl", json.dumps(line)))

    def test_react(self):
        """logs of ReAct agents: copies of solved rollouts, trials, scores"""
        said = self.loaded(DATA / "react")
        self.assertEqual(said.count("copies of rollouts that were done in an earlier trial", "actions that are not calls"), "1 1")
        self.assertIn("rollouts listed twice (1)", said.out)
        self.assertEqual(self.lines("""SELECT regexp_replace(rollout_id, '[0-9a-f]{16}', '#'), outcome, success, truncated, metadata ->> 'status'
            FROM t.rollouts ORDER BY metadata ->> 'question' DESC NULLS LAST, metadata ->> 'trial', task_id"""), "\n".join([
            "react--hotpot-#-t1|1.0|t|f|CORRECT", "react--hotpot-#-t1|0.0|f|f|INCORRECT", "react--hotpot-#-t2|0.0|f|t|HALTED",
            "react--shop-fixed_1|0.75|f|f|", "react--shop-fixed_2|0.0|f|t|"]))
        self.assertEqual(self.lines("SELECT turn, observation, tool, args ->> 'arg', ok, metadata ->> 'thought' FROM t.steps WHERE rollout_id ~ 'shop-fixed_1' ORDER BY step_no"),
                         "0|\nShop \n[Search]|search|mic|t|\n1|\n[Mic]|think|Nice.|t|\n2|OK.|click|Buy Now|t|".replace("[Search]", "[Search] ").replace("[Mic]", "[Mic] "))

    def test_inspect(self):
        """Inspect: C, I, P and numbers of the first scorer, epochs, limits, errors of calls"""
        self.loaded(DATA / "inspect/rooms.json")
        self.assertEqual(self.lines("SELECT task_id, rollout_id, outcome, success, truncated, model, run_id FROM t.rollouts ORDER BY 2"), "\n".join([
            "rooms/1|s1e1|1.0|t|f|lab/m1|run1", "rooms/1|s1e2|0.0|f|f|lab/m1|run1", "rooms/two|stwoe1|0.5|f|t|lab/m1|run1",
            "rooms/two|stwoe2|0.25|f|f|lab/m1|run1"]))
        self.assertEqual(self.lines(f"SELECT turn, tool, args, ok, told FROM ({TOLD}) s WHERE tool IS NOT NULL ORDER BY rollout_id, step_no"), "\n".join([
            "0|look|{'at': 'door'}|t|a red door", "0|feel|{'at': 'handle'}|t|cold", "0|bash|{'cmd': 'open'}|f|it took too long"]))

    def test_openhands(self):
        """OpenHands: observations by their cause, turns by answers of the model, reports of an evaluation"""
        self.loaded(DATA / "openhands/trajectory.json")
        self.assertEqual(self.lines(f"SELECT turn, tool, ok, told, metadata ->> 'thought' FROM ({TOLD}) s ORDER BY step_no"), "\n".join([
            "0|execute_bash|f|ls: nothing|Let me look.", "0|str_replace_editor|t|x = 1|", "1|str_replace_editor|f|no such text|", "2|finish|||"]))
        self.connection.execute("DELETE FROM t.rollouts")
        self.loaded(DATA / "openhands/events_v1.json")
        self.assertEqual(self.lines(f"SELECT turn, tool, args, ok, told FROM ({TOLD}) s ORDER BY step_no"),
                         "0|terminal|{'command': 'ls'}|t|a.py\n0|terminal|{'command': 'pwd'}|f|not allowed\n1||||")
        self.connection.execute("DELETE FROM t.rollouts")
        self.loaded(DATA / "openhands/output.jsonl")
        self.assertEqual(self.lines("SELECT task_id, rollout_id, success FROM t.rollouts ORDER BY 2"),
                         "own__proj-1|own__proj-1 / openhands|t\nown__proj-2|own__proj-2 / openhands|f")

    def test_atif(self):
        """ATIF: each step of the agent is a turn; tokens and metrics at the first step of their turn"""
        self.loaded(DATA / "atif/trajectory.json")
        self.assertEqual(self.lines(f"SELECT turn, tool, ok, told FROM ({TOLD}) s ORDER BY step_no"), "0|bash|t|a.py\n0|bash|t|/w\n1|edit|f|Error: locked\n2|||")
        self.assertEqual(self.lines("SELECT turn, prompt_token_ids, response_token_ids, rollout_logprobs::text, metadata -> 'metrics' FROM t.steps WHERE step_no = 0"),
                         "0||[7, 8]|{-0.1,-0.2}|{'prompt_tokens': 5, 'completion_tokens': 2}")
        self.assertEqual(self.lines("SELECT task_id, outcome, started_at::date FROM t.rollouts"), "fix|1.0|2026-02-04")

    def test_intercode(self):
        """InterCode: logs with refined plans; the outcome is the best score"""
        self.loaded(DATA / "intercode/refine.json")
        self.assertEqual(self.lines("""SELECT r.outcome, r.success, r.metadata ->> 'query', string_agg(s.reward || '/' || s.ok, ', ' ORDER BY step_no)
            FROM t.rollouts r JOIN t.steps s USING (run_id, policy_version, task_id, rollout_id) GROUP BY 1, 2, 3, r.rollout_id ORDER BY r.rollout_id"""),
                         "1.0|t|Count the doors|0.25/true, 1/true\n0.5|f|Name the cellar|0/false, 0/false, 0.5/true")

    def test_sessions(self):
        """session logs of Claude Code and Codex: parts of an answer are one turn, sub-agents are not rollouts"""
        self.loaded(DATA / "claude_code/printed.jsonl")
        self.assertEqual(self.lines(f"SELECT turn, tool, told, action LIKE 'There%%' FROM ({TOLD}) s ORDER BY step_no"), "0|Bash|sum.py|f\n1|||t")
        self.assertEqual(self.lines("SELECT rollout_id, model, truncated, metadata -> 'sub_agents' FROM t.rollouts"), "p-1|lab-1|t|1")
        self.connection.execute("DELETE FROM t.rollouts")
        mode = '{"type": "permission-mode", "permissionMode": "default", "sessionId": "s-1"}\n'
        said = self.loaded(self.write("session.jsonl", mode + (DATA / "claude_code/session.jsonl").read_text()))
        self.assertEqual(said.count("messages of sub-agents", "messages of the program"), "2 1")
        self.assertEqual(self.lines(f"SELECT turn, tool, args, ok, told, metadata ->> 'thought' FROM ({TOLD}) s ORDER BY step_no"), "\n".join([
            "0|Read|{'file_path': '/w/sum.py'}|f|<tool_use_error>File does not exist.</tool_use_error>|I look first.",
            "0|Task|{'prompt': 'Look around.'}|t|Nothing here.|", "1|||||"]))
        self.assertEqual(self.lines("SELECT rollout_id, model, metadata ->> 'prompt', metadata -> 'sub_agents', ended_at - started_at, outcome FROM t.rollouts"),
                         "s-1|lab-1|Fix the sum.|1|0:00:09|")
        self.connection.execute("DELETE FROM t.rollouts")
        said = self.loaded(DATA / "codex")
        self.assertEqual(self.lines(f"SELECT turn, tool, ok, metadata ->> 'thought' FROM ({TOLD}) s ORDER BY step_no"), "0|shell|f|List, then count.\n1|apply_patch|t|\n2|||")
        self.assertEqual(self.lines("SELECT rollout_id, model, metadata ->> 'prompt', ended_at - started_at FROM t.rollouts"), "cx-1|lab-3|Count the files.|0:00:04.100000")
        # In early versions an item was a line, and the first line the session.
        with open(DATA / "codex/rollout.jsonl") as lines:
            records = [json.loads(line) for line in lines]
        early = [record["payload"] for record in records if record["type"] in ("session_meta", "response_item")]
        early[1:1] = [{"record_type": "state"}]
        self.connection.execute("DELETE FROM t.rollouts")
        said = self.loaded(self.write("early.jsonl", "".join(json.dumps(line) + "\n" for line in early)))
        self.assertEqual(self.lines(f"SELECT turn, tool, ok, metadata ->> 'thought' FROM ({TOLD}) s ORDER BY step_no"), "0|shell|f|List, then count.\n1|apply_patch|t|\n2|||")
        self.assertEqual(self.lines("SELECT rollout_id, metadata ->> 'prompt', started_at::time, ended_at FROM t.rollouts"), "cx-1|Count the files.|09:00:00|")
        self.assertEqual(said.count("lines of the program", "system messages"), "2 1")

    def test_eval(self):
        """an .eval file: a zip, of which each sample is read separately"""
        import zipfile

        log = json.loads((DATA / "inspect/rooms.json").read_text())
        samples = log.pop("samples")
        path = self.folder / "rooms.eval"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", json.dumps(log, indent=1))
            for s in samples:
                archive.writestr(f"samples/{s['id']}_epoch_{s['epoch']}.json", json.dumps(s, indent=1))
        self.loaded(self.folder)
        from_zip = self.lines("SELECT task_id, rollout_id, outcome, metadata - 'source' FROM t.rollouts ORDER BY 2")
        self.connection.execute("DELETE FROM t.rollouts")
        self.loaded(DATA / "inspect/rooms.json")
        self.assertEqual(self.lines("SELECT task_id, rollout_id, outcome, metadata - 'source' FROM t.rollouts ORDER BY 2"), from_zip)
        self.assertEqual(Counter(from_zip)["\n"], 3)


TOLD = "SELECT *, coalesce(next_observation, lead(observation) OVER (PARTITION BY rollout_id ORDER BY step_no)) AS told FROM t.steps"
