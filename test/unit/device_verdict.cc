/*-------------------------------------------------------------------------
 *
 * device_verdict.cc
 *	  Unit test of which devices are used, and with which code (cuda/base/device_verdict.h).
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/device_verdict.h"

#include <cstdio>

static int	passed,
			failed;

static void
check_text(const char *what, const std::string &is, const std::string &wanted)
{
	if (is == wanted)
	{
		passed++;
		return;
	}
	failed++;
	printf("failed: %s: \"%s\", not \"%s\"\n", what, is.c_str(), wanted.c_str());
}

/* A device of that capability which runs code for `code`, all well with it. */
static DeviceFacts
device(int capability, int code, int machine)
{
	DeviceFacts facts;

	facts.capability = capability;
	facts.code = code;
	facts.machine = machine;
	facts.free = (uint64_t) 8 << 30;
	return facts;
}

static void
check_codes()
{
	check_text("machine code", device_code(device(90, 90, 90)), "sm_90");
	check_text("of an earlier minor number", device_code(device(86, 80, 80)), "sm_80");
	check_text("text", device_code(device(120, 75, 120)), "PTX 7.5");
	check_text("forced text", device_code(device(90, 75, 90)), "PTX 7.5");
	check_text("two digits", device_architecture(103), "10.3");
	check_text("12.0", device_architecture(120), "12.0");
}

static void
check_refusals()
{
	DeviceFacts facts = device(90, 90, 90);

	for (int capability : {75, 80, 86, 89, 90, 100, 103, 120})
		check_text("used", device_refusal(device(capability, 75, capability)), "");
	check_text("old", device_refusal(device(70, 75, 0)), "compute capability 7.0 is too old: 7.5 is the least");
	check_text("no code", device_refusal(device(80, 0, 0)),
			   "gpucol_gpud was built without code for compute capability 8.0 (make cuda ARCH=all)");
	facts.free = ((uint64_t) 256 << 20) - 1;
	check_text("full", device_refusal(facts), "255 MB of its memory are free, 256 are needed");
	facts.free++;
	check_text("just enough", device_refusal(facts), "");
	facts.error = "out of memory";
	check_text("an error", device_refusal(facts), "out of memory");
	facts.taken = true;
	check_text("taken", device_refusal(facts), "another process has it alone (nvidia-smi shows which)");
	facts.prohibited = true;
	check_text("prohibited", device_refusal(facts), "its compute mode is prohibited (nvidia-smi -c 0 allows it)");
}

int
main(void)
{
	check_codes();
	check_refusals();
	printf("device_verdict: %d passed, %d failed\n", passed, failed);
	return failed != 0;
}
