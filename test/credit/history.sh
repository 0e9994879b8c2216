#!/usr/bin/env bash
# The use of a history after the policy has changed, on a server of its own: the table of
# "Across groups" in docs/results/credit.md.
#
#	make credit-history
#	CREDIT_GROUPS=10 make credit-history	a quick run, which writes nothing

here=$(cd "$(dirname "$0")" && pwd)
sh "$here/../harness/deps.sh" build
. "$here/../harness/cluster.sh"
. "$here/../bench/lib.sh"
. "$here/lib.sh"

settings 60
start_credit
(cd "$tree" && psql -qX -v ON_ERROR_STOP=1 -f test/credit/history.sql -c 'SELECT credit.prepare_history()' >/dev/null) || exit 2
query "SELECT format('SELECT credit.run_history(%L, %L, 8, $groups, $seed)', regexp_replace(problem, ' @ 0\$', ''), drift)
	FROM credit.problems, credit.drifts WHERE problem LIKE '% @ 0' ORDER BY problem, drift" | in_parallel

report=$top/docs/results/credit.md
[ "$write" = 1 ] || { report=$work/credit.md; : >"$report"; }
begin_section
query 'SELECT line FROM credit.by_history ORDER BY n' >"$region"
write_region credit_history
