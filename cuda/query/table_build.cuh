/*-------------------------------------------------------------------------
 *
 * table_build.cuh
 *	  A BUILD: the rows that a program's conditions and joins leave become a table that
 *	  probes look up (src/kernel/lookup.h), in device memory.
 *
 * Rows are found and their outputs computed as those of a SCAN.  Then every key's word sets
 * a bit; the bits before a word are its number; rows go to the place of their number, those of
 * equal keys one behind the other in the order of the scan, those with a NULL key to the end,
 * if they are kept.  So tables are dense ones: where the words of the keys lie too far apart
 * the host is to build.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_TABLE_BUILD_CUH
#define GPUCOL_CUDA_TABLE_BUILD_CUH

#include <memory>
#include <vector>

#include "cuda/query/built_tables.cuh"
#include "cuda/query/interpreter.cuh"
#include "cuda/query/lookup_check.h"
#include "cuda/query/part_context.cuh"

constexpr int GPUCOL_MAX_BUILT_COLUMNS = 64;

/* An output of rows that become a table. */
struct BuildColumn
{
	const unsigned long long *values;
	const uint8_t *nulls;
	uint32_t	stride;			/* words of a value */
	bool		bounded;		/* do its values have a least and a greatest? */
};

/* What is known of one, over the rows whose keys are no NULLs. */
struct BuildFacts
{
	long long	least;
	long long	greatest;
	uint32_t	nulls;			/* is some value NULL? */
	uint32_t	wide;			/* does some need more than 64 bits? */
};

/* The rows, as kernels take them. */
struct BuildRows
{
	uint64_t	n;
	uint32_t	nkeys;			/* the first columns */
	uint32_t	ncolumns;
	BuildColumn columns[GPUCOL_MAX_BUILT_COLUMNS];
	int64_t		least[GPUCOL_MAX_PROBE_KEYS];
	uint32_t	shift[GPUCOL_MAX_PROBE_KEYS];
};

class TableBuild
{
public:
	explicit TableBuild(PartContext &c)
		: c_(c), program_(c), keeps_(c.program.head().flags & GPUCOL_PROGRAM_KEEP_NULL_KEYS) {}

	/* Make the table, and give it the RUN's number.  Throws Failure. */
	void		run(Partial *result);

private:
	uint64_t	find_rows(Partial *result);
	void		learn();
	void		plan_keys();
	void		set_bits();
	void		place_rows();
	void		place_ordered(const uint32_t *numbers);
	void		plan_columns();
	void		write(BuiltTable *table);
	template <class T> T *array(size_t n);
	void		clear(void *p, int byte, size_t size);

	PartContext &c_;
	Interpreter program_;
	const bool	keeps_;			/* rows with a NULL key stay */
	BuildRows	rows_ = {};
	std::vector<BuildFacts> facts_; /* by column; and, if rows with a NULL key stay, over all */
	GpucolWireLookup head_ = {};
	std::vector<GpucolWireLookupKey> keys_;
	std::vector<GpucolWireLookupColumn> columns_;
	unsigned long long *bits_ = NULL;
	uint32_t   *before_ = NULL;
	uint32_t   *first_ = NULL;	/* NULL: keys are unique */
	uint32_t   *places_ = NULL; /* by row, GPUCOL_LOOKUP_NONE = it has a NULL key */
};

#endif
