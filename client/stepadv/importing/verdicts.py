"""Verdicts: scores in formats, reports of benchmarks, and tables of the user (--outcomes).

A verdict is the outcome or success of rollouts, by the id of a task or of a try.
"""

import csv
import difflib
import os
import re
from collections.abc import Iterator

from stepadv.importing.files import CannotRead, documents_of, open_file
from stepadv.importing.format import TRIALS, Rollout, base_of
from stepadv.importing.values import Json, Unreadable, at, decode, fields, first, given, objects, words
from stepadv.text import Failed, count, shorten

Verdicts = dict[str, Rollout]
OF_TRY = "rollout_id trial_name trajectory_id session_id trace_id uuid"
OF_TASK = "task_id instance_id task_name task problem_id group_id id name"
OF_SUCCESS = "success resolved is_resolved solved passed correct correctness"
OF_OUTCOME = "reward outcome return score"
# C, P, I and N are Inspect's grades.
WORDS: dict[str, float | None] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS |= dict.fromkeys("true t yes y pass passed success resolved correct".split(), 1.0)
WORDS |= dict.fromkeys("false f no n fail failed failure unresolved incorrect".split(), 0.0)
NUMBER = re.compile(r"[-+]?[0-9]{1,15}(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,2})?")


def score_of(value: Json) -> float | None:
    """The score in a number, a boolean, a word for one, or a record with value and label; None if there is none."""
    if isinstance(value, dict):
        score = score_of(value.get("value"))
        return score_of(value.get("label")) if score is None else score
    if isinstance(value, (bool, int, float)):
        return float(value)
    if not isinstance(value, str):
        return None
    word = value.strip()
    return float(word) if NUMBER.fullmatch(word) else WORDS.get(word, WORDS.get(word.lower()))


def verdict_of(record: Json) -> Rollout:
    """The verdict of a row.  A boolean, or a word for one, in place of a reward is taken as success."""
    told, outcome = score_of(first(record, OF_SUCCESS)), first(record, OF_OUTCOME)
    found: Rollout = {"success": told > 0} if told in (0, 1) else {}
    score = score_of(outcome)
    if isinstance(outcome, bool) or isinstance(outcome, str) and outcome.strip().lower() in WORDS:
        return {"success": score == 1}
    found |= given({"outcome": score})
    word = first(record, f"{OF_SUCCESS} {OF_OUTCOME}")
    if not found and isinstance(word, str):
        raise Unreadable(f'"{shorten(word, 40)}" is not a verdict, such as true, false, pass, fail or a number')
    return found


def verdict_of_scores(scores: list[Json]) -> Rollout:
    """The verdict in the scores of a trace: those with a usual name, or the only score.  Of two scores with the same
    name, the later counts."""
    names = [(words(at(score, "name")) or "").lower() for score in scores]
    found = {n: v for n, score in zip(names, scores, strict=True) if n and (v := score_of(score)) is not None}
    outcome = next((found[name] for name in OF_OUTCOME.split() if name in found), None)
    if outcome is None and len(set(names) - {""}) == 1:
        outcome = next(iter(found.values()), None)
    success = next((found[n] for n in reversed(found) if n in OF_SUCCESS.split() and found[n] in (0, 1)), None)
    return given({"outcome": outcome, "success": None if success is None else success == 1})


def verdict_of_rewards(rewards: Json) -> Rollout:
    return verdict_of_scores([{"name": name, "value": value} for name, value in fields(rewards).items()])


LOST = "unresolved empty_patch no_generation applied generated".split()


def report(document: Json) -> Verdicts:
    """The verdicts in a SWE-bench report: of its harness, its service, one instance, or an older version."""
    record = fields(document)
    lists = {key.removesuffix("_ids"): value for key, value in record.items() if isinstance(value, list)}
    if "resolved" not in lists:
        return {key: {"success": v["resolved"]} for key, v in record.items() if isinstance(at(v, "resolved"), bool)}
    # An instance whose evaluation failed is not judged.
    told = {words(i) or "": False for key in LOST for i in lists.get(key, ())}
    told |= {words(i) or "": True for i in lists["resolved"]}
    return {id: {"success": is_won} for id, is_won in told.items()}


