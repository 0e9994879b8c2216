"""Invalid and hostile files: each is reported, none is loaded in part, and the next file is loaded as usual."""

import gzip
import io
import json
import os
import zipfile
from unittest.mock import patch

from support import Case
from test_files import chat

MANY = 200000
# Name, content, and error; None if the file is loaded, or is empty.
BAD = (
    ("cut.json", chat("c", 0, "x" * 100)[:90], "invalid JSON: it ends too early"),
    ("cut_in_utf8.json", chat("c", 1, "ä" * 100).encode()[: chat("c", 1, "ä").encode().index(b"\xc3") + 3], "invalid UTF-8"),
    ("surrogate.json", chat("u", 0, "a X surrogate").encode().replace(b"X", b"\xed\xa0\x80"), "invalid UTF-8"),
    ("overlong.json", chat("u", 1, "a X long NUL").encode().replace(b"X", b"\xc0\x80"), "invalid UTF-8"),
    ("utf16.json", chat("u", 2, "x").encode("utf-16"), "it is UTF-16: iconv"),
    ("nul.json", chat("n", 0, "a \0 byte"), r"a control character \(byte 0\)"),
    ("escaped_nul.json", chat("n", 1, "a \\u0000 sign"), None),
    ("half.json", chat("n", 2, "half a \\ud83d pair"), r"half of a surrogate pair \(U\+D83D\)"),
    ("deep.json", "[" * MANY + "]" * MANY, "nested too deeply"),
    ("deep_objects.json", '{"a":' * MANY + "1" + "}" * MANY, "nested too deeply"),
    ("deep_open.json", "[" * MANY, "nested too deeply"),
    ("deep_message.json", '{"task_id": "d", "traj": [{"role": "user", "content": ' + "[" * MANY + "]" * MANY + "}]}", "nested too deeply"),
    ("deep_arguments.json", '{"task_id": "d", "trial": 1, "traj": [{"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": '
     '{"name": "f", "arguments": "' + "[" * MANY + '"}}]}]}', None),
    ("number.json", '{"task_id": "n", "trial": 3, "reward": 1' + "0" * 5000 + ', "traj": [{"role": "assistant", "content": "x"}]}', "out of range"),
    ("exponent.json", '{"task_id": "n", "trial": 4, "reward": 1e99999999999, "traj": [{"role": "assistant", "content": "x"}]}', "out of range"),
    ("metadata.json", '{"task_id": "n", "trial": 5, "cost": 1e999, "traj": [{"role": "assistant", "content": "x"}]}', "out of range in metadata"),
    ("arguments.json", '{"task_id": "n", "trial": 6, "traj": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\\"a\\": 1e999}"}}]}]}', None),
    ("keys.json", "{" + ", ".join(f'"k{n}": {n}' for n in range(20000)) + "}", r"no known format; at the top: (k\d+, ){19}k\d+, …; "),
    ("key.json", '{"' + "k\\n" * 1000 + '": 1}', "no known format; at the top: [k?]{40}; "),
    ("twice.json", '{"task_id": "t", "task_id": "t2", "messages": [{"role": "assistant", "content": "x"}]}', None),
    ("same_id.jsonl", chat("i", 0, "one") + "\n" + chat("i", 0, "two") + "\n", "line 2: step 0 of rollout i-t0 of group i differs from what was loaded before"),
    ("same_id_and_words.jsonl", chat("j", 0, "one") + "\n" + chat("j", 0, "one") + "\n", None),
    ("object_for_list.json", '{"messages": {"role": "user", "content": "x"}}', "no known format"),
    ("lists_for_objects.json", '{"task_id": "l", "traj": [["role"], 5, null, "x", {"role": ["user"]}, {"role": "assistant", "content": [[]], "tool_calls": {"a": 1}}]}', None),
    ("list_for_id.json", '{"task_id": ["x"], "trial": {"a": 1}, "messages": [{"role": "assistant", "content": "x"}]}', None),
    ("list_for_score.json", '{"input": "x", "output": "y", "score": [1], "step": 1}', "outcome must be a number, not array"),
    ("word_for_list.json", '{"task_id": "w", "trajectory": [{"action": 1, "observation": [2]}], "history": "none", "info": []}', None),
    ("no_role.json", '{"messages": [{"info": {"role": "user"}, "parts": []}]}', "no known format"),
    ("two.json", '{\n"a": 1}\n{\n"b": 2}\n', r"line 3, column 1: Extra data; of several documents jq -c \. FILE makes lines"),
    ("nothing.json", "null", "no known format"),
    ("empty_list.json", "[]", "no known format; at the top: an empty list"),
    ("blank.json", "  \n\n\t", None),
    ("mark.json", "\ufeff", None),
    ("bytes.json", bytes(range(256)), "."),
    ("line\nfeed \"and' $(touch owned) `touch owned`;.json", chat("f", 0, "x"), None),
    ("gone.json.gz", b"\x1f\x8b\x08\0rest", "it cannot be unpacked: "),
    ("no.json.gz", b"no gzip", "it is not in gzip format"),
    ("a.zip.json", b"PK\3\4\x14\0\x9b\xff", "it is a zip file: unpack it"),
    ("a.tar.json.gz", gzip.compress(b"a.json".ljust(257, b"\0") + b"ustar  \0{}"), "it is a tar file: unpack it"),
    ("lfs.jsonl", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "it is a pointer of Git LFS: git lfs pull"),
    ("no.eval", "no zip", "it is not a zip file that can be read"),
    ("time.jsonl", '{"task_id": "s", "rollout_id": 3, "step_no": 0, "started_at": "tomorrow-ish"}\n', "started_at must be a time, as .*, not \"tomorrow-ish\""),
    ("steps_deep.jsonl", '{"task_id": "s", "rollout_id": 1, "step_no": 0, "action": "x"}\n{"task_id": "s", "rollout_id": 1, "step_no": 1, "args": '
     + "[" * MANY + "]" * MANY + "}\n", "line 2: it is nested too deeply"),
    ("steps_list.jsonl", '{"task_id": "s", "rollout_id": 2, "step_no": 0, "action": "x"}\n["a", "list"]\n', "line 2: a line must be a JSON object, not array"),
)  # fmt: skip
# Invalid values in a line of steps.
LINES = (
    ('"step_no": "0"', "step_no must be a number, not string"), ('"step_no": 0.5', "step_no must be a whole number, not 0.5"),
    ('"step_no": 3000000000', "step_no is out of range"), ('"step_no": 0, "reward": "much"', "reward must be a number, not string"),
    ('"step_no": 0, "reward": 1e400', "reward is out of range"), ('"step_no": 0, "success": 1', "success must be a boolean, not number"),
    ('"step_no": 0, "outcome": true', "outcome must be a number, not boolean"), ('"step_no": 0, "channel": "test"', "channel must be train or validation, not test"),
    ('"step_no": 0, "cost": 0', "cost must be above 0, not 0"), ('"step_no": 0, "observation": "\\ud800"', "half of a surrogate pair"),
    ('"step_no": 0, "response_token_ids": [1, 2], "response_mask": [true]', "response_mask must be as long as response_token_ids"),
    ('"step_no": 0, "response_token_ids": [1.5]', "response_token_ids must be an array of whole numbers"),
    ('"step_no": 0, "response_token_ids": [[1]]', "response_token_ids must be an array of whole numbers"), ('"step_no": 0, "policy_version": [7]', "policy_version must be a string, not array"),
    ('"step_no": 0, "policy_step": 1.5', "policy_step must be a whole number, not 1.5"), ('"step_no": 0, "tool": 5', "tool must be a string, not number"),
    ('"rollout_id": ["r"]', "rollout_id must be a string, not array"), ('"rollout_id": null', "rollout_id must be given"), ('"task_id": null', "task_id or group_id must be given"),
)  # fmt: skip


