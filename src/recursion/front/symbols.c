/*-------------------------------------------------------------------------
 *
 * symbols.c
 *	  Codes for byte strings: an array by code, and PostgreSQL's simplehash
 *	  from string to code.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "recursion/front/symbols.h"

typedef struct Symbol
{
	const char *data;
	uint32		len;
} Symbol;

typedef struct SymbolEntry
{
	Symbol		key;
	int64		code;
	uint32		hash;
	char		status;
} SymbolEntry;

#define SH_PREFIX		symboltable
#define SH_ELEMENT_TYPE	SymbolEntry
#define SH_KEY_TYPE		Symbol
#define SH_KEY			key
#define SH_HASH_KEY(table, k) \
	hash_bytes((const unsigned char *) (k).data, (int) (k).len)
#define SH_EQUAL(table, a, b) \
	((a).len == (b).len && memcmp((a).data, (b).data, (a).len) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) ((entry)->hash)
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct GpucolSymbols
{
	MemoryContext context;
	GpucolRecursionMemory *memory;	/* in which the context is counted, or NULL */
	symboltable_hash *table;
	Symbol	   *symbols;		/* by code */
	int64		allocated;
	int64		n;
};

GpucolSymbols *
gpucol_symbols_create(MemoryContext context, GpucolRecursionMemory *memory)
{
	GpucolSymbols *symbols;

	context = AllocSetContextCreate(context, "gpucol symbols",
									ALLOCSET_DEFAULT_SIZES);
	symbols = MemoryContextAllocZero(context, sizeof(GpucolSymbols));
	symbols->context = context;
	symbols->memory = memory;
	symbols->table = symboltable_create(context, 256, NULL);
	return symbols;
}

/* Strings that are counted before they are copied. */
#define LONG_STRING		65536

/* Have memory for a string, should it be new: table and array grow by doubling. */
static void
reserve(GpucolSymbols *symbols, Symbol key)
{
	Size		more = key.len < LONG_STRING ? 0 : key.len;

	if (symbols->table->members >= symbols->table->grow_threshold)
		more += 2 * symbols->table->size * sizeof(SymbolEntry);
	if (symbols->n == symbols->allocated)
		more += symbols->allocated * sizeof(Symbol);
	if (more > 0 && symboltable_lookup(symbols->table, key) == NULL)
		gpucol_recursion_count(symbols->memory, more);
}

int64
gpucol_symbols_code(GpucolSymbols *symbols, const char *data, uint32 len)
{
	Symbol		key = {data, len};
	SymbolEntry *entry;
	bool		found;
	char	   *copy;

	if (symbols->memory != NULL)
		reserve(symbols, key);
	entry = symboltable_insert(symbols->table, key, &found);
	if (found)
		return entry->code;
	copy = MemoryContextAlloc(symbols->context, (Size) len + 1);
	memcpy(copy, data, len);
	copy[len] = '\0';
	entry->key.data = copy;
	if (symbols->n == symbols->allocated)
	{
		symbols->allocated = Max(256, symbols->allocated * 2);
		if (symbols->symbols == NULL)
			symbols->symbols = MemoryContextAllocHuge(symbols->context,
													  symbols->allocated *
													  sizeof(Symbol));
		else
			symbols->symbols = repalloc_huge(symbols->symbols,
											 symbols->allocated *
											 sizeof(Symbol));
	}
	symbols->symbols[symbols->n] = entry->key;
	entry->code = symbols->n++;
	return entry->code;
}

const char *
gpucol_symbols_get(const GpucolSymbols *symbols, int64 code, uint32 *len)
{
	*len = symbols->symbols[code].len;
	return symbols->symbols[code].data;
}
