/*-------------------------------------------------------------------------
 *
 * listener.cc
 *	  The socket that clients of the daemon connect to.
 *
 * Whether a socket is still ours shows in its file's number, which is not used again
 * while we listen.  Who removes or makes one holds a lock on the folder, so that no
 * successor comes between the look and the removal.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

static struct sockaddr_un address;
static struct stat ours;		/* the socket's file */
static int	folder = -1;		/* where it lies, to be locked */
static std::atomic<bool> opened{false};

static const int LOCK_TRIES = 100;	/* 10 ms apart */

/* Lock the folder; someone who holds the lock for long is not worth waiting for. */
static void
lock_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	std::string name = slash == NULL ? "." : std::string(path, slash - path + 1);

	folder = open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; folder >= 0 && i < LOCK_TRIES && flock(folder, LOCK_EX | LOCK_NB) != 0; i++)
		usleep(10000);
}

int
listener_open(const char *path)
{
	int			fd;
	int			error;

	if (strlen(path) >= sizeof(address.sun_path))
	{
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	address.sun_family = AF_UNIX;
	strcpy(address.sun_path, path);
	lock_folder(path);
	unlink(path);
	if (bind(fd, (struct sockaddr *) &address, sizeof(address)) == 0 && listen(fd, 256) == 0 && stat(path, &ours) == 0)
		opened = true;
	error = errno;
	flock(folder, LOCK_UN);
	if (opened)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

void
listener_remove()
{
	struct stat now;

	/* who holds the lock is about to put another in its place */
	if (opened && flock(folder, LOCK_EX | LOCK_NB) == 0 && lstat(address.sun_path, &now) == 0 &&
		now.st_dev == ours.st_dev && now.st_ino == ours.st_ino)
		unlink(address.sun_path);
}
