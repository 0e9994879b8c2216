#!/usr/bin/env bash
# make check-package: builds in different folders are equal, and uninstall removes all
# files; the Debian packages are built in a bare root, checked by lintian, and installed
# and used in another; the instructions of docs/Dockerfile are followed in bare roots.
# The latter two need root privileges, debootstrap and a mirror (MIRROR, SUITE).
# ONLY='source debian docker' selects parts.  The packages: build/package/*.deb
# Last line: N passed, N failed.

set -uo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$top/build/package
# The default is the mirror of this machine.
mirror=${MIRROR:-$(apt-get indextargets --format '$(SITE)' 2>/dev/null | head -n 1)}
suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
log=$dir/log
passed=0
failed=0

# check WHAT CMD …
check()
{
	local what=$1
	shift

	if "$@" >>"$log" 2>&1; then
		passed=$((passed + 1))
		echo "ok - $what"
	else
		failed=$((failed + 1))
		echo "not ok - $what (see build/package/log)"
	fi
}

# Copies the files of the repository from the working tree.
copy_source()
{
	rm -rf "$1" && mkdir -p "$1" || return 1
	(cd "$top" && git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done | tar cf - --null -T -) | tar xf - -C "$1"
}

make_in() { make -s -C "$1" -j"$(nproc)" "${@:2}"; }

# Builds in a folder with a space and in a folder outside the source are equal.
same_builds()
{
	copy_source "$dir/a folder/stepadv" && make_in "$dir/a folder/stepadv" with_llvm=no &&
		copy_source "$dir/source" && rm -rf "$dir/beside" && mkdir "$dir/beside" &&
		make_in "$dir/beside" -f ../source/Makefile VPATH=../source with_llvm=no &&
		cmp "$dir/a folder/stepadv/stepadv.so" "$dir/beside/stepadv.so" &&
		[ -z "$(find "$dir/source" \( -name '*.o' -o -name 'stepadv*--*.sql' \) ! -path '*/releases/*' ! -path '*/test/*')" ]
}

# Both install the same files, and uninstall removes them.
same_installs()
{
	make_in "$dir/a folder/stepadv" with_llvm=no install "DESTDIR=$dir/a folder/root" &&
		make_in "$dir/beside" -f ../source/Makefile VPATH=../source with_llvm=no install DESTDIR="$dir/root" &&
		[ -n "$(find "$dir/root" -name stepadv.so)" ] && diff -r "$dir/a folder/root" "$dir/root" &&
		make_in "$dir/a folder/stepadv" with_llvm=no uninstall "DESTDIR=$dir/a folder/root" &&
		make_in "$dir/beside" -f ../source/Makefile VPATH=../source with_llvm=no uninstall DESTDIR="$dir/root" &&
		[ -z "$(find "$dir/a folder/root" "$dir/root" -type f)" ]
}

# The archive of make dist, from the last commit: no development files, and all that a
# build needs.
archive()
{
	local version file

	version=$(sed -n "s/^default_version *= *'\(.*\)'/\1/p" "$top/stepadv.control")
	file=$top/stepadv-$version.zip
	make -s -C "$top" dist && rm -rf "$dir/archive" && mkdir "$dir/archive" &&
		git -C "$top" archive --prefix="stepadv-$version/" HEAD | tar xf - -C "$dir/archive" &&
		perl "$top/test/package/meta.pl" "$dir/archive/stepadv-$version" &&
		[ -z "$(find "$dir/archive" -name '.*' -type f)" ] && ! grep -aq '/\.ci/' "$file" &&
		make_in "$dir/archive/stepadv-$version" with_llvm=no install DESTDIR="$dir/archive/root" &&
		[ -n "$(find "$dir/archive/root" -name "stepadv--$version.sql")" ]
}

within() { chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -euc "$2"; }

# A copy of a bare root, which is made once.
new_root()
{
	if [ ! -e "$dir/$suite/etc/debian_version" ]; then
		rm -rf "$dir/$suite"
		debootstrap --variant=minbase "$suite" "$dir/$suite" "$mirror" || return 1
		# No services are started in a root.
		printf '#!/bin/sh\nexit 101\n' >"$dir/$suite/usr/sbin/policy-rc.d"
		chmod 755 "$dir/$suite/usr/sbin/policy-rc.d"
	fi
	rm -rf "$1" && cp -a "$dir/$suite" "$1"
}

build()
{
	new_root "$dir/builder" || return 1
	copy_source "$dir/builder/srv/stepadv" || return 1
	within "$dir/builder" '
		apt-get update -qq
		apt-get install -y -qq --no-install-recommends build-essential lintian postgresql-all postgresql-server-dev-all libxxhash-dev debhelper dh-python help2man python3 \
			python3-pip python3-setuptools python3-wheel python3-psycopg
		cd /srv/stepadv
		pg_buildext updatecontrol
		dpkg-buildpackage -us -uc -b
	' && cp "$dir"/builder/srv/*.deb "$dir/"
}

# Errors and warnings of lintian are failures.
look() { within "$dir/builder" 'cd /srv && lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs stepadv_*.changes'; }

install()
{
	new_root "$dir/bare" && cp "$dir"/postgresql-*-stepadv_*.deb "$dir"/stepadv-client_*.deb "$dir/bare/root/" &&
		within "$dir/bare" 'apt-get update -qq; apt-get install -y -qq --no-install-recommends /root/*.deb'
}

