"""Decision problems for learning curves: small enough to be solved exactly.

The policy sees the whole state.  Methods see its look, which may hide part of it
(`hides`) or distinguish meaningless details (`details`).  A rollout ends at an end of
the problem, or with probability HAZARD at any step because its budget is used up; so
states need not include the time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

HAZARD = 0.02
State = Hashable
# (probability, next state or None for the end, reward)
Outcome = tuple[float, State | None, float]


@dataclass
class Problem:
    name: str
    about: str
    start: State
    choices: Callable[[State], dict[str, list[Outcome]]]
    look: Callable[[State], Hashable] = lambda state: state
    hides: bool = False
    luck: bool = False  # outcomes are mostly luck
    details: int = 1  # number of meaningless variants of each look
    # Computed: the states, outcomes by state and action, and the value of the best policy.
    states: list[State] = field(default_factory=list)
    table: list[list[list[tuple[float, int, float]]]] = field(default_factory=list)
    optimum: float = 0.0

    def __post_init__(self) -> None:
        """Number the reachable states; solve for the best policy."""
        number = {self.start: 0}
        self.states = [self.start]
        for state in self.states:
            row = []
            for outcomes in self.choices(state).values():
                for _, following, _ in outcomes:
                    if following is not None and following not in number:
                        number[following] = len(self.states)
                        self.states.append(following)
                row.append([(p, -1 if n is None else number[n], r) for p, n, r in outcomes])
            self.table.append(row)
        self.optimum = self.values(lambda s, q: max(q))[0]

    def action_values(self, state: int, v: list[float]) -> list[float]:
        return [
            sum(p * (r + (1 - HAZARD) * v[n] if n >= 0 else r) for p, n, r in outcomes if p > 0)
            for outcomes in self.table[state]
        ]

    def values(
        self, mean: Callable[[int, list[float]], float], v: list[float] | None = None, enough: float = 1e-9
    ) -> list[float]:
        """V by iterating Bellman's equation from `v` until it converges."""
        v = [0.0] * len(self.table) if v is None else v
        while True:
            moved = 0.0
            for s in range(len(self.table) - 1, -1, -1):
                value = mean(s, self.action_values(s, v))
                moved = max(moved, abs(value - v[s]))
                v[s] = value
            if moved < enough:
                return v


MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def seen_as(seen: bool) -> Callable[[State], Hashable]:
    """The look of a state: the whole state, or else only its first part."""
    return (lambda state: state) if seen else (lambda state: state[0])  # type: ignore[index]


def grid(name: str, about: str, rows: list[str], slip: float = 0.0, *, see_key: bool = True, **more: bool) -> Problem:
    """S start, G goal, X hole, # wall, k key (taken by `take`), D door that needs it."""
    places = {(i, j): c for i, row in enumerate(rows) for j, c in enumerate(row)}
    start = next(place for place, c in places.items() if c == "S")
    actions = [*MOVES, "take"] if "k" in places.values() else [*MOVES]

    def arrive(place: tuple[int, int], move: str, has_key: bool) -> Outcome:
        to = (place[0] + MOVES[move][0], place[1] + MOVES[move][1])
        what = places.get(to, "#")
        if what == "#" or (what == "D" and not has_key):
            to = place
        elif what in "GX":
            return (1.0, None, float(what == "G"))
        return (1.0, (to, has_key), 0.0)

    def choices(state: tuple[tuple[int, int], bool]) -> dict[str, list[Outcome]]:
        place, has_key = state
        result: dict[str, list[Outcome]] = {}
        for action in actions:
            if action == "take":
                result[action] = [(1.0, (place, has_key or places[place] == "k"), 0.0)]
                continue
            _, to, reward = arrive(place, action, has_key)
            result[action] = [(1 - slip, to, reward)]
            for other in MOVES if slip > 0 else ():
                _, to, reward = arrive(place, other, has_key)
                result[action].append((slip / len(MOVES), to, reward))
        return result

    return Problem(name, about, (start, False), choices, seen_as(see_key), hides=not see_key, **more)


def rooms(name: str, about: str, *, seen: bool, details: int = 1) -> Problem:
    """Five rooms in a row: take the key in the first, open the chest in the last, and leave."""

    def choices(state: tuple[int, bool, bool]) -> dict[str, list[Outcome]]:
        room, key, opened = state
        return {
            "left": [(1.0, (max(room - 1, 0), key, opened), 0.0)],
            "right": [(1.0, (min(room + 1, 4), key, opened), 0.0)],
            "take": [(1.0, (room, key or room == 0, opened), 0.0)],
            "open": [(1.0, (room, key, opened or (room == 4 and key)), 0.0)],
            "leave": [(1.0, None, float(opened)) if room == 4 else (1.0, state, 0.0)],
        }

    return Problem(name, about, (2, False, False), choices, seen_as(seen), hides=not seen, details=details)


def stages(name: str, about: str, n: int, *, seen: bool, actions: int = 3) -> Problem:
    """One action of each stage is right; after a wrong one there is no reward."""

    def choices(state: tuple[int, bool]) -> dict[str, list[Outcome]]:
        stage, fine = state
        return {
            str(a): [(1.0, None, float(good)) if stage == n - 1 else (1.0, (stage + 1, good), 0.0)]
            for a in range(actions)
            for good in [fine and a == stage % actions]
        }

    return Problem(name, about, (0, True), choices, seen_as(seen), hides=not seen)


