#!/bin/sh
# make server SOURCE=/usr/src/postgresql-15.18 PREFIX=/opt/pg15-watched: a server with memory checks to test against: assertions, freed memory
# overwritten, new memory filled with random bytes, and annotations for Valgrind, or with SANITIZE=address the compiler's checks.
# SOURCE is PostgreSQL's unpacked source; CONFIGURE has more options for configure.

set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
if [ ! -x "${SOURCE:-}/configure" ] || [ -z "${PREFIX:-}" ]; then
	echo "stepadv: make server needs SOURCE=, the folder of PostgreSQL's source, and PREFIX=, where to install it" >&2
	exit 2
fi
SOURCE=$(cd "$SOURCE" && pwd)
headers=$PREFIX/include/stepadv-checkers
cflags='-O1 -g -fno-omit-frame-pointer'
cppflags='-DUSE_VALGRIND -DRANDOMIZE_ALLOCATED_MEMORY'
case ",${SANITIZE:-}," in
	*,address,*)
		# Programs that the build starts leak memory at exit.
		export ASAN_OPTIONS=detect_leaks=0
		cflags="$cflags -fsanitize=address"
		# Installed with the server, since extensions are compiled with its flags.
		mkdir -p "$headers/valgrind"
		cp "$top/test/harness/address/valgrind/memcheck.h" "$headers/valgrind/"
		cppflags="-DUSE_VALGRIND -I$headers"
		;;
	*)
		if ! echo '#include <valgrind/memcheck.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1; then
			echo "stepadv: valgrind/memcheck.h is missing: the package valgrind has it" >&2
			exit 2
		fi
		;;
esac

# Tests use ICU and XML.
options=
for library in icu-i18n:--with-icu libxml-2.0:--with-libxml; do
	! pkg-config --exists "${library%:*}" 2>/dev/null || options="$options ${library#*:}"
done

# PostgreSQL's makefiles generate headers first only if no other make has called them.
unset MAKELEVEL MAKEFLAGS MFLAGS
build=$(mktemp -d "${TMPDIR:-/tmp}/stepadv-server.XXXXXX")
trap 'rm -rf "$build"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cd "$build"
{
	"$SOURCE/configure" -q --prefix="$PREFIX" --enable-cassert --enable-debug --enable-tap-tests --without-readline $options ${CONFIGURE:-} \
		CFLAGS="$cflags" CPPFLAGS="$cppflags" ${CC:+CC="$CC"} &&
		# Debian's source would install libraries over those of the distribution's server.
		sed -i.orig 's|^override pkglibdir := /.*|override pkglibdir := $(pkglibdir)/postgresql|' src/Makefile.global &&
		make -s -j"$(nproc 2>/dev/null || echo 2)" && make -s install && make -s -C contrib install
} >log 2>&1 || { tail -n 40 log >&2; echo "stepadv: PostgreSQL was not built" >&2; exit 2; }
# Valgrind's known findings in the server itself.
cp "$SOURCE/src/tools/valgrind.supp" "$("$PREFIX/bin/pg_config" --sharedir)/"
echo "make check PG=$PREFIX/bin/pg_config${SANITIZE:+ SANITIZE=$SANITIZE}"
