"""Any other JSON: the user says by simple paths of SQL/JSON what is where.

    {"task_id": "$.task", "success": {"path": "$.verdict", "map": {"pass": true, "fail": false}},
     "steps": "$.turns[*]", "observation": "$.saw", "action": "$.did"}

Paths are lax as in PostgreSQL: a member of a list is that of its elements, an element of what is no list is that itself.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from stepadv.importing.conversation import parse_arguments, text_of
from stepadv.importing.format import Bad, Rollout, Where, plain_path, truths
from stepadv.importing.recognise import keys_of
from stepadv.importing.values import Json, Unreadable, digest, instant, is_number, parse, time_of, type_of, words
from stepadv.text import shorten

BEGIN = re.compile(r'\s*(?:lax\s+)?\$([A-Za-z_]\w*)?')
STEP = re.compile(r'\s*(?:\.\s*(?:([^\W\d]\w*|"(?:[^"\\]|\\.)*")|(\*))|\[\s*(?:(\*)|(\d{1,9}|last))\s*\])')
VARIABLES = ("document", "source", "n")
OF_ROLLOUT = ("group_id", "task_id", "run_id", "rollout_id", "outcome", "success", "truncated", "policy_version",
              "policy_step", "model", "channel", "curation", "started_at", "ended_at", "tags", "meta")  # fmt: skip
OF_STEP = ("order", "step_no", "turn", "observation", "next_observation", "action", "tool", "args", "ok", "reward",
           "turn_reward", "value", "cost", "prompt_token_ids", "response_token_ids", "response_mask", "rollout_logprobs",
           "step_meta")  # fmt: skip
NAMES = ("rollouts", "steps", *OF_ROLLOUT, *OF_STEP)
TOKENS = ("prompt_token_ids", "response_token_ids", "response_mask", "rollout_logprobs")
TIMES = ("started_at", "ended_at")
NUMBERS = ("step_no", "turn", "policy_step", "outcome", "reward", "turn_reward", "value", "cost")
NUMBER = re.compile(r"-?[0-9]{1,30}([.][0-9]{1,30})?")
CLOCK = re.compile(r"[0-9]{9,19}([.][0-9]{1,9})?")


class Wrong(Exception):
    """Something wrong with what the user says of paths, in words."""


# ----------
# Paths
# ----------


def unwrap(values: list[Json]) -> list[Json]:
    return [e for v in values for e in (v if isinstance(v, list) else [v])]


class Path:
    """$.turns[*].text, $."any key".*, $.log[0], $.log[last], $source."""

    def __init__(self, text: str):
        self.text = text
        found = BEGIN.match(text)
        if found is None:
            raise Wrong("it does not begin with $")
        self.variable = found[1]
        if self.variable not in (None, *VARIABLES):
            raise Wrong(f"there is no variable ${self.variable}, only $document, $source and $n")
        # A key, a place in a list (-1: the last), or None and whether all members or all elements are meant.
        self.steps: list[tuple[str | int | None, bool]] = []
        at = found.end()
        while text[at:].strip():
            step = STEP.match(text, at)
            if step is None:
                raise Wrong(f"unexpected {text[at:].strip()[:20]}: paths have keys, .*, [*], [0] and [last]")
            at = step.end()
            name, members, _, place = step.groups()
            key = json.loads(name) if name and name[0] == '"' else name
            self.steps.append((key if key is not None else int(place.replace("last", "-1")) if place else None, bool(members)))

    def all(self, item: Json, variables: dict[str, Json]) -> list[Json]:
        values = [item]
        if self.variable is not None:
            values = [variables[self.variable]] if variables.get(self.variable) is not None else []
        for key, is_member in self.steps:
            if isinstance(key, str):
                values = [v[key] for v in unwrap(values) if isinstance(v, dict) and key in v]
            elif key is not None:
                lists = (v if isinstance(v, list) else [v] for v in values)
                values = [v[key] for v in lists if -len(v) <= key < len(v)]
            else:
                values = [m for v in unwrap(values) if isinstance(v, dict) for m in v.values()] if is_member else unwrap(values)
        return values

    def first(self, item: Json, variables: dict[str, Json]) -> tuple[bool, Json]:
        """Whether it finds something, and what."""
        found = self.all(item, variables)
        return (True, found[0]) if found else (False, None)


ROOT, STEPS = Path("$"), Path("$.steps[*]")

# ----------
# What the user says
# ----------


def path_of(name: str, text: str) -> Path:
    try:
        return Path(text)
    except Wrong as error:
        raise Wrong(f"the path of {name}, {text}, is no path: {error}; as $.turns[*].text, or $.\"a-b\"") from None


@dataclass
class Spec:
    """What the user says of one thing: a path, and what is made of what it finds."""

    name: str
    path: Path
    fromjson: Path | bool = False
    match: re.Pattern[str] | None = None
    map: dict[str, Json] | None = None
    in_: Path | None = None
    key: Path | None = None
    take: Path = ROOT


def spec_of(name: str, given: Json) -> Spec:
    whole = {"path": given} if isinstance(given, str) else given
    if not isinstance(whole, dict) or not isinstance(whole.get("path"), str):
        found = "an object without it" if isinstance(whole, dict) else type_of(whole)
        raise Wrong(f"the path of {name} must be a string, or an object with a string path, not {found}")
    keys = ("path", "fromjson") if name in ("rollouts", "steps") else ("path", "fromjson", "match", "map", "in", "key", "take")
    wanted = {"map": "an object", "fromjson": "true or a path", "match": "a regular expression"}
    spec = Spec(name, path_of(name, whole["path"]))
    for key, value in whole.items():
        if key not in keys:
            raise Wrong(f'the path of {name} has the unknown key "{key}"; There are: {", ".join(keys)}.')
        if key == "map" and isinstance(value, dict):
            spec.map = value
        elif key == "fromjson" and isinstance(value, bool):
            spec.fromjson = value
        elif not isinstance(value, str) or key == "map":
            raise Wrong(f"{key} of the path of {name} must be {wanted.get(key, 'a path')}, not {type_of(value)}")
        elif key == "match":
            try:
                spec.match = re.compile(value)
            except re.error as error:
                raise Wrong(f"match of the path of {name}, {value}, is no regular expression: {error}") from None
        elif key != "path":
            setattr(spec, "in_" if key == "in" else key, path_of(name, value))
    if (spec.in_ is None) != (spec.key is None) or "take" in whole and not spec.in_:
        raise Wrong(f"the path of {name} must have in and key together: where the elements are, and what of each is the same")
    return spec


@dataclass
class Paths:
    rollouts: Spec | None = None
    steps: Spec | None = None
    of_rollout: list[Spec] = field(default_factory=list)
    of_step: list[Spec] = field(default_factory=list)

    def spec(self, name: str) -> Spec | None:
        return next((s for s in (self.rollouts, self.steps, *self.of_rollout, *self.of_step) if s and s.name == name), None)

    @property
    def names(self) -> set[str]:
        return {name for name in NAMES if self.spec(name)}


def paths_of(given: Json) -> Paths:
    if not isinstance(given, dict) or not ("task_id" in given or "group_id" in given):
        raise Wrong("paths must be an object with at least the key task_id or group_id")
    paths = Paths()
    for key, value in given.items():
        if key not in NAMES:
            raise Wrong(f'paths has the unknown key "{shorten(key, 60)}"; There are: {", ".join(NAMES)}.')
        if key in ("rollouts", "steps"):
            setattr(paths, key, spec_of(key, value))
        else:
            (paths.of_rollout if key in OF_ROLLOUT else paths.of_step).append(spec_of(key, value))
    if "order" in given and "step_no" in given:
        raise Wrong("paths must have order or step_no, not both: steps are numbered in their order, from 0")
    return paths


def beside_format(given: Json) -> dict[str, Path]:
    """Beside a format, paths say what is the user's to say of its rollouts."""
    if not isinstance(given, dict):
        raise Wrong("paths must be an object")
    for key, value in given.items():
        if key not in OF_ROLLOUT or key == "meta":
            raise Wrong(f'paths has the key "{shorten(key, 60)}", which says nothing of a rollout; There are: {", ".join(OF_ROLLOUT[:-1])}.')
        if not isinstance(value, str):
            raise Wrong(f"the path of {key} must be a string, not {type_of(value)}")
    return {key: path_of(key, value) for key, value in given.items()}


