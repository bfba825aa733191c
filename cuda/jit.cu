/*-------------------------------------------------------------------------
 *
 * jit.cu
 *	  Run-time compilation: NVRTC, its background thread, and the files that
 *	  keep what it made.
 *
 *-------------------------------------------------------------------------
 */
#include "jit.cuh"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

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
	int			(*cubin_size) (Handle, size_t *);
	int			(*cubin) (Handle, char *);
	int			(*destroy) (Handle *);
};

static Compiler compiler;

/* Head of a file; the key and the cubin follow. */
struct FileHead
{
	char		magic[8];
	uint64_t	key_bytes;
	uint64_t	cubin_bytes;
	uint64_t	checksum;		/* of key and cubin */
};

static const char MAGIC[8] = {'G', 'P', 'U', 'C', 'O', 'L', 'J', '1'};
static const char SUFFIX[] = ".cubin";

/* FNV-1a. */
static uint64_t
hash_bytes(const char *p, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char) p[i]) * 0x100000001b3ull;
	return h ^ h >> 32;
}

static const uint64_t SEED = 0xcbf29ce484222325ull;

static std::string
hex(uint64_t x)
{
	char		text[17];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long) x);
	return text;
}

void
JitKernel::judge(bool same) const
{
	int			unknown = 0;

	if (!same)
	{
		verdict_ = -1;
		fprintf(stderr, "gpucol_gpud: the answer of a compiled kernel differs; it is not used\n");
	}
	else
		verdict_.compare_exchange_strong(unknown, 1);
}

void
Jit::configure(const std::string &directory, bool wait)
{
	std::lock_guard<std::mutex> lock(mutex_);

	directory_ = directory;
	wait_ = wait;
}

/* Open NVRTC; "" or why it cannot be used.  By the background thread alone. */
std::string
Jit::open_compiler()
{
	const char *given = getenv("GPUCOL_NVRTC");
	std::string major = std::to_string(CUDART_VERSION / 1000);
	std::vector<std::string> names = {"libnvrtc.so." + major, "libnvrtc.so",
		"/usr/local/cuda/lib64/libnvrtc.so." + major, "/usr/local/cuda/lib/libnvrtc.so." + major};
	void	   *library = NULL;
	int			device = 0,
				high = 0,
				low = 0,
				compiler_major = 0,
				compiler_minor = 0;
	uint64_t	headers = SEED;

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
	compiler.cubin_size = (decltype(compiler.cubin_size)) dlsym(library, "nvrtcGetCUBINSize");
	compiler.cubin = (decltype(compiler.cubin)) dlsym(library, "nvrtcGetCUBIN");
	compiler.destroy = (decltype(compiler.destroy)) dlsym(library, "nvrtcDestroyProgram");
	if (!compiler.version || !compiler.create || !compiler.compile || !compiler.log_size || !compiler.log ||
		!compiler.cubin_size || !compiler.cubin || !compiler.destroy ||
		compiler.version(&compiler_major, &compiler_minor) != 0)
		return "NVRTC on this host is too old: nothing is compiled";
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&high, cudaDevAttrComputeCapabilityMajor, device);
	cudaDeviceGetAttribute(&low, cudaDevAttrComputeCapabilityMinor, device);
	for (const JitHeader *h = gpucol_jit_headers; h->name != NULL; h++)
		headers = hash_bytes(h->text, strlen(h->text), hash_bytes(h->name, strlen(h->name), headers));
	architecture_ = "sm_" + std::to_string(high) + std::to_string(low);
	environment_ = architecture_ + " nvrtc " + std::to_string(compiler_major) + "." + std::to_string(compiler_minor) +
		" headers " + hex(headers) + "\n";
	return "";
}

