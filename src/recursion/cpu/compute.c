/*-------------------------------------------------------------------------
 *
 * compute.c
 *	  COMPUTE and TEST steps: functions of the values of a vector.
 *
 * What a vector of integers is mostly asked for, arithmetic, comparisons and logic, is done in loops of their own,
 * whose function and type are known when they are compiled.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/rules.h"

/* Results of a vector, before they have ids. */
typedef struct Results
{
	int64_t    *values;
	uint8_t    *nulls;
} Results;

static inline int64_t
value_of(const GpucolRecRun *run, uint32_t id)
{
	return run->dictionary.values[id];
}

/* ---- integers ---- */

/* The value of a function of a and b; true: it is an error. */
static GPUCOL_REC_INLINE bool
calculate_row(GpucolRecFunction function, int64_t a, int64_t b, int64_t *r)
{
	switch (function)
	{
		case GPUCOL_REC_ADD:
			return gpucol_rec_add(a, b, r);
		case GPUCOL_REC_SUB:
			return gpucol_rec_sub(a, b, r);
		case GPUCOL_REC_MUL:
			return gpucol_rec_mul(a, b, r);
		default:				/* DIV, MOD: by -1 is not for the processor */
			*r = 0;
			if (b == 0 || b == -1)
				return true;
			if ((int32_t) a == a && (int32_t) b == b)
				*r = function == GPUCOL_REC_DIV ? (int32_t) a / (int32_t) b : (int32_t) a % (int32_t) b;
			else
				*r = function == GPUCOL_REC_DIV ? a / b : a % b;
			return false;
	}
}

/* Arithmetic; false if a row is an error or leaves the type, which the rows tell again one by one. */
static GPUCOL_REC_INLINE bool
calculate(const GpucolRecRun *run, const Stage *stage, uint32_t n, GpucolRecFunction function, const Results *to)
{
	const uint32_t *a = stage->inputs[0];
	const uint32_t *b = stage->inputs[1];
	GpucolRecType type = (GpucolRecType) stage->step->type;
	int64_t		least = type == GPUCOL_REC_INT2 ? INT16_MIN : type == GPUCOL_REC_INT4 ? INT32_MIN : INT64_MIN;
	int64_t		greatest = type == GPUCOL_REC_INT2 ? INT16_MAX : type == GPUCOL_REC_INT4 ? INT32_MAX : INT64_MAX;
	bool		bad = false;

	for (uint32_t i = 0; i < n; i++)
	{
		bool		isnull = a[i] == GPUCOL_REC_NULL_ID || b[i] == GPUCOL_REC_NULL_ID;
		int64_t		r;
		bool		over = calculate_row(function, value_of(run, a[i]), value_of(run, b[i]), &r);

		to->values[i] = r;
		to->nulls[i] = isnull;
		bad |= !isnull && (over || r < least || r > greatest);
	}
	return !bad;
}

/* Comparisons of signed integers. */
static GPUCOL_REC_INLINE void
compare(const GpucolRecRun *run, const Stage *stage, uint32_t n, GpucolRecFunction function, const Results *to)
{
	const uint32_t *a = stage->inputs[0];
	const uint32_t *b = stage->inputs[1];

	for (uint32_t i = 0; i < n; i++)
	{
		int64_t		x = value_of(run, a[i]);
		int64_t		y = value_of(run, b[i]);

		to->values[i] = function == GPUCOL_REC_EQ ? x == y : function == GPUCOL_REC_NE ? x != y :
			function == GPUCOL_REC_LT ? x < y : function == GPUCOL_REC_LE ? x <= y :
			function == GPUCOL_REC_GT ? x > y : x >= y;
		to->nulls[i] = a[i] == GPUCOL_REC_NULL_ID || b[i] == GPUCOL_REC_NULL_ID;
	}
}

/* AND and OR of three values; NULL's id stands for 0. */
static GPUCOL_REC_INLINE void
combine(const GpucolRecRun *run, const Stage *stage, uint32_t n, int64_t decisive, const Results *to)
{
	const uint32_t *a = stage->inputs[0];
	const uint32_t *b = stage->inputs[1];

	for (uint32_t i = 0; i < n; i++)
	{
		bool		no_a = a[i] == GPUCOL_REC_NULL_ID;
		bool		no_b = b[i] == GPUCOL_REC_NULL_ID;
		bool		decided = (!no_a && value_of(run, a[i]) == decisive) || (!no_b && value_of(run, b[i]) == decisive);

		to->nulls[i] = !decided && (no_a || no_b);
		to->values[i] = decided ? decisive : !decisive;
	}
}

#define CALCULATE(function) \
	case function: \
		return calculate(run, stage, n, function, to)

#define COMPARE(function) \
	case function: \
		compare(run, stage, n, function, to); \
		return true

