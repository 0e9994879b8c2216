#!/usr/bin/env bash
# make check PG='15 17 /opt/pg16/bin/pg_config', make check PG=all: every test with one version of PostgreSQL after another; all are those installed.
# A version is a number, or a path to its pg_config.  At the end a line for each; the last line adds them up.

set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
known=(14 15 16 17 18 19)

# The usual places of distributions and source builds; nothing if it is not installed.
pg_config_of()
{
	local path

	case $1 in
		*/*) echo "$1"; return ;;
	esac
	for path in "/usr/lib/postgresql/$1" "/usr/pgsql-$1" "/usr/local/pgsql-$1" "/usr/local/opt/postgresql@$1" "/opt/homebrew/opt/postgresql@$1"; do
		# Debian's client package has pg_config, too.
		if [ -x "$path/bin/pg_config" ] && [ -x "$path/bin/postgres" ]; then
			echo "$path/bin/pg_config"
			return
		fi
	done
}

wanted=()
if [ "$PG" = all ]; then
	for version in "${known[@]}"; do
		[ -z "$(pg_config_of "$version")" ] || wanted+=("$version")
	done
	# The server is elsewhere, or not installed yet: as make check without PG.
	[ "${#wanted[@]}" != 0 ] || wanted=("$(command -v pg_config || echo default)")
else
	read -ra wanted <<<"$PG"
fi

mkdir -p "$top/build"
summary=()
passed=0
failed=0
for version in "${wanted[@]}"; do
	log=$top/build/check-$(tr -c 'a-zA-Z0-9\n' '-' <<<"$version").out
	path=$([ "$version" = default ] || pg_config_of "$version")
	if [ -z "$path" ] && [ "$version" != default ]; then
		summary+=("PostgreSQL $version: not installed; make deps PG=$version installs it where the distribution has it")
		failed=$((failed + 1))
		continue
	fi
	echo "== PostgreSQL ${path:-of the distribution}"
	(unset PG; [ -z "$path" ] || export PG_CONFIG=$path; bash "$here/check.sh") 2>&1 | tee "$log"
	last=$(tail -n 1 "$log")
	if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
	else
		# A build that failed has printed why.
		failed=$((failed + 1))
		last="did not finish"
	fi
	summary+=("$("${path:-pg_config}" --version 2>/dev/null || echo "PostgreSQL $version"): $last")
done

printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
