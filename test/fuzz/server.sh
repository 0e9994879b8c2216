#!/usr/bin/env bash
# The fuzz targets that run in a server of their own, built with assertions; see run.sh.
#   FUZZ_SECONDS=20 SEED=1 FUZZERS='types calls hostile queries upkeep'

. "$(dirname "$0")/../harness/cluster.sh"

counts=$top/build/fuzz/counts
seed=${SEED:-1}
seconds=${FUZZ_SECONDS:-20}
prepare check WERROR=1 ASSERTS=1
cp -r "$top/test/fuzz" "$work/fuzz"
cp "$top/test/sql/parallel_fold.sql" "$work/fuzz/"
make -s -C "$work/fuzz/server" PG_CONFIG="$pg_config" with_llvm=no >/dev/null
[ "$(id -u)" != 0 ] || chown -R "$test_user" "$work/fuzz"
start_cluster 'jit = off'
out=$work/fuzz/out

ask() { as_user psql -X -q -v ON_ERROR_STOP=1 "$@"; }

# A server process writes its current input to a file, which remains after a crash.
finding()
{
	mkdir -p "$top/build/fuzz"
	cp "$out" "$work/server.log" "$work"/data/fuzz_input.* "$top/build/fuzz/" 2>/dev/null || true
	tail -n 20 "$out" >&2
	echo "stepadv: $1 found something (seed $seed), see build/fuzz" >&2
	exit 1
}

# count TARGET INPUTS
count()
{
	echo "$2 inputs"
	echo "$1 $seed $2 $seconds" >>"$counts"
}

# in_functions TARGET N PATTERN: the N types or functions that match the pattern, each for 1/N of the time.
in_functions()
{
	local n=$2

	ask -v probe="$work/fuzz/server/probe.so" -v queries="$work/fuzz/queries.sql" -v only="$3" -v seed="$seed" \
		-v seconds="$(awk "BEGIN {print $seconds / $n}")" -f "$work/fuzz/server.sql" >"$out" 2>&1 || finding "$1"
	grep -E '^[0-9]+ inputs' "$out" | grep -q . || finding "$1"
	paste -d' ' - - <"$out"
	count "$1" "$(sed -n 's/^\([0-9]*\) inputs.*/\1/p' "$out" | awk '{n += $1} END {printf "%.0f", n}')"
}

# The calls of test/t/hostile.pl, by a role without privileges.
hostile()
{
	mkdir -p "$work/hostile"
	cp "$top/test/t/Hostile.pm" "$work/fuzz/"
	[ "$(id -u)" != 0 ] || chown -R "$test_user" "$work/hostile" "$work/fuzz"
	ask -c 'CREATE ROLE stranger LOGIN' -c 'CREATE TABLE public.secret (id bigint PRIMARY KEY, g text NOT NULL, r text, n integer, x float8); CREATE INDEX ON public.secret (g)' \
		-c "SELECT count(*) FROM stepadv.attach('public.secret'::regclass, '{g}'::text[], 'r', 'n', reward => 'x'); SELECT stepadv.maintain('public.secret'::regclass)" >"$out"
	as_user perl "$work/fuzz/hostile.pl" "$seconds" "$seed" "$work/hostile" >"$out" 2>&1 || finding hostile
	count hostile "$(sed -n 's/^\([0-9]*\) inputs.*/\1/p' "$out")"
}

queries()
{
	local end=$((SECONDS + seconds)) n=0 round=0

	while [ $SECONDS -lt $end ]; do
		# It raises errors on purpose.
		as_user psql -X -q -v random_queries=300 -v random_seed="$(awk "BEGIN {srand($seed + $round); print rand()}")" -f "$work/fuzz/parallel_fold.sql" >"$out" 2>&1 || true
		grep -qE '^ +300 \| +(t|f)? +\| +0 \|' "$out" || finding "queries, round $round"
		n=$((n + 300)) round=$((round + 1))
	done
	count queries "$n"
}

upkeep()
{
	local end=$((SECONDS + seconds)) n=0 round=0

	while [ $SECONDS -lt $end ]; do
		ask -v statements=200 -v seed="$(awk "BEGIN {srand($seed + $round); print rand()}")" -f "$work/fuzz/upkeep.sql" >"$out" 2>&1 || finding "upkeep, round $round"
		n=$((n + 200)) round=$((round + 1))
	done
	count upkeep "$n"
}

ask -c 'CREATE EXTENSION stepadv'
for fuzzer in ${FUZZERS:-types calls hostile queries upkeep}; do
	echo "== $fuzzer: $seconds seconds, seed $seed"
	case $fuzzer in
		types) in_functions types 6 '^stepadv\.' ;;
		calls) in_functions calls 42 '^[^.]*$' ;;
		hostile) hostile ;;
		queries) queries ;;
		upkeep) upkeep ;;
	esac
done
