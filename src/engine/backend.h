/*-------------------------------------------------------------------------
 *
 * backend.h
 *	  What every user of an engine inside a server needs, whatever the engine
 *	  computes: which engine gpucol.engine asks for, and a status as
 *	  PostgreSQL's error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_BACKEND_H
#define GPUCOL_ENGINE_BACKEND_H

#include "kernel/status.h"

/* Is there a device now?  If not, *why is a static sentence for the user. */
typedef bool (*GpucolDeviceProbe) (const char **why);

extern bool gpucol_engine_wants_device(GpucolDeviceProbe probe);
extern void gpucol_engine_raise(GpucolStatus status);

#endif							/* GPUCOL_ENGINE_BACKEND_H */
