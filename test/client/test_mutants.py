"""Mutants of the example files of every format, by bytes and by members: the readers report errors of any file, and
never fail otherwise."""

import copy
import json
import os
import random
import time
import unittest
from argparse import Namespace
from unittest.mock import patch

from support import DATA

from stepadv.importing.conversation import parse_arguments
from stepadv.importing.files import File, parsed
from stepadv.importing.format import Bad
from stepadv.importing.formats import explain
from stepadv.importing.load import Reader
from stepadv.importing.rows import Row, Shape
from stepadv.importing.tally import Tally

SHAPE = Shape(["run_id", "policy_version", "task_id"], ["policy_step", "tags"], ["group_id"], ["", "", None], "0")
OPTIONS = Namespace(success_at=1.0, run_id=None, policy_version=None, policy_step=None)
ODD = [None, True, False, 0, -1, 2**70, 1.5, 1e308, "", "x", "\0", "2026-01-01T00:00:00Z", "{", '{"a": 1}', "[]", [], {}, [[]], [None], {"role": "assistant"}, ["x", 1],
       {"type": "tool_use"}, {"a": {"b": []}}, "null", "é🙂", "1" * 50, [{"role": "user", "content": 5}]]  # fmt: skip


def places(value):
    """Places in a value where another value can be."""
    found, waiting = [], [value]
    while waiting and len(found) < 3000:
        container = waiting.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container)) if isinstance(container, list) else ()
        for key in keys:
            found.append((container, key))
            waiting.append(container[key])
    return found


def mutate(document, others, r):
    for _ in range(r.choice((1, 1, 1, 2, 5))):
        found = places(document)
        if not found:
            return copy.deepcopy(r.choice(ODD))
        container, key = r.choice(found)
        what = r.randrange(5)
        if what == 0:
            container[key] = copy.deepcopy(r.choice(ODD))
        elif what == 1:
            del container[key]
        elif what == 2:
            container[key] = json.loads(r.choice(others))
        elif what == 3 and isinstance(container, list):
            container.append(json.loads(json.dumps(container[key])))
        else:
            other, name = r.choice(found)
            container[key] = json.loads(json.dumps(other[name])) if name in (other if isinstance(other, dict) else range(len(other))) else None
    return document


def read(text, format):
    """Reads a document as an import does, without tables."""
    document = parsed(1, text.encode(errors="surrogatepass"))
    explain(document.value, 1)
    OPTIONS.format = format
    with patch("stepadv.importing.load.documents_of", lambda path: iter([document])):
        rollouts = list(Reader(File("x", "/a/b.json"), "/a/b.json", OPTIONS, Tally(), lambda: None).rollouts())
    for rollout, n in rollouts:
        try:
            if any(key in rollout for key in ("group_id", "task_id", "problem")):
                Row(rollout, n, SHAPE, OPTIONS)
        except Bad:
            pass


class Mutants(unittest.TestCase):
    def test_mutants(self):
        """for some seconds (CLIENT_FUZZ), from a seed (CLIENT_SEED): no reader fails"""
        seconds, seed = float(os.environ.get("CLIENT_FUZZ", 3)), int(os.environ.get("CLIENT_SEED", 1))
        r = random.Random(seed)
        given = []
        for path in sorted(DATA.glob("*/*")):
            text = path.read_text()
            format = {"anthropic": "openai_chat", "agents": "responses"}.get(path.parent.name, path.parent.name)
            given += [(format, line) for line in (text.splitlines() if path.suffix == ".jsonl" else [text])]
        trees = [text for format, text in given if format != "react"]
        end, n = time.monotonic() + seconds, 0
        while n < 100 or time.monotonic() < end:
            format, text = r.choice(given)
            if format == "react" or r.random() < 0.2:
                data = bytearray(text.encode())
                for _ in range(r.randrange(1, 6)):
                    at = r.randrange(len(data))
                    data[at : at + r.randrange(0, 4)] = r.choice((b"", b"{", b'"', b"\\u0000", b"\\ud800", b"\xff", b"0", b"]", b"\n", bytes([r.randrange(256)])))
                mutant = data.decode(errors="replace")
            else:
                mutant = json.dumps(mutate(json.loads(text), trees, r), ensure_ascii=r.random() < 0.5)
            try:
                read(mutant, format if r.random() < 0.8 else None)
                if format is not None and r.random() < 0.1:
                    parse_arguments(mutant)
            except Exception as error:
                self.fail(f"{type(error).__name__}: {error}; seed {seed}, mutant {n}, {format}: {mutant[:3000]}")
            n += 1
