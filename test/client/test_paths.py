"""Any other JSON by paths: what they can say, and what is said of them."""

from support import DATA, Case

ODD = r"""{"job": {"name": "door", "verdict": "pass", "grade": "B"}, "t0": 1767225600500, "log": [
	{"id": "s3", "at": "2026-01-01T01:00:09+01:00", "call": "{\"tool\": \"enter\", \"with\": {\"room\": 2}}", "ids": [4, 5], "mask": [1, 0], "lp": [{"p": -0.5}, {"p": -1}]},
	{"id": "s1", "at": "2026-01-01T00:00:05Z", "call": "{\"tool\": \"knock\", \"with\": {}}", "ids": [1], "lp": [{"p": -2}]},
	{"id": "s2", "at": "2026-01-01T00:00:07Z", "call": "{knock", "ids": []}],
	"results": [{"of": "s1", "text": "come in"}, {"of": "s3", "text": ["a", "room"]}, {"of": "s3", "text": "no"}, {"text": "nobody's"}]}"""
PATHS = """{"task_id": "$.job.name", "rollout_id": "$.job.name", "success": {"path": "$.job.verdict", "map": {"pass": true, "fail": false}},
	"outcome": {"path": "$.job.grade", "map": {"A": 1, "B": 0.5}}, "started_at": "$.t0", "ended_at": "$.log[*].at",
	"steps": "$.log[*]", "order": "$.at", "tool": {"path": "$.call", "fromjson": "$.tool"}, "args": {"path": "$.call", "fromjson": "$.with"},
	"next_observation": {"path": "$.id", "in": "$.results[*]", "key": "$.of", "take": "$.text"},
	"response_token_ids": "$.ids", "response_mask": "$.mask", "rollout_logprobs": "$.lp[*].p"}"""
RUN = '{"task_id": "$.task", "rollout_id": "$.id", "steps": "$.turns[*]", "observation": "$.obs", "action": "$.act", "reward": "$.r"}'


