"""Any other JSON: the user says by SQL/JSON paths what is where.

    {"task_id": "$.task", "success": {"path": "$.verdict", "map": {"pass": true, "fail": false}},
     "steps": "$.turns[*]", "observation": "$.saw", "action": "$.did"}
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from stepadv.importing.conversation import parse_arguments, text_of, words
from stepadv.importing.instants import instant, time_of
from stepadv.importing.jsonpath import NoPath, Path, Variables, type_of
from stepadv.importing.jsontext import Unreadable, digest, parse
from stepadv.importing.rollouts import Bad, Json, Rollout, Where, is_number
from stepadv.text import shorten

OF_ROLLOUT = ("group_id", "task_id", "run_id", "rollout_id", "outcome", "success", "truncated", "policy_version",
              "policy_step", "model", "channel", "curation", "started_at", "ended_at", "tags", "meta")  # fmt: skip
OF_STEP = ("order", "step_no", "turn", "observation", "next_observation", "action", "tool", "args", "ok", "reward",
           "turn_reward", "value", "cost", "prompt_token_ids", "response_token_ids", "response_mask", "rollout_logprobs",
           "step_meta")  # fmt: skip
NAMES = ("rollouts", "steps", *OF_ROLLOUT, *OF_STEP)
TOKENS = ("prompt_token_ids", "response_token_ids", "response_mask", "rollout_logprobs")
NUMBERS = ("step_no", "turn", "policy_step", "outcome", "reward", "turn_reward", "value", "cost")
NUMBER = re.compile(r"-?[0-9]{1,30}([.][0-9]{1,30})?")
TIME = re.compile(r"[0-9]{9,19}([.][0-9]{1,9})?")
EXAMPLE = (
    'For example {"path": "$.verdict", "map": {"pass": true, "fail": false}}, {"path": "$.call", "fromjson": "$.name"}, '
    '{"path": "$.id", "in": "$.results[*]", "key": "$.call_id", "take": "$.text"}.'
)


class Wrong(Exception):
    """Something wrong with what the user says of paths, in words."""


# ----------
# What the user says
# ----------


def path_of(name: str, text: str) -> Path:
    try:
        return Path(text)
    except NoPath as error:
        raise Wrong(
            f"the path of {name}, {text}, is no path: {error}; Paths are of SQL/JSON, as $.turns[*].text; a key of other "
            'characters than letters, digits and _ stands in quotes: $."a-b".'
        ) from None


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
    take: Path | None = None

    @property
    def is_plain(self) -> bool:
        return self.fromjson is False and self.match is None and self.map is None and self.in_ is None


def spec_of(name: str, given: Json) -> Spec:
    whole = {"path": given} if isinstance(given, str) else given
    if not isinstance(whole, dict) or not isinstance(whole.get("path"), str):
        found = "an object without it" if isinstance(whole, dict) else type_of(whole)
        raise Wrong(f"the path of {name} must be a string, or an object with a string path, not {found}")
    keys = ("path", "fromjson") if name in ("rollouts", "steps") else ("path", "fromjson", "match", "map", "in", "key", "take")
    spec = Spec(name, path_of(name, whole["path"]))
    for key, value in whole.items():
        if key not in keys:
            raise Wrong(f'the path of {name} has the unknown key "{key}"; There are: {", ".join(keys)}.')
        if key == "map" and isinstance(value, dict):
            spec.map = value
        elif key == "fromjson" and isinstance(value, bool):
            spec.fromjson = value
        elif not isinstance(value, str) or key == "map":
            wanted = {"map": "an object", "fromjson": "true or a path", "match": "a regular expression"}.get(key, "a path")
            raise Wrong(f"{key} of the path of {name} must be {wanted}, not {type_of(value)}; {EXAMPLE}")
        elif key == "match":
            spec.match = pattern_of(name, value)
        elif key != "path":
            setattr(spec, "in_" if key == "in" else key, path_of(name, value))
    if (spec.in_ is None) != (spec.key is None) or spec.take and not spec.in_:
        raise Wrong(
            f"the path of {name} must have in and key together; in finds the elements, from the rollout; key, from the "
            "element, what must be the same as what path finds; take, from the element, the value."
        )
    return spec


def pattern_of(name: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise Wrong(
            f"match of the path of {name}, {text}, is no regular expression: {error}; What its first group in parentheses "
            r'matches is taken, else all that it matches; in JSON a backslash stands twice, as in "step_([0-9]+)\\.json$".'
        ) from None


@dataclass
class Paths:
    rollouts: Spec | None = None
    steps: Spec | None = None
    of_rollout: list[Spec] = field(default_factory=list)
    of_step: list[Spec] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        listed = [self.rollouts, self.steps, *self.of_rollout, *self.of_step]
        return [spec.name for spec in listed if spec is not None]

    def spec(self, name: str) -> Spec | None:
        return next((s for s in (self.rollouts, self.steps, *self.of_rollout, *self.of_step) if s and s.name == name), None)


def paths_of(given: Json) -> Paths:
    if not isinstance(given, dict) or not ("task_id" in given or "group_id" in given):
        raise Wrong(
            "paths must be an object with at least the key task_id or group_id; For example "
            '{"rollouts": "$.episodes[*]", "task_id": "$.task", "steps": "$.turns[*]", "action": "$.act"}.'
        )
    paths = Paths()
    for key, value in given.items():
        if key not in NAMES:
            raise Wrong(f'paths has the unknown key "{shorten(key, 60)}"; There are: {", ".join(NAMES)}.')
        spec = spec_of(key, value)
        if key in ("rollouts", "steps"):
            setattr(paths, key, spec)
        else:
            (paths.of_rollout if key in OF_ROLLOUT else paths.of_step).append(spec)
    if "order" in given and "step_no" in given:
        raise Wrong("paths must have order or step_no, not both; Steps are numbered in their order, from 0.")
    return paths


def beside_format(given: Json) -> dict[str, Path]:
    """Beside a format, paths say what is the user's to say of its rollouts."""
    known = [name for name in OF_ROLLOUT if name != "meta"]
    if not isinstance(given, dict):
        raise Wrong('paths must be an object; For example {"task_id": "$.meta.attributes.\\"my.task\\""}.')
    for key, value in given.items():
        if key not in known:
            raise Wrong(f'paths has the key "{shorten(key, 60)}", which says nothing of a rollout; Beside a format there are: {", ".join(known)}.')
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
# Values
# ----------


