"""stepadv, the client: imports runs of agents into PostgreSQL tables, exports steps for trainers."""

__version__ = "0.3.0"
