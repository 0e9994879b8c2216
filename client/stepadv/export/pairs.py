"""Shape dpo: a pair per line, of what was done best and worst in one state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepadv.export.conversation import Conversation, Message, without_call_ids
from stepadv.export.lines import Lines, dump, joined, members, whose
from stepadv.export.relation import Attachment, Relation, literal, quoted
from stepadv.text import Failed

# What preference_pairs takes of the options that attach was given for all methods.
OPTIONS = {"gamma": "float8", "prior": "float8", "baseline": "float8", "prior_mean": "text", "success_above": "float8"}
NUMBERS = ("chosen_q", "rejected_q", "gap", "gap_error", "confidence", "chosen_visits", "rejected_visits", "reason")
# The states in which steps were done.  A turn is one step, and whichever of its calls was chosen stands for it.
STATES = """ARRAY(SELECT t.state
    FROM unnest({}::bigint[]) u(step_id) JOIN stepadv.returns(g.rollouts) r ON r.step_id = u.step_id
    JOIN (SELECT x.rollout_id, x.step_no, x.state,
            lead(x.step_no) OVER (PARTITION BY x.rollout_id ORDER BY x.step_no) AS next
        FROM stepadv.steps(g.rollouts) x) t
    ON t.rollout_id = r.rollout_id AND t.step_no <= r.step_no AND (t.next IS NULL OR r.step_no < t.next))"""


def identity(column: str, base: str) -> str:
    """The expression that rollout_agg's callers make of an id."""
    if base in ("smallint", "integer", "bigint"):
        return f"{column}::bigint"
    if base == "numeric":
        return f"stepadv.signature_hash(trim_scale({column})::text)"
    return f"stepadv.signature_hash({column}{'' if base in ('text', 'bytea', 'jsonb', 'uuid') else '::text'})"


