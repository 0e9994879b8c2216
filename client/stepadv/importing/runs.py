"""What the files of a directory are: which are tries, which belong to the same try, and which describe tries.

A scaffold writes the trajectory to one file, the verdict to another, the task and the model to a third, and continues
in a fourth if the context was cut.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from stepadv.importing import verdicts
from stepadv.importing.files import CannotRead, File, open_file
from stepadv.importing.format import OTHER_TYPES, Rollout, fits, pick
from stepadv.importing.formats import FORMATS, atif, format_of, harbor
from stepadv.importing.tally import Tally
from stepadv.importing.values import Json, Unreadable, at, fields, given, parse, without
from stepadv.importing.verdicts import Outcomes, Verdicts, names_of

HEAD = 8192  # bytes that are read to recognize a file
LARGEST = 64 << 20  # bytes of a file that describes tries
WRONG = (CannotRead, Unreadable, UnicodeDecodeError, RecursionError, *OTHER_TYPES)
VERDICT = ("outcome", "success")


@dataclass
class Note:
    """What a file says about the tries in a folder and below: members of all of them, or verdicts by id."""

    folder: str
    name: str
    about: Rollout | Verdicts


def head_of(path: str, size: int = HEAD) -> bytes:
    with suppress(CannotRead), open_file(path) as stream:
        return stream.read(size)
    return b""


def content_of(path: str) -> Json:
    """The JSON in a file; None if it cannot be read, which is reported when the file is loaded."""
    try:
        return parse(head_of(path, LARGEST).decode())[0]
    except WRONG:
        return None


# Files that describe tries: each function returns members of all rollouts below a folder, or verdicts.


def trial(path: str) -> Rollout | None:
    """A trial's result or settings.  terminal-bench numbers trials within a run (run/task/trial/results.json), and the
    run_metadata.json of the run has the agent."""
    document = content_of(path)
    if not fits(FORMATS["harbor"], document):
        return None
    about = harbor.about_trial(document)
    if "is_resolved" not in document:
        return about
    folder = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    said = content_of(os.path.join(folder, "run_metadata.json"))
    run, name = os.path.basename(folder), str(about.get("rollout_id"))
    policy = " ".join(str(at(said, key)) for key in ("agent_name", "model_name") if at(said, key))
    about["rollout_id"] = name if name.endswith(f".{run}") else f"{name} / {run}"
    return about | ({"policy": policy} if policy else {"run_id": run})


def reward(path: str) -> Rollout | None:
    """The verdict in the file of a verifier: a number, or numbers by name."""
    document = content_of(path)
    return verdicts.verdict_of_rewards(document if isinstance(document, dict) else {"reward": document})


def simulations(path: str) -> Rollout | None:
    """tau2: the domain and the model of a run that has a file for each simulation."""
    document = content_of(path)
    found = pick({"domain": "info.environment_info.domain_name", "model": "info.agent_info.llm"}, document)
    return found if "domain" in found and at(document, "simulations") is None else None


def report(path: str) -> Verdicts:
    """The verdicts of a report; none for terminal-bench, whose report does not distinguish trials."""
    document = content_of(path)
    is_of_tries = format_of(document) is not None or at(document, "n_resolved") is not None
    return {} if is_of_tries else verdicts.report(document)


def evaluation(path: str) -> Verdicts:
    """The verdicts of OpenHands, in a copy of its output."""
    is_beside = os.path.exists(os.path.join(os.path.dirname(path), "output.jsonl"))
    return {ids[0]: said for ids, said in verdicts.read(path)} if is_beside else {}


class Beside(NamedTuple):
    """A kind of file that describes tries; name and mark are patterns of its path and of its beginning."""

    words: str
    name: str
    mark: str
    read: Callable[[str], Rollout | Verdicts | None]
    has_ids: bool = False  # read returns verdicts by id
    below: str = "."  # the folder of the tries, relative to the file's own


OF_TRIAL = r'"trial_name"\s*:'
REPORT = r'"(un)?resolved_ids"|"submitted_ids"|"total_instances"|"no_generation"|"resolved"\s*:\s*(true|false)'
OF_TAU2 = '"environment_info"'
OF_INSTANCE = "a report with resolved_ids, or with resolved of each instance (SWE-bench)"
EVAL = r"output\.[^/]*eval\.jsonl$"
BESIDE = (
    Beside("result.json of a trial (Harbor), results.json (terminal-bench)", r"results?\.json$", OF_TRIAL, trial),
    Beside("config.json of a trial (Harbor)", r"config\.json$", OF_TRIAL, trial),
    Beside("verifier/reward.txt, reward.json (Harbor)", r"verifier/reward\.(txt|json)$", "", reward, below=".."),
    Beside(OF_INSTANCE, r"\.json$", REPORT, report, has_ids=True),
    Beside("results.json beside simulations/ (tau2)", r"results\.json$", OF_TAU2, simulations, below="simulations"),
    Beside("output.*eval.jsonl beside output.jsonl (OpenHands)", EVAL, "instance_id", evaluation, has_ids=True),
)
LOOKED_FOR = [beside.words for beside in BESIDE]
# Files that are looked for beside the files that the user names, and in the folders above.
NAMED = re.compile(r"(results?|config|[^/]*report[^/]*|[^/]*eval)\.json|output\.[^/]*eval\.jsonl")
# Other files of scaffolds, which are not imported, unless they have a known format.
OTHERS = re.compile(
    r"(all_)?preds\.jsonl?|(run_)?(metadata|config|lock|args)\.json|([^/]*[_-])?results?\.json|ctrf\.json"
    r"|.*\.config\.json|.*\.txt"
)
TRAJECTORY = re.compile(r"/trajectory[^/]*\.json$")
# Attempts of OpenHands; output.jsonl has the one that it chose.
ATTEMPT = re.compile(r"output\.critic_attempt_\d+\.jsonl")


def nearness(folder: str, other: str) -> tuple[int, int]:
    """How near two folders are: the length of their common path, and how many of the names after it they share."""
    a, b = folder.split("/"), other.split("/")
    n = len(os.path.commonprefix([a, b]))
    return n, len(set(a[n:]) & set(b[n:]))


def folders_of(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) not in ("", "/"):
        yield path


class Runs:
    """The files to load (files).  Other files of a directory become notes about them, or are passed over."""

    def __init__(self, files: list[File], outcomes: Outcomes | None = None, has_version: bool = False):
        self.outcomes, self.has_version = outcomes, has_version
        self.notes: dict[str, list[Note]] = defaultdict(list)  # by the folder whose tries they are about
        self.by_id: dict[str, list[Note]] = defaultdict(list)
        self.trials: dict[str, tuple[str, Note]] = {}  # by folder: the file that describes the trial
        self.n_passed = 0
        found = [file for file in files if file.path == "-" or not self.is_beside(file)]
        listed = list(self.trials) if any(file.is_below for file in files) else []
        named = {folder for f in files if not f.is_below and f.path != "-" for folder in list(folders_of(f.path))[:3]}
        for folder in sorted(named):
            self.look_around(folder)
        self.files = self.tied(list(self.tries_of_trials(found, listed)))
        for file in self.files:
            file.is_optional = file.is_below and OTHERS.fullmatch(os.path.basename(file.path)) is not None

    def is_beside(self, file: File) -> bool:
        folder, name = os.path.split(file.path)
        if file.is_below and ATTEMPT.fullmatch(name) and os.path.exists(os.path.join(folder, "output.jsonl")):
            self.n_passed += 1
            return True
        found = [b for b in BESIDE if re.search(b.name, file.path)]
        head = head_of(file.path) if found else b""
        for beside in (b for b in found if re.search(b.mark.encode(), head)):
            try:
                said = beside.read(file.path)
            except WRONG:
                continue
            if not said:
                continue
            note = Note(os.path.normpath(os.path.join(folder, beside.below)), name, said)
            if not beside.has_ids:
                self.notes[note.folder].append(note)
            for id in said if beside.has_ids else ():
                self.by_id[id].append(note)
            if beside.read is not trial:
                self.n_passed += 1
            # The result says more than the settings.
            elif note.folder not in self.trials or "config" not in name:
                self.trials[note.folder] = (file.path, note)
            return file.is_below or beside.read is not trial
        return False

    def look_around(self, folder: str) -> None:
        names = [name for name in os.listdir(folder) if NAMED.fullmatch(name)] if os.access(folder, os.R_OK) else []
        for name in (*names, "verifier/reward.txt", "verifier/reward.json"):
            if os.path.isfile(path := os.path.join(folder, name)):
                self.is_beside(File(path, path, is_below=True))

    # ----------
    # Files that make one try
    # ----------

    def trial_of(self, path: str) -> str | None:
        return next((folder for folder in folders_of(path) if folder in self.trials), None)

    def tries_of_trials(self, files: list[File], trials: list[str]) -> Iterator[File]:
        """One file for each trial: its ATIF trajectories or, without any, the file that describes it."""
        below: dict[str, list[File]] = {folder: [] for folder in trials}
        for file in files:
            folder = self.trial_of(file.path) or ""
            if file.is_below and folder in below:
                below[folder].append(file)
            else:
                yield file
                below.pop(folder, None)
        for folder, found in below.items():
            chosen = [f for f in found if TRAJECTORY.search(f.path) and atif.MARK in head_of(f.path)]
            chosen.sort(key=lambda f: not f.path.endswith("/trajectory.json"))
            self.n_passed += len(found) - len(chosen) + 1
            path = self.trials[folder][0]
            first = chosen[0] if chosen else File(path, path)
            yield File(first.path, first.source, tuple(f.path for f in chosen[1:]), is_below=True)

    def tied(self, files: list[File]) -> list[File]:
        """Adds ATIF continuations and sub-agents to the file of their try, which is in the same folder."""
        by_folder: dict[str, list[str]] = defaultdict(list)
        for file in files:
            if file.path.endswith(".json") and not file.more:
                by_folder[os.path.dirname(file.path)].append(file.path)
        parents: dict[str, str] = {}
        for paths in (paths for paths in by_folder.values() if len(paths) > 1):
            mine = {os.path.basename(path): path for path in paths if atif.MARK in head_of(path)}
            documents = {name: fields(content_of(path)) for name, path in mine.items()} if len(mine) > 1 else {}
            parents |= {mine[child]: mine[parent] for child, parent in atif.parents(documents).items()}
        kept = [file for file in files if file.path not in parents]
        for file in kept:
            file.more += tuple(child for child, parent in parents.items() if parent == file.path)
        return kept

    # ----------
    # The description of a rollout
    # ----------

    def amend(self, rollout: Rollout, file: File, tally: Tally) -> Rollout:
        folder = self.trial_of(file.path) if self.trials else None
        if folder is not None:
            rollout = self.of_trial(rollout, self.trials[folder][1])
        if rollout.keys() <= {"dropped"}:
            return rollout
        run = next((n.about for n in self.notes.get(os.path.dirname(file.path), ()) if "domain" in n.about), None)
        if run is not None:
            # tau2 numbers tasks within a domain.
            rollout = {**run, **rollout, "group_id": f"{run['domain']}/{rollout.get('group_id')}"}
        label, found = self.of_outcomes(rollout, file, tally)
        if found is None and rollout.get("outcome") is None and rollout.get("success") is None:
            label, found = self.beside(rollout, file)
        elif found is None and folder == os.path.dirname(file.path) and self.trials[folder][0] == file.path:
            label, found = os.path.basename(file.path), {}
        if found is None:
            return rollout
        return {**rollout, **found, "verdict": label}

    def of_trial(self, rollout: Rollout, note: Note) -> Rollout:
        told = without(note.about, (*VERDICT, "policy", "meta"))
        kept = given(without(rollout, ("group_id", "task_id", "rollout_id")))
        if "policy" in note.about and not self.has_version:
            kept.setdefault("policy_version", note.about["policy"])
        return {**told, **kept, "meta": {**fields(rollout.get("meta")), **fields(note.about.get("meta"))}}

    def of_outcomes(self, rollout: Rollout, file: File, tally: Tally) -> tuple[str, Rollout | None]:
        if self.outcomes is None:
            return "", None
        names = names_of(rollout, file.source)
        tally.names.update(names)
        id, found = next((self.outcomes.of[name] for name in names if name in self.outcomes.of), ("", None))
        tally.matched.add(id)
        return self.outcomes.name, found

    def beside(self, rollout: Rollout, file: File) -> tuple[str, Rollout | None]:
        """The name of a file and its verdict, the nearest: of the folder or one above, else by id.  The verdict is
        None if two are equally near and differ."""
        for note in (note for folder in folders_of(file.path) for note in self.notes.get(folder, ())):
            if said := {k: v for k, v in note.about.items() if k in VERDICT}:
                return note.name, said
        for name in names_of(rollout, file.source):
            if notes := self.by_id.get(name):
                ranks = [nearness(note.folder, os.path.dirname(file.path)) for note in notes]
                best = [note for note, rank in zip(notes, ranks, strict=True) if rank == max(ranks)]
                told = best[0].about[name]
                return best[0].name, told if all(note.about[name] == told for note in best) else None
        return "", None
