/*-------------------------------------------------------------------------
 *
 * hash.c
 *	  The hash table (base/hash.h): every item is found, whatever hashes there are, and
 *	  memory is counted.
 *
 *-------------------------------------------------------------------------
 */
#include "base/hash.h"
#include "check.h"

#define KEYS 100000

static uint64_t keys[KEYS];
static uint32_t nkeys;

/* A hash of which only so many bits differ. */
static uint32_t
hash_of(uint64_t key, uint32_t bits)
{
	return (uint32_t) ((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & bits;
}

/* The number of a key, a new one if need be; false: no memory. */
static bool
number(GpucolHash *table, GpucolBudget *budget, uint64_t key, uint32_t bits, uint32_t *item)
{
	uint32_t	hash = hash_of(key, bits);
	uint64_t	at;

	if (!gpucol_hash_reserve(table, budget))
		return false;
	at = gpucol_hash_start(table, hash);
	while (gpucol_hash_next(table, hash, &at, item))
		if (keys[*item] == key)
			return true;
	keys[nkeys] = key;
	*item = nkeys++;
	gpucol_hash_put(table, hash, at, *item);
	return true;
}

static void
test_items(uint32_t n, uint32_t bits)
{
	GpucolBudget budget;
	GpucolHash	table = {0};
	uint32_t	item;

	gpucol_budget_open(&budget, 0, NULL);
	nkeys = 0;
	for (uint32_t i = 0; i < n; i++)
		CHECK(number(&table, &budget, (uint64_t) i * 7, bits, &item) && item == i, "new %u", i);
	for (uint32_t i = n; i-- > 0;)
		CHECK(number(&table, &budget, (uint64_t) i * 7, bits, &item) && item == i, "old %u", i);
	CHECK(table.n == n && 2 * table.n <= table.nslots + 2, "%u items", n);
	CHECK(budget.used >= table.nslots * sizeof(uint64_t), "%zu", (size_t) budget.used);
	gpucol_hash_free(&table, &budget);
	CHECK(budget.used == 0 && table.n == 0, "%zu", (size_t) budget.used);
}

static void
test_limit(void)
{
	GpucolBudget budget;
	GpucolHash	table = {0};
	uint32_t	item;
	uint64_t	key = 0;

	gpucol_budget_open(&budget, 100000, NULL);
	nkeys = 0;
	while (number(&table, &budget, key, UINT32_MAX, &item))
		key++;
	CHECK(key > 1000 && budget.used <= 100000, "%zu", (size_t) budget.used);
	CHECK(table.n == key, "what was entered stays");
	gpucol_hash_free(&table, &budget);
}

int
main(void)
{
	test_items(KEYS, UINT32_MAX);
	test_items(2000, 0xff);
	test_items(300, 0);
	test_limit();
	return check_summary("hash");
}
