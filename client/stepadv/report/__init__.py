"""stepadv report: what each step was worth, as pages that need no server and no network."""

from stepadv.report.command import DESCRIPTION, HELP, add_arguments, run

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]
