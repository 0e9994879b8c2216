# Shell functions for benchmark sections; sourced by run.sh.
#
#	measure NAME RUNS SQL [SETTINGS]	time a statement, after a run that is not timed: sets
#							times_min[NAME], times_median[NAME] (ms) and results[NAME]
#	faster A B				the name of the one with the smaller median
#	row LABEL NAME [REMARK]	a row of the table for measurement NAME
#	ratio A B [DECIMALS]	quotient of the medians of two measurements
#	net NAME A B			measurement NAME: the time of A less that of B
#	quotient A B			of the minima, as in each, gb_s and exponent: to compare
#							code; ratio compares what a user waits for
#	each NAME COUNT			nanoseconds per item; gb_s NAME BYTES
#	per_second NAME COUNT	by the median
#	exponent A NA B NB		of the growth from NA to NB items: 1 is linear
#	compile PROGRAM [FLAGS]	from PROGRAM.c, with the flags of the extension
#	measure_duckdb RUNS RESULT FILES TABLES	statements in DuckDB
#	measure_program NAME COMMAND	COMMAND prints a result, then milliseconds
#	verdict VALUE OP LIMIT	"(goal: at most 6, met)" for a remark; OP is <= or >=
#	heading TEXT			a new table under a line of text
#	say TEXT				a paragraph
#
# All times are milliseconds as psql's \timing sees them, over a local socket.

# Settings for speed.
tuned="SET jit = off; SET work_mem = '1GB'; SET hash_mem_multiplier = 2;"
one_process="$tuned SET max_parallel_workers_per_gather = 0;"
two_processes="$tuned SET max_parallel_workers_per_gather = 1; SET min_parallel_table_scan_size = 0;"

declare -A times_min times_median results

# Makes the table steps by the simulator, in the order in which a trainer writes:
# rollout after rollout.
load_steps()
{
	echo "== loading $groups groups of 8 rollouts"
	(cd "$tree" && psql -qX -v ON_ERROR_STOP=1 -v groups="$groups" >/dev/null) <<-'SQL' || exit 2
		CREATE EXTENSION stepadv;
		SET jit = off;
		\i test/sim/simulator.sql
		SET client_min_messages = warning;
		SELECT sim.steps_table('raw', :groups);
		SET work_mem = '1GB';
		CREATE UNLOGGED TABLE steps AS SELECT * FROM raw ORDER BY group_id, rollout_id, step_no;
		DROP TABLE raw;
		VACUUM ANALYZE steps;
	SQL
	n_steps=$(query "SELECT count(*) FROM steps")
}

# Restarts the server, optionally with settings on its command line.
restart_server()
{
	as_user "$bindir/pg_ctl" -D "$work/data" -m fast -w stop >/dev/null
	as_user "$bindir/pg_ctl" -D "$work/data" -l "$work/server.log" -o "${1:-}" -w start >/dev/null
}

query() { psql -qXAt -v ON_ERROR_STOP=1 "${@:2}" -c "$1"; }

