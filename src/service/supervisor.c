/*-------------------------------------------------------------------------
 *
 * supervisor.c
 *	  The background worker that keeps gpucol_gpud running, and how a server
 *	  process finds the daemon.
 *
 * Topology.  One supervisor and one daemon a cluster, for all databases.  The
 * daemon is a child process of the supervisor, in the data directory, where its
 * socket is too; it shares nothing with PostgreSQL, so that its death is no
 * crash.  The supervisor waits for it, starts it again when it ends, and takes
 * it down with itself.  The supervisor is started by the postmaster where the
 * library is preloaded, else by the first process that wants the daemon, and
 * restarted by the postmaster.
 *
 * Shared state is one small struct, made on first use by whoever comes first:
 * without preload it comes out of the spare part of shared memory.
 *
 * A host without a device, or an installation without the daemon's executable,
 * costs a backend two stat() calls once in ten seconds, and no process.  Where the
 * daemon found no device that it can use (a driver that does not answer, or not yet)
 * the supervisor stays and starts it again once a minute, and when the server's
 * configuration is loaded again; sessions find it once it listens, and until then
 * none waits for it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "guc.h"
#include "service/protocol.h"
#include "service/service.h"
#include "service/supervisor.h"

#define DAEMON_NAME		"gpucol_gpud"
#define SHARED_FOLDER	"/usr/lib/gpucol"	/* where a package of its own installs it */
#define CONNECT_WAIT_MS 15000	/* for a daemon that is starting */
#define WAIT_MS			1000	/* then the caller looks at its clock */
#define MAX_OPTIONS		16		/* of the daemon */
#define LOOK_AGAIN_MS	10000	/* how long an answer of available() holds */
#define STOP_MS			5000	/* for a daemon that is ending */
#define LOOK_FOR_DEVICE_MS 60000	/* between daemons that find no device */
#define LISTENS_MS		50		/* between looks whether the next one has found one */
#define MAX_WHY			256		/* bytes that a daemon may say of its finding none */
#define GPU_VENDOR		"0x10de"	/* NVIDIA's number among the vendors of PCI */
#define GPU_CLASS		"0x03"	/* displays and their like, among the classes of PCI */

typedef struct ServiceState
{
	slock_t		lock;
	pid_t		supervisor;		/* protected by lock; 0 = none */
	uint32		generation;		/* protected by lock: daemons started */
	bool		no_device;		/* protected by lock: the last daemon found none, and
								 * no other one listens yet */
	char		why[MAX_WHY];	/* protected by lock: what it said of that, "" if nothing */
} ServiceState;

static ServiceState *state = NULL;

/* Attach to the shared state, making it if need be. */
static void
attach(void)
{
	bool		found;

	if (state != NULL)
		return;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	state = ShmemInitStruct("gpucol service", sizeof(ServiceState), &found);
	if (!found)
	{
		memset(state, 0, sizeof(*state));
		SpinLockInit(&state->lock);
	}
	LWLockRelease(AddinShmemInitLock);
}

/* A program in the daemon's place, which tests name in the server's environment; or NULL. */
static const char *
imitation(void)
{
	return getenv("GPUCOL_GPUD_PROGRAM");
}

/* The daemon that was installed with the extension, else the one that all majors share. */
static void
daemon_path(char *path)
{
	if (imitation() != NULL)
	{
		strlcpy(path, imitation(), MAXPGPATH);
		return;
	}
	snprintf(path, MAXPGPATH, "%s/%s", pkglib_path, DAEMON_NAME);
	if (access(path, X_OK) != 0)
		snprintf(path, MAXPGPATH, "%s/%s", SHARED_FOLDER, DAEMON_NAME);
}

