"""Settings with which rollouts are written and read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

# Names are those of PostgreSQL's catalog, whoever may create others.  The check of a foreign key is planned once, not
# for every step; Citus has no generic plans.
SETTINGS = {"search_path": "pg_catalog, pg_temp", "plan_cache_mode": "force_generic_plan", "jit": "off"}
# For connections of our own.  Long texts take less time by lz4; a setting that is not the default stays.
OF_PROGRAMS = SETTINGS | {"client_min_messages": "error", "default_toast_compression": "lz4"}
_CHANGE = """SELECT s.name, pg_catalog.current_setting(s.name), pg_catalog.set_config(s.name, s.value, {})
    FROM ROWS FROM (pg_catalog.unnest(%s::pg_catalog.text[]), pg_catalog.unnest(%s::pg_catalog.text[])) s(name, value)
    WHERE CASE s.name
        WHEN 'plan_cache_mode'::pg_catalog.text THEN pg_catalog.to_regclass('pg_catalog.pg_dist_partition') IS NULL
        WHEN 'default_toast_compression'::pg_catalog.text THEN EXISTS (SELECT FROM pg_catalog.pg_settings p
            WHERE p.name OPERATOR(pg_catalog.=) s.name AND p.source OPERATOR(pg_catalog.=) 'default'
            AND 'lz4' OPERATOR(pg_catalog.=) ANY (p.enumvals))
        ELSE true END"""


def change(
    connection: psycopg.Connection[Any], settings: Iterable[tuple[str, str]], is_local: bool
) -> list[tuple[str, str]]:
    """Until the end of the transaction (is_local) or of the session; what was set before."""
    names, values = zip(*settings, strict=True)
    rows = connection.execute(_CHANGE.format(is_local), (list(names), list(values)))
    return [(name, before) for name, before, _ in rows]
