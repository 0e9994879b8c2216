"""Generators of the lines of each shape."""

import itertools
import json
import math
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any

from stepadv.export.conversation import Conversation, Message, Step, weighted
from stepadv.export.relation import OF_A_STEP, Relation, Source, literal
from stepadv.text import Failed, quoted

Key = tuple[str | None, ...]  # of a rollout: its group and its id
# Columns of canonical tables that a line of shape steps has if the relation has them.
KNOWN = ("observation", "action", "tool", "args")
TOKENS = ("prompt_token_ids", "response_token_ids", "response_mask", "rollout_logprobs")
MEMBERS = {"messages": ("messages", "tools"), "prompt_completion": ("prompt", "completion", "tools")}


def dump(value: Any) -> str:
    """JSON as PostgreSQL writes it, on one line."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise Failed("a message has a number that JSON cannot hold") from None


def joined(*objects: str) -> str:
    return "{" + ", ".join(o[1:-1] for o in objects if o != "{}") + "}"


def members(items: dict[str, str]) -> str:
    """The SQL expression of a JSON object as text, in pieces, since a function takes at most 100 arguments."""
    pairs = [f"{literal(name)}::text, {item}" for name, item in items.items()]
    parts = [f"jsonb_build_object({', '.join(pairs[i : i + 40])})" for i in range(0, len(pairs), 40)]
    return f"({' || '.join(parts) if parts else 'jsonb_build_object()'})::text"


def whose(step_no: int, rollout: str | None) -> str:
    """The name of a step in messages."""
    return f"step {step_no} of rollout {rollout}"


class Lines:
    def __init__(self, source: Source, options: Namespace, steps: Relation | None) -> None:
        """Looks up what the shape needs; steps: the relation with all steps, if it was given."""
        self.source, self.options, self.columns = source, options, source.columns
        source.need(options.columns or [])
        # Pairs compare steps of the attachment's groups.
        self.keys = source.attachment.keys if options.shape == "dpo" and source.attachment else source.keys
        self.steps = source.all_steps(self.keys, steps) if options.shape != "steps" else None
        self._told = self._query_of_rollout() if self.steps else ""
        self._conversation: tuple[Any, Conversation] | None = None

    def items(self, names: list[str]) -> dict[str, str]:
        return {n: f"s.{quoted(n)}" if n != "advantage" else "s.advantage::float8" for n in names}

    def rows(self, items: list[str], names: tuple[str, ...] = OF_A_STEP) -> Iterator[tuple[Key, int, list[Any]]]:
        """For each step with an advantage, in order: the key of the rollout, the number of the step, and the values
        of items."""
        keys = [f"s.{quoted(n)}::text" for n in (*self.keys, "rollout_id")]
        listed = ", ".join([*keys, "s.step_no::bigint", "s.advantage::float8", *items])
        order = self.source.order([*self.keys, *names])
        query = f"SELECT {listed} FROM {self.source.sql} s WHERE s.advantage IS NOT NULL ORDER BY {order}"
        n = len(keys)
        for row in self.source.rows(query):
            if not math.isfinite(row[n + 1]):
                raise Failed(f"advantage of {whose(row[n], row[n - 1])} is not a finite number: {row[n + 1]}")
            yield row[:n], row[n], list(row[n + 2 :])

    def per_token(self) -> dict[str, str]:
        """An array with the advantage on each token of the mask, or on all tokens without one."""
        mask = "s.response_mask::boolean[]" if "response_mask" in self.columns else "NULL::boolean[]"
        if "response_token_ids" not in self.columns:
            return {}
        length = "cardinality(s.response_token_ids)"
        filled = f"CASE WHEN {length} IS NOT NULL THEN array_fill(s.advantage::real, ARRAY[{length}]) END"
        return {"advantages": f"coalesce(stepadv.broadcast(s.advantage::float8, {mask}), {filled})"}

    def beside(self) -> str:
        if self.options.columns is not None:
            return members(self.items(self.options.columns))
        there = [n for n in (*TOKENS, "reason") if n in self.columns]
        return members(self.items([*self.keys, *OF_A_STEP, *there, "advantage"]) | self.per_token())

    def metadata(self) -> str:
        """The expression for the metadata of a step's rollout, a column of views over canonical tables."""
        column = self.columns.get("rollout_metadata")
        return "s.rollout_metadata::jsonb" if column and column.base == "jsonb" else "NULL::jsonb"

    def _query_of_rollout(self) -> str:
        assert self.steps is not None
        there = self.steps.columns
        how = {"step_no": "x.step_no::bigint", "turn": "x.turn::bigint", "args": "to_jsonb(x.args)::text"}
        texts = {n: f"to_jsonb(x.{n}) #>> '{{}}'" for n in Step._fields[:-1]} | how
        items = [expression if n in there else "NULL" for n, expression in texts.items()]
        items.append("x.metadata -> 'text'" if self.steps.has_metadata() else "NULL")
        return f"SELECT {', '.join(items)} FROM {self.steps.sql.replace('%', '%%')} x WHERE "

    def conversation(self, key: Key, metadata: Any) -> Conversation:
        return Conversation(self.rollout(key), metadata, (self.steps or self.source).name)

    def rollout(self, key: Key) -> list[Step]:
        assert self.steps is not None
        where, values = self.steps.where([*self.keys, "rollout_id"], key, "x")
        rows = self.source.connection.execute(self._told + where + " ORDER BY x.step_no", values)
        return [Step(*row) for row in rows]

    def at(self, key: Key, step_no: int, metadata: Any) -> tuple[list[Message], Message]:
        """The conversation before a step, and its turn.  Only one is held, since rows come rollout by rollout."""
        if self._conversation is None or self._conversation[0] != key:
            self._conversation = key, self.conversation(key, metadata)
        return self._conversation[1].at(step_no, whose(step_no, key[-1]))

    def refuse(self, *names: str) -> None:
        for name in self.options.columns or []:
            if name in names:
                hint = "leave it out by --columns"
                raise Failed(f'column "{name}" has the name of a member of shape {self.options.shape}: {hint}')


