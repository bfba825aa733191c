/*-------------------------------------------------------------------------
 *
 * first.c
 *	  Of all groups only those that are wanted are delivered (kernel/first.h).
 *
 * A group's place by one sort key is a number, the greater the earlier.  The k-th
 * greatest by the first key divides the groups: those above it are wanted, those below
 * are not, and those that tie with it are divided by the next key in the same way.  So
 * a key is looked at only where the keys before it tie.  What is only about right divides
 * with a margin, and is the last that is looked at.  Groups below the k-th of those before
 * them are not even listed.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/agg.h"
#include "engine/cpu/expr_ops.h"
#include "kernel/float_order.h"
#include "kernel/hash.h"

#define SETTLED_SHIFT 48			/* of a hash, to its bit of 65,536 */
#define MOST_SETTLED 6000		/* groups */

/* A group of one of the tables. */
typedef struct Candidate
{
	uint32_t	part;
	uint32_t	group;
} Candidate;

typedef struct First
{
	GpucolRun  *run;
	const GpucolFirst *wanted;
	Candidate  *candidates;		/* those that are still to be divided */
	uint64_t	n;
	__int128   *places;			/* by candidate, by the key at hand */
	__int128   *heap;			/* the greatest places, the least of them on top */
	uint8_t   **keep;			/* by table and group */
} First;

/* ---- values ---- */

/* The word of a key in a group's key words. */
static uint32_t
key_word(const GpucolRun *run, int number)
{
	uint32_t	word = 1;

	for (int k = 0; k < number; k++)
		word += run->code.classes[run->code.keys[k]] == GPUCOL_CLASS_D ? 2 : 1;
	return word;
}

/* The first eight bytes of a string, as a number in their order. */
static uint64_t
first_bytes(GpucolBytes value)
{
	uint64_t	word = 0;

	memcpy(&word, value.data, value.len < sizeof(word) ? value.len : sizeof(word));
	return __builtin_bswap64(word);
}

/* A key's value of a group; false if it is NULL. */
static bool
key_value(const GpucolCpuGroups *groups, uint32_t group, int number, __int128 *value)
{
	const GpucolRun *run = groups->run;
	const uint64_t *key = groups->keys + (size_t) group * run->agg.group_words;
	uint32_t	word = key_word(run, number);
	double		number_f;

	if (key[0] >> number & 1)
		return false;
	switch ((GpucolClass) run->code.classes[run->code.keys[number]])
	{
		case GPUCOL_CLASS_D:
			*value = gpucol_cpu_get128(key + word);
			break;
		case GPUCOL_CLASS_F:
			memcpy(&number_f, &key[word], sizeof(number_f));
			*value = gpucol_float_order(number_f);
			break;
		case GPUCOL_CLASS_S:
			*value = first_bytes(*gpucol_cpu_string(run, key[word]));
			break;
		default:
			*value = (int64_t) key[word];
			break;
	}
	return true;
}

/* The double that a sum of floats comes to. */
static double
float_sum(const uint64_t *words)
{
	const GpucolCpuFloatSum *sum = (const GpucolCpuFloatSum *) words;

	return isnan(sum->lost) || sum->lost == 0 ? sum->sum : sum->sum + sum->lost;
}

/* An aggregate's value; false if it is NULL. */
static bool
agg_value(const GpucolRun *run, GpucolFirstBy by, int number, const uint64_t *state,
		  __int128 *value)
{
	const GpucolCpuAggMap *map = &run->agg.maps[number];
	GpucolClass cls = run->code.aggs[number].cls;
	int64_t		count = (int64_t) state[map->count];
	const uint64_t *words = state + map->v;

	if (by == GPUCOL_FIRST_COUNT)
	{
		*value = count;
		return true;
	}
	if (by == GPUCOL_FIRST_DISTINCT)
	{
		*value = (int64_t) words[0];
		return true;
	}
	if (count == 0)
		return false;
	if (by == GPUCOL_FIRST_VALUE)
		*value = cls == GPUCOL_CLASS_D ? gpucol_cpu_get128(words) :
			cls == GPUCOL_CLASS_F ? gpucol_float_order(gpucol_cpu_float_of_order((int64_t) words[0])) :
			(int64_t) words[0];
	else if (by == GPUCOL_FIRST_SUM)
		*value = cls == GPUCOL_CLASS_F ? gpucol_float_order(float_sum(words)) :
			gpucol_cpu_get128(words);
	else
		*value = cls == GPUCOL_CLASS_F ? gpucol_float_order(float_sum(words) / (double) count) :
			gpucol_first_average(gpucol_cpu_get128(words), count);
	return true;
}