def traps(name: str, about: str, *, seen: bool) -> Problem:
    """Eight places in a row; some short cuts are traps, which show only at the end."""

    def choices(state: tuple[int, bool]) -> dict[str, list[Outcome]]:
        place, caught = state
        end = (1.0, None, float(not caught))
        return {
            "walk": [end if place == 7 else (1.0, (place + 1, caught), 0.0)],
            "jump": [end if place >= 6 else (1.0, (place + 2, caught or place % 3 == 1), 0.0)],
            "rest": [(1.0, state, 0.0)],
            "back": [(1.0, (max(place - 1, 0), caught), 0.0)],
        }

    return Problem(name, about, (0, False), choices, seen_as(seen), hides=not seen)


def houses(name: str, about: str, *, seen: bool) -> Problem:
    """Four houses round a square, something to fetch in two of them, in any order; then home."""

    def choices(state: tuple[int, frozenset[int]]) -> dict[str, list[Outcome]]:
        at, got = state
        if at < 0:
            result: dict[str, list[Outcome]] = {f"go {h}": [(1.0, (h, got), 0.0)] for h in range(4)}
            result["home"] = [(1.0, None, float(len(got) == 2))]
            return result
        return {
            "fetch": [(1.0, (at, got | ({at} & {1, 3})), 0.0)],
            "look": [(1.0, state, 0.0)],
            "out": [(1.0, (-1, got), 0.0)],
        }

    return Problem(name, about, (-1, frozenset()), choices, seen_as(seen), hides=not seen)


def retries() -> Problem:
    """Four stages; a tool whose failures are harmless, and a faster one whose failure is the end."""

    def choices(stage: int) -> dict[str, list[Outcome]]:
        done: Outcome = (0.6, None, 1.0) if stage == 3 else (0.6, stage + 1, 0.0)
        fast: Outcome = (0.7, None, 1.0) if stage == 3 else (0.7, stage + 1, 0.0)
        return {
            "safe": [done, (0.4, stage, 0.0)],
            "fast": [fast, (0.3, None, 0.0)],
            "wait": [(1.0, stage, 0.0)],
            "back": [(1.0, max(stage - 1, 0), 0.0)],
        }

    return Problem("retry", "tools that fail: to be tried again, or not to be used", 0, choices)


def exits() -> Problem:
    """Eight places in a row: three steps to an exit on the left that pays .3, six to one on the right that pays 1."""

    def choices(place: int) -> dict[str, list[Outcome]]:
        left: Outcome = (1.0, None, 0.3) if place == 0 else (1.0, place - 1, 0.0)
        right: Outcome = (1.0, None, 1.0) if place == 7 else (1.0, place + 1, 0.0)
        return {"left": [left], "right": [right], "stay": [(1.0, place, 0.0)]}

    return Problem("exits", "a near exit that pays .3, a far one that pays 1", 2, choices)


def bifurcation(name: str, about: str, horizon: int, decisive: list[int], *, seen: bool) -> Problem:
    """Turns of three actions: in decisive turns one of them is right, in others the action does not matter."""

    def choices(state: tuple[int, bool]) -> dict[str, list[Outcome]]:
        turn, fine = state
        result: dict[str, list[Outcome]] = {}
        for a in range(3):
            good = fine and (turn not in decisive or a == turn % 3)
            result[str(a)] = [(1.0, None, float(good)) if turn == horizon - 1 else (1.0, (turn + 1, good), 0.0)]
        return result

    return Problem(name, about, (0, True), choices, seen_as(seen), hides=not seen)


KEY_MAP = ["S.k", ".#.", "..D", "##G"]
LAKE_MAP = ["S...", ".X..", "...X", "X..G"]

PROBLEMS: list[Problem] = [
    grid("key", "a key off the way to the door", KEY_MAP),
    rooms("rooms", "fetch the key, open the chest, leave", seen=True),
    houses("houses", "fetch from two of four houses, then home", seen=True),
    traps("traps", "short cuts of which some are traps", seen=True),
    stages("code", "a code of four, right or wrong at the end", 4, seen=True),
    retries(),
    grid("lake", "a lake with holes, and slippery", LAKE_MAP, slip=0.2, luck=True),
    exits(),
    bifurcation("bifurcation", "ten turns of which two decide", 10, [2, 6], seen=True),
    rooms("near-unique", "the rooms, every state in eight ways", seen=True, details=8),
    grid("key, unseen", "the key in the hand is not seen", KEY_MAP, see_key=False),
    rooms("rooms, unseen", "the room alone is seen", seen=False),
    houses("houses, unseen", "what was fetched is not seen", seen=False),
    traps("traps, unseen", "whether it was a trap is not seen", seen=False),
    stages("code, unseen", "what was entered is not seen", 4, seen=False),
    bifurcation("bifurcation, unseen", "the turn alone is seen", 10, [2, 6], seen=False),
]
