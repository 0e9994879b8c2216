"""Whole runs: directories as scaffolds leave them, with rollouts and verdicts."""

import json

from support import Case

SUMMARY = r"\n(\d+ tr(?:y|ies) of [^\n]*)\n$"


def atif(session, *steps, **more):
    listed = [{"step_id": n + 1, **step} for n, step in enumerate(steps)]
    return json.dumps({"schema_version": "ATIF-v1.6", "session_id": session, "agent": {"name": "own", "version": "1"}, "steps": listed, **more})


def user(text, **more):
    return {"source": "user", "message": text, **more}


def call(command, told, **more):
    return {"source": "agent", "message": "", "tool_calls": [{"tool_call_id": "c", "function_name": "bash", "arguments": {"command": command}}],
            "observation": {"results": [{"source_call_id": "c", "content": told}]}, **more}  # fmt: skip


def swe(instance, command="ls"):
    return json.dumps({"environment": "e", "info": {}, "instance_id": instance, "history": [{"role": "user", "content": "Fix"}],
                       "trajectory": [{"action": command, "observation": "ok", "thought": "t"}]})  # fmt: skip


class Runs(Case):
    def tries(self, said):
        self.assertRegex(said.out, SUMMARY)
        return said.out.rstrip("\n").rpartition("\n")[2]

    def trial(self, name, task, rewards, *files, **more):
        result = {"task_name": task, "trial_name": name, "trial_uri": "file:///x", "config": {"agent": {"name": "own", "model_name": "lab/m1"}},
                  "verifier_result": None if rewards is None else {"rewards": rewards}, "exception_info": None,
                  "started_at": "2026-01-01T00:00:00Z", "agent_execution": {"started_at": "2026-01-01T00:01:00Z", "finished_at": "2026-01-01T00:02:00Z"}, **more}  # fmt: skip
        folder = f"job/{name}"
        self.write(f"{folder}/result.json", json.dumps(result, indent=4))
        self.write(f"{folder}/config.json", json.dumps({"task": {"path": f"/t/{task}"}, "trial_name": name, "agent": {"name": "own"}}))
        self.write(f"{folder}/verifier/test-stdout.txt", "FAILED\nAction: none\n")
        self.write(f"{folder}/agent/episode-0/debug.json", '{"messages": [{"role": "assistant", "content": "no try of its own"}]}')
        for file, content in files:
            # Over several lines, as Harbor writes them.
            self.write(f"{folder}/{file}", json.dumps(json.loads(content), indent=2) if content.startswith('{"schema') else content)

    def fill_job(self):
        self.write("job/config.json", '{"job_name": "job", "jobs_dir": "jobs", "n_attempts": 2}')
        self.write("job/result.json", '{"id": "1", "started_at": "2026-01-01", "n_total_trials": 4, "stats": {}}')
        tree = "agent/trajectory.json"
        self.trial("fix__aaaaaaa", "own/fix", {"reward": 1.0}, (tree, atif("s1", user("Fix it."), call("ls", "a.py"), call("cat a.py", "Error: denied"))))
        handoff = {"source": "system", "message": "Summarized.", "observation": {"results": [{"content": None, "subagent_trajectory_ref": [
            {"session_id": "s2-summarization-1-summary", "trajectory_path": "trajectory.summarization-1-summary.json"}]}]}}  # fmt: skip
        self.trial(
            "fix__bbbbbbb", "own/fix", {"reward": 0.0, "speed": 3},
            (tree, atif("s2", user("Fix it."), call("ls", "b.py"), handoff, continued_trajectory_ref="trajectory.cont-1.json")),
            ("agent/trajectory.cont-1.json", atif("s2-cont-1", user("Fix it.", is_copied_context=True), user("You did ls."), call("pwd", "/w"), call("id", "me"))),
            ("agent/trajectory.summarization-1-summary.json", atif("s2-summarization-1-summary", user("Sum up."), {"source": "agent", "message": "ls."})),
        )  # fmt: skip
        self.trial("hunt__ccccccc", "own/hunt", None, (tree, atif("s3", user("Hunt."), call("find", "x"))), ("verifier/reward.txt", "1\n"),
                   exception_info={"exception_type": "AgentTimeoutError"})  # fmt: skip
        self.trial("hunt__ddddddd", "own/hunt", None)

    def test_harbor(self):
        """a job of Harbor: a rollout for each trial, its verdict from result.json or reward.txt, continued trajectories joined"""
        self.fill_job()
        said = self.loaded(self.folder / "job")
        self.assertEqual(self.tries(said), "4 tries of 2 tasks, 3 judged (2 from result.json, 1 from reward.txt), 1 without a verdict: --outcomes")
        self.assertIn("without a step: 1 of 4 rollouts: no trajectory in the trial (1)\n", said.out)
        self.assertEqual(self.lines("SELECT task_id, rollout_id, outcome, success, truncated, model, policy_version, ended_at - started_at, metadata ->> 'trial' FROM t.rollouts ORDER BY 2"), "\n".join([
            "own/fix|own/fix / aaaaaaa|1.0|t|f|lab/m1|own lab/m1|0:01:00|fix__aaaaaaa", "own/fix|own/fix / bbbbbbb|0.0|f|f|lab/m1|own lab/m1|0:01:00|fix__bbbbbbb",
            "own/hunt|own/hunt / ccccccc|1.0|t|t|lab/m1|own lab/m1|0:01:00|hunt__ccccccc", "own/hunt|own/hunt / ddddddd|||f|lab/m1|own lab/m1|0:01:00|hunt__ddddddd"]))
        self.assertEqual(self.lines("SELECT turn, observation, args ->> 'command', ok FROM t.steps WHERE rollout_id ~ 'fix' ORDER BY rollout_id, step_no"), "\n".join([
            "0|Fix it.|ls|t", "1|a.py|cat a.py|f", "0|Fix it.|ls|t", "1|b.py\nYou did ls.|pwd|t", "2|/w|id|t"]))
        self.assertEqual(self.value("SELECT metadata -> 'sub_agents' FROM t.rollouts WHERE rollout_id ~ 'bbb'"), [{"id": "s2-summarization-1-summary", "agent": "own", "steps": 2}])
        again = self.loaded(self.folder / "job")
        self.assertEqual(again.count("rollouts_added", "rollouts_updated", "steps_added"), "0 0 0")
        self.assertIn("3 judged", self.tries(again))
        self.connection.execute("DELETE FROM t.rollouts")
        said = self.loaded("-J", 2, self.folder / "job/fix__aaaaaaa/agent/trajectory.json")
        self.assertEqual(self.tries(said), "1 try of 1 task, 1 judged (from result.json)", "a file alone: the directories above it")
        self.loaded("-v", "7", self.folder / "job/hunt__ccccccc")
        self.assertEqual(self.lines("SELECT rollout_id, policy_version FROM t.rollouts ORDER BY 1"), "own/fix / aaaaaaa|own lab/m1\nown/hunt / ccccccc|7")

    def test_terminal_bench(self):
        """a run of terminal-bench: results.json of each trial, with logs of an agent"""
        logs = []
        for task, n, resolved in (("maze", 1, True), ("maze", 2, False), ("zork", 1, None)):
            name = f"{task}.{n}-of-2.run1"
            result = {"id": "1", "trial_name": name, "task_id": task, "instruction": "Go", "is_resolved": resolved, "failure_mode": "agent_timeout" if n == 2 else "unset"}
            if task == "zork":
                result |= {"failure_mode": "unknown_agent_error", "agent_started_at": None}
            self.write(f"run1/{task}/{name}/results.json", json.dumps(result))
            if task == "maze":
                messages = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": f"```bash\ngo {n}\n```"}, {"role": "user", "content": "<returncode>0</returncode>"}]
                logs.append(self.write(f"run1/{task}/{name}/agent-logs/mini.traj.json", json.dumps({"trajectory_format": "mini-swe-agent-1", "info": {}, "messages": messages})))
        self.write("run1/results.json", '{"id": "1", "results": [], "n_resolved": 1, "unresolved_ids": ["zork"], "resolved_ids": ["maze"]}')
        self.write("run1/run_metadata.json", '{"agent_name": "own", "model_name": "m1"}')
        self.write("run1/notes.txt", "[no JSON and no log]")
        said = self.loaded(self.folder / "run1")
        self.assertEqual(self.tries(said), "3 tries of 2 tasks, 2 judged (from results.json), 1 without a verdict: --outcomes")
        self.assertIn("without a step: 3 of 3 rollouts: no trajectory in the trial (2), unknown_agent_error before the agent began (1)\n", said.out)
        self.assertEqual(self.lines("SELECT rollout_id, success, truncated, (SELECT string_agg(action, ' ') FROM t.steps s WHERE s.rollout_id = r.rollout_id) FROM t.rollouts r ORDER BY 1"), "\n".join([
            "maze / 1-of-2.run1|t|f|", "maze / 2-of-2.run1|f|t|", "zork / 1-of-2.run1||f|"]))
        said = self.loaded(*logs)
        self.assertEqual(said.count("rollouts_added", "steps_added"), "0 2", "an agent's own logs are named")
        self.assertEqual(self.lines("SELECT rollout_id, action FROM t.steps ORDER BY 1"), "maze / 1-of-2.run1|go 1\nmaze / 2-of-2.run1|go 2")
        self.assertEqual(self.lines("SELECT DISTINCT run_id, policy_version FROM t.rollouts"), "|own m1")
        result = {"trial_name": "maze.1-of-1", "task_id": "maze", "is_resolved": True}
        for run in ("a", "b"):
            self.write(f"runs/{run}/maze/maze.1-of-1/results.json", json.dumps(result))
        self.assertEqual(self.tries(self.loaded(self.folder / "runs")), "2 tries of 1 task, 2 judged (from results.json)")
        self.assertEqual(self.lines("SELECT run_id, rollout_id FROM t.rollouts WHERE run_id <> '' ORDER BY 1"), "a|maze / 1-of-1 / a\nb|maze / 1-of-1 / b")

    def test_simulations(self):
        """tau2 with a file for each simulation: results.json has the domain and the model"""
        for domain in ("shop", "rail"):
            info = {"environment_info": {"domain_name": domain}, "agent_info": {"llm": "lab/m1"}}
            self.write(f"tau/{domain}/results.json", json.dumps({"timestamp": "2026", "info": info, "tasks": []}, indent=2))
            for n in (0, 1):
                simulation = {"id": f"{domain}-{n}", "task_id": "7", "start_time": "2026-01-01", "termination_reason": "user_stop", "reward_info": {"reward": n},
                              "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}  # fmt: skip
                self.write(f"tau/{domain}/simulations/{domain}-{n}.json", json.dumps(simulation))
        said = self.loaded(self.folder / "tau")
        self.assertEqual(self.tries(said), "4 tries of 2 tasks, 4 judged (from the files themselves)")
        self.assertEqual(self.lines("SELECT task_id, rollout_id, outcome, model FROM t.rollouts ORDER BY 2"), "\n".join([
            "rail/7|rail-0|0.0|lab/m1", "rail/7|rail-1|1.0|lab/m1", "shop/7|shop-0|0.0|lab/m1", "shop/7|shop-1|1.0|lab/m1"]))
        self.connection.execute("DELETE FROM t.rollouts")
        self.loaded(self.folder / "tau/shop/simulations/shop-1.json")
        self.assertEqual(self.lines("SELECT task_id FROM t.rollouts"), "shop/7", "a file alone: the directories above it")

    def test_reports(self):
        """SWE-bench: reports of the harness, of instances, of a service, the nearest of several; reports are not rollouts"""
        for run in ("one", "two"):
            for instance in ("a__a-1", "b__b-2", "c__c-3"):
                self.write(f"swe/{run}/{instance}/{instance}.traj", swe(instance, f"ls {run}"))
            self.write(f"swe/{run}/preds.json", '{"a__a-1": {"model_patch": "x"}}')
        self.write("swe/one/results.json", '{"total_instances": 3, "submitted_ids": ["a__a-1"], "resolved_ids": ["a__a-1"], "unresolved_ids": ["b__b-2"], "error_ids": ["c__c-3"]}')
        self.write("swe/two/report.json", '{"a__a-1": {"patch_exists": true, "resolved": false, "tests_status": {}}}')
        self.write("swe/logs/run_evaluation/two/m/b__b-2/report.json", '{"b__b-2": {"resolved": true}}')
        self.write("swe/logs/run_evaluation/one/m/b__b-2/report.json", '{"b__b-2": {"resolved": false}}')
        said = self.loaded(self.folder / "swe")
        self.assertEqual(self.tries(said), "6 tries of 3 tasks, 4 judged (2 from report.json, 2 from results.json), 2 without a verdict: --outcomes")
        self.assertEqual(self.lines("SELECT rollout_id, success FROM t.rollouts ORDER BY 1"), "\n".join([
            "a__a-1 / one|t", "a__a-1 / two|f", "b__b-2 / one|f", "b__b-2 / two|t", "c__c-3 / one|", "c__c-3 / two|"]))
        self.connection.execute("DELETE FROM t.rollouts")
        line = {"history": [{"id": 0, "source": "agent", "action": "run", "args": {"command": "ls"}}], "error": "Agent reached maximum iteration"}
        self.write("oh/output.jsonl", "".join(json.dumps({"instance_id": i, **line}) + "\n" for i in ("x", "y")))
        self.write("oh/output.swebench_eval.jsonl", "".join(json.dumps({"instance_id": i, "test_result": {"report": {"resolved": i == "x"}}}) + "\n" for i in ("x", "y")))
        self.assertEqual(self.tries(self.loaded(self.folder / "oh")), "2 tries of 2 tasks, 2 judged (from output.swebench_eval.jsonl)")
        self.assertEqual(self.lines("SELECT rollout_id, success, truncated FROM t.rollouts ORDER BY 1"), "x / oh|t|t\ny / oh|f|t")

    def test_resolver(self):
        """OpenHands' resolver: a history without sources, an issue as the task, its own verdict"""
        history = [{"action": "message", "content": "Please fix"}, {"action": "run", "command": "ls", "thought": "Look."}, {"observation": "run", "content": "a.py", "exit_code": 0},
                   {"action": "run", "command": "cat b", "thought": ""}, {"observation": "run", "content": "no b", "exit_code": 1}, {"action": "finish", "outputs": {}}]  # fmt: skip
        issue = {"owner": "own", "repo": "proj", "number": 7, "title": "t"}
        self.loaded(self.write("res/output.jsonl", json.dumps({"issue": issue, "history": history, "success": True, "git_patch": ""}) + "\n"))
        self.assertEqual(self.lines("SELECT task_id, rollout_id, success FROM t.rollouts"), "own/proj#7|own/proj#7 / res|t")
        self.assertEqual(self.lines("SELECT turn, observation, tool, args, ok, metadata ->> 'thought' FROM t.steps ORDER BY step_no"), "\n".join([
            "0|Please fix|run|{'command': 'ls', 'thought': 'Look.'}|t|Look.".replace(", 'thought': 'Look.'", ""), "1|a.py|run|{'command': 'cat b'}|f|", "2|no b|finish|{'outputs': {}}||"]))

    def test_lines_of_atif(self):
        """trajectories in ATIF, one per line: parts of a session are one rollout, a part alone is not"""
        lines = [atif("s1", user("Fix."), call("ls", "a")), atif("s1-cont-1", call("cp", "b", is_copied_context=True), call("pwd", "c")), atif("s2", user("Fix."), call("id", "d")),
                 atif("sub", user("Look."), call("who", "e"), parent_session_id="s2"), atif("s9-summarization-1-summary", user("Sum."), call("x", "y"))]  # fmt: skip
        said = self.loaded(self.write("lines.jsonl", "\n".join(lines) + "\n"))
        self.assertEqual(said.count("parts of tries that are elsewhere"), "1")
        self.assertEqual(self.lines("SELECT rollout_id, string_agg(args ->> 'command', ' ' ORDER BY step_no), max(turn) FROM t.steps GROUP BY 1 ORDER BY 1"), "s1|ls pwd|1\ns2|id|0")
        self.assertEqual(self.value("SELECT metadata -> 'sub_agents' FROM t.rollouts WHERE rollout_id = 's2'"), [{"id": "sub", "agent": "own", "steps": 2}])

    def test_outcomes(self):
        """--outcomes: tables and JSON, ids in several spellings; unknown ids, with the nearest"""
        for n in (1, 2):
            self.write(f"r/run{n}/a__a-1/a__a-1.traj", swe("a__a-1", f"ls {n}"))
        self.write("r/run1/b__b-2/b__b-2.traj", swe("b__b-2"))
        table = self.write("verdicts.csv", "\ufeffInstance_ID,try,Resolved\na__a-1,1,TRUE\na__a-1,2,no\nB__B-22,1,1\nzz,1,1\n")
        said = self.load("--outcomes", table, self.folder / "r")
        self.assertEqual(said.status, 1)
        self.assertRegex(said.err, r"^2 ids of verdicts\.csv match no rollout:\n  B__B-22 / try 1 \(the nearest: b__b-2 / try 1\)\n  zz / try 1 \(the nearest: [^)]+\)\n$")
        self.assertEqual(self.tries(said), "3 tries of 2 tasks, 2 judged (from verdicts.csv), 1 without a verdict: --outcomes")
        self.assertEqual(self.lines("SELECT rollout_id, success FROM t.rollouts ORDER BY 1"), "a__a-1 / try 1|t\na__a-1 / try 2|f\nb__b-2 / try 1|")
        for name, content in (("o.json", '{"b__b-2": 0.5}'), ("o.json", '[{"task_id": "b__b-2", "reward": 0.5}]'), ("o.jsonl", '{"rollout_id": "b__b-2 / try 1", "score": 0.5}\n'),
                              ("o.tsv", "task\treward\nb__b-2\t0.5\n"), ("o.json", '{"resolved_ids": [], "unresolved_ids": ["b__b-2"]}')):  # fmt: skip
            self.connection.execute("UPDATE t.rollouts SET outcome = NULL, success = NULL")
            said = self.loaded("--outcomes", self.write(name, content), self.folder / "r/run1")
            self.assertEqual(self.lines("SELECT outcome, success FROM t.rollouts WHERE task_id = 'b__b-2'"), "|f" if "_ids" in content else "0.5|f", content)
        self.refused("^stepadv import: --outcomes: .*: no row has an id", "--outcomes", self.write("no.csv", "a,b\n1,2\n"), self.folder / "r", status=2)
        self.refused('"maybe" is not a verdict', "--outcomes", self.write("word.csv", "task_id,success\nx,maybe\n"), self.folder / "r", status=2)
        self.refused("two verdicts for x: name the try", "--outcomes", self.write("two.csv", "task_id,reward\nx,0\nx,1\n"), self.folder / "r", status=2)
        self.refused("^stepadv import: --outcomes: .*nowhere.csv: No such file", "--outcomes", self.folder / "nowhere.csv", self.folder / "r", status=2)
        self.refused("^stepadv import: --outcomes: .*cut.json: invalid JSON", "--outcomes", self.write("cut.json", '{"a'), self.folder / "r", status=2)

    def test_names(self):
        """the name of a rollout does not repeat that of its task"""
        for name in ("replay__a__a-1__own__install-1__a__a-1", "gpt__install-1__a__a-1", "a__a-1"):
            self.write(f"out/{name}.traj", swe("a__a-1", f"ls {name}"))
        self.loaded(self.folder / "out")
        self.assertEqual(self.lines("SELECT rollout_id FROM t.rollouts ORDER BY 1"), "a__a-1 / out\na__a-1 / out--gpt__install-1\na__a-1 / out--replay__own__install-1")

    def test_warning(self):
        """a warning without verdicts; with -k and nothing loaded, never 0 left out"""
        path = self.write("a__a-1.traj", swe("a__a-1"))
        said = self.load(path)
        self.assertEqual((said.status, self.tries(said)), (0, "1 try of 1 task, 0 judged, 1 without a verdict: --outcomes"))
        self.assertRegex(said.warning, r"(?s)^\*{78}\n\* WARNING: no rollout has a verdict\..*result\.json.*resolved_ids.*--outcomes FILE.*\*{78}\n$")
        for bad in ('{"no": "format"}', '{"cut'):
            said = self.refused("", "-k", self.write("bad.json", bad))
            self.assertRegex(said.out, r"^1 file, 1 left out\n")

    def test_retries(self):
        """--retries last: of two attempts at one step or rollout the newest counts"""
        import os

        line = '{{"task_id": "t", "rollout_id": "t", "step_no": 0, "action": "{}", "outcome": 1}}\n'
        twice = self.write("twice.jsonl", line.format("a") + line.format("b"))
        self.refused("step 0 of rollout t of group t differs from line 1; .*--retries last takes the newest", twice)
        self.loaded("--retries", "last", twice)
        self.assertEqual(self.lines("SELECT action FROM t.steps"), "b")
        self.connection.execute("DELETE FROM t.rollouts")
        for n, act in enumerate("ab"):
            os.utime(self.write(f"r/{n}.jsonl", line.format(act)), (1e9 - n, 1e9 - n))
        self.refused("--retries last takes the newest", self.folder / "r")
        self.loaded("--retries", "last", self.folder / "r")
        self.assertEqual(self.lines("SELECT action FROM t.steps"), "a")

    def test_hostile(self):
        """invalid verdicts are not used; terminal escapes in names are not printed"""
        self.trial("fix__aaaaaaa", "own/\x1b]0;x\x07fix", {"reward": "much"}, ("agent/trajectory.json", atif("s1", user("Fix it."), call("ls", "a.py"))))
        for name, content in (("verifier/reward.txt", "x" * 100000), ("verifier/reward.json", "[" * 100000), ("report.json", '{"resolved_ids": {"a": 1}}')):
            self.write(f"job/fix__aaaaaaa/{name}", content)
        self.write("job/broken__b/result.json", '{"trial_name": "broken__b", "task_name"')
        said = self.load(self.folder / "job")
        self.assertNotIn("\x1b", said.out + said.err)
        self.assertIn("1 try of 1 task, 0 judged", said.out)
        table = self.write("v.csv", "task,success\n\x1b]0;y\x07,1\n")
        self.assertNotIn("\x1b", self.load("--outcomes", table, self.folder / "job").err)
