"""Places in C and SQL that mutants change, and the changes."""

import re
from dataclasses import dataclass
from pathlib import Path

OPERATORS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" + ", " - "), (" - ", " + ")]
C_OPERATORS = [*OPERATORS, (" == ", " != "), (" != ", " == "), (" && ", " || "), (" || ", " && "), (" + 1", ""), (" - 1", "")]
SQL_OPERATORS = [*OPERATORS, (" AND ", " OR "), (" IS NOT NULL", " IS NULL"), (" <> ", " = "), ("NOT EXISTS (", "EXISTS (")]
# Statements that only lock, check or raise an error, and conditions of early returns.
C_GUARD = re.compile(r"^\s*\(?(?:void\)\s*)?\w*(?:[Ll]ock|check|require|must|refuse|verify|ensure|privilege|rights)\w*\([^;]*\);$")
C_RETURN = re.compile(r"^\t+if \(.*\)$")
C_SWAP = re.compile(r"\b(\w+)\((\w+), (\w+)\)")
SQL_GUARD = re.compile(r"^\s*(?:PERFORM .*(?:check|require|refuse|lock).*;|LOCK TABLE .*;)$")
SQL_RIGHTS = re.compile(r"\bhas_\w+_privilege\((?:[^()]|\([^()]*\))*\)|\bpg_has_role\((?:[^()]|\([^()]*\))*\)")


@dataclass(frozen=True)
class Mutant:
	path: str
	line: int
	kind: str
	before: str
	after: str


def _operators(line: str, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
	code = line.split("/*")[0].split("--")[0]
	found = []
	for old, new in pairs:
		# Not the beginning of another number, as in "x + 16.0".
		for at in (m.start() for m in re.finditer(re.escape(old) + r"\b(?!\.)" * old[-1].isdigit(), code)):
			if code[:at].count("'") % 2 == 0 and code[:at].count('"') % 2 == 0:
				found.append((f"{old.strip()} {new.strip() or 'nothing'}", line[:at] + new + line[at + len(old):]))
	return found


def _of_c(path: str, lines: list[str]) -> list[Mutant]:
	found, is_comment, is_body = [], False, False
	for i, line in enumerate(lines):
		is_comment = is_comment or line.lstrip().startswith("/*")
		is_body = line.startswith("{") or (is_body and not line.startswith("}"))
		if is_body and not is_comment and "err" not in line and "Assert" not in line and line.startswith("\t"):
			changes = _operators(line, C_OPERATORS)
			if C_GUARD.match(line):
				changes.append(("guard dropped", "\t;"))
			if C_RETURN.match(line) and i + 1 < len(lines) and re.match(r"^\t+(return\b|ereport)", lines[i + 1]):
				changes.append(("never leaves", re.sub(r"if \(.*\)$", "if (false)", line)))
			swap = C_SWAP.search(line)
			if swap and swap[2] != swap[3] and not swap[1].isupper():
				changes.append(("swapped", line[:swap.start()] + f"{swap[1]}({swap[3]}, {swap[2]})" + line[swap.end():]))
			found += [Mutant(path, i, kind, line, after) for kind, after in changes]
		if "*/" in line:
			is_comment = False
	return found


def _of_sql(path: str, lines: list[str]) -> list[Mutant]:
	found, is_text = [], False
	for i, line in enumerate(lines):
		if line.startswith("COMMENT ON"):
			is_text = True
		if not is_text and not line.lstrip().startswith("--") and "RAISE" not in line:
			changes = _operators(line, SQL_OPERATORS)
			if SQL_GUARD.match(line):
				changes.append(("guard dropped", ""))
			changes += [("right not asked", line[:m.start()] + "true" + line[m.end():]) for m in SQL_RIGHTS.finditer(line)]
			found += [Mutant(path, i, kind, line, after) for kind, after in changes]
		if line.rstrip().endswith(";"):
			is_text = False
	return found


def places(tree: Path) -> list[Mutant]:
	"""All possible mutants, in an order that depends only on the files."""
	found = []
	for path in sorted(tree.glob("src/**/*.c")):
		found += _of_c(str(path.relative_to(tree)), path.read_text().split("\n"))
	for part in (tree / "sql/order").read_text().split():
		found += _of_sql(f"sql/{part}", (tree / "sql" / part).read_text().split("\n"))
	return found
