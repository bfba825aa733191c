# gpucol: builds with PGXS.  `make demo` and `make test` do all set-up
# themselves (see README.md); `make help` lists the targets.

# Goals that scripts serve: PostgreSQL may not be installed yet.
SCRIPTED = help setup test demo demo-stop analyse bench fuzz check-core check-versions check-major check-sanitize check-arm check-deb cuda deb

ifneq (,$(filter $(SCRIPTED),$(MAKECMDGOALS)))

.PHONY: $(SCRIPTED)

help:
	@sed -n 's/^#@ //p' Makefile

#@ make                 build the extension for the PostgreSQL of PG_CONFIG
#@ make install         install it there
#@ make setup           install what is missing on Debian 12, build, install
setup:
	@tools/setup.sh

#@ make cuda            build the CUDA daemon: needs CUDA 13 with nvcc
cuda:
	@tools/cuda.sh

#@ make test            setup, then every test that needs no GPU
test:
	@test/run

#@ make demo            setup, then a tour on a private cluster that stays up
demo:
	@tools/demo.sh

#@ make demo-stop       stop the cluster of the tour
demo-stop:
	@tools/demo.sh stop

#@ make bench           measure against heap (and DuckDB where python3 has it)
bench:
	@test/bench/run

#@ make fuzz SECONDS=600  attack a private server for that long (test/fuzz/README)
fuzz:
	@test/fuzz/run "$(or $(SECONDS),600)" "$(SEED)" $(PARTS)

#@ make check-core      PostgreSQL's own regression suites over gpucol tables
check-core:
	@test/core/run

#@ make check-versions  compile against the headers of PostgreSQL 16, 17, 18
check-versions:
	@tools/check-versions.sh

#@ make check-major MAJOR=18   build PostgreSQL 16, 17 or 18 from source, test on it
check-major:
	@tools/check-major.sh $(MAJOR)

#@ make check-sanitize   the regression tests under the address and undefined behaviour sanitizers
check-sanitize:
	@tools/sanitize.sh regress

#@ make deb             Debian packages of the extension and of the daemon, in build/deb
deb:
	@tools/deb.sh

#@ make check-deb       install, use, upgrade and remove these packages in a fresh Debian 12
check-deb:
	@tools/check-deb.sh

#@ make check-arm       cross-compile for 64-bit ARM, run the unit tests under qemu-user
check-arm:
	@tools/check-arm.sh

#@ make analyse          clang's and gcc's static analysers over src
analyse:
	@tools/analyse.sh

else

MODULE_big = gpucol
EXTENSION = gpucol
EXTVERSION = 0.2
DATA_built = sql/gpucol--$(EXTVERSION).sql
# Earlier versions, and the ways from each to the next.
DATA = $(sort $(wildcard sql/versions/*.sql))

SRCS = $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c))
OBJS = $(SRCS:.c=.o)

PG_CONFIG ?= pg_config
PG_CPPFLAGS = -isystem $(shell $(PG_CONFIG) --includedir-server) -I$(CURDIR)/src -MMD -MP
# Stacks are small in threads: no frame beyond 16 kB (sanitizers make them larger).
FRAMES = $(if $(findstring -fsanitize,$(COPT) $(CFLAGS)),,-Wframe-larger-than=16384)
PG_CFLAGS = -std=gnu11 -Wall -Wextra $(FRAMES) $(if $(WERROR),-Werror)
SHLIB_LINK = -llz4 -lm -lpthread

# Every file of test/sql and test/isolation/specs is scheduled.
REGRESS = $(sort $(basename $(notdir $(wildcard test/sql/*.sql))))
REGRESS_OPTS = --inputdir=test --load-extension=gpucol
ISOLATION = $(sort $(basename $(notdir $(wildcard test/isolation/specs/*.spec))))
ISOLATION_OPTS = --inputdir=test/isolation --outputdir=test/isolation --load-extension=gpucol

# Of folders that are no more, too.
EXTRA_CLEAN = sql/gpucol--$(EXTVERSION).sql $(shell find src -name '*.[do]')

# Do not build LLVM bitcode: nothing of gpucol is inlined into queries.
override with_llvm = no

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# What is left out is said, at the end of a build and of an installation.
all: say-daemon
say-daemon: $(shlib)
	@[ -x build/cuda/gpucol_gpud ] || echo "gpucol: without the CUDA daemon, so queries run on the CPU engine (make cuda builds it, with CUDA's nvcc)"
.PHONY: say-daemon

# The CUDA daemon, where cuda/ was built.
install: install-daemon
install-daemon:
	if [ -x build/cuda/gpucol_gpud ]; then \
		$(MKDIR_P) '$(DESTDIR)$(pkglibdir)' && \
		$(INSTALL_PROGRAM) build/cuda/gpucol_gpud '$(DESTDIR)$(pkglibdir)/'; fi
.PHONY: install-daemon

# The install script is the concatenation of its parts, in name order.
sql/gpucol--$(EXTVERSION).sql: $(sort $(wildcard sql/parts/*.sql)) tools/variants.awk
	awk -f tools/variants.awk $(filter %.sql,$^) > $@

# The loops of the CPU engine are written to be vectorised.
src/engine/cpu/%.o src/recursion/cpu/%.o: CFLAGS += -O3

# The unrolled kernels take a compiler minutes under sanitizers (tools/sanitize.sh).
src/kernel/bitpack_%.o: CFLAGS := $(filter-out -fsanitize%,$(CFLAGS))

# Headers that an object was compiled with; other flags rebuild everything.
$(OBJS): Makefile
-include $(OBJS:.o=.d)

endif
