/*-------------------------------------------------------------------------
 *
 * backtrace.c
 *	  Preloaded into servers and programs on a GPU host, which has no debugger: what
 *	  crashes writes its stack to stderr, for addr2line where it was built.
 *
 *-------------------------------------------------------------------------
 */
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#define MOST_FRAMES 64

/* Write the stack, then crash as without this: the handler is gone. */
static void
write_stack(int number)
{
	void	   *frames[MOST_FRAMES];

	backtrace_symbols_fd(frames, backtrace(frames, MOST_FRAMES), STDERR_FILENO);
	raise(number);
}

__attribute__((constructor)) static void
catch_crashes(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
	struct sigaction action = {.sa_handler = write_stack,.sa_flags = (int) SA_RESETHAND};
	void	   *frame;

	(void) backtrace(&frame, 1);	/* loads what it needs, which no handler may */
	for (int i = 0; i < 4; i++)
		sigaction(numbers[i], &action, NULL);
}
