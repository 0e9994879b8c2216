"""Shape dpo: each line is a pair of the best and the worst action in one state."""

from collections.abc import Iterator
from typing import Any

from stepadv.export.conversation import Message, without_call_ids
from stepadv.export.relation import Relation, literal
from stepadv.export.shapes import Lines, dump, joined, members, whose
from stepadv.text import Failed, quoted

# Options of attach for all methods that preference_pairs also has.
NUMBERS = ("gamma", "prior", "baseline", "success_above")
SHOWN = "chosen_q rejected_q gap gap_error confidence n_chosen_visits n_rejected_visits reason".split()
# The states of the steps with these ids.  If turns are the steps, every call of a turn has the state of the turn.
STATES = """ARRAY(SELECT t.state
    FROM unnest({}::bigint[]) u(step_id) JOIN stepadv.returns(g.rollouts) r ON r.step_id = u.step_id
    JOIN (SELECT x.rollout_id, x.step_no, x.state,
            lead(x.step_no) OVER (PARTITION BY x.rollout_id ORDER BY x.step_no) AS next
        FROM stepadv.steps(g.rollouts) x) t
    ON t.rollout_id = r.rollout_id AND t.step_no <= r.step_no AND (t.next IS NULL OR r.step_no < t.next))"""


def identity(column: str, base: str) -> str:
    """The expression for an id as the bigint that rollout_agg takes."""
    if base in ("smallint", "integer", "bigint"):
        return f"{column}::bigint"
    if base == "numeric":
        return f"stepadv.signature_hash(trim_scale({column})::text)"
    return f"stepadv.signature_hash({column}{'' if base in ('text', 'bytea', 'jsonb', 'uuid') else '::text'})"


class Pairs:
    """The pairs of the groups of an attachment; for a selection, only those in states of its steps."""

    def __init__(self, lines: Lines) -> None:
        source, options = lines.source, lines.options
        if source.attachment is None:
            hint = "use a view of attach, such as rl.steps_rtmc, or a selection of one"
            raise Failed(f"pairs compare all steps of a group, but those of {source.name} are not known: {hint}")
        if options.columns:
            raise Failed("--columns takes no names for dpo; --columns '' writes prompt, chosen and rejected alone")
        self.lines, self.attachment, self.keys = lines, source.attachment, lines.keys
        source.need(self.keys, "pairs are of the groups of the view that was selected from")
        self.shown = Relation(source.connection, self.attachment.shown)
        rollouts = self.attachment.shown_rollouts
        self.rollouts = Relation(source.connection, rollouts) if rollouts else None

    def query(self, condition: str = "") -> str:
        """The query of pairs: the key of the group, the ids of both steps, the key and the numbers as JSON."""
        options, values, given = self.lines.options, self.attachment.values, self.attachment.options
        arguments = {"min_gap": f"{literal(options.min_gap)}::float8", "min_visits": str(options.min_visits)}
        usable = {n: given[n] for n in NUMBERS if type(given.get(n)) in (int, float)}
        arguments |= {name: f"{literal(value)}::float8" for name, value in usable.items()}
        if isinstance(given.get("prior_mean"), str):
            arguments["prior_mean"] = literal(given["prior_mean"])
        if self.lines.source.is_of_batch_td():
            arguments["method"] = "'batch_td'"
        keys = [f"g.{quoted(n)}::text" for n in self.keys]
        about = [members({n: f"g.{quoted(n)}" for n in self.keys}), members({n: f"p.{n}" for n in SHOWN})]
        listed = ", ".join(f"{name} => {value}" for name, value in arguments.items())
        query = f"""SELECT {", ".join([*keys, "p.chosen_step_id", "p.rejected_step_id", *about])} FROM {values.sql} g
            CROSS JOIN LATERAL stepadv.preference_pairs(g.rollouts, {listed}) WITH ORDINALITY p"""
        order = f" ORDER BY {values.order(self.keys, 'g')}, p.ordinality"
        return (query.replace("%", "%%") + condition + order.replace("%", "%%")) if condition else query + order

    def rows(self) -> Iterator[tuple[Any, ...]]:
        source = self.lines.source
        if source.oid in self.attachment.kinds:
            yield from source.rows(self.query())
            return
        names = [f"s.{quoted(n)}" for n in self.keys]
        ids = f"array_agg({identity('s.step_id', source.columns['step_id'].base)})"
        chosen = f"""SELECT {", ".join(f"{n}::text" for n in names)}, {ids} FROM {source.sql} s
            GROUP BY {", ".join(names)} ORDER BY {source.order(self.keys)}"""
        for *key, steps in source.rows(chosen):
            where, values = self.attachment.values.where(self.keys, key, "g")
            query = self.query(f" WHERE {where} AND p.state = ANY ({STATES.format('%s')})")
            yield from source.connection.execute(query, [*values, steps])

    def told(self, key: tuple[str | None, ...], step: int) -> tuple[str, list[Message], Message]:
        """For one step of a pair: its ids as JSON, the conversation before it, and the message of its turn."""
        where, values = self.shown.where(self.keys, key, "x")
        step_id = "stepadv_step_id" if "stepadv_step_id" in self.shown.columns else "stepadv_step"
        ids = members({"rollout_id": "x.stepadv_rollout_id", "step_no": "x.stepadv_no", "step_id": f"x.{step_id}"})
        metadata, given = "NULL::jsonb", [*values, step]
        if self.rollouts is not None and self.rollouts.has_metadata():
            of_rollout = self.rollouts.where(self.keys, key, "r")
            metadata = f"""(SELECT r.metadata FROM {self.rollouts.sql.replace("%", "%%")} r
                WHERE {of_rollout[0]} AND r.stepadv_rollout = x.stepadv_rollout LIMIT 1)"""
            given = [*of_rollout[1], *given]
        query = f"""SELECT x.stepadv_rollout_id::text, x.stepadv_no::bigint, {ids}, {metadata}
            FROM {self.shown.sql.replace("%", "%%")} x WHERE {where} AND x.stepadv_step = %s LIMIT 1"""
        row = self.lines.source.connection.execute(query, given).fetchone()
        if row is None:
            raise Failed(f"{self.shown.name} has no step {step}: the rows changed meanwhile, or cannot all be read")
        rollout, step_no, found, about = row
        return found, *self.lines.conversation((*key, rollout), about).at(step_no, whose(step_no, rollout))


def pairs(lines: Lines) -> Iterator[str]:
    of = Pairs(lines)
    n = len(of.keys)
    for row in of.rows():
        key, (chosen_id, rejected_id, group, numbers) = row[:n], row[n:]
        chosen, prompt, best = of.told(key, chosen_id)
        rejected, other_prompt, worst = of.told(key, rejected_id)
        line = dump({"prompt": prompt, "chosen": [best], "rejected": [worst]})
        ids = {"chosen": chosen, "rejected": rejected}
        named = [found.replace('{"', f'{{"{which}_').replace(', "', f', "{which}_') for which, found in ids.items()]
        same = dump({"same_prompt": without_call_ids(prompt) == without_call_ids(other_prompt)})
        yield joined(line, *([] if lines.options.columns == [] else [group, *named, numbers, same]))
