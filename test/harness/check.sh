#!/usr/bin/env bash
# Runs every test with servers of its own, without root privileges: regress, isolation and TAP, on a build with assertions
# and -Werror.  Last line: N passed, N failed.  Exit status 0 only if nothing failed.
# ONLY='regress isolation tap' runs some of these; TESTS='a b' picks regress tests by name, SPECS='a b' isolation tests,
# TAP='a b' TAP tests; JOBS=1 runs one after another.  For CC=clang, SANITIZE=undefined, SANITIZE=address, VALGRIND=1 and
# SETTINGS='jit=on …' see docs/internals/testing.md and checkers.sh.

here=$(dirname "$0")
sh "$here/deps.sh" test
. "$here/cluster.sh"
. "$here/jobs.sh"
. "$here/checkers.sh"

only=${ONLY:-regress isolation tap}
log=$top/build/check.log
passed=0
failed=0
skipped=()
# The longest tests, in this order: they begin first, so that the processors are busy until the end.
long_jobs='pg_upgrade upgrade strangers regress renamed client isolation upkeep cancel_crash report upkeep_applied docs trainer tables
	standby partitions foreign hostile dashboard parallel tutorial'
long_tests='credit_check instances upkeep group_fold equivalence over_time panels attach tables igpo tokens behaviour methods truncated problems
	simulator upkeep_without_triggers upkeep_more compare group_version by_turn history_views parallel_fold attach_catalog load q_error
	versions identity batch_td decisions state'

# These tests, with their seconds, take half of the time: `make check` draws some of them, for an eighth of their time,
# by a seed that it prints; `make check-all` (ALL=1) runs all.  Every run tests privileges, numbers, docs and the client.
seed=${SEED:-$(date +%s)}
drawn='sql/credit_check:76 sql/instances:60 sql/upkeep:59 sql/group_fold:49 sql/equivalence:41 sql/over_time:33 sql/panels:30 sql/tables:19
	sql/behaviour:15 sql/problems:14 sql/simulator:14 sql/truncated:14 sql/compare:12 sql/upkeep_more:12
	sql/upkeep_without_triggers:12 sql/attach_catalog:10 sql/by_turn:10 sql/history_views:10 sql/parallel_fold:10 sql/decisions:8
	sql/identity:8 sql/curation:6 sql/ddl:5 sql/progress_sparse:4 sql/progress_simulator:2 sql/cluster:1 sql/resample:1 sql/stored_rows:1
	specs/upkeep_writers:36 specs/upkeep_refresh:9
	t/pg_upgrade:91 t/upgrade:85 t/renamed:72 t/upkeep:35 t/cancel_crash:25 t/upkeep_applied:19 t/standby:11 t/foreign:8 t/dump_restore:6
	t/long_work:6 t/shared_fold:4'

# Takes tests in random order by the seed, each if it still fits.
lucky=$(for test in $drawn; do echo "$(echo "$seed $test" | cksum | cut -d ' ' -f 1) ${test/:/ }"; done | sort -n |
	awk '{ name[NR] = $2; cost[NR] = $3; all += $3 } END { for (i = 1; i <= NR; i++) if (sum + cost[i] <= all / 8) { sum += cost[i]; print name[i] } }')

# The tests of a folder that this run includes.
chosen()
{
	local folder=$1 word
	shift
	for word in "$@"; do
		case " $(echo $drawn) " in
			*" $folder/$word:"*) [ -z "${ALL:-}" ] && case " $(echo $lucky) " in *" $folder/$word "*) ;; *) continue ;; esac ;;
		esac
		echo "$word"
	done
}

wants() { case " $only " in *" $1 "*) true ;; *) false ;; esac; }

