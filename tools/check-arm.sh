#!/bin/bash
# check-arm.sh: the extension and its unit tests for 64-bit ARM, on x86-64 Debian 12.
#
# Debian's cross compiler builds every source file, warnings as errors, against the ARM
# headers of PostgreSQL 15 and links the library; the unit tests run under qemu-user.
# Compilers and emulator are installed with apt-get.  ARM's headers and lz4 are unpacked
# into build/arm, by package lists of their own: the machine gets no second architecture.
# `check-arm.sh compile` leaves the unit tests out.

. "$(dirname "$0")/common.sh"

ARM=$ROOT/build/arm
SYSROOT=$ARM/root
TOOLS="gcc-aarch64-linux-gnu:aarch64-linux-gnu-gcc
g++-aarch64-linux-gnu:aarch64-linux-gnu-g++
libc6-dev-arm64-cross:/usr/aarch64-linux-gnu/include/stdio.h
qemu-user:qemu-aarch64"
PACKAGES="liblz4-dev liblz4-1 postgresql-server-dev-15"

missing_tools()
{
	local entry

	for entry in $TOOLS; do
		[ -e "${entry#*:}" ] || command -v "${entry#*:}" >/dev/null || echo "${entry%%:*}"
	done
}

install_tools()
{
	local missing

	missing=$(missing_tools)
	[ -n "$missing" ] || return 0
	say "installing with apt-get:" $missing
	# shellcheck disable=SC2086
	{ as_root apt-get -q update &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $missing; } \
		>"$ARM/apt.log" 2>&1 || die "apt-get could not install them; see $ARM/apt.log"
}

# ARM's packages, unpacked where only this script looks.
unpack_packages()
{
	local lists=$ARM/lists deb
	local options=(-q -oAPT::Architecture=arm64 -oAPT::Architectures=arm64 -oDir::State::Lists="$lists"
		-oDir::State::status=/dev/null -oDir::Cache::pkgcache= -oDir::Cache::srcpkgcache=
		-oAPT::Sandbox::User=root)

	[ ! -e "$SYSROOT/ready" ] || return 0
	mkdir -p "$lists/partial" "$SYSROOT" "$ARM/packages"
	# shellcheck disable=SC2086
	(cd "$ARM/packages" && apt-get "${options[@]}" update &&
		apt-get "${options[@]}" download $PACKAGES) >"$ARM/packages.log" 2>&1 ||
		die "ARM's packages are not to be had; see $ARM/packages.log"
	for deb in "$ARM"/packages/*.deb; do
		dpkg -x "$deb" "$SYSROOT"
	done
	touch "$SYSROOT/ready"
}

# Every file, then the library.
compile_extension()
{
	local flags=(-std=gnu11 -O2 -fPIC -Wall -Wextra -Werror -Wframe-larger-than=16384 -D_GNU_SOURCE
		-isystem "$SYSROOT/usr/include" -isystem "$SYSROOT/usr/include/postgresql/15/server" -I"$ROOT/src")
	local objects=$ARM/objects

	rm -rf "$objects"
	mkdir -p "$objects"
	(cd "$ROOT" && find src -name '*.c' -print0) | (cd "$ROOT" && xargs -0 -P "$(nproc)" -I FILE sh -c '
		file=$1 out=$2/$(echo "$1" | tr / _).o; shift 2
		exec aarch64-linux-gnu-gcc "$@" -c "$file" -o "$out"' sh FILE "$objects" "${flags[@]}") ||
		die "some files do not compile for ARM"
	aarch64-linux-gnu-gcc -shared -o "$ARM/gpucol.so" "$objects"/*.o \
		-L"$SYSROOT/usr/lib/aarch64-linux-gnu" -llz4 -lm -lpthread
	say "the extension compiles for 64-bit ARM: $(find "$objects" -name '*.o' | wc -l) files"
}

# The emulator now and then ends a process that was forked beside threads, and a test
# with it: a program that failed is run again, twice at most.  Damaged segments take it minutes of a
# core, so that only a program that hangs meets the limit.
write_emulator()
{
	cat >"$ARM/emulate" <<-EOF
		#!/bin/sh
		for try in 1 2 3; do
			timeout 3600 qemu-aarch64 -L /usr/aarch64-linux-gnu \\
				-E LD_LIBRARY_PATH="$SYSROOT/usr/lib/aarch64-linux-gnu" "\$@" >"$ARM/output" 2>&1 && break
		done
		status=\$?
		cat "$ARM/output"
		exit \$status
	EOF
	chmod +x "$ARM/emulate"
}

run_unit_tests()
{
	local flags="-isystem $SYSROOT/usr/include -L$SYSROOT/usr/lib/aarch64-linux-gnu"

	write_emulator
	say "running the unit tests under qemu-aarch64"
	make -s -j"$(nproc)" -C "$ROOT/test/unit" check SANITIZE= B="$ARM/unit" RUN="$ARM/emulate" \
		CC="aarch64-linux-gnu-gcc $flags" CXX="aarch64-linux-gnu-g++ $flags" AR=aarch64-linux-gnu-ar
}

mkdir -p "$ARM"
install_tools
unpack_packages
compile_extension
[ "${1:-}" = compile ] || run_unit_tests
