"""Shared by all formats: how a document is recognized, where it comes from, and tables of paths in it.

All formats return a rollout as a dict of task_id or group_id, rollout_id, outcome, success, truncated, model, run_id,
policy_version, policy_step, channel, curation, started_at, ended_at, tags, meta, steps, dropped, repaired; or of
problem, a message.  A step has step_no (all steps or none), turn, observation, next_observation, action, tool, args,
ok, reward, turn_reward, value, cost, the arrays of tokens, and meta.
"""

import os.path
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from stepadv.importing.conversation import Conversation, is_of_model
from stepadv.importing.values import Json, at, digest, fields, first, given, is_name, is_number, without, words

Rollout = dict[str, Json]
# The results of read and join, and of split.
Rollouts = Iterator[Rollout]
Parts = Iterator[tuple[Hashable, Json]]


class Bad(Exception):
    """A document or rollout cannot be used; the message says why, and step is the position of the bad step."""

    def __init__(self, words: str, step: int | None = None):
        super().__init__(words)
        self.step = step


# The errors of a reader if a value does not have the type that its format specifies.
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
    """The directory for a file's ids, and its own name.  The directory is the last one, but not one with the name of
    the file; after a part "." in the path, all directories count."""
    base = base_of(path)
    _, has_mark, rest = path.rpartition("/./")
    folders = rest.lstrip("/").split("/")[:-1]
    if folders[-1:] == [base]:
        folders.pop()
    return "/".join(folders if has_mark else folders[-1:]), base


class Where(NamedTuple):
    source: str | None = None  # the file's path; a part "." marks where ids begin
    n: int = 1  # the number of the document in it

    @property
    def base(self) -> str | None:
        return base_of(self.source) if self.source else None

    @property
    def rollout(self) -> str | None:
        """An id for the rollout of the file: directory--name."""
        return "--".join(part for part in name_parts(self.source) if part) if self.source else None

    @property
    def line(self) -> str | None:
        return f"{self.rollout}:{self.n}" if self.source else None

    def try_of(self, task: str) -> str:
        """A readable id of a try: the task, and what the directory and name of the file add to it."""
        folder, base = name_parts(self.source or "")
        base = "__".join(part for part in (part.strip("._-") for part in base.split(task or base)) if part)
        base = "" if base == "output" and folder else base
        folder = "/".join(part for part in folder.split("/") if part != task)
        which = "--".join(part for part in (folder, base) if part)
        found = NUMBERED.fullmatch(which)
        which = f"try {int(found[1])}" if found else which
        return f"{task} / {which}" if which else task


# Marks, by which documents are recognized and which explain what one lacks: "info.model" (it exists), "steps[]" (a
# list), "steps[].id" (an element has it, or there is none), "version=ATIF-v" (a text with this prefix), "input=" (a
# text), "!x" (it does not exist), "a | b" (either), "[].role" (an element of the document has it); or names of tests.


class Format(NamedTuple):
    has: str  # a document of the format has all marks ("&") of one of these variants ("||")
    read: Callable[[Json, Where], Rollouts] = lambda document, where: iter(())
    # If a rollout has several documents: split yields (key, part), join the rollouts of the parts of a key.
    split: Callable[[Json, Where], Parts] | None = None
    join: Callable[[list[Json], Where], Rollouts] = lambda parts, where: iter(())
    in_parts: bool = False  # steps are numbered, so that parts of a rollout can be loaded one by one
    tests: Mapping[str, Callable[[Json], object]] = {}


def element(document: Json) -> Json:
    """The document, or the first element of a list, which represents all."""
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
    """Of a list of records, the first is examined, except for marks of the list itself."""
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
    """The marks that a document lacks, in the variant where it lacks the fewest; none if it has the format."""
    missing = ([m for m in variant if not sees(format, m, document)] for variant in variants_of(format.has))
    return [spoken(mark) for mark in min(missing, key=len)]


def fits(format: Format, document: Json) -> bool:
    return any(all(sees(format, mark, document) for mark in variant) for variant in variants_of(format.has))


# The members of a rollout ("meta.x": of its metadata) and their paths, of which the first with a value counts.  "^"
# begins a path from the whole document; "path~pattern" is true if the value matches the pattern, else there is none.
Table = dict[str, str]
# Metadata of a run, in SWE-agent and similar scaffolds.
OF_INFO = {f"meta.{key}": f"info.{key}" for key in ("exit_status", "submission", "model_stats")}
TRIALS = "trial trial_id _ng_rollout_index rollout_index sample_index attempt"
# Arrays of tokens, and their names in the files of trainers.
TOKENS = {"prompt_token_ids": "prompt_token_ids prompt_ids", "response_mask": "response_mask completion_mask"}
TOKENS["response_token_ids"] = "response_token_ids response_ids completion_ids completion_token_ids"
TOKENS["rollout_logprobs"] = "rollout_logprobs rollout_log_probs completion_logprobs logprobs"
# Members that any record may have under these names, and tests of their values.
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
    """The members of a rollout that a record has under the usual names."""
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
    """A rollout made by a table, with the steps of a conversation.  used: members of the record that do not become
    metadata (default: all).  members: values found in other ways, which override the table unless they are None."""
    found = pick(table, record, document)
    noted = {name[5:]: found.pop(name) for name in list(found) if name.startswith("meta.")}
    rest = without(fields(record), used) if used is not None else {}
    kept = given({"source": where.source, **noted, **(meta or {})}) | rest
    return {**found, **given(members), "meta": kept or None, **(talk.about() if talk else {})}


def tokens_of(record: Json) -> dict[str, list[Json]]:
    """The arrays of tokens of a record; 1 and 0 in a mask become booleans."""
    found = {column: value for column, paths in TOKENS.items() if isinstance(value := first(record, paths), list)}
    if "response_mask" in found:
        found["response_mask"] = [m == 1 if is_number(m) and m in (0, 1) else m for m in found["response_mask"]]
    return found


def digest_of_prompt(messages: list[Json]) -> str | None:
    """An id for a task without one: the digest of its prompt, which is all before the model's first message."""
    end = next((i for i, message in enumerate(messages) if is_of_model(message)), len(messages))
    return digest(messages[:end]) if end else None


def training_group(step: Json, uid: Json, task: str) -> str:
    """A group id with the training step, as a prompt may come again in later steps, under another policy."""
    step = words(step)
    return ("" if step is None else f"step{step}/") + (words(uid) or task)


def lasting(times: Iterable[Json]) -> Rollout:
    """The first and the last of these times, as the beginning and the end of a rollout."""
    found = [time for time in times if isinstance(time, str)]
    return {"started_at": min(found), "ended_at": max(found)} if found else {}
