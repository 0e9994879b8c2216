"""The lines of each shape, made as they are written."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from stepadv.export.conversation import Conversation, Message, Step, weighted
from stepadv.export.relation import INTEGERS, NUMBERS, OF_A_STEP, Relation, Source, literal, quoted
from stepadv.text import Failed

# What a line of shape steps has of the columns that the canonical tables have, and of selections.
KNOWN = ("observation", "action", "tool", "args")
TOKENS = ("prompt_token_ids", "response_token_ids", "response_mask", "rollout_logprobs")


@dataclass
class Options:
    """What was asked for; columns None: the shape's own."""

    shape: str = "steps"
    columns: list[str] | None = None
    system: str | None = None
    advantage: str = "advantage"
    token_mask: str | None = None
    tokens: str | None = None
    data_source: str | None = None
    ability: str = "agent"
    min_gap: float = 0
    min_visits: int = 2
    label_above: float = 0


def dump(value: Any) -> str:
    """JSON as PostgreSQL writes it, on one line."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise Failed("a message has a number that JSON cannot hold") from None


def joined(*objects: str) -> str:
    """One object of the members of several."""
    return "{" + ", ".join(o[1:-1] for o in objects if o != "{}") + "}"


def members(items: dict[str, str]) -> str:
    """The SQL expression of an object, as text.  A function has no more than a hundred arguments."""
    pairs = [f"{literal(name)}::text, {item}" for name, item in items.items()]
    parts = [f"jsonb_build_object({', '.join(pairs[i : i + 40])})" for i in range(0, len(pairs), 40)]
    return f"({' || '.join(parts) if parts else 'jsonb_build_object()'})::text"


class Lines:
    """What all shapes have in common."""

    def __init__(self, source: Source, options: Options, steps: Relation | None) -> None:
        """Looks up what the shape needs; steps: where all steps are, if somebody said so."""
        self.source, self.options = source, options
        columns = source.columns
        source.need([n for n in (options.token_mask, options.tokens, *(options.columns or [])) if n is not None])
        if options.shape != "dpo":
            source.need([options.advantage], "the advantage is a number; another column is named by --advantage")
            if columns[options.advantage].base not in NUMBERS:
                raise Failed(
                    f'"{options.advantage}" of {source.name} cannot be the advantage:'
                    f" its type is {columns[options.advantage].type}"
                )
        # Pairs are of the groups that were attached.
        self.keys = source.attachment.keys if options.shape == "dpo" and source.attachment else source.keys
        self.mask = options.token_mask or ("response_mask" if "response_mask" in columns else None)
        self.tokens = options.tokens or ("response_token_ids" if "response_token_ids" in columns else None)
        self.steps = source.all_steps(self.keys, steps) if options.shape != "steps" else None
        self._told = self._query_of_rollout() if self.steps else ""
        self._conversation: tuple[Any, Conversation] | None = None

    def column(self, name: str) -> str:
        """A column, as SQL."""
        return f"s.{quoted(name)}"

    @property
    def advantage(self) -> str:
        """The advantage, as SQL."""
        return f"{self.column(self.options.advantage)}::float8"

    def items(self, names: list[str]) -> dict[str, str]:
        """Columns under their names."""
        return {n: self.column(n) for n in names}

    def select(self, items: list[str], names: tuple[str, ...] = OF_A_STEP) -> str:
        """The query for rows of the relation that have an advantage, in their order."""
        keys = [f"{self.column(n)}::text" for n in (*self.keys, "rollout_id")]
        return (
            f"SELECT {', '.join([*keys, 's.step_no::bigint', self.advantage, *items])} FROM {self.source.sql} s"
            f" WHERE {self.column(self.options.advantage)} IS NOT NULL"
            f" ORDER BY {self.source.order([*self.keys, *names])}"
        )

    def rows(self, query: str) -> Iterator[tuple[tuple[str | None, ...], int, float, list[Any]]]:
        """Key of the rollout, number of the step, its advantage, and what else was selected."""
        n = len(self.keys) + 1
        for row in self.source.rows(query):
            if not math.isfinite(row[n + 1]):
                raise Failed(f"advantage of {whose(row[n], row[n - 1])} is not a finite number: {row[n + 1]}")
            yield row[:n], row[n], row[n + 1], list(row[n + 2 :])

    def per_token(self) -> tuple[str | None, str]:
        """Expressions: the advantage on each token of the mask, or on all; whether mask and tokens differ."""
        mask, length = self._mask(), self._length()
        spread = [f"stepadv.broadcast({self.advantage}, {mask})"] if mask else []
        if length:
            filled = f"array_fill(({self.advantage})::real, ARRAY[{length}])"
            spread.append(f"CASE WHEN {length} IS NOT NULL THEN {filled} END")
        agree = f"cardinality({self.column(self.mask)}) <> {length}" if self.mask and length else "false"
        return (f"coalesce({', '.join(spread)})" if spread else None), f"coalesce({agree}, false)"

    def _mask(self) -> str | None:
        """Trainers write masks of 0 and 1."""
        if self.mask is None:
            return None
        column = self.source.columns[self.mask]
        if column.base == "boolean[]":
            return f"{self.column(self.mask)}::boolean[]"
        if column.base not in ("smallint[]", "integer[]", "bigint[]"):
            raise Failed(
                f'"{self.mask}" of {self.source.name} is no mask of tokens: its type is {column.type};'
                " an array of booleans is one, or of 0 and 1"
            )
        return f"{self.column(self.mask)}::integer[]::boolean[]"

    def _length(self) -> str | None:
        """An element per token, or their number."""
        if self.tokens is None:
            return None
        column = self.source.columns[self.tokens]
        if column.category == "A":
            return f"cardinality({self.column(self.tokens)})"
        if column.base not in INTEGERS:
            raise Failed(
                f'"{self.tokens}" of {self.source.name} says nothing of tokens: its type is {column.type};'
                " an array with an element for each does, or their number"
            )
        return f"{self.column(self.tokens)}::integer"

    def check_length(self, differ: bool, step: str) -> None:
        """An error where a mask is not of its tokens."""
        if differ:
            raise Failed(f'mask "{self.mask}" and tokens "{self.tokens}" are not of one length: {step}')

    def beside(self) -> tuple[str, str]:
        """What stands beside the shape's members, and whether mask and tokens differ in length."""
        if self.options.columns is not None:
            return members(self.items(self.options.columns)), "false"
        there = [n for n in (*TOKENS, "reason") if n in self.source.columns]
        spread, differ = self.per_token()
        items = self.items([*self.keys, *OF_A_STEP, *there]) | {"advantage": self.advantage}
        return members(items | ({"advantages": spread} if spread else {})), differ

    def metadata(self) -> str:
        """The expression for the metadata of a step's rollout, as views over canonical tables have it."""
        column = self.source.columns.get("rollout_metadata")
        return self.column("rollout_metadata") + "::jsonb" if column and column.base == "jsonb" else "NULL::jsonb"

    def _query_of_rollout(self) -> str:
        assert self.steps is not None
        there = self.steps.columns

        def text(name: str) -> str:
            return f"to_jsonb(x.{quoted(name)}) #>> '{{}}'" if name in there else "NULL::text"

        turn = "x.turn::bigint" if "turn" in there and there["turn"].base in INTEGERS else "NULL::bigint"
        args = "to_jsonb(x.args)::text" if "args" in there else "NULL::text"
        said = "x.metadata -> 'text'" if "metadata" in there and there["metadata"].base == "jsonb" else "NULL::jsonb"
        items = [turn, text("observation"), text("action"), text("tool"), args, text("next_observation"), said]
        return f"SELECT x.step_no::bigint, {', '.join(items)} FROM {self.steps.sql.replace('%', '%%')} x WHERE "

    def rollout(self, key: tuple[str | None, ...]) -> list[Step]:
        """All steps of a rollout."""
        assert self.steps is not None
        where, values = self.steps.where([*self.keys, "rollout_id"], key, "x")
        rows = self.source.connection.execute(self._told + where + " ORDER BY x.step_no", values)
        return [Step(*row) for row in rows]

    def conversation(self, key: tuple[str | None, ...], metadata: Any) -> Conversation:
        """That of a rollout; rows come rollout by rollout."""
        if self._conversation is None or self._conversation[0] != key:
            self._conversation = key, Conversation(self.rollout(key), metadata, self.options.system)
        return self._conversation[1]

    def lacks(self, step_no: int, rollout: str | None) -> Failed:
        """Where all steps should be there is not this one."""
        name = self.steps.name if self.steps else self.source.name
        return Failed(f"{name} has no {whose(step_no, rollout)}: it is to have all steps")

    def at(self, key: tuple[str | None, ...], step_no: int, metadata: Any) -> tuple[list[Message], Message]:
        """The conversation before a step, and its turn."""
        told = self.conversation(key, metadata)
        if not told.has(step_no):
            raise self.lacks(step_no, key[-1])
        return told.at(step_no, whose(step_no, key[-1]))


