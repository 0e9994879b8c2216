# Shell functions of run.sh and history.sh; needs those of test/harness/cluster.sh
# and test/bench/lib.sh.
#
#   settings GROUPS		sets $groups, $seed, $jobs, and $write: whether to write the pages of docs
#   start_credit		starts a server with problems, methods and reports
#   in_parallel			runs statements from standard input, $jobs at a time

settings()
{
	groups=${CREDIT_GROUPS:-$1}
	seed=${CREDIT_SEED:-1}
	jobs=${CREDIT_JOBS:-$(nproc)}
	# The pages have the results of the default settings.
	write=${CREDIT_WRITE:-$([ "$groups $seed" != "$1 1" ] || echo 1)}
}

start_credit()
{
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
		\i test/credit/methods.sql
		\i test/credit/resampling.sql
		\i test/credit/report.sql
	SQL
}

in_parallel()
{
	tr '\n' '\0' | xargs -0 -n 1 -P "$jobs" psql -qXAt -v ON_ERROR_STOP=1 -c >/dev/null || exit 2
	echo "== $((SECONDS - started)) seconds"
}