class Bad(Case):
    def test_matrix(self):
        """one by one: one line of error, counted, nothing loaded"""
        for name, content, words in BAD:
            with self.subTest(name):
                before = self.value("SELECT (SELECT count(*) FROM t.rollouts) + (SELECT count(*) FROM t.steps)")
                said = self.load(self.write(f"one/{name}", content))
                shown = name.replace("\n", r"\?")
                if words is None:
                    self.assertEqual(said.err, "", "without a complaint")
                else:
                    self.assertEqual(said.status, 1, said.out)
                    self.assertRegex(said.err, rf"^[^\n]*one/[^\n]*: [^\n]*({words})[^\n]*\n$")
                    self.assertRegex(said.out, r"^1 file, 1 left out\nleft out: [^\n]*" + (shown if shown.isalnum() else ""))
                    self.assertEqual(said.count("rollouts_added", "steps_added"), "0 0")
                self.assertNotRegex(said.err, "Traceback|CONTEXT|PL/pgSQL")
                after = self.value("SELECT (SELECT count(*) FROM t.rollouts) + (SELECT count(*) FROM t.steps)")
                self.assertEqual(after, before + sum(map(int, said.count("rollouts_added", "steps_added").split())))
        self.assertFalse(os.path.exists("owned"), "a name is only a name")
        before = self.rows()
        said = self.load("-J", "3", self.folder / "one")
        n = sum(words is not None for _, _, words in BAD)
        self.assertEqual((said.status, len(said.err.splitlines())), (1, n), said.err)
        self.assertEqual((said.out.count("left out: "), said.out.count(f"left out: {n - 20} more\n")), (21, 1), "the summary is short")
        self.assertEqual(self.rows(), before, "all of them at once: nothing more is loaded")
        said = self.load("-k", *(self.folder / "one" / n for n in ("same_id.jsonl", "steps_deep.jsonl", "steps_list.jsonl")))
        self.assertEqual(self.lines("SELECT rollout_id FROM t.rollouts WHERE task_id IN ('i', 's') ORDER BY 1"), "1\n2\ni-t0", "with -k what is good of a file")

    def test_lines(self):
        """an invalid line of steps: the error names the line and the value"""
        good = '{"task_id": "g", "rollout_id": "ok", "step_no": 0, "action": "x"}\n'
        for given, words in LINES:
            line = {"task_id": "g", "rollout_id": "r"} | {}
            text = json.dumps(line)[:-1] + ", " + given + "}\n"
            self.assertRegex(self.refused("", self.write("l.jsonl", good + text)).err, rf"l\.jsonl: line 2: {words}", given)
        everything = good + "".join(json.dumps({"task_id": "g", "rollout_id": f"r{n}"})[:-1] + ", " + given + "}\n" for n, (given, _) in enumerate(LINES))
        said = self.refused("", "-k", self.write("all.jsonl", everything + good.replace("ok", "last")))
        self.assertEqual((said.count("bad"), len(said.err.splitlines())), (str(len(LINES)), len(LINES)))
        self.assertEqual(self.lines("SELECT rollout_id FROM t.rollouts ORDER BY 1"), "last\nok")

    def test_truncations(self):
        """a file cut at any byte: it is loaded whole, or not at all"""
        whole = json.dumps([json.loads(chat("z", n, "ä" + "\\n🙂")) for n in range(2)], ensure_ascii=False).encode()
        for end in range(1, len(whole), 7):
            said = self.load(self.write("z.json", whole[:end]))
            self.assertEqual((said.status, self.rows()), (1, "0|0"), whole[:end])
            self.assertNotIn("Traceback", said.err)
        self.assertEqual(self.loaded(self.write("z.json", whole)).count("rollouts_added"), "2")

    def test_limits(self):
        """documents that are too large, in any compression"""
        from stepadv.importing import files

        plain = "".join(chat("p", n, "x" * (1000 if n != 7 else 600000)) + "\n" for n in range(9)).encode()
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("samples/1_epoch_1.json", json.dumps({"id": 1, "messages": [{"role": "assistant", "content": "y" * 2000000}]}))
        self.refused(r"there is no header\.json in it", self.write("nohead.eval", buffer.getvalue()))
        with zipfile.ZipFile(buffer, "a") as archive:
            archive.writestr("header.json", '{"version": 2, "eval": {"task": "t", "model": "m", "run_id": "r", "eval_id": "e"}}')
        given = ((self.write("plain.jsonl.gz", gzip.compress(plain)), "line 8"), (self.write("bomb.eval", buffer.getvalue()), "document 1"),
                 (self.write("one.json", "[" + " " * 600000 + "]"), "document 1"))  # fmt: skip
        with patch.object(files, "MAX_BYTES", 500000):
            for path, where in given:
                self.refused(rf"{where}: it has more than the 256 MB that a document may have", path)
                self.assertEqual(self.rows(), "0|0")
            self.assertEqual(self.refused("line 8", "-k", given[0][0]).count("rollouts_added"), "8")
        self.assertEqual([self.loaded(path).count("rollouts_added") for path, _ in given[:2]], ["1", "1"])
