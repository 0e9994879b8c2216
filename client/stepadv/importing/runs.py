"""What a directory is: which of its files are tries, which belong to one try, and what stands beside them.

People have runs: a scaffold writes the trajectory into one file, the verdict into another, the task and the model into a
third, and goes on in a fourth where the context was cut.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from stepadv.importing import recognise, verdicts
from stepadv.importing.files import CannotRead, File, look, open_file
from stepadv.importing.format import OTHER_TYPES, Rollout, fits, pick
from stepadv.importing.formats import FORMATS, harbor
from stepadv.importing.values import Json, Unreadable, at, fields, parse, without
from stepadv.importing.verdicts import Outcomes, names_of
from stepadv.importing.writer import Tally

HEAD = 8192  # bytes that tell what a file is
LARGEST = 64 << 20  # of what stands beside tries
MOST_LOOKED = 30  # files of a trial, for one with its steps
WRONG = (CannotRead, Unreadable, UnicodeDecodeError, RecursionError, *OTHER_TYPES)
VERDICT = ("outcome", "success")


@dataclass
class Note:
    """What a file says of the tries of a folder and all below it: of all of them, or by their ids."""

    folder: str
    name: str
    about: Rollout = field(default_factory=dict)
    by_id: verdicts.Verdicts = field(default_factory=dict)


def document_of(path: str) -> Json:
    with open_file(path) as stream:
        return parse(stream.read(LARGEST).decode())[0]


def head_of(path: str) -> bytes:
    try:
        with open_file(path) as stream:
            return stream.read(HEAD)
    except CannotRead:
        return b""


# ----------
# What stands beside tries, and what it says
# ----------


def trial(path: str) -> Note | None:
    document = document_of(path)
    if not fits(FORMATS["harbor"], document):
        return None
    about = harbor.about_trial(document)
    return Note(os.path.dirname(path), os.path.basename(path), of_run(path, about) if "is_resolved" in document else about)


def of_run(path: str, about: Rollout) -> Rollout:
    """Trials of terminal-bench are numbered in their run (run/task/trial/results.json), which says whose tries they are."""
    folder = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    try:
        said = document_of(os.path.join(folder, "run_metadata.json"))
    except WRONG:
        said = None
    run = os.path.basename(folder)
    name = str(about.get("rollout_id"))
    policy = " ".join(str(at(said, key)) for key in ("agent_name", "model_name") if at(said, key))
    of_whom = {"policy": policy} if policy else {"run_id": run}
    return {**about, "rollout_id": name if name.endswith(f".{run}") else f"{name} / {run}", **of_whom}


def reward(path: str) -> Note | None:
    """What the verifier wrote: a number, or numbers by their names."""
    document = document_of(path)
    value = harbor.reward_of(document if isinstance(document, dict) else {"reward": document})
    return None if value is None else Note(os.path.dirname(os.path.dirname(path)), os.path.basename(path), {"outcome": value})


def report(path: str) -> Note | None:
    document = document_of(path)
    # What terminal-bench says of all trials says nothing of one.
    is_of_tries = recognise.format_of(document) is not None or at(document, "n_resolved") is not None
    found = {} if is_of_tries else verdicts.report(document)
    return Note(os.path.dirname(path), os.path.basename(path), by_id=found) if found else None


def evaluation(path: str) -> Note | None:
    """OpenHands tells its output again, with the verdicts."""
    if not os.path.exists(os.path.join(os.path.dirname(path), "output.jsonl")):
        return None
    return Note(os.path.dirname(path), os.path.basename(path), by_id={ids[0]: said for ids, said in verdicts.read(path)})


def simulations(path: str) -> Note | None:
    """What tau2 says of all simulations of a run that has a file for each: their domain, and the model."""
    document = document_of(path)
    found = pick({"domain": "info.environment_info.domain_name", "model": "info.agent_info.llm"}, document)
    is_beside = "domain" in found and at(document, "simulations") is None
    return Note(os.path.join(os.path.dirname(path), "simulations"), os.path.basename(path), found) if is_beside else None


class Beside(NamedTuple):
    """Something that stands beside tries: its name, what stands in its beginning, and what it says."""

    words: str
    name: str
    mark: str
    read: Callable[[str], Note | None]


BESIDE = (
    Beside("result.json of a trial (Harbor), results.json (terminal-bench)", r"results?\.json$", r'"trial_name"\s*:', trial),
    Beside("config.json of a trial (Harbor)", r"config\.json$", r'"trial_name"\s*:', trial),
    Beside("verifier/reward.txt, reward.json (Harbor)", r"verifier/reward\.(txt|json)$", "", reward),
    Beside("a report with resolved_ids, or with resolved of each instance (SWE-bench)", r"\.json$",
           r'"(un)?resolved_ids"|"submitted_ids"|"total_instances"|"no_generation"|"resolved"\s*:\s*(true|false)', report),
    Beside("results.json beside simulations/ (tau2)", r"results\.json$", '"environment_info"', simulations),
    Beside("output.*eval.jsonl beside output.jsonl (OpenHands)", r"output\.[^/]*eval\.jsonl$", "instance_id", evaluation),
)  # fmt: skip
# What is looked for beside files that are named, and above them.
NAMED = re.compile(r"(results?|config|[^/]*report[^/]*|[^/]*eval)\.json|output\.[^/]*eval\.jsonl")
# What scaffolds write beside tries and nobody imports; one that is known all the same is loaded.
OTHERS = re.compile(r"(all_)?preds\.jsonl?|(run_)?(metadata|config|lock|args)\.json|([^/]*[_-])?results?\.json|ctrf\.json|.*\.config\.json|.*\.txt")
# Attempts of which OpenHands has taken one into output.jsonl.
ATTEMPT = re.compile(r"output\.critic_attempt_\d+\.jsonl")


def depth_of(folder: str, other: str) -> tuple[int, int]:
    """How near two folders are: what of their paths is one, and what they are called alike behind that."""
    a, b = folder.split("/"), other.split("/")
    n = len(os.path.commonprefix([a, b]))
    return n, len(set(a[n:]) & set(b[n:]))


def folders_of(path: str) -> Iterator[str]:
    """The folder of a file, and those above it."""
    folder = os.path.dirname(path)
    while folder not in ("", "/"):
        yield folder
        folder = os.path.dirname(folder)


class Runs:
    """files: those to be loaded.  The others of a directory are notes about them, or passed over."""

    def __init__(self, files: list[File], outcomes: Outcomes | None = None, prefix: str = "", has_version: bool = False):
        self.outcomes, self.prefix, self.has_version = outcomes, prefix, has_version
        self.notes: dict[str, list[Note]] = defaultdict(list)  # by folders, of all that is below
        self.by_id: dict[str, list[Note]] = defaultdict(list)
        self.trials: dict[str, tuple[str, Note]] = {}  # by their folders: what says what they are
        self.n_passed = 0
        found = [file for file in files if file.path == "-" or not self.stands_beside(file)]
        listed = list(self.trials) if any(file.is_below for file in files) else []
        named = {folder for f in files if not f.is_below and f.path != "-" for folder in list(folders_of(f.path))[:3]}
        for folder in sorted(named):
            self.look_around(folder)
        self.files = self.tied(list(self.tries_of_trials(found, listed)))
        for file in self.files:
            file.is_optional = file.is_below and OTHERS.fullmatch(os.path.basename(file.path)) is not None

    def stands_beside(self, file: File) -> bool:
        folder, name = os.path.split(file.path)
        if file.is_below and ATTEMPT.fullmatch(name) and os.path.exists(os.path.join(folder, "output.jsonl")):
            self.n_passed += 1
            return True
        found = [b for b in BESIDE if re.search(b.name, file.path)]
        head = head_of(file.path) if found else b""
        for beside in found:
            try:
                note = beside.read(file.path) if re.search(beside.mark.encode(), head) else None
            except WRONG:
                continue
            if note is None:
                continue
            if not note.by_id:
                self.notes[note.folder].append(note)
            for id in note.by_id:
                self.by_id[id].append(note)
            if beside.read is not trial:
                self.n_passed += 1
            # The result says more than the settings.
            elif note.folder not in self.trials or "config" not in note.name:
                self.trials[note.folder] = (file.path, note)
            return file.is_below or beside.read is not trial
        return False

    def look_around(self, folder: str) -> None:
        names = [name for name in os.listdir(folder) if NAMED.fullmatch(name)] if os.access(folder, os.R_OK) else []
        for name in (*names, "verifier/reward.txt", "verifier/reward.json"):
            if os.path.isfile(path := os.path.join(folder, name)):
                self.stands_beside(File(path, path, is_below=True))

    # ----------
    # Trials: one try each
    # ----------

    def trial_of(self, path: str) -> str | None:
        return next((folder for folder in folders_of(path) if folder in self.trials), None)

    def tries_of_trials(self, files: list[File], trials: list[str]) -> Iterator[File]:
        below: dict[str, list[File]] = {folder: [] for folder in trials}
        for file in files:
            folder = self.trial_of(file.path) or ""
            if file.is_below and folder in below:
                below[folder].append(file)
            else:
                yield file
                below.pop(folder, None)
        for folder, found in below.items():
            chosen = self.choose(found)
            self.n_passed += len(found) - len(chosen) + 1
            if chosen:
                yield File(chosen[0].path, chosen[0].source, chosen[0].size, tuple(f.path for f in chosen[1:]), is_below=True)
            else:
                path = self.trials[folder][0]
                yield File(path, path, os.path.getsize(path), is_below=True)

    @staticmethod
    def choose(files: list[File]) -> list[File]:
        """The files with the steps: trajectories in ATIF, or else what is known first.  Of formats of which many documents
        make one rollout all of that kind, of others the largest."""
        atif = [f for f in files if re.search(r"/trajectory[^/]*\.json$", f.path) and b"ATIF-v" in head_of(f.path)]
        if atif:
            return sorted(atif, key=lambda f: not f.path.endswith("/trajectory.json"))
        order = [".traj", ".jsonl", ".json", ".txt"]
        kinds: dict[str, list[File]] = {}
        for file in sorted(files, key=lambda f: (order.index(e) if (e := os.path.splitext(f.path)[1]) in order else 9, -f.size))[:MOST_LOOKED]:
            if (name := format_of(file.path)) is not None:
                kinds.setdefault(name, []).append(file)
        for name, found in kinds.items():
            return sorted(found, key=lambda f: f.path) if FORMATS[name].split is not None else found[:1]
        return []

    # ----------
    # Files that make one try
    # ----------

    def tied(self, files: list[File]) -> list[File]:
        """Continuations and sub-agents go with the try that they are of, as the format tells it of files of one folder."""
        by_folder: dict[str, list[str]] = defaultdict(list)
        for file in files:
            if file.path.endswith(".json") and not file.more:
                by_folder[os.path.dirname(file.path)].append(file.path)
        parents: dict[str, str] = {}
        for paths in by_folder.values():
            for format in FORMATS.values() if len(paths) > 1 else ():
                if format.parents is not None and format.begins is not None:
                    mine = {os.path.basename(path): path for path in paths if format.begins in head_of(path)}
                    documents = {name: self.fields_of(path) for name, path in mine.items()} if len(mine) > 1 else {}
                    parents |= {mine[child]: mine[parent] for child, parent in format.parents(documents).items()}
        kept = [file for file in files if file.path not in parents]
        for file in kept:
            file.more += tuple(child for child, parent in parents.items() if parent == file.path)
        return kept

    @staticmethod
    def fields_of(path: str) -> dict[str, Json]:
        """Whoever cannot read it will be told when it is loaded."""
        try:
            return fields(document_of(path))
        except WRONG:
            return {}

    # ----------
    # What is said of a rollout
    # ----------

    def amend(self, rollout: Rollout, file: File, tally: Tally) -> Rollout:
        folder = self.trial_of(file.path) if self.trials else None
        if folder is not None:
            rollout = self.of_trial(rollout, self.trials[folder][1])
        if rollout.keys() <= {"dropped"}:
            return rollout
        run = next((n.about for n in self.notes.get(os.path.dirname(file.path), ()) if "domain" in n.about), None)
        if run is not None:
            # Tasks are numbered in their domain.
            rollout = {**run, **rollout, "group_id": f"{run['domain']}/{rollout.get('group_id')}"}
        found, label = self.of_outcomes(rollout, file, tally), self.outcomes.name if self.outcomes else ""
        if found is None and rollout.get("outcome") is None and rollout.get("success") is None:
            found, label = self.beside(rollout, file) or (None, "")
        elif found is None and folder == os.path.dirname(file.path) and self.trials[folder][0] == file.path:
            found, label = {}, os.path.basename(file.path)
        if found is not None:
            rollout = {**rollout, **found}
            name = hash((rollout.get("group_id"), rollout.get("task_id"), rollout.get("rollout_id")))
            tally.verdicts.setdefault(label, set()).add(name)
        return rollout

    def of_trial(self, rollout: Rollout, note: Note) -> Rollout:
        said = without(note.about, (*VERDICT, "policy", "meta"))
        kept = {k: v for k, v in rollout.items() if v is not None and k not in ("group_id", "task_id", "rollout_id")}
        if "policy" in note.about and not self.has_version:
            kept.setdefault("policy_version", note.about["policy"])
        return {**said, **kept, "meta": {**(rollout.get("meta") or {}), **note.about.get("meta", {})}}

    def of_outcomes(self, rollout: Rollout, file: File, tally: Tally) -> Rollout | None:
        if self.outcomes is None:
            return None
        names = names_of(rollout, file.source, self.prefix)
        tally.names.update(names)
        found = self.outcomes.find(names)
        if found is None:
            return None
        tally.matched.add(found[0])
        return found[1]

    def beside(self, rollout: Rollout, file: File) -> tuple[Rollout, str] | None:
        """The nearest verdict: of the folder, or of one above; or by the task's id.  Of two that are equally near and say
        otherwise, none."""
        for note in (note for folder in folders_of(file.path) for note in self.notes.get(folder, ())):
            if said := {k: v for k, v in note.about.items() if k in VERDICT}:
                return said, note.name
        for name in names_of(rollout, file.source):
            if notes := self.by_id.get(name):
                ranks = [depth_of(note.folder, os.path.dirname(file.path)) for note in notes]
                best = [note for note, rank in zip(notes, ranks, strict=True) if rank == max(ranks)]
                verdict = best[0].by_id[name]
                return (verdict, best[0].name) if all(note.by_id[name] == verdict for note in best) else None
        return None


def format_of(path: str) -> str | None:
    """Of a file that need not be one of ours."""
    try:
        seen = look(path, None, recognise.guess, recognise.format_of_list)
        return seen.guessed if not seen.is_one or seen.is_list else recognise.format_of(document_of(path))
    except WRONG:
        return None


def looked_for() -> list[str]:
    return [beside.words for beside in BESIDE]