def whose(step_no: int, rollout: str | None) -> str:
    """A step as people call it."""
    return f"step {step_no} of rollout {rollout}"


def steps(lines: Lines) -> Iterator[str]:
    """A step per line, with its columns."""
    options, columns = lines.options, lines.source.columns
    names = options.columns
    if names is None:
        names = [n for n in dict.fromkeys((*KNOWN, *TOKENS, lines.mask, lines.tokens, "reason")) if n in columns]
    for name in names:
        if name == "advantages" or name == "advantage" != options.advantage:
            raise Failed(
                f'column "{name}" of {lines.source.name} has the name of what a line has besides:'
                " leave it out by --columns"
            )
    spread, differ = lines.per_token()
    items = lines.items([*lines.keys, *OF_A_STEP, *(n for n in names if n != "advantage")])
    items["advantage"] = lines.advantage
    item = members(items | ({"advantages": spread} if spread else {}))
    for key, step_no, _, (line, differs) in lines.rows(lines.select([item, differ])):
        lines.check_length(differs, whose(step_no, key[-1]))
        yield line


def told(lines: Lines) -> Iterator[str]:
    """A step per line, with its conversation: shapes messages and prompt_completion."""
    own = {"messages": ("messages",), "prompt_completion": ("prompt", "completion")}[lines.options.shape] + ("tools",)
    check_names(lines, own)
    item, differ = lines.beside()
    for key, step_no, _, (beside, differs, metadata) in lines.rows(lines.select([item, differ, lines.metadata()])):
        lines.check_length(differs, whose(step_no, key[-1]))
        prompt, completion = lines.at(key, step_no, metadata)
        line: dict[str, Any] = {"prompt": prompt, "completion": [completion]}
        if own[0] == "messages":
            line = {"messages": weighted(prompt, completion)}
        if isinstance(metadata, dict) and isinstance(metadata.get("tools"), list):
            line["tools"] = metadata["tools"]
        yield joined(dump(line), beside)