def from_json(value: Json, repaired: Counter[str]) -> Json:
    """Texts that are JSON, as it; others are not there."""
    if not isinstance(value, str):
        return value
    found, _, problem = parse_arguments(value)
    if problem:
        repaired["strings that are no JSON" if problem.startswith("arguments") else "U+0000 in strings of JSON"] += 1
    return found


def matched(text: str, spec: Spec) -> Json:
    """A part of a text; where a number is wanted, as one."""
    found = spec.match.search(text) if spec.match else None
    if found is None:
        return None
    part = found[1] if found.re.groups else found[0]
    if spec.name in NUMBERS and spec.map is None and part is not None and NUMBER.fullmatch(part):
        return float(part) if "." in part else int(part)
    return part


def value_of(item: Json, spec: Spec, variables: Variables, joined: dict[str, dict[str, Json]], repaired: Counter[str]) -> tuple[bool, Json]:
    is_found, value = spec.path.first(item, variables)
    if spec.in_ and value is not None:
        joins = joined[spec.name]
        is_found, value = (words(value) in joins), joins.get(words(value))
    if spec.fromjson is not False and value is not None:
        value = from_json(value, repaired)
        if isinstance(spec.fromjson, Path):
            is_found, value = (False, None) if value is None else spec.fromjson.first(value, variables)
    if spec.match and value is not None:
        value = matched(words(value) or "", spec)
        is_found = value is not None
    if spec.map is not None and value is not None:
        word = words(value)
        if word not in spec.map:
            repaired[f"words that the map of {spec.name} does not have"] += 1
        value = spec.map.get(word)
    return is_found, value


