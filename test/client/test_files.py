"""stepadv import: directories, packed files, names of any bytes, repeats, several files at once, interrupts, versions."""

import gzip
import json
import os
import resource
import signal
import subprocess
import time
from unittest.mock import patch

import psycopg
from support import DATA, PROGRAM, Case, environment

from stepadv.importing import writer


def chat(task, trial, answer, reward="1"):
    return (f'{{"task_id": "{task}", "trial": {trial}, "reward": {reward}, "traj": [{{"role": "user", "content": "go"}}, '
            f'{{"role": "assistant", "content": "{answer}"}}]}}')  # fmt: skip


def trajectory(action):
    return json.dumps({"environment": "e", "info": {}, "history": [{"role": "user", "content": "Fix"}],
                       "trajectory": [{"action": action, "observation": "ok", "thought": "t"}]})  # fmt: skip


class Files(Case):
    def fill(self):
        self.write("all/tau/results.json", "[" + chat("a", 0, "one") + ",\n" + chat("a", 1, "ä→🙂 \\u0000") + "]")
        dump = "\r\n".join(f'{{"input": "q", "output": "{n}", "score": 0.0, "step": 7}}' for n in (1, 2, 3)) + "\n"
        self.write("all/verl/7.jsonl.gz", gzip.compress(dump.encode()))
        self.write("all/runs/it's $(touch owned) \"x\";\n-- y/-t 'z'.traj", trajectory("ls"))
        latin = os.fsencode(self.folder) + b"/all/runs/latin\xe9"
        os.mkdir(latin)
        with open(latin + b"/latin\xe9.traj", "w") as file:
            file.write(trajectory("pwd"))
        self.write("all/log.txt", "-----------------\n5\nAction: reset\nObservation: \nShop\n\\.\n::\\.\n\n:\nAction: click[Buy Now]\n"
                   "Observation: Your score (min 0.0, max 1.0): 1.0\n\n1 1.0 1.0 0.0\n-------------\n")  # fmt: skip
        self.write("all/steps.jsonl", '{"task_id": "s", "rollout_id": "r", "step_no": 0, "action": "x", "outcome": 1}\n'
                   '{"task_id": "s", "rollout_id": "r", "step_no": 1, "action": "y"}\n')  # fmt: skip
        self.write("all/pretty.json", '\ufeff{\n  "task_id": "p",\n  "trial": 0,\n  "messages": [\n    {"role": "assistant", "content": "\\\\."}\n  ]\n}\n')
        self.write("all/notes.md", "passed over")
        os.symlink(self.folder / "all/steps.jsonl", self.folder / "all/link.jsonl")

    def test_directory(self):
        """a directory with files of all kinds and hostile names, twice"""
        self.fill()
        said = self.loaded(self.folder / "all")
        self.assertRegex(said.out, r"^7 files, 0 left out\n")
        # 2 of chat, 3 of verl, 1 + 1 of SWE-agent, 1 of ReAct, 1 of steps, 1 printed over lines
        self.assertEqual(said.count("rollouts_added", "steps_added", "nul_replaced"), "10 11 1")
        self.assertFalse(os.path.exists("owned") or (self.folder / "owned").exists(), "a file name is only a name")
        self.assertEqual(self.value("SELECT action FROM t.steps WHERE rollout_id = 'a-t1'"), "ä→🙂 \ufffd")
        self.assertEqual(self.value("SELECT action FROM t.steps WHERE task_id = 'p'"), "\\.")
        self.assertEqual(self.value("SELECT observation FROM t.steps WHERE action = 'click[Buy Now]'"), "\nShop\n\\.\n::\\.\n\n:")
        self.assertEqual(self.lines("SELECT task_id, rollout_id FROM t.rollouts WHERE metadata ->> 'environment' = 'e' ORDER BY task_id COLLATE \"C\""),
                         "-t 'z'|-t 'z' / it's $(touch owned) \"x\";\n-- y\nlatin�|latin� / runs")
        self.assertEqual(self.lines("SELECT rollout_id FROM t.rollouts WHERE policy_version = '7' ORDER BY 1"), "verl--7:1\nverl--7:2\nverl--7:3")
        again = self.loaded(f"{self.folder}/all/.", f"{self.folder}/all/verl/../verl/7.jsonl.gz")
        self.assertEqual(again.count("rollouts_added", "steps_added", "steps_repeated"), "0 0 11")
        self.write("all/runs/-q.traj", trajectory("id"))
        here = os.getcwd()
        try:
            os.chdir(self.folder / "all/runs")
            self.assertEqual(self.loaded("--", "-q.traj").count("rollouts_added"), "1")
        finally:
            os.chdir(here)

    def test_left_out(self):
        """invalid files are left out, with one line of error each; -k loads their valid parts"""
        self.write("bad/1.json", chat("b", 0, "good"))
        self.write("bad/2.json", chat("b", 1, "cut")[:60])
        self.write("bad/3.json", chat("b", 2, "not UTF-8: X(").encode().replace(b"X", b"\xc3"))
        self.write("bad/4.jsonl", "\n".join([chat("b", 3, "good"), chat("b", 4, "NUL \0"), chat("b", 5, "good")]) + "\n")
        self.write("bad/5.json", '{"some": "settings"}')
        self.write("bad/6.json", "")
        self.write("bad/7.json.gz", gzip.compress(b'{"x": "' + os.urandom(100) + b'"}')[:60])
        self.write("bad/8.json", chat("b", 8, "good"))
        said = self.refused("", self.folder / "bad")
        self.assertRegex(said.out, r"^8 files, 5 left out\n(left out: \S*\n){5}nothing in it: \S*bad/6\.json\n")
        self.assertEqual(self.lines("SELECT rollout_id FROM t.rollouts ORDER BY 1"), "b-t0\nb-t8", "whole files or nothing")
        self.assertEqual(len(said.err.splitlines()), 5)
        for words in (r"bad/2\.json: document 1: invalid JSON: it ends too early", r"bad/3\.json: document 1: invalid UTF-8 at byte \d+: c3 28",
                      r"bad/4\.jsonl: line 2: a control character \(byte 0\) in a string, which JSON does not allow; at the top: task_id, trial, "
                      r"reward, traj; -k loads the other 2\n", r"bad/5\.json: document 1: the document has no known format; at the top: some; --explain "
                      r"shows[^\n]*-f names the format\n", r"bad/7\.json\.gz: it cannot be unpacked: unexpected end of file\n"):  # fmt: skip
            self.assertRegex(said.err, words)
        said = self.refused("left out of it: ", "-k", self.folder / "bad")
        self.assertEqual(self.lines("SELECT rollout_id FROM t.rollouts ORDER BY 1"), "b-t0\nb-t3\nb-t5\nb-t8")
        self.assertEqual(said.count("bad"), "1")
        self.assertRegex(said.out, r"^8 files, 4 left out\n", "of which nothing is loaded is left out")

    def test_odd_json(self):
        """invalid JSON of real programs, as lines of steps and as chats"""

        def line(rollout, more=""):
            return f'{{"task_id": "odd", "rollout_id": "{rollout}", "step_no": 0, "action": "x"{more}}}\n'

        self.write("odd/1-nul.jsonl", line("a", ', "observation": "\\u0000 and \\\\u0000"') + line("b"))
        self.write("odd/2-nan.jsonl", line("c") + line("d", ', "reward": NaN') + line("e"))
        self.write("odd/3-infinity.jsonl", line("f", ', "reward": 1e999') + line("g", ', "outcome": -Infinity') + line("h"))
        self.write("odd/4-cut.jsonl", line("i") + line("j", ', "observation": "long"')[:70])
        self.write("odd/5-bytes.jsonl", (line("k") + line("l", ', "observation": "ä X"') + line("m", ', "observation": "ä"')).encode().replace(b"X", b"\xff"))
        self.write("odd/6-chat.json", chat("odd", 0, "good", "NaN"))
        self.write("odd/7-chat.json", "[" + chat("odd", 1, "good") + ", " + chat("odd", 2, "large", "1e400") + "]")
        said = self.refused("", self.folder / "odd")
        self.assertRegex(said.out, r"^7 files, 6 left out\n")
        self.assertEqual(said.count("nul_replaced"), "1", "U+0000, but not its name behind a backslash")
        self.assertEqual(self.lines("SELECT rollout_id, observation FROM t.steps ORDER BY 1"), "a|\ufffd and \\u0000\nb|")
        for words in (r"2-nan\.jsonl: line 2: NaN is not a JSON number", r"3-infinity\.jsonl: line 1: reward is out of range; .*\n  line 2: -Infinity",
                      r"4-cut\.jsonl: line 2: invalid JSON", r"5-bytes\.jsonl: line 2: invalid UTF-8", "6-chat.json: document 1: NaN",
                      "7-chat.json: document 1: outcome is out of range"):  # fmt: skip
            self.assertRegex(said.err, words)
        said = self.refused("", "-k", self.folder / "odd")
        self.assertEqual(self.lines("SELECT rollout_id FROM t.rollouts ORDER BY 1").split(), "a b c e h i k m odd-t1".split())
        self.assertEqual(said.count("bad"), "6")
        self.assertRegex(said.out, r"^7 files, 1 left out\n")

    def test_lines(self):
        """lines of steps: rollouts, contradictions, updates"""
        self.loaded(DATA / "steps")
        self.assertEqual(self.lines("SELECT task_id, rollout_id, policy_version, model, outcome, success, truncated, metadata FROM t.rollouts ORDER BY 2"), "\n".join([
            "door|a||m1|1.0|t|f|", "door|b|7||0.0|f|t|", "door|c||m2|0.25|f|f|{'why': 'crashed'}", "5|d||||" + "|f|"]))
        self.assertEqual(self.lines("SELECT rollout_id, step_no, observation, tool, reward, metadata FROM t.steps ORDER BY 1, 2"), "\n".join([
            "a|0||look|0.5|{'k': [1, 2], 'model': 'm1'}", "a|1|a locked door||0.5|", "b|0||||{'seen_by': 'us'}", "d|3||||"]))
        self.assertEqual(self.value("SELECT count(DISTINCT state) FROM t.steps WHERE step_no = 0"), 1, "rollouts that see nothing begin in one state")
        self.assertTrue(self.value("SELECT a.next_state IS NULL AND b.state = stepadv.signature_hash('a locked door'::text) FROM t.steps a, t.steps b WHERE (a.rollout_id, a.step_no, b.rollout_id, b.step_no) = ('a', 0, 'a', 1)"))
        self.connection.execute("DELETE FROM t.rollouts")
        self.write("lines/stepless.jsonl", "".join(f'{{"task_id": "l", "rollout_id": "s{n}", "outcome": 1}}\n' for n in range(4)))
        self.write("lines/unjudged.jsonl", "".join(f'{{"task_id": "l", "rollout_id": "u{n}", "step_no": 0, "observation": "o"}}\n' for n in range(3)))
        self.write("lines/empty.jsonl", "")
        for counts in ("7 3 4 3", "0 0 4 3"):
            said = self.loaded(self.folder / "lines")
            self.assertEqual(said.count("rollouts_added", "steps_added", "stepless_rollouts", "unjudged_rollouts"), counts)
            self.assertRegex(said.out, r"(?s)^3 files, 0 left out\nnothing in it: \S*lines/empty\.jsonl\n.*without a step: 4 of 7 rollouts\n")
        twice = self.write("twice.jsonl", "".join(f'{{"task_id": "t", "rollout_id": "t", "step_no": 0, "action": "{a}"}}\n' for a in "ab"))
        said = self.refused(r"twice\.jsonl: line 2: step 0 of rollout t of group t differs from line 1; .*; --update or --retries last takes the newest\n$", twice)
        self.assertEqual(said.count("steps_added"), "0")
        one = self.write("one.jsonl", '{"task_id": "u", "rollout_id": "u", "step_no": 0, "action": "a"}\n')
        self.refused("--retries last", "-k", self.write("both.jsonl", open(twice).read() + open(one).read()))
        self.assertEqual(self.lines("SELECT rollout_id FROM t.rollouts WHERE rollout_id IN ('t', 'u')"), "u", "-k leaves out the rollout that contradicts itself")
        self.loaded(self.write("first.jsonl", '{"task_id": "t", "rollout_id": "t", "step_no": 0, "action": "a"}\n'))
        other = self.write("other.jsonl", '{"task_id": "t", "rollout_id": "t", "step_no": 0, "action": "b"}\n')
        self.refused(r"line 1: step 0 of rollout t of group t differs from what was loaded before; .*--update or --retries last takes the newest\n$", other)
        self.loaded("--update", other)
        self.assertEqual(self.value("SELECT string_agg(action, ' ') FROM t.steps WHERE task_id = 't'"), "b")
        late = self.write("late.jsonl", '{"task_id": "t", "rollout_id": "t", "outcome": 0.75, "success": true}\n')
        self.assertEqual(self.loaded(late).count("rollouts_updated", "steps_added"), "1 0")
        self.assertEqual(self.lines("SELECT outcome, success FROM t.rollouts WHERE rollout_id = 't'"), "0.75|t")

    def test_grown(self):
        """a longer rollout adds its new steps; a different one is an error, or replaces the first"""
        words = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "one"}, {"role": "user", "content": "on"},
                 {"role": "assistant", "content": "two"}]  # fmt: skip
        path = self.write("g.json", json.dumps({"task_id": "g", "trial": 0, "messages": words[:2]}))
        self.assertEqual(self.loaded(path).count("rollouts_added", "unjudged_rollouts"), "1 1")
        self.write("g.json", json.dumps({"task_id": "g", "trial": 0, "reward": 1, "messages": words}))
        said = self.loaded(path)
        self.assertEqual(said.count("rollouts_added", "rollouts_updated", "rollouts_repeated", "steps_added", "steps_repeated"), "0 1 1 1 1")
        words[1]["content"] = "another"
        self.write("g.json", json.dumps({"task_id": "g", "trial": 0, "reward": 1, "messages": words[:2]}))
        self.refused(r"step 0 of rollout g-t0 of group g differs from what was loaded before; .*--update or --retries", path)
        self.assertEqual(self.rows(), "1|2")
        self.assertEqual(self.loaded("--update", path).count("rollouts_updated", "steps_added"), "1 1")
        self.assertEqual(self.lines("SELECT step_no, action FROM t.steps"), "0|another", "the steps that it lost are gone")

    def test_names(self):
        """files of one name: as many directories as distinguish them; names in the tables stay"""
        def ids():
            return self.lines('SELECT rollout_id FROM t.rollouts ORDER BY rollout_id COLLATE "C"').split("\n")

        for place in ("one/a", "two/a", "two/b", "three/a/log"):
            self.write(f"many/{place}/log.jsonl", f'{{"input": "q", "output": "{place}", "score": 1, "step": 1}}\n')
        many = self.folder / "many"
        self.loaded(many)
        self.assertEqual(ids(), ["b--log:1", "one/a--log:1", "three/a--log:1", "two/a--log:1"])
        self.assertEqual(self.loaded(many / "one", many / "three/a/log/log.jsonl").count("rollouts_added"), "0", "named otherwise, alone")
        self.connection.execute("DELETE FROM t.rollouts")
        self.loaded(many / "one")
        self.assertEqual(ids(), ["a--log:1"])
        self.refused("the tables have it from another file of that name: -r RUN tells them apart", many / "two/a")
        self.loaded(many)
        self.assertEqual(ids(), ["a--log:1", "b--log:1", "three/a--log:1", "two/a--log:1"], "it keeps its name")

    def test_said(self):
        """--explain and --preview: what a file is, what would be stored"""
        pair = self.write("pair.json", '{"input": "q", "output": "a"}')
        own = self.write("own.json", '{"runs": [{"task": "t", "won": true, "turns": [{"obs": "o", "act": "a"}]}]}')
        fits = self.write("fits.json", chat("m1", 1, "answer 1"))
        said = self.stepadv("import", "-s", "unsaid", "--explain", pair, own, fits)
        self.assertEqual((said.status, said.err), (0, ""))
        self.assertRegex(said.out, r"(?s)pair\.json\n.*  verl: no: without score or reward; step or request_id or gts\n.*  the document has no known format\n")
        self.assertRegex(said.out, r"(?s)fits\.json\n.*  openai_chat: fits\n.*  it is loaded as openai_chat\n")
        said = self.stepadv("import", "--preview", fits)
        self.assertRegex(said.out, r"(?s)task m1, rollout m1-t1, step 0, .*action: answer 1\n")
        short, empty = self.write("short.json", '[{"traj": [{"role": "user"'), self.write("empty.json", "")
        said = self.stepadv("import", "--preview", short, empty)
        self.assertEqual(said.status, 1)
        self.assertRegex(said.out, r"(?s)short\.json\n  no step could be read:\n  one document\n  no JSON: .*empty\.json\n  no step could be read:\n  the file is empty\n")
        self.assertIsNone(self.value("SELECT to_regnamespace('unsaid')"))

    def test_options(self):
        """options, with hostile values and misuse"""
        half = self.write("half.json", chat("o", 0, "x", "0.5"))
        self.loaded("-a", "0.5", "-r", "seed '1' \\", "-v", 'v "1"', "-n", "-12", half)
        self.assertEqual(self.lines("SELECT run_id, policy_version, policy_step, task_id, rollout_id, success FROM t.rollouts"),
                         "seed '1' \\|v \"1\"|-12|o|o-t0|t")
        for given, meant in (("openai-chat", "openai_chat"), ("Inter", "intercode"), ("step", "steps")):
            self.refused(f'^stepadv import: unknown format: {given}; perhaps you meant "{meant}"; formats are openai_chat, ', "-f", given, half, status=2)
        self.refused("document 1: the document is openai_chat, not verl; at the top: .*reward[^;]*$", "-f", "verl", half)
        self.assertNotIn("perhaps", self.refused("unknown format: csv", "-f", "csv", half, status=2).err)
        for wrong in (["-a", "1; DROP"], ["-n", "1.5"], ["-n", "x"], ["-J", "0"], ["-J", "x"], ["-z"], ["--jobz"], [], ["-f", "paths"]):
            self.refused("", *wrong, half if wrong else "--preview", status=2)
        self.refused(r"^stepadv import: cannot read \S*nowhere: it does not exist$", self.folder / "nowhere")
        os.mkdir(self.folder / "void")
        self.assertIn(f"no files to read (.json, .jsonl, .ndjson, .traj, .txt, .eval): {self.folder}/void\n", self.refused("", self.folder / "void").out)
        self.refused('unrecognized arguments: --outcome; perhaps you meant "--outcomes"$', half, "--outcome", half, status=2)
        self.assertIn("\n2 files, 1 left out\n", "\n" + self.refused("", half, "-J", "2", self.write("other.json", "{")).out)
        hostile = self.write("esc\x1b]0;owned\x07.json", "{")
        said = self.refused(r"esc\?\]0;owned\?\.json: ", hostile)
        self.assertNotIn("\x1b", said.err + said.out)
        # A file name from a shell's * that looks like an option.
        said = self.refused(r"unrecognized arguments: --\?\[2J\.json", "--\x1b[2J.json", half, status=2)
        self.assertNotIn("\x1b", said.err + said.out)

    def test_stdin(self):
        """standard input, plain and packed, once"""
        text = (chat("i", 0, "x") + "\n" + chat("i", 1, "y")).encode()
        self.assertEqual(self.loaded("-", stdin=text).count("rollouts_added"), "2")
        self.assertRegex(self.loaded("-", "-", stdin=gzip.compress(text)).out, r"^1 file, 0 left out\n")
        self.assertEqual(self.rows(), "2|2")
        self.refused("^standard input: document 1: ", "-", stdin=text[:50])

    def test_tables(self):
        """tables with other group columns and user-defined columns"""
        self.connection.execute("SELECT count(*) FROM stepadv.create_tables('g', partitions => 1, group_by => '{cohort,group_id}')")
        self.addCleanup(self.connection.execute, "DROP SCHEMA g CASCADE")
        path = self.write("g.jsonl", '{"group_id": "x", "rollout_id": "r", "step_no": 0, "action": "a", "cohort": "c1", "run_id": "u", "task_id": "k"}\n'
                          '{"group_id": "x", "rollout_id": "q", "step_no": 0, "action": "a"}\n')  # fmt: skip
        self.assertRegex(self.load("-k", path, schema="g").err, "cohort must be given")
        said = self.lines("SELECT cohort, group_id, rollout_id, run_id, task_id FROM g.rollouts")
        self.assertEqual(said, "c1|x|r|u|k")

    def test_versions(self):
        """a database without the extension, with another version of it, or in another encoding"""
        self.connection.execute("CREATE DATABASE bare TEMPLATE template0 ENCODING 'SQL_ASCII'")
        self.addCleanup(self.connection.execute, "DROP DATABASE bare WITH (FORCE)")
        path = self.write("x.json", chat("v", 0, "x"))
        self.refused('^stepadv import: the database "bare" has no extension stepadv: CREATE EXTENSION stepadv$', "-d", "bare", path, status=2)
        with psycopg.connect(dbname="bare", autocommit=True) as bare:
            bare.execute("CREATE EXTENSION stepadv")
            self.refused("^stepadv import: encoding SQL_ASCII of database bare is not UTF8: use createdb -E UTF8 -T template0$", "-d", "bare", path, status=2)
            bare.execute("UPDATE pg_extension SET extversion = '0.2.9' WHERE extname = 'stepadv'")
            self.refused(r'^stepadv import: the database "bare" has stepadv 0.2.9, this is [\w.-]+: ALTER EXTENSION stepadv UPDATE$', "-d", "bare", path, status=2)
            bare.execute("UPDATE pg_extension SET extversion = '9.1.0' WHERE extname = 'stepadv'")
            self.refused(r"has stepadv 9.1.0, this is [\w.-]+: install stepadv-client 9.1.0$", "-d", "bare", path, status=2)
        self.refused("^stepadv import: the connection failed: .*; -h, -p, -d and -U say where to connect$", "-h", self.folder, path, status=2)

    def test_retries(self):
        """two files with the same step are an error"""
        for n, act in enumerate("ab"):
            self.write(f"r/{n}.jsonl", f'{{"task_id": "t", "rollout_id": "t", "step_no": 0, "action": "{act}"}}\n')
        said = self.refused(r"r/1\.jsonl: line 1: step 0 of rollout t of group t differs from what was loaded before", self.folder / "r")
        self.assertEqual(said.count("contradictions"), "0")


