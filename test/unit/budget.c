/*-------------------------------------------------------------------------
 *
 * budget.c
 *	  The accountant (base/budget.h), blocks of one owner and arenas over it: nothing
 *	  is reserved beyond a limit, in any thread, and all is given back; pages that are kept.
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>

#include "base/arena.h"
#include "base/owned.h"
#include "base/pages.h"
#include "check.h"

#define THREADS 4

/* Limits of a child and of its parent both bind, and a refusal changes nothing. */
static void
test_tree(void)
{
	GpucolBudget root;
	GpucolBudget left;
	GpucolBudget right;

	gpucol_budget_open(&root, 1000, NULL);
	gpucol_budget_open(&left, 0, &root);
	gpucol_budget_open(&right, 300, &root);
	CHECK(gpucol_budget_reserve(&left, 600), "within the root");
	CHECK(!gpucol_budget_reserve(&right, 301), "beyond its own limit");
	CHECK(!gpucol_budget_reserve(&left, 401), "beyond the root");
	CHECK(root.used == 600 && left.used == 600 && right.used == 0, "%zu %zu %zu",
		  (size_t) root.used, (size_t) left.used, (size_t) right.used);
	CHECK(gpucol_budget_left(&right) == 300 && gpucol_budget_left(&left) == 400, "left");
	CHECK(gpucol_budget_reserve(&right, 300), "its own limit");
	CHECK(gpucol_budget_left(&left) == 100, "left");
	CHECK(!gpucol_budget_reserve(&left, SIZE_MAX), "no overflow");
	gpucol_budget_close(&left);
	CHECK(root.used == 300 && left.used == 0 && root.peak == 900, "%zu", (size_t) root.used);
	gpucol_budget_release(&right, 300);
	CHECK(root.used == 0, "all given back");
}

/* Blocks are counted as large as malloc makes them. */
static void
test_blocks(void)
{
	GpucolBudget budget;
	char	   *block = NULL;
	uint64_t   *array = NULL;
	uint64_t	allocated = 0;
	uint64_t	before = 0;
	int			growths = 0;

	gpucol_budget_open(&budget, 1 << 20, NULL);
	CHECK(gpucol_budget_alloc(&budget, 1 << 20) == NULL, "no room for malloc's own");
	CHECK(gpucol_budget_alloc(&budget, SIZE_MAX) == NULL, "nothing has that size");
	CHECK(budget.used == 0, "refused");
	CHECK(gpucol_budget_grow(&budget, &block, 0, 100) && budget.used >= 100, "new");
	memset(block, 7, 100);
	CHECK(gpucol_budget_grow(&budget, &block, 100, 500000) && block[99] == 7, "grown");
	CHECK(!gpucol_budget_grow(&budget, &block, 500000, 1 << 20) && block[99] == 7, "too large");
	gpucol_budget_free(&budget, block, 500000);
	CHECK(budget.used == 0, "%zu", (size_t) budget.used);
	for (uint64_t n = 1; gpucol_budget_array(&budget, &array, &allocated, n, sizeof(*array)); n++)
	{
		array[n - 1] = n;
		growths += allocated != before;
		before = allocated;
	}
	CHECK(growths < 1000, "it is moved %d times", growths);
	CHECK(allocated * sizeof(*array) > 900000, "near the limit only what is needed: %llu",
		  (unsigned long long) allocated);
	for (uint64_t n = 1; n <= allocated; n++)
		if (array[n - 1] != n)
			CHECK(false, "item %llu", (unsigned long long) n);
	gpucol_budget_free(&budget, array, allocated * sizeof(*array));
	CHECK(budget.used == 0, "%zu", (size_t) budget.used);
}

