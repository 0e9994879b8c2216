# PGXS makes all, install and installcheck.  The other goals run scripts, since they
# must work before a server is installed.

# Built in the source folder, or in any other:
#	make -f ../stepadv/Makefile VPATH=../stepadv
here := $(if $(VPATH),$(VPATH)/)
sources = $(patsubst $(here)%,%,$(sort $(wildcard $(addprefix $(here),$(1)))))

EXTENSION = stepadv
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" '$(here)stepadv.control')

.PHONY: all deps server check check-all check-package demo report viewer reference bench credit credit-history learn fuzz dist release begin

OWN_GOALS = deps server check check-all check-package demo report viewer reference bench credit credit-history learn fuzz dist release begin

ifneq ($(filter $(OWN_GOALS),$(MAKECMDGOALS)),)

# PG=17 or PG='15 17': the versions of PostgreSQL.  The default is that of PG_CONFIG.
deps:
	@PG='$(PG)' sh test/harness/deps.sh build

# A server with memory checks, to test against: docs/internals/testing.md.
server:
	@SOURCE='$(SOURCE)' PREFIX='$(PREFIX)' SANITIZE='$(SANITIZE)' sh test/harness/server.sh

# The server does not free every piece of memory before it exits, which would count as
# leaks; and it measures stack depth by addresses, which fake stacks would falsify.
# All its programs read these options, even pg_config.
check check-all: export ASAN_OPTIONS ?= detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1:disable_coredump=1
check check-all: export UBSAN_OPTIONS ?= print_stacktrace=1:abort_on_error=1

# check runs a sample of the long tests, check-all runs all of them.
check-all: export ALL = 1
check check-all:
	@$(if $(PG),PG='$(PG)' bash test/harness/versions.sh,bash test/harness/check.sh)

# The Debian packages, built, installed and used in bare roots.
check-package:
	@bash test/package/run.sh

demo:
	@ROLLOUTS='$(ROLLOUTS)' bash test/harness/demo.sh

# OPTIONS: options of stepadv report.
report:
	@ROLLOUTS='$(ROLLOUTS)' OPTIONS='$(OPTIONS)' bash test/harness/report.sh

# The viewer of reports, built from client/report with npm.
viewer:
	@sh test/harness/viewer.sh

# The pages of docs/reference, from the comments of the objects.
reference:
	@bash test/harness/reference.sh

bench:
	@bash test/bench/run.sh

# How well methods assign credit if the true credit is known: docs/results/credit.md.
credit:
	@bash test/credit/run.sh

# The same with a history of rollouts of an earlier policy.
credit-history:
	@bash test/credit/history.sh

# Do agents learn faster?  docs/results/learning.md.
learn:
	@bash test/learn/run.sh

fuzz:
	@bash test/fuzz/run.sh

# How a release is made: docs/internals/releases.md.
release:
	@SIGN='$(SIGN)' sh sql/release.sh release

begin:
	@sh sql/release.sh begin '$(VERSION)'

# The archive PGXN wants: one folder, made from the last commit.
dist:
	git archive --format zip --prefix=stepadv-$(EXTVERSION)/ -o stepadv-$(EXTVERSION).zip HEAD

else

MODULE_big = stepadv
OBJS = $(patsubst %.c,%.o,$(call sources,src/*.c src/*/*.c src/*/*/*.c))
LOCAL_HEADERS = $(call sources,src/*.h src/*/*.h src/*/*/*.h)

# The install script is the parts that sql/order names, in its order.  Install scripts of
# releases are frozen; they and the update scripts between them are installed too.
# The update script to the version under development is a file written by hand, followed
# by the functions of the parts.
SQL_PARTS := $(addprefix sql/,$(shell cat '$(here)sql/order'))
# Folders in which a part may name objects that a later part creates; elsewhere it may not.
BEING_REWRITTEN =
FROZEN = $(call sources,sql/releases/stepadv--$(EXTVERSION).sql)
BY_HAND = $(if $(FROZEN),,$(call sources,sql/releases/stepadv--*--$(EXTVERSION).sql))
UPDATES = $(subst /releases/,/,$(BY_HAND))
DATA_built = sql/stepadv--$(EXTVERSION).sql $(UPDATES)
DATA = $(filter-out $(FROZEN) $(BY_HAND),$(call sources,sql/releases/stepadv--*.sql))

