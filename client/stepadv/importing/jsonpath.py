"""Paths of SQL/JSON, as PostgreSQL has them in its lax mode: $.turns[*] ? (@.role == "user").text

Members ($.key, $."any key", .*), all levels (.**), elements ([0], [last], [1 to 3], [*]), filters (comparisons, &&, ||, !,
exists, starts with, like_regex), the variables that the caller knows, and the methods type(), size() and double().
A member of a list is that of its elements; an element of what is no list is that itself.
"""

import json
import operator
import re
from collections.abc import Callable
from typing import Any

Json = Any
Variables = dict[str, Json]
# What of (the item before, the item of the filter, variables).
Find = Callable[[list[Json], Json, Variables], list[Json]]
Test = Callable[[Json, Variables], bool]

TOKEN = re.compile(
    r"\s*(?:(?P<variable>\$(?:[A-Za-z_]\w*|\"(?:[^\"\\]|\\.)*\"))|(?P<string>\"(?:[^\"\\]|\\.)*\")|(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)|(?P<mark>\.\*\*|\.\*|==|!=|<>|<=|>=|&&|\|\||[-$@.\[\]()?<>!,*]))"
)
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
CONSTANTS = {"true": True, "false": False, "null": None}


class NoPath(Exception):
    """A text that is no path, in words."""


def type_of(value: Json) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "object")


def compare(mark: str, left: Json, right: Json) -> bool:
    kind = type_of(left)
    if kind != type_of(right) or kind in ("array", "object"):
        return mark in ("!=", "<>") and kind != type_of(right) and "null" in (kind, type_of(right))
    if kind == "null":
        return mark in ("==", "<=", ">=")
    return COMPARE[mark](left, right)


def unwrap(values: list[Json]) -> list[Json]:
    return [e for v in values for e in (v if isinstance(v, list) else [v])]


def member(key: str) -> Callable[[list[Json]], list[Json]]:
    return lambda values: [v[key] for v in unwrap(values) if isinstance(v, dict) and key in v]


def all_members(values: list[Json]) -> list[Json]:
    return [m for v in unwrap(values) if isinstance(v, dict) for m in v.values()]


def all_levels(values: list[Json]) -> list[Json]:
    found: list[Json] = []
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        found.append(value)
        below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        waiting.extend(reversed(list(below)))
    return found


METHODS: dict[str, Callable[[Json], Json]] = {
    "type": type_of,
    "size": lambda v: len(v) if isinstance(v, list) else 1,
    "double": lambda v: float(v),
}


