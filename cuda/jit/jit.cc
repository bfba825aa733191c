/*-------------------------------------------------------------------------
 *
 * jit.cc
 *	  Run-time compilation: NVRTC, its background thread, and the kernels in
 *	  memory.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/jit/jit.cuh"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "cuda/base/cache.cuh"
#include "cuda/base/warp.cuh"

/* Never destroyed: its thread waits on it until the process ends. */
Jit		   &jit = *new Jit;

/* The functions of NVRTC that are used, as its header declares them. */
struct Compiler
{
	typedef struct Program *Handle;

	int			(*version) (int *, int *);
	int			(*create) (Handle *, const char *, const char *, int, const char *const *, const char *const *);
	int			(*compile) (Handle, int, const char *const *);
	int			(*log_size) (Handle, size_t *);
	int			(*log) (Handle, char *);
	int			(*code_size) (Handle, size_t *);	/* machine code, or text for the driver */
	int			(*code) (Handle, char *);
	int			(*destroy) (Handle *);
	int			(*count_architectures) (int *);
	int			(*architectures) (int *);
};

static Compiler compiler;

bool
JitKernel::claim() const
{
	if (verdict_ != 0 || claimed_.exchange(true))
		return false;
	if (files_.begin(key_))
		return true;
	fprintf(stderr, "gpucol_gpud: a compiled kernel ended the daemon before; it is not used\n");
	verdict_ = -1;
	return false;
}

void
JitKernel::judge(bool same) const
{
	int			unknown = 0;

	if (!same)
	{
		verdict_ = -1;
		files_.condemn(key_);
		fprintf(stderr, "gpucol_gpud: the answer of a compiled kernel differs; it is not used\n");
	}
	else
	{
		verdict_.compare_exchange_strong(unknown, 1);
		files_.end(key_);
	}
	claimed_ = false;
}

void
JitKernel::release() const
{
	files_.end(key_);
	claimed_ = false;
}

JitTrial::~JitTrial()
{
	for (const JitHandle &kernel : kernels_)
		kernel->release();
}

bool
JitTrial::has(const JitHandle &kernel) const
{
	return std::find(kernels_.begin(), kernels_.end(), kernel) != kernels_.end();
}

void
JitTrial::claim(const JitHandle &kernel)
{
	if (kernel->claim())
		kernels_.push_back(kernel);
}

void
JitTrial::judge(bool same)
{
	for (const JitHandle &kernel : kernels_)
		kernel->judge(same);
	kernels_.clear();
}

void
Jit::configure(const std::string &directory, bool wait)
{
	std::lock_guard<std::mutex> lock(mutex_);

	files_ = JitFiles(directory, GPUCOL_JIT_DISK_BYTES);
	wait_ = wait;
}

/*
 * What to compile for: "sm_90" where all devices are such and NVRTC makes their machine code;
 * "compute_80", say, where the least device is an 8.6 of several, or later than all that NVRTC
 * knows: text that each device's driver compiles.  "" if nothing suits.
 */
static std::string
choose_architecture()
{
	int			n = 0,
				count = 0,
				least = 0,
				best = 0;
	bool		equal = true;
	std::vector<int> known;

	if (cudaGetDeviceCount(&n) != cudaSuccess || compiler.count_architectures(&count) != 0 || count <= 0)
		return "";
	for (int d = 0, capability; d < n; d++)
		if (device_capability(d, &capability) == cudaSuccess && capability >= GPUCOL_CODE_LEAST)
		{
			equal = equal && (least == 0 || capability == least);
			least = least == 0 ? capability : std::min(least, capability);
		}
#ifdef GPUCOL_CODE
	least = std::min(least, GPUCOL_CODE);
	equal = false;
#endif
	known.resize(count);
	if (compiler.architectures(known.data()) != 0)
		return "";
	for (int a : known)
		if (a <= least)
			best = std::max(best, a);
	return best == 0 ? "" : (equal && best == least ? "sm_" : "compute_") + std::to_string(best);
}

