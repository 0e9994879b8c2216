"""What formats share: how a document is recognized, where it is from, and tables of what is where in it.

A rollout, as all formats give it, is a dict of task_id or group_id, rollout_id, outcome, success, truncated, model,
run_id, policy_version, policy_step, channel, curation, started_at, ended_at, tags, meta, steps, dropped, repaired; or
of problem, in words.  A step has step_no (or none has), turn, observation, next_observation, action, tool, args, ok,
reward, turn_reward, value, cost, the arrays of tokens, and meta.
"""

import os.path
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from stepadv.importing.conversation import Conversation, is_of_model
from stepadv.importing.values import Json, at, digest, fields, first, given, is_name, is_number, without, words

Rollout = dict[str, Json]
# What readers of formats give.
Rollouts = Iterator[Rollout]
Parts = Iterator[tuple[Hashable, Json]]


class Bad(Exception):
    """A document or rollout that cannot be used, in words, and the place of its step that cannot."""

    def __init__(self, words: str, step: int | None = None):
        super().__init__(words)
        self.step = step


# What a reader raises if a value is of another type than its format has there.
OTHER_TYPES = (TypeError, AttributeError, KeyError, IndexError, ValueError)

ENDINGS = (".gz", ".traj", ".json", ".jsonl", ".ndjson", ".txt", ".log")
NUMBERED = re.compile(r"(?:run|try|trial|attempt|seed|rollout)[-_ ]?([0-9]+)", re.IGNORECASE)


def base_of(path: str) -> str:
    name = os.path.basename(path)
    while ending := next((e for e in ENDINGS if name.lower().endswith(e)), None):
        name = name[: -len(ending)]
    return name


@lru_cache(256)
def name_parts(path: str) -> tuple[str, str]:
    """The directory that names a file, and its own name: the last directory that is not called like the file; with a
    part "." in the path, all directories behind it."""
    base = base_of(path)
    _, has_mark, rest = path.rpartition("/./")
    folders = rest.lstrip("/").split("/")[:-1]
    if folders[-1:] == [base]:
        folders.pop()
    return "/".join(folders if has_mark else folders[-1:]), base


class Where(NamedTuple):
    source: str | None = None  # the file's path; a part "." says where the name begins
    n: int = 1  # the number of the document in it

    @property
    def base(self) -> str | None:
        return base_of(self.source) if self.source else None

    @property
    def rollout(self) -> str | None:
        """What tells the file's rollout from those of other files: directory--name."""
        return "--".join(part for part in name_parts(self.source) if part) if self.source else None

    @property
    def line(self) -> str | None:
        return f"{self.rollout}:{self.n}" if self.source else None

    def try_of(self, task: str) -> str:
        """What people call a try: the task, and what the file's directory and name have beside it."""
        folder, base = name_parts(self.source or "")
        base = "__".join(part for part in (part.strip("._-") for part in base.split(task or base)) if part)
        base = "" if base == "output" and folder else base
        folder = "/".join(part for part in folder.split("/") if part != task)
        which = "--".join(part for part in (folder, base) if part)
        found = NUMBERED.fullmatch(which)
        which = f"try {int(found[1])}" if found else which
        return f"{task} / {which}" if which else task


# Marks of a document, which also say what it lacks: "info.model" (it is there), "steps[]" (a list), "steps[].id" (of
# some element, or there is none), "version=ATIF-v" (a text that begins so), "input=" (a text), "!x" (it is not there),
# "a | b" (either), "[].role" (of some element of a list itself, which is not empty); or the words of a test.


class Format(NamedTuple):
    has: str  # a document of the format has all marks ("&") of one of these variants ("||")
    read: Callable[[Json, Where], Rollouts] = lambda document, where: iter(())
    # If many documents make one rollout: (its key, part) of each, and the rollouts of the parts of a key.
    split: Callable[[Json, Where], Parts] | None = None
    join: Callable[[list[Json], Where], Rollouts] = lambda parts, where: iter(())
    in_parts: bool = False  # steps have numbers, so that some of a rollout's may be loaded before others
    tests: Mapping[str, Callable[[Json], object]] = {}


def element(document: Json) -> Json:
    """The first element of a list represents all."""
    return (document[0] if document else None) if isinstance(document, list) else document


def _sees(mark: str, document: Json) -> bool:
    if mark.startswith("!"):
        return not _sees(mark[1:], document)
    path, is_text, text = mark.partition("=")
    *lists, last = path.split("[]")
    found = [at(document, path)] if not lists else at(document, lists[0]) if lists[0] else document
    if not isinstance(found, list):
        return False
    if lists and (not last or not found):
        return bool(lists[0])
    values = (at(e, last[1:]) for e in found) if lists else found
    return any(isinstance(v, str) and v.startswith(text) if is_text else v is not None for v in values)


def sees(format: Format, mark: str, document: Json) -> bool:
    """The first of a list of records tells, but for marks of lists themselves."""
    if mark in format.tests:
        return bool(format.tests[mark](document))
    return any(_sees(m, document if m.startswith("[]") else element(document)) for m in mark.split(" | "))


