#!/usr/bin/env bash
# The benchmark, on a server of its own, without root privileges:
#
#	make bench						every section
#	BENCH='core graph' make bench	some sections
#	BENCH_RUNS=9 BENCH_GROUPS=4000	more runs; less data
#	BENCH_UPKEEP_GROUPS=80000	number of maintained groups (default: at most 8000)
#
# A section is a file in this directory, SECTION.sh or SECTION.sql, and prints tables.
# Rows with a goal replace the text in docs/results/performance.md between
# <!-- bench:begin SECTION --> and <!-- bench:end SECTION -->, if it has these lines.
#
# SECTION.sql: the part before the first "-- bench: LABEL" line is set-up; each
# such line starts a statement to be timed.
# SECTION.sh is sourced, and can use the shell functions of lib.sh.
# The simulator (schema sim) and the table `steps` are loaded before: see load_steps.

here=$(cd "$(dirname "$0")" && pwd)
sh "$here/../harness/deps.sh" build
. "$here/../harness/cluster.sh"
. "$here/lib.sh"

runs=${BENCH_RUNS:-5}
groups=${BENCH_GROUPS:-40000}
report=$top/docs/results/performance.md

all_sections() { find "$here" -maxdepth 1 -name '*.s[hq]*' | sed -E 's/.*\///; s/\.(sh|sql)$//; /^(run|lib)$/d' | LC_ALL=C sort -u; }
sections=${BENCH:-$(all_sections)}
for section in $sections; do
	[ -e "$here/$section.sh" ] || [ -e "$here/$section.sql" ] ||
		{ echo "no such section: $section (there are: $(all_sections | tr '\n' ' '))" >&2; exit 1; }
done

prepare bench
# fsync is off (start_cluster), tables are unlogged: reading is measured, not writing.
start_cluster 'shared_buffers = 2GB' 'max_wal_size = 8GB' 'autovacuum = off' 'max_parallel_workers = 8'
load_steps

for section in $sections; do
	echo "== $section"
	begin_section
	# Discards settings and caches of the previous section.
	restart_server
	if [ -e "$here/$section.sh" ]; then
		. "$here/$section.sh"
	else
		run_sql_section "$here/$section.sql"
	fi
	# A section that measured nothing leaves the page unchanged.
	[ ! -s "$region" ] || write_region "$section"
done
echo "docs/results/performance.md has the rows with a goal"