# Installs the client by pip, without its dependencies, which are installed.
client_by_pip()
{
	within "$dir/builder" '
		cp -a /srv/stepadv/client /tmp/client
		python3 -m pip install -q --no-build-isolation --no-deps --target /tmp/pip /tmp/client
		cd / && PYTHONPATH=/tmp/pip /tmp/pip/bin/stepadv --version
		PYTHONPATH=/tmp/pip python3 -c "import stepadv; stepadv.per_token"'
}

# Runs the scripts of an image, use.sql and the client, if it is installed, with a temporary
# server in a root, whose programs are in the folder pg.
use_in()
{
	local root=$1 pg=$2

	cp "$top/test/package/use.sql" "$top/test/data/tutorial/v1.json" "$root/tmp/" && chmod 644 "$root/tmp/use.sql" "$root/tmp/v1.json" &&
		within "$root" "pg=$pg"'
		runuser -u postgres -- sh -euc "
			d=\$(mktemp -d); mkdir \$d/socket
			$pg/initdb -D \$d/data -A trust --encoding=UTF8 --locale=C >/dev/null
			$pg/pg_ctl -D \$d/data -l \$d/log -o \"-c listen_addresses= -c unix_socket_directories=\$d/socket\" -w start >/dev/null
			status=0
			for script in /docker-entrypoint-initdb.d/*.sql /tmp/use.sql; do
				[ -e \$script ] || continue
				name=\$(basename \$script .sql)
				$pg/createdb -h \$d/socket \$name && $pg/psql -X -h \$d/socket -d \$name -v ON_ERROR_STOP=1 -f \$script || status=1
			done
			if [ -x /usr/bin/stepadv ]; then
				export PGHOST=\$d/socket PGDATABASE=use
				stepadv import -s rl /tmp/v1.json && stepadv check rl.steps && stepadv export --columns step_no rl.steps_rtmc | grep -c step_no || status=1
			fi
			$pg/pg_ctl -D \$d/data -m fast -w stop >/dev/null
			rm -rf \$d
			exit \$status"
	'
}

use()
{
	local pg

	pg=$(within "$dir/bare" 'dpkg -L "$(dpkg-query -W -f "\${Package}\n" "postgresql-*-stepadv" | tail -n 1)"' | sed -n 's|^\(/usr/lib/postgresql/[0-9]*\)/lib/stepadv.so$|\1|p') &&
		[ -n "$pg" ] && use_in "$dir/bare" "$pg/bin"
}

remove()
{
	within "$dir/bare" 'apt-get purge -y -qq "?name(postgresql-.*-stepadv)" stepadv-client
		! find /usr/lib/postgresql /usr/share/postgresql /usr/share/doc /usr/bin /usr/lib/python3 -path "*stepadv*" | grep .'
}

# Stands in for the base image of the Dockerfile: a bare root with the distribution's server.
new_image()
{
	new_root "$1" && within "$1" '
		apt-get update -qq
		apt-get install -y -qq --no-install-recommends postgresql
		mkdir -p /docker-entrypoint-initdb.d'
}

# Follows the instructions of the Dockerfile; each FROM begins a root, the last of which
# is $dir/image.
follow_dockerfile()
{
	local image=$dir/image instruction words from target pg=

	rm -rf "$image" "$image-before"
	while read -r instruction words <&3; do
		case $instruction in
			FROM)
				[ ! -e "$image" ] || mv "$image" "$image-before"
				new_image "$image" || return 1
				pg=$(ls "$image/usr/lib/postgresql") ;;
			COPY)
				case $words in
					--from=*) read -r _ from target <<<"$words" && cp -a "$image-before$from/." "$image$target" ;;
					'. '*) copy_source "$image${words#. }" ;;
				esac || return 1 ;;
			RUN) within "$image" "PG=$pg; $words" || return 1 ;;
			ARG) ;;
			*) echo "unknown instruction: $instruction"; return 1 ;;
		esac
	done 3< <(grep -v '^#' "$top/docs/Dockerfile" | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' | grep .)
}

dockerfile() { follow_dockerfile && use_in "$dir/image" "/usr/lib/postgresql/$(ls "$dir/image/usr/lib/postgresql")/bin"; }

mkdir -p "$dir"
: >"$log"
wants() { case " ${ONLY:-source debian docker} " in *" $1 "*) true ;; *) false ;; esac; }

if wants source; then
	check "builds in all folders are equal" same_builds
	check "all folders install the same files, uninstall removes them" same_installs
	check "the archive meets PGXN's specification and can be installed" archive
	rm -rf "$dir/archive" "$dir/a folder" "$dir/source" "$dir/beside" "$dir/root"
fi
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
	echo "skipped: packages in a bare root, which need root privileges and debootstrap"
	ONLY=skipped
fi
if wants debian && rm -f "$dir"/*.deb && check "packages are built in a bare root" build && [ "$failed" = 0 ]; then
	check "lintian reports nothing" look
	check "pip installs the client" client_by_pip
	check "the packages can be installed in a bare root" install
	check "and used: rollouts, advantages, programs" use
	check "and removed without remains" remove
	ls -l "$dir"/*.deb | awk '{ print $5, $NF }'
	rm -rf "$dir/builder" "$dir/bare"
fi
if wants docker; then
	check "the instructions of docs/Dockerfile make a server with the extension" dockerfile
	rm -rf "$dir/image" "$dir/image-before"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