class AtOnce(Case):
    """Imports in separate processes."""

    def start(self, *arguments, **more):
        command = ["/usr/bin/python3", PROGRAM, "import", "-s", "t", *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), **more)

    def wait_for(self, query):
        for _ in range(300):
            if self.value(query):
                return True
            time.sleep(0.1)
        return False

    def test_jobs(self):
        """several files at once, one of them broken; two with the same rollouts"""
        for n in range(12):
            self.write(f"many/{n}.json", chat(f"m{n % 3}", n, f"answer {n}"))
        self.write("many/bad.json", chat("m", 1, "cut")[:60])
        said = self.refused(r"^\S*bad\.json: [^\n]*\n$", "-J", "4", self.folder / "many")
        self.assertRegex(said.out, r"^13 files, 1 left out\nleft out: \S*/many/bad\.json\n")
        self.assertEqual(said.count("rollouts_added", "steps_added"), "12 12")
        self.assertEqual(self.lines("SELECT count(*), count(DISTINCT action) FROM t.steps"), "12|12")
        for name, order in (("a", 1), ("b", -1)):
            self.write(f"twice/{name}/same.json", "[" + ",".join([chat("same", n, "x") for n in range(300)][::order]) + "]")
        said = self.load("-J", "2", self.folder / "twice")
        self.assertEqual((said.status, said.count("rollouts_added", "steps_added", "steps_repeated")), (0, "300 300 300"), said.err)

    def test_chunks(self):
        """rows are sent while others are made: after an error in the middle, nothing is loaded"""
        lines = [chat("b", n, f"{n} " * 4000) for n in range(200)]
        self.write("chunks/a.jsonl", "\n".join(lines))
        packed = gzip.compress("\n".join(lines).encode())
        self.write("chunks/b.jsonl.gz", packed[: len(packed) * 3 // 4])
        self.write("chunks/c.json", chat("after", 0, "x"))
        sent, lost, send = [], [], writer.Tables.send

        def watched(tables):
            before = len(tables.unsent)
            is_left = send(tables)
            sent.append(before - len(tables.unsent))
            if lost and sum(sent) > lost[0]:
                self.value(f"SELECT pg_terminate_backend({tables.connection.info.backend_pid}, 10000)")
            return is_left

        self.enterContext(patch.multiple(writer, CHUNK=400000, HELD=0))
        self.enterContext(patch.object(writer.Tables, "send", watched))
        self.connection.execute("ALTER TABLE t.steps ADD CONSTRAINT middle CHECK (action NOT LIKE '150 %')")
        self.addCleanup(self.connection.execute, "ALTER TABLE t.steps DROP CONSTRAINT IF EXISTS middle")
        left_out = r'a\.jsonl: new row for relation "\w+" violates check constraint "middle".*\n\S*b\.jsonl\.gz: it cannot be unpacked: unexpected end'
        self.refused(left_out, self.folder / "chunks")
        self.connection.execute("ALTER TABLE t.steps DROP CONSTRAINT middle")
        self.assertEqual((self.rows(), sum(sent) > 300), ("1|1", True))
        cut = self.write("cut.jsonl", "\n".join([*lines[:150], "{", *lines[150:]]))
        self.refused(r"cut\.jsonl: line 151: invalid JSON", cut)
        lost.append(sum(sent) + 200)
        self.refused("^stepadv import: the connection failed: ", cut, status=2)
        self.assertEqual(self.rows(), "1|1")
        lost.clear()
        self.refused(r"cut\.jsonl: left out of it: line 151", "-k", cut)
        is_right = "action = repeat(split_part(rollout_id, 't', 2) || ' ', 4000) AND task_id = 'b'"
        self.assertEqual(self.lines(f"SELECT count(*) FROM t.steps WHERE {is_right}"), "200")

    def test_wait(self):
        """an import waits for an uncommitted insert of the same rollout, which is then known; after a deadlock it retries"""
        path = self.write("late.json", "[" + ",".join(chat("w", n, "x") for n in (1, 2, 3)) + "]")
        with psycopg.connect() as other:
            insert = "INSERT INTO t.rollouts (task_id, rollout_id, outcome, success) VALUES ('w', %s, 1, true)"
            step = "INSERT INTO t.steps (task_id, rollout_id, step_no, turn, observation, action) VALUES ('w', %s, 0, 0, 'go', 'x')"
            other.execute("SET deadlock_timeout = '1h'")
            other.execute(insert, ("w-t2",))
            other.execute(step, ("w-t2",))
            late = self.start(path, "-d", "options='-c deadlock_timeout=500ms'")
            self.assertTrue(self.wait_for("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'transactionid'"), "it waits")
            # The import has written the first rollout of the file: now the other session waits, too.
            other.execute(insert, ("w-t1",))
            other.execute(step, ("w-t1",))
        out, err = late.communicate(timeout=60)
        self.assertEqual((late.returncode, err), (0, ""), out)
        self.assertRegex(out, r"\nadded: 1 rollout, 1 step\nknown already: 2 rollouts, 2 steps\n")
        self.assertEqual(self.rows(), "3|3")

    def test_interrupts(self):
        """interrupted or killed at any point: no file is loaded in part, no process remains, a rerun completes"""
        for n in range(4):
            self.write(f"cut/{n}.json", "[" + ",".join(chat(f"c{n}", i, "word " * 20) for i in range(300)) + "]")
        busy = "SELECT count(*) >= {} FROM pg_stat_activity WHERE application_name = 'stepadv import' AND wait_event_type = 'Lock'"
        for number, status, jobs in ((signal.SIGINT, 130, 3), (signal.SIGTERM, 143, 1), (signal.SIGKILL, -9, 1)):
            with psycopg.connect() as lock:
                lock.execute("LOCK TABLE t.rollouts IN SHARE MODE")
                temp = self.folder / f"temp{number}"
                temp.mkdir()
                cut = self.start("-J", jobs, self.folder / "cut", cwd=temp, restore_signals=True)
                self.assertTrue(self.wait_for(busy.format(jobs)), f"files are being loaded ({number})")
                cut.send_signal(number)
                out, err = cut.communicate(timeout=30)
                self.assertEqual(cut.returncode, status, out + err)
                lock.rollback()
            self.assertTrue(self.wait_for("SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'stepadv import'"), "no server process works on")
            self.assertEqual(self.rows(), "0|0")
        self.assertEqual(self.loaded(self.folder / "cut").count("rollouts_added", "steps_added"), "1200 1200")

    def test_full(self):
        """no room for temporary files: an error, and nothing is loaded"""
        lines = (DATA / "otel/genai_lines.jsonl").read_bytes().splitlines(True)
        # More than the program holds in memory.
        lines *= (6 << 20) // len(b"".join(lines))
        path = self.write("many.jsonl", b"".join(lines))
        for names, stdin, words in (([path], None, r"many\.jsonl: no room in TMPDIR for parts of rollouts: "),
                                    (["-"], open(path, "rb"), "^stepadv import: no room in TMPDIR for standard input: File too large$")):  # fmt: skip
            small = self.start(*names, stdin=stdin, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000)))
            out, err = small.communicate(timeout=60)
            self.assertRegex(err, words)
            self.assertNotIn("Traceback", err)
            self.assertEqual((small.returncode, self.rows()), (2 if stdin else 1, "0|0"), out)
            if stdin:
                stdin.close()

    def test_lost(self):
        """a lost connection is an error, and nothing is loaded in part"""
        for name in "ab":
            self.write(f"lost/{name}.json", "[" + ",".join(chat(f"l{name}", i, "x") for i in range(50)) + "]")
        busy = "FROM pg_stat_activity WHERE application_name = 'stepadv import' AND wait_event_type = 'Lock'"
        for jobs in (1, 2):
            with psycopg.connect() as lock:
                lock.execute("LOCK TABLE t.rollouts IN SHARE MODE")
                lost = self.start("-J", jobs, self.folder / "lost")
                self.assertTrue(self.wait_for(f"SELECT count(*) >= {jobs} {busy}"))
                self.value(f"SELECT count(pg_terminate_backend(pid)) {busy}")
                out, err = lost.communicate(timeout=30)
            self.assertEqual(lost.returncode, 2, out + err)
            self.assertRegex(err, "^stepadv import: the connection failed: ")
            self.assertEqual(self.rows(), "0|0")
