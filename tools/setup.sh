#!/bin/bash
# setup.sh: everything before the first server starts, on a fresh Debian 12.
#
# Installs what is missing with apt-get, builds the extension and installs it
# into the PostgreSQL that PG_CONFIG names.  WERROR=1 makes warnings errors.
# No cluster of the machine is created, started, stopped or read.

. "$(dirname "$0")/common.sh"

# Debian packages and a file that each one brings.
REQUIRED="make:/usr/bin/make
gcc:/usr/bin/gcc
xz-utils:/usr/bin/xz
liblz4-dev:/usr/include/lz4.h
libipc-run-perl:/usr/share/perl5/IPC/Run.pm
gdb-minimal:/usr/bin/gdb"

missing_packages()
{
	local entry

	for entry in $REQUIRED; do
		[ -e "${entry#*:}" ] || echo "${entry%%:*}"
	done
	find_postgres || printf '%s\n' postgresql-15 postgresql-server-dev-15
}

# Install packages, keeping Debian's package from making a main cluster.
install_packages()
{
	local conf=/etc/postgresql-common/createcluster.d made=

	command -v apt-get >/dev/null ||
		die "please install these first (there is no apt-get here): $*"
	say "installing with apt-get: $*"
	if [ ! -e $conf ]; then
		as_root mkdir -p $conf
		echo 'create_main_cluster = false' | as_root tee $conf/gpucol.conf >/dev/null
		made=1
	fi
	{
		as_root apt-get -q update &&
			as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
				--no-install-recommends install "$@"
	} >"$ROOT/build/apt.log" 2>&1 || {
		tail -n 20 "$ROOT/build/apt.log" >&2
		die "apt-get could not install these packages: $*"
	}
	if [ -n "$made" ]; then
		as_root rm -f $conf/gpucol.conf
		as_root rmdir --ignore-fail-on-non-empty $conf
	fi
}

# A tree last built for another PostgreSQL is cleaned first.
clean_if_other()
{
	local stamp=$ROOT/build/built-for now

	now="$PG_CONFIG $("$PG_CONFIG" --version)"
	if [ "$(cat "$stamp" 2>/dev/null)" != "$now" ]; then
		make -s -C "$ROOT" PG_CONFIG="$PG_CONFIG" clean >/dev/null
		echo "$now" > "$stamp"
	fi
}

build()
{
	say "building gpucol for $("$PG_CONFIG" --version)"
	clean_if_other
	make -s -j"$(nproc)" -C "$ROOT" PG_CONFIG="$PG_CONFIG" WERROR="${WERROR:-}" all
}

# The CUDA daemon has its own rules; everything else works without it, and
# GPUCOL_CUDA=no leaves it out.
build_cuda()
{
	[ "${GPUCOL_CUDA:-yes}" != no ] || return 0
	ls "$ROOT"/cuda/daemon/main.* >/dev/null 2>&1 || return 0
	if PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
		# where no device is, one architecture will do: it takes a quarter of the time
		ARCH=$(cuda_arch sm_90) "$ROOT/tools/cuda.sh"
	else
		say "no nvcc here: the CUDA daemon is not built, queries run on the CPU engine"
	fi
}

install_extension()
{
	local library

	library=$("$PG_CONFIG" --pkglibdir)
	say "installing gpucol into $library"
	if [ -w "$library" ]; then
		make -s -C "$ROOT" PG_CONFIG="$PG_CONFIG" install >/dev/null
	else
		as_root make -s -C "$ROOT" PG_CONFIG="$PG_CONFIG" install >/dev/null
	fi
}

mkdir -p "$ROOT/build"
missing=$(missing_packages)
[ -z "$missing" ] || install_packages $missing
find_postgres || die "PostgreSQL 15 with its server headers was not found after installation"
build
build_cuda
install_extension
