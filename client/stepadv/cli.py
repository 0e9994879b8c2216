"""The program stepadv: each command is a module with HELP, add_arguments(parser) and run(connection, options).

One that sets CONNECTS to False makes connections of its own: run(options).
"""

import argparse
import importlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import NoReturn

from stepadv import __version__
from stepadv.text import Failed, complain, safe

COMMANDS = {
    "import": "stepadv.importing.command",
    "export": "stepadv.export.command",
    "report": "stepadv.report.command",
    "check": "stepadv.check",
}
PURPOSE = "Imports rollouts of agents, exports steps for trainers, and reports the advantages of steps."


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """The message may have the name of a file."""
        super().error(safe(message))


def make_parser(wanted: str | None) -> argparse.ArgumentParser:
    """Only the command that is wanted is loaded."""
    from stepadv import database

    parser = Parser(prog="stepadv", description=PURPOSE)
    parser.add_argument("--version", action="version", version=f"stepadv {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS if wanted is None else [wanted]:
        module = importlib.import_module(COMMANDS[name])
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=getattr(module, "DESCRIPTION", None),
            epilog=getattr(module, "EPILOG", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=False,
            allow_abbrev=False,
        )
        command.add_argument("-?", "--help", action="help", help="show this text")
        database.add_arguments(command)
        module.add_arguments(command)
        command.set_defaults(module=module)
    return parser


def run(module: ModuleType, options: argparse.Namespace) -> int:
    from stepadv import database

    if not getattr(module, "CONNECTS", True):
        return module.run(options)
    connection = database.connect(database.parameters(options), f"stepadv {options.command}")
    try:
        database.check_version(connection)
        return module.run(connection, options) or 0
    finally:
        database.close(connection)


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    if importlib.util.find_spec("psycopg") is None:
        hint = "apt-get install python3-psycopg (for /usr/bin/python3), or pip install 'psycopg>=3.1'"
        complain(f"stepadv: {sys.executable} has no psycopg 3: {hint}")
        return 2
    name = arguments[0] if arguments and arguments[0] in COMMANDS else None
    try:
        options = make_parser(name).parse_args(arguments)
        return run(options.module, options)
    except Failed as failure:
        complain(f"stepadv {name or ''}".rstrip() + f": {failure}")
        return failure.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read has gone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