JitHandle
Jit::find(const std::string &source)
{
	std::unique_lock<std::mutex> lock(mutex_);

	if (!note_.empty())
		return NULL;

	auto		at = entries_.find(source);

	if (at == entries_.end())
	{
		if (queue_.size() >= GPUCOL_JIT_QUEUE)
			return NULL;
		forget_oldest();
		entries_[source].used = ++clock_;
		queue_.push_back(source);
		if (!running_)
			std::thread([this] { work(); }).detach();
		running_ = true;
		changed_.notify_all();
	}
	if (wait_)
		changed_.wait(lock, [&] { return entries_[source].state != QUEUED; });

	Entry	   &entry = entries_[source];

	entry.used = ++clock_;
	return entry.kernel;
}

size_t
Jit::loaded()
{
	std::lock_guard<std::mutex> lock(mutex_);
	size_t		n = 0;

	for (const auto &e : entries_)
		n += e.second.state == READY;
	return n;
}

std::string
Jit::note()
{
	std::lock_guard<std::mutex> lock(mutex_);

	return note_;
}

/* Make room for one more entry. */
void
Jit::forget_oldest()
{
	while (entries_.size() >= GPUCOL_JIT_KERNELS)
	{
		auto		oldest = entries_.end();

		for (auto e = entries_.begin(); e != entries_.end(); ++e)
			if (e->second.state != QUEUED && (oldest == entries_.end() || e->second.used < oldest->second.used))
				oldest = e;
		if (oldest == entries_.end())
			return;
		entries_.erase(oldest);
	}
}

/* The background thread: one source after the other. */
void
Jit::work()
{
	std::string why = open_compiler();

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
		kernel = why.empty() ? build(source) : NULL;
		lock.lock();
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
	std::vector<char> cubin = read_file(key);
	JitHandle	kernel = cubin.empty() ? NULL : load(cubin);

	if (kernel)
		return kernel;
	cubin = compile(source, &log);
	if (!cubin.empty())
		kernel = load(cubin);
	if (!kernel)
		fprintf(stderr, "gpucol_gpud: a kernel could not be compiled and stays interpreted: %.2000s\n", log.c_str());
	else
		write_file(key, cubin);
	return kernel;
}

std::vector<char>
Jit::compile(const std::string &source, std::string *log)
{
	std::vector<const char *> names,
				texts;
	std::string arch = "--gpu-architecture=" + architecture_;
	const char *options[] = {arch.c_str(), "--std=c++17", "--device-int128", "-default-device", "-fmad=false"};
	Compiler::Handle program = NULL;
	std::vector<char> cubin;
	size_t		n = 0;

	for (const JitHeader *h = gpucol_jit_headers; h->name != NULL; h++)
	{
		names.push_back(h->name);
		texts.push_back(h->text);
	}
	if (compiler.create(&program, source.c_str(), "gpucol_compiled.cu", (int) names.size(), texts.data(), names.data()) != 0)
	{
		*log = "the compiler did not take the source";
		return cubin;
	}
	if (compiler.compile(program, sizeof(options) / sizeof(options[0]), options) == 0 &&
		compiler.cubin_size(program, &n) == 0)
	{
		cubin.resize(n);
		if (compiler.cubin(program, cubin.data()) != 0)
			cubin.clear();
	}
	else if (compiler.log_size(program, &n) == 0 && n > 0)
	{
		log->resize(n);
		compiler.log(program, &(*log)[0]);
	}
	compiler.destroy(&program);
	return cubin;
}

JitHandle
Jit::load(const std::vector<char> &cubin)
{
	cudaLibrary_t library;
	cudaKernel_t kernel;

	if (cudaLibraryLoadData(&library, cubin.data(), NULL, NULL, 0, NULL, NULL, 0) != cudaSuccess)
	{
		cudaGetLastError();
		return NULL;
	}
	if (cudaLibraryGetKernel(&kernel, library, "gpucol_compiled") != cudaSuccess)
	{
		cudaGetLastError();
		cudaLibraryUnload(library);
		return NULL;
	}
	return std::make_shared<const JitKernel>(library, kernel);
}

