"""Which tests reach which line of C and which function of SQL, and how long each takes."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

SESSION_ENDS = .5


def lines_reached(counts: Path, tree: Path) -> dict[str, list[int]]:
	"""Lines by gcov, from the counts of a test, which are removed."""
	data = sorted(counts.rglob("*.gcda"))
	for file in data:
		notes = file.with_suffix(".gcno")
		if not notes.exists():
			notes.symlink_to(tree / notes.relative_to(counts / str(tree)[1:]))
	said = subprocess.run(["gcov", "--json-format", "--stdout", *data], capture_output=True, text=True, check=True).stdout if data else ""
	for file in data:
		file.unlink()
	reached: dict[str, list[int]] = {}
	for unit in said.splitlines():
		for file in json.loads(unit)["files"]:
			path = file["file"].removeprefix(f"{tree}/").removeprefix("./")
			lines = [line["line_number"] for line in file["lines"] if line["count"]]
			if path.endswith(".c") and lines:
				reached[path] = sorted(set(lines))
	return reached


def measure(tests: list[str], run: Callable[[str], bool], functions: Callable[[], list[str]], counts: Path, tree: Path) -> dict[str, dict]:
	"""Runs each test alone on a build with --coverage, whose server has GCOV_PREFIX."""
	reached = {}
	for test in tests:
		begun = time.monotonic()
		passed = run(test)
		seconds = time.monotonic() - begun
		time.sleep(SESSION_ENDS)
		reached[test] = {"passed": passed, "seconds": round(seconds, 1), "functions": functions(), "lines": lines_reached(counts, tree)}
		print(f"{test}: {seconds:.0f} s, {sum(map(len, reached[test]['lines'].values()))} lines of C, {'passed' if passed else 'FAILED'}", flush=True)
	return reached
