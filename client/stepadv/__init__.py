"""The stepadv client: imports rollouts of agents into PostgreSQL, exports steps for trainers, makes reports."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepadv.trainer import Batch, advantages, insert, per_token

__version__ = "1.0.0-dev"
__all__ = ["Batch", "advantages", "insert", "per_token"]


def __getattr__(name: str) -> Any:
    """Imports the functions for training loops when they are first used: the program does not need them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stepadv import trainer

    return getattr(trainer, name)
