#!/usr/bin/env bash
# The latency of a cancel: for every C function over large input, the longest processor
# time between two checks for interrupts (server/gaps.c).
#   STEPS=5000000     size of groups; TEXT=2000000: size of texts and arrays, in some ten bytes
#   LIMIT=100         ms; for longer delays, the functions in which they occurred are shown
#   ONLY='hgpo|gae'   a regular expression that selects calls
#   SECONDS_EACH=20   processor time after which a call is cut off
#   CANCELS=3         also cancel each call so often, at random times, and report the delay
# All times are processor time, so that the machine may do other things.

. "$(dirname "$0")/../harness/cluster.sh"

limit=${LIMIT:-100}
prepare interrupts WERROR=1
cp -r "$top/test/fuzz" "$work/fuzz"
make -s -C "$work/fuzz/server" PG_CONFIG="$pg_config" with_llvm=no >/dev/null
[ "$(id -u)" != 0 ] || chown -R "$test_user" "$work/fuzz"
start_cluster 'jit = off' 'shared_buffers = 512MB' 'max_wal_size = 8GB' 'checkpoint_timeout = 1h'
library=$(find "$stage" "$bindir/.." -name stepadv.so 2>/dev/null | head -n 1)
ask() { as_user psql -X -q -At "$@"; }

ask -c 'CREATE EXTENSION stepadv'
ask -v ON_ERROR_STOP=1 -v probe="$work/fuzz/server/probe.so" -v steps="${STEPS:-5000000}" -f "$work/fuzz/interrupts.sql"

# One session, since it holds the values.
session="SET search_path = fuzz, stepadv, pg_catalog; SET max_parallel_workers_per_gather = 0; SET work_mem = '1GB'; SET client_min_messages = error;"
{
	echo "$session"
	ask -v text="${TEXT:-2000000}" -c "SELECT format(E'\\\\echo ## hold %s\nSELECT hold(%L, %s);', name, name, replace(made, ':steps', '${TEXT:-2000000}')) FROM fuzz.held_values ORDER BY ctid"
	ask -c "SELECT format(E'\\\\echo ## %s\nSELECT gaps_begin($limit, ${SECONDS_EACH:-20}000); %s; SELECT ''gap '' || gaps_end();', replace(what, '''', ''), query) FROM fuzz.asked WHERE what ~ '${ONLY:-.}' ORDER BY id"
	for i in $(seq 1 "${CANCELS:-0}"); do
		ask -c "SELECT format(E'\\\\echo ## %s, cancelled\nSELECT cancel_after(%s); %s; SELECT ''late '' || cancelled_late();', replace(what, '''', ''), (3e6 * random() ^ 2)::int + 1000, query) FROM fuzz.asked WHERE what ~ '${ONLY:-.}' ORDER BY id"
	done
} >"$work/fuzz/asked.sql"
as_user psql -X -q -At -f "$work/fuzz/asked.sql" >"$work/fuzz/said" 2>&1 || true
mkdir -p "$top/build/fuzz"
cp "$work/fuzz/said" "$top/build/fuzz/interrupts.said"

perl "$top/test/fuzz/gaps.pl" "$library" "$limit" <"$work/fuzz/said"
