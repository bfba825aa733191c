/*-------------------------------------------------------------------------
 *
 * extreme_packed.c
 *	  Least and greatest packed decimals of groups: MIN and MAX of numerics whose scales
 *	  differ.
 *
 * The result is a value as it is displayed, 1.5 or 1.50, and of equal ones PostgreSQL has the
 * last that it comes to.  So a state is three words: the value, and 1 more than the number of
 * its vector within the scan, 0 being none.  Threads take vectors in any order, and one takes
 * the rows of a vector in theirs.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/agg.h"
#include "kernel/packed_decimal.h"

#define WORD_PLACE	2			/* behind the value */
#define MARGIN		1e-14		/* share by which estimates have to differ */

/* About a value: its error is a share of 1e-15 at most; false where that would take long. */
static inline bool
estimate(__int128 value, double *about)
{
	static const double shares[] = {
		1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16,
		1e-17, 1e-18, 1e-19, 1e-20
	};
	__int128	mantissa = gpucol_packed_mantissa(value);
	int			scale = gpucol_packed_scale(value);

	if (mantissa != (int64_t) mantissa || scale >= (int) (sizeof(shares) / sizeof(shares[0])))
		return false;
	*about = (double) (int64_t) mantissa * shares[scale];
	return true;
}

/* A state whose value was estimated last: most rows are far from it. */
typedef struct Estimated
{
	const uint64_t *words;		/* NULL: none was, */
	double		limit;			/* a value that is certainly on the other side of this is far */
} Estimated;

/* A number that is certainly more (or less) than what was estimated to be x. */
static inline double
beyond(double x, bool more)
{
	double		margin = MARGIN * (x < 0 ? -x : x);

	return more ? x + margin : x - margin;
}

/* Is a value so far from the state's that it need not be compared? */
static inline bool
is_far(Estimated *state, const uint64_t *words, bool max, __int128 value)
{
	double		about;

	if (state->words != words)
	{
		state->words = NULL;
		if (words[WORD_PLACE] == 0 || !estimate(gpucol_cpu_get128(words), &about))
			return false;
		state->words = words;
		state->limit = beyond(about, !max);
	}
	return estimate(value, &about) && (max ? beyond(about, true) < state->limit : beyond(about, false) > state->limit);
}

/* Make a value from some place the state's if it goes beyond the one it has, or is as good and comes later. */
static inline void
consider(uint64_t *words, bool max, __int128 value, uint64_t place)
{
	if (words[WORD_PLACE] != 0)
	{
		int			order = gpucol_packed_order(value, gpucol_cpu_get128(words));

		if (order == 0 ? place < words[WORD_PLACE] : (order > 0) != max)
			return;
	}
	gpucol_cpu_put128(words, value);
	words[WORD_PLACE] = place;
}

void
gpucol_cpu_packed_extreme_update(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
								 const uint8_t *valid, uint64_t ordinal)
{
	const GpucolCpuReg *reg = &worker->regs[acc->arg];
	uint64_t   *states = groups->states + acc->offset;
	size_t		stride = worker->run->agg.group_words;
	bool		max = acc->op == GPUCOL_CPU_ACC_MAX_P;
	Estimated	state = {NULL, 0};

	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		uint64_t   *words = states + worker->ids[j] * stride;
		__int128	value;

		if (valid != NULL && !valid[j])
			continue;
		value = reg->alike ? (__int128) ((GpucolMagnitude) reg->n[j] << 8 | (GpucolMagnitude) reg->shown) : reg->v.d[j];
		if (is_far(&state, words, max, value))
			continue;
		consider(words, max, value, ordinal + 1);
		state.words = NULL;
	}
}

void
gpucol_cpu_packed_extreme_merge(const GpucolCpuAcc *acc, uint64_t *to, const uint64_t *from)
{
	if (from[WORD_PLACE] != 0)
		consider(to, acc->op == GPUCOL_CPU_ACC_MAX_P, gpucol_cpu_get128(from), from[WORD_PLACE]);
}
