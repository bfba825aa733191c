/*-------------------------------------------------------------------------
 *
 * open_devices.cuh
 *	  The devices of the host: those that are used, and why others are not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_OPEN_DEVICES_CUH
#define GPUCOL_CUDA_OPEN_DEVICES_CUH

#include <cstddef>
#include <string>
#include <vector>

/* A device that is not used. */
struct UnusedDevice
{
	int			ordinal;		/* CUDA's own number of it */
	std::string why;
};

extern std::vector<UnusedDevice> unused_devices;

/*
 * Open the devices that can be used, each with at most `limit` bytes (0: nine tenths of what is
 * free) of its memory; for tests, one may stand for `copies`.  Why others are not used is
 * written to the log unless `quiet`, and added to *why.  False where there is none to be used.
 */
extern bool open_devices(size_t limit, int copies, bool quiet, std::string *why);

#endif
