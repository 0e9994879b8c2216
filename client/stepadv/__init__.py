"""stepadv, the client: imports runs of agents into PostgreSQL tables, exports steps for trainers."""

from stepadv.trainer import Batch, advantages, insert, per_token

__version__ = "1.0.0-dev"
__all__ = ["Batch", "advantages", "insert", "per_token"]
