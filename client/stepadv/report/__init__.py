"""stepadv report: static pages that show the advantage of each step."""

from stepadv.report.command import DESCRIPTION, HELP, add_arguments, run

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]