def steps(lines: Lines) -> Iterator[str]:
    names = lines.options.columns
    if names is None:
        names = [n for n in (*KNOWN, *TOKENS, "reason") if n in lines.columns]
    lines.refuse("advantages")
    items = lines.items(list(dict.fromkeys([*lines.keys, *OF_A_STEP, *names, "advantage"]))) | lines.per_token()
    for _, _, (line,) in lines.rows([members(items)]):
        yield line


def told(lines: Lines) -> Iterator[str]:
    """Shapes messages and prompt_completion: each line is a step with its conversation."""
    own = MEMBERS[lines.options.shape]
    lines.refuse(*own)
    for key, step_no, (beside, metadata) in lines.rows([lines.beside(), lines.metadata()]):
        prompt, completion = lines.at(key, step_no, metadata)
        line: dict[str, Any] = {"prompt": prompt, "completion": [completion]}
        if own[0] == "messages":
            line = {"messages": weighted(prompt, completion)}
        if isinstance(metadata, dict) and isinstance(metadata.get("tools"), list):
            line["tools"] = metadata["tools"]
        yield joined(dump(line), beside)


def verl(lines: Lines) -> Iterator[str]:
    """Shape verl: each line is a step as a row of verl's files, with the tokens under its rollout workers' names."""
    columns, source = lines.columns, lines.source
    for name in ("prompt_token_ids", "response_token_ids"):
        if name not in columns:
            hint = "without tokens the shapes are messages and prompt_completion"
            raise Failed(f"rows for verl need tokens: {source.name} has no column {name}; {hint}")
    names = lines.options.columns
    names = [*lines.keys, *OF_A_STEP, "advantage"] if names is None else names
    lines.refuse("index", "split")
    mask = "s.response_mask::boolean[]::integer[]" if "response_mask" in columns else "NULL::integer[]"
    tokens = {
        "prompt_ids": "s.prompt_token_ids",
        "response_ids": "s.response_token_ids",
        "response_mask": f"coalesce({mask}, array_fill(1, ARRAY[coalesce(cardinality(s.response_token_ids), 0)]))",
        "response_logprobs": "s.rollout_logprobs" if "rollout_logprobs" in columns else "NULL::real[]",
    }
    split = "coalesce(s.channel::text, 'train')" if "channel" in columns else "'train'::text"
    lacks = "s.prompt_token_ids IS NULL OR s.response_token_ids IS NULL"
    items = [members(lines.items(names)), lines.metadata(), members(tokens | lines.per_token()), split, lacks]
    for index, (key, step_no, found) in enumerate(lines.rows(items)):
        beside, metadata, token_items, channel, is_lacking = found
        if is_lacking:
            raise Failed(f"rows for verl need tokens: {whose(step_no, key[-1])} has none")
        truth = metadata.get("ground_truth") if isinstance(metadata, dict) else None
        truth = truth if isinstance(truth, str) else "" if truth is None else dump(truth)
        line = {"data_source": source.name, "prompt": lines.at(key, step_no, metadata)[0], "ability": "agent"}
        reward = {"reward_model": {"style": "rule", "ground_truth": truth}}
        extra = joined(dump({"index": index, "split": channel}), beside)
        yield joined(dump(line | reward), f'{{"extra_info": {extra}}}', token_items)


def process(lines: Lines) -> Iterator[str]:
    """Shape prm: each line is a rollout: the prompt, the steps, and their process rewards."""
    hint = "which process rewards need: the views of rtmc and batch_td have it"
    if "q" not in lines.columns:
        raise Failed(f"{lines.source.name} has no column q, {hint}")
    items = ["to_jsonb(s.q)::text", "s.q::float8", lines.metadata(), members(lines.items([*lines.keys, "rollout_id"]))]
    for key, group in itertools.groupby(lines.rows(items, ("rollout_id", "step_no")), key=lambda row: row[0]):
        rows = list(group)
        q = {step_no: (text, number) for _, step_no, (text, number, _, _) in rows}
        metadata, about = rows[0][2][2:]
        prompt, _ = lines.at(key, rows[0][1], metadata)
        taken = [s for s in lines.rollout(key) if s.step_no <= rows[-1][1]]
        for step in taken:
            if q.get(step.step_no, (None, None))[1] is None:
                name = f"{whose(step.step_no, key[-1])} has no q in {lines.source.name}"
                raise Failed(f"{name}: process rewards need all steps up to the last")
        contents = [m["content"] for m in prompt if m.get("content") is not None]
        seen = ["" if i == 0 or s.observation is None else s.observation + "\n" for i, s in enumerate(taken)]
        line = {
            "prompt": "\n\n".join(c if isinstance(c, str) else dump(c) for c in contents),
            "completions": [before + (s.action or "") for before, s in zip(seen, taken, strict=True)],
            "labels": [q[s.step_no][1] > 0 for s in taken],
        }
        targets = ", ".join(q[s.step_no][0] for s in taken)
        numbers = f'{{"step_nos": {dump([s.step_no for s in taken])}, "targets": [{targets}]}}'
        yield joined(dump(line), *([] if lines.options.columns == [] else [about, numbers]))


SHAPES: dict[str, Callable[[Lines], Iterator[str]]] = {
    "steps": steps,
    "messages": told,
    "prompt_completion": told,
    "verl": verl,
    "prm": process,
}