def joins_of(item: Json, specs: list[Spec], variables: Variables) -> dict[str, dict[str, Json]]:
    """For each spec that finds its value in another element: values by the key; of two elements with one key the first."""
    joined = {}
    for spec in specs:
        if spec.in_ and spec.key:
            found: dict[str, Json] = {}
            for element in spec.in_.all(item, variables):
                key = spec.key.first(element, variables)[1]
                value = spec.take.first(element, variables)[1] if spec.take else element
                if key is not None and value is not None:
                    found.setdefault(words(key) or "", value)
            joined[spec.name] = found
    return joined


def list_of(item: Json, path: Path, variables: Variables) -> tuple[bool, Json]:
    """Lists of tokens: a list, or all that the path finds."""
    found = path.all(item, variables)
    if not found:
        return False, None
    return True, found[0] if len(found) == 1 and (found[0] is None or isinstance(found[0], list)) else found


def time_found(item: Json, path: Path, variables: Variables, latest: bool) -> tuple[bool, Json]:
    """Of several the earliest, or the latest.  A text alone is what it is, right or wrong."""
    found = path.all(item, variables)
    if len(found) <= 1 and not (found and (is_number(found[0]) or isinstance(found[0], str) and TIME.fullmatch(found[0]))):
        return bool(found), found[0] if found else None
    times = [instant(v) for v in found if v is not None]
    if None in times:
        # Whoever looks at the rollout says what is wrong with it.
        return True, next(v for v in found if v is not None and instant(v) is None)
    return True, time_of((max if latest else min)(times)) if times else None


def item_of(item: Json, specs: list[Spec], variables: Variables, joined: Json, repaired: Counter[str]) -> tuple[dict[str, Json], set[str]]:
    """What is there of each name, and the names of which there is nothing."""
    given, lacks = {}, set()
    for spec in specs:
        if not spec.is_plain:
            is_found, value = value_of(item, spec, variables, joined, repaired)
        elif spec.name in TOKENS:
            is_found, value = list_of(item, spec.path, variables)
        elif spec.name in ("started_at", "ended_at"):
            is_found, value = time_found(item, spec.path, variables, spec.name == "ended_at")
        else:
            is_found, value = spec.path.first(item, variables)
        if not is_found:
            lacks.add(spec.name)
        if value is not None:
            given[spec.name] = value
    return given, lacks


def items_of(item: Json, spec: Spec | None, otherwise: Path, variables: Variables) -> list[Json]:
    """The elements of a list that are rollouts, or steps."""
    if spec is None or spec.fromjson is False:
        return (spec.path if spec else otherwise).all(item, variables)
    found: list[Json] = []
    for value in spec.path.all(item, variables):
        if isinstance(value, str):
            try:
                value = parse(value)[0]
            except Unreadable:
                raise Bad(f"a string that is no JSON where the path of {spec.name} leads") from None
        found += spec.fromjson.all(value, variables) if isinstance(spec.fromjson, Path) else [value]
    return found


def finish(given: dict[str, Json], repaired: Counter[str]) -> dict[str, Json]:
    """A step in our words.  A string of arguments that is no JSON is an action."""
    step = dict(given)
    if "step_meta" in step:
        step["meta"] = step.pop("step_meta")
    for name in ("observation", "next_observation"):
        if name in step:
            step[name] = text_of(step[name])
    if isinstance(step.get("response_mask"), list):
        step["response_mask"] = [m == 1 if is_number(m) and m in (0, 1) else m for m in step["response_mask"]]
    if isinstance(step.get("args"), str):
        args, _, problem = parse_arguments(step["args"])
        if problem:
            repaired[problem] += 1
        if args is None and "action" not in step:
            step["action"] = step["args"]
        step["args"] = args
    if "action" in step:
        step["action"] = words(step["action"])
    return step


# ----------
# Rollouts
# ----------

STEPS = Path("$.steps[*]")
ROOT = Path("$")


def place_of(order: Json) -> float | int | None:
    if is_number(order):
        return order
    if isinstance(order, str) and NUMBER.fullmatch(order):
        return float(order) if "." in order else int(order)
    return None


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