/* Does a loop of its own compute the step? */
static bool
run_loop(const GpucolRecRun *run, const Stage *stage, uint32_t n, const Results *to)
{
	if (stage->step->type != GPUCOL_REC_INT2 && stage->step->type != GPUCOL_REC_INT4 &&
		stage->step->type != GPUCOL_REC_INT8)
		return false;
	switch ((GpucolRecFunction) stage->step->function)
	{
			CALCULATE(GPUCOL_REC_ADD);
			CALCULATE(GPUCOL_REC_SUB);
			CALCULATE(GPUCOL_REC_MUL);
			CALCULATE(GPUCOL_REC_DIV);
			CALCULATE(GPUCOL_REC_MOD);
			COMPARE(GPUCOL_REC_EQ);
			COMPARE(GPUCOL_REC_NE);
			COMPARE(GPUCOL_REC_LT);
			COMPARE(GPUCOL_REC_LE);
			COMPARE(GPUCOL_REC_GT);
			COMPARE(GPUCOL_REC_GE);
		case GPUCOL_REC_AND:
		case GPUCOL_REC_OR:
			combine(run, stage, n, stage->step->function == GPUCOL_REC_OR, to);
			return true;
		default:
			return false;
	}
}

/* ---- any values ---- */

/* Evaluate the function of a COMPUTE or TEST step on row i. */
static inline GpucolStatus
evaluate_row(const GpucolRecRun *run, const Stage *stage, uint32_t i, GpucolRecValue *result)
{
	GpucolRecValue a = gpucol_rec_value_of(run, stage->inputs[0][i]);
	GpucolRecValue b = a;

	if (stage->step->noperands > 1)
		b = gpucol_rec_value_of(run, stage->inputs[1][i]);
	return gpucol_rec_evaluate((GpucolRecFunction) stage->step->function,
							   (GpucolRecType) stage->step->type, a, b, result);
}

/* The results of a vector, into `space` unless the host has them. */
static GpucolStatus
evaluate(const GpucolRecRun *run, const GpucolRecExec *exec, const Stage *stage, uint32_t n, Results *space)
{
	if (stage->host != NULL)
	{
		GPUCOL_REC_TRY(gpucol_rec_host_compute(run, stage, n, exec->team != NULL));
		*space = (Results) {stage->host->result, stage->host->result_nulls};
		return GPUCOL_OK;
	}
	if (run_loop(run, stage, n, space))
		return GPUCOL_OK;
	for (uint32_t i = 0; i < n; i++)
	{
		GpucolRecValue result;

		GPUCOL_REC_TRY(evaluate_row(run, stage, i, &result));
		space->values[i] = result.value;
		space->nulls[i] = result.isnull;
	}
	return GPUCOL_OK;
}

/* One of two ids: nothing is computed of values. */
static void
run_choice(const GpucolRecRun *run, const Stage *stage, uint32_t n)
{
	GpucolRecFunction function = (GpucolRecFunction) stage->step->function;
	const uint32_t *a = stage->inputs[0];
	const uint32_t *b = stage->inputs[1];

	if (function == GPUCOL_REC_EITHER)
		for (uint32_t i = 0; i < n; i++)
			stage->target[i] = a[i] != GPUCOL_REC_NULL_ID ? a[i] : b[i];
	else
	{
		uint32_t	taken = function == GPUCOL_REC_WHEN;

		/* without a jump: which rows take a branch cannot be foretold */
		for (uint32_t i = 0; i < n; i++)
		{
			uint32_t	is_true = (a[i] != GPUCOL_REC_NULL_ID) & (value_of(run, a[i]) != 0);

			stage->target[i] = b[i] & (0 - (uint32_t) (is_true == taken));
		}
	}
}

GpucolStatus
gpucol_rec_stage_compute(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage, uint32_t n)
{
	int64_t		values[GPUCOL_REC_VECTOR];
	uint8_t		nulls[GPUCOL_REC_VECTOR];
	Results		results = {values, nulls};

	if (stage->step->function >= GPUCOL_REC_WHEN && stage->step->function <= GPUCOL_REC_EITHER)
	{
		run_choice(run, stage, n);
		return GPUCOL_OK;
	}
	if (stage->step->function == GPUCOL_REC_COPY)
	{
		memcpy(stage->target, stage->inputs[0], n * sizeof(uint32_t));
		return GPUCOL_OK;
	}
	GPUCOL_REC_TRY(evaluate(run, exec, stage, n, &results));
	if (exec->team == NULL)
		return gpucol_rec_dictionary_intern_column(run, n, results.values, results.nulls, stage->target);
	GPUCOL_REC_TRY(gpucol_rec_team_ids(exec->team, exec->member, &exec->ids, n));
	gpucol_rec_dictionary_intern_shared(run, &exec->ids, n, results.values, results.nulls, stage->target);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_stage_test(const GpucolRecRun *run, const GpucolRecExec *exec, const Stage *stage, uint32_t n, uint8_t *keep)
{
	int64_t		values[GPUCOL_REC_VECTOR];
	uint8_t		nulls[GPUCOL_REC_VECTOR];
	Results		results = {values, nulls};

	GPUCOL_REC_TRY(evaluate(run, exec, stage, n, &results));
	for (uint32_t i = 0; i < n; i++)
		keep[i] = !results.nulls[i] && results.values[i] != 0;
	return GPUCOL_OK;
}
