#!/usr/bin/env bash
# Mutation testing: N=200 SEED=1 bash test/mutants/run.sh changes one place of C or SQL at a time, builds, and runs the
# SQL tests that reach it, the nearest and shortest first, until one fails.  The first run makes build/mutants.cover, what
# each test reaches: remove it after the tests have changed.  Mutants that survive SECONDS_ALONE of tests share their
# remaining tests, TOGETHER mutants at a time.  MINUTES ends a run earlier.  ONLY='src/upkeep/fold.c:121' tries all
# changes of that line.  A line per mutant goes to build/mutants.tsv; docs/results/mutants.md has the results.
. "$(dirname "$0")/../harness/cluster.sh"

cover=$top/build/mutants.cover
flags=(ASSERTS=1 "CC=${CC:-gcc}")
if [ -e "$cover" ]; then
	flags+=(COPT=-O0)
	prepare mutants "${flags[@]}"
else
	flags+=("COPT=-O0 --coverage")
	prepare cover "${flags[@]}"
	export GCOV_PREFIX=$work/counts
fi
FLAGS=$(printf '%s\n' "${flags[@]}")
start_cluster "statement_timeout = '60s'" "max_parallel_workers_per_gather = 2" "jit = off" "max_connections = 30" "track_functions = all"
as_user "$bindir/pg_ctl" -D "$work/data" -m fast -w stop >/dev/null
mv "$work/data" "$work/template"
mkdir "$work/run" "$work/counts"
chmod 777 "$work/counts"
ln -s "$tree/test" "$tree/expected" "$tree/docs" "$tree/README.md" "$work/run/"
cd "$work/run"
pgxs_dir=$(dirname "$(dirname "$("$pg_config" --pgxs)")")
export BINDIR=$bindir WORK=$work TREE=$tree STAGE=$stage TEST_USER=$test_user PG_CONFIG=$pg_config FLAGS
export PG_REGRESS=$pgxs_dir/test/regress/pg_regress SHAREDIR=$("$pg_config" --sharedir) PKGLIBDIR=$("$pg_config" --pkglibdir)
python3 "$top/test/mutants/mutants.py" --number "${N:-200}" --seed "${SEED:-1}" --minutes "${MINUTES:-600}" --seconds "${SECONDS_ALONE:-20}" \
	--together "${TOGETHER:-8}" --cover "$cover" --out "$top/build/mutants.tsv" ${ONLY:+--only "$ONLY"}
# The first run only measured the cover.
if [ -n "${GCOV_PREFIX:-}" ]; then env -u GCOV_PREFIX bash "$top/test/mutants/run.sh"; fi