std::string
Jit::path_of(const std::string &key) const
{
	return directory_ + "/" + hex(hash_bytes(key.data(), key.size(), SEED)) +
		hex(hash_bytes(key.data(), key.size(), ~SEED)) + SUFFIX;
}

/* The cubin of a key, empty if there is none or the file is not right. */
std::vector<char>
Jit::read_file(const std::string &key)
{
	std::vector<char> content,
				none;
	FileHead	head;
	int			fd;
	struct stat st;

	if (directory_.empty() || (fd = open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC)) < 0)
		return none;
	if (fstat(fd, &st) == 0 && (size_t) st.st_size > sizeof(head) && (size_t) st.st_size <= GPUCOL_JIT_DISK_BYTES)
	{
		content.resize(st.st_size);
		if (read(fd, content.data(), content.size()) != (ssize_t) content.size())
			content.clear();
		futimens(fd, NULL);		/* used just now */
	}
	close(fd);
	if (content.empty())
		return none;
	memcpy(&head, content.data(), sizeof(head));
	if (memcmp(head.magic, MAGIC, sizeof(MAGIC)) != 0 || head.key_bytes != key.size() ||
		content.size() - sizeof(head) < head.key_bytes ||
		content.size() - sizeof(head) - head.key_bytes != head.cubin_bytes ||
		memcmp(content.data() + sizeof(head), key.data(), key.size()) != 0 ||
		hash_bytes(content.data() + sizeof(head), content.size() - sizeof(head), SEED) != head.checksum)
		return none;
	return std::vector<char>(content.begin() + sizeof(head) + key.size(), content.end());
}

/* Keep a cubin; failing to is no harm. */
void
Jit::write_file(const std::string &key, const std::vector<char> &cubin)
{
	std::string path = path_of(key),
				temporary = path + "." + std::to_string(getpid());
	std::string body = key + std::string(cubin.begin(), cubin.end());
	FileHead	head;
	FILE	   *file;
	bool		written;

	if (directory_.empty())
		return;
	mkdir(directory_.c_str(), 0700);
	trim_directory();
	memcpy(head.magic, MAGIC, sizeof(MAGIC));
	head.key_bytes = key.size();
	head.cubin_bytes = cubin.size();
	head.checksum = hash_bytes(body.data(), body.size(), SEED);
	if ((file = fopen(temporary.c_str(), "wbe")) == NULL)
		return;
	written = fwrite(&head, sizeof(head), 1, file) == 1 &&
		fwrite(body.data(), 1, body.size(), file) == body.size();
	if (fclose(file) != 0 || !written || rename(temporary.c_str(), path.c_str()) != 0)
		unlink(temporary.c_str());
}

/* Remove the files used longest ago until an eighth of the room is free. */
void
Jit::trim_directory()
{
	struct File
	{
		struct timespec used;
		size_t		size;
		std::string path;
	};
	std::vector<File> files;
	size_t		total = 0;
	DIR		   *dir = opendir(directory_.c_str());

	if (dir == NULL)
		return;
	while (struct dirent *entry = readdir(dir))
	{
		std::string path = directory_ + "/" + entry->d_name;
		struct stat st;

		if (strstr(entry->d_name, SUFFIX) == NULL || stat(path.c_str(), &st) != 0)
			continue;
		files.push_back({st.st_mtim, (size_t) st.st_size, path});
		total += st.st_size;
	}
	closedir(dir);
	if (total <= GPUCOL_JIT_DISK_BYTES / 8 * 7)
		return;
	std::sort(files.begin(), files.end(), [] (const File &a, const File &b) {
		return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
	});
	for (const File &f : files)
	{
		if (total <= GPUCOL_JIT_DISK_BYTES / 8 * 7)
			break;
		if (unlink(f.path.c_str()) == 0)
			total -= f.size;
	}
}
