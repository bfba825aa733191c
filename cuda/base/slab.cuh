/*-------------------------------------------------------------------------
 *
 * slab.cuh
 *	  Shared memory that is pinned for copies to and from the devices: one slab a
 *	  session, which its client maps too.
 *
 * Making one (zeroing and pinning its pages) takes longer than a session of a
 * parallel worker that loads a table otherwise does.  So slabs outlive sessions: those
 * whose client has left are kept for the next, up to a limit.  A slab whose client
 * may still write to it is never used again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SLAB_CUH
#define GPUCOL_CUDA_SLAB_CUH

#include <cstddef>
#include <cstdint>

struct Slab
{
	char	   *memory;
	size_t		size;
	int			fd;				/* memfd, for the client */
	char	   *device;			/* the memory as kernels address it; NULL: they cannot */
};

/* Bytes of slabs that may be pinned at a time, idle ones too. */
extern uint64_t slab_limit;

/* A slab for a session; NULL where memory cannot be had or pinned. */
extern Slab *slab_take(size_t size);

/* The session is over; `left`: no client has the slab mapped any more.  NULL is fine. */
extern void slab_give_back(Slab *slab, bool left);

#endif