# Numbers on standard input -> "min median"
min_median()
{
	sort -n | awk '{ x[NR] = $1 }
		END { if (!NR) exit 1
			printf "%s %s\n", x[1], NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'
}

store()
{
	local min median

	read -r min median <<<"$2"
	times_min[$1]=$min
	times_median[$1]=$median
	printf '   %-28s min %10.3f  median %10.3f ms\n' "$1" "${times_min[$1]}" "${times_median[$1]}" >&2
}

measure()
{
	local name=$1 n=$2 sql=$3 settings=${4:-} i out

	out=$work/measure.out
	{
		printf '%s\n' "$settings" "$sql;" '\timing on'
		for ((i = 0; i < n; i++)); do printf '%s;\n' "$sql"; done
	} >"$work/measure.sql"
	psql -qXAt -v ON_ERROR_STOP=1 -f "$work/measure.sql" >"$out" || { cat "$out" >&2; exit 2; }
	results[$name]=$(sed -n 1p "$out")
	store "$name" "$(sed -nE 's/^Time: ([0-9.]+) ms.*/\1/p' "$out" | min_median)"
}

# Latencies of the transactions of a pgbench script, run by one client for SECONDS.
measure_latency()
{
	local name=$1 seconds=$2 script=$3

	printf '%s\n' "$script" >"$work/latency.sql"
	rm -f "$work"/latency.log.*
	(cd "$work" && PGOPTIONS="-c jit=off" "$bindir/pgbench" -n -c 1 -T "$seconds" -M "${4:-simple}" -l \
		--log-prefix=latency.log -f latency.sql >latency.out 2>&1) || { cat "$work/latency.out" >&2; exit 2; }
	store "$name" "$(awk 'NR > 20 { print $3 / 1000 }' "$work"/latency.log.* | min_median)"
}

# Builds a program for a comparison, with the flags of the extension, from a file in a section's folder.
compile()
{
	${CC:-cc} $("$pg_config" --cflags) -std=gnu11 -I"$top/src" -o "$tree/$(basename "$1")" "$here/$1.c" "${@:2}" -lm || exit 2
}

measure_program()
{
	local name=$1
	shift

	"$tree/$1" "${@:2}" >"$work/program.out" || exit 2
	results[$name]=$(sed -n 1p "$work/program.out")
	store "$name" "$(sed 1d "$work/program.out" | min_median)"
}

# Fetches DuckDB if necessary; if that fails, says so in the report and returns false.
find_duckdb()
{
	duckdb=$top/build/bench/duckdb
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		echo "   DuckDB's rows are left out: they need node and npm (apt-get install nodejs npm), which fetch @duckdb/node-api into build/bench"
		say "DuckDB was not measured: no node or npm on this machine."
		return 1
	fi
	mkdir -p "$duckdb"
	cp "$here/package.json" "$duckdb/"
	if [ ! -d "$duckdb/node_modules/@duckdb/node-api" ] &&
		! (cd "$duckdb" && npm install --no-audit --no-fund --loglevel=error >"$work/npm.log" 2>&1); then
		cat "$work/npm.log"
		echo "   DuckDB's rows are left out: npm could not fetch @duckdb/node-api (needs the network once)"
		say "DuckDB was not measured: its package could not be fetched."
		return 1
	fi
}

# measure_duckdb RUNS RESULT 'STATEMENT.sql …' NAME=SETUP …: times each statement over the tables that SETUP makes from
# CSV files in $work, with one thread and with two, as STATEMENT_NAME_THREADS; false if the run fails.
measure_duckdb()
{
	local table name threads result times

	DUCKDB_NODE=$duckdb node "$here/duckdb.mjs" "$1" "${@:3}" >"$work/duckdb.out" || {
		echo "   DuckDB's rows are left out: the run failed"
		say "DuckDB was not measured: its run failed."
		rm -f "$work"/*.csv
		return 1
	}
	rm -f "$work"/*.csv
	while read -r table name threads result times; do
		if [ "$table" = version ]; then
			duckdb_version=$name
			continue
		fi
		require_equal "$2" "$result" "DuckDB, $name, $table"
		store "${name}_${table}_$threads" "$(tr ' ' '\n' <<<"$times" | min_median)"
	done <"$work/duckdb.out"
}

# The difference of the minima, which noise disturbs least; always positive.
net()
{
	local difference

	difference=$(awk -v a="${times_min[$2]}" -v b="${times_min[$3]}" 'BEGIN { print (a > b ? a - b : 0.001) }')
	store "$1" "$difference $difference"
}

each() { awk -v a="${times_min[$1]}" -v n="$2" 'BEGIN { x = a * 1e6 / n; printf x < 10 ? "%.1f" : "%.0f", x }'; }

per_second() { awk -v a="${times_median[$1]}" -v n="$2" 'BEGIN { printf "%d", n / a * 1000 }'; }

gb_s() { awk -v ms="${times_min[$1]}" -v bytes="$2" 'BEGIN { printf "%.1f GB/s", bytes / ms / 1e6 }'; }

quotient() { awk -v a="${times_min[$1]}" -v b="${times_min[$2]}" 'BEGIN { printf "%.2f", a / b }'; }

exponent()
{
	awk -v a="${times_min[$1]}" -v n="$2" -v b="${times_min[$3]}" -v m="$4" 'BEGIN { printf "%.2f", log(b / a) / log(m / n) }'
}

ratio() { awk -v a="${times_median[$1]}" -v b="${times_median[$2]}" -v decimals="${3:-1}" 'BEGIN { printf "%.*f", decimals, a / b }'; }

faster() { awk -v a="${times_median[$1]}" -v b="${times_median[$2]}" -v x="$1" -v y="$2" 'BEGIN { print b < a ? y : x }'; }

verdict()
{
	awk -v value="$1" -v op="$2" -v limit="$3" 'BEGIN {
		# A value that is not a number misses the goal.
		met = value ~ /^-?[.]?[0-9]/ && (op == "<=" ? value <= limit : value >= limit)
		printf "(goal: %s %s, %s)", op == "<=" ? "at most" : "at least", limit, met ? "met" : "MISSED" }'
}

# Both sides of a comparison must have the same result.
require_equal()
{
	awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; if (d < 0) d = -d; s = a < 0 ? -a : a; exit !(d <= 1e-9 * (s > 1 ? s : 1)) }' ||
		{ echo "results differ: $1 and $2 ($3)" >&2; exit 2; }
}

# The main nodes of a plan, innermost last, with their use of disk:
# "GroupAggregate; Sort (309 MB on disk); Seq Scan"
plan_of()
{
	psql -qXAt -v ON_ERROR_STOP=1 -c "$2" -c "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $1" | awk '
		/Worker [0-9]+:|Function Scan/ { next }
		{ sub(/Custom Scan \(GroupFold\)/, "Custom GroupFold") }
		/^ *(-> +)?[A-Z][A-Za-z ]*(Aggregate|GroupFold|Sort|Scan|Gather|Gather Merge|Append)( using [a-z_]+)?( on [a-z_0-9]+)?( [a-z_0-9]+)? +\(actual/ {
			node = $0
			sub(/ *\(actual.*/, "", node); sub(/^ *(-> +)?(Custom )?/, "", node); sub(/( using .*| on .*)$/, "", node)
			if (node != "Aggregate" && !(node in seen)) { n++; nodes[n] = node }
			seen[node] = 1
		}
		match($0, /Disk( Usage)?: [0-9]+ ?kB/) {
			size = substr($0, RSTART, RLENGTH); gsub(/[^0-9]/, "", size)
			nodes[n] = nodes[n] sprintf(" (%d MB on disk)", size / 1024)
		}
		END { for (i = 1; i <= n; i++) printf "%s%s", (i > 1 ? "; " : ""), nodes[i] }'
}

