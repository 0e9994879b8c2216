#!/bin/sh
# make release; make begin VERSION=…: see docs/internals/releases.md.
#
#   release         releases the version under development: freezes its install
#                   script in releases/, sets the date, commits and tags
#   begin VERSION   commits VERSION-dev as the version under development
#   same FILE       fails if the joined script FILE (an absolute path, since it may be
#                   in a build directory) differs from the frozen script of its version
set -eu
LC_ALL=C
export LC_ALL

cd "$(dirname "$0")/.."
releases=sql/releases
# Debian and RPM sort ~dev before the release, but not -dev.
tilde() { echo "$1" | tr - '~'; }

fail()
{
	echo "stepadv: $*" >&2
	exit 1
}

parts() { sed 's|^|sql/|' sql/order; }
version=$(sed -n "s/^default_version *= *'\(.*\)'/\1/p" stepadv.control)
last_frozen() { ls $releases 2>/dev/null | sed -n 's/^stepadv--\([0-9.]*\)\.sql$/\1/p' | sort -V | tail -n 1; }

edit()
{
	file=$1
	shift
	sed -i.old "$@" "$file"
	rm "$file.old"
}

# Sets the version in every file that has it.
set_version()
{
	edit stepadv.control "s/^default_version = .*/default_version = '$1'/"
	edit META.json -e "/meta-spec/!s/\"version\": \"$version\"/\"version\": \"$1\"/" -e "s/\(\"release_status\": \)\"[a-z]*\"/\1\"$2\"/"
	edit client/stepadv/__init__.py "s/^__version__ = .*/__version__ = \"$1\"/"
}

commit()
{
	git add -A
	git commit -q -m "$1"
}

require_clean() { [ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed"; }

release()
{
	case $version in *-dev) ;; *) fail "$version is a release, which does not change: make begin VERSION=…" ;; esac
	require_clean
	dev=$version
	next=${dev%-dev}
	last=$(last_frozen)
	grep -qxF "## $next (unreleased)" CHANGELOG.md || fail "CHANGELOG.md has no line \"## $next (unreleased)\""
	[ ! -e "$releases/stepadv--$next.sql" ] || fail "$next is frozen"
	[ -z "$last" ] || [ -e "$releases/stepadv--$last--$dev.sql" ] ||
		fail "no update leads from $last to $dev: $releases/stepadv--$last--$dev.sql is missing"
	mkdir -p $releases
	cat $(parts) >"$releases/stepadv--$next.sql"
	# Freeze the update script from the last release, too.
	if [ -n "$last" ]; then
		{ sed "s/$dev/$next/g" "$releases/stepadv--$last--$dev.sql" && awk -f sql/functions.awk $(parts); } >"$releases/stepadv--$last--$next.sql"
		rm "$releases/stepadv--$last--$dev.sql"
	fi
	cat >"$releases/stepadv--$dev--$next.sql" <<-SQL
		-- No commit before the release has a known catalog to begin with.
		\\echo Use "ALTER EXTENSION stepadv UPDATE TO '$next'" to load this file. \\quit

		DO \$\$ BEGIN RAISE EXCEPTION 'version $dev of stepadv was under development and cannot be updated'
			USING ERRCODE = 'feature_not_supported', HINT = 'Drop the extension, create it anew, and attach again.'; END \$\$;
	SQL
	edit CHANGELOG.md "s/^## $next (unreleased)\$/## $next ($(date -u +%Y-%m-%d))/"
	edit debian/changelog -e "1s/.*/stepadv ($next-1) unstable; urgency=medium/" -e '1,/^ -- /s/^  \* .*/  * Release; CHANGELOG.md has what is new./' \
		-e "1,/^ -- /s/^\( -- .*>  \).*/\1$(date -u +'%a, %d %b %Y %H:%M:%S +0000')/"
	edit docs/stepadv.spec "s/^%changelog\$/&\n* $(date -u +'%a %b %d %Y') the stepadv maintainers <maintainers@stepadv.invalid> - $next-1\n- Release; CHANGELOG.md has what is new./"
	set_version "$next" stable
	commit "stepadv $next"
	git tag ${SIGN:+-s} -a -m "stepadv $next" "v$next"
	echo "v$next: git push origin HEAD v$next; make dist; make begin VERSION=…"
}

begin()
{
	next=$1
	echo "$next" | grep -qxE '[0-9]+\.[0-9]+\.[0-9]+' || fail "VERSION must be given, such as 1.1.0"
	[ "$next" != "$version" ] && [ "$(printf '%s\n' "$version" "$next" | sort -V | tail -n 1)" = "$next" ] ||
		fail "$next does not follow $version"
	[ -e "$releases/stepadv--$version.sql" ] || fail "$version is not released: make release"
	require_clean
	cat $(parts) | cmp -s - "$releases/stepadv--$version.sql" || fail "the parts are no longer those of $version"
	dev=$next-dev
	cat >"$releases/stepadv--$version--$dev.sql" <<-SQL
		-- Makes of an installed stepadv $version what the parts of $dev make.
		-- complain if script is sourced in psql, rather than via ALTER EXTENSION
		\\echo Use "ALTER EXTENSION stepadv UPDATE TO '$dev'" to load this file. \\quit

		-- Written by hand: what is no function, and functions whose parameters or
		-- results are others now.  All functions and comments of the parts follow.
		SET LOCAL search_path = pg_catalog, pg_temp;
	SQL
	edit CHANGELOG.md "/^## $version (/i\\
## $next (unreleased)\\
"
	{
		printf 'stepadv (%s-1) UNRELEASED; urgency=medium\n\n  * Version under development; CHANGELOG.md has what is new.\n\n' "$(tilde "$dev")"
		printf ' -- the stepadv maintainers <maintainers@stepadv.invalid>  %s\n\n' "$(date -u +'%a, %d %b %Y %H:%M:%S +0000')"
		cat debian/changelog
	} >debian/changelog.new
	mv debian/changelog.new debian/changelog
	set_version "$dev" unstable
	commit "Version $dev"
}

same()
{
	frozen=$releases/$(basename "$1")
	if [ -e "$frozen" ] && ! cmp "$1" "$frozen" >&2; then
		rm -f "$1"
		fail "$frozen is released and does not change: make begin VERSION=…, then write the update script"
	fi
}

case ${1:-} in
	release) release ;;
	begin) begin "${2:-}" ;;
	same) same "$2" ;;
	*) fail "release, begin VERSION or same FILE" ;;
esac
