# Shell functions for the memory checkers of make check.  Sourced by
# check.sh after cluster.sh; docs/internals/testing.md describes their use.
#
#   ready_for_checkers      exits with a message if a requirement is missing
#   settings_of_checkers    lines for the configuration of every server
#   put_under_valgrind      if VALGRIND is set, replaces postgres in $bindir
#   errors_of_valgrind      prints Valgrind's findings; fails if there are any

is_sanitized_by() { case ",${SANITIZE:-}," in *",$1,"*) true ;; *) false ;; esac; }

needs_server()
{
	echo "stepadv: $1 needs a server compiled for it, given as PG=…/bin/pg_config; \`make server$2\` builds one: docs/internals/testing.md" >&2
	exit 2
}

ready_for_checkers()
{
	if is_sanitized_by address && ! grep -q __asan_init "$("$pg_config" --bindir)/postgres"; then
		needs_server SANITIZE=address ' SANITIZE=address'
	fi
	[ -n "${VALGRIND:-}" ] || return 0
	export STEPADV_COPY_SERVER=1
	suppressions=${VALGRIND_SUPPRESSIONS:-$("$pg_config" --sharedir)/valgrind.supp}
	command -v valgrind >/dev/null || { echo "stepadv: VALGRIND=1 needs valgrind" >&2; exit 2; }
	case " $("$pg_config" --cppflags) " in *" -DUSE_VALGRIND "*) ;; *) needs_server VALGRIND=1 '' ;; esac
	[ -r "$suppressions" ] || { echo "stepadv: set VALGRIND_SUPPRESSIONS to the path of src/tools/valgrind.supp in the server's source" >&2; exit 2; }
}

# SETTINGS='debug_discard_caches=1 work_mem=64kB': each word as for postgres -c.
settings_of_checkers()
{
	local setting

	for setting in ${SETTINGS:-}; do
		# 14 and 15 call it force_parallel_mode.
		case $setting in
			debug_parallel_query=*)
				[ "$("$pg_config" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')" -ge 16 ] || setting=force_parallel_mode=${setting#*=} ;;
		esac
		echo "${setting%%=*} = '${setting#*=}'"
	done
}

# Servers are started by name in many places, so a script with that name replaces the binary; initdb and --version run
# without Valgrind.
put_under_valgrind()
{
	[ -n "${VALGRIND:-}" ] || return 0
	mkdir "$work/valgrind"
	cp "$suppressions" "$work/valgrind.supp"
	mv "$bindir/postgres" "$bindir/postgres-watched"
	cat >"$bindir/postgres" <<-SH
		#!/bin/sh
		case "\${1:-}" in
			--boot | --check | --single | -V | --version | -C) exec "$bindir/postgres-watched" "\$@" ;;
		esac
		exec valgrind --quiet --leak-check=no --trace-children=yes --error-markers=ERROR-BEGIN,ERROR-END \\
			--suppressions="$work/valgrind.supp" --log-file="$work/valgrind/%p.log" "$bindir/postgres-watched" "\$@"
	SH
	chmod 755 "$bindir/postgres"
}

errors_of_valgrind()
{
	local logs

	logs=$(grep -l ERROR-BEGIN "$work"/valgrind/*.log 2>/dev/null) || return 0
	mkdir -p "$top/build/results"
	cp $logs "$top/build/results/"
	sed -n '/ERROR-BEGIN/,/ERROR-END/p' $logs | head -n 200
	echo "Valgrind found $(cat $logs | grep -c ERROR-BEGIN) errors: see build/results"
	return 1
}