def override(rollout: Rollout, paths: dict[str, Path], where: Where) -> Rollout:
    """Paths begin at the rollout as the format gives it, metadata (meta) and steps included."""
    if "problem" in rollout or not ("task_id" in rollout or "group_id" in rollout):
        return rollout
    variables = {"source": where.source, "n": where.n, "document": rollout}
    found = {key: value for key, path in paths.items() if (value := path.first(rollout, variables)[1]) is not None}
    # Who names one of task and group means what the rollouts are compared in.
    if "task_id" in found or "group_id" in found:
        rollout = {key: value for key, value in rollout.items() if key not in ("task_id", "group_id")}
    return {**rollout, **found}


# ----------
# The rollouts of a document
# ----------


def place_of(order: Json) -> float | int | None:
    if isinstance(order, str) and NUMBER.fullmatch(order):
        return float(order) if "." in order else int(order)
    return order if is_number(order) else None


def in_order(steps: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """By number or time, as their member order says, which goes."""
    if any(step.get("order") is None for step in steps):
        raise Bad("order must be given for every step")
    places: list[Any] = [place_of(step["order"]) for step in steps]
    if None in places:
        places = [instant(step["order"]) for step in steps]
    if None in places:
        raise Bad(f"order must be a number or a time, not {shorten(words(steps[places.index(None)]['order']) or '', 60)}")
    ordered = sorted(range(len(steps)), key=lambda i: places[i])
    return [{k: v for k, v in steps[i].items() if k != "order"} for i in ordered]


class Reading:
    """Of one rollout, or of the rollouts of a document."""

    def __init__(self, document: Json, paths: Paths, where: Where):
        self.paths = paths
        self.variables = {"document": document, "source": where.source and plain_path(where.source), "n": where.n}
        self.repaired: Counter[str] = Counter()
        self.joined: dict[str, dict[str | None, Json]] = {}

    def join(self, item: Json, specs: list[Spec]) -> None:
        """For each spec that finds its value in another element: values by the key; of two elements with one key the first."""
        for spec in specs:
            found = self.joined[spec.name] = {}
            for element in spec.in_.all(item, self.variables) if spec.in_ and spec.key else ():
                key, value = spec.key.first(element, self.variables)[1], spec.take.first(element, self.variables)[1]
                if key is not None and value is not None:
                    found.setdefault(words(key), value)

    def from_json(self, value: Json) -> Json:
        """Texts that are JSON, as it; others are not there."""
        if not isinstance(value, str):
            return value
        found, _, problem = parse_arguments(value)
        if problem:
            self.repaired["strings that are no JSON" if problem.startswith("arguments") else "U+0000 in strings of JSON"] += 1
        return found

    def value_of(self, item: Json, spec: Spec) -> tuple[bool, Json]:
        found = spec.path.all(item, self.variables)
        is_found, value = bool(found), found[0] if found else None
        if spec.name in TOKENS and found:
            # A list, or all that the path finds.
            value = value if len(found) == 1 and (value is None or isinstance(value, list)) else found
        if spec.name in TIMES and (len(found) > 1 or is_number(value) or isinstance(value, str) and CLOCK.fullmatch(value)):
            # Of several the earliest, or the latest.  Whoever looks at the rollout says what is wrong with it.
            wrong = [v for v in found if v is not None and instant(v) is None]
            times = [instant(v) for v in found if v is not None]
            value = wrong[0] if wrong else time_of((max if spec.name == "ended_at" else min)(times, default=None))
        if spec.in_ and value is not None:
            is_found, value = words(value) in self.joined[spec.name], self.joined[spec.name].get(words(value))
        if spec.fromjson is not False and value is not None:
            value = self.from_json(value)
            if isinstance(spec.fromjson, Path):
                is_found, value = (False, None) if value is None else spec.fromjson.first(value, self.variables)
        if spec.match and value is not None:
            part = spec.match.search(words(value) or "")
            value = part and (part[1] if part.re.groups else part[0])
            is_found = value is not None
            value = place_of(value) if is_found and spec.name in NUMBERS and not spec.map and NUMBER.fullmatch(value) else value
        if spec.map is not None and value is not None:
            self.repaired[f"words that the map of {spec.name} does not have"] += words(value) not in spec.map
            value = spec.map.get(words(value) or "")
        return is_found, value

    def item_of(self, item: Json, specs: list[Spec]) -> tuple[dict[str, Json], set[str]]:
        """What is there of each name, and the names of which there is nothing."""
        found = {spec.name: self.value_of(item, spec) for spec in specs}
        there = {name: value for name, (_, value) in found.items() if value is not None}
        return there, {name for name, (is_found, _) in found.items() if not is_found}

    def items(self, item: Json, spec: Spec | None, otherwise: Path) -> list[Json]:
        """The elements of a list that are rollouts, or steps."""
        values = (spec.path if spec else otherwise).all(item, self.variables)
        if spec is None or spec.fromjson is False:
            return values
        try:
            values = [parse(v)[0] if isinstance(v, str) else v for v in values]
        except Unreadable:
            raise Bad(f"a string that is no JSON where the path of {spec.name} leads") from None
        return [e for v in values for e in spec.fromjson.all(v, self.variables)] if isinstance(spec.fromjson, Path) else values

    def step(self, step: dict[str, Json]) -> dict[str, Json]:
        """A step in our words.  A string of arguments that is no JSON is an action."""
        if "step_meta" in step:
            step["meta"] = step.pop("step_meta")
        for name in {"observation", "next_observation"} & step.keys():
            step[name] = text_of(step[name])
        if "response_mask" in step:
            step["response_mask"] = truths(step["response_mask"])
        if isinstance(step.get("args"), str):
            args, _, problem = parse_arguments(step["args"])
            self.repaired.update([problem] if problem else [])
            if args is None:
                step.setdefault("action", step["args"])
            step["args"] = args
        if "action" in step:
            step["action"] = words(step["action"])
        return step

    def rollout(self, item: Json) -> Rollout:
        paths = self.paths
        self.join(item, [*paths.of_rollout, *paths.of_step])
        given, lacks = self.item_of(item, paths.of_rollout)
        if "task_id" not in given and "group_id" not in given:
            name = "task_id" if paths.spec("task_id") and not paths.spec("group_id") else "group_id"
            raise Bad(self.unfound(item, name))
        missing = {spec.name for spec in paths.of_step}
        steps = []
        for element in self.items(item, paths.steps, STEPS):
            found, absent = self.item_of(element, paths.of_step)
            missing &= absent
            steps.append(self.step(found))
        if steps and paths.spec("order"):
            if "order" in missing:
                raise Bad(self.unfound(item, "order"))
            steps = in_order(steps)
        # A list without an element is there.
        if not steps and paths.steps and not Path(paths.steps.path.text.removesuffix("[*]")).all(item, self.variables):
            missing.add("steps")
        return {"rollout_id": digest(item), **given, "steps": steps, "repaired": self.repaired, "lacks": lacks | missing}

    def unfound(self, item: Json, name: str) -> str:
        """In words, that the path of this name finds nothing, and which keys there are, in a document (where it is the path
        of rollouts) or a rollout."""
        spec = self.paths.spec(name)
        if spec is None:
            return f"there is no path of {name}"
        if name in OF_STEP:
            item = next(iter(self.items(item, self.paths.steps, STEPS)), None)
        path = spec.path
        is_found, value = path.first(item, self.variables)
        if spec.in_ and spec.key and is_found:
            return f"the path of {name}, {path.text}, finds nothing that stands in {spec.in_.text} under {spec.key.text}"
        if spec.match and value is not None:
            return f'match of the path of {name}, {spec.match.pattern}, finds nothing in "{shorten(words(value) or "", 200)}"'
        if isinstance(spec.fromjson, Path) and is_found:
            item, path = self.from_json(value), spec.fromjson
        return f"the path of {name}, {path.text}, finds nothing" + ("" if item is None else f"; {self.keys_at(item, path)}")

    def keys_at(self, item: Json, path: Path) -> str:
        """Which keys there are where a path goes on to nothing."""
        shorter = Path(path.text)
        while shorter.steps:
            shorter.steps.pop()
            is_found, value = shorter.first(item, self.variables)
            if is_found and value is not None and shorter.steps:
                spelled = "".join("[*]" if k is None else f"[{k}]" if isinstance(k, int) else f".{k}" for k, _ in shorter.steps)
                return f"at ${spelled} there are: {keys_of(value)}"
        return "there are: " + keys_of(item)


def read(document: Json, paths: Paths, where: Where) -> list[Rollout]:
    reading = Reading(document, paths, where)
    items = reading.items(document, paths.rollouts, ROOT)
    if not items:
        raise Bad(reading.unfound(document, "rollouts") if paths.rollouts else "there is no rollout in the document")
    found = []
    for item in items:
        try:
            found.append(Reading(document, paths, where).rollout(item))
        except Bad as bad:
            found.append({"problem": str(bad)})
    return found


def unfound(names: set[str], document: Json, paths: Paths, where: Where) -> dict[str, str]:
    """What is said of paths that find nothing in a file that begins with this document, in the order of the names."""
    reading = Reading(document, paths, where)
    item = next(iter(reading.items(document, paths.rollouts, ROOT)), None)
    return {name: reading.unfound(item, name) for name in NAMES if name in names}
