#!/usr/bin/env bash
# The benchmark of the state graph alone, on a server of its own.
# PGROUTING=1 installs PostGIS and pgRouting first (Debian, root), to measure against.
# STEPS_C, STEPS_D make the larger parts smaller.

here=$(dirname "$0")
. "$here/../harness/cluster.sh"

if [ -n "${PGROUTING:-}" ]; then
	major=$("$pg_config" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "postgresql-$major-pgrouting" >/dev/null
fi
prepare bench
start_cluster "shared_buffers = '2GB'" "max_wal_size = '8GB'" "autovacuum = off"
"$bindir/psql" -qX -c 'CREATE EXTENSION stepadv'
"$bindir/psql" -qX ${STEPS_C:+-v steps_c=$STEPS_C} ${STEPS_D:+-v steps_d=$STEPS_D} -f "$top/test/bench/graph.sql"
