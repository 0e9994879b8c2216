"""Writes the tables and the picture of docs/results/learning.md from learn.py's JSON; prints missed goals."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from problems import PROBLEMS, Problem

COLOURS = {
    "oracle": "#000000",
    "limit": "#bbbbdd",
    "history_td": "#cc00aa",
    "batch_td": "#007722",
    "rtmc": "#cc2222",
    "graphgpo": "#0055bb",
    "hgpo": "#ccaa00",
    "grpo": "#888888",
}
Curve = list[float]
Results = dict[tuple[str, str], list[Curve]]


def mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def error(numbers: list[float]) -> float:
    m = mean(numbers)
    return math.sqrt(sum((x - m) ** 2 for x in numbers) / max(len(numbers) - 1, 1) / len(numbers))


def areas(curves: list[Curve]) -> list[float]:
    return [mean(curve) for curve in curves]


def middle(curves: list[Curve], window: int = 5) -> Curve:
    """The mean over seeds, and over neighboring updates."""
    raw = [mean(list(scores)) for scores in zip(*curves, strict=True)]
    half = window // 2
    return [mean(raw[max(0, i - half) : i + half + 1]) for i in range(len(raw))]


def rollouts_to(curves: list[Curve], share: float, rollouts: int) -> str:
    for i, score in enumerate(middle(curves)):
        if score >= share:
            return str((i + 1) * rollouts)
    return "-"


def table(problems: list[Problem], methods: list[str], cell: object) -> list[str]:
    lines = ["| problem | " + " | ".join(methods) + " |", "| --- |" + " ---: |" * len(methods)]
    for problem in problems:
        cells = [cell(problem.name, method) for method in methods]  # type: ignore[operator]
        lines.append(f"| {problem.name} | " + " | ".join(cells) + " |")
    return lines


def shortfalls(results: Results, problems: list[Problem]) -> list[str]:
    """Where history_td, the default, misses its goals."""
    lines = []
    for problem in problems:
        own, plain, oracle, limit = (
            areas(results[problem.name, m]) for m in ("history_td", "grpo", "oracle", "limit")
        )
        noise = math.hypot(error(own), error(plain))
        last = mean([mean(curve[-10:]) for curve in results[problem.name, "history_td"]])
        if mean(own) < mean(plain) - 2 * noise:
            lines.append(f"{problem.name}: {mean(own):.2f}, by more than noise below grpo's {mean(plain):.2f}")
        if not problem.hides and not problem.luck and mean(own) < mean(oracle) - 0.06:
            lines.append(
                f"{problem.name}: {mean(own):.2f}, more than .06 below the oracle's {mean(oracle):.2f};"
                f" the limit's is {mean(limit):.2f}"
            )
        if problem.hides and last < 0.85:
            lines.append(f"{problem.name}: {last:.2f} of the optimum over the last ten updates, not .85")
    return lines


def picture(results: Results, problems: list[Problem], methods: list[str]) -> str:
    """A curve per problem: share of the optimum by number of rollouts."""
    width, height, columns = 210, 150, 4
    rows = math.ceil(len(problems) / columns)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * width} {rows * height + 30}"'
        ' font-family="sans-serif" font-size="11">'
    ]
    for i, problem in enumerate(problems):
        left, top = i % columns * width + 24, i // columns * height + 20
        inner_width, inner_height = width - 36, height - 42
        parts.append(f'<text x="{left}" y="{top - 6}">{problem.name}</text>')
        for share in (0.0, 0.5, 1.0):
            y = top + inner_height * (1 - share)
            parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + inner_width}" y2="{y:.1f}" stroke="#dddddd"/>')
            parts.append(f'<text x="{left - 4}" y="{y + 4:.1f}" text-anchor="end" fill="#666666">{share:g}</text>')
        for method in methods:
            curve = middle(results[problem.name, method])
            step = inner_width / max(len(curve) - 1, 1)
            heights = [top + inner_height * (1 - min(max(y, 0), 1.05)) for y in curve]
            points = " ".join(f"{left + step * k:.1f},{y:.1f}" for k, y in enumerate(heights))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[method]}" stroke-width="1.5"/>')
    for i, method in enumerate(methods):
        x = 24 + i * 110
        parts.append(f'<text x="{x}" y="{rows * height + 20}" fill="{COLOURS[method]}">{method}</text>')
    return "\n".join([*parts, "</svg>"])


def main() -> None:
    data = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(sys.argv[2])
    results: Results = {(r["problem"], r["method"]): r["scores"] for r in data["results"]}
    methods = list(dict.fromkeys(r["method"] for r in data["results"]))
    problems = [p for p in PROBLEMS if (p.name, methods[0]) in results]
    curves = next(iter(results.values()))
    short = shortfalls(results, problems)

    def share(problem: str, method: str) -> str:
        values = areas(results[problem, method])
        return f"{mean(values):.2f} ± {error(values):.2f}"

    def needed(problem: str, method: str) -> str:
        return rollouts_to(results[problem, method], 0.8, data["rollouts"])

    lines = [
        f"{len(curves)} seeds, {len(curves[0])} updates of {data['rollouts']} rollouts each."
        " Mean share of the optimum on the way:",
        "",
        *table(problems, methods, share),
        "",
        "Rollouts until the mean of five updates has 80 % of the optimum (-: not in these updates):",
        "",
        *table(problems, methods, needed),
        "",
        "`history_td` misses some of its goals (not below `grpo` by more than noise; within .06 of the oracle if states"
        " are exact and outcomes not mostly luck; .85 of the optimum at the end if states hide something):"
        if short
        else "`history_td` meets its goals: nowhere below `grpo` by more than noise, within .06 of the oracle if"
        " states are exact, .85 of the optimum if they hide something.",
        *[f"- {line}" for line in short],
    ]
    page = folder / "learning.md"
    text = page.read_text()
    begin, end = "<!-- learn:begin -->\n", "<!-- learn:end -->"
    head, rest = text.split(begin)
    page.write_text(head + begin + "\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1])
    (folder / "learning.svg").write_text(picture(results, problems, methods) + "\n")
    print("\n".join(short) or "all goals are met")


if __name__ == "__main__":
    main()