/* The value of a group that a test or a sort key looks at; false if it is NULL. */
static bool
value_of(const GpucolCpuGroups *groups, uint32_t group, int by, int number, __int128 *value)
{
	if (by == GPUCOL_FIRST_KEY)
		return key_value(groups, group, number, value);
	return agg_value(groups->run, (GpucolFirstBy) by, number,
					 groups->states + (size_t) group * groups->run->agg.group_words, value);
}

/* Does a group meet all tests? */
static bool
meets_tests(const GpucolCpuGroups *groups, uint32_t group)
{
	const GpucolFirst *wanted = groups->run->agg.first;

	for (int t = 0; t < wanted->ntests; t++)
	{
		const GpucolFirstTest *test = &wanted->tests[t];
		__int128	value = 0;
		bool		known = value_of(groups, group, test->by, test->number, &value);

		if (!gpucol_first_meets(test, known, value))
			return false;
	}
	return true;
}

/* A group's place by a sort key: the greater, the earlier. */
static __int128
place_of(const GpucolCpuGroups *groups, uint32_t group, const GpucolFirstKey *key)
{
	__int128	value = 0;
	bool		known = value_of(groups, group, key->by, key->number, &value);

	return gpucol_first_place(key, known, value);
}

/* Is the place by a sort key only about right?  Then by how much it may differ. */
static bool
is_rough(const GpucolRun *run, const GpucolFirstKey *key, int *margin)
{
	*margin = gpucol_first_margin(key);
	return *margin > 0 ||
		(key->by == GPUCOL_FIRST_KEY &&
		 run->code.classes[run->code.keys[key->number]] == GPUCOL_CLASS_S);
}

/* ---- the k-th ---- */

