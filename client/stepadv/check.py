"""stepadv check: what an attachment has, and what is wrong with it, by its public views."""

from __future__ import annotations

import argparse
from typing import Any

import psycopg
from psycopg import sql

from stepadv import __version__, database
from stepadv.text import Failed, count, nearest, safe

HELP = "say what an attachment has, and what is wrong with it"
DESCRIPTION = """Says of each of your attachments how many groups are judged and tell something, how many steps are in
states that two rollouts share, which rows cannot be used, and whether what is kept is fresh.  Exit status: 0; 1 where
a line begins with "!"; 2 where nothing could be checked."""
# So many kinds of problems are told.
MOST_PROBLEMS = 8
# The problems whose rows are compared with no other, or are read all the same.
HARMLESS = "nothing%"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "attachment", nargs="*", metavar="SCHEMA.PREFIX", help="such as rl.steps (default: all of yours)"
    )


def percent(share: Any) -> str:
    """A share, as people say it."""
    return "-" if share is None else f"{100 * float(share):.0f} %"


class Check:
    """One attachment: lines that say what it has."""

    def __init__(
        self, connection: psycopg.Connection[Any], name: str, source: str, keys: list[str], views: dict[str, str]
    ) -> None:
        """Nothing is read yet."""
        self.connection, self.name, self.source, self.keys, self.views = connection, name, source, keys, views
        self.wrong = 0

    def say(self, words: str, wrong: bool = False) -> None:
        """A line; what is wrong is marked."""
        self.wrong += wrong
        print(safe(f"{'!' if wrong else ' '} {words}"))

    def row(self, query: str) -> tuple[Any, ...]:
        """The one row of a query over a view of its."""
        row = self.connection.execute(query).fetchone()
        assert row is not None
        return row

    def run(self, kept: list[tuple[Any, ...]]) -> int:
        """All of it; how much is wrong."""
        print(safe(self.name))
        missing = [kind for kind in ("groups", "rollouts", "problems") if kind not in self.views]
        if "groups" not in missing:
            self._groups()
        if "rollouts" not in missing:
            self._rollouts()
        if "problems" not in missing:
            self._problems()
        if missing:
            self.say(
                f"not looked at: {', '.join(missing)};"
                f" stepadv.add_views('{self.source}', '{{{','.join(missing)}}}') makes the views"
            )
        self._kept(kept)
        return self.wrong

    def _groups(self) -> None:
        n, judged, told, steps, shared = self.row(
            "SELECT count(*), count(*) FILTER (WHERE n_judged > 0), count(*) FILTER (WHERE NOT uniform),"
            " coalesce(sum(n_steps), 0), sum(shared_step_share * n_steps)"
            f" / nullif(sum(n_steps) FILTER (WHERE shared_step_share IS NOT NULL), 0) FROM {self.views['groups']}"
        )
        if n == 0:
            self.say("no groups", True)
            return
        self.say(f"{count(n, 'group')}, {judged} judged; {told} informative (rollouts ended differently)")
        if judged and not told:
            self.say("in every group all judged rollouts ended alike: no method prefers a step to another", True)
        if steps and shared is not None:
            self.say(f"{percent(shared)} of {count(int(steps), 'step')} in states that another rollout shares")
            if float(shared) < 0.02:
                self.say("states are hardly shared: choose another state abstraction (docs/states.md)", True)

    def _rollouts(self) -> None:
        n, judged, successes = self.row(
            "SELECT count(*), count(*) FILTER (WHERE judged), count(*) FILTER (WHERE judged AND success)"
            f" FROM {self.views['rollouts']}"
        )
        self.say(f"{count(n, 'rollout')}, {judged} judged, {successes} successful")
        if n and not judged:
            self.say(
                "no rollout is judged: no method says anything of a step;"
                " give rewards or outcomes (stepadv import --outcomes)",
                True,
            )

    def _problems(self) -> None:
        keys = sql.SQL(", ").join(map(sql.Identifier, self.keys)).as_string(self.connection)
        rows = self.connection.execute(
            f"SELECT problem, effect, sum(n_rows)::bigint, count(DISTINCT ({keys})) FROM {self.views['problems']}"
            f" WHERE effect NOT LIKE '{HARMLESS}' GROUP BY 1, 2 ORDER BY 3 DESC, 1"
        ).fetchall()
        for problem, effect, n, groups in rows[:MOST_PROBLEMS]:
            self.say(f"{count(n, 'row')} in {count(groups, 'group')}: {problem} ({effect})", True)
        if len(rows) > MOST_PROBLEMS:
            self.say(f"and {count(len(rows) - MOST_PROBLEMS, 'kind')} more: {self.views['problems']}", True)
        if not rows:
            self.say("no rows that cannot be used")

    def _kept(self, kept: list[tuple[Any, ...]]) -> None:
        if not kept:
            self.say("groups are folded when they are asked for")
        for how, as_of, age, problem in kept:
            if problem is not None:
                self.say(f"groups are kept by {how}: {problem}", True)
            elif how == "triggers":
                self.say("groups are kept by triggers, as of now")
            elif as_of is None:
                self.say(f"groups are kept by {how}, and were never refreshed: SELECT stepadv.refresh(…)", True)
            else:
                ago = str(age).partition(".")[0]
                self.say(f"groups are kept by {how}, as of {as_of:%Y-%m-%d %H:%M:%S%z} ({ago} ago)")


def chosen(asked: list[str], names: list[str]) -> list[str]:
    """Those that were asked for, or all."""
    for name in asked:
        if name not in names:
            near = nearest(name, names)
            raise Failed(f"no attachment of yours is called {name}" + (f"; perhaps you meant {near}" if near else ""))
    if not names:
        raise Failed("there is no attachment of yours: SELECT stepadv.create_tables('rl'), or stepadv.attach(…)")
    return asked or names


def run(connection: psycopg.Connection[Any], options: argparse.Namespace) -> int:
    """Exit status 1 where something is wrong.  That versions agree is checked before."""
    try:
        name = database.value(connection, "SELECT current_database()")
        print(safe(f"database {name}: stepadv {__version__}, as this program"))
        made = connection.execute(
            "SELECT format('%s.%s', schema, prefix), prefix, source::oid, source::text, group_columns, views"
            " FROM stepadv.attachments()"
        ).fetchall()
        known = {row[0]: row[1:] for row in made}
        kept = connection.execute(
            "SELECT source::oid, prefix, how, as_of, age, problem FROM stepadv.maintained()"
        ).fetchall()
        wrong = 0
        for name in chosen(options.attachment, list(known)):
            prefix, oid, source, keys, views = known[name]
            wrong += Check(connection, name, source, keys, views).run([k[2:] for k in kept if k[:2] == (oid, prefix)])
    except psycopg.Error as error:
        raise Failed(database.words_of(error)) from None
    return 1 if wrong else 0