@lru_cache
def variants_of(has: str) -> list[list[str]]:
    return [variant.split(" & ") for variant in has.split(" || ")]


def spoken(mark: str) -> str:
    said = []
    for one in mark.split(" | "):
        path, is_text, text = one.lstrip("!").partition("=")
        path = f"a list {path[:-2]}" if path.endswith("[]") else path.replace("[]", "[*]")
        path = f'{path} "{text}…"' if text else f"a text {path}" if is_text else path
        said.append(f"no {path}" if one[0] == "!" else path)
    return " or ".join(said)


def lacks(format: Format, document: Json) -> list[str]:
    """What a document lacks, by the variant of which it lacks least; nothing: it has the format."""
    missing = ([m for m in variant if not sees(format, m, document)] for variant in variants_of(format.has))
    return [spoken(mark) for mark in min(missing, key=len)]


def fits(format: Format, document: Json) -> bool:
    return any(all(sees(format, mark, document) for mark in variant) for variant in variants_of(format.has))


# Names of a rollout's members ("meta.x": of its metadata), and paths: the first that leads somewhere counts.  "^"
# begins a path from the whole document; "path~words" is true if the value has such words, and else nothing.
Table = dict[str, str]
# What SWE-agent and its like say of a run.
OF_INFO = {f"meta.{key}": f"info.{key}" for key in ("exit_status", "submission", "model_stats")}
TRIALS = "trial trial_id _ng_rollout_index rollout_index sample_index attempt"
# Arrays of tokens, and what trainers call them.
TOKENS = {"prompt_token_ids": "prompt_token_ids prompt_ids", "response_mask": "response_mask completion_mask"}
TOKENS["response_token_ids"] = "response_token_ids response_ids completion_ids completion_token_ids"
TOKENS["rollout_logprobs"] = "rollout_logprobs rollout_log_probs completion_logprobs logprobs"
# Members that every record may have by these names, and what they must be like.
COMMON: dict[str, Callable[[Json], bool]] = {"policy_version": is_name, "run_id": is_name, "policy_step": is_number}
COMMON |= {"truncated": lambda v: isinstance(v, bool), "model": lambda v: isinstance(v, str) and v != ""}


def pick(table: Table, record: Json, document: Json = None) -> dict[str, Json]:
    found = {}
    for name, paths in table.items():
        for path in paths.split():
            path, _, pattern = path.partition("~")
            value = at(document, path[1:]) if path[0] == "^" else at(record, path)
            if value is not None and (not pattern or re.search(pattern, words(value) or "")):
                found[name] = True if pattern else value
                break
    return found


def about(record: Json, score: str = "reward score outcome reward_info.reward") -> Rollout:
    """What a record says of its rollout by the usual names."""
    record = fields(record)
    success = next((record[key] for key in ("success", "resolved") if isinstance(record.get(key), bool)), None)
    common = {key: record[key] for key, is_right in COMMON.items() if is_right(record.get(key))}
    return given({"outcome": first(record, score), "success": success}) | common


def rollout_of(
    where: Where,
    record: Json,
    table: Table,
    members: Mapping[str, Json],
    talk: Conversation | None = None,
    document: Json = None,
    used: Iterable[str] | None = None,
    meta: Mapping[str, Json] | None = None,
) -> Rollout:
    """A rollout by a table, with the steps of a conversation.  used: members of the record that are no metadata; by
    default all.  members: what a format finds otherwise, which counts before the table if it is not None."""
    found = pick(table, record, document)
    noted = {name[5:]: found.pop(name) for name in list(found) if name.startswith("meta.")}
    rest = without(fields(record), used) if used is not None else {}
    kept = given({"source": where.source, **noted, **(meta or {})}) | rest
    return {**found, **given(members), "meta": kept or None, **(talk.about() if talk else {})}


def tokens_of(record: Json) -> dict[str, list[Json]]:
    """Arrays of tokens of a record; a mask may be of 1 and 0."""
    found = {column: value for column, paths in TOKENS.items() if isinstance(value := first(record, paths), list)}
    if "response_mask" in found:
        found["response_mask"] = [m == 1 if is_number(m) and m in (0, 1) else m for m in found["response_mask"]]
    return found


def digest_of_prompt(messages: list[Json]) -> str | None:
    """Without an id of its own a task is its prompt: what comes before the model's first message."""
    end = next((i for i, message in enumerate(messages) if is_of_model(message)), len(messages))
    return digest(messages[:end]) if end else None


def training_group(step: Json, uid: Json, task: str) -> str:
    """A prompt may come again in later steps of a training, under another policy."""
    step = words(step)
    return ("" if step is None else f"step{step}/") + (words(uid) or task)


def lasting(times: Iterable[Json]) -> Rollout:
    """When that which has these times began and ended."""
    found = [time for time in times if isinstance(time, str)]
    return {"started_at": min(found), "ended_at": max(found)} if found else {}
