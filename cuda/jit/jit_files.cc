/*-------------------------------------------------------------------------
 *
 * jit_files.cc
 *	  Compiled kernels in files, and which of them were begun and not ended.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/jit/jit_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

/* Head of a file; the key and the code follow. */
struct FileHead
{
	char		magic[8];
	uint64_t	key_bytes;
	uint64_t	code_bytes;
	uint64_t	checksum;		/* of key and code */
};

static const char MAGIC[8] = {'G', 'P', 'U', 'C', 'O', 'L', 'J', '2'};
static const char CODE[] = ".cubin";
static const char ATTEMPTS[] = ".attempts";
static const int MOST_ATTEMPTS = 2;

static const uint64_t SEED = 0xcbf29ce484222325ull;

/* FNV-1a. */
static uint64_t
hash_bytes(const char *p, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char) p[i]) * 0x100000001b3ull;
	return h ^ h >> 32;
}

static std::string
hex(uint64_t x)
{
	char		text[17];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long) x);
	return text;
}

std::string
gpucol_jit_hash(const std::string &text)
{
	return hex(hash_bytes(text.data(), text.size(), SEED));
}

std::string
JitFiles::path(const std::string &key, const char *suffix) const
{
	return directory_ + "/" + gpucol_jit_hash(key) + hex(hash_bytes(key.data(), key.size(), ~SEED)) + suffix;
}

/* The content of this user's regular file of at most `most` bytes, else "". */
static std::string
content_of(const std::string &path, size_t most)
{
	std::string content;
	struct stat st;
	ssize_t		n = 0;
	int			fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return content;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && (size_t) st.st_size <= most)
	{
		content.resize(st.st_size);
		for (size_t at = 0; at < content.size(); at += n)
			if ((n = read(fd, &content[at], content.size() - at)) <= 0)
			{
				content.clear();
				break;
			}
		futimens(fd, NULL);		/* used just now */
	}
	close(fd);
	return content;
}

std::vector<char>
JitFiles::read(const std::string &key) const
{
	std::string content = directory_.empty() ? "" : content_of(path(key, CODE), limit_);
	std::vector<char> none;
	FileHead	head;

	if (content.size() <= sizeof(head))
		return none;
	memcpy(&head, content.data(), sizeof(head));
	content.erase(0, sizeof(head));
	if (memcmp(head.magic, MAGIC, sizeof(MAGIC)) != 0 || head.key_bytes != key.size() ||
		content.size() < key.size() || content.size() - key.size() != head.code_bytes ||
		content.compare(0, key.size(), key) != 0 ||
		hash_bytes(content.data(), content.size(), SEED) != head.checksum)
		return none;
	return std::vector<char>(content.begin() + key.size(), content.end());
}

void
JitFiles::write(const std::string &key, const std::vector<char> &code) const
{
	std::string to = path(key, CODE),
				temporary = to + "." + std::to_string(getpid());
	std::string body = key + std::string(code.begin(), code.end());
	FileHead	head;
	FILE	   *file;
	bool		written;

	if (directory_.empty() || sizeof(head) + body.size() > limit_ / 8)
		return;
	mkdir(directory_.c_str(), 0700);
	trim();
	memcpy(head.magic, MAGIC, sizeof(MAGIC));
	head.key_bytes = key.size();
	head.code_bytes = code.size();
	head.checksum = hash_bytes(body.data(), body.size(), SEED);
	unlink(temporary.c_str());
	if ((file = fopen(temporary.c_str(), "wbxe")) == NULL)
		return;
	written = fwrite(&head, sizeof(head), 1, file) == 1 &&
		fwrite(body.data(), 1, body.size(), file) == body.size();
	if (fclose(file) != 0 || !written || rename(temporary.c_str(), to.c_str()) != 0)
		unlink(temporary.c_str());
}

/* Remove the files used longest ago until an eighth of the room is free. */
void
JitFiles::trim() const
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
		std::string name = directory_ + "/" + entry->d_name;
		struct stat st;

		/* what a process that died left half-written has a number after the suffix */
		if ((strstr(entry->d_name, CODE) == NULL && strstr(entry->d_name, ATTEMPTS) == NULL) ||
			lstat(name.c_str(), &st) != 0 || !S_ISREG(st.st_mode))
			continue;
		files.push_back({st.st_mtim, (size_t) st.st_size, name});
		total += st.st_size;
	}
	closedir(dir);
	std::sort(files.begin(), files.end(), [] (const File &a, const File &b) {
		return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
	});
	for (const File &f : files)
	{
		if (total <= limit_ / 8 * 7)
			break;
		if (unlink(f.path.c_str()) == 0)
			total -= f.size;
	}
}

/* Make the file of attempts longer by n bytes. */
static void
add_attempts(const std::string &path, int n)
{
	int			fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return;
	for (int i = 0; i < n; i++)
		if (::write(fd, "x", 1) != 1)
			break;
	close(fd);
}

bool
JitFiles::begin(const std::string &key) const
{
	if (directory_.empty())
		return true;
	if (content_of(path(key, ATTEMPTS), 4096).size() >= MOST_ATTEMPTS)
		return false;
	mkdir(directory_.c_str(), 0700);
	add_attempts(path(key, ATTEMPTS), 1);
	return true;
}

void
JitFiles::end(const std::string &key) const
{
	if (!directory_.empty())
		unlink(path(key, ATTEMPTS).c_str());
}

void
JitFiles::condemn(const std::string &key) const
{
	if (!directory_.empty())
		add_attempts(path(key, ATTEMPTS), MOST_ATTEMPTS);
}
