# stepadv: PGXS for all, install, installcheck; shell scripts under test/ for
# the goals that must also work before any server is installed.

# Built in the source folder, or in any other:
#	make -f ../stepadv/Makefile VPATH=../stepadv
here := $(if $(VPATH),$(VPATH)/)
sources = $(patsubst $(here)%,%,$(sort $(wildcard $(addprefix $(here),$(1)))))

EXTENSION = stepadv
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" '$(here)stepadv.control')

.PHONY: all deps server check check-all check-package demo report viewer reference bench credit credit-history learn fuzz dist release begin

OWN_GOALS = deps server check check-all check-package demo report viewer reference bench credit credit-history learn fuzz dist release begin

ifneq ($(filter $(OWN_GOALS),$(MAKECMDGOALS)),)

# PG=17, PG='15 17', PG=all: with which versions of PostgreSQL; else that of PG_CONFIG.
deps:
	@PG='$(PG)' sh test/harness/deps.sh build

# A server that watches over its memory, to check against: docs/internals/testing.md.
server:
	@SOURCE='$(SOURCE)' PREFIX='$(PREFIX)' SANITIZE='$(SANITIZE)' sh test/harness/server.sh

# Memory of contexts is not given back piece by piece, and leaks are counted by that;
# and the server measures its stack by addresses, which frames elsewhere would upset.
# All its programs read this, pg_config too.
check check-all: export ASAN_OPTIONS ?= detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1:disable_coredump=1
check check-all: export UBSAN_OPTIONS ?= print_stacktrace=1:abort_on_error=1

# Of what takes long a sample; check-all: all of it.
check-all: export ALL = 1
check check-all:
	@$(if $(PG),PG='$(PG)' bash test/harness/versions.sh,bash test/harness/check.sh)

# The Debian packages, built, installed and used in bare roots.
check-package:
	@bash test/package/run.sh

demo:
	@ROLLOUTS='$(ROLLOUTS)' bash test/harness/demo.sh

# OPTIONS are those of stepadv report.
report:
	@ROLLOUTS='$(ROLLOUTS)' OPTIONS='$(OPTIONS)' bash test/harness/report.sh

# The viewer of reports, of client/report, which needs npm.
viewer:
	@sh test/harness/viewer.sh

# The pages of docs/reference, from the comments of the objects.
reference:
	@bash test/harness/reference.sh

bench:
	@bash test/bench/run.sh

# How well methods give credit where the truth is known: docs/results/credit.md.
credit:
	@bash test/credit/run.sh

# And when the policy has moved since a history was made.
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

# The install script is the parts that sql/order names, in its order.  Those of releases are
# frozen: they are installed too, and the scripts that lead from one to the next.
# That to the version under development is what was written by hand, and behind it
# the functions of the parts.
SQL_PARTS := $(addprefix sql/,$(shell cat '$(here)sql/order'))
# A part that names what a later one creates is refused, but in these rooms.
BEING_REWRITTEN =
FROZEN = $(call sources,sql/releases/stepadv--$(EXTVERSION).sql)
BY_HAND = $(if $(FROZEN),,$(call sources,sql/releases/stepadv--*--$(EXTVERSION).sql))
UPDATES = $(subst /releases/,/,$(BY_HAND))
DATA_built = sql/stepadv--$(EXTVERSION).sql $(UPDATES)
DATA = $(filter-out $(FROZEN) $(BY_HAND),$(call sources,sql/releases/stepadv--*.sql))

# TESTS and SPECS pick some for installcheck, as for check.
REGRESS = $(or $(TESTS),$(patsubst test/sql/%.sql,%,$(call sources,test/sql/*.sql)))
REGRESS_OPTS = --inputdir=$(here)test --launcher=$(here)test/harness/psql.sh --load-extension=stepadv
ISOLATION = $(or $(SPECS),$(patsubst test/specs/%.spec,%,$(call sources,test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=$(here)test --outputdir=. --launcher=$(here)test/harness/isolationtester.sh --load-extension=stepadv

# WERROR=1 and ASSERTS=1 are how `make check` builds; neither is for production.  Nor are
# SANITIZE=undefined, with which undefined behavior ends the server, and
# SANITIZE=address; gcc then knows less of what is written before it is read.
# A field that a table of parameters or columns does not name is 0, and is meant to be.
# -ftree-vectorize would reorder no float sum, but -ffast-math would: never add it.
# C11; the headers of 19 use what their compiler has beyond it.
PG_CFLAGS = $(if $(filter 14 15 16 17 18,$(MAJORVERSION)),-std=gnu11) -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	$(if $(WERROR),-Werror) $(if $(ASSERTS),-DUSE_ASSERT_CHECKING) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized)
# Floats of 64 bits are calculated in 64 bits everywhere: the processor's older unit,
# which compilers for 32-bit x86 use by default, rounds twice.
PG_CFLAGS += $(if $(filter i386 i486 i586 i686,$(host_cpu)),-msse2 -mfpmath=sse)
# A server that gcc compiled hands down flags and attributes that only gcc supports.
PG_CFLAGS += $(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),-Wno-ignored-optimization-argument -Wno-unknown-warning-option -Wno-ignored-attributes)
# No built file contains the path of the build folder.
PG_CFLAGS += '-ffile-prefix-map=$(CURDIR)=.' $(if $(here),'-ffile-prefix-map=$(here)=')
PG_CPPFLAGS = -I$(here)src
# -Bsymbolic: functions of the library itself are not looked up in all others when a session or a worker loads it.
# From 16 on the server hands down -fvisibility=hidden, which does the same.
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

# A build in another folder has the source's folders.
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
