"""Makes mutants, builds each and says which tests kill it.  Run by run.sh, which has made the server."""

import argparse
import os
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

from places import Mutant, places

TREE, WORK, STAGE = (Path(os.environ[name]) for name in ("TREE", "WORK", "STAGE"))
# What takes longest comes last.
LONG = "upkeep tables attach_catalog curation history_views problems compare methods over_time equivalence instances credit_check group_fold".split()
# Which tests know a folder, where no name says it.
FOLDERS = {
	"attach": "asked_views attach attach_catalog",
	"upkeep": "folded_from upkeep_without_triggers upkeep_more ddl upkeep",
	"digest": "digest panels over_time",
	"plan": "fold_ids step_scan parallel_fold group_fold",
	"group": "group group_version overflow turns fold_ids history stored_rows",
	"signatures": "action call_effects observation identity cluster",
	"tables": "rollout_key load tables",
	"progress": "spa progress progress_sparse",
	"values": "rtmc batch_td history_td",
}

DEFINES = re.compile(r"PG_FUNCTION_INFO_V1\(stepadv_(\w+)\)|CREATE FUNCTION stepadv\.(\w+)")


def tests_of(mutant: Mutant, tests: list[str]) -> list[str]:
	"""Tests in the order in which they are likely to kill it."""
	path = Path(mutant.path)
	words = set(re.split(r"[_/.]", str(path.with_suffix(""))))
	known = [test for part in path.parts for test in FOLDERS.get(part, "").split()]
	# What it defines for SQL, or, if nothing, what is named as the file.
	names = {name for found in DEFINES.findall((TREE / path).read_text()) for name in found} - {""} or {path.stem.rstrip("s")}

	def rank(test: str) -> tuple[int, int, str]:
		asked = set(re.findall(r"\w+", (TREE / "test/sql" / f"{test}.sql").read_text()))
		named = any(word.startswith(tuple(names)) for word in asked)
		near = -4 * (test == path.stem) - 2 * (test in known) - 3 * named - len(words & set(test.split("_")))
		return (near, LONG.index(test) + 1 if test in LONG else 0, test)

	return sorted(tests, key=rank)


def run(*command: str, seconds: float = 900) -> tuple[int, str]:
	try:
		done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False)
	except subprocess.TimeoutExpired:
		return 124, "takes too long"
	return done.returncode, done.stdout + done.stderr


def server(*words: str) -> None:
	command = [f"{os.environ['BINDIR']}/pg_ctl", "-D", str(WORK / "data"), *words]
	if os.getuid() == 0:
		command = ["runuser", "-u", os.environ["TEST_USER"], "--", *command]
	subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def fresh_server() -> None:
	"""What a mutant left behind must not fail the next one's tests."""
	server("-m", "immediate", "-w", "stop")
	shutil.rmtree(WORK / "data", ignore_errors=True)
	subprocess.run(["cp", "-a", str(WORK / "template"), str(WORK / "data")], check=True)
	server("-l", str(WORK / "server.log"), "-w", "start")


def build() -> bool:
	make = ["make", "-s", "-C", str(TREE), f"PG_CONFIG={os.environ['PG_CONFIG']}", "with_llvm=no"]
	if "CC" in os.environ:
		make.append(f"CC={os.environ['CC']}")
	return run(*make)[0] == 0 and run(*make, "install", f"DESTDIR={STAGE}")[0] == 0


def failing(tests: list[str]) -> str:
	"""The first test that fails, in batches that grow: '' where all pass."""
	at, size = 0, 1
	while at < len(tests):
		batch = tests[at:at + size]
		status, said = run(os.environ["PG_REGRESS"], f"--bindir={os.environ['BINDIR']}", "--inputdir=test", "--outputdir=.",
			"--launcher=test/harness/psql.sh", "--load-extension=stepadv", "--dbname=mutants", *batch)
		if status != 0:
			words = re.findall(r"^(?:test |not ok \d+ +[-+] )(\w+).*(?:FAILED| ms$)", said, re.M) if "not ok" in said else re.findall(r"^test (\w+) .*FAILED", said, re.M)
			return words[0] if words else "the server"
		at, size = at + size, 2 * size
	return ""


def killed_by(mutant: Mutant, tests: list[str], nearest: int) -> str:
	path = TREE / mutant.path
	text = path.read_text()
	lines = text.split("\n")
	lines[mutant.line] = mutant.after
	path.write_text("\n".join(lines))
	try:
		if not build():
			return "not built"
		fresh_server()
		return failing(tests_of(mutant, tests)[:nearest]) or "SURVIVED"
	finally:
		path.write_text(text)


def main() -> None:
	parser = argparse.ArgumentParser()
	parser.add_argument("--number", type=int, required=True)
	parser.add_argument("--seed", type=int, required=True)
	parser.add_argument("--minutes", type=float, required=True)
	parser.add_argument("--nearest", type=int, default=1000, help="how many tests at most, those of its place first")
	parser.add_argument("--only")
	parser.add_argument("--out", type=Path, required=True)
	args = parser.parse_args()
	found = places(TREE)
	# SQL is a third, and rare kinds are drawn as often as frequent ones.
	dice = random.Random(args.seed)
	kinds: dict[str, list[Mutant]] = {}
	for mutant in found:
		kinds.setdefault(mutant.path[:3] + mutant.kind, []).append(mutant)
	order = []
	for i in range(args.number):
		wanted = "sql" if i % 3 == 2 else "src"
		order.append(dice.choice(kinds[dice.choice(sorted(k for k in kinds if k.startswith(wanted)))]))
	if args.only:
		order = [m for m in found if f"{m.path}:{m.line + 1}" in args.only.split()]
	tests = [path.stem for path in sorted((TREE / "test/sql").glob("*.sql"))]
	print(f"{len(found)} places, {len(order)} mutants", flush=True)
	if not build():
		raise SystemExit("the build fails without a mutant")
	fresh_server()
	if failing(["hash"]):
		raise SystemExit("a test fails without a mutant")
	# A test that fails without a mutant judges none.
	tests = [test for test in tests if test not in os.environ.get("SKIP", "").split()]
	until = time.monotonic() + 60 * args.minutes
	for number, mutant in enumerate(order):
		if time.monotonic() > until:
			break
		begun = time.monotonic()
		verdict = killed_by(mutant, tests, args.nearest)
		row = f"{args.seed}.{number}\t{mutant.path}:{mutant.line + 1}\t{mutant.kind}\t{mutant.before.strip()}\t{mutant.after.strip()}\t{verdict}\t{time.monotonic() - begun:.0f}"
		print(row, flush=True)
		with args.out.open("a") as out:
			out.write(row + "\n")
	server("-m", "immediate", "-w", "stop")


main()
