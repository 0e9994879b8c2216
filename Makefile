# stepadv: PGXS for all, install, installcheck; shell scripts under test/ for
# the goals that must also work before any server is installed.

EXTENSION = stepadv
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" stepadv.control)

.PHONY: all deps check demo report bench fuzz dist

OWN_GOALS = deps check demo report bench fuzz dist

ifneq ($(filter $(OWN_GOALS),$(MAKECMDGOALS)),)

deps:
	@sh test/harness/deps.sh build

check:
	@bash test/harness/check.sh

demo:
	@ROLLOUTS='$(ROLLOUTS)' bash test/harness/demo.sh

# GROUP and OPTIONS (of stepadv-report) come by the environment too.
report:
	@ROLLOUTS='$(ROLLOUTS)' bash test/harness/report.sh

bench:
	@bash test/bench/run.sh

fuzz:
	@bash test/fuzz/run.sh

# The archive PGXN wants: one folder, made from the last commit.
dist:
	git archive --format zip --prefix=$(EXTENSION)-$(EXTVERSION)/ \
		-o $(EXTENSION)-$(EXTVERSION).zip HEAD

else

MODULE_big = stepadv
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c)))
LOCAL_HEADERS = $(wildcard src/*.h src/*/*.h src/*/*/*.h)

# The install script is the sql/NN-*.sql parts in the order of their numbers.
SQL_PARTS = $(sort $(wildcard sql/[0-9]*.sql))
DATA_built = sql/stepadv--$(EXTVERSION).sql
DATA = $(wildcard sql/stepadv--*--*.sql) $(sort $(wildcard sql/*.psql)) sql/stepadv-report.css
SCRIPTS = sql/stepadv-import sql/stepadv-report

REGRESS = $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --load-extension=stepadv
ISOLATION = $(sort $(patsubst test/specs/%.spec,%,$(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=. --load-extension=stepadv

# WERROR=1 and ASSERTS=1 are how `make check` builds; neither is for production.
# -ftree-vectorize would reorder no float sum, but -ffast-math would: never add it.
PG_CFLAGS = -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	$(if $(WERROR),-Werror) $(if $(ASSERTS),-DUSE_ASSERT_CHECKING)
PG_CPPFLAGS = -I$(CURDIR)/src
SHLIB_LINK = -lm
EXTRA_CLEAN = build sql/stepadv--$(EXTVERSION).sql

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq ($(wildcard $(PGXS)),)
$(error PostgreSQL's server headers are missing: run `make deps`, or set PG_CONFIG)
endif
include $(PGXS)

$(OBJS): $(LOCAL_HEADERS)

sql/stepadv--$(EXTVERSION).sql: $(SQL_PARTS) stepadv.control
	cat $(SQL_PARTS) > $@

endif