# Both wordings of pg_regress: "test x ... ok" (14, 15), "ok 1 - x" (16 and later).
# Sets $ok and $not_ok, and adds them up.
count()
{
	ok=$(grep -cE '^(ok [0-9]+ |(test|    ) ?[^ ].* \.\.\. ok )' "$1" || true)
	# A TODO test that fails does not count as failed.
	not_ok=$(grep -E '^(not ok [0-9]+ |(test|    ) ?[^ ].* \.\.\. FAILED)' "$1" | grep -cv ' # TODO ' || true)
	# A program that died without naming a failed test has failed, too.
	[ "$2" = 0 ] || [ "$not_ok" != 0 ] || not_ok=1
	passed=$((passed + ok))
	failed=$((failed + not_ok))
}

# The log of a job: all of it if it failed, else a line per test of pg_regress.
job_ended()
{
	local name=$1 status=$2 seconds=$3 out=$4 ok not_ok

	count "$out" "$status"
	echo "== $name: $ok passed, $not_ok failed ($seconds s)"
	cat "$out" >>"$log"
	! grep -qE '^test/t/.* skipped' "$out" || skipped+=("$name")
	if [ "$status" != 0 ]; then
		cat "$out"
		keep_results "$name"
	else
		# No line per assertion of a TAP test; house prints a table.
		grep -E '^(# \||test |ok [0-9]+ +- |    ok|test/t/.* skipped)' "$out" | grep -vE '^(ok [0-9]+ - |test/t/.*\.pl \.\. $)' || true
	fi
}

# Keeps differences and server logs in build/results, and prints messages of crashes.
keep_results()
{
	local dir=$work/$1 results=$top/build/results file

	cat "$dir/regression.diffs" 2>/dev/null || true
	mkdir -p "$results"
	cp -r "$dir"/results/. "$results/" 2>/dev/null || true
	cat "$dir/regression.diffs" >>"$results/regression.diffs" 2>/dev/null || true
	cp "$dir/log/postmaster.log" "$results/$1.log" 2>/dev/null || true
	# Servers up to 14 and later ones put the logs of TAP tests in different places.
	find "$work" -type f \( -name "regress_log_$1" -o -name "$1_*.log" -o -path "*_$1_*/pg_upgrade_output.d/*" \) -exec cp {} "$results/" \; 2>/dev/null || true
	grep -hE 'was terminated by signal|TRAP: |PANIC: |runtime error: |AddressSanitizer: ' "$results/$1.log" "$results/$1"_*.log 2>/dev/null || true
}

ready_for_checkers
# Without the viewer, the test of the report is skipped.
sh "$here/viewer.sh" || true
prepare check WERROR=1 ASSERTS=1 ${CC:+CC="$CC"} ${SANITIZE:+SANITIZE="$SANITIZE"}
: >"$log"
rm -rf "$top/build/results"

# The server's user cannot read a checkout under /root: copy it.
cp -r "$tree/test" "$tree/expected" "$tree/docs" "$tree/client" "$tree/sql" "$tree/README.md" "$work/"
# Files that the release command writes.
(cd "$top" && cp -r debian CHANGELOG.md META.json stepadv.control "$work/")
(cd "$tree" && sh test/house.sh) >"$work/house.txt"
pgxs_dir=$(dirname "$(dirname "$("$pg_config" --pgxs)")")
all_of() { (cd "$work/test" && find "$1" -name "*.$2" -exec basename {} ".$2" \; 2>/dev/null | LC_ALL=C sort); }
regress_tests() { all_of sql sql; }
cat "$conf" >"$work/temp.conf"
cat >>"$work/temp.conf" <<'CONF'
fsync = off
max_parallel_workers_per_gather = 2
jit = off
CONF
# Compressing the rules of views with pglz would take a twentieth of the time.
! "$pg_config" --configure | grep -q -e --with-lz4 || echo "default_toast_compression = lz4" >>"$work/temp.conf"
settings_of_checkers >>"$work/temp.conf"
put_under_valgrind

