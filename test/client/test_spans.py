"""Spans, observations, items and step records, with values by hand."""

import gzip
import json
import re

from support import DATA, Case

STEPS = """SELECT rollout_id, turn, coalesce(tool, '-'), coalesce(CASE WHEN tool IS NULL THEN action ELSE args::text END, '-'), ok, coalesce(observation, '-'), reward
    FROM t.steps ORDER BY rollout_id, step_no"""
ROLLOUTS = """SELECT task_id, rollout_id, policy_version, outcome, success, model, to_char(started_at, 'HH24:MI:SS'), extract(epoch FROM ended_at - started_at)::int
    FROM t.rollouts ORDER BY rollout_id"""
A, B = "0af7651916cd43dd8448eb211c80319a", "0af7651916cd43dd8448eb211c80319b"
GENAI = "\n".join([
    f'{A}|0|get_weather|{{"city": "Oslo"}}|t|What is the weather in Oslo and in Rome?|',
    f'{A}|0|get_weather|{{"city": "Rome"}}|f|What is the weather in Oslo and in Rome?|',
    f"{A}|1|-|Oslo has snow; of Rome I know nothing.||snow, -3\ntimed out|", f'{B}|0|get_weather|{{"city": "Oslo"}}|t|-|', f"{B}|1|-|-||-|"])


