#!/bin/bash
# cluster.sh NAME init|start|stop|destroy|socket: a private cluster of gpucol.
#
# The cluster lives in WORK/NAME, listens on a Unix socket only and runs as
# PLAIN_USER; its superuser is called postgres.  `init` takes further lines of
# postgresql.conf as arguments and replaces an older cluster of that name.

. "$(dirname "$0")/common.sh"
find_postgres || die "run tools/setup.sh first"

NAME=${1:?name} COMMAND=${2:?command}
shift 2
HOME_DIR=$WORK/$NAME

# A socket path longer than 107 bytes is refused by the kernel.
socket_dir()
{
	if [ ${#HOME_DIR} -le 80 ]; then echo "$HOME_DIR/socket"
	else echo "/tmp/gpucol-$NAME-$(echo -n "$HOME_DIR" | cksum | cut -d' ' -f1)"
	fi
}

running() { as_user "$PGBIN/pg_ctl" -D "$HOME_DIR/data" status >/dev/null 2>&1; }

# A quarter of memory, at most 4 GB, for shared_buffers.
shared_buffers()
{
	awk '/MemTotal/ { m = int($2 / 4096); print (m > 4096 ? 4096 : m) "MB" }' /proc/meminfo
}

init()
{
	destroy
	as_user mkdir -p -m 700 "$HOME_DIR" "$SOCKET"
	as_user "$PGBIN/initdb" -D "$HOME_DIR/data" -U postgres -A trust --no-sync \
		--encoding=UTF8 --locale=C.UTF-8 >"$WORK/$NAME-initdb.log" 2>&1 ||
		die "initdb failed, see $WORK/$NAME-initdb.log"
	printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$SOCKET'" \
		"shared_buffers = $(shared_buffers)" "$@" |
		as_user tee -a "$HOME_DIR/data/postgresql.conf" >/dev/null
}

start()
{
	running && return
	as_user "$PGBIN/pg_ctl" -D "$HOME_DIR/data" -l "$HOME_DIR/server.log" -w start >/dev/null || {
		tail -20 "$HOME_DIR/server.log" >&2
		die "the private cluster $NAME did not start"
	}
}

stop() { ! running || as_user "$PGBIN/pg_ctl" -D "$HOME_DIR/data" -m fast -w stop >/dev/null; }

destroy()
{
	[ -d "$HOME_DIR" ] || return 0
	stop
	rm -rf "$HOME_DIR" "$SOCKET"
}

SOCKET=$(socket_dir)
case $COMMAND in
	init) init "$@" ;;
	start | stop | destroy) "$COMMAND" ;;
	socket) echo "$SOCKET" ;;
	*) die "unknown command $COMMAND" ;;
esac
