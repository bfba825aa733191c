/*-------------------------------------------------------------------------
 *
 * built_tables.cuh
 *	  Tables of joined rows that BUILDs of a session have made (table_build.cuh), by number.
 *
 * One is never changed: who looks it up keeps it as long as that takes, whatever becomes of its
 * number meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_BUILT_TABLES_CUH
#define GPUCOL_CUDA_BUILT_TABLES_CUH

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/base/cache.cuh"

struct BuiltTable
{
	BuiltTable(Device &of, size_t limit) : device(of), memory(of, limit) {}

	Device	   &device;
	Scratch		memory;
	std::vector<char> description;	/* as PUT_LOOKUP */
	char	   *data = NULL;	/* as PUT_LOOKUP_DATA, on the device; NULL: nothing */
	uint64_t	bytes = 0;		/* of them */
};

class BuiltTables
{
public:
	/* The table of a number; NULL: there is none. */
	std::shared_ptr<const BuiltTable>
	find(uint32_t number)
	{
		std::lock_guard<std::mutex> lock(mutex_);
		auto		at = tables_.find(number);

		return at == tables_.end() ? NULL : at->second;
	}

	/* Give a number to another; NULL: to none. */
	void
	put(uint32_t number, std::shared_ptr<const BuiltTable> table)
	{
		std::lock_guard<std::mutex> lock(mutex_);

		if (table != NULL)
			tables_[number].swap(table);
		else
			tables_.erase(number);
	}

private:
	std::mutex	mutex_;
	std::map<uint32_t, std::shared_ptr<const BuiltTable>> tables_;
};

#endif