def steps_of(item: Json, paths: Paths, variables: Variables, repaired: Counter[str]) -> tuple[list[dict[str, Json]], set[str]]:
    """The steps of a rollout, and the names of which there is nothing in any of them."""
    joined = joins_of(item, paths.of_step, variables)
    found = items_of(item, paths.steps, STEPS, variables)
    lacks = {spec.name for spec in paths.of_step}
    steps = []
    for element in found:
        given, missing = item_of(element, paths.of_step, variables, joined, repaired)
        lacks &= missing
        steps.append(finish(given, repaired))
    if steps and any(spec.name == "order" for spec in paths.of_step):
        if "order" in lacks:
            raise Bad(unfound(item, paths, "order", variables))
        steps = in_order(steps)
    # A list without an element is there.
    if not steps and paths.steps and not Path(re.sub(r"(.)\[\*\]$", r"\1", paths.steps.path.text)).all(item, variables):
        lacks.add("steps")
    return steps, lacks


def read_rollout(item: Json, paths: Paths, variables: Variables) -> Rollout:
    repaired: Counter[str] = Counter()
    try:
        given, lacks = item_of(item, paths.of_rollout, variables, joins_of(item, paths.of_rollout, variables), repaired)
        if "task_id" not in given and "group_id" not in given:
            name = "task_id" if paths.spec("task_id") and not paths.spec("group_id") else "group_id"
            raise Bad(unfound(item, paths, name, variables))
        steps, missing = steps_of(item, paths, variables, repaired)
    except Bad as bad:
        return {"problem": str(bad)}
    return {"rollout_id": digest(item), **given, "steps": steps, "repaired": repaired, "lacks": lacks | missing}


def read(document: Json, paths: Paths, where: Where) -> list[Rollout]:
    variables: Variables = {"document": document, "source": where.path(), "n": where.n}
    items = items_of(document, paths.rollouts, ROOT, variables)
    if not items:
        raise Bad(unfound(document, paths, "rollouts", variables) if paths.rollouts else "there is no rollout in the document")
    return [read_rollout(item, paths, variables) for item in items]


# ----------
# Paths that find nothing
# ----------

SHORTER = re.compile(r'(.*[^\s.\[])\s*(?:[.]\s*(?:[^."\[\]?() ]+|"(?:[^"\\]|\\.)*")|\[[^\]]*\])$', re.DOTALL)


def keys_at(item: Json, path: str, variables: Variables) -> str:
    """In words, which keys there are where a path goes on to nothing."""
    from stepadv.importing.recognise import keys_of

    shorter = path
    while found := SHORTER.match(shorter):
        shorter = found[1]
        try:
            is_found, value = Path(shorter).first(item, variables)
        except NoPath:
            continue
        if is_found and value is not None:
            return (f"at {shorter} there are: " if shorter != "$" else "there are: ") + keys_of(value)
    return "there are: " + keys_of(item)


def unfound(item: Json, paths: Paths, name: str, variables: Variables) -> str:
    """In words, that the path of this name finds nothing, and which keys there are, in a document (where it is the path
    of rollouts) or a rollout."""
    spec = paths.spec(name)
    if spec is None:
        return f"there is no path of {name}"
    if name in OF_STEP:
        item = next(iter(items_of(item, paths.steps, STEPS, variables)), None)
    is_found, value = spec.path.first(item, variables)
    if spec.in_ and spec.key and is_found:
        return f"the path of {name}, {spec.path.text}, finds nothing that stands in {spec.in_.text} under {spec.key.text}"
    if spec.match and value is not None:
        return f'match of the path of {name}, {spec.match.pattern}, finds nothing in "{shorten(words(value) or "", 200)}"'
    path = spec.path.text
    if isinstance(spec.fromjson, Path) and is_found:
        item, path = from_json(value, Counter()), spec.fromjson.text
    tail = "" if item is None else "; " + keys_at(item, path, variables)
    return f"the path of {name}, {path}, finds nothing{tail}"
