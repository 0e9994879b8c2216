#!/bin/sh
# Installs missing packages, as root or by password-less sudo; otherwise
# prints the command to run and fails.  Usage: deps.sh build|test|demo
# PG='15 17' in the environment installs for each of these versions.
# For Debian and Ubuntu.  Elsewhere: PostgreSQL 14+ with PGXS, xxHash >= 0.8.
set -eu

want=${1:-build}
# With several versions, one after another: the other packages are the same for all.
case ${PG:-} in
	*' '*)
		for version in $PG; do
			PG=$version sh "$0" "$want" || exit 1
		done
		exit 0 ;;
	''|all) version=; pg_config=${PG_CONFIG:-pg_config} ;;
	*) version=$PG; pg_config=/usr/lib/postgresql/$PG/bin/pg_config ;;
esac

# Client packages may have the makefiles, but not the server's headers.
has_pgxs()
{
	pgxs=$("$pg_config" --pgxs 2>/dev/null) && [ -f "$pgxs" ] &&
		[ -f "$("$pg_config" --includedir-server)/postgres.h" ]
}

has_server()
{
	bindir=$("$pg_config" --bindir 2>/dev/null) && [ -x "$bindir/initdb" ] && [ -x "$bindir/postgres" ]
}

has_header()
{
	echo "#include <$1>" | ${CC:-cc} -E -x c - >/dev/null 2>&1
}

# Major version of the distribution's own PostgreSQL, e.g. 15 from "15+248".
distro_major()
{
	apt-cache policy postgresql 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9][0-9]*\).*/\1/p'
}

has_candidate()
{
	apt-cache policy "$1" 2>/dev/null | grep -q '^ *Candidate: *[0-9]'
}

missing_packages()
{
	# Use the version of an installed server, else the distribution's.
	if [ -n "$version" ]; then
		major=$version
	elif has_pgxs || has_server; then
		major=$("$pg_config" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	else
		major=$(distro_major)
	fi
	if ! has_pgxs; then
		# Before the first `apt-get update` a new machine has no list of packages.
		echo "postgresql-server-dev-${major:-all}"
	fi
	has_server || echo "postgresql-${major:-all}"
	has_header xxhash.h || echo libxxhash-dev
	command -v ${CC:-cc} >/dev/null || echo gcc
	case $want in
		test|demo)
			command -v psql >/dev/null || echo "postgresql-client-${major:-all}"
			# A test cluster must not run as root.
			[ "$(id -u)" != 0 ] || command -v runuser >/dev/null || echo util-linux
			# For the client, which runs with the distribution's Python.  Ubuntu 22.04 has no such package.
			/usr/bin/python3 -c 'import psycopg' 2>/dev/null ||
				{ [ -n "$(distro_major)" ] && ! has_candidate python3-psycopg; } || echo python3-psycopg
			;;
	esac
	case $want in
		test)
			perl -MIPC::Run -e 1 2>/dev/null || echo libipc-run-perl
			command -v prove >/dev/null || echo perl
			;;
	esac
	case $want in
		test|demo)
			command -v dot >/dev/null || echo graphviz
			# Builds the viewer of reports.
			command -v npm >/dev/null || echo npm
			;;
	esac
}

unknown_version()
{
	[ -n "$version" ] && ! has_candidate "postgresql-$version"
}

# Optional: without these, tests are skipped.  Some distributions lack a package.
optional_packages()
{
	case $want in
		test)
			command -v chromium >/dev/null || command -v google-chrome >/dev/null ||
				! has_candidate chromium || echo chromium
			python3 -c 'import psycopg2' 2>/dev/null || /usr/bin/python3 -c 'import psycopg2' 2>/dev/null ||
				! has_candidate python3-psycopg2 || echo python3-psycopg2
			;;
	esac
}

if [ -z "$(missing_packages)" ] && [ -z "$(optional_packages)" ]; then
	exit 0
fi

if ! command -v apt-get >/dev/null; then
	echo "stepadv: missing: $(missing_packages | tr '\n' ' ')(names of the Debian packages)" >&2
	exit 1
fi

if [ "$(id -u)" = 0 ]; then
	sudo=
elif sudo -n true 2>/dev/null; then
	# sudo does not pass on environment variables.
	sudo='sudo -n env DEBIAN_FRONTEND=noninteractive'
elif [ -z "$(missing_packages)" ]; then
	exit 0
else
	echo "stepadv: packages are missing; run" >&2
	echo "    sudo apt-get update && sudo apt-get install -y $(missing_packages | tr '\n' ' ')" >&2
	exit 1
fi

# A missing optional package is not an error.
$sudo apt-get update -qq || [ -z "$(missing_packages)" ] || exit 1
if ! { has_pgxs && has_server; } && unknown_version; then
	echo "stepadv: this distribution has no postgresql-$version; https://wiki.postgresql.org/wiki/Apt describes a repository with all versions" >&2
	exit 1
fi
echo "stepadv: installing" $(missing_packages) $(optional_packages)
# Packages from a release that apt uses only on request, such as Debian's experimental, depend on others from there.
release=$([ -z "$version" ] || apt-cache policy "postgresql-$version" | sed -n 's|^ *1 [^ ]* \([^/ ]*\)/.*|\1|p' | head -n 1)
# Postgres packages would create and start a cluster, which is not needed here.
export DEBIAN_FRONTEND=noninteractive
if [ -z "$(command -v pg_createcluster || true)" ]; then
	$sudo mkdir -p /etc/postgresql-common
	[ -e /etc/postgresql-common/createcluster.conf ] ||
		echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
if [ -n "$(missing_packages)" ]; then
	$sudo apt-get install -y -qq --no-install-recommends ${release:+-t "$release"} $(missing_packages) >/dev/null
fi
if [ -n "$(missing_packages)" ]; then
	# Only after the first round may the version be known.
	$sudo apt-get install -y -qq --no-install-recommends ${release:+-t "$release"} $(missing_packages) >/dev/null
fi
if [ -n "$(missing_packages)" ]; then
	echo "stepadv: still missing after the installation: $(missing_packages | tr '\n' ' ')" >&2
	exit 1
fi
if [ -n "$(optional_packages)" ]; then
	$sudo apt-get install -y -qq --no-install-recommends $(optional_packages) >/dev/null || true
fi
