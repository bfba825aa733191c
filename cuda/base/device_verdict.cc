/*-------------------------------------------------------------------------
 *
 * device_verdict.cc
 *	  May a device be used, with which of the program's code, and why not.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/device_verdict.h"

#include "cuda/base/warp.cuh"

std::string
device_architecture(int capability)
{
	return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

std::string
device_code(const DeviceFacts &facts)
{
	/* machine code runs on later devices of its generation, too: they show it as it is */
	if (facts.code == facts.machine)
		return "sm_" + std::to_string(facts.code);
	return "PTX " + device_architecture(facts.code);
}

std::string
device_refusal(const DeviceFacts &facts)
{
	if (facts.prohibited)
		return "its compute mode is prohibited (nvidia-smi -c 0 allows it)";
	if (facts.taken)
		return "another process has it alone (nvidia-smi shows which)";
	if (!facts.error.empty())
		return facts.error;
	if (facts.capability < GPUCOL_CODE_LEAST)
		return "compute capability " + device_architecture(facts.capability) + " is too old: " +
			device_architecture(GPUCOL_CODE_LEAST) + " is the least";
	if (facts.code == 0)
		return "gpucol_gpud was built without code for compute capability " + device_architecture(facts.capability) +
			" (make cuda ARCH=all)";
	if (facts.free < GPUCOL_LEAST_FREE)
		return std::to_string(facts.free >> 20) + " MB of its memory are free, " +
			std::to_string(GPUCOL_LEAST_FREE >> 20) + " are needed";
	return "";
}