/* Could there be a device?  Its driver's files are there where it is loaded. */
static bool
has_driver(void)
{
	return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

/* Does a file, one line of the kernel's, begin with this? */
static bool
begins(const char *path, const char *start)
{
	char		line[16] = "";
	FILE	   *file = fopen(path, "re");
	bool		result;

	if (file == NULL)
		return false;
	result = fgets(line, sizeof(line), file) != NULL && strncmp(line, start, strlen(start)) == 0;
	fclose(file);
	return result;
}

/* Is an NVIDIA device plugged in, as the kernel sees it without any driver? */
static bool
has_hardware(void)
{
	const char *folder = "/sys/bus/pci/devices";
	DIR		   *dir = opendir(folder);
	struct dirent *entry;
	bool		result = false;

	while (dir != NULL && !result && (entry = readdir(dir)) != NULL)
	{
		char		vendor[MAXPGPATH];
		char		class[MAXPGPATH];

		snprintf(vendor, sizeof(vendor), "%s/%s/vendor", folder, entry->d_name);
		snprintf(class, sizeof(class), "%s/%s/class", folder, entry->d_name);
		result = begins(vendor, GPU_VENDOR) && begins(class, GPU_CLASS);
	}
	if (dir != NULL)
		closedir(dir);
	return result;
}

/* Is there an executable and something it could run on? */
static bool
installed(const char **why)
{
	static TimestampTz looked = 0;
	static const char *missing = NULL;
	TimestampTz now = GetCurrentTimestamp();

	if (looked == 0 || TimestampDifferenceExceeds(looked, now, LOOK_AGAIN_MS))
	{
		char		path[MAXPGPATH];

		looked = now;
		daemon_path(path);
		missing = NULL;
		if (access(path, X_OK) != 0)
			missing = "gpucol_gpud is not installed (gpucol was built without nvcc)";
		else if (imitation() == NULL && !has_driver())
			missing = has_hardware() ?
				"this host's NVIDIA device has no driver loaded, or this container has no part in it (/dev/nvidiactl is missing)" :
				"this host has no NVIDIA device";
	}
	*why = missing;
	return missing == NULL;
}

/* Has the last daemon found no device? */
static bool
without_device(void)
{
	bool		no_device;

	SpinLockAcquire(&state->lock);
	no_device = state->no_device;
	SpinLockRelease(&state->lock);
	return no_device;
}

static bool
service_available(const char **why)
{
	static char text[MAX_WHY + 64];
	char		said[MAX_WHY];

	if (!installed(why))
		return false;
	attach();
	if (!without_device())
		return true;
	SpinLockAcquire(&state->lock);
	memcpy(said, state->why, sizeof(said));
	SpinLockRelease(&state->lock);
	snprintf(text, sizeof(text), "gpucol_gpud found no device that it can use%s%s",
			 said[0] != '\0' ? ": " : "; see the server log", said);
	*why = text;
	return false;
}

/*
 * The socket does not block, or a daemon that is stuck, and has as many clients waiting as
 * its socket holds, would keep this process where no interrupt reaches it.
 */
int
gpucol_service_try_connect(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int			fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strlcpy(address.sun_path, GPUCOL_WIRE_SOCKET, sizeof(address.sun_path));
	if (fd >= 0 && connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0)
	{
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Describe the supervisor to the postmaster. */
static void
describe_worker(BackgroundWorker *worker)
{
	memset(worker, 0, sizeof(*worker));
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker->bgw_start_time = BgWorkerStart_ConsistentState;
	worker->bgw_restart_time = 1;
	strlcpy(worker->bgw_library_name, "gpucol", BGW_MAXLEN);
	strlcpy(worker->bgw_function_name, "gpucol_supervisor_main", BGW_MAXLEN);
	strlcpy(worker->bgw_name, "gpucol supervisor", BGW_MAXLEN);
	strlcpy(worker->bgw_type, "gpucol supervisor", BGW_MAXLEN);
}

/* Is the supervisor's process alive? */
static bool
supervised(void)
{
	pid_t		pid;

	SpinLockAcquire(&state->lock);
	pid = state->supervisor;
	SpinLockRelease(&state->lock);
	return pid != 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

static int
service_connect(const char **why)
{
	int			fd = gpucol_service_try_connect();
	bool		asked = false;
	TimestampTz start;

	if (fd >= 0)
		return fd;
	attach();
	start = GetCurrentTimestamp();
	while (fd < 0)
	{
		if (!service_available(why))
			return -1;
		if (!asked && !supervised())
		{
			BackgroundWorker worker;

			asked = true;
			describe_worker(&worker);
			if (!RegisterDynamicBackgroundWorker(&worker, NULL))
			{
				*why = "no background worker slot is free for the gpucol supervisor (raise max_worker_processes)";
				return -1;
			}
		}
		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), CONNECT_WAIT_MS))
		{
			*why = "gpucol_gpud did not start in time; see the server log";
			return -1;
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 20, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		fd = gpucol_service_try_connect();
	}
	return fd;
}

static void
service_wait(int fd, bool writable)
{
	int			events = WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH;

	events |= writable ? WL_SOCKET_WRITEABLE : WL_SOCKET_READABLE;
	if (WaitLatchOrSocket(MyLatch, events, fd, WAIT_MS, PG_WAIT_EXTENSION) & WL_LATCH_SET)
		ResetLatch(MyLatch);
}

const GpucolService gpucol_service = {
	.available = service_available,
	.connect = service_connect,
	.wait = service_wait,
	.try_connect = gpucol_service_try_connect,
};

void
gpucol_service_init(void)
{
	BackgroundWorker worker;
	const char *why;

	if (!process_shared_preload_libraries_in_progress || !installed(&why))
		return;
	describe_worker(&worker);
	RegisterBackgroundWorker(&worker);
}

/* ---- the supervisor ---- */

static pid_t child = 0;
static int	answer = -1;	/* what the daemon writes to its standard output, or -1 */

/* A pipe for the daemon's standard output; returns its end of it, -1 if there is none. */
static int
open_answer(void)
{
	int			ends[2];

	if (answer >= 0)
		close(answer);
	answer = -1;
	if (pipe(ends) != 0)
		return -1;
	answer = ends[0];
	(void) fcntl(answer, F_SETFL, O_NONBLOCK);
	(void) fcntl(answer, F_SETFD, FD_CLOEXEC);
	return ends[1];
}

/* What a daemon that has ended said of its end, one line of ASCII. */
static void
read_answer(char *why, size_t size)
{
	ssize_t		n = answer < 0 ? 0 : read(answer, why, size - 1);

	why[Max(n, 0)] = '\0';
	why[strcspn(why, "\n")] = '\0';
	for (char *c = why; *c != '\0'; c++)
	{
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
}

/*
 * Start the daemon; its messages go to the server log, but for one that there is still
 * no device.  Tests may give it options through the environment of the server.
 */
static void
start_daemon(void)
{
	char		path[MAXPGPATH];
	char		memory[32];
	char	   *argv[MAX_OPTIONS + 1];
	char	   *test = getenv("GPUCOL_GPUD_TEST");
	int			argc = 0;
	int			end = open_answer();
	sigset_t	all;
	sigset_t	before;

	if (test != NULL)
		test = pstrdup(test);
	daemon_path(path);
	snprintf(memory, sizeof(memory), "%d", gpucol_gpu_memory_limit);
	argv[argc++] = path;
	argv[argc++] = "--memory";
	argv[argc++] = memory;
	if (without_device())
		argv[argc++] = "--again";
	for (char *option = test != NULL ? strtok(test, " ") : NULL;
		 option != NULL && argc < MAX_OPTIONS; option = strtok(NULL, " "))
		argv[argc++] = option;
	argv[argc] = NULL;

	/* a signal to the child must not find our handlers there, and be forgotten by exec */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	child = fork();
	if (child != 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		ereport(ERROR,
				(errcode(ERRCODE_SYSTEM_ERROR),
				 errmsg("could not start %s: %m", DAEMON_NAME)));
	if (child != 0 && end >= 0)
		close(end);
	if (child == 0)
	{
		int			limit = (int) sysconf(_SC_OPEN_MAX);

		/* it goes with us, however early we end */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != MyProcPid)
			_exit(0);
		if (end >= 0)
			(void) dup2(end, STDOUT_FILENO);
		for (int fd = 3; fd < limit && fd < 65536; fd++)
			close(fd);
		pqsignal(SIGTERM, SIG_DFL);
		pqsignal(SIGHUP, SIG_DFL);
		sigemptyset(&before);
		sigprocmask(SIG_SETMASK, &before, NULL);
		execv(path, argv);
		_exit(GPUCOL_GPUD_EXIT_USAGE);
	}
	SpinLockAcquire(&state->lock);
	state->generation++;
	SpinLockRelease(&state->lock);
}

/*
 * At exit: the daemon goes too, and nobody thinks we are here.  One that is stuck in
 * its device's driver is not waited for: the server has to stop.
 */
static void
stop_daemon(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	if (child > 0)
	{
		bool		ended = false;

		kill(child, SIGTERM);
		for (int ms = 0; ms < STOP_MS && !ended; ms++)
		{
			ended = waitpid(child, NULL, WNOHANG) != 0;
			if (!ended)
				pg_usleep(1000);
		}
		if (!ended)
			kill(child, SIGKILL);
	}
	SpinLockAcquire(&state->lock);
	if (state->supervisor == MyProcPid)
		state->supervisor = 0;
	SpinLockRelease(&state->lock);
}

/* Become the supervisor; false if there is one. */
static bool
take_office(void)
{
	pid_t		before;
	bool		taken;

	SpinLockAcquire(&state->lock);
	before = state->supervisor;
	SpinLockRelease(&state->lock);
	if (before != 0 && before != MyProcPid && kill(before, 0) == 0)
		return false;
	SpinLockAcquire(&state->lock);
	taken = state->supervisor == before;
	if (taken)
		state->supervisor = MyProcPid;
	SpinLockRelease(&state->lock);
	return taken;
}

static void
wake(SIGNAL_ARGS)
{
	int			save_errno = errno;

	(void) postgres_signal_arg;
	SetLatch(MyLatch);
	errno = save_errno;
}

/* Tell sessions whether there is a device, and where there is none what the daemon said of it. */
static void
set_without_device(bool no_device)
{
	char		why[MAX_WHY] = "";

	if (no_device)
		read_answer(why, sizeof(why));
	SpinLockAcquire(&state->lock);
	state->no_device = no_device;
	memcpy(state->why, why, sizeof(why));
	SpinLockRelease(&state->lock);
}

/* Where there was no device: has the daemon found one, so that it listens? */
static void
look_for_device(void)
{
	int			fd = gpucol_service_try_connect();

	if (fd < 0)
		return;
	close(fd);
	set_without_device(false);
	ereport(LOG, (errmsg("gpucol found a device")));
}

/* Wait until the daemon ends; its exit code, or -1 if a signal killed it. */
static int
await_daemon(void)
{
	int			status = SIGKILL;	/* where nobody can say how it ended */

	for (;;)
	{
		pid_t		pid = waitpid(child, &status, WNOHANG);

		if (pid == child || (pid < 0 && errno == ECHILD))
			break;
		if (without_device())
			look_for_device();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 without_device() ? LISTENS_MS : 1000, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	child = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The daemon found no device: sleep until it is to look again. */
static void
rest_without_device(int code)
{
	TimestampTz start = GetCurrentTimestamp();

	if (!without_device())
		ereport(LOG,
				(errmsg("gpucol runs without a device"),
				 errdetail("%s exited with code %d.", DAEMON_NAME, code),
				 errhint("It looks for one again once a minute, and when the server's configuration is loaded again.")));
	set_without_device(true);
	while (!ConfigReloadPending &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), LOOK_FOR_DEVICE_MS))
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 LOOK_FOR_DEVICE_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Main function of the supervisor.
 */
void
gpucol_supervisor_main(Datum arg pg_attribute_unused())
{
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGCHLD, wake);
	BackgroundWorkerUnblockSignals();
	attach();
	if (!take_office())
		proc_exit(0);
	before_shmem_exit(stop_daemon, 0);
	for (;;)
	{
		TimestampTz start = GetCurrentTimestamp();
		int			code;

		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		start_daemon();
		code = await_daemon();
		if (code == GPUCOL_GPUD_EXIT_NO_DEVICE || code == GPUCOL_GPUD_EXIT_USAGE)
		{
			rest_without_device(code);
			continue;
		}
		ereport(LOG,
				(errmsg("%s ended and is started again", DAEMON_NAME),
				 code < 0 ? errdetail("It was killed by a signal.") :
				 errdetail("Its exit code was %d.", code)));

		/* not faster than once a second if it dies at once */
		if (!TimestampDifferenceExceeds(start, GetCurrentTimestamp(), 2000))
		{
			(void) WaitLatch(MyLatch, WL_TIMEOUT | WL_LATCH_SET | WL_EXIT_ON_PM_DEATH,
							 1000, PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
		}
	}
}