/* Let the top of a heap of n sink to its place. */
static void
sink(__int128 *heap, uint64_t n)
{
	__int128	top = heap[0];
	uint64_t	at = 0;

	for (uint64_t child = 1; child < n; child = 2 * at + 1)
	{
		if (child + 1 < n && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= top)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = top;
}

/* Add to a heap of n. */
static void
rise(__int128 *heap, uint64_t n, __int128 place)
{
	uint64_t	at = n;

	while (at > 0 && heap[(at - 1) / 2] > place)
	{
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = place;
}

/* Note the place of item i in the heap of the k greatest. */
GPUCOL_CPU_INLINE void
note_place(__int128 *heap, uint64_t k, uint64_t i, __int128 place)
{
	if (i < k)
		rise(heap, i, place);
	else if (place > heap[0])
	{
		heap[0] = place;
		sink(heap, k);
	}
}

/* The k-th greatest place of the candidates by a key; there are more than k. */
static __int128
find_kth(const First *first, const GpucolFirstKey *key, uint64_t k)
{
	for (uint64_t i = 0; i < first->n; i++)
	{
		Candidate	at = first->candidates[i];

		first->places[i] = place_of(first->run->agg.parts[at.part], at.group, key);
		note_place(first->heap, k, i, first->places[i]);
	}
	return first->heap[0];
}

static void
keep(First *first, Candidate at)
{
	first->keep[at.part][at.group] = 1;
}

/*
 * Divide the candidates by a key: those before the k-th are kept, those that tie with it
 * remain.  Returns how many of these are still wanted.
 */
static uint64_t
divide(First *first, const GpucolFirstKey *key, uint64_t k, int margin)
{
	__int128	kth = gpucol_first_least(find_kth(first, key, k), margin);
	uint64_t	ties = 0;

	for (uint64_t i = 0; i < first->n; i++)
	{
		Candidate	at = first->candidates[i];
		__int128	place = first->places[i];

		if (place > kth)
		{
			keep(first, at);
			k -= k > 0;
		}
		else if (place == kth)
			first->candidates[ties++] = at;
	}
	first->n = ties;
	return k;
}

/* Keep the first k of the candidates. */
static void
select_first(First *first)
{
	const GpucolFirst *wanted = first->wanted;
	uint64_t	k = (uint64_t) wanted->k;
	bool		all = wanted->all_ties;

	for (int i = 0; i < wanted->nkeys && first->n > k && k > 0; i++)
	{
		int			margin;
		bool		rough = is_rough(first->run, &wanted->keys[i], &margin);

		k = divide(first, &wanted->keys[i], k, margin);
		all |= rough;
		if (rough)
			break;
	}
	for (uint64_t i = 0; i < first->n && (all || i < k); i++)
		keep(first, first->candidates[i]);
}

/* ---- the tables ---- */

/* Memory; what is missing of it is freed with the run. */
static bool
open_first(First *first)
{
	GpucolRun  *run = first->run;
	uint64_t	all = 0;

	first->keep = gpucol_cpu_alloc0(run, sizeof(uint8_t *) * (size_t) run->agg.nparts);
	for (int p = 0; p < run->agg.nparts; p++)
		all += run->agg.parts[p]->n;
	first->candidates = gpucol_cpu_alloc(run, sizeof(Candidate) * (all + 1));
	first->heap = gpucol_cpu_alloc(run, sizeof(__int128) *
								   (((uint64_t) first->wanted->k < all ? (uint64_t) first->wanted->k : all) + 1));
	if (first->wanted->nkeys > 0)
		first->places = gpucol_cpu_alloc(run, sizeof(__int128) * (all + 1));
	if (first->keep == NULL || first->candidates == NULL || first->heap == NULL ||
		(first->places == NULL && first->wanted->nkeys > 0))
		return false;
	for (int p = 0; p < run->agg.nparts; p++)
	{
		first->keep[p] = gpucol_cpu_alloc0(run, (size_t) run->agg.parts[p]->n + 1);
		if (first->keep[p] == NULL)
			return false;
	}
	return true;
}

void
gpucol_cpu_kth_open(const GpucolRun *run, GpucolCpuKth *kth, __int128 *heap)
{
	const GpucolFirst *wanted = run->agg.first;

	memset(kth, 0, sizeof(*kth));
	kth->heap = heap;
	kth->any = wanted->nkeys > 0 && !is_rough(run, &wanted->keys[0], &kth->margin) && wanted->nkeys == 1 &&
		!wanted->all_ties;
}

bool
gpucol_cpu_kth_take(GpucolCpuKth *kth, const GpucolCpuGroups *groups, uint32_t group)
{
	const GpucolFirst *wanted = groups->run->agg.first;
	uint64_t	k = (uint64_t) wanted->k;
	__int128	place;

	if (wanted->ntests > 0 && !meets_tests(groups, group))
		return false;
	if (wanted->nkeys == 0 || kth->heap == NULL)
		return true;
	place = place_of(groups, group, &wanted->keys[0]);
	if (kth->n >= k && (place < gpucol_first_least(kth->heap[0], kth->margin) || (kth->any && place == kth->heap[0])))
		return false;
	note_place(kth->heap, k, kth->n++, place);
	return true;
}

/*
 * List the groups that meet the tests, but for those behind k others by the first key; of
 * those that tie with the k-th, too, where any will do.
 */
static void
list_candidates(First *first)
{
	const GpucolRun *run = first->run;
	bool		any = first->wanted->nkeys == 0 && !first->wanted->all_ties;
	GpucolCpuKth kth;

	gpucol_cpu_kth_open(run, &kth, first->heap);
	for (int p = 0; p < run->agg.nparts; p++)
		for (uint32_t g = 0; g < run->agg.parts[p]->n; g++)
		{
			if (any && first->n == (uint64_t) first->wanted->k)
				return;
			if (gpucol_cpu_kth_take(&kth, run->agg.parts[p], g))
				first->candidates[first->n++] = (Candidate) {(uint32_t) p, g};
		}
}

/* Move the groups of a table that are kept to its front: those that meet the tests where `kept` is NULL. */
static void
pack_groups(const GpucolRun *run, uint32_t part, const uint8_t *kept)
{
	GpucolCpuGroups *groups = run->agg.parts[part];
	uint32_t	n = 0;

	for (uint32_t g = 0; g < groups->n; g++)
	{
		if (kept != NULL)
		{
			const uint8_t *next = memchr(kept + g, 1, groups->n - g);

			if (next == NULL)
				break;
			g = (uint32_t) (next - kept);
		}
		else if (!meets_tests(groups, g))
			continue;
		memmove(groups->keys + (size_t) n * run->agg.group_words,
				groups->keys + (size_t) g * run->agg.group_words,
				sizeof(uint64_t) * run->agg.group_words);
		n++;
	}
	groups->n = n;
}

/* Thread `index` packs every so manieth table. */
static void
pack_share(void *arg, int index)
{
	const GpucolRun *run = arg;

	for (int p = index; p < run->agg.nparts; p += run->nworkers)
		pack_groups(run, (uint32_t) p, NULL);
}

bool
gpucol_cpu_first_any(const GpucolRun *run)
{
	const GpucolFirst *wanted = run->agg.first;

	return wanted != NULL && run->program->nkeys > 0 && wanted->nkeys == 0 && wanted->ntests == 0 &&
		!wanted->all_ties && wanted->k > 0;
}

/* The hash of a group's keys of one class, NULL as 0; false if it has none of that class. */
static bool
settled_hash(const GpucolRun *run, const uint64_t *key, GpucolClass cls, uint64_t *hash)
{
	bool		found = false;

	*hash = 0;
	for (int k = 0; k < run->program->nkeys; k++)
	{
		uint64_t	word = key[key_word(run, k)];

		if (run->code.classes[run->code.keys[k]] != cls)
			continue;
		found = true;
		if (key[0] >> k & 1)
			word = 0;
		else if (cls == GPUCOL_CLASS_S)
		{
			const GpucolBytes *value = gpucol_cpu_string(run, word);

			word = gpucol_hash_bytes(value->data, value->len);
		}
		*hash = gpucol_hash_mix(*hash, word);
	}
	return found;
}

/*
 * Where any k groups will do, those that came first in the first table are as good as others:
 * rows that cannot be of them, by their integer keys, or else by their strings, need not be grouped
 * from now on.  What the tables have of other groups is not all of them then, and is left out in
 * the end, since the first table stays in its order and the others are merged into it.
 */
void
gpucol_cpu_first_settle(GpucolRun *run)
{
	const GpucolFirst *wanted = run->agg.first;
	const GpucolCpuGroups *groups = run->agg.parts[0];
	uint64_t	hash;

	if (!gpucol_cpu_first_any(run) || run->agg.settled != NULL || run->agg.keyed != NULL ||
		wanted->k > MOST_SETTLED || groups->n < wanted->k)
		return;
	run->agg.settled_by = settled_hash(run, groups->keys, GPUCOL_CLASS_I, &hash) ? GPUCOL_CLASS_I : GPUCOL_CLASS_S;
	if (settled_hash(run, groups->keys, run->agg.settled_by, &hash))
		run->agg.settled = gpucol_cpu_alloc0(run, (UINT64_C(1) << (64 - SETTLED_SHIFT)) / 8);
	for (uint32_t g = 0; g < wanted->k && run->agg.settled != NULL; g++)
	{
		(void) settled_hash(run, groups->keys + (size_t) g * run->agg.group_words, run->agg.settled_by, &hash);
		hash >>= SETTLED_SHIFT;
		run->agg.settled[hash / 64] |= UINT64_C(1) << hash % 64;
	}
}

bool
gpucol_cpu_first_enough(const GpucolRun *run)
{
	return gpucol_cpu_first_any(run) && run->program->naggs == 0 && run->agg.keyed == NULL &&
		run->agg.parts[0]->n >= run->agg.first->k;
}

uint32_t
gpucol_cpu_first_settled(GpucolCpuWorker *worker, uint16_t *at)
{
	const GpucolRun *run = worker->run;
	uint64_t   *hashes = worker->hashes;
	uint32_t	n = 0;

	memset(hashes, 0, sizeof(uint64_t) * worker->nsel);
	for (int k = 0; k < run->program->nkeys; k++)
	{
		const GpucolCpuReg *reg = &worker->regs[run->code.keys[k]];

		if (reg->cls != run->agg.settled_by)
			continue;
		for (uint32_t j = 0; j < worker->nsel; j++)
		{
			uint64_t	word = 0;

			if (reg->nulls != NULL && reg->nulls[j])
				word = 0;
			else if (reg->cls == GPUCOL_CLASS_I)
				word = (uint64_t) reg->v.i[j];
			else
			{
				GpucolBytes value = gpucol_cpu_op_string(reg, j);

				word = gpucol_hash_bytes(value.data, value.len);
			}
			hashes[j] = gpucol_hash_mix(hashes[j], word);
		}
	}
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		uint64_t	bit = hashes[j] >> SETTLED_SHIFT;

		at[n] = (uint16_t) j;
		n += run->agg.settled[bit / 64] >> bit % 64 & 1;
	}
	return n;
}

/* Leave out of the merged tables what is not wanted; without memory for that, nothing. */
void
gpucol_cpu_first_select(GpucolRun *run)
{
	First		first = {.run = run,.wanted = run->agg.first};
	bool		ok;

	if (run->agg.first == NULL || run->program->nkeys == 0)
		return;
	if (run->agg.settled != NULL)
	{
		run->agg.parts[0]->n = (uint32_t) run->agg.first->k;
		return;
	}
	if (run->agg.first->k == 0)
	{
		gpucol_pool_run(run->nworkers, pack_share, run);
		return;
	}
	ok = open_first(&first);
	if (ok)
	{
		list_candidates(&first);
		select_first(&first);
	}
	for (int p = 0; p < run->agg.nparts && first.keep != NULL; p++)
	{
		if (ok)
			pack_groups(run, (uint32_t) p, first.keep[p]);
		gpucol_cpu_free(run, first.keep[p]);
	}
	gpucol_cpu_free(run, first.keep);
	gpucol_cpu_free(run, first.candidates);
	gpucol_cpu_free(run, first.places);
	gpucol_cpu_free(run, first.heap);
}