# TESTS and SPECS select tests for installcheck, as for check.
REGRESS = $(or $(TESTS),$(patsubst test/sql/%.sql,%,$(call sources,test/sql/*.sql)))
REGRESS_OPTS = --inputdir=$(here)test --launcher=$(here)test/harness/psql.sh --load-extension=stepadv
ISOLATION = $(or $(SPECS),$(patsubst test/specs/%.spec,%,$(call sources,test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=$(here)test --outputdir=. --launcher=$(here)test/harness/isolationtester.sh --load-extension=stepadv

# Not for production: WERROR=1 and ASSERTS=1, with which `make check` builds, and SANITIZE=,
# with which undefined behavior or a memory error ends the server.  With a sanitizer, gcc
# warns falsely of uninitialized variables.  Tables of parameters and columns leave out
# fields that are 0, hence -Wno-missing-field-initializers.
# Never add -ffast-math: it reorders sums of floats.  (-ftree-vectorize does not.)
# C11, but 19 with the compiler's default, which its headers need.
PG_CFLAGS = $(if $(filter 14 15 16 17 18,$(MAJORVERSION)),-std=gnu11) -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	$(if $(WERROR),-Werror) $(if $(ASSERTS),-DUSE_ASSERT_CHECKING) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized)
# For 32-bit x86, compilers use the x87 unit by default, which rounds a double twice;
# SSE rounds as all other platforms do.
PG_CFLAGS += $(if $(filter i386 i486 i586 i686,$(host_cpu)),-msse2 -mfpmath=sse)
# Flags and headers of a server built with gcc have options and attributes unknown to clang.
PG_CFLAGS += $(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),-Wno-ignored-optimization-argument -Wno-unknown-warning-option -Wno-ignored-attributes)
# Keep the path of the build folder out of built files.
PG_CFLAGS += '-ffile-prefix-map=$(CURDIR)=.' $(if $(here),'-ffile-prefix-map=$(here)=')
PG_CPPFLAGS = -I$(here)src
# -Bsymbolic: a session or worker that loads the library need not look up its own functions in other libraries.
# From 16 on, the server's flags include -fvisibility=hidden, which does the same.
comma = ,
SHLIB_LINK = -lm $(if $(filter linux%,$(host_os)),-Wl$(comma)-Bsymbolic) $(if $(SANITIZE),-fsanitize=$(SANITIZE))
EXTRA_CLEAN = build

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq ($(wildcard $(PGXS)),)
$(error PostgreSQL's server headers are missing: run `make deps`, or set PG_CONFIG)
endif
include $(PGXS)

$(OBJS): $(LOCAL_HEADERS)

# A build in another folder needs the folders of the source.
ifneq ($(VPATH),)
$(shell mkdir -p $(sort $(dir $(OBJS) $(DATA_built))))
endif

sql/stepadv--$(EXTVERSION).sql: sql/order sql/check_order.awk $(SQL_PARTS) $(FROZEN) stepadv.control Makefile
	@awk -v except='$(BEING_REWRITTEN)' -f $(here)sql/check_order.awk $(addprefix $(here),$(SQL_PARTS))
	cat $(addprefix $(here),$(SQL_PARTS)) > $@
	@sh $(here)sql/release.sh same '$(CURDIR)/$@'

$(filter sql/%,$(UPDATES)): sql/%: sql/releases/% $(SQL_PARTS) sql/functions.awk
	{ cat $< && awk -f $(here)sql/functions.awk $(addprefix $(here),$(SQL_PARTS)); } > $@ || { rm -f $@; exit 1; }

endif
