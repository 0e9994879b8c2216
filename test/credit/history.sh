#!/usr/bin/env bash
# What a history is worth when the policy has moved since, on a server of its own: the
# table of "Across groups" in docs/credit.md.
#
#	make credit-history
#	CREDIT_GROUPS=10 make credit-history	a quick one, nothing written

here=$(cd "$(dirname "$0")" && pwd)
sh "$here/../harness/deps.sh" build
. "$here/../harness/cluster.sh"
. "$here/../bench/lib.sh"

groups=${CREDIT_GROUPS:-60}
seed=${CREDIT_SEED:-1}
jobs=${CREDIT_JOBS:-$(nproc)}
write=${CREDIT_WRITE:-$([ "$groups $seed" != '60 1' ] || echo 1)}

prepare credit
start_cluster 'shared_buffers = 512MB' 'autovacuum = off' 'synchronous_commit = off'
started=$SECONDS
(cd "$tree" && psql -qX -v ON_ERROR_STOP=1 >/dev/null) <<-'SQL' || exit 2
	SET jit = off;
	SET client_min_messages = warning;
	CREATE EXTENSION stepadv;
	\i test/sim/simulator.sql
	\i test/credit/credit.sql
	\i test/credit/problems.sql
	\i test/credit/report.sql
	\i test/credit/history.sql
	SELECT credit.prepare_history();
SQL
query "SELECT format('SELECT credit.run_history(%L, %L, 8, $groups, $seed)', regexp_replace(problem, ' @ 0\$', ''), drift)
	FROM credit.problems, credit.drifts WHERE problem LIKE '% @ 0' ORDER BY problem, drift" |
	tr '\n' '\0' | xargs -0 -n 1 -P "$jobs" psql -qXAt -v ON_ERROR_STOP=1 -c >/dev/null || exit 2
echo "== $((SECONDS - started)) seconds"

report=$top/docs/credit.md
[ "$write" = 1 ] || { report=$work/credit.md; : >"$report"; }
begin_section
query 'SELECT line FROM credit.by_history ORDER BY n' >"$region"
write_region credit_history
[ "$write" = 1 ] || cat "$region"
