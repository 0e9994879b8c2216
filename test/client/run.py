#!/usr/bin/python3
"""Runs tests of the client with TAP output: run.py [NAME...] (of test_NAME.py)."""

import sys
import traceback
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


class Tap(unittest.TestResult):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def say(self, verdict: str, test: unittest.TestCase, more: str = "") -> None:
        self.n += 1
        words = (test.shortDescription() or test.id()).replace("#", "")
        print(f"{verdict} {self.n} - {type(test).__module__.removeprefix('test_')}: {words}{more}", flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.say("ok", test)

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        super().addFailure(test, err)
        self.say("not ok", test)
        print("\n".join("# " + line for line in self.failures[-1][1].splitlines()), flush=True)

    def addError(self, test: unittest.TestCase, err: object) -> None:
        super().addError(test, err)
        self.say("not ok", test)
        print("\n".join("# " + line for line in self.errors[-1][1].splitlines()), flush=True)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: object) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.say("not ok", test, f" {subtest._message}")
            print("\n".join("# " + line for line in "".join(traceback.format_exception(*err)).splitlines()), flush=True)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.say("ok", test, f" # SKIP {reason}")


def main(names: list[str]) -> int:
    suite = unittest.TestSuite()
    for path in sorted(HERE.glob("test_*.py")):
        if not names or path.stem.removeprefix("test_") in names:
            suite.addTests(unittest.defaultTestLoader.loadTestsFromName(path.stem))
    result = Tap()
    suite.run(result)
    print(f"1..{result.n}")
    return not result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