class Spans(Case):
    def again(self):
        self.connection.execute("DELETE FROM t.rollouts")

    def test_genai(self):
        """OpenTelemetry, GenAI: turns by time, results by the call's id, a model within a tool is not a step, traces over lines and files"""
        for name in ("genai.json", "genai_lines.jsonl"):
            self.again()
            said = self.loaded(DATA / "otel" / name)
            self.assertEqual(self.lines(STEPS), GENAI, name)
            self.assertEqual(self.lines(ROLLOUTS), f"weather-1|{A}|v7|0.5|f|m-1|10:00:00|9\nweather-1|{B}|v7|1.0|t|m-1|10:00:20|9")
            self.assertEqual(self.lines("""SELECT metadata -> 'input_tokens', metadata -> 'output_tokens', metadata ->> 'system_prompt', metadata ->> 'session', metadata -> 'scores'
                FROM t.rollouts ORDER BY rollout_id"""), "130|42|You tell the weather.|conv-1|{'reward': 0.5}\n93|16||conv-2|{'correctness': 'pass'}")
            self.assertEqual(self.lines(f"SELECT turn, metadata ->> 'span_id', metadata -> 'input_tokens', metadata ->> 'started_at', metadata ->> 'thought' FROM t.steps WHERE rollout_id = '{A}' ORDER BY step_no"),
                             "0|a000000000000002|40|2026-02-01T10:00:01.000000Z|Two cities, two calls.\n0|a000000000000002|40|2026-02-01T10:00:01.000000Z|\n1|a000000000000005|90|2026-02-01T10:00:06.000000Z|")
            self.assertEqual(said.count("calls of the model that failed", "spans within a call of a tool"), "1 1")
        parts = (DATA / "otel/genai_lines.jsonl").read_text().splitlines(True)
        for n, part in enumerate(parts):
            self.write(f"parts/{n}.jsonl", part)
        self.again()
        self.refused(rf"0\.jsonl: document 1: no span of trace {A} says its task, its session or what was asked, and its first span is not here: cat FILES \| stepadv import - takes", self.folder / "parts")
        self.again()
        self.loaded("-", stdin=gzip.compress("".join(parts).encode()))
        self.assertEqual(self.lines(STEPS), GENAI)
        self.again()
        batches = [json.dumps(batch) + "\n" for part in parts for batch in json.loads(part)["resourceSpans"]]
        self.loaded("-", stdin="".join(batches).encode())
        self.assertEqual(self.lines(STEPS), GENAI, "each batch alone")
        self.assertEqual(self.value("SELECT string_agg(DISTINCT metadata ->> 'source', ',') FROM t.rollouts"), "stdin")
        broken = self.write("broken.jsonl", "".join(parts) + '{"resourceSpans": [\n')
        self.refused(r"broken\.jsonl: line 4: invalid JSON.*-k loads the other 2", broken)

    def test_phoenix(self):
        """OpenInference: numbered messages, rewards of spans, judges are not steps; the task by its id, the session or the question"""
        said = self.loaded(DATA / "otel/phoenix.json")
        self.assertEqual(self.lines(STEPS), 'c1|0|look|{"at": "table"}|t|Find the red key.|0.25\nc1|1|-|I have it.||a red key on the table|\nc2|0|open|{}|f|Find the red key.|')
        self.assertEqual(self.lines(ROLLOUTS), "key|c1||1.0|t|m-2|10:00:00|10\nkey|c2||0.0|f|m-2|10:00:20|10")
        self.assertEqual(said.count("spans of judges"), "2")
        plain = (DATA / "otel/phoenix.json").read_text().replace('\\"task_id\\": \\"key\\", ', "")
        self.again()
        self.loaded(self.write("sessions.json", plain))
        self.assertEqual(self.value("SELECT string_agg(task_id, ' ' ORDER BY rollout_id) FROM t.rollouts"), "s-1 s-2")
        self.again()
        plain = re.sub('"session.id": "s-[12]",?', "", plain)
        self.loaded(self.write("asked.json", plain))
        self.assertEqual(self.lines("SELECT count(DISTINCT task_id), count(*) FROM t.rollouts"), "1|2")

    def test_langfuse(self):
        """Langfuse: by startTime, a span with the name of a tool, level ERROR, scores; its own download, calls recorded twice"""
        for name in ("traces.json", "traces.jsonl"):
            self.again()
            said = self.loaded(DATA / "langfuse" / name)
            self.assertEqual(self.lines(STEPS), 'lf-1|0|read_file|{"path": "a.py"}|t|The test fails.|\nlf-1|0|run|{"cmd": "pytest"}|f|The test fails.|-0.25\n'
                             "lf-1|1|-|x must be 2.||x = 1\n1 failed|\nlf-2|0|-|I give up.||The test fails.|", name)
            self.assertEqual(self.lines(ROLLOUTS), "fix-a|lf-1|v3|0.75|t|m-3|10:00:00|9\nfix-a|lf-2|v3|0.0|f|m-3|10:00:20|5")
            self.assertEqual(said.count("calls of the model that failed"), "1")
        self.again()
        said = self.loaded(DATA / "langfuse/download.json")
        self.assertEqual(self.lines(STEPS), 'lf-9|0|run|{"cmd": "pytest"}|t|The test fails.|\nlf-9|1|-|It passes now.||1 passed|')
        self.assertEqual(self.lines(ROLLOUTS), "fix-a|lf-9||1.0|t|m-3|11:00:00|9")
        self.assertEqual(said.count("calls of the model noted twice"), "1")

    def test_late_tools(self):
        """Langfuse: a tool that starts after the next answer belongs to its call; names with a prefix; calls as text, Gemini's parts"""
        at = "2026-01-01T00:00:0{}Z".format

        def observed(n, kind, name, input, output):
            return {"id": f"o{n}", "type": kind, "name": name, "startTime": at(n), "endTime": at(n), "parentObservationId": None, "input": input, "output": output}

        def calls(city):
            return json.dumps({"role": "assistant", "content": [{"type": "tool_use", "id": city, "name": "weather", "input": {"city": city}}]})

        listed = [observed(1, "GENERATION", "turn", '{"role": "user", "content": "Go"}', calls("A")), observed(2, "GENERATION", "turn", None, calls("B")),
                  observed(3, "TOOL", "running tool: weather", '{"input": {"city": "A"}}', "cold"), observed(4, "TOOL", "execute_tool weather", '{"city": "B"}', "warm"),
                  observed(5, "GENERATION", "turn", None, {"content": {"role": "model", "parts": [{"functionCall": {"name": "end", "args": {"x": 1}}}]}}),
                  observed(6, "GENERATION", "turn", None, [{"role": "assistant", "content": '[{"function": {"name": "stop", "arguments": "{}"}, "id": "c", "type": "function"}]'}])]  # fmt: skip
        self.loaded(self.write("late.json", json.dumps({"trace": {"id": "t", "timestamp": at(0), "metadata": {"task_id": "w"}}, "observations": listed})))
        told = "SELECT *, coalesce(next_observation, lead(observation) OVER (ORDER BY step_no)) AS told FROM t.steps"
        self.assertEqual(self.lines(f"SELECT turn, tool, args, told FROM ({told}) s ORDER BY step_no"),
                         "0|weather|{'city': 'A'}|cold\n1|weather|{'city': 'B'}|warm\n2|end|{'x': 1}|\n3|stop|{}|")

    def test_blocks(self):
        """Anthropic's blocks and OpenAI's items: results by their ids, hosted tools, handoffs"""
        told = "SELECT *, coalesce(next_observation, lead(observation) OVER (PARTITION BY rollout_id ORDER BY step_no)) AS told FROM t.steps"
        self.loaded(DATA / "anthropic/messages.json")
        self.assertEqual(self.lines(f"SELECT turn, tool, args, ok, told FROM ({told}) s ORDER BY step_no"), "\n".join([
            "0|read|{'path': 'notes.txt'}|f|locked", "0|ls|{}|t|notes.txt", "1|write|{'path': 'notes.txt', 'text': 'a line'}|t|", "2|web_search|{'query': 'notes'}|t|" + self.value(f"SELECT told FROM ({told}) s WHERE turn = 2")]))
        self.assertEqual(self.lines("SELECT turn, metadata ->> 'text', metadata ->> 'thought' FROM t.steps WHERE metadata IS NOT NULL ORDER BY 1"), "0|I read and list.|I should read it first.\n2|It is done.|")
        self.assertEqual(self.lines("SELECT task_id, outcome, model, metadata ->> 'system', jsonb_array_length(metadata -> 'messages') FROM t.rollouts"), "notes|1.0|claude-x|You edit files.|6")
        self.again()
        self.loaded(DATA / "agents/run_results.jsonl")
        self.assertEqual(self.lines("SELECT turn, tool FROM t.steps WHERE rollout_id LIKE '%-0' ORDER BY step_no"), "0|transfer_to_desk\n1|find_bag\n1|find_owner\n2|ask\n3|web_search")
        self.assertEqual(self.lines("SELECT task_id, rollout_id, outcome, success FROM t.rollouts ORDER BY 2"), "bag|bag-0|1.0|t\nbag|bag-1|0.0|f")