class Parser:
    def __init__(self, text: str, variables: tuple[str, ...]):
        self.text, self.variables, self.at = text, variables, 0
        self.kind, self.token = "", ""
        self.advance()

    def fail(self) -> NoPath:
        found = self.token if self.kind else "the end"
        return NoPath(f"something else expected than {found}")

    def advance(self) -> str:
        before = self.token
        if not self.text[self.at :].strip():
            self.kind = self.token = ""
            return before
        found = TOKEN.match(self.text, self.at)
        if found is None or found.lastgroup is None:
            raise NoPath(f"unexpected {self.text[self.at:].strip()[:1]}")
        self.at, self.kind, self.token = found.end(), found.lastgroup, found[found.lastgroup]
        return before

    def take(self, token: str) -> bool:
        if self.kind in ("mark", "name") and self.token == token:
            self.advance()
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.fail()

    # ----------
    # Paths
    # ----------

    def whole(self) -> Find:
        if self.kind == "name" and self.token == "strict":
            raise NoPath("strict is not known here: paths are lax")
        self.take("lax")
        path = self.path()
        if self.kind:
            raise self.fail()
        return path

    def path(self) -> Find:
        steps = []
        begin = self.begin()
        while (step := self.accessor()) is not None:
            steps.append(step)

        def find(root: list[Json], item: Json, variables: Variables) -> list[Json]:
            values = begin(root, item, variables)
            for step in steps:
                if not values:
                    break
                values = step(values, variables)
            return values

        return find

    def begin(self) -> Find:
        if self.kind == "variable":
            name = self.advance()[1:]
            name = json.loads(name) if name.startswith('"') else name
            if name not in self.variables:
                known = [f"${v}" for v in self.variables]
                raise NoPath(f"there is no variable ${name}, only {', '.join(known[:-1])} and {known[-1]}")
            return lambda root, item, variables: [variables[name]] if variables.get(name) is not None else []
        if self.take("$"):
            return lambda root, item, variables: root
        if self.take("@"):
            return lambda root, item, variables: [item]
        if self.kind in ("string", "number") or self.token in CONSTANTS or self.token == "-":
            sign = "-" if self.take("-") else ""
            token = sign + self.advance()
            try:
                value = CONSTANTS[token] if token in CONSTANTS else json.loads(token)
            except ValueError:
                raise self.fail() from None
            return lambda root, item, variables: [value]
        raise self.fail()

    def accessor(self) -> Callable[[list[Json], Variables], list[Json]] | None:
        if self.take(".**"):
            return lambda values, variables: all_levels(values)
        if self.take(".*"):
            return lambda values, variables: all_members(values)
        if self.take("."):
            if self.kind not in ("name", "string"):
                raise self.fail()
            quoted = self.kind == "string"
            name = self.advance()
            if not quoted and self.take("("):
                self.expect(")")
                return self.method(name)
            find = member(json.loads(name) if quoted else name)
            return lambda values, variables: find(values)
        if self.take("["):
            return self.subscript()
        if self.take("?"):
            self.expect("(")
            test = self.either()
            self.expect(")")
            return lambda values, variables: [v for v in unwrap(values) if test(v, variables)]
        return None

    def method(self, name: str) -> Callable[[list[Json], Variables], list[Json]]:
        if name not in METHODS:
            raise NoPath(f"there is no method {name}(), only {', '.join(m + '()' for m in METHODS)}")

        def call(values: list[Json], variables: Variables) -> list[Json]:
            try:
                return [METHODS[name](v) for v in values]
            except (TypeError, ValueError):
                return []

        return call

    def subscript(self) -> Callable[[list[Json], Variables], list[Json]]:
        if self.take("*"):
            self.expect("]")
            return lambda values, variables: unwrap(values)
        ranges = []
        while True:
            low = self.index()
            high = self.index() if self.take("to") else low
            ranges.append((low, high))
            if not self.take(","):
                break
        self.expect("]")

        def find(values: list[Json], variables: Variables) -> list[Json]:
            found = []
            for value in values:
                elements = value if isinstance(value, list) else [value]
                for low, high in ranges:
                    begin, end = (len(elements) - 1 - i if last else i for i, last in (low, high))
                    found += elements[max(begin, 0) : max(end + 1, 0)]
            return found

        return find

    def index(self) -> tuple[int, bool]:
        if self.take("last"):
            if self.take("-"):
                return self.integer(), True
            return 0, True
        return self.integer(), False

    def integer(self) -> int:
        if self.kind != "number" or not self.token.isdigit():
            raise self.fail()
        return int(self.advance())

    # ----------
    # Filters
    # ----------

    def either(self) -> Test:
        tests = [self.both()]
        while self.take("||"):
            tests.append(self.both())
        return lambda item, variables: any(test(item, variables) for test in tests)

    def both(self) -> Test:
        tests = [self.one()]
        while self.take("&&"):
            tests.append(self.one())
        return lambda item, variables: all(test(item, variables) for test in tests)

    def one(self) -> Test:
        if self.take("!"):
            test = self.one()
            return lambda item, variables: not test(item, variables)
        if self.take("exists"):
            self.expect("(")
            path = self.path()
            self.expect(")")
            return lambda item, variables: bool(path([item], item, variables))
        if self.take("("):
            test = self.either()
            self.expect(")")
            return test
        left = self.path()
        if self.take("starts"):
            self.expect("with")
            right = self.path()
            return lambda item, variables: self.any_pair(left, right, item, variables, lambda a, b: isinstance(a, str) and isinstance(b, str) and a.startswith(b))
        if self.take("like_regex"):
            return self.like(left)
        mark = self.token
        if mark not in COMPARE:
            raise self.fail()
        self.advance()
        right = self.path()
        return lambda item, variables: self.any_pair(left, right, item, variables, lambda a, b: compare(mark, a, b))

    @staticmethod
    def any_pair(left: Find, right: Find, item: Json, variables: Variables, test: Callable[[Json, Json], bool]) -> bool:
        rights = unwrap(right([item], item, variables))
        return any(test(a, b) for a in unwrap(left([item], item, variables)) for b in rights)

    def like(self, left: Find) -> Test:
        if self.kind != "string":
            raise self.fail()
        pattern = json.loads(self.advance())
        flags = 0
        if self.take("flag"):
            flags = re.IGNORECASE if "i" in self.advance() else 0
        try:
            compiled = re.compile(pattern, flags)
        except re.error as error:
            raise NoPath(f"invalid regular expression: {error}") from None
        return lambda item, variables: any(isinstance(v, str) and compiled.search(v) for v in unwrap(left([item], item, variables)))


class Path:
    def __init__(self, text: str, variables: tuple[str, ...] = ("document", "source", "n")):
        self.text = text
        self._find = Parser(text, variables).whole()

    def all(self, item: Json, variables: Variables) -> list[Json]:
        return self._find([item], item, variables)

    def first(self, item: Json, variables: Variables) -> tuple[bool, Json]:
        """Whether it finds something, and what."""
        found = self._find([item], item, variables)
        return (True, found[0]) if found else (False, None)