# The data directory of TAP tests is made once and then copied: from 17 on by the tests themselves, before that by a
# script that is found before initdb.
copy_initdb()
{
	export INITDB_TEMPLATE=$work/template
	as_user "$bindir/initdb" -D "$INITDB_TEMPLATE" -A trust -N >"$work/initdb.log" 2>&1 || { cat "$work/initdb.log" >&2; exit 2; }
	mkdir "$work/copying"
	cat >"$work/copying/initdb" <<-SH
		#!/bin/sh
		[ "\$*" != "-D \$2 -A trust -N" ] || exec cp -a "$INITDB_TEMPLATE" "\$2"
		exec "$bindir/initdb" "\$@"
	SH
	chmod 755 "$work/copying" "$work/copying/initdb"
	PATH=$work/copying:$PATH
}

# Makes a folder for a job, with links to the tests.
folder()
{
	mkdir "$work/$1"
	ln -s ../test ../expected ../docs ../README.md "$work/$1/"
}

# pg_regress runs its tests one after another.  Several run in parallel, each with its own server, so that no test sees
# roles or settings of another.
parts=0
extensions=(--load-extension=stepadv)
if wants regress; then
	# An additional method must not change the output of any test.
	if [ -n "${ALL:-}" ]; then
		cp "$top"/test/one_more_method/* "$stage$("$pg_config" --sharedir)/extension/"
		extensions+=(--load-extension=stepadv_median)
	fi
	tests=${TESTS:-$(chosen sql $(regress_tests))}
	parts=$(($(wc -w <<<"$tests") < slots ? $(wc -w <<<"$tests") : slots))
	[ "$parts" -le 4 ] || parts=4
	for part in $(seq "$parts"); do
		folder "regress-$part"
		add_job "regress-$part" regress "$work/regress-$part" "$pgxs_dir/test/regress/pg_regress" --bindir="$bindir" --inputdir=test --outputdir=. \
			--launcher=test/harness/psql.sh --temp-instance=instance --temp-config="$work/temp.conf" --no-locale --encoding=UTF8 \
			"${extensions[@]}" --dbname=contrib_regression $(dealt "$part" "$parts" "$long_tests" $tests)
	done
fi
if wants isolation && [ -n "$(all_of specs spec)" ]; then
	folder isolation
	add_job isolation isolation "$work/isolation" "$pgxs_dir/test/isolation/pg_isolation_regress" --bindir="$bindir" --inputdir=test --outputdir=. \
		--launcher=test/harness/isolationtester.sh --temp-instance=instance --temp-config="$work/temp.conf" --no-locale --encoding=UTF8 \
		--load-extension=stepadv --dbname=isolation_regression ${SPECS:-$(chosen specs $(all_of specs spec))}
fi
if wants tap && [ -n "$(all_of t pl)" ]; then
	export TEMP_CONFIG=$work/temp.conf TESTDATADIR=$work/tap TESTLOGDIR=$work/tap PG_TEST_PORT_DIR=$work/ports
	export PG_REGRESS=$pgxs_dir/test/regress/pg_regress PERL5LIB=$pgxs_dir/test/perl:test/t:test/upgrade:${PERL5LIB:-}
	copy_server
	export STEPADV_COPIED_BINDIR=$copied_bindir
	export PATH=$bindir:$PATH
	[ "$(id -u)" != 0 ] || chown -R "$test_user" "$work"
	copy_initdb
	for t in ${TAP:-$(chosen t $(all_of t pl))}; do
		add_job "$t" "$t" "$work" prove -v "test/t/$t.pl"
	done
fi
[ "$(id -u)" != 0 ] || chown -R "$test_user" "$work"
run_jobs "$long_jobs"
errors_of_valgrind || failed=$((failed + 1))

[ -n "${ALL:-}" ] || echo "long tests drawn by SEED=$seed: $(echo $lucky); make check-all runs all of them"
[ "${#skipped[@]}" = 0 ] || echo "${#skipped[@]} TAP tests skipped, for the reasons above: ${skipped[*]}"
echo "full log: build/check.log"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
