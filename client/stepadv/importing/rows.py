"""Encodes rollouts as lines of COPY, or says why one cannot be loaded."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from stepadv.importing.format import TOKENS, Bad, Rollout
from stepadv.importing.values import Json, fields, given, is_name, parse_time, to_json, type_of, words
from stepadv.text import shorten

MOST = 1e300
# COPY's CSV format, with a quote that is rare in texts.  Lines are first made with U+0000 as the quote, which no text
# contains, so that the quotes in all steps of a rollout can be escaped at once.
COPIED_AS = r"(FORMAT csv, DELIMITER E'\t', QUOTE E'\x01')"
NULL = ""


def wrong(name: str, wanted: str, value: Json) -> Bad:
    return Bad(f"{name} must be {'an' if wanted[0] in 'aeiou' else 'a'} {wanted}, not {type_of(value)}")


def text(value: Json, name: str = "") -> str:
    return f"\0{value}\0" if isinstance(value, str) else jsonb(value, name)


def jsonb(value: Json, name: str) -> str:
    try:
        return f"\0{to_json(value)}\0"
    except ValueError:
        raise Bad(f"a number out of range in {name}") from None
    except RecursionError:
        raise Bad("it is nested too deeply") from None


def number(value: Json, name: str) -> str:
    if type(value) is not float and type(value) is not int:
        raise wrong(name, "number", value)
    if not -MOST <= value <= MOST:
        raise Bad(f"{name} is out of range")
    return repr(value)


def integer(value: Json, name: str, bits: int = 31) -> int:
    if type(value) is not int:
        if number(value, name) and value != value // 1:
            raise Bad(f"{name} must be a whole number, not {value}")
        value = int(value)
    if not -1 << bits <= value < 1 << bits:
        raise Bad(f"{name} is out of range")
    return value


def whole(value: Json, name: str) -> str:
    return repr(integer(value, name))


def cost(value: Json, name: str) -> str:
    if number(value, name) and value <= 0:
        raise Bad(f"{name} must be above 0, not {value}")
    return repr(value)


def string(value: Json, name: str) -> str:
    if type(value) is not str:
        raise wrong(name, "string", value)
    return f"\0{value}\0"


def truth(value: Json, name: str) -> str:
    if type(value) is not bool:
        raise wrong(name, "boolean", value)
    return "t" if value else "f"


def channel(value: Json, name: str) -> str:
    if string(value, name) and value not in ("train", "validation"):
        raise Bad(f"{name} must be train or validation, not {shorten(value, 60)}")
    return value


def time(value: Json, name: str) -> str:
    found = parse_time(value) if string(value, name) else None
    if found is None:
        raise Bad(f'{name} must be a time, as 2026-01-31T12:00:00Z, not "{shorten(value, 60)}"')
    return found.isoformat()


def array(noun: str, types: set[type], is_right: Callable[[Any], bool], spell: Callable[[Any], str]) -> "Encode":
    def encode(value: Json, name: str) -> str:
        if not isinstance(value, list):
            raise wrong(name, "array", value)
        if not set(map(type, value)) <= types or not all(map(is_right, value)):
            raise Bad(f"{name} must be an array of {noun}")
        return f"{{{','.join(map(spell, value))}}}" if value else NULL

    return encode


def is_id(v: float) -> bool:
    return v == v // 1 and -1 << 31 <= v < 1 << 31


ids = array("whole numbers", {int, float}, is_id, lambda v: repr(int(v)))
mask = array("booleans", {bool}, lambda v: True, lambda v: "t" if v else "f")
# A real cannot hold smaller numbers: they are 0.
logprobs = array("numbers", {int, float}, lambda v: bool(abs(v) < 3e38), lambda v: repr(v) if abs(v) > 1e-37 else "0")

Encode = Callable[[Json, str], str]
OF_GROUP: dict[str, Encode] = {"task_id": text, "run_id": text, "policy_version": text}
OF_GROUP |= {"policy_step": lambda v, name: repr(integer(v, name, 63)), "tags": jsonb, "group_id": text}
OF_ROLLOUT: dict[str, Encode] = {"model": string, "outcome": number, "success": truth, "truncated": truth}
OF_ROLLOUT |= {"channel": channel, "curation": string, "started_at": time, "ended_at": time, "metadata": jsonb}
OF_STEP: dict[str, Encode] = {"step_no": whole, "turn": whole, "observation": text, "action": text, "tool": string}
OF_STEP |= {"args": jsonb, "ok": truth, "next_observation": text, "state": text, "reward": number, "meta": jsonb}
OF_STEP |= {"turn_reward": number, "value": number, "cost": cost, "prompt_token_ids": ids, "response_token_ids": ids}
OF_STEP |= {"response_mask": mask, "rollout_logprobs": logprobs}
STEP_COLUMNS = [name.replace("meta", "metadata") for name in OF_STEP]


def encoded(table: dict[str, Encode], record: dict[str, Json]) -> str:
    get = record.get
    return "\t".join([NULL if (v := get(name)) is None else encode(v, name) for name, encode in table.items()])


def all_encoded(table: dict[str, Encode], records: list[dict[str, Json]]) -> Iterator[str]:
    """The lines of all records, made column by column, which is faster; an error may be that of a later record."""
    there, columns = set().union(*records), []
    for name, encode in table.items():
        values = [record.get(name) for record in records] if name in there else ()
        is_text = encode in (text, string)
        found = [f"\0{v}\0" if is_text and type(v) is str else NULL if v is None else encode(v, name) for v in values]
        columns.append(found or [NULL] * len(records))
    return map("\t".join, zip(*columns, strict=True))


def for_copy(lines: list[str], of_steps: bool = True) -> bytes:
    try:
        return b"".join(map(str.encode, lines)).replace(b"\1", b"\1\1").replace(b"\0", b"\1")
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        step = next(i for i, line in enumerate(lines) if half in line) if of_steps else None
        raise Bad(f"half of a surrogate pair (U+{ord(half):04X}) in a string", step) from None


class Shape(NamedTuple):
    keys: list[str]  # columns of the group: the primary key without rollout_id
    others: list[str]  # columns for task, run, version, step and tags that are not keys
    lacking: list[str]  # those of them for which the tables have no column
    defaults: list[str | None]  # values of keys that a source does not have
    start: str  # the state of a first step without an observation, which no text can have


def names_of(rollout: Rollout, shape: Shape, options: Namespace) -> dict[str, Json]:
    """Task, group, run, version, step and tags; the options have defaults.  The group counts if group_id is a key;
    otherwise it is used only in place of a missing task."""
    names: dict[str, Json] = {}
    for name in ("task_id", "group_id", "rollout_id", "run_id", "policy_version"):
        value = rollout.get(name)
        if value is not None and not is_name(value):
            raise wrong(name, "string", value)
        names[name] = words(value)
    task, group = names["task_id"], names["group_id"]
    if task is None and group is None:
        raise Bad("task_id or group_id must be given")
    if names["rollout_id"] is None:
        raise Bad("rollout_id must be given")
    if "group_id" in shape.keys:
        names["group_id"] = task if group is None else group
    else:
        names |= {"task_id": group if task is None else task, "group_id": None}
    names |= {"policy_step": rollout.get("policy_step"), "tags": rollout.get("tags")}
    return names | {n: getattr(options, n) for n in ("run_id", "policy_version", "policy_step") if names[n] is None}


def key_of(names: dict[str, Json], meta: Json, shape: Shape) -> tuple[str, ...]:
    """The key of a rollout.  The values of key columns that the user has added are in the metadata."""
    found = []
    for key, default in zip(shape.keys, shape.defaults, strict=True):
        value = names.get(key) if key in OF_GROUP else words(fields(meta).get(key))
        value = default if value is None else value
        if value is None:
            raise Bad(f"{key} must be given")
        found.append(value)
    return (*found, names["rollout_id"])


class Row:
    """A rollout, ready to be written."""

    def __init__(self, rollout: Rollout, place: int, shape: Shape, options: Namespace):
        if "problem" in rollout:
            raise Bad(rollout["problem"])
        meta, names = rollout.get("meta"), names_of(rollout, shape, options)
        self.key = key_of(names, rollout.get("keys", meta), shape)
        self.place = rollout.get("place", place)
        self.source = fields(meta).get("source")
        self.task = names["group_id"] if names["task_id"] is None else names["task_id"]
        # Values without a column become metadata; a task that equals its group is stored once.
        kept = {name: names[name] for name in shape.lacking if names[name] is not None}
        if kept.get("task_id", "") == names["group_id"]:
            del kept["task_id"]
        if kept:
            meta = {**(meta if isinstance(meta, dict) else given({"meta": meta})), **kept}
        about = {"channel": "train", "truncated": False} | given(rollout) | {"metadata": meta}
        self.outcome, self.success = about.get("outcome"), about.get("success")
        if self.outcome is not None and number(self.outcome, "outcome") and self.success is None:
            # A sum of scores may miss 1 by the last digit.
            about["success"] = self.success = self.outcome >= options.success_at - 1e-9
        # The file that the verdict is from; "" is the file of the rollout itself.
        is_judged = self.outcome is not None or self.success is not None
        self.verdict = rollout.get("verdict", "") if is_judged else None
        self.lacks = rollout.get("lacks", "")
        others = {name: OF_GROUP[name] for name in shape.others}
        prefix = "".join(f"{text(key)}\t" for key in self.key)
        line = prefix + (encoded(others, names) + "\t" if others else "") + encoded(OF_ROLLOUT, about) + "\n"
        self.line = for_copy([line], of_steps=False)
        steps = rollout.get("steps") or []
        # If steps are numbered, other files may have more of them.
        self.is_whole = not any(step.get("step_no") is not None for step in steps)
        number_steps(steps)
        self.numbers = [step["step_no"] for step in steps]
        self.n_actions = sum(step.get("action") is not None for step in steps)
        self.later: str | None = None
        self.lines = self.lines_of(steps, prefix, shape.start)
        self.data = for_copy(self.lines)

    def lines_of(self, steps: list[dict[str, Json]], prefix: str, start: str) -> list[str]:
        """The lines of the steps.  A result that equals the next observation is stored once.  Sets later: the line of
        the first step for the case that the tables have an earlier one."""
        for step, after in pairwise(steps):
            if (seen := after.get("observation")) is not None and step.get("next_observation") == seen:
                step["next_observation"] = None
        try:
            if steps and steps[0].get("observation") is None:
                self.later = f"{prefix}{encoded(OF_STEP, steps[0])}\n"
                steps[0]["state"] = start
            for step in steps if any(not TOKENS.keys().isdisjoint(step) for step in steps) else ():
                check_lengths(step)
            return [f"{prefix}{line}\n" for line in all_encoded(OF_STEP, steps)]
        except Bad:
            for i, step in enumerate(steps):
                try:
                    check_lengths(step)
                    encoded(OF_STEP, step)
                except Bad as bad:
                    raise Bad(str(bad), i) from None
            raise

    @property
    def group(self) -> str:
        return ", ".join(part for part in self.key[:-1] if part) or self.key[0]

    @property
    def name(self) -> str:
        return f"rollout {self.key[-1]} of group {self.group}"


def number_steps(steps: list[dict[str, Json]]) -> None:
    """Sorts steps by number; without numbers, they are numbered by their positions."""
    lack = [step.get("step_no") is None for step in steps]
    if any(lack) and not all(lack):
        raise Bad("step_no must be given for every step or none")
    for i, step in enumerate(steps):
        try:
            step["step_no"] = i if lack[i] else integer(step["step_no"], "step_no")
        except Bad as bad:
            raise Bad(str(bad), i) from None
    if len({step["step_no"] for step in steps}) < len(steps):
        raise Bad("two steps have one step_no")
    steps.sort(key=itemgetter("step_no"))


def check_lengths(step: dict[str, Json]) -> None:
    tokens = step.get("response_token_ids") or []
    for name in ("response_mask", "rollout_logprobs"):
        found = step.get(name)
        if isinstance(found, list) and isinstance(tokens, list) and found and len(found) != len(tokens):
            raise Bad(f"{name} must be as long as response_token_ids")