def check_names(lines: Lines, own: tuple[str, ...]) -> None:
    """A line has no member twice."""
    for name in lines.options.columns or []:
        if name in own:
            raise Failed(
                f'column "{name}" has the name of a member of shape {lines.options.shape}: leave it out by --columns'
            )


def verl(lines: Lines) -> Iterator[str]:
    """A step per line, as a row of verl's, and the tokens as its rollout workers call them."""
    options, columns, source = lines.options, lines.source.columns, lines.source
    for name in ("prompt_token_ids", "response_token_ids"):
        if name not in columns:
            raise Failed(
                f"rows for verl need tokens: {source.name} has no column {name};"
                " without tokens the shapes are messages and prompt_completion"
            )
    lines.tokens = "response_token_ids"
    spread, differ = lines.per_token()
    names = options.columns if options.columns is not None else [*lines.keys, *OF_A_STEP, options.advantage]
    for name in names:
        if name in ("index", "split"):
            raise Failed(f'column "{name}" has the name of a member of extra_info: leave it out by --columns')
    mask = f"{lines._mask()}::integer[]" if lines.mask else "NULL::integer[]"
    tokens = members(
        {
            "prompt_ids": "s.prompt_token_ids",
            "response_ids": "s.response_token_ids",
            "response_mask": f"coalesce({mask}, array_fill(1, ARRAY[coalesce(cardinality(s.response_token_ids), 0)]))",
            "response_logprobs": "s.rollout_logprobs" if "rollout_logprobs" in columns else "NULL::real[]",
            "advantages": spread or "NULL",
        }
    )
    split = "coalesce(s.channel::text, 'train')" if "channel" in columns else "'train'::text"
    query = lines.select(
        [
            members(lines.items(names)),
            differ,
            lines.metadata(),
            tokens,
            split,
            "s.prompt_token_ids IS NULL OR s.response_token_ids IS NULL",
        ]
    )
    for index, (key, step_no, _, more) in enumerate(lines.rows(query)):
        beside, differs, metadata, token_items, channel, lacks = more
        if lacks:
            raise Failed(f"rows for verl need tokens: {whose(step_no, key[-1])} has none")
        lines.check_length(differs, whose(step_no, key[-1]))
        truth = metadata.get("ground_truth") if isinstance(metadata, dict) else None
        truth = "" if truth is None else truth if isinstance(truth, str) else dump(truth)
        line = {
            "data_source": options.data_source or source.name,
            "prompt": lines.at(key, step_no, metadata)[0],
            "ability": options.ability,
            "reward_model": {"style": "rule", "ground_truth": truth},
        }
        extra = joined(dump({"index": index, "split": channel}), beside)
        yield joined(dump(line), f'{{"extra_info": {extra}}}', token_items)


def process(lines: Lines) -> Iterator[str]:
    """A rollout per line: what it was told, each step, and how good it was to take it."""
    if "q" not in lines.source.columns:
        raise Failed(
            f"{lines.source.name} has no column q, what a process reward is made of:"
            " the views of rtmc and batch_td have it"
        )
    beside = members(lines.items([*lines.keys, "rollout_id"]))
    query = lines.select(["to_jsonb(s.q)::text", "s.q::float8", lines.metadata(), beside], ("rollout_id", "step_no"))
    for key, group in itertools.groupby(lines.rows(query), key=lambda row: row[0]):
        rows = list(group)
        q = {step_no: (text, number) for _, step_no, _, (text, number, _, _) in rows}
        metadata, about = rows[0][3][2:]
        prompt, _ = lines.conversation(key, metadata).at(rows[0][1], f"rollout {key[-1]}")
        taken = [s for s in lines.rollout(key) if s.step_no <= rows[-1][1]]
        for step in taken:
            if q.get(step.step_no, (None, None))[1] is None:
                raise Failed(
                    f"{whose(step.step_no, key[-1])} has no q in {lines.source.name}:"
                    " process rewards need all steps up to the last"
                )
        contents = [m["content"] for m in prompt if m.get("content") is not None]
        line = {
            "prompt": "\n\n".join(c if isinstance(c, str) else dump(c) for c in contents),
            "completions": [
                ("" if i == 0 or s.observation is None else s.observation + "\n") + (s.action or "")
                for i, s in enumerate(taken)
            ],
            "labels": [q[s.step_no][1] > lines.options.label_above for s in taken],
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