class Pairs:
    """Of the groups of an attachment; those of a selection: of the states that it has a step in."""

    def __init__(self, lines: Lines) -> None:
        """Looks up the views."""
        source, options = lines.source, lines.options
        if source.attachment is None:
            raise Failed(
                f"pairs of {source.name} are not known: they compare all steps of a group,"
                " so give a view of attach, such as rl.steps_rtmc, or a selection of one"
            )
        if options.columns:
            raise Failed("columns cannot be named for pairs; --columns '' leaves prompt, chosen and rejected alone")
        self.lines, self.attachment = lines, source.attachment
        self.keys = lines.keys
        self.selected = source.oid not in self.attachment.kinds
        source.need(self.keys, "pairs are of the groups of the view that was selected from")
        self.shown = Relation(source.connection, self.attachment.shown)
        rollouts = self.attachment.shown_rollouts
        self.rollouts = Relation(source.connection, rollouts) if rollouts else None

    def query(self) -> str:
        """Keys of the group, the steps of a pair, and its numbers; holes: a condition, and one on the state."""
        source, options = self.lines.source, self.lines.options
        values = self.attachment.values
        arguments = {"min_gap": f"{literal(options.min_gap)}::float8", "min_visits": str(options.min_visits)}
        for name, value in self.attachment.options.items():
            if usable(name, value):
                arguments[name] = f"{literal(value)}::{OPTIONS[name]}"
        if source.kind() == "batch_td":
            arguments["method"] = "'batch_td'"
        given = ", ".join(f"{n} => {v}" for n, v in arguments.items())
        keys = [f"g.{quoted(n)}::text" for n in self.keys]
        about = [members({n: f"g.{quoted(n)}" for n in self.keys}), members({n: f"p.{n}" for n in NUMBERS})]
        return (
            f"SELECT {', '.join([*keys, 'p.chosen_step_id', 'p.rejected_step_id', *about])} FROM {values.sql} g"
            f" CROSS JOIN LATERAL stepadv.preference_pairs(g.rollouts, {given}) WITH ORDINALITY p"
            "{}"
            f" ORDER BY {values.order(self.keys, 'g')}, p.ordinality"
        )

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """All pairs."""
        source, query = self.lines.source, self.query()
        before, after = query.rsplit("{}", 1)
        if not self.selected:
            yield from source.rows(before + after)
            return
        keys = ", ".join(f"s.{quoted(n)}" for n in self.keys)
        chosen = (
            f"SELECT {', '.join(f's.{quoted(n)}::text' for n in self.keys)},"
            f" array_agg({identity('s.step_id', source.columns['step_id'].base)}) FROM {source.sql} s"
            f" GROUP BY {keys} ORDER BY {source.order(self.keys)}"
        )
        for *key, steps in source.rows(chosen):
            where, values = self.attachment.values.where(self.keys, key, "g")
            of_these = (
                before.replace("%", "%%")
                + f" WHERE {where} AND p.state = ANY ({STATES.format('%s')})"
                + after.replace("%", "%%")
            )
            yield from source.connection.execute(of_these, [*values, steps])

    def told(self, key: tuple[str | None, ...], step: int) -> tuple[str, list[Message], Message]:
        """One of the two steps: its ids as JSON, the conversation before it, and its turn."""
        connection = self.lines.source.connection
        where, values = self.shown.where(self.keys, key, "x")
        step_id = "stepadv_step_id" if "stepadv_step_id" in self.shown.columns else "stepadv_step"
        row = connection.execute(
            "SELECT x.stepadv_rollout_id::text, x.stepadv_no::bigint, x.stepadv_rollout, jsonb_build_object("
            f"'rollout_id', x.stepadv_rollout_id, 'step_no', x.stepadv_no, 'step_id', x.{step_id})::text"
            f" FROM {self.shown.sql.replace('%', '%%')} x WHERE {where} AND x.stepadv_step = %s LIMIT 1",
            [*values, step],
        ).fetchone()
        if row is None:
            raise Failed(f"{self.shown.name} has no step {step}: the rows changed meanwhile, or cannot all be read")
        rollout, step_no, hashed, ids = row
        metadata = self._metadata(where, values, hashed)
        told = Conversation(self.lines.rollout((*key, rollout)), metadata, self.lines.options.system)
        if not told.has(step_no):
            raise self.lines.lacks(step_no, rollout)
        return ids, *told.at(step_no, whose(step_no, rollout))

    def _metadata(self, where: str, values: list[str], rollout: int) -> Any:
        column = self.rollouts.columns.get("metadata") if self.rollouts else None
        if self.rollouts is None or column is None or column.base != "jsonb":
            return None
        row = self.lines.source.connection.execute(
            f"SELECT x.metadata FROM {self.rollouts.sql.replace('%', '%%')} x"
            f" WHERE {where} AND x.stepadv_rollout = %s LIMIT 1",
            [*values, rollout],
        ).fetchone()
        return row[0] if row else None


def usable(name: str, value: Any) -> bool:
    """Whether an option of attach is one of preference_pairs, too."""
    types = {None: (), "text": (str,), "float8": (int, float)}
    return isinstance(value, types[OPTIONS.get(name)]) and not isinstance(value, bool)


def named(prefix: str, ids: str) -> str:
    """An object whose members' names begin with a word."""
    for name in ("rollout_id", "step_no", "step_id"):
        ids = ids.replace(f'"{name}": ', f'"{prefix}_{name}": ', 1)
    return ids


def pairs(lines: Lines) -> Iterator[str]:
    """A pair per line."""
    of = Pairs(lines)
    n = len(of.keys)
    for row in of.rows():
        key, (chosen_id, rejected_id, group, numbers) = row[:n], row[n:]
        chosen, prompt, best = of.told(key, chosen_id)
        rejected, other_prompt, worst = of.told(key, rejected_id)
        line = dump({"prompt": prompt, "chosen": [best], "rejected": [worst]})
        same = dump({"same_prompt": without_call_ids(prompt) == without_call_ids(other_prompt)})
        about = [group, named("chosen", chosen), named("rejected", rejected), numbers, same]
        yield joined(line, *([] if lines.options.columns == [] else about))


def why_none(lines: Lines) -> str:
    """What an empty file of pairs means."""
    return (
        f"no state in {lines.source.name} has two actions that {lines.options.min_visits} rollouts took"
        f" (--min-visits) and that differ by more than {lines.options.min_gap:g} in q (--min-gap)"
    )


__all__ = ["Attachment", "pairs", "why_none"]