def ids_of(record: dict[str, Json]) -> list[str]:
    """The ids in a row, the most specific first.  A task with the number of a try identifies the try."""
    own = [words(record[key]) or "" for key in OF_TRY.split() if record.get(key) is not None]
    task, trial = words(first(record, OF_TASK)), words(first(record, "try " + TRIALS))
    if own or task is None:
        return own
    return [task] if trial is None else [f"{task} / try {trial}", f"{task} / {trial}", f"{task}-t{trial}"]


def of_document(document: Json) -> Iterator[tuple[list[str], Rollout]]:
    """The ids and verdicts in a report, a list of records, a record, or an object of verdicts by id."""
    found = report(document)
    if isinstance(document, list) or ids_of(fields(document)) and not found:
        for record in objects(document) if isinstance(document, list) else [document]:
            told = map(verdict_of, (record, at(record, "test_result.report"), record.get("report")))
            said = next(filter(None, told), None)
            if said and ids_of(record):
                yield ids_of(record), said
        return
    for key, value in (found or fields(document)).items():
        said = value if found else verdict_of(value if isinstance(value, dict) else {"outcome": value})
        if said:
            yield [key], said


def read(path: str) -> list[tuple[list[str], Rollout]]:
    """All verdicts in a file: JSON, lines of JSON, or a table separated by commas or tabs."""
    if path.lower().endswith((".csv", ".tsv")):
        with open_file(path) as stream:
            lines = decode(stream.read()).removeprefix("\ufeff").splitlines()
        rows = csv.DictReader(lines, delimiter="\t" if "\t" in "".join(lines[:1]) else ",")
        table = [{(k or "").strip().lower(): v or None for k, v in row.items() if isinstance(v, str)} for row in rows]
        return list(of_document(table))
    found: list[tuple[list[str], Rollout]] = []
    for document in documents_of(path):
        if isinstance(document.value, Unreadable):
            raise document.value
        found += of_document(document.value)
    return found


class Outcomes:
    """The verdicts that the user gives, which override those of files."""

    def __init__(self, path: str):
        self.name = os.path.basename(path)
        try:
            found = read(path)
        except (CannotRead, Unreadable, csv.Error) as error:
            raise Failed(f"--outcomes: {path}: {error}") from None
        if not found:
            wanted = "an id (task_id, rollout_id, …) and a verdict (success, reward, …)"
            raise Failed(f"--outcomes: {path}: no row has {wanted}; a table is .csv or .tsv with a header")
        self.ids: dict[str, Rollout] = {}
        for (id, *_), said in found:
            if self.ids.setdefault(id, said) != said:
                hint = "name the try of each row, by rollout_id, or by try beside task_id"
                raise Failed(f"--outcomes: {path}: two verdicts for {shorten(id, 80)}: {hint}")
        self.of: dict[str, tuple[str, Rollout]] = {id: (ids[0], said) for ids, said in found for id in reversed(ids)}

    def unmatched(self, matched: set[str], names: set[str], most: int = 20) -> Iterator[str]:
        lost = [id for id in self.ids if id not in matched]
        if lost:
            yield f"{count(len(lost), 'id')} of {self.name} {'matches' if len(lost) == 1 else 'match'} no rollout:"
        known = {name.lower(): name for name in sorted(names)[:5000]}
        for id in lost[:most]:
            near = difflib.get_close_matches(id.lower(), known, 1, 0.0)
            yield f"  {shorten(id, 80)}" + (f" (the nearest: {shorten(known[near[0]], 80)})" if near else "")
        if len(lost) > most:
            yield f"  and {len(lost) - most} more"


def names_of(rollout: Rollout, source: str | None) -> list[str]:
    """The names by which tables may refer to a rollout: those of its try first, then those of its task."""
    own, task = words(rollout.get("rollout_id")) or "", words(first(rollout, "task_id group_id")) or ""
    found = [own, own.replace(" / ", "/"), words(at(rollout, "meta.trial")), base_of(source) if source else None]
    return [name for name in dict.fromkeys([*found, task, task.rpartition("/")[2]]) if name]
