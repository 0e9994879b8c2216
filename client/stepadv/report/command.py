"""stepadv report: reads the views of an attachment and writes the pages."""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path
from typing import Any

import psycopg

from stepadv import __version__, database
from stepadv.report import read, summary
from stepadv.report.failures import Differences, Failures
from stepadv.report.pages import Pages
from stepadv.report.search_index import SearchIndex
from stepadv.report.source import Source, find

HELP = "write pages of what each step was worth"
DESCRIPTION = """Reads the views of an attachment and writes pages that need no server and no network: an index,
a page for each of the groups to learn most from, and a search of all steps."""
MOST_DECISIONS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the options of the command."""
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="PATH",
                        help="a folder, or a file that ends in .html for all in one file")
    parser.add_argument("attachment", nargs="?", metavar="SCHEMA.PREFIX",
                        help="such as rl.steps (default: your only attachment)")
    parser.add_argument("--groups", type=int, default=50, metavar="N", help="write pages for N groups (default 50)")
    parser.add_argument("--steps", type=int, default=200_000, metavar="N",
                        help="read the texts of at most N steps, for search, tools and failures (default 200000)")
    for name, what in (("observation", "what a step saw"), ("action", "what it did"), ("result", "what came of it")):
        parser.add_argument(f"--{name}", metavar="COLUMN", help=f"column with {what}")


class Report:
    """A report while it is being written."""

    def __init__(self, source: Source, pages: Pages, n_pages: int, most_steps: int) -> None:
        """Read the groups, and choose those that get a page."""
        self.source, self.pages = source, pages
        self.groups = read.groups(source)
        for group in self.groups[:n_pages]:
            group.page = True
        judged = [g for g in self.groups if g.judged]
        read.keep_methods_with_values(source, judged[:3])
        self.first = source.methods.index(source.value_method) if source.value_method else 0
        self.most_steps = most_steps
        self.tools, self.failures = summary.Tools(), Failures()
        self.differences = Differences(summary.last_two(self.groups))
        self.search = SearchIndex(source.methods, self.first, pages.write)
        self.decisions: list[dict[str, Any]] = []
        self.n_read = 0

    def read_groups(self) -> None:
        """Read the steps of groups with a page, and of further groups up to the limit of steps."""
        left = self.most_steps
        for group in self.groups:
            left -= group.numbers.get("n_steps") or 0
            # One query per group: a single query would sort the texts of all steps.
            if group.page or left >= 0:
                self._add(group, read.steps(self.source, group))

    def _add(self, group: read.Group, steps: list[dict[str, Any]]) -> None:
        self.n_read += 1
        group.words = next((s["o"] for s in steps if s["o"]), None)
        group.words = group.words and group.words[:200]
        first = [s["adv"][self.first] for s in steps if s["adv"]]
        group.largest = max((abs(x) for x in first if x is not None), default=None)
        self.tools.add(steps)
        self.failures.add(group, steps)
        self.differences.add(group, steps)
        self.search.add(group, steps)
        decisions = read.decisions(self.source, group, steps) if group.page else []
        for d in decisions[:2]:
            self.decisions.append(
                d | {"group": group.place, "name": group.name, "page": group.page, "step": d["step_no"]})
        if group.page:
            self._write_group(group, steps, decisions)

    def _write_group(self, group: read.Group, steps: list[dict[str, Any]], decisions: list[dict[str, Any]]) -> None:
        shown = [{k: v for k, v in s.items() if k not in ("id", "state") and v is not None}
                 | {"adv": [None if x is None else round(x, 6) for x in s["adv"]]} for s in steps]
        shared = group.numbers.get("shared_step_share")
        solved = f"{group.successes} of {group.judged} judged tries solved it" if group.judged else "no try is judged"
        sentence = f"{len(group.rollouts)} tries, {solved}; {len(steps)} steps"
        if shared is not None:
            sentence += f", {round(100 * shared)} % of them in states that another try shares"
        self.pages.write(f"group-{group.place}", {
            "id": group.place, "name": group.name, "sentence": sentence + ".", "methods": self.source.methods,
            "first": self.first, "value_method": self.source.value_method, "steps": shown, "decisions": decisions[:6],
            "rollouts": [{"name": r.name, "success": r.success, "truncated": r.truncated, "return": r.total}
                         for r in group.rollouts]})

    def finish(self) -> Path:
        """Write the index and the page that loads it."""
        self.search.finish()
        problems, tools = read.problems(self.source), self.tools.rows()
        changes = summary.changes(self.groups)
        said = summary.headline(self.groups, changes, problems, tools)
        said += summary.hides(*read.hidden_tasks(self.source, self.groups))
        if self.n_read < len(self.groups):
            said.append(f"Texts of {self.n_read:,} groups were read; --steps reads more.")
        self.decisions.sort(key=lambda d: -(d["gap"] or 0) / (d["gap_error"] or 1))
        differences = self.differences.rows()
        self.pages.write("index", {
            "title": self.source.title, "version": __version__, "made": datetime.date.today().isoformat(),
            "headline": said, "methods": {m: self.source.comments.get(m, "") for m in self.source.methods},
            "value_method": self.source.value_method,
            "versions": summary.versions(self.groups), "lengths": summary.lengths(self.groups),
            "changes": changes, "tools": tools, "problems": problems, "decisions": self.decisions[:MOST_DECISIONS],
            "advantages": list(map(summary.histogram, self.source.methods, self.search.advantages)),
            "failures": self.failures.rows(), "differences": differences,
            "states": {"compared": self.differences.compared, "apart": self.differences.apart},
            "groups": [{
                "id": g.place, "name": g.name, "words": g.words, "rollouts": len(g.rollouts), "judged": g.judged,
                "successes": g.successes, "steps": g.numbers.get("n_steps"),
                "shared": read.finite(g.numbers.get("shared_step_share")), "largest": g.largest,
                "page": g.page} for g in self.groups]})
        return self.pages.finish(self.source.title)


def run(options: argparse.Namespace) -> int:
    """Write the report; returns the exit status 0."""
    with database.connect(options) as connection:
        print(_write(connection, options))
    return 0


def _write(connection: psycopg.Connection[Any], options: argparse.Namespace) -> Path:
    # A single snapshot, so that all numbers of a report agree.
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        # Queries of one group take milliseconds: starting parallel workers would take longer.
        connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        source = find(connection, options.attachment, observation=options.observation, action=options.action,
                      result=options.result)
        report = Report(source, Pages(options.out), options.groups, options.steps)
        report.read_groups()
        return report.finish()
