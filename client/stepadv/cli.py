"""The program stepadv.  A command is a module: HELP, DESCRIPTION, add_arguments, and run, which returns the status."""

import argparse
import importlib
import os
import signal
import sys
from typing import Any, NoReturn

from stepadv import __version__
from stepadv.text import Failed, complain, perhaps, safe

COMMANDS = {
    "import": "stepadv.importing.command",
    "export": "stepadv.export.command",
    "report": "stepadv.report.command",
    "check": "stepadv.check",
}
PURPOSE = "Imports rollouts of agents, exports steps for trainers, and reports the advantages of steps."


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """The message may contain the name of a file, which may contain control characters."""
        super().error(safe(message))


def make_parser(wanted: str | None) -> argparse.ArgumentParser:
    """Loads only the module of the wanted command; None: those of all commands, for the help text."""
    from stepadv import database

    parser = Parser(prog="stepadv", description=PURPOSE)
    parser.add_argument("--version", action="version", version=f"stepadv {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS if wanted is None else [wanted]:
        module = importlib.import_module(COMMANDS[name])
        text: Any = {"help": module.HELP, "description": module.DESCRIPTION, "epilog": getattr(module, "EPILOG", None)}
        text["formatter_class"] = argparse.RawDescriptionHelpFormatter
        command = commands.add_parser(name, **text, add_help=False, allow_abbrev=False)
        command.add_argument("-?", "--help", action="help", help="show this text")
        database.add_arguments(command)
        module.add_arguments(command)
        command.set_defaults(run=module.run, parser=command)
    return parser


def interrupt(number: int, frame: Any) -> NoReturn:
    """On KeyboardInterrupt, psycopg cancels the query on the server and rolls the transaction back."""
    raise KeyboardInterrupt(number)


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]
    try:
        import psycopg
    except ImportError:
        hint = "apt-get install python3-psycopg (for /usr/bin/python3), or pip install 'psycopg>=3.1'"
        complain(f"stepadv: {sys.executable} has no psycopg 3: {hint}")
        return 2
    from stepadv.database import words_of

    name = arguments[0] if arguments and arguments[0] in COMMANDS else None
    status = 2
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, interrupt)
        options, unknown = make_parser(name).parse_known_args(arguments)
        if wrong := next((word for word in unknown if word[:1] == "-" or not hasattr(options, "names")), None):
            similar = perhaps(wrong, options.parser._option_string_actions)
            options.parser.error(f"unrecognized arguments: {wrong}{similar}")
        # File names that follow options are among the unknown arguments.
        vars(options).get("names", []).extend(unknown)
        return int(options.run(options))
    except KeyboardInterrupt as interrupted:
        return 128 + int(interrupted.args[0])
    except BrokenPipeError:
        # The reader of our output has exited.  Keep Python from failing again when it flushes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Failed as failure:
        words, status = str(failure), failure.status
    except psycopg.Error as error:
        words = words_of(error)
    except OSError as error:
        words = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    complain(f"stepadv {name or ''}".rstrip() + f": {words}")
    return status
