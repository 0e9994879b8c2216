#!/usr/bin/env bash
# Every test, against a server of its own, without root rights:
# regress, isolation and TAP, on a build with assertions and -Werror.
# Last line: N passed, N failed.  Exit status 0 only when nothing failed.
# ONLY='regress isolation tap' (any of them) narrows it; TESTS='a b' picks
# regress tests by name, TAP='a b' TAP tests.

here=$(dirname "$0")
sh "$here/deps.sh" test
. "$here/cluster.sh"

only=${ONLY:-regress isolation tap}
log=$top/build/check.log
passed=0
failed=0

wants() { case " $only " in *" $1 "*) true ;; *) false ;; esac; }

# Both wordings of pg_regress: "test x ... ok" (14, 15), "ok 1 - x" (16 and later).
count()
{
	local ok not_ok

	ok=$(grep -cE '^(ok [0-9]+ |(test|    ) ?[^ ].* \.\.\. ok )' "$1" || true)
	# What a TAP test says is still to do is not held against it.
	not_ok=$(grep -E '^(not ok [0-9]+ |(test|    ) ?[^ ].* \.\.\. FAILED)' "$1" | grep -cv ' # TODO ' || true)
	# A program that died without saying which test failed has failed all the same.
	[ "$2" = 0 ] || [ "$not_ok" != 0 ] || not_ok=1
	passed=$((passed + ok))
	failed=$((failed + not_ok))
}

run()
{
	local status=0

	echo "== $1"
	shift
	as_user "$@" >"$work/out.log" 2>&1 || status=$?
	cat "$work/out.log" >>"$log"
	if [ "$status" != 0 ]; then
		cat "$work/out.log"
		find "$work" -name '*.diffs' -exec cat {} + || true
		# Kept for the developer who has to look at them.
		rm -rf "$top/build/results" && cp -r "$work/results" "$top/build/results" 2>/dev/null || mkdir -p "$top/build/results"
		# Servers up to 14 and later ones leave those of TAP tests in different places.
		find "$work" -type f \( -name 'regress_log_*' -o -path '*/pg_upgrade_output.d/*' \) -exec cp {} "$top/build/results/" \; 2>/dev/null || true
	else
		grep -E '^(test |ok |not ok |All |# All|    ok|test/t/)' "$work/out.log" | grep -vE '^ok [0-9]+ - .* - ' | tail -n 60 || true
	fi
	count "$work/out.log" "$status"
}

prepare check WERROR=1 ASSERTS=1
: >"$log"

# The server's user cannot read a checkout under /root: give it a copy.
cp -r "$tree/test" "$tree/expected" "$tree/docs" "$tree/README.md" "$work/"
[ "$(id -u)" != 0 ] || chown -R "$test_user" "$work"
pgxs_dir=$(dirname "$(dirname "$("$pg_config" --pgxs)")")
all_of() { (cd "$work/test" && find "$1" -name "*.$2" -exec basename {} ".$2" \; 2>/dev/null | LC_ALL=C sort); }
# Without the folder import/ also without the tests that say they need it.
regress_tests()
{
	if [ -d "$top/import" ]; then
		all_of sql sql
	else
		all_of sql sql | while read -r t; do grep -q 'CREATE EXTENSION stepadv_import' "$work/test/sql/$t.sql" || echo "$t"; done
	fi
}
cat "$conf" >"$work/temp.conf"
cat >>"$work/temp.conf" <<'CONF'
fsync = off
max_parallel_workers_per_gather = 2
CONF

if wants regress; then
	run regress "$pgxs_dir/test/regress/pg_regress" --bindir="$bindir" --inputdir=test --outputdir=. \
		--temp-instance=tmp_regress --temp-config=temp.conf --no-locale --encoding=UTF8 \
		--load-extension=stepadv --dbname=contrib_regression ${TESTS:-$(regress_tests)}
fi
if wants isolation && [ -n "$(all_of specs spec)" ]; then
	run isolation "$pgxs_dir/test/isolation/pg_isolation_regress" --bindir="$bindir" --inputdir=test --outputdir=. \
		--temp-instance=tmp_isolation --temp-config=temp.conf --no-locale --encoding=UTF8 \
		--load-extension=stepadv --dbname=isolation_regression $(all_of specs spec)
fi
if wants tap && [ -n "$(all_of t pl)" ]; then
	export TEMP_CONFIG=$work/temp.conf TESTDATADIR=$work/tap TESTLOGDIR=$work/tap
	export PG_REGRESS=$pgxs_dir/test/regress/pg_regress PERL5LIB=$pgxs_dir/test/perl:${PERL5LIB:-}
	export PATH=$bindir:$PATH
	copy_server
	export STEPADV_COPIED_BINDIR=$copied_bindir
	run tap prove -v $(for t in ${TAP:-$(all_of t pl)}; do echo "test/t/$t.pl"; done)
fi

echo "full log: build/check.log"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
