/*-------------------------------------------------------------------------
 *
 * symbols.c
 *	  Codes for byte strings: an array by code, and a hash table from string to
 *	  code.
 *
 * The strings lie in a memory context, which is counted from time to time; array and
 * table are counted before they grow.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "base/hash.h"
#include "recursion/front/symbols.h"

/* Strings that are counted before they are copied. */
#define LONG_STRING		65536

typedef struct Symbol
{
	const char *data;
	uint32		len;
} Symbol;

struct GpucolSymbols
{
	MemoryContext context;		/* of the strings */
	GpucolRecursionMemory *memory;	/* in which all is counted, or NULL */
	GpucolBudget *budget;		/* its budget, or NULL */
	GpucolHash	table;			/* codes */
	Symbol	   *symbols;		/* by code */
	uint64		allocated;
	uint64		n;
};

/* Memory context callback. */
static void
release(void *arg)
{
	GpucolSymbols *symbols = arg;

	gpucol_hash_free(&symbols->table, symbols->budget);
	gpucol_budget_free(symbols->budget, symbols->symbols,
					   symbols->allocated * sizeof(Symbol));
}

GpucolSymbols *
gpucol_symbols_create(MemoryContext context, GpucolRecursionMemory *memory)
{
	GpucolSymbols *symbols;
	MemoryContextCallback *callback;

	context = AllocSetContextCreate(context, "gpucol symbols", GPUCOL_METER_SIZES);
	symbols = MemoryContextAllocZero(context, sizeof(GpucolSymbols));
	symbols->context = context;
	symbols->memory = memory;
	symbols->budget = memory == NULL ? NULL : memory->budget;
	callback = MemoryContextAlloc(context, sizeof(MemoryContextCallback));
	callback->func = release;
	callback->arg = symbols;
	MemoryContextRegisterResetCallback(context, callback);
	return symbols;
}

/* Have room for one more symbol of so many bytes. */
static void
reserve(GpucolSymbols *symbols, uint32 len)
{
	bool		fits = symbols->n < PG_UINT32_MAX - 1 &&
		gpucol_hash_reserve(&symbols->table, symbols->budget) &&
		gpucol_budget_array(symbols->budget, &symbols->symbols, &symbols->allocated,
							symbols->n + 1, sizeof(Symbol));

	if (symbols->memory != NULL && (!fits || len >= LONG_STRING))
		gpucol_recursion_count(symbols->memory, fits ? len : SIZE_MAX);
	else if (!fits)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
}

int64
gpucol_symbols_code(GpucolSymbols *symbols, const char *data, uint32 len)
{
	uint32		hash = hash_bytes((const unsigned char *) data, (int) len);
	uint64		at;
	uint32		code;
	char	   *copy;

	for (at = gpucol_hash_start(&symbols->table, hash);
		 symbols->table.nslots > 0 && gpucol_hash_next(&symbols->table, hash, &at, &code);)
	{
		if (symbols->symbols[code].len == len &&
			memcmp(symbols->symbols[code].data, data, len) == 0)
			return code;
	}
	reserve(symbols, len);
	copy = MemoryContextAllocHuge(symbols->context, (Size) len + 1);
	memcpy(copy, data, len);
	copy[len] = '\0';
	symbols->symbols[symbols->n] = (Symbol) {copy, len};
	for (at = gpucol_hash_start(&symbols->table, hash);
		 gpucol_hash_next(&symbols->table, hash, &at, &code);)
		;
	gpucol_hash_put(&symbols->table, hash, at, (uint32) symbols->n);
	return (int64) symbols->n++;
}

const char *
gpucol_symbols_get(const GpucolSymbols *symbols, int64 code, uint32 *len)
{
	*len = symbols->symbols[code].len;
	return symbols->symbols[code].data;
}
