"""Reads what a report shows from the views: all groups and rollouts, and the steps of one group at a time."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from psycopg import sql

from stepadv.report.source import Source

LONGEST_TEXT = 20_000
TASK_NAMES = ("task_id", "task", "instance_id", "prompt_uid")
# A decision needs this many visits, and a gap of this many standard errors, which is a confidence of .8.
LEAST_VISITS = 5
ERRORS = 0.8416
MOST_NAMED = 3
VERSION_NAMES = ("policy_version", "version", "model")


@dataclass
class Rollout:
    """A row of <prefix>_rollouts."""

    name: str
    steps: int
    total: float | None
    success: bool | None
    truncated: bool
    version: str


@dataclass
class Hidden:
    """A task whose states hide something: how much better tries end after a step, and the texts of this step."""

    task: str
    difference: float
    z: float
    n_rollouts: int
    seen: str | None = None
    done: str | None = None


@dataclass
class Group:
    """A row of <prefix>_groups, its rollouts and its place in the report."""

    key: tuple[Any, ...]
    name: str
    task: str
    version: str
    numbers: dict[str, Any]
    place: int = 0
    rollouts: list[Rollout] = field(default_factory=list)
    words: str | None = None
    largest: float | None = None
    page: bool = False

    @property
    def judged(self) -> int:
        """Number of judged rollouts."""
        return sum(r.success is not None for r in self.rollouts)

    @property
    def successes(self) -> int:
        """Number of successful rollouts."""
        return sum(r.success is True for r in self.rollouts)


def finite(x: Any) -> float | None:
    """The number, or None if it is not finite, since JSON has no NaN or infinity."""
    number = math.nan if x is None else float(x)
    return number if math.isfinite(number) else None


def in_order(name: str) -> list[tuple[int, str]]:
    """A key that sorts v9 before v10."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"([0-9]+)", name)]


