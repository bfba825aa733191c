#!/bin/bash
# sanitize.sh [SUITE… | fuzz SECONDS [SEED] [PART…]]: test/run or test/fuzz/run over an
# extension built with the address and the undefined behaviour sanitizers.
#
# The server that PG_CONFIG names is copied, and its copy loads the sanitizers first;
# the extension is built for it in a copy of the tree, all in WORK/sanitize.  A report
# of a sanitizer in a server's log fails, whatever the tests say.  The memory that
# PostgreSQL's contexts give out has no red zones: what runs over there is not seen.

. "$(dirname "$0")/common.sh"
find_postgres || { "$(dirname "$0")/setup.sh" && find_postgres; } || exit 1

HOME_DIR=$WORK/sanitize
TREE=$HOME_DIR/source
MAJOR=$("$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
# The unrolled kernels of bit packing take the compiler minutes; their loads and stores
# are checked by the unit tests.  Alignment: x86 loads of packed values are not aligned.
SANITIZERS="-fsanitize=address,undefined -fno-sanitize=alignment -fno-omit-frame-pointer -fno-sanitize-recover=bounds -g -O1"

# A folder of the installation in the copy, under the same path, so that the server
# finds its files relative to itself.
copy_folder()
{
	mkdir -p "$HOME_DIR/root$(dirname "$1")"
	cp -r "$1" "$HOME_DIR/root$(dirname "$1")/"
}

# The server of the copy: the sanitizers are loaded into it and nothing else.  A frame
# that outlives its call is not looked for, as that moves frames off the stack whose
# depth PostgreSQL measures; leaks are not, as contexts end with the process.
wrap_server()
{
	local bin=$HOME_DIR/root$1

	mv "$bin/postgres" "$bin/postgres.server"
	# Libraries that allocate in their constructors must not find the sanitizer half made.
	echo '#include <stdlib.h>
		__attribute__((constructor)) static void early(void) { free(malloc(1)); }' |
		gcc -shared -fPIC -O0 -Wl,-z,initfirst -x c - -o "$HOME_DIR/early.so"
	cat >"$bin/postgres" <<END
#!/bin/bash
export LD_PRELOAD="$(gcc -print-file-name=libasan.so) $HOME_DIR/early.so"
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1:allocator_may_return_null=1:\$ASAN_OPTIONS
export UBSAN_OPTIONS=print_stacktrace=1:\$UBSAN_OPTIONS
exec -a "\$0" "\$(dirname "\$0")/postgres.server" "\$@"
END
	chmod +x "$bin/postgres"
}

copy_server()
{
	local folder

	rm -rf "$HOME_DIR/root"
	for folder in "$PGBIN" "$("$PG_CONFIG" --sharedir)" "$("$PG_CONFIG" --pkglibdir)" "$("$PG_CONFIG" --includedir-server)"; do
		[ -d "$HOME_DIR/root$folder" ] || copy_folder "$folder"
	done
	wrap_server "$PGBIN"
}

copy_tree()
{
	rm -rf "$TREE"
	mkdir -p "$TREE"
	tar -C "$ROOT" -c --exclude='*.o' --exclude='*.d' --exclude='*.so' --exclude='*.bc' --exclude='sql/gpucol--*' \
		Makefile gpucol.control README.md CHANGELOG.md src sql test expected tools demo docs | tar -C "$TREE" -x
	[ "$(id -u)" != 0 ] || chmod a+rx "$HOME_DIR" "$TREE"
}

# Reports of sanitizers and crashes in the servers' logs.
show_reports()
{
	find "$HOME_DIR" -name '*.log' -print0 |
		xargs -0 -r grep -hE 'ERROR: AddressSanitizer|runtime error:|TRAP: |terminated by signal (4|6|7|8|11)\b' | sort | uniq -c || true
}

main()
{
	local status=0 reports

	say "a copy of PostgreSQL $MAJOR that loads the sanitizers, in $HOME_DIR"
	copy_server
	copy_tree
	export PG_CONFIG=$HOME_DIR/root$PGBIN/pg_config GPUCOL_CUDA=no GPUCOL_WORK=$HOME_DIR COPT="$SANITIZERS"
	if [ "${1:-}" = fuzz ]; then shift; "$TREE/test/fuzz/run" "$@" || status=1
	else "$TREE/test/run" "$@" || status=1
	fi
	reports=$(show_reports)
	[ -z "$reports" ] || { printf '%s\n' "$reports" "the sanitizers found mistakes"; status=1; }
	exit $status
}

[ $# -gt 0 ] || set -- regress
main "$@"
