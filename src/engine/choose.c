/*-------------------------------------------------------------------------
 *
 * choose.c
 *	  The engine that gpucol.engine asks for, where both could run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "engine/backend.h"
#include "guc.h"

/*
 * Does gpucol.engine send work to the device?
 *
 * With `cuda` and no device this is an error that names the reason; `auto`
 * takes the CPU engine then.  The probe is not asked with `cpu`.
 */
bool
gpucol_engine_wants_device(GpucolDeviceProbe probe)
{
	const char *why;

	if (gpucol_engine_choice == GPUCOL_ENGINE_CPU)
		return false;
	if (probe(&why))
		return true;
	if (gpucol_engine_choice == GPUCOL_ENGINE_CUDA)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("CUDA engine is not available"),
				 errdetail("Reason: %s.", why),
				 errhint("Set gpucol.engine to auto or cpu.")));
	return false;
}
