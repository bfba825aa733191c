/*-------------------------------------------------------------------------
 *
 * listener.cc
 *	  Unit test of the socket that clients of the daemon connect to (cuda/daemon/listener.h).
 *
 * Each daemon is a process of its own, which is told by signals what to do.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "check_cc.h"

static void
on_terminate(int)
{
	listener_remove();
	_exit(0);
}

/* A process that listens at `path` until it is told to end. */
static pid_t
start(const char *path)
{
	int			ready[2];
	char		c = 0;
	pid_t		pid;

	if (pipe(ready) != 0)
		abort();
	pid = fork();
	if (pid == 0)
	{
		signal(SIGTERM, on_terminate);
		c = listener_open(path) >= 0;
		(void) !write(ready[1], &c, 1);
		for (;;)
			pause();
	}
	(void) !read(ready[0], &c, 1);
	close(ready[0]);
	close(ready[1]);
	CHECK("a daemon listens", c == 1);
	return pid;
}

static void
stop(pid_t pid)
{
	int			status = -1;

	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	CHECK("a daemon ends", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool
exists(const char *path)
{
	struct stat s;

	return lstat(path, &s) == 0;
}

static bool
connects(const char *path)
{
	struct sockaddr_un address = {};
	int			fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bool		ok;

	address.sun_family = AF_UNIX;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	ok = connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0;
	close(fd);
	return ok;
}

static void
test_alone(const char *path)
{
	pid_t		daemon = start(path);

	CHECK("clients reach it", connects(path));
	stop(daemon);
	CHECK("it takes its socket with it", !exists(path));

	/* one that was killed left its socket */
	daemon = start(path);
	kill(daemon, SIGKILL);
	waitpid(daemon, NULL, 0);
	CHECK("a killed one does not", exists(path) && !connects(path));
	daemon = start(path);
	CHECK("the next takes the place", connects(path));
	stop(daemon);
}

static void
test_successor(const char *path)
{
	pid_t		old = start(path);
	pid_t		successor = start(path);

	stop(old);
	CHECK("a daemon that ends late leaves its successor's socket", exists(path) && connects(path));
	stop(successor);
	CHECK("which the successor removes", !exists(path));
}

/* Who holds the folder's lock is about to put another socket in place of this one. */
static void
test_locked(const char *folder, const char *path)
{
	pid_t		daemon = start(path);
	int			fd = open(folder, O_RDONLY | O_DIRECTORY);

	CHECK("the lock is free while a daemon listens", flock(fd, LOCK_EX | LOCK_NB) == 0);
	stop(daemon);
	CHECK("a daemon that ends waits for no lock", exists(path));
	close(fd);
	unlink(path);
}

static void
test_refused(const std::string &folder)
{
	std::string far = folder + "/" + std::string(200, 'x');
	std::string nowhere = folder + "/none/s";

	errno = 0;
	CHECK("a path that is too long", listener_open(far.c_str()) < 0 && errno == ENAMETOOLONG);
	errno = 0;
	CHECK("a folder that is not there", listener_open(nowhere.c_str()) < 0 && errno == ENOENT);
	listener_remove();
}

int
main()
{
	char		folder[] = "/tmp/gpucol-listener-XXXXXX";
	std::string path;

	if (mkdtemp(folder) == NULL)
		abort();
	path = std::string(folder) + "/s";
	alarm(60);
	test_alone(path.c_str());
	test_successor(path.c_str());
	test_locked(folder, path.c_str());
	test_refused(folder);

	/* by a name without a folder, as the daemon's in the data directory */
	if (chdir(folder) != 0)
		abort();
	test_alone("s");
	test_successor("s");
	rmdir(folder);
	return summary("listener");
}
