#!/usr/bin/env bash
# Mutation testing: N=60 SEED=1 bash test/mutants/run.sh changes one place of C or SQL at a time, builds, and runs the
# SQL tests, those of that place first, until one fails.  MINUTES=50 ends it earlier, NEAREST=8 runs fewer tests.  A line per mutant goes to
# build/mutants.tsv; docs/results/mutants.md says what was found.  ONLY='src/upkeep/fold.c:121' tries all changes of
# that line.
. "$(dirname "$0")/../harness/cluster.sh"

prepare mutants ${CC:+CC="$CC"}
start_cluster "statement_timeout = '300s'" "max_parallel_workers_per_gather = 2" "jit = off" "max_connections = 30"
as_user "$bindir/pg_ctl" -D "$work/data" -m fast -w stop >/dev/null
mv "$work/data" "$work/template"
pgxs_dir=$(dirname "$(dirname "$("$pg_config" --pgxs)")")
mkdir "$work/run"
ln -s "$tree/test" "$tree/expected" "$tree/docs" "$tree/README.md" "$work/run/"
cd "$work/run"
export BINDIR=$bindir WORK=$work TREE=$tree STAGE=$stage TEST_USER=$test_user PG_REGRESS=$pgxs_dir/test/regress/pg_regress PG_CONFIG=$pg_config
python3 "$top/test/mutants/mutants.py" --number "${N:-60}" --seed "${SEED:-1}" --minutes "${MINUTES:-600}" --nearest "${NEAREST:-1000}" --out "$top/build/mutants.tsv" ${ONLY:+--only "$ONLY"}