/* Open NVRTC; "" or why it cannot be used.  By the background thread alone. */
std::string
Jit::open_compiler()
{
	const char *given = getenv("GPUCOL_NVRTC"),
			   *option = getenv("GPUCOL_JIT_OPTIONS");
	std::string major = std::to_string(CUDART_VERSION / 1000),
				architecture,
				headers;
	std::vector<std::string> names = {"libnvrtc.so." + major, "libnvrtc.so",
		"/usr/local/cuda/lib64/libnvrtc.so." + major, "/usr/local/cuda/lib/libnvrtc.so." + major};
	void	   *library = NULL;
	int			compiler_major = 0,
				compiler_minor = 0;

	if (given)
		names = {given};
	for (const std::string &name : names)
		if ((library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) != NULL)
			break;
	if (library == NULL)
		return "NVRTC (libnvrtc.so." + major + ") was not found: nothing is compiled";
	compiler.version = (decltype(compiler.version)) dlsym(library, "nvrtcVersion");
	compiler.create = (decltype(compiler.create)) dlsym(library, "nvrtcCreateProgram");
	compiler.compile = (decltype(compiler.compile)) dlsym(library, "nvrtcCompileProgram");
	compiler.log_size = (decltype(compiler.log_size)) dlsym(library, "nvrtcGetProgramLogSize");
	compiler.log = (decltype(compiler.log)) dlsym(library, "nvrtcGetProgramLog");
	compiler.count_architectures = (decltype(compiler.count_architectures))
		dlsym(library, "nvrtcGetNumSupportedArchs");
	compiler.architectures = (decltype(compiler.architectures)) dlsym(library, "nvrtcGetSupportedArchs");
	compiler.destroy = (decltype(compiler.destroy)) dlsym(library, "nvrtcDestroyProgram");
	if (!compiler.version || !compiler.create || !compiler.compile || !compiler.log_size || !compiler.log ||
		!compiler.count_architectures || !compiler.architectures || !compiler.destroy ||
		compiler.version(&compiler_major, &compiler_minor) != 0)
		return "NVRTC on this host is too old: nothing is compiled";
	architecture = choose_architecture();
	if (architecture.empty())
		return "NVRTC knows no architecture of the devices: nothing is compiled";
	text_ = architecture[0] == 'c';
	compiler.code_size = (decltype(compiler.code_size)) dlsym(library, text_ ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize");
	compiler.code = (decltype(compiler.code)) dlsym(library, text_ ? "nvrtcGetPTX" : "nvrtcGetCUBIN");
	if (!compiler.code_size || !compiler.code)
		return "NVRTC on this host is too old: nothing is compiled";
	options_ = {"--gpu-architecture=" + architecture, "--std=c++17", "--device-int128",
				"-default-device", "-fmad=false"};
	if (option)
		options_.push_back(option);
	for (const JitHeader *h = gpucol_jit_headers; h->name != NULL; h++)
		headers = gpucol_jit_hash(headers + h->name + "\n" + h->text);
	for (const std::string &o : options_)
		environment_ += o + " ";
	environment_ += "nvrtc " + std::to_string(compiler_major) + "." + std::to_string(compiler_minor) +
		" headers " + headers + "\n";
	return "";
}

/* Begin the background thread; false if the host has none to give, until the next source. */
bool
Jit::start()
{
	try
	{
		std::thread([this] { work(); }).detach();
	}
	catch (const std::system_error &e)
	{
		fprintf(stderr, "gpucol_gpud: no thread for the compiler: %s\n", e.what());
		return false;
	}
	return true;
}

thread_local const char *gpucol_jit_miss = "";

JitHandle
Jit::find(const std::string &source)
{
	std::unique_lock<std::mutex> lock(mutex_);

	gpucol_jit_miss = "nothing can be compiled here";
	if (!note_.empty())
		return NULL;
	gpucol_jit_miss = "compiled from the second query of its kind on";

	auto		at = entries_.find(source);

	if (at == entries_.end())
	{
		if (!wait_ && seen_.size() < GPUCOL_JIT_SEEN && seen_.insert(gpucol_jit_hash(source)).second)
			return NULL;
		if (seen_.size() >= GPUCOL_JIT_SEEN)
			seen_.clear();
		if (queue_.size() >= GPUCOL_JIT_QUEUE)
			return NULL;
		make_room(1, 0);
		entries_[source].used = ++clock_;
		queue_.push_back(source);
		running_ = running_ || start();
		changed_.notify_all();
	}
	if (wait_ && running_)
		changed_.wait(lock, [&] { return entries_[source].state != QUEUED; });

	Entry	   &entry = entries_[source];

	gpucol_jit_miss = entry.state == FAILED ? "could not be compiled; see the server log" : "being compiled";
	entry.used = ++clock_;
	return entry.kernel;
}

JitCounts
Jit::counts()
{
	std::lock_guard<std::mutex> lock(mutex_);
	JitCounts	n = {0, 0, 0};

	for (const auto &e : entries_)
		if (e.second.state == QUEUED)
			n.waiting++;
		else if (e.second.state == FAILED || e.second.kernel->rejected())
			n.refused++;
		else
			n.ready++;
	return n;
}

std::string
Jit::note()
{
	std::lock_guard<std::mutex> lock(mutex_);

	return note_;
}

/* Forget the kernels used longest ago, so that some more may come. */
void
Jit::make_room(size_t kernels, size_t bytes)
{
	for (const auto &e : entries_)
		bytes += e.second.kernel ? e.second.kernel->bytes() : 0;
	while (entries_.size() + kernels > GPUCOL_JIT_KERNELS || bytes > GPUCOL_JIT_MEMORY_BYTES)
	{
		auto		oldest = entries_.end();

		for (auto e = entries_.begin(); e != entries_.end(); ++e)
			if (e->second.state != QUEUED && (oldest == entries_.end() || e->second.used < oldest->second.used))
				oldest = e;
		if (oldest == entries_.end())
			return;
		bytes -= oldest->second.kernel ? oldest->second.kernel->bytes() : 0;
		entries_.erase(oldest);
	}
}

/* The background thread: one source after the other. */
void
Jit::work()
{
	std::string why = open_compiler();

	setpriority(PRIO_PROCESS, (id_t) syscall(SYS_gettid), 10);	/* of this thread */
	if (!why.empty())
	{
		std::lock_guard<std::mutex> lock(mutex_);

		fprintf(stderr, "gpucol_gpud: %s\n", why.c_str());
		note_ = why;
	}
	for (;;)
	{
		std::unique_lock<std::mutex> lock(mutex_);
		std::string source;
		JitHandle	kernel;

		changed_.wait(lock, [this] { return !queue_.empty(); });
		source = queue_.front();
		queue_.pop_front();
		lock.unlock();
		try
		{
			kernel = why.empty() ? build(source) : NULL;
		}
		catch (const std::exception &e)
		{
			fprintf(stderr, "gpucol_gpud: a kernel could not be compiled and stays interpreted: %s\n", e.what());
		}
		lock.lock();
		make_room(0, kernel ? kernel->bytes() : 0);
		entries_[source].kernel = kernel;
		entries_[source].state = kernel ? READY : FAILED;
		changed_.notify_all();
	}
}

/* A source's kernel from its file, else from the compiler. */
JitHandle
Jit::build(const std::string &source)
{
	std::string key = environment_ + source,
				log;
	std::vector<char> code = files_.read(key);
	JitHandle	kernel = code.empty() ? NULL : load(code, key);

	if (kernel)
		return kernel;
	if (!files_.begin(key))
	{
		fprintf(stderr, "gpucol_gpud: a kernel ended the compiler before and stays interpreted\n");
		return NULL;
	}
	code = compile(source, &log);
	files_.end(key);
	if (!code.empty())
		kernel = load(code, key);
	if (!kernel)
		fprintf(stderr, "gpucol_gpud: a kernel could not be compiled and stays interpreted: %.2000s\n", log.c_str());
	else
		files_.write(key, code);
	return kernel;
}

std::vector<char>
Jit::compile(const std::string &source, std::string *log)
{
	std::vector<const char *> names,
				texts;
	std::vector<const char *> options;
	Compiler::Handle program = NULL;
	std::vector<char> code;
	size_t		n = 0;

	for (const JitHeader *h = gpucol_jit_headers; h->name != NULL; h++)
	{
		names.push_back(h->name);
		texts.push_back(h->text);
	}
	for (const std::string &o : options_)
		options.push_back(o.c_str());
	if (compiler.create(&program, source.c_str(), "gpucol_compiled.cu", (int) names.size(), texts.data(),
						names.data()) != 0)
	{
		*log = "the compiler did not take the source";
		return code;
	}
	if (compiler.compile(program, (int) options.size(), options.data()) == 0 &&
		compiler.code_size(program, &n) == 0)
	{
		code.resize(n);
		if (compiler.code(program, code.data()) != 0)
			code.clear();
	}
	else if (compiler.log_size(program, &n) == 0 && n > 0)
	{
		log->resize(n);
		compiler.log(program, &(*log)[0]);
	}
	compiler.destroy(&program);
	return code;
}

/* Have each device's driver compile text now, where nobody waits for it; false if one refuses. */
static bool
settle_text(cudaKernel_t kernel)
{
	cudaFuncAttributes attributes;

	for (const Device *device : devices)
		if (cudaSetDevice(device->ordinal) != cudaSuccess ||
			cudaFuncGetAttributes(&attributes, (const void *) kernel) != cudaSuccess)
			return false;
	return true;
}

JitHandle
Jit::load(const std::vector<char> &code, const std::string &key)
{
	cudaLibrary_t library;
	cudaKernel_t kernel;

	if (cudaLibraryLoadData(&library, code.data(), NULL, NULL, 0, NULL, NULL, 0) != cudaSuccess)
	{
		cudaGetLastError();
		return NULL;
	}
	if (cudaLibraryGetKernel(&kernel, library, "gpucol_compiled") != cudaSuccess || (text_ && !settle_text(kernel)))
	{
		cudaGetLastError();
		cudaLibraryUnload(library);
		return NULL;
	}
	return std::make_shared<const JitKernel>(library, kernel, code.size(), files_, key);
}