static void
test_owned(void)
{
	GpucolBudget budget;
	GpucolOwned owned;
	GpucolArena arena = {0};
	char	   *first;
	char	   *second;

	gpucol_budget_open(&budget, 16 << 20, NULL);
	gpucol_owned_open(&owned, &budget);
	first = gpucol_owned_alloc(&owned, 1000);
	second = gpucol_owned_alloc_zeroed(&owned, 5 << 20);
	CHECK(first != NULL && second != NULL && second[(5 << 20) - 1] == 0, "blocks");
	CHECK(budget.used >= (5 << 20) + 1000 && budget.used % 128 == 0, "%zu", (size_t) budget.used);
	CHECK(gpucol_owned_realloc(&owned, second, 20 << 20) == NULL, "too large");
	second = gpucol_owned_realloc(&owned, second, 12 << 20);
	CHECK(second != NULL && second[(5 << 20) - 1] == 0, "grown, not copied");
	first[999] = 3;
	first = gpucol_owned_realloc(&owned, first, 2000);
	CHECK(first != NULL && first[999] == 3, "grown");
	gpucol_owned_free(&owned, second);
	CHECK(gpucol_arena_take(&arena, &budget, 100) != NULL, "arena");
	CHECK(gpucol_arena_take(&arena, &budget, 1 << 20) != NULL, "a block of its own");
	CHECK(gpucol_arena_take(&arena, &budget, 32 << 20) == NULL, "too large");
	gpucol_arena_free(&arena, &budget);
	gpucol_owned_free_all(&owned);
	CHECK(budget.used == 0, "%zu", (size_t) budget.used);
}

/* Large blocks grow where they and their copies would not fit. */
static void
test_owned_large(void)
{
	const size_t mb = 1 << 20;
	GpucolBudget budget;
	GpucolOwned owned;
	char	   *other;
	char	   *block;

	gpucol_budget_open(&budget, 100 * mb, NULL);
	gpucol_owned_open(&owned, &budget);
	block = gpucol_owned_alloc_zeroed(&owned, 40 * mb);
	other = gpucol_owned_alloc(&owned, 1000);
	CHECK(block != NULL && other != NULL && block[0] == 0 && block[40 * mb - 1] == 0, "zeroed");
	block[0] = 1;
	block[40 * mb - 1] = 2;
	CHECK(gpucol_owned_realloc(&owned, block, 120 * mb) == NULL && block[0] == 1, "beyond the limit");
	block = gpucol_owned_realloc(&owned, block, 90 * mb);
	CHECK(block != NULL && block[0] == 1 && block[40 * mb - 1] == 2, "grown");
	block[90 * mb - 1] = 3;
	CHECK((uintptr_t) block % 128 == 0 && budget.used >= 90 * mb, "%zu", (size_t) budget.used);
	block = gpucol_owned_realloc(&owned, block, 1000);
	CHECK(block != NULL && block[0] == 1 && budget.used < mb, "%zu", (size_t) budget.used);
	gpucol_owned_free(&owned, other);
	CHECK(gpucol_owned_alloc(&owned, 50 * mb) != NULL, "freed with the rest");
	gpucol_owned_free_all(&owned);
	CHECK(budget.used == 0, "%zu", (size_t) budget.used);
}

/* Are so many bytes of a block all one value? */
static bool
is_all(const char *block, size_t from, size_t to, char value)
{
	for (size_t i = from; i < to; i++)
		if (block[i] != value)
			return false;
	return true;
}