class Paths(Case):
    def test_odd(self):
        """steps by their time, results of other elements, JSON in strings, words by a map, tokens"""
        said = self.loaded("-j", PATHS, self.write("odd.json", ODD))
        self.assertIn("repaired: strings that are no JSON 2\n", said.out)
        self.assertEqual(self.lines("SELECT success, outcome, started_at::timestamp(3)::text, ended_at FROM t.rollouts"),
                         "t|0.5|2026-01-01 00:00:00.5|2026-01-01 00:00:09+00:00")
        self.assertEqual(self.lines("SELECT step_no, tool, args, next_observation, response_token_ids, response_mask, rollout_logprobs FROM t.steps ORDER BY 1"), "\n".join([
            "0|knock|{}|come in|[1]||[-2.0]", "1||||||", "2|enter|{'room': 2}|a\nroom|[4, 5]|[True, False]|[-0.5, -1.0]"]))

    def test_order(self):
        """order is a number or a time, in whatever spelling"""
        for name, steps in (
            ("numbers", '{"k": 3, "a": "c"}, {"k": 1.5, "a": "a"}, {"k": 2, "a": "b"}'),
            ("strings", '{"k": "10", "a": "c"}, {"k": "8", "a": "a"}, {"k": "9", "a": "b"}'),
            ("nanoseconds", '{"k": "1767225600000000003", "a": "c"}, {"k": "1767225600000000001", "a": "a"}, {"k": "1767225600000000002", "a": "b"}'),
            ("times", '{"k": "2026-01-01T00:00:03Z", "a": "c"}, {"k": "2026-01-01T00:00:01Z", "a": "a"}, {"k": "2026-01-01T00:00:02Z", "a": "b"}'),
            ("one place", '{"k": 1, "a": "a"}, {"k": 1, "a": "b"}, {"k": 1, "a": "c"}'),
        ):  # fmt: skip
            self.loaded("-j", f'{{"task_id": "$.t", "steps": "$.s[*]", "order": "$.k", "action": "$.a"}}', self.write(f"{name}.json", f'{{"t": "{name}", "s": [{steps}]}}'))
            self.assertEqual(self.value(f"SELECT string_agg(action, '' ORDER BY step_no) FROM t.steps WHERE task_id = '{name}'"), "abc", name)

    def test_strings(self):
        """rollouts and steps in strings; paths from a file"""
        line = r'{"body": "{\"task\": \"t\", \"no\": %d, \"log\": \"[{\\\"a\\\": \\\"x%d\\\"}, {\\\"a\\\": \\\"y\\\"}]\"}"}' + "\n"
        path = self.write("strings.jsonl", line % (1, 1) + line % (2, 2))
        paths = self.write("paths.json", '{"rollouts": {"path": "$.body", "fromjson": true}, "task_id": "$.task", "rollout_id": "$.no", '
                           '"steps": {"path": "$.log", "fromjson": "$[*]"}, "action": "$.a"}')  # fmt: skip
        self.loaded("-j", f"@{paths}", path)
        self.assertEqual(self.lines("SELECT rollout_id, action FROM t.steps ORDER BY 1, step_no"), "1|x1\n1|y\n2|x2\n2|y")
        self.refused("^stepadv import: cannot read the paths of -j$", "-j", "@/nowhere.json", path, status=2)

    def test_parts(self):
        """one rollout in several files: what is not in them is in their names"""
        for episode in (1, 2):
            for n in (2, 9, 11):
                self.write(f"parts/win/ep{episode}/step_{n}.json", f'{{"saw": "o{n}", "did": "a{n}"{", " + chr(34) + "won" + chr(34) + ": true" if n == 11 else ""}}}')
        parts = ('{"task_id": {"path": "$source", "match": "parts/([^/]+)/"}, "rollout_id": {"path": "$source", "match": "([^/]+)/step_"}, "steps": "$", '
                 '"step_no": {"path": "$source", "match": "step_([0-9]+)\\\\.json$"}, "observation": "$.saw", "action": "$.did", "success": "$.won"}')  # fmt: skip
        for jobs in (1, 2):
            self.connection.execute("DELETE FROM t.rollouts")
            self.loaded("-J", jobs, "-j", parts, self.folder / "parts")
            self.assertEqual(self.lines("""SELECT r.task_id, r.rollout_id, r.success, string_agg(step_no || action, ',' ORDER BY step_no) FROM t.rollouts r
                JOIN t.steps s USING (rollout_id) GROUP BY 1, 2, 3 ORDER BY 2"""), "win|ep1|t|2a2,9a9,11a11\nwin|ep2|t|2a2,9a9,11a11")
        said = self.loaded("-j", parts, self.folder / "parts", self.folder / "parts/win/ep1")
        self.assertRegex(said.out, r"(?m)^judged, with states 2 of 2 rollouts, 6 of 6 steps$")
        self.refused(r"^\S*step_11\.json and 5 more: match of the path of rollout_id, \(\[\^/\]\+\)/stop_, finds nothing in \"\S*/parts/win/ep1/step_11\.json\"\n$",
                     "-j", parts.replace('step_"', 'stop_"'), self.folder / "parts")

    def test_unfound(self):
        """a path that finds nothing in any file is a mistake, said once with the keys that are there; in one file it may"""
        for n in (1, 2, 3):
            more = ', {"obs": "p", "act": "b", "r": 1}' if n == 2 else ""
            self.write(f"run/{n}.json", f'{{"task": "t", "id": {n}, "turns": [{{"obs": "o", "act": "a"}}{more}]}}')
        for wrong, expected in (
            (RUN.replace('obs"', 'obz"'), r"^\S*run/1\.json and 2 more: the path of observation, \$\.obz, finds nothing; there are: obs, act\n$"),
            (RUN.replace('obs"', 'obz"').replace('act"', 'turns.act"'),
             r"^\S*run/1\.json and 2 more: the path of observation, [^\n]*\n\S*run/1\.json and 2 more: the path of action, \$\.turns\.act, finds nothing; there are: [^\n]*\n$"),
            (RUN.replace("turns", "turnz"), r"^\S*run/1\.json and 2 more: the path of steps, \$\.turnz\[\*\], finds nothing; there are: task, id, turns\n$"),
            (RUN.replace("}", ', "started_at": "$.turns[0].at"}'),
             r"1\.json and 2 more: the path of started_at, \$\.turns\[0\]\.at, finds nothing; at \$\.turns\[0\] there are: obs, act\n$"),
        ):  # fmt: skip
            for jobs in (1, 3):
                said = self.load("-J", jobs, "-j", wrong, self.folder / "run")
                self.assertEqual(said.status, 1)
                self.assertEqual(sorted(said.err.splitlines()), sorted(set(said.err.splitlines())))
                self.assertRegex("".join(sorted(said.err.splitlines(True), key=lambda line: "action" in line)), expected)
                self.assertRegex(said.out, r"^3 files, 3 left out\n(left out: \S*run/\d\.json\n){3}")
        self.assertEqual(self.rows(), "0|0")
        said = self.load("-J", 3, "--progress", "-j", RUN, self.folder / "run")
        self.assertEqual((said.status, said.count("rollouts_added", "steps_added")), (0, "3 4"), said.err)
        self.assertRegex(said.err, r"3/3 files, [^\r]*4 steps[^\r]*\s*$")

    def test_needs(self):
        """what each rollout needs is asked of each"""
        path = self.write("need.jsonl", '{"task": {"id": 1}, "turns": []}\n{"task": {"name": 2}, "turns": []}\n{"tusk": 3}\n')
        self.refused(r"need\.jsonl: document 2: the path of task_id, \$\.task\.id, finds nothing; at \$\.task there are: name \(and 1 more\); at the top: task, turns; -k loads the other 1\n$",
                     "-j", '{"task_id": "$.task.id", "steps": "$.turns[*]"}', path)
        self.refused(r"document 1: the path of rollouts, \$\.runs\[\*\], finds nothing; there are: task, turns \(and 2 more\)", "-j", '{"rollouts": "$.runs[*]", "task_id": "$.task"}', path)
        odd = self.write("odd.json", ODD)
        for more, words in (
            ('"steps": "$.log[*]", "order": "$.when"', r"the path of order, \$\.when, finds nothing; there are: [^\n]*at"),
            ('"steps": "$.log[*]", "order": "$.mask[0]"', "document 1: order must be given for every step; "),
            ('"steps": "$.log[*]", "order": "$.id"', "document 1: order must be a number or a time, not s3"),
            ('"success": "$.job.verdict"', r"document 1: success must be a boolean, not string; .*; a map of -j says what words mean, as \{\"path\""),
            ('"started_at": "$.job.name"', "document 1: started_at must be a time, .*not \"door\""),
            ('"steps": "$.log[*]", "action": {"path": "$.call", "fromjson": "$.tol"}', r"the path of action, \$\.tol, finds nothing; there are: tool, with\n"),
            ('"steps": "$.log[*]", "action": {"path": "$.id", "in": "$.results[*]", "key": "$.off"}', r"the path of action, \$\.id, finds nothing that stands in \$\.results\[\*\] under \$\.off\n"),
            ('"steps": "$.log[*]", "response_token_ids": "$.id"', "step 1: response_token_ids must be an array"),
            ('"steps": "$.log[*]", "response_token_ids": "$.ids", "response_mask": "$.ids"', "step 1: response_mask must be an array of booleans"),
        ):  # fmt: skip
            self.refused(words, "-j", f'{{"task_id": "$.job.name", {more}}}', odd)

    def test_wrong(self):
        """paths that are none are said before anything is read"""
        odd = self.write("odd.json", ODD)
        for wrong, words in (
            ('{"task_id": "$.task["}', r"the path of task_id, \$\.task\[, is no path: unexpected \[: paths have keys, "),
            ('{"task_id": "$f.task"}', r"is no path: there is no variable \$f, only \$document, \$source and \$n; "), ('{"task_id": "task"}', "is no path: it does not begin with"),
            ('{"task_id": "$.task", "reward": {"path": "$.r", "fromjson": "$.a b"}}', r"the path of reward, \$\.a b, is no path: "),
            ('{"task_id"', "no JSON"), ('{"task": "$.x", "task_id": "$"}', 'paths has the unknown key "task"; There are: rollouts, steps, group_id, '),
            ("[]", "paths must be an object with at least the key task_id or group_id"),
            ('{"task_id": 1}', "the path of task_id must be a string, or an object with a string path, not number"),
            ('{"task_id": {"map": {}}}', "not an object without it"),
            ('{"task_id": "$", "success": {"path": "$.x", "map": "$.y"}}', "map of the path of success must be an object, not string"),
            ('{"task_id": "$", "success": {"path": "$.x", "mapp": {}}}', r'has the unknown key "mapp"; There are: path, fromjson, match, map, in, key, take\.'),
            ('{"task_id": "$", "steps": {"path": "$.x", "map": {}}}', r'the path of steps has the unknown key "map"; There are: path, fromjson\.'),
            ('{"task_id": "$", "action": {"path": "$.x", "in": "$.y[*]"}}', "the path of action must have in and key together"),
            ('{"task_id": "$", "order": "$.a", "step_no": "$.b"}', "paths must have order or step_no, not both"),
            ('{"task_id": {"path": "$source", "match": "(x"}}', r"match of the path of task_id, \(x, is no regular expression: "),
        ):  # fmt: skip
            self.refused(rf"^stepadv import: -j: [^\n]*{words}[^\n]*\n$", "-j", wrong, odd, status=2)
        self.refused("says nothing of a rollout", "-f", "verl", "-j", RUN, odd, status=2)

    def test_beside(self):
        """paths beside a format replace what it says of its rollouts"""
        self.loaded("-f", "otel", "-j", r'{"task_id": "$.meta.attributes.\"gen_ai.conversation.id\"", "outcome": "$.meta.scores.reward"}', DATA / "otel/genai.json")
        self.assertEqual(self.lines("SELECT task_id, outcome FROM t.rollouts ORDER BY rollout_id"), "conv-1|0.5\nconv-2|1.0")

    def test_jsonpath(self):
        """the paths themselves, as PostgreSQL has them"""
        from stepadv.importing.paths import Path

        item = '{"a": [{"x": 2, "z": "five", "y": null}, {"x": 3, "z": "six"}], "b": {"t": true, "c d": [1, [2, 3]]}, "n": -1.5}'
        import json

        for path in ("$.a.x", "$.a[*].x", "lax $.a[last].z", "$.a[1].x", '$.b."c d"[*]', "$.b.*", '$.b."c d"[1][0]', "$.missing", "$.a[5]", "$[0].n", "$.n[last]", "$ . a [ 0 ] . x"):
            theirs = [row[0] for row in self.connection.execute("SELECT jsonb_path_query(%s::jsonb, %s::jsonpath)", (item, path))]
            self.assertEqual(Path(path).all(json.loads(item), {}), theirs, path)
