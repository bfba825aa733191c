/*-------------------------------------------------------------------------
 *
 * jit_check.cc
 *	  The kernels' sources compile at run time: what the daemon's binary carries as text,
 *	  by NVRTC, which needs no device.
 *
 * `make -C cuda jit-check` builds and runs it.
 *
 *-------------------------------------------------------------------------
 */
#include <nvrtc.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cuda/jit/jit.cuh"

/* A kernel that includes one of the texts, for codes of a few widths. */
static std::string
source_of(const std::string &header)
{
	return "#define GPUCOL_WIDTHS(X) X(1) X(8) X(13) X(64)\n#include \"" + header +
		"\"\nextern \"C\" __global__ void gpucol_compiled() {}\n";
}

static bool
compiles(const std::string &header, const std::string &architecture)
{
	const std::string target = "--gpu-architecture=" + architecture;
	const char *const options[] = {
		target.c_str(), "--std=c++17", "--device-int128", "-default-device", "-fmad=false"
	};
	const std::string source = source_of(header);
	std::vector<const char *> names,
				texts;
	nvrtcProgram program;
	bool		done;

	for (const JitHeader *h = gpucol_jit_headers; h->name != NULL; h++)
	{
		names.push_back(h->name);
		texts.push_back(h->text);
	}
	if (nvrtcCreateProgram(&program, source.c_str(), "check.cu", (int) names.size(), texts.data(),
						   names.data()) != NVRTC_SUCCESS)
		return false;
	done = nvrtcCompileProgram(program, sizeof(options) / sizeof(options[0]), options) == NVRTC_SUCCESS;
	if (!done)
	{
		size_t		n = 0;
		std::string log;

		nvrtcGetProgramLogSize(program, &n);
		log.resize(n);
		nvrtcGetProgramLog(program, &log[0]);
		printf("# %s\n", log.c_str());
	}
	nvrtcDestroyProgram(&program);
	return done;
}

int
main(void)
{
	static const char *const headers[] = {"cuda/scan/interp_device.cuh", "cuda/scan/reduce_device.cuh"};
	int			failed = 0,
				n = 0;

	for (const char *header : headers)
		for (const char *architecture : {"compute_75", "sm_80", "sm_90", "sm_120"})
		{
			bool		ok = compiles(header, architecture);

			failed += !ok;
			printf("%s %d - %s compiles at run time for %s\n", ok ? "ok" : "not ok", ++n, header, architecture);
		}
	printf("1..%d\n", n);
	return failed != 0;
}