def as_text(value: Any) -> str | None:
    """The value of a column of any type as text, cut to LONGEST_TEXT characters."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    more = len(text) - LONGEST_TEXT
    return text if more <= 0 else text[:LONGEST_TEXT] + f"\n… {more} characters more"


def _rows(source: Source, suffix: str, columns: list[str]) -> list[dict[str, Any]]:
    query = sql.SQL("SELECT {} FROM {} x").format(
        sql.SQL(", ").join(sql.Identifier("x", name) for name in columns), source.view(suffix))
    cursor = source.connection.execute(query)
    return [dict(zip(columns, row, strict=True)) for row in cursor]


def _named(columns: list[str], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in columns), None)


def hidden_tasks(source: Source, found: list[Group]) -> tuple[int, list[Hidden]]:
    """Run state_check on tasks with at least 16 groups, on at most 64 of each.

    Returns the number of these tasks, and the most significant finding of each whose states hide something.
    """
    task = _named(source.key, TASK_NAMES)
    value = next((name for name, kind in source.columns("values").items() if kind.endswith("rollout_group")), None)
    if task is None or value is None:
        return 0, []
    rows = source.connection.execute(sql.SQL(
        "SELECT y.task, c.state, c.action, c.difference, c.z, c.n_rollouts, c.least"
        " FROM (SELECT v.{1} AS task, (array_agg(v.{0}))[1:64] AS groups FROM {2} v"
        " GROUP BY 1 HAVING count(*) >= 16) y LEFT JOIN LATERAL (SELECT *, min(p_value) OVER () AS least"
        " FROM stepadv.state_check(y.groups) ORDER BY p_value < 0.05 DESC, abs(z) DESC LIMIT 1) c ON true"
        " ORDER BY c.least, abs(c.z) DESC"
    ).format(sql.Identifier(value), sql.Identifier(task), source.view("values"))).fetchall()
    hidden = [Hidden(str(row[0]), *row[3:6]) for row in rows if row[6] is not None and row[6] * len(rows) < 0.05]
    for row, one in list(zip(rows, hidden, strict=False))[:MOST_NAMED]:
        first = source.connection.execute(sql.SQL(
            "SELECT ARRAY[{}], t.step_id FROM {} v, stepadv.steps(v.{}) t WHERE v.{} = %s AND t.state = %s"
            " AND t.action = %s LIMIT 1"
        ).format(sql.SQL(", ").join(sql.SQL("v.{}::text").format(sql.Identifier(name)) for name in source.key),
                 source.view("values"), sql.Identifier(value), sql.Identifier(task)), row[:3]).fetchone()
        key, step_id = first or ([], None)
        group = next((g for g in found if [None if x is None else str(x) for x in g.key] == key), None)
        step = next((s for s in steps(source, group) if s["id"] == step_id), None) if group else None
        if step:
            one.seen, one.done = step["o"], step["d"]
    return len(rows), hidden


def groups(source: Source) -> list[Group]:
    """All groups, ordered by how much can be learned from them."""
    columns = source.columns("groups")
    wanted = [n for n in ("n_rollouts", "n_judged", "n_steps", "success_rate", "n_shared_states", "shared_step_share",
                          "sd_return") if n in columns]
    task, version = _named(source.key, TASK_NAMES), _named(source.key, VERSION_NAMES)
    found = []
    for row in _rows(source, "groups", source.key + wanted):
        key = tuple(row[name] for name in source.key)
        name = " / ".join(str(part) for part in key if part not in (None, "")) or "(no name)"
        of_task = str(row[task]) if task else name
        found.append(Group(key, name, of_task, str(row[version] or "") if version else "", row))
    _read_rollouts(source, found)

    def worth(group: Group) -> tuple[float, ...]:
        rate = group.successes / group.judged if group.judged else 0.0
        shared = group.numbers.get("n_shared_states") or 0
        return (-rate * (1 - rate) * (1 + shared), -(finite(group.numbers.get("sd_return")) or 0.0),
                -group.judged, -(group.numbers.get("n_steps") or 0))

    found.sort(key=lambda group: (*worth(group), group.name))
    for place, group in enumerate(found):
        group.place = place
    return found


def _read_rollouts(source: Source, found: list[Group]) -> None:
    columns = source.columns("rollouts")
    version = _named(list(columns), VERSION_NAMES)
    wanted = ["rollout_id", "n_steps", "return", "success", "judged"]
    if columns.get("truncated") == "boolean":
        wanted.append("truncated")
    if version and version not in source.key:
        wanted.append(version)
    by_key = {group.key: group for group in found}
    for row in _rows(source, "rollouts", source.key + wanted):
        group = by_key.get(tuple(row[name] for name in source.key))
        if group is None:
            continue
        success = row["success"] if row["judged"] else None
        of_version = group.version or (str(row.get(version) or "") if version else "")
        group.rollouts.append(Rollout(str(row["rollout_id"]), row["n_steps"] or 0, finite(row["return"]), success,
                                      bool(row.get("truncated")), of_version))
    for group in found:
        group.rollouts.sort(key=lambda r: (r.success is not True, -(r.total or 0.0), len(r.name), r.name))


def problems(source: Source) -> list[dict[str, Any]]:
    """Problems of the rows by kind, without those that have no effect on results."""
    columns = source.columns("problems")
    if not columns:
        return []
    query = sql.SQL(
        "SELECT x.problem, x.effect, count(DISTINCT ({})) , sum(x.n_rows)::bigint FROM {} x"
        " WHERE x.effect NOT LIKE 'nothing%%' GROUP BY 1, 2 ORDER BY 4 DESC, 1"
    ).format(source.key_list("x"), source.view("problems"))
    names = ("problem", "effect", "groups", "rows")
    return [dict(zip(names, row, strict=True)) for row in source.connection.execute(query, ())]


def _call(row: dict[str, Any], source: Source) -> str | None:
    """The action of a step: its text, its tool call, or both."""
    tool = row.get("tool")
    text = as_text(row.get(source.action)) if source.action else None
    args = row.get("args")
    if tool is None or tool == "" or (text and args is None):
        return text
    if isinstance(args, dict):
        parts = [v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in args.values()]
        one = len(parts) == 1 and isinstance(next(iter(args.values())), str)
        words = f": {parts[0]}" if one else f"({', '.join(f'{k}: {v}' for k, v in zip(args, parts, strict=True))})"
    else:
        words = f"({as_text(args) or ''})"
    call = as_text(f"{tool}{words}") or ""
    # Many scaffolds store the call as text too.
    if not text or text.startswith("{") or " ".join(text.split()) in " ".join(call.split()):
        return call
    return f"{text}\n{call}"


def _step_query(source: Source, key: tuple[Any, ...]) -> tuple[sql.Composed, list[Any], list[str]]:
    """The query for the steps of one group, its parameters, and the names of its optional columns."""
    extra = list(dict.fromkeys(filter(None, (
        source.observation, source.action, source.result, source.tool,
        *(n for n in ("args", "ok", "reward") if n in source.types)))))
    where, values = source.key_filter("x", key)
    of_group, _ = source.key_filter("v", key)
    query = sql.SQL(
        # Reading one JSON column takes a third of the time of 25 columns.
        "SELECT x.rollout_id, json_build_array(x.step_no, s.step_id, s.state, s.action, {})"
        " FROM {} x LEFT JOIN (SELECT t.step_id, t.rollout_id AS of_rollout, t.step_no, t.state, t.action"
        " FROM {} v, stepadv.steps(v.rollouts) t WHERE {}) s"
        " ON s.of_rollout = {} AND s.step_no = x.step_no WHERE {} AND x.step_no IS NOT NULL ORDER BY x.step_no"
    ).format(
        sql.SQL(", ").join(sql.Identifier("x", name) for name in source.methods + extra),
        source.view("compare"), source.view("values"), of_group, source.identity("x", "rollout_id"), where)
    return query, values + values, extra


class _Steps:
    """Collects the steps of one group in the form that the viewer reads."""

    def __init__(self, source: Source, group: Group, extra: list[str]) -> None:
        self._source, self._extra = source, extra
        self._place = {rollout.name: i for i, rollout in enumerate(group.rollouts)}
        self._numbers: dict[int, int] = {}
        self.found: list[dict[str, Any]] = []

    def _number(self, identity: int | None) -> int | None:
        return None if identity is None else self._numbers.setdefault(identity, len(self._numbers))

    def add(self, rollout_id: Any, values: list[Any]) -> None:
        """Add a row."""
        source, r = self._source, self._place.get(str(rollout_id))
        if r is None:
            return
        step_no, step_id, state, action, *rest = values
        row = dict(zip(self._extra, rest[len(source.methods):], strict=True))
        self.found.append({
            "r": r, "n": step_no, "id": step_id, "s": self._number(state), "state": state, "a": self._number(action),
            "o": as_text(row.get(source.observation)) if source.observation else None,
            "d": _call(row, source), "t": row.get("tool"), "e": row.get("ok"),
            "x": as_text(row.get(source.result)) if source.result else None,
            "w": finite(row.get("reward")), "adv": [finite(x) for x in rest[: len(source.methods)]],
        })

    def sorted(self) -> list[dict[str, Any]]:
        """The steps, ordered by rollout and step_no."""
        return sorted(self.found, key=lambda s: (s["r"], s["n"]))


def steps(source: Source, group: Group) -> list[dict[str, Any]]:
    """The steps of a group; if it has a page, with the estimates of the first method that has q and v."""
    query, values, extra = _step_query(source, group.key)
    gathered = _Steps(source, group, extra)
    for row in source.connection.execute(query, values):
        gathered.add(*row)
    estimates = _estimates(source, group) if source.value_method and group.page else {}
    found = gathered.sorted()
    for step in found:
        step["v"] = estimates.get((group.rollouts[step["r"]].name, step["n"]))
    return found


def _estimates(source: Source, group: Group) -> dict[tuple[str, int], dict[str, Any]]:
    """Estimates of the first method that has q and v, by rollout and step_no."""
    assert source.value_method is not None
    columns = source.columns(source.value_method)
    names = [n for n in ("q", "v", "n_state", "n_action", "confidence") if n in columns]
    where, values = source.key_filter("x", group.key)
    query = sql.SQL("SELECT x.rollout_id, x.step_no, {} FROM {} x WHERE {} AND x.step_no IS NOT NULL").format(
        sql.SQL(", ").join(sql.Identifier("x", n) for n in names), source.view(source.value_method), where)
    return {
        (str(rollout_id), step_no): {
            name: None if finite(x) is None else round(x, 6) for name, x in zip(names, numbers, strict=True)}
        for rollout_id, step_no, *numbers in source.connection.execute(query, values)
        if numbers[0] is not None
    }


def decisions(source: Source, group: Group, of_group: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """States with a best and a worst action: at least 5 visits, 2 of each action, and a confidence of .8."""
    where, values = source.key_filter("v", group.key)
    query = sql.SQL(
        "SELECT d.state, d.n_visits, d.gap, d.gap_error, d.best_q, d.worst_q, d.n_best_visits, d.n_worst_visits,"
        " d.best_step_id, d.worst_step_id FROM {} v, stepadv.decision_points(v.rollouts) d WHERE {}"
        " AND d.n_visits >= %s AND least(d.n_best_visits, d.n_worst_visits) > 1 AND d.gap > %s * d.gap_error"
        " ORDER BY d.gap / nullif(d.gap_error, 0) DESC NULLS LAST, d.n_visits DESC, d.state"
    ).format(source.view("values"), where)
    by_id = {s["id"]: s for s in of_group}
    by_state: dict[int | None, int] = {}
    for i, step in enumerate(of_group):
        by_state.setdefault(step["state"], i)
    numbers = ("visits", "gap", "gap_error", "best_q", "worst_q", "best_visits", "worst_visits")
    found = []
    for state, *row, best, worst in source.connection.execute(query, [*values, LEAST_VISITS, ERRORS]):
        if state in by_state and best in by_id and worst in by_id:
            first = of_group[by_state[state]]
            found.append(dict(zip(numbers, map(finite, row), strict=True)) | {
                "step": by_state[state], "step_no": first["n"], "rollout": first["r"], "observed": first["o"],
                "best": by_id[best]["d"], "worst": by_id[worst]["d"]})
    return found


def keep_methods_with_values(source: Source, some: list[Group]) -> None:
    """Drop the methods that give no step of these groups an advantage, for example because a column is empty."""
    said = [False] * len(source.methods)
    for group in some:
        for step in steps(source, group):
            said = [known or x is not None for known, x in zip(said, step["adv"], strict=True)]
    if any(said):
        source.methods = [m for m, known in zip(source.methods, said, strict=True) if known]
        source.value_method = source.value_method if source.value_method in source.methods else None
