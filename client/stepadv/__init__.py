"""stepadv, the client: imports runs of agents into PostgreSQL tables, exports steps for trainers."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepadv.trainer import Batch, advantages, insert, per_token

__version__ = "1.0.0-dev"
__all__ = ["Batch", "advantages", "insert", "per_token"]


def __getattr__(name: str) -> Any:
    """What is for training loops is loaded when it is used: the program does without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stepadv import trainer

    return getattr(trainer, name)
