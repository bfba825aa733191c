/*-------------------------------------------------------------------------
 *
 * symbols.c
 *	  Codes for byte strings: an array by code, and the hash table of all folders (base/) from
 *	  string to code.  Of several strings the slots are asked for before any is looked at, so
 *	  that they come from memory together.
 *
 * The strings lie one after the other in blocks, each as a varlena, aligned for any type, and followed by
 * a zero byte: values can be shown in place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/hash_table.h"
#include "compat.h"
#include "kernel/hash.h"
#include "recursion/front/symbols.h"

/* Bytes of the first block, and of the greatest one; a longer string has a block of its own. */
#define FIRST_BLOCK		((Size) 8 << 10)
#define MOST_BLOCK		((Size) 512 << 10)

/* Codes that the table's slots can hold. */
#define MAX_SYMBOLS		INT64CONST(0x7fffffff)

/* Strings that are counted before they are copied. */
#define LONG_STRING		65536

typedef struct Symbol
{
	const char *data;
	uint32		len;
} Symbol;

struct GpucolSymbols
{
	MemoryContext context;
	GpucolRecursionMemory *memory;	/* in which the context is counted, or NULL */
	GpucolHashTable table;
	Symbol	   *symbols;		/* by code */
	int64		allocated;
	int64		n;
	int64		nfound;			/* of those, the ones that the table finds */
	Size		block;			/* bytes of the last block; */
	char	   *free;			/* where it is free, */
	Size		left;			/* and how much of it */
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
	return symbols;
}

/* Count what is about to be allocated. */
static void
count(const GpucolSymbols *symbols, Size more)
{
	if (symbols->memory != NULL)
		gpucol_recursion_count(symbols->memory, more);
}

/* Have slots for n more strings. */
static void
grow_table(GpucolSymbols *symbols, uint32 n)
{
	uint64		nslots = gpucol_hash_slots(symbols->table.nslots, symbols->nfound + n);
	uint64	   *slots;

	if (nslots == symbols->table.nslots)
		return;
	count(symbols, nslots * sizeof(uint64));
	slots = MemoryContextAllocExtended(symbols->context, nslots * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	slots = (uint64 *) gpucol_hash_move(&symbols->table, (uint64_t *) slots, nslots);
	if (slots != NULL)
		pfree(slots);
}

/* Have a place for another string. */
static void
grow_array(GpucolSymbols *symbols)
{
	int64		allocated = Max(256, symbols->allocated * 2);

	if (symbols->n < symbols->allocated)
		return;
	if (symbols->n >= MAX_SYMBOLS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a recursion has more than %lld different values by reference", (long long) MAX_SYMBOLS)));
	count(symbols, symbols->allocated * sizeof(Symbol));
	if (symbols->symbols == NULL)
		symbols->symbols = MemoryContextAllocHuge(symbols->context, allocated * sizeof(Symbol));
	else
		symbols->symbols = repalloc_huge(symbols->symbols, allocated * sizeof(Symbol));
	symbols->allocated = allocated;
}

/* Room for so many bytes. */
static char *
get_room(GpucolSymbols *symbols, Size size)
{
	char	   *room;

	if (size > MOST_BLOCK / 2)
		return MemoryContextAllocHuge(symbols->context, size);
	if (size > symbols->left)
	{
		symbols->block = Min(Max(FIRST_BLOCK, Max(symbols->block * 2, size)), MOST_BLOCK);
		symbols->free = MemoryContextAlloc(symbols->context, symbols->block);
		symbols->left = symbols->block;
	}
	room = symbols->free;
	symbols->free += size;
	symbols->left -= size;
	return room;
}

int64
gpucol_symbols_add(GpucolSymbols *symbols, const char *data, uint32 len)
{
	char	   *copy;

	grow_array(symbols);
	if (len >= LONG_STRING)
		count(symbols, len);
	copy = get_room(symbols, MAXALIGN(VARHDRSZ + (Size) len + 1));
	SET_VARSIZE(copy, len + VARHDRSZ);
	copy = VARDATA(copy);
	memcpy(copy, data, len);
	copy[len] = '\0';
	symbols->symbols[symbols->n] = (Symbol) {copy, len};
	return symbols->n++;
}

/* The code of a string with this hash; the table has a slot for it. */
static int64
find(GpucolSymbols *symbols, uint64 hash, const char *data, uint32 len)
{
	uint64_t	at = gpucol_hash_home(&symbols->table, hash);
	uint32		code;

	while (gpucol_hash_next(&symbols->table, hash, &at, &code))
	{
		if (symbols->symbols[code].len == len && gpucol_hash_same(symbols->symbols[code].data, data, len))
			return code;
	}
	code = (uint32) gpucol_symbols_add(symbols, data, len);
	gpucol_hash_put(&symbols->table, at, hash, code);
	symbols->nfound++;
	return code;
}

int64
gpucol_symbols_code(GpucolSymbols *symbols, const char *data, uint32 len)
{
	grow_table(symbols, 1);
	return find(symbols, gpucol_hash_bytes(data, len), data, len);
}

/* The string of the slot where the search for a hash begins, if it may have the hash. */
static const Symbol *
first_of(const GpucolSymbols *symbols, uint64 hash)
{
	uint64_t	at = gpucol_hash_home(&symbols->table, hash);
	uint64		slot = symbols->table.slots[at];

	return slot == 0 || (slot ^ hash) >> 32 != 0 ? NULL : &symbols->symbols[(uint32) slot - 1];
}

void
gpucol_symbols_codes(GpucolSymbols *symbols, uint32 n, const GpucolBytes *strings, int64 *codes)
{
	uint64		hashes[GPUCOL_SYMBOLS_PIECE];
	const Symbol *first[GPUCOL_SYMBOLS_PIECE];

	Assert(n <= GPUCOL_SYMBOLS_PIECE);
	grow_table(symbols, n);
	for (uint32 i = 0; i < n; i++)
	{
		hashes[i] = gpucol_hash_bytes(strings[i].data, strings[i].len);
		__builtin_prefetch(&symbols->table.slots[gpucol_hash_home(&symbols->table, hashes[i])], 1);
	}
	for (uint32 i = 0; i < n; i++)
	{
		first[i] = first_of(symbols, hashes[i]);
		__builtin_prefetch(first[i]);
	}
	for (uint32 i = 0; i < n; i++)
	{
		if (first[i] != NULL)
			__builtin_prefetch(first[i]->data);
	}
	for (uint32 i = 0; i < n; i++)
		codes[i] = find(symbols, hashes[i], strings[i].data, strings[i].len);
}

const char *
gpucol_symbols_get(const GpucolSymbols *symbols, int64 code, uint32 *len)
{
	*len = symbols->symbols[code].len;
	return symbols->symbols[code].data;
}

void
gpucol_symbols_get_many(const GpucolSymbols *symbols, uint32 n, const int64 *codes, const uint8 *nulls,
						GpucolBytes *strings)
{
	for (uint32 i = 0; i < n; i++)
	{
		if (!nulls[i])
			__builtin_prefetch(&symbols->symbols[codes[i]]);
	}
	for (uint32 i = 0; i < n; i++)
	{
		uint32		len;

		strings[i] = (GpucolBytes) {"", 0};
		if (nulls[i])
			continue;
		strings[i].data = gpucol_symbols_get(symbols, codes[i], &len);
		strings[i].len = len;
		__builtin_prefetch(strings[i].data);
	}
}
