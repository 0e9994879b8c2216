# Shell functions to build, stage, and run a temporary cluster.
# Sourced by check.sh, demo.sh and the benchmark; needs bash.
#
#   prepare NAME [make arguments]   build a copy of the tree under build/NAME and
#                                   stage it; sets $work (removed at exit), $stage
#   start_cluster [conf lines]      initdb and start, socket in $work; exports PGHOST …
#   as_user CMD …                   run without root privileges, which the server refuses
#
# The exit trap stops the server and removes $work, also after Ctrl-C.

set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
pg_config=${PG_CONFIG:-pg_config}
work=
cluster_started=

if [ "$(id -u)" = 0 ]; then
	test_user=$(getent passwd postgres >/dev/null && echo postgres || echo nobody)
	as_user() { runuser -u "$test_user" -- "$@"; }
else
	test_user=$(id -un)
	as_user() { "$@"; }
fi

# Jobs that run beside the script: see jobs.sh.
stop_jobs() { :; }

clean_up()
{
	local status=$?

	trap - EXIT INT TERM HUP
	stop_jobs
	[ -z "$cluster_started" ] || stop_cluster || true
	[ -z "$work" ] || rm -rf "$work"
	exit "$status"
}

# A killed server leaves its pid file, and another process may have that number now: the command line of a server names
# its data directory.
stop_server()
{
	local pid

	pid=$(head -n 1 "$1/postmaster.pid" 2>/dev/null) || return 0
	case "$(ps -o args= -p "$pid" 2>/dev/null) " in
		*" $1 "*) as_user "$bindir/pg_ctl" -D "$1" -m immediate -w stop >/dev/null 2>&1 || true ;;
	esac
}

stop_cluster()
{
	stop_server "$work/data"
	cluster_started=
}

# Copy what the build needs, keeping times, so that a second run compiles only changes; the user's tree is not changed.
sync_tree()
{
	local tree=$1 file
	local folders=(docs src sql client test expected)

	mkdir -p "${folders[@]/#/$tree/}"
	rm -f "$tree"/sql/stepadv--*.sql
	# Only scripts that make builds: those of releases are in sql/releases.
	(cd "$top" && sums_of Makefile stepadv.control README.md $(ls -d "${folders[@]}" 2>/dev/null)) >"$tree/.theirs"
	(cd "$tree" && sums_of $(ls -d Makefile stepadv.control README.md "${folders[@]}" 2>/dev/null)) >"$tree/.ours"
	# First remove files that the tree no longer has, or that differ.
	LC_ALL=C comm -13 "$tree/.theirs" "$tree/.ours" | cut -d ' ' -f 3- | while IFS= read -r file; do
		[ -e "$top/$file" ] || rm -f "$tree/$file" "$tree/${file%.c}.o" "$tree/${file%.c}.bc"
	done
	LC_ALL=C comm -23 "$tree/.theirs" "$tree/.ours" | cut -d ' ' -f 3- | (cd "$top" && tar -cf - --no-recursion --verbatim-files-from -T -) | tar -xpf - -C "$tree" --no-same-owner
}

# Checksum, size and name of every source file: one process for all of them, since comparing file by file took most of a
# second run.
sums_of()
{
	find "$@" -type f ! -name '*.o' ! -name '*.bc' ! -path 'sql/stepadv--*' -print0 | xargs -0 cksum | LC_ALL=C sort
}

prepare()
{
	local name=$1
	shift

	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP

	bindir=$("$pg_config" --bindir)
	tree=$top/build/$name
	sync_tree "$tree"
	# A build with other flags must not reuse the objects of this one.
	if [ "$(cat "$tree/.flags" 2>/dev/null)" != "$("$pg_config" --version) $*" ]; then
		find "$tree/src" \( -name '*.o' -o -name '*.bc' \) -delete
		# PostgreSQL's makefiles make every file secondary: nothing is rebuilt because an object is missing.
		rm -f "$tree"/*.so
		echo "$("$pg_config" --version) $*" >"$tree/.flags"
	fi
	make -s -C "$tree" -j"$(nproc)" PG_CONFIG="$pg_config" with_llvm=no "$@" >"$tree/build.log" 2>&1 ||
		{ cat "$tree/build.log" >&2; echo "stepadv: the build failed" >&2; exit 2; }

	work=$(mktemp -d "${TMPDIR:-/tmp}/stepadv.XXXXXX")
	stage=$work/stage
	make -s -C "$tree" PG_CONFIG="$pg_config" with_llvm=no "$@" install DESTDIR="$stage" >>"$tree/build.log" 2>&1 ||
		{ cat "$tree/build.log" >&2; echo "stepadv: staging failed" >&2; exit 2; }
	chmod 755 "$work"
	make_server_see_stage
	[ "$(id -u)" != 0 ] || chown -R "$test_user" "$work"
	cd "$work"
}

# To find an extension that is not installed, Debian's servers have extension_destdir, and 18 has two paths; others get
# a private copy of the server, which finds its files relative to its binary.
make_server_see_stage()
{
	local sharedir pkglibdir

	conf=$work/stage.conf
	sharedir=$("$pg_config" --sharedir)
	pkglibdir=$("$pg_config" --pkglibdir)
	if [ -z "${STEPADV_COPY_SERVER:-}" ] && grep -q extension_destdir "$bindir/postgres"; then
		echo "extension_destdir = '$stage'" >"$conf"
	elif [ -z "${STEPADV_COPY_SERVER:-}" ] && grep -q extension_control_path "$bindir/postgres"; then
		echo "extension_control_path = '$stage$sharedir:\$system'" >"$conf"
		echo "dynamic_library_path = '$stage$pkglibdir:\$libdir'" >>"$conf"
	else
		: >"$conf"
		copy_server
		bindir=$copied_bindir
	fi
}

# Makes the copy, with the extension, unless it exists.  Sets $copied_bindir.
copy_server()
{
	local folder

	copied_bindir=$stage$("$pg_config" --bindir)
	[ ! -e "$copied_bindir/postgres" ] || return 0
	# The server may have an older extension: the staged files replace it.
	mkdir "$work/staged"
	cp -a "$stage/." "$work/staged/"
	for folder in --bindir --sharedir --pkglibdir; do
		folder=$("$pg_config" "$folder")
		mkdir -p "$stage$folder"
		cp -a "$folder/." "$stage$folder/"
	done
	cp -a "$work/staged/." "$stage/"
}

start_cluster()
{
	export PGHOST=$work/socket PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
	unset PGSERVICE PGPASSWORD PGOPTIONS
	mkdir "$PGHOST"
	[ "$(id -u)" != 0 ] || chown "$test_user" "$PGHOST"
	as_user "$bindir/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --no-locale -N >"$work/initdb.log" 2>&1 ||
		{ cat "$work/initdb.log" >&2; exit 2; }
	{
		cat "$conf"
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$PGHOST'"
		echo "fsync = off"
		printf '%s\n' "$@"
	} >"$work/more.conf"
	as_user sh -c "cat '$work/more.conf' >>'$work/data/postgresql.conf'"
	cluster_started=yes
	as_user "$bindir/pg_ctl" -D "$work/data" -l "$work/server.log" -w start >/dev/null ||
		{ cat "$work/server.log" >&2; exit 2; }
}
