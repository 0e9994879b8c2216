#!/usr/bin/env bash
# Every test, against servers of its own, without root rights: regress, isolation
# and TAP, on a build with assertions and -Werror.
# Last line: N passed, N failed.  Exit status 0 only when nothing failed.
# ONLY='regress isolation tap' (any of them) narrows it; TESTS='a b' picks
# regress tests by name, SPECS='a b' isolation tests, TAP='a b' TAP tests; JOBS=1 runs one after the other;
# CC=clang, SANITIZE=undefined, SANITIZE=address, VALGRIND=1 and SETTINGS='jit=on …' are
# told of in docs/internals/testing.md; checkers.sh has what they need.

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
# What takes longest, in this order: it is begun first, so that nothing long is left
# over at the end, and long regress tests are dealt out evenly.  A test that is not
# here may come at any time.
long_jobs='regress renamed strangers pg_upgrade upgrade isolation dashboard cancel_crash client upkeep report'
long_tests='equivalence instances over_time attach compare methods upkeep ddl group_fold by_turn problems tables curation attach_catalog cluster simulator'

# What takes half of the time: `make check` draws an eighth of each list, by a seed that it prints,
# and `make check-all` (ALL=1) runs them all.  Rights, numbers, docs and the client are in every run.
seed=${SEED:-$(date +%s)}
drawn_tests='equivalence instances over_time compare methods upkeep upkeep_more upkeep_without_triggers group_fold problems
	curation attach_catalog by_turn behaviour credit_check cluster simulator progress_simulator decisions
	history_views tables ddl parallel_fold stored_rows resample panels identity progress_sparse truncated'
drawn_specs='upkeep_refresh upkeep_writers'
drawn_taps='upkeep renamed pg_upgrade upgrade cancel_crash long_work dump_restore shared_fold upkeep_applied standby foreign'

# Of some words those that this run takes: all that are not in a list, and of the list an eighth.
drawn()
{
	local list=$1 word
	shift
	local lucky
	lucky=$(for word in $list; do echo "$(echo "$seed $word" | cksum | cut -d ' ' -f 1) $word"; done | sort -n | awk '{ w[NR] = $2 } END { for (i = 1; i <= NR / 8 + 0.75; i++) print w[i] }')
	for word in "$@"; do
		case " $(echo $list) " in
			*" $word "*) [ -z "${ALL:-}" ] && case " $(echo $lucky) " in *" $word "*) ;; *) continue ;; esac ;;
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
	# What a TAP test says is still to do is not held against it.
	not_ok=$(grep -E '^(not ok [0-9]+ |(test|    ) ?[^ ].* \.\.\. FAILED)' "$1" | grep -cv ' # TODO ' || true)
	# A program that died without saying which test failed has failed all the same.
	[ "$2" = 0 ] || [ "$not_ok" != 0 ] || not_ok=1
	passed=$((passed + ok))
	failed=$((failed + not_ok))
}

# What a job said: all of it where it failed, else a line per test of pg_regress.
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
		# No line per assertion of a TAP test; house has a table.
		grep -E '^(# \||test |ok [0-9]+ +- |    ok|test/t/.* skipped)' "$out" | grep -vE '^(ok [0-9]+ - |test/t/.*\.pl \.\. $)' || true
	fi
}

# For the developer who has to look at them: what came out, and what the servers
# said, of which a process that died is shown.
keep_results()
{
	local dir=$work/$1 results=$top/build/results file

	cat "$dir/regression.diffs" 2>/dev/null || true
	mkdir -p "$results"
	cp -r "$dir"/results/. "$results/" 2>/dev/null || true
	cat "$dir/regression.diffs" >>"$results/regression.diffs" 2>/dev/null || true
	cp "$dir/log/postmaster.log" "$results/$1.log" 2>/dev/null || true
	# Servers up to 14 and later ones leave those of TAP tests in different places.
	find "$work" -type f \( -name "regress_log_$1" -o -name "$1_*.log" -o -path "*_$1_*/pg_upgrade_output.d/*" \) -exec cp {} "$results/" \; 2>/dev/null || true
	grep -hE 'was terminated by signal|TRAP: |PANIC: |runtime error: |AddressSanitizer: ' "$results/$1.log" "$results/$1"_*.log 2>/dev/null || true
}

ready_for_checkers
# Without it the test of the report says that it was skipped.
sh "$here/viewer.sh" || true
prepare check WERROR=1 ASSERTS=1 ${CC:+CC="$CC"} ${SANITIZE:+SANITIZE="$SANITIZE"}
: >"$log"
rm -rf "$top/build/results"

# The server's user cannot read a checkout under /root: give it a copy.
cp -r "$tree/test" "$tree/expected" "$tree/docs" "$tree/client" "$tree/sql" "$tree/README.md" "$work/"
# What the release command writes to.
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
# Rules of views are compressed, by pglz for a twentieth of all the time.
! "$pg_config" --configure | grep -q -e --with-lz4 || echo "default_toast_compression = lz4" >>"$work/temp.conf"
settings_of_checkers >>"$work/temp.conf"
put_under_valgrind

# A data directory like that of every TAP test is made once and copied: by the tests
# themselves from 17 on, before that by a program that is found before initdb.
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

# A folder to run a kind of test in, which looks like that with all tests.
folder()
{
	mkdir "$work/$1"
	ln -s ../test ../expected ../docs ../README.md "$work/$1/"
}

# pg_regress runs its tests one after the other: so there are several of it, each with
# a server, where no test meets another's roles or settings.
parts=0
extensions=(--load-extension=stepadv)
if wants regress; then
	# With a method more, no output of a test changes.
	if [ -n "${ALL:-}" ]; then
		cp "$top"/test/one_more_method/* "$stage$("$pg_config" --sharedir)/extension/"
		extensions+=(--load-extension=stepadv_median)
	fi
	tests=${TESTS:-$(drawn "$drawn_tests" $(regress_tests))}
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
		--load-extension=stepadv --dbname=isolation_regression ${SPECS:-$(drawn "$drawn_specs" $(all_of specs spec))}
fi
if wants tap && [ -n "$(all_of t pl)" ]; then
	export TEMP_CONFIG=$work/temp.conf TESTDATADIR=$work/tap TESTLOGDIR=$work/tap PG_TEST_PORT_DIR=$work/ports
	export PG_REGRESS=$pgxs_dir/test/regress/pg_regress PERL5LIB=$pgxs_dir/test/perl:${PERL5LIB:-}
	copy_server
	export STEPADV_COPIED_BINDIR=$copied_bindir
	export PATH=$bindir:$PATH
	[ "$(id -u)" != 0 ] || chown -R "$test_user" "$work"
	copy_initdb
	for t in ${TAP:-$(drawn "$drawn_taps" $(all_of t pl))}; do
		add_job "$t" "$t" "$work" prove -v "test/t/$t.pl"
	done
fi
[ "$(id -u)" != 0 ] || chown -R "$test_user" "$work"
run_jobs "$long_jobs"
errors_of_valgrind || failed=$((failed + 1))

[ -n "${ALL:-}" ] || echo "long tests drawn by SEED=$seed; make check-all runs all of them"
[ "${#skipped[@]}" = 0 ] || echo "${#skipped[@]} TAP tests skipped, for the reasons above: ${skipped[*]}"
echo "full log: build/check.log"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