/* Pages that were freed are those of the next blocks, whatever the sizes, and what is new is zero. */
static void
test_pages(void)
{
	const size_t mb = 1 << 20;
	size_t		dirty;
	char	   *a;
	char	   *b;

	gpucol_pages_shrink(0);
	a = gpucol_pages_take(6 * mb, &dirty);
	CHECK(a != NULL && dirty == 0 && is_all(a, 0, 6 * mb, 0), "new");
	b = gpucol_pages_take(4 * mb, &dirty);
	CHECK(b != NULL && dirty == 0 && gpucol_pages_kept() == 0, "new");
	memset(a, 1, 6 * mb);
	memset(b, 1, 4 * mb);
	gpucol_pages_drop(a, 6 * mb);
	gpucol_pages_drop(b, 4 * mb);
	CHECK(gpucol_pages_kept() == 10 * mb, "%zu", gpucol_pages_kept());
	a = gpucol_pages_take(2 * mb, &dirty);
	CHECK(dirty == 2 * mb && is_all(a, 0, dirty, 1) && gpucol_pages_kept() == 8 * mb, "part of a piece");
	b = gpucol_pages_take(12 * mb, &dirty);
	CHECK(dirty == 8 * mb && is_all(b, 0, dirty, 1) && is_all(b, dirty, 12 * mb, 0), "pieces and new pages");
	CHECK((uintptr_t) a % GPUCOL_HUGE_PAGE == 0 && (uintptr_t) b % GPUCOL_HUGE_PAGE == 0, "places");
	memset(b, 2, 12 * mb);
	gpucol_pages_drop(a, 2 * mb);
	b = gpucol_pages_grow(b, 12 * mb, 20 * mb);
	CHECK(b != NULL && is_all(b, 0, 12 * mb, 2) && is_all(b, 12 * mb, 14 * mb, 1) &&
		  is_all(b, 14 * mb, 20 * mb, 0) && gpucol_pages_kept() == 0, "grown by a piece and new pages");
	gpucol_pages_drop(b, 20 * mb);
	gpucol_pages_shrink(7 * mb);
	CHECK(gpucol_pages_kept() == 6 * mb, "%zu", gpucol_pages_kept());
	gpucol_pages_keep(4 * mb);
	a = gpucol_pages_take(8 * mb, &dirty);
	CHECK(dirty == 4 * mb, "%zu", dirty);
	gpucol_pages_drop(a, 8 * mb);
	CHECK(gpucol_pages_kept() == 0, "more than is kept");
	for (int i = 0; i < 300; i++)
		gpucol_pages_drop(gpucol_pages_take(2 * mb, &dirty), 2 * mb);
	CHECK(gpucol_pages_kept() == 2 * mb, "%zu", gpucol_pages_kept());
	gpucol_pages_keep(128 * mb);
}

/* What is kept and what is reserved are no more than the limit; what is taken of it is no new page. */
static void
test_kept(void)
{
	const size_t mb = 1 << 20;
	GpucolBudget budget;
	GpucolOwned owned;
	char	   *block;

	gpucol_pages_shrink(0);
	gpucol_budget_open(&budget, 100 * mb, NULL);
	gpucol_owned_open(&owned, &budget);
	block = gpucol_owned_alloc(&owned, 60 * mb);
	memset(block, 1, 60 * mb);
	gpucol_owned_free(&owned, block);
	CHECK(gpucol_pages_kept() >= 60 * mb, "%zu", gpucol_pages_kept());
	block = gpucol_owned_alloc_zeroed(&owned, 90 * mb);
	CHECK(block != NULL && gpucol_pages_kept() == 0 && is_all(block, 0, 90 * mb, 0), "made of it, and zero");
	gpucol_owned_free(&owned, block);
	CHECK(gpucol_budget_reserve(&budget, 70 * mb) && gpucol_pages_kept() <= 30 * mb, "%zu", gpucol_pages_kept());
	gpucol_budget_release(&budget, 70 * mb);
	block = gpucol_owned_alloc_zeroed(&owned, 5 * mb);
	memset(block, 3, 5 * mb);
	block = gpucol_owned_realloc(&owned, block, 50 * mb);
	CHECK(block != NULL && is_all(block, 0, 5 * mb, 3), "grown");
	gpucol_owned_free_all(&owned);
	CHECK(budget.used == 0, "%zu", (size_t) budget.used);
}

static GpucolBudget shared;
static _Atomic size_t most;

/* Reserve, look, release. */
static void *
use_budget(void *arg)
{
	GpucolBudget *own = arg;

	for (int i = 0; i < 200000; i++)
	{
		if (!gpucol_budget_reserve(own, 100))
			continue;
		if (shared.used > most)
			most = shared.used;
		gpucol_budget_release(own, 100);
	}
	return NULL;
}

static void
test_threads(void)
{
	pthread_t	threads[THREADS];
	GpucolBudget own[THREADS];

	gpucol_budget_open(&shared, 250, NULL);
	for (int i = 0; i < THREADS; i++)
	{
		gpucol_budget_open(&own[i], 0, &shared);
		pthread_create(&threads[i], NULL, use_budget, &own[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(shared.used == 0 && shared.peak <= 250 && most <= 250, "%zu at most", (size_t) shared.peak);
}

int
main(void)
{
	test_tree();
	test_blocks();
	test_owned();
	test_owned_large();
	test_pages();
	test_kept();
	test_threads();
	return check_summary("budget");
}
