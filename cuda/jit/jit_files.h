/*-------------------------------------------------------------------------
 *
 * jit_files.h
 *	  Compiled kernels in files, and which of them were begun and not ended.
 *
 * A directory holds one file a kernel, named by the hash of its key (source,
 * architecture, compiler, headers, options).  A file has a head, the whole key,
 * and the machine code under a checksum; one that is cut short, changed, of
 * another key with the same hash, or of another owner is as good as none, and is
 * written again.  Files appear by renaming, so that a reader sees all or nothing.
 * The files used longest ago are removed when there are more than `limit` bytes.
 *
 * Compiling a kernel and trying it for the first time may end the process, and
 * the next one would try again: attempts are recorded in a file of their own before
 * they begin, and no third one is made when two have not ended.
 *
 * Nothing here knows CUDA.  Any thread may call; failing to write is no harm.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_JIT_FILES_H
#define GPUCOL_CUDA_JIT_FILES_H

#include <cstddef>
#include <string>
#include <vector>

class JitFiles
{
public:
	/* In `directory`, which is made when first written to; "" keeps nothing. */
	JitFiles(const std::string &directory, size_t limit) : directory_(directory), limit_(limit) {}

	/* The code of a key, empty if there is none or its file is not right. */
	std::vector<char> read(const std::string &key) const;
	void		write(const std::string &key, const std::vector<char> &code) const;

	/* Note that an attempt at the key begins; false: two have not ended. */
	bool		begin(const std::string &key) const;
	/* The attempt ended. */
	void		end(const std::string &key) const;
	/* No further attempt at the key shall begin. */
	void		condemn(const std::string &key) const;

private:
	std::string path(const std::string &key, const char *suffix) const;
	void		trim() const;

	std::string directory_;
	size_t		limit_;
};

/* Sixteen hexadecimal digits of a text's hash. */
extern std::string gpucol_jit_hash(const std::string &text);

#endif
