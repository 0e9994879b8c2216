"""Makes mutants, builds each and finds the test that kills it.  Run by run.sh, which makes the server."""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from cover import measure
from places import Mutant, places

TREE, WORK, STAGE = (Path(os.environ[name]) for name in ("TREE", "WORK", "STAGE"))
INSTALLED = STAGE / os.environ["PKGLIBDIR"][1:] / "stepadv.so"
VERSION = re.search(r"^default_version = '(.*)'", (TREE / "stepadv.control").read_text(), re.M)
SCRIPT = STAGE / os.environ["SHAREDIR"][1:] / f"extension/stepadv--{VERSION[1] if VERSION else ''}.sql"
FUNCTION = re.compile(r"^CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) (\w+\.\w+)")


class Killers:
	"""The tests that reach a mutant, in the order in which they are tried."""

	def __init__(self, cover: dict[str, dict]) -> None:
		self.cover = {test: reach for test, reach in cover.items() if reach["passed"]}
		self.tracked = {f for reach in self.cover.values() for f in reach["functions"]}

	def of(self, mutant: Mutant) -> list[str]:
		path = Path(mutant.path)
		tests = [t for t in self.cover if self._reaches(t, mutant)]
		words = set(re.split(r"[_/.]", str(path.with_suffix(""))))

		def rank(test: str) -> tuple[float, str]:
			near = 3 * (test == path.stem) + len(words & set(test.split("_")))
			return (self.cover[test]["seconds"] / (1 + near), test)

		return sorted(tests, key=rank)

	def _reaches(self, test: str, mutant: Mutant) -> bool:
		if mutant.path.startswith("src"):
			return mutant.line + 1 in self.cover[test]["lines"].get(mutant.path, ())
		lines = (TREE / mutant.path).read_text().split("\n")[:mutant.line + 1]
		of = next((found[1] for found in map(FUNCTION.match, reversed(lines)) if found), "")
		# The server does not count functions that it inlines.
		return of not in self.tracked or of in self.cover[test]["functions"]


def run(*command: str, seconds: float = 900, said: Path | None = None) -> int:
	"""Returns the exit status, or 124 after a timeout, which kills all processes of the command."""
	with open(said or os.devnull, "w") as out, subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True) as process:
		try:
			return process.wait(seconds)
		except subprocess.TimeoutExpired:
			os.killpg(process.pid, signal.SIGKILL)
			return 124


def server(*words: str) -> None:
	command = [f"{os.environ['BINDIR']}/pg_ctl", "-D", str(WORK / "data"), *words]
	if os.getuid() == 0:
		command = ["runuser", "-u", os.environ["TEST_USER"], "--", *command]
	run(*command, seconds=60)


def fresh_server() -> None:
	"""A new server, so that remains of a mutant do not make tests of the next one fail."""
	server("-m", "immediate", "-w", "stop")
	shutil.rmtree(WORK / "data", ignore_errors=True)
	run("cp", "-a", str(WORK / "template"), str(WORK / "data"))
	server("-l", str(WORK / "server.log"), "-w", "start")


def build(parts: set[str]) -> bool:
	"""Compiles what has changed, and copies instead of installing."""
	if parts & {"src"}:
		make = ["make", "-s", "-C", str(TREE), f"PG_CONFIG={os.environ['PG_CONFIG']}", "with_llvm=no", *os.environ["FLAGS"].split("\n")]
		if run(*make, "stepadv.so", said=WORK / "make.log") != 0:
			return False
		# A file that a server has mapped must not be overwritten.
		INSTALLED.unlink(missing_ok=True)
		shutil.copy(TREE / "stepadv.so", INSTALLED)
	if parts & {"sql"}:
		SCRIPT.write_text("".join((TREE / "sql" / part).read_text() for part in (TREE / "sql/order").read_text().split()))
	return True


def passes(test: str, seconds: float = 900) -> bool:
	return run(os.environ["PG_REGRESS"], f"--bindir={os.environ['BINDIR']}", "--inputdir=test", "--outputdir=.", "--launcher=test/harness/psql.sh",
		"--load-extension=stepadv", "--dbname=mutants", test, seconds=seconds, said=WORK / "regress.log") == 0


def called_functions() -> list[str]:
	query = "SELECT schemaname || '.' || funcname FROM pg_stat_user_functions WHERE schemaname ~ '^stepadv' ORDER BY 1"
	done = subprocess.run([f"{os.environ['BINDIR']}/psql", "-XAtc", query, "mutants"], capture_output=True, text=True, check=False)
	return sorted(set(done.stdout.split()))


class Changed:
	"""The tree with mutants, which must be on different lines."""

	def __init__(self, mutants: list[Mutant]) -> None:
		self.mutants, self.parts = mutants, {m.path[:3] for m in mutants}
		self.texts = {path: (TREE / path).read_text() for path in {m.path for m in mutants}}

	def __enter__(self) -> bool:
		for path, text in self.texts.items():
			lines = text.split("\n")
			for m in self.mutants:
				if m.path == path:
					lines[m.line] = m.after
			(TREE / path).write_text("\n".join(lines))
		built = build(self.parts)
		if built:
			fresh_server()
		return built

	def __exit__(self, *_: object) -> None:
		for path, text in self.texts.items():
			(TREE / path).write_text(text)
		if "sql" in self.parts:
			build({"sql"})


