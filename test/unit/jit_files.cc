/*-------------------------------------------------------------------------
 *
 * jit_files.cc
 *	  Unit test of the files that keep compiled kernels (cuda/jit/jit_files.h).
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/jit/jit_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "check_cc.h"

static std::string directory;

/* Paths of the directory's files whose names contain a text. */
static std::vector<std::string>
files(const char *containing)
{
	std::vector<std::string> found;
	DIR		   *dir = opendir(directory.c_str());

	while (struct dirent *entry = dir ? readdir(dir) : NULL)
		if (strstr(entry->d_name, containing))
			found.push_back(directory + "/" + entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}

static void
empty_directory()
{
	for (const std::string &f : files("."))
		unlink(f.c_str());
	rmdir(directory.c_str());
}

static std::string
slurp(const std::string &path)
{
	std::ifstream in(path, std::ios::binary);

	return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

static void
spit(const std::string &path, const std::string &text)
{
	std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

static std::vector<char>
code_of(char c, size_t n)
{
	return std::vector<char>(n, c);
}

static void
test_keeping()
{
	JitFiles	kept(directory, 1 << 20),
				nowhere("", 1 << 20),
				impossible("/proc/nowhere", 1 << 20);
	struct stat st;

	empty_directory();
	CHECK("nothing there", kept.read("key").empty());
	kept.write("key", code_of('a', 1000));
	CHECK("read back", kept.read("key") == code_of('a', 1000));
	CHECK("another key", kept.read("kez").empty());
	CHECK("folder is its owner's alone", stat(directory.c_str(), &st) == 0 && (st.st_mode & 0777) == 0700);
	kept.write("key", code_of('b', 10));
	CHECK("replaced", kept.read("key") == code_of('b', 10) && files(".cubin").size() == 1);
	kept.write("large", code_of('c', 1 << 18));
	CHECK("too large to keep", kept.read("large").empty());
	nowhere.write("key", code_of('a', 10));
	CHECK("without a folder", nowhere.read("key").empty() && nowhere.begin("key") && nowhere.begin("key") &&
		  nowhere.begin("key"));
	impossible.write("key", code_of('a', 10));
	CHECK("a folder that cannot be made", impossible.read("key").empty() && impossible.begin("key"));
}

/* Every way in which a file may be wrong: ignored, and written again. */
static void
test_damage()
{
	JitFiles	kept(directory, 1 << 20);
	std::string path,
				whole;

	empty_directory();
	kept.write("key", code_of('a', 100));
	path = files(".cubin")[0];
	whole = slurp(path);
	for (size_t n = 0; n < whole.size(); n++)
	{
		spit(path, whole.substr(0, n));
		CHECK("cut short", kept.read("key").empty());
	}
	for (size_t i = 0; i < whole.size(); i++)
	{
		std::string damaged = whole;

		damaged[i] ^= 0x10;
		spit(path, damaged);
		CHECK("one bit changed", kept.read("key").empty());
	}
	spit(path, whole + "x");
	CHECK("longer", kept.read("key").empty());
	kept.write("other", code_of('o', 100));
	for (const std::string &f : files(".cubin"))
		if (f != path)
		{
			CHECK("of another key", rename(f.c_str(), path.c_str()) == 0 && kept.read("key").empty());
		}
	kept.write("key", code_of('a', 100));
	CHECK("written again", kept.read("key") == code_of('a', 100));
	CHECK("moved", rename(path.c_str(), (directory + "/elsewhere.cubin").c_str()) == 0 &&
		  symlink("elsewhere.cubin", path.c_str()) == 0);
	CHECK("a link is not followed", kept.read("key").empty());
	unlink(path.c_str());
	CHECK("a pipe does not block", mkfifo(path.c_str(), 0600) == 0 && kept.read("key").empty());
	unlink(path.c_str());
	CHECK("a folder in its place", mkdir(path.c_str(), 0700) == 0 && kept.read("key").empty());
	kept.write("key", code_of('a', 100));
	CHECK("which cannot be replaced", kept.read("key").empty() && files(".cubin.").empty());
	rmdir(path.c_str());
}

/* The directory stays within its limit; what was used last stays. */
static void
test_eviction()
{
	const size_t limit = 80000;
	JitFiles	kept(directory, limit);
	size_t		total = 0;

	empty_directory();
	kept.write("first", code_of('f', 5000));
	spit(directory + "/0123.cubin.99", std::string(5000, 'x'));	/* of a process that died */
	for (int i = 0; i < 40; i++)
	{
		struct timespec wait = {0, 2000000};

		nanosleep(&wait, NULL);
		kept.write("key" + std::to_string(i), code_of('k', 5000));
		nanosleep(&wait, NULL);
		CHECK("in use", kept.read("first") == code_of('f', 5000));
	}
	for (const std::string &f : files("."))
		if (struct stat st; stat(f.c_str(), &st) == 0 && S_ISREG(st.st_mode))
			total += st.st_size;
	CHECK("within the limit", total <= limit);
	CHECK("the last ones are there", kept.read("key39") == code_of('k', 5000) &&
		  kept.read("key35") == code_of('k', 5000));
	CHECK("the oldest are not", kept.read("key0").empty() && kept.read("key20").empty());
	CHECK("nor what was left half-written", files(".99").empty());
}

static void
test_attempts()
{
	JitFiles	kept(directory, 1 << 20);

	empty_directory();
	CHECK("first", kept.begin("key"));
	kept.end("key");
	CHECK("second", kept.begin("key"));
	CHECK("third, the second has not ended", kept.begin("key"));
	CHECK("two have not ended", !kept.begin("key"));
	CHECK("nor in a later process", !JitFiles(directory, 1 << 20).begin("key"));
	CHECK("another key", kept.begin("other"));
	kept.condemn("other");
	CHECK("condemned", !kept.begin("other"));
	kept.end("key");
	CHECK("forgiven", kept.begin("key"));
}

/* Writers of one key in several threads and a reader: never a wrong answer. */
static void
test_concurrency()
{
	JitFiles	kept(directory, 1 << 20);
	bool		wrong = false;

	empty_directory();
	std::thread writer([&] {
		for (int i = 0; i < 300; i++)
			kept.write("key", code_of('a' + i % 2, 1000 + i % 2));
	});
	for (int i = 0; i < 300; i++)
	{
		std::vector<char> code = kept.read("key");

		wrong |= !code.empty() && code != code_of('a', 1000) && code != code_of('b', 1001);
	}
	writer.join();
	CHECK("read all or nothing", !wrong && !kept.read("key").empty());
}

int
main()
{
	char		name[] = "/tmp/jit_files.XXXXXX";

	if (mkdtemp(name) == NULL)
		return 1;
	directory = std::string(name) + "/jit";
	test_keeping();
	test_damage();
	test_eviction();
	test_attempts();
	test_concurrency();
	empty_directory();
	rmdir(name);
	return summary("jit_files");
}
