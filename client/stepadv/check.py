"""stepadv check: shows the state and the problems of attachments, from their public views."""

import argparse
from collections.abc import Iterator
from typing import Any

from stepadv import __version__, database
from stepadv.database import Connection
from stepadv.text import Failed, count, perhaps, quoted, safe

HELP = "show the state of an attachment, and what is wrong with it"
DESCRIPTION = """For each of your attachments, shows how many groups are judged and how many of them have different
verdicts, how many steps share their state with another rollout, which rows cannot be used, and whether kept groups are
fresh.  Exit status: 0; 1 if a line begins with "!"; 2 if nothing could be checked."""
MOST_PROBLEMS = 8  # kinds of problems that are listed
# A line of output, and whether it reports a problem.
Line = tuple[str, bool]
GROUPS = """SELECT count(*), count(*) FILTER (WHERE n_judged > 0), count(*) FILTER (WHERE NOT uniform),
    coalesce(sum(n_steps) FILTER (WHERE shared_step_share IS NOT NULL), 0)::bigint,
    (sum(shared_step_share * n_steps) / sum(n_steps) FILTER (WHERE shared_step_share IS NOT NULL))::float8"""
ROLLOUTS = "SELECT count(*), count(*) FILTER (WHERE judged), count(*) FILTER (WHERE judged AND success)"
ATTACHMENTS = """SELECT format('%s.%s', schema, prefix), prefix, source::oid, source::text, group_by, views
    FROM stepadv.attachments()"""
KEPT = "SELECT mode, as_of, age, problem FROM stepadv.maintained() WHERE source = %s::oid::regclass AND prefix = %s"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("attachment", nargs="*", metavar="SCHEMA.PREFIX", help="like rl.steps (default: all of yours)")


def of_groups(n: int, judged: int, informative: int, steps: int, shared: float | None) -> Iterator[Line]:
    if n == 0:
        yield "no groups", True
        return
    yield f"{count(n, 'group')}, {judged} judged; {informative} informative (rollouts with different verdicts)", False
    if judged and not informative:
        yield "no group has rollouts with different verdicts: no method prefers a step to another", True
    if steps and shared is not None:
        yield f"{100 * shared:.0f} % of {count(steps, 'step')} in states that another rollout shares", False
        if shared < 0.02:
            yield "states are hardly shared: choose another state abstraction (docs/states.md)", True


def of_rollouts(n: int, judged: int, successes: int) -> Iterator[Line]:
    yield f"{count(n, 'rollout')}, {judged} judged, {successes} successful", False
    if n and not judged:
        yield "no rollout is judged: give rewards or outcomes (stepadv import --outcomes)", True


def of_problems(rows: list[tuple[Any, ...]], view: str) -> Iterator[Line]:
    for problem, effect, n, groups in rows[:MOST_PROBLEMS]:
        yield f"{count(n, 'row')} in {count(groups, 'group')}: {problem} ({effect})", True
    if len(rows) > MOST_PROBLEMS:
        yield f"and {count(len(rows) - MOST_PROBLEMS, 'kind')} more: {view}", True
    if not rows:
        yield "all rows can be used", False


def of_kept(mode: str, as_of: Any, age: Any, problem: str | None) -> Line:
    if problem is not None:
        return f"groups are kept by {mode}: {problem}", True
    if mode == "triggers":
        return "groups are kept by triggers, as of now", False
    if as_of is None:
        return f"groups are kept by {mode}, and were never refreshed: SELECT stepadv.refresh(…)", True
    ago = str(age).partition(".")[0]
    return f"groups are kept by {mode}, as of {as_of:%Y-%m-%d %H:%M:%S%z} ({ago} ago)", False


def checked(connection: Connection, about: tuple[Any, ...]) -> Iterator[Line]:
    prefix, oid, source, keys, views = about

    def rows(query: str, kind: str, rest: str = "") -> list[tuple[Any, ...]]:
        return connection.execute(f"{query} FROM {views[kind]}{rest}").fetchall()

    kept = [of_kept(*row) for row in connection.execute(KEPT, (oid, prefix))]
    # If kept groups have a problem, reading the views over them may raise an error.
    if not any(is_wrong for _, is_wrong in kept):
        if "groups" in views:
            yield from of_groups(*rows(GROUPS, "groups")[0])
        if "rollouts" in views:
            yield from of_rollouts(*rows(ROLLOUTS, "rollouts")[0])
        if "problems" in views:
            group = ", ".join(map(quoted, keys))
            query = f"SELECT problem, effect, sum(n_rows)::bigint, count(DISTINCT ({group}))"
            # Problems without an effect do no harm.
            found = rows(query, "problems", " WHERE effect NOT LIKE 'nothing%' GROUP BY 1, 2 ORDER BY 3 DESC, 1")
            yield from of_problems(found, views["problems"])
        missing = [kind for kind in ("groups", "rollouts", "problems") if kind not in views]
        if missing:
            hint = f"stepadv.add_views('{source}', '{{{','.join(missing)}}}') creates the views"
            yield f"not checked: {', '.join(missing)}; {hint}", False
    yield from kept or [("groups are folded when they are read", False)]


def chosen(asked: list[str], names: list[str]) -> list[str]:
    for name in asked:
        if name not in names:
            raise Failed(f"you have no attachment {name}{perhaps(name, names)}")
    if not names:
        raise Failed("you have no attachment: SELECT stepadv.create_tables('rl'), or stepadv.attach(…)")
    return asked or names


def run(options: argparse.Namespace) -> int:
    n_wrong = 0
    with database.connect(options) as connection:
        database_name = database.value(connection, "SELECT current_database()")
        print(safe(f"database {database_name}: stepadv {__version__}, like this program"))
        known = {name: tuple(about) for name, *about in connection.execute(ATTACHMENTS)}
        for name in chosen(options.attachment, list(known)):
            print(safe(name))
            for words, is_wrong in checked(connection, known[name]):
                n_wrong += is_wrong
                print(safe(f"{'!' if is_wrong else ' '} {words}"))
    return 1 if n_wrong else 0