class Judge:
	def __init__(self, killers: Killers) -> None:
		self.killers = killers

	def first_killer(self, mutants: list[Mutant], tests: list[str], seconds: float = 1e9) -> tuple[str, list[str]]:
		"""The first test that fails with these mutants together, and the tests that were not run."""
		with Changed(mutants) as built:
			if not built:
				return "not built", tests
			until = time.monotonic() + seconds
			for i, test in enumerate(tests):
				if time.monotonic() > until:
					return "", tests[i:]
				if not passes(test, 30 + 8 * self.killers.cover[test]["seconds"]):
					return test, tests[i + 1:]
		return "", []

	def together(self, left: dict[Mutant, list[str]]) -> dict[Mutant, str]:
		"""Runs the remaining tests of several mutants with all of them at once.  If a test fails, tries each mutant alone with it."""
		verdicts: dict[Mutant, str] = {}
		alive = list(left)
		tests = sorted({t for ts in left.values() for t in ts}, key=lambda t: self.killers.cover[t]["seconds"])
		while alive and tests:
			killer, rest = self.first_killer(alive, tests)
			if not killer:
				break
			for mutant in alive if killer == "not built" else [m for m in alive if killer in left[m]]:
				if len(alive) == 1 or self.first_killer([mutant], [killer])[0] if killer != "not built" else True:
					verdicts[mutant] = killer
			alive = [m for m in alive if m not in verdicts]
			tests = [t for t in rest if any(t in left[m] for m in alive)]
		return verdicts | {m: "SURVIVED" for m in alive}


def draw(found: list[Mutant], number: int, seed: int) -> list[Mutant]:
	"""Of ten, six are of C and three of SQL, all places with equal probability; one drops a guard or a privilege check."""
	dice = random.Random(seed)
	guards = [m for m in found if m.kind in ("guard dropped", "right not asked")]
	of = {"src": [m for m in found if m.path.startswith("src")], "sql": [m for m in found if m.path.startswith("sql")]}
	kinds = [of["src"]] * 6 + [of["sql"]] * 3 + [guards]
	return [dice.choice(kinds[i % 10]) for i in range(number)]


def main() -> None:
	parser = argparse.ArgumentParser()
	parser.add_argument("--number", type=int, required=True)
	parser.add_argument("--seed", type=int, required=True)
	parser.add_argument("--minutes", type=float, required=True)
	parser.add_argument("--seconds", type=float, required=True, help="for the tests of one mutant alone, before it is combined with others")
	parser.add_argument("--together", type=int, required=True, help="how many survivors share their remaining tests")
	parser.add_argument("--only")
	parser.add_argument("--cover", type=Path, required=True, help="what each test reaches; made if it is missing")
	parser.add_argument("--out", type=Path, required=True)
	args = parser.parse_args()
	tests = [path.stem for path in sorted((TREE / "test/sql").glob("*.sql"))]
	if not args.cover.exists():
		fresh_server()
		args.cover.write_text(json.dumps(measure(tests, passes, called_functions, WORK / "counts", TREE)))
		server("-m", "immediate", "-w", "stop")
		return
	killers = Killers(json.loads(args.cover.read_text()))
	judge = Judge(killers)
	found = places(TREE)
	order = [m for m in found if f"{m.path}:{m.line + 1}" in args.only.split()] if args.only else draw(found, args.number, args.seed)
	print(f"{len(found)} places, {len(order)} mutants, {len(killers.cover)} tests", flush=True)
	if not build({"src", "sql"}):
		raise SystemExit("the build fails without a mutant")
	until = time.monotonic() + 60 * args.minutes
	numbers = {m: f"{args.seed}.{i}" for i, m in enumerate(order)}
	waiting: dict[Mutant, list[str]] = {}

	def say(mutant: Mutant, verdict: str) -> None:
		row = f"{numbers[mutant]}\t{mutant.path}:{mutant.line + 1}\t{mutant.kind}\t{mutant.before.strip()}\t{mutant.after.strip()}\t{verdict}"
		print(row, flush=True)
		with args.out.open("a") as out:
			out.write(row + "\n")

	def end_waiting() -> None:
		for mutant, verdict in judge.together(waiting).items():
			say(mutant, verdict)
		waiting.clear()

	for mutant in numbers:
		if time.monotonic() > until:
			break
		nearest = killers.of(mutant)
		if not nearest:
			say(mutant, "NOT REACHED")
			continue
		verdict, rest = judge.first_killer([mutant], nearest, args.seconds)
		if verdict or not rest:
			say(mutant, verdict or "SURVIVED")
			continue
		if any((w.path, w.line) == (mutant.path, mutant.line) for w in waiting):
			end_waiting()
		waiting[mutant] = rest
		if len(waiting) == args.together:
			end_waiting()
	end_waiting()
	server("-m", "immediate", "-w", "stop")


main()