class Trainers(Case):
    def test_claw(self):
        """Claw-R1: a record for each step, out of order; the version is that of the first step, which must exist"""
        self.loaded(DATA / "claw_r1")
        self.assertEqual(self.lines("SELECT task_id, rollout_id, outcome, success, policy_version, policy_step FROM t.rollouts ORDER BY 2"), "p1|t-a|1.0|t|3|3\np1|t-b|0.0|f|3|3\np2|t-c|0.5|f|5|5")
        self.assertEqual(self.lines("SELECT rollout_id, step_no, prompt_token_ids, response_token_ids, rollout_logprobs::text, reward, metadata ->> 'policy_version' FROM t.steps ORDER BY 1, 2"), "\n".join([
            "t-a|0|[1, 2, 3]|[11, 12]|{-0.5,-1.5}||", "t-a|1|[1, 2, 3, 11, 12, 5]|[13]|{-0.25}|1.0|4", "t-b|0|[1, 2, 3]|[14]|{-2}|0.25|",
            "t-b|1|[1, 2, 3, 14, 6]|[15, 16, 17]|{-1,-0.125,-3}|0.0|5", "t-c|0|[7]|[8, 9]|{}|0.5|".replace("{}", self.lines("SELECT coalesce(rollout_logprobs::text, '') FROM t.steps WHERE rollout_id = 't-c'"))]))
        self.connection.execute("DELETE FROM t.rollouts")
        records = (DATA / "claw_r1/steps_1.jsonl").read_text().splitlines(True)
        self.refused(r"the record of the first step is missing: cat FILES \| stepadv import -", self.write("late.jsonl", records[0]))
        record = {"prompt_uid": "p", "trajectory_uid": "t", "prompt_ids": [1], "response_ids": [2, 3], "policy_version": 1}
        lines = [json.dumps({**record, "step_index": 0, "rollout_log_probs": [-1]}), '{"prompt_uid": oops}', json.dumps({**record, "step_index": 1, "response_mask": [1, 0]}),
                 json.dumps({"prompt_uid": "p", "step_index": 2}), "7"]  # fmt: skip
        said = self.refused("", "-k", self.write("bad.jsonl", "\n".join(lines)))
        for words in ("rollout_logprobs must be as long as response_token_ids", "line 2: invalid JSON", "line 4: a value is not what claw_r1 has there", "line 5: a value is not what claw_r1 has there"):
            self.assertRegex(said.err, words)

    def test_dumps(self):
        """Agent-R1 and verl: steps, calls inside the output"""
        self.loaded(DATA / "agent_r1")
        self.assertEqual(self.lines("SELECT rollout_id, outcome, success, policy_version, policy_step, metadata ->> 'gts' FROM t.rollouts ORDER BY 1"), "u1|1.0|t|20|20|mat\nu2|0.0|f|20|20|mat\nu3|1.0|t|21|21|mat")
        self.assertEqual(self.value("SELECT count(DISTINCT task_id) FROM t.rollouts"), 1)
        self.connection.execute("DELETE FROM t.rollouts")
        self.loaded(DATA / "verl")
        told = "SELECT *, coalesce(next_observation, lead(observation) OVER (PARTITION BY rollout_id ORDER BY step_no)) AS told FROM t.steps"
        self.assertEqual(self.lines(f"SELECT right(rollout_id, 1), turn, tool, args, ok, reward, told FROM ({told}) s ORDER BY rollout_id, step_no"), "\n".join([
            "1|0|add|{'a': 2, 'b': 2}|t||4", "1|0|say|{}|f||Error: no voice", "1|1||||1.0|", "2|0||||0.0|", "3|0|look|{'at': 'door'}|t||a red door", "3|1||||0.5|"]))

    def test_verl_talk(self):
        """calls as models write them: without an end, invalid JSON, without arguments; marks after results are left out"""
        from stepadv.importing.formats import verl
        from stepadv.importing.format import Where

        def steps(output):
            (rollout,) = verl.read({"input": "q", "output": output, "score": 1, "step": 1}, Where())
            found = [(s["turn"], s["observation"], s.get("tool"), s.get("args"), s["action"], s.get("next_observation"), s.get("reward")) for s in rollout["steps"]]
            return found, dict(rollout.get("repaired", {}))

        cut = 'A <tool_call>{"name": "a", "arguments": {}}'
        self.assertEqual(steps(cut), ([(0, "q", None, None, cut, None, 1)], {}), "a call without an end is what was said")
        found, repaired = steps('<|im_start|>assistant\nA\n<tool_call>{"name": "a"}</tool_call> B<tool_call>{oops</tool_call>')
        self.assertEqual([(s[2], s[3], s[4]) for s in found], [("a", {"name": "a"}, '{"name": "a", "arguments": {"name": "a"}}'), (None, None, '{"name": null, "arguments": "{oops"}')])
        self.assertEqual(repaired, {"calls without a name": 1, "calls without a result": 2, "arguments that are not JSON": 1})
        found, _ = steps('<tool_call>{"name": "a", "arguments": {"x": "1\\u0000"}}</tool_call>\nuser\nmy_assistant\n 2')
        self.assertEqual(found, [(0, "q", "a", {"x": "1\ufffd"}, '{"name": "a", "arguments": {"x": "1\ufffd"}}', "my_assistant\n 2", 1)])
        found, _ = steps('<tool_call>{"name": "a", "arguments": {}}</tool_call><|im_end|>\n<|im_start|>tool\nr1 <|im_end|> \n<|im_start|>assistant\n<tool_call>{"name": "b", "arguments": {}}</tool_call>\ntool\n'
                         "<tool_response> r2\n</tool_response>\nassistant\nend <|im_end|>")
        self.assertEqual([(s[0], s[1], s[2], s[5], s[6]) for s in found], [(0, "q", "a", "r1", None), (1, "r1", "b", "r2", None), (2, "r2", None, None, 1)])

    def test_tau2(self):
        """tau2: domain and task, rewards, calls of the agent and not the user's"""
        said = self.loaded(DATA / "tau2")
        self.assertEqual(self.lines("SELECT task_id, rollout_id, outcome, success, truncated, model, ended_at - started_at FROM t.rollouts ORDER BY 2"), "\n".join([
            "parcels/7|sim-1|1.0|t|f|lab/m2|0:01:30", "parcels/7|sim-2|0.0|f|t|lab/m2|0:03:00", "7|sim-3|0.5|f|f||0:03:00"]))
        self.assertEqual(said.count("calls of the user", "results of the user's calls"), "1 1")

    def test_verifiers(self):
        """verifiers: examples, rewards, limits"""
        self.loaded(DATA / "verifiers/one.json", DATA / "verifiers/results.jsonl")
        self.assertEqual(self.lines("SELECT task_id, rollout_id, outcome, success, truncated, extract(epoch FROM started_at)::bigint FROM t.rollouts ORDER BY rollout_id COLLATE \"C\""), "\n".join([
            "sums/2|verifiers--one:1|0.75|f|f|", "sums/0|verifiers--results:1|1.0|t|f|1767225600", "sums/0|verifiers--results:2|0.0|f|t|1767225603", "sums/1|verifiers--results:3|0.75|f|f|"]))

    def test_trl(self):
        """TRL: sums of rewards, steps of the training, prompts are tasks"""
        self.loaded(DATA / "trl")
        self.assertEqual(self.lines("SELECT rollout_id, outcome, success, policy_version, metadata ->> 'advantage' FROM t.rollouts ORDER BY 1"), "\n".join([
            "trl--completions_00010:1|1.5|t|10|0.7071", "trl--completions_00010:2|0.0|f|10|-0.7071", "trl--completions_00010:3|1.0|t|10|0.0", "trl--completions_00011:1|1.5|t|11|0.7071"]))
        self.assertEqual(self.lines("SELECT count(DISTINCT task_id), count(DISTINCT (policy_version, task_id)) FROM t.rollouts"), "2|3")