# ----------
# The report
# ----------

begin_section() { region=$work/region.md; : >"$region"; table_open=; }

say()
{
	[ -z "$table_open" ] || echo >>"$region"
	printf '%s\n\n' "$*" >>"$region"
	table_open=
}

heading()
{
	[ -z "$table_open" ] || echo >>"$region"
	printf '%s\n\n| what | min ms | median ms | |\n| --- | ---: | ---: | --- |\n' "$*" >>"$region"
	table_open=yes
}

row()
{
	[ -n "$table_open" ] || { printf '| what | min ms | median ms | |\n| --- | ---: | ---: | --- |\n' >>"$region"; table_open=yes; }
	awk -v label="$1" -v a="${times_min[$2]}" -v b="${times_median[$2]}" -v remark="${3:-}" '
		function f(x) { return x >= 100 ? sprintf("%d", x + 0.5) : x >= 10 ? sprintf("%.1f", x) : sprintf("%.2f", x) }
		BEGIN { printf "| %s | %s | %s | %s |\n", label, f(a), f(b), remark }' >>"$region"
}

machine_line()
{
	printf '%s, %s cores (%s), %s; %s steps in %s groups of 8 rollouts, warm; shared_buffers %s; load of the machine before: %s.' \
		"$(query 'SHOW server_version' | sed 's/^/PostgreSQL /')" "$(nproc)" \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)" "$(uname -sm)" \
		"$n_steps" "$groups" "$(query 'SHOW shared_buffers')" "$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)"
}

# SECTION.sql: set-up, then statements under "-- bench: LABEL" lines.
run_sql_section()
{
	local label i=0

	rm -f "$work"/part.*
	awk -v base="$work/part" 'BEGIN { n = 0; file = base ".0" }
		/^-- bench: / { n++; file = base "." n; print substr($0, 11) >(file ".label"); next }
		{ print >file }' "$1"
	[ ! -s "$work/part.0" ] || psql -qX -v ON_ERROR_STOP=1 -f "$work/part.0" >/dev/null || exit 2
	say "$(machine_line)"
	while i=$((i + 1)) && [ -e "$work/part.$i.label" ]; do
		label=$(cat "$work/part.$i.label")
		measure "$label" "$runs" "$(sed -E '/^ *--/d' "$work/part.$i" | sed -E '$!b; s/; *$//')" "$one_process"
		row "$label" "$label"
	done
}

# Prints the section's tables, and replaces its region of the page, if there is one.
write_region()
{
	local begin="<!-- bench:begin $1 -->" end="<!-- bench:end $1 -->"

	cat "$region"
	grep -qF -- "$begin" "$report" || return 0
	# performance.md has only rows with a goal and bare scans; other pages have all lines.
	awk -v begin="$begin" -v end="$end" -v region="$region" -v all="$([ "${report##*/}" = performance.md ] || echo 1)" '
		function wanted(line) { return all || line !~ /^\|/ || line ~ /^\| (what|---|bare scan)|goal:/ }
		$0 == begin { print; print ""; while ((getline line <region) > 0) if (wanted(line)) print line; if (line != "") print ""; skipping = 1; next }
		$0 == end { skipping = 0 }
		!skipping' "$report" >"$work/performance.md"
	cat "$work/performance.md" >"$report"
}
