#!/usr/bin/env bash
# How well methods assign credit if the truth is known, on a server of its own,
# without root privileges:
#
#	make credit					everything, some minutes; writes docs/results/credit.md and its picture
#	CREDIT_GROUPS=20 make credit	a quick run, which writes nothing unless CREDIT_WRITE=1
#	CREDIT_SEED=2 CREDIT_JOBS=1		other rollouts; problems one after the other
#
# docs/results/resampling.md shows the same methods with smaller groups and other draws.
#
# Problems are rows in problems.sql, methods rows in methods.sql.  The numbers are
# the same on every machine.

here=$(cd "$(dirname "$0")" && pwd)
sh "$here/../harness/deps.sh" build
. "$here/../harness/cluster.sh"
. "$here/../bench/lib.sh"
. "$here/lib.sh"

settings 120
start_credit
# The truth for the discounts of all methods.
query 'SELECT credit.prepare((SELECT array_agg(DISTINCT gamma) FROM (SELECT gamma FROM credit.methods WHERE gamma IS NOT NULL UNION SELECT 1) g))' >/dev/null
mistakes=$(query 'SELECT * FROM credit.mistakes')
[ -z "$mistakes" ] || { echo "problems.sql: $mistakes" >&2; exit 1; }

# Problem by problem, $jobs at a time; then, with a tenth of the groups, scores of the
# methods without the truth.
tasks()
{
	query "SELECT format('SELECT credit.run_resampling(%L, %s, %s)', problem, greatest($groups / 6, 2), $seed) FROM credit.problems ORDER BY problem"
	query "SELECT format('SELECT credit.run(%L, %L, %s, %s, %s)', problem, states, size, greatest($groups / part, 2), $seed)
		FROM (VALUES ('exact', 64, 4), ('exact', 32, 2), ('exact', 16, 1), ('hidden', 16, 1), ('finer', 16, 1),
			('exact', 8, 1), ('hidden', 8, 1), ('finer', 8, 1), ('exact', 4, 1)) v(states, size, part), credit.problems
		ORDER BY part DESC, size DESC, states, problem"
	query "SELECT format('SELECT credit.check(%L, %L, 8, %s, %s)', problem, states, greatest($groups / 10, 2), $seed)
		FROM (VALUES ('exact')) v(states), credit.problems ORDER BY states, problem"
}
echo "== $(query 'SELECT count(*) FROM credit.problems') problems, $(query 'SELECT count(*) FROM credit.methods') methods, $groups groups"
tasks | in_parallel

# PAGE PART…: writes tables to the page, or prints them.
write_parts()
{
	local page=$1 part

	report=$top/docs/$page
	[ "$write" = 1 ] || { report=$work/${page##*/}; : >"$report"; }
	shift
	for part; do
		begin_section
		query "SELECT line FROM credit.$part ORDER BY n" >"$region"
		write_region "credit_$part"
	done
}
write_parts results/credit.md by_name by_size by_problem by_states by_error by_visits by_visits_range by_cells by_confidence by_check
write_parts results/resampling.md by_drawn_size by_feedback by_stability
[ "$write" != 1 ] || { query 'SELECT line FROM credit.plot' >"$top/docs/results/credit.svg"; echo 'written to docs/results/credit.md, docs/results/credit.svg and docs/results/resampling.md'; }
