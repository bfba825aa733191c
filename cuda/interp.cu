/*-------------------------------------------------------------------------
 *
 * interp.cu
 *	  Any program over any chunk: the kernel that interprets instructions.
 *
 * A warp takes vectors as the scan kernels do, tests the ranges on packed codes
 * for the whole vector, and then runs the instructions for 32 rows at a time,
 * one a lane.  All lanes are at one instruction, so dispatch does not diverge;
 * registers are an array in local memory, which the L1 cache keeps.
 *
 * Sums are integers in limbs of 32 bits, added in any order: the result does
 * not depend on the order.  Floats are summed in fixed point, the binary point
 * chosen from the greatest exponent that occurs, with at least 90 bits below
 * it; a pass before the sum finds that exponent.
 *
 * Groups live in a hash table in device memory.  Where a warp's rows meet in
 * few groups it adds them up first, group by group, so that frequent groups do
 * not become a queue.
 *
 * Compiled with -fmad=false: PostgreSQL's products and sums are rounded apart.
 *
 *-------------------------------------------------------------------------
 */
#include "interp.cuh"
#include "launch.cuh"
#include "scanner.cuh"
#include "values.cuh"

#include "kernel/float_order.h"
#include "kernel/status.h"

typedef __int128 int128;
typedef unsigned __int128 uint128;

enum Mode
{
	MODE_AGGREGATE,
	MODE_EXPONENTS,
	MODE_SELECT,
	MODE_EMIT
};

/* The registers of one row. */
struct Registers
{
	int64_t		v[GPUCOL_MAX_REGS];
	int64_t		high[GPUCOL_MAX_REGS];	/* D only */
	uint64_t	nulls;

	__device__ bool
	null(uint16_t r) const
	{
		return nulls >> r & 1;
	}
	__device__ bool
	truth(uint16_t r) const
	{
		return v[r] && !null(r);
	}
	__device__ double
	f(uint16_t r) const
	{
		return __longlong_as_double(v[r]);
	}
	__device__ int128
	d(uint16_t r) const
	{
		return (int128) ((uint128) (uint64_t) high[r] << 64 | (uint64_t) v[r]);
	}
};

__device__ static inline bool
is_inf(double x)
{
	return isinf(x);
}

__device__ static inline int
range_error(int aux)
{
	return aux == 2 ? GPUCOL_INT2_OUT_OF_RANGE : aux == 4 ? GPUCOL_INT4_OUT_OF_RANGE : GPUCOL_INT8_OUT_OF_RANGE;
}

__device__ static inline int
fit_error(int64_t x, int aux)
{
	return aux == 8 || (aux == 4 ? x == (int32_t) x : x == (int16_t) x) ? GPUCOL_OK : range_error(aux);
}

__device__ static inline bool
add128(int128 x, int128 y, int128 *r)
{
	*r = (int128) ((uint128) x + (uint128) y);
	return ((x ^ *r) & (y ^ *r)) < 0;
}

/* Product; true if it left int128. */
__device__ static inline bool
mul128(int128 x, int128 y, int128 *r)
{
	uint128		a = x < 0 ? -(uint128) x : (uint128) x;
	uint128		b = y < 0 ? -(uint128) y : (uint128) y;
	uint64_t	ah = (uint64_t) (a >> 64),
				bh = (uint64_t) (b >> 64);
	uint128		cross,
				low;
	bool		over;

	low = (uint128) (uint64_t) a * (uint64_t) b;
	cross = ah ? (uint128) ah * (uint64_t) b : (uint128) bh * (uint64_t) a;
	over = (ah && bh) || (cross >> 64) != 0;
	cross = (cross << 64) + low;
	over |= cross < low;
	*r = (x < 0) != (y < 0) ? (int128) -cross : (int128) cross;
	return over || (cross != 0 && (*r < 0) != ((x < 0) != (y < 0)));
}

__device__ static inline int
rescale(int128 x, int power, int128 *r)
{
	*r = x;
	for (; power > 0; power--)
		if (mul128(*r, 10, r))
			return GPUCOL_UNSUPPORTED;
	return GPUCOL_OK;
}

/* Where a row lies. */
struct Place
{
	const GpucolDeviceChunk *chunks;
	uint32_t	vector;
	int			row;
};

/* Load a column into a register; returns a status. */
__device__ static int
load_column(const GpucolInterpPlan &plan, const Place &place, uint16_t op,
			int slot, uint16_t dst, Registers &reg)
{
	const GpucolDeviceChunk &chunk = place.chunks[slot];
	uint64_t	code;

	reg.v[dst] = 0;
	if (op == GPUCOL_OP_LOAD_D)
		reg.high[dst] = 0;
	if (row_is_null(chunk, place.vector, place.row))
	{
		reg.nulls |= 1ull << dst;
		return GPUCOL_OK;
	}
	code = chunk_code(chunk, place.vector, place.row);
	if (op == GPUCOL_OP_LOAD_F)
		reg.v[dst] = __double_as_longlong(float_of_code(chunk, code));
	else
	{
		int64_t		x = integer_of_code(chunk, code);

		reg.v[dst] = x;
		if (op == GPUCOL_OP_LOAD_D)
		{
			int128		y;
			int			status = rescale(x, plan.columns[slot].scale - chunk.scale, &y);

			reg.v[dst] = (int64_t) y;
			reg.high[dst] = (int64_t) (y >> 64);
			return status;
		}
	}
	return GPUCOL_OK;
}

/* Float arithmetic as PostgreSQL checks it. */
__device__ static int
float_binary(uint16_t op, int aux, double x, double y, double *r)
{
	bool		narrow = aux == 4;

	switch (op)
	{
		case GPUCOL_OP_SUB_F:
			y = -y;
			[[fallthrough]];
		case GPUCOL_OP_ADD_F:
			*r = narrow ? (double) __fadd_rn((float) x, (float) y) : __dadd_rn(x, y);
			return is_inf(*r) && !is_inf(x) && !is_inf(y) ? GPUCOL_FLOAT_OVERFLOW : GPUCOL_OK;
		case GPUCOL_OP_MUL_F:
			*r = narrow ? (double) __fmul_rn((float) x, (float) y) : __dmul_rn(x, y);
			if (is_inf(*r) && !is_inf(x) && !is_inf(y))
				return GPUCOL_FLOAT_OVERFLOW;
			return *r == 0 && x != 0 && y != 0 ? GPUCOL_FLOAT_UNDERFLOW : GPUCOL_OK;
		default:
			if (y == 0 && x == x)
				return GPUCOL_DIVISION_BY_ZERO;
			*r = narrow ? (double) __fdiv_rn((float) x, (float) y) : __ddiv_rn(x, y);
			if (is_inf(*r) && !is_inf(x))
				return GPUCOL_FLOAT_OVERFLOW;
			return *r == 0 && x != 0 && !is_inf(y) ? GPUCOL_FLOAT_UNDERFLOW : GPUCOL_OK;
	}
}

/* Integer arithmetic with PostgreSQL's range checks. */
__device__ static int
integer_binary(uint16_t op, int aux, int64_t x, int64_t y, int64_t *r)
{
	int128		wide;

	switch (op)
	{
		case GPUCOL_OP_ADD_I:
			wide = (int128) x + y;
			break;
		case GPUCOL_OP_SUB_I:
			wide = (int128) x - y;
			break;
		case GPUCOL_OP_MUL_I:
			wide = (int128) x * y;
			break;
		case GPUCOL_OP_DIV_I:
			if (y == 0)
				return GPUCOL_DIVISION_BY_ZERO;
			wide = y == -1 ? -(int128) x : (int128) (x / y);
			if (y != -1)
			{
				*r = (int64_t) wide;
				return GPUCOL_OK;
			}
			break;
		default:				/* MOD_I */
			if (y == 0)
				return GPUCOL_DIVISION_BY_ZERO;
			*r = y == -1 ? 0 : x % y;
			return GPUCOL_OK;
	}
	*r = (int64_t) wide;
	return wide != (int128) *r ? range_error(aux) : fit_error(*r, aux);
}

__device__ static bool
find_constant(const GpucolConst *list, uint32_t n, int64_t x)
{
	uint32_t	a = 0;

	if (n == 0 || x > list[n - 1].v.i)
		return false;
	while (n > 0)
	{
		uint32_t	half = n / 2;

		if (list[a + half].v.i < x)
		{
			a += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return list[a].v.i == x;
}

/*
 * Evaluate one instruction for one row.  Returns the error that the row has
 * there, if the row counts for it.
 */
__device__ static int
step(const GpucolInterpPlan &plan, const Place &place, const GpucolInstr &in, Registers &reg)
{
	uint16_t	dst = in.dst,
				a = in.a,
				b = in.b,
				c = in.c;
	uint64_t	bit = 1ull << dst;
	int			status = GPUCOL_OK;
	bool		an = a < GPUCOL_MAX_REGS && reg.null(a);
	bool		bn = b < GPUCOL_MAX_REGS && reg.null(b);

	reg.nulls &= ~bit;
	switch (in.op)
	{
		case GPUCOL_OP_LOAD_I:
		case GPUCOL_OP_LOAD_D:
		case GPUCOL_OP_LOAD_F:
		case GPUCOL_OP_LOAD_B:
		case GPUCOL_OP_LOAD_S:
			status = load_column(plan, place, in.op, in.aux, dst, reg);
			break;
		case GPUCOL_OP_CONST_D:
			reg.high[dst] = plan.consts[in.aux].v.d.hi;
			[[fallthrough]];
		case GPUCOL_OP_CONST_I:
		case GPUCOL_OP_CONST_F:
		case GPUCOL_OP_CONST_B:
			reg.v[dst] = plan.consts[in.aux].v.i;
			if (plan.consts[in.aux].isnull)
				reg.nulls |= bit;
			break;
		case GPUCOL_OP_ADD_I:
		case GPUCOL_OP_SUB_I:
		case GPUCOL_OP_MUL_I:
		case GPUCOL_OP_DIV_I:
		case GPUCOL_OP_MOD_I:
			if (an || bn)
				reg.nulls |= bit;
			else
				status = integer_binary(in.op, in.aux, reg.v[a], reg.v[b], &reg.v[dst]);
			break;
		case GPUCOL_OP_NEG_I:
		case GPUCOL_OP_ABS_I:
			if (an)
				reg.nulls |= bit;
			else if (in.op == GPUCOL_OP_ABS_I && reg.v[a] >= 0)
				reg.v[dst] = reg.v[a];
			else
				status = integer_binary(GPUCOL_OP_SUB_I, in.aux, 0, reg.v[a], &reg.v[dst]);
			break;
		case GPUCOL_OP_CHECK_I:
			if (an)
				reg.nulls |= bit;
			else
				status = fit_error(reg.v[dst] = reg.v[a], in.aux);
			break;
		case GPUCOL_OP_ADD_D:
		case GPUCOL_OP_SUB_D:
		case GPUCOL_OP_MUL_D:
		case GPUCOL_OP_NEG_D:
		case GPUCOL_OP_ABS_D:
		case GPUCOL_OP_RESCALE_D:
		case GPUCOL_OP_I_TO_D:
			{
				int128		r = 0;
				bool		over = false;

				if (an || (bn && in.op <= GPUCOL_OP_MUL_D))
				{
					reg.nulls |= bit;
					break;
				}
				if (in.op == GPUCOL_OP_ADD_D)
					over = add128(reg.d(a), reg.d(b), &r);
				else if (in.op == GPUCOL_OP_SUB_D)
				{
					int128		y = reg.d(b);

					over = y == -y && y != 0;
					over |= add128(reg.d(a), -y, &r);
				}
				else if (in.op == GPUCOL_OP_MUL_D)
					over = mul128(reg.d(a), reg.d(b), &r);
				else if (in.op == GPUCOL_OP_RESCALE_D)
					over = rescale(reg.d(a), in.aux, &r) != GPUCOL_OK;
				else if (in.op == GPUCOL_OP_I_TO_D)
					over = rescale(reg.v[a], in.aux, &r) != GPUCOL_OK;
				else
				{
					r = reg.d(a);
					if (in.op == GPUCOL_OP_NEG_D || r < 0)
					{
						over = r == -r && r != 0;
						r = -r;
					}
				}
				reg.v[dst] = (int64_t) r;
				reg.high[dst] = (int64_t) (r >> 64);
				status = over ? GPUCOL_UNSUPPORTED : GPUCOL_OK;
				break;
			}
		case GPUCOL_OP_ADD_F:
		case GPUCOL_OP_SUB_F:
		case GPUCOL_OP_MUL_F:
		case GPUCOL_OP_DIV_F:
			{
				double		r = 0;

				if (an || bn)
					reg.nulls |= bit;
				else
					status = float_binary(in.op, in.aux, reg.f(a), reg.f(b), &r);
				reg.v[dst] = __double_as_longlong(r);
				break;
			}
		case GPUCOL_OP_NEG_F:
			reg.v[dst] = __double_as_longlong(-reg.f(a));
			reg.nulls |= an ? bit : 0;
			break;
		case GPUCOL_OP_ABS_F:
			reg.v[dst] = __double_as_longlong(fabs(reg.f(a)));
			reg.nulls |= an ? bit : 0;
			break;
		case GPUCOL_OP_ROUND_F:
			{
				double		x = reg.f(a),
							r = (double) (float) x;

				reg.v[dst] = __double_as_longlong(r);
				if (an)
					reg.nulls |= bit;
				else if (is_inf(r) && !is_inf(x))
					status = GPUCOL_FLOAT_OVERFLOW;
				else if (r == 0 && x != 0)
					status = GPUCOL_FLOAT_UNDERFLOW;
				break;
			}
		case GPUCOL_OP_I_TO_F:
			reg.v[dst] = __double_as_longlong(in.aux == 4 ? (double) (float) reg.v[a] : (double) reg.v[a]);
			reg.nulls |= an ? bit : 0;
			break;
		case GPUCOL_OP_F_TO_I:
			{
				double		limit = ldexp(1.0, in.aux * 8 - 1),
							r = rint(reg.f(a));

				if (an)
					reg.nulls |= bit;
				else if (!(r >= -limit && r < limit))
					status = range_error(in.aux);
				else
					reg.v[dst] = (int64_t) r;
				break;
			}

#define COMPARE(NAME, EXPR) \
		case GPUCOL_OP_##NAME: \
			reg.v[dst] = (EXPR); \
			reg.nulls |= an || bn ? bit : 0; \
			break;
#define X reg.f(a)
#define Y reg.f(b)
		COMPARE(EQ_I, reg.v[a] == reg.v[b])
		COMPARE(NE_I, reg.v[a] != reg.v[b])
		COMPARE(LT_I, reg.v[a] < reg.v[b])
		COMPARE(LE_I, reg.v[a] <= reg.v[b])
		COMPARE(EQ_D, reg.d(a) == reg.d(b))
		COMPARE(NE_D, reg.d(a) != reg.d(b))
		COMPARE(LT_D, reg.d(a) < reg.d(b))
		COMPARE(LE_D, reg.d(a) <= reg.d(b))
		COMPARE(EQ_F, X == Y || (X != X && Y != Y))
		COMPARE(NE_F, X != Y && !(X != X && Y != Y))
		COMPARE(LT_F, X < Y || (X == X && Y != Y))
		COMPARE(LE_F, X <= Y || Y != Y)
#undef X
#undef Y
#undef COMPARE
		case GPUCOL_OP_IN_I:	/* aux: a NULL is among the constants (lower.cu) */
			{
				bool		found = false;

				if (an)
				{
					reg.nulls |= bit;
					break;
				}
				if (in.aux)
				{
					for (int i = 0; i < c; i++)
						found |= !plan.consts[b + i].isnull && plan.consts[b + i].v.i == reg.v[a];
					reg.nulls |= found ? 0 : bit;
				}
				else
					found = find_constant(plan.consts + b, c, reg.v[a]);
				reg.v[dst] = found;
				break;
			}
		case GPUCOL_OP_HOST_TEST:
			{
				uint32_t	n = plan.host_size[in.aux];
				uint8_t		r = plan.host[in.aux][an ? n : min((uint32_t) reg.v[a], n)];

				reg.v[dst] = r == 1;
				reg.nulls |= r == 2 ? bit : 0;
				break;
			}
		case GPUCOL_OP_AND:
			{
				bool		x = reg.truth(a),
							y = reg.truth(b);

				reg.v[dst] = x && y;
				reg.nulls |= (an && bn) || (an && y) || (x && bn) ? bit : 0;
				break;
			}
		case GPUCOL_OP_OR:
			{
				bool		x = reg.truth(a),
							y = reg.truth(b);

				reg.v[dst] = x || y;
				reg.nulls |= !(x || y) && (an || bn) ? bit : 0;
				break;
			}
		case GPUCOL_OP_NOT:
			reg.v[dst] = !reg.v[a];
			reg.nulls |= an ? bit : 0;
			break;
		case GPUCOL_OP_IS_TRUE:
			reg.v[dst] = reg.truth(a);
			break;
		case GPUCOL_OP_IS_NULL_B:
		case GPUCOL_OP_IS_NULL_I:
		case GPUCOL_OP_IS_NULL_D:
		case GPUCOL_OP_IS_NULL_F:
		case GPUCOL_OP_IS_NULL_S:
			reg.v[dst] = an;
			break;
		case GPUCOL_OP_B_TO_I:
			reg.v[dst] = reg.v[a];
			reg.nulls |= an ? bit : 0;
			break;
		case GPUCOL_OP_CASE_D:
			reg.high[dst] = reg.high[reg.truth(a) ? b : c];
			[[fallthrough]];
		case GPUCOL_OP_CASE_B:
		case GPUCOL_OP_CASE_I:
		case GPUCOL_OP_CASE_F:
			{
				uint16_t	from = reg.truth(a) ? b : c;

				reg.v[dst] = reg.v[from];
				reg.nulls |= reg.null(from) ? bit : 0;
				break;
			}
		default:
			status = GPUCOL_UNSUPPORTED;
	}
	if (status != GPUCOL_OK)
	{
		reg.v[dst] = 0;
		if (in.mask != GPUCOL_NO_REG && !reg.truth(in.mask))
			status = GPUCOL_OK;
	}
	return status;
}

/* Evaluate instructions from .. to - 1; the row's first error. */
__device__ static int
evaluate(const GpucolInterpPlan &plan, const Place &place, int from, int to, Registers &reg)
{
	for (int i = from; i < to; i++)
	{
		int			status = step(plan, place, plan.instrs[i], reg);

		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/*
 * Number of a key's entry in a table, entering it if need be; ~0 if the table
 * is full.  *is_new tells who entered it.
 */
__device__ static uint32_t
find_entry(const GpucolHashTable &table, const unsigned long long *key, bool *is_new)
{
	uint64_t	h = 0x9e3779b97f4a7c15ull;
	uint32_t	tag,
				slot;

	*is_new = false;
	for (uint32_t i = 0; i < table.nwords; i++)
	{
		h = (h ^ key[i]) * 0xbf58476d1ce4e5b9ull;
		h ^= h >> 32;
	}
	tag = (uint32_t) (h >> 32) & ~3u;
	slot = (uint32_t) h & (table.capacity - 1);
	for (uint32_t probe = 0; probe < table.capacity; probe++)
	{
		volatile uint32_t *state = table.state + slot;
		unsigned long long *stored = table.keys + (size_t) slot * table.nwords;
		uint32_t	s = *state;

		if (s == 0)
		{
			if (*(volatile uint32_t *) table.used > table.limit)
				return ~0u;
			s = atomicCAS(table.state + slot, 0, 1);
			if (s == 0)
			{
				for (uint32_t i = 0; i < table.nwords; i++)
					stored[i] = key[i];
				__threadfence();
				*state = tag | 2;
				atomicAdd(table.used, 1);
				*is_new = true;
				return slot;
			}
		}
		while (s == 1)
			s = *state;
		if (s == (tag | 2))
		{
			bool		same = true;

			__threadfence();
			for (uint32_t i = 0; i < table.nwords; i++)
				same &= __ldcg(stored + i) == key[i];
			if (same)
				return slot;
		}
		slot = (slot + 1) & (table.capacity - 1);
	}
	return ~0u;
}

/* Word of a group key or distinct value. */
__device__ static unsigned long long
key_word(const Registers &reg, uint16_t r, int cls)
{
	if (cls == GPUCOL_CLASS_F)
	{
		double		x = reg.f(r);

		return x != x ? 0x7ff8000000000000ull : x == 0 ? 0 : (unsigned long long) reg.v[r];
	}
	return reg.v[r];
}

/* x * 2^scale toward zero, for finite x. */
__device__ static int128
fixed_point(double x, int scale)
{
	int64_t		bits = __double_as_longlong(x);
	int			e = (int) (bits >> 52 & 0x7ff);
	uint128		m = (uint64_t) bits & 0xfffffffffffffull;
	int			shift;

	if (e == 0)
		e = 1;
	else
		m |= 1ull << 52;
	shift = e - 1075 + scale;
	if (shift >= 0)
		m = shift < 127 ? m << shift : 0;
	else
		m = shift > -64 ? m >> -shift : 0;
	return bits < 0 ? -(int128) m : (int128) m;
}

/* Order of a double for MIN and MAX; -0 below 0. */
__device__ static int64_t
strict_order(double x)
{
	int64_t		bits = __double_as_longlong(x);

	if (x != x)
		return INT64_MAX;
	return bits ^ ((bits >> 63) & INT64_MAX);
}

/* The words that one row gives one accumulator; `n` of them of one kind. */
struct Words
{
	unsigned long long w[6];
	int			n;
	int			kind;			/* 0 add, 1 min, 2 max (as int64) */
};

__device__ static void
limbs(int128 x, unsigned long long *w)
{
	w[0] = (uint32_t) x;
	w[1] = (uint32_t) (x >> 32);
	w[2] = (unsigned long long) (int64_t) (x >> 64);
}

/* The words of an accumulator that no row has advanced. */
__device__ static void
neutral_words(const GpucolAcc &acc, Words &out)
{
	out.kind = acc.op == GPUCOL_ACC_MIN ? 1 : acc.op == GPUCOL_ACC_MAX ? 2 : 0;
	out.n = acc.op == GPUCOL_ACC_SUM_F ? 6 : acc.op == GPUCOL_ACC_SUM_I ? 2 :
		acc.op == GPUCOL_ACC_SUM_D || acc.op == GPUCOL_ACC_SQUARE || acc.op == GPUCOL_ACC_SQUARE_F ? 3 : 1;
	for (int i = 0; i < 6; i++)
		out.w[i] = acc.op == GPUCOL_ACC_MIN ? (unsigned long long) INT64_MAX :
			acc.op == GPUCOL_ACC_MAX ? (unsigned long long) INT64_MIN : 0;
}

/*
 * Fill the words of accumulator `acc` for a row that is `on`, else neutral
 * ones.  Returns GPUCOL_UNSUPPORTED for what no limb can hold.
 */
__device__ static int
words_of_row(const GpucolInterpPlan &plan, int number, const GpucolAcc &acc,
			 const Registers &reg, bool on, uint32_t group, Words &out)
{
	int			status = GPUCOL_OK;

	neutral_words(acc, out);
	if (!on || (acc.filter != GPUCOL_NO_REG && !reg.truth(acc.filter)) ||
		(acc.arg != GPUCOL_NO_REG && reg.null(acc.arg)))
		return GPUCOL_OK;
	switch (acc.op)
	{
		case GPUCOL_ACC_COUNT:
			out.w[0] = 1;
			break;
		case GPUCOL_ACC_SUM_I:
			out.w[0] = (uint32_t) reg.v[acc.arg];
			out.w[1] = (unsigned long long) (reg.v[acc.arg] >> 32);
			break;
		case GPUCOL_ACC_SUM_D:
			limbs(reg.d(acc.arg), out.w);
			if ((int64_t) out.w[2] != (int32_t) out.w[2])
				status = GPUCOL_UNSUPPORTED;
			break;
		case GPUCOL_ACC_SQUARE:
			{
				int128		x = acc.cls == GPUCOL_CLASS_D ? reg.d(acc.arg) : (int128) reg.v[acc.arg];
				int128		r;

				if (mul128(x, x, &r))
					status = GPUCOL_UNSUPPORTED;
				limbs(r, out.w);
				if ((int64_t) out.w[2] != (int32_t) out.w[2])
					status = GPUCOL_UNSUPPORTED;
				break;
			}
		case GPUCOL_ACC_SUM_F:
			{
				double		x = reg.f(acc.arg);

				if (x != x)
					out.w[0] = 1;
				else if (is_inf(x))
					out.w[x > 0 ? 1 : 2] = 1;
				else
					limbs(fixed_point(x, acc.scale), out.w + 3);
				break;
			}
		case GPUCOL_ACC_SQUARE_F:
			{
				double		x = reg.f(acc.arg),
							p = __dmul_rn(x, x),
							e = __fma_rn(x, x, -p);

				if (!isfinite(x))
					break;
				if (!isfinite(p))
					status = GPUCOL_UNSUPPORTED;
				else
					limbs(fixed_point(p, acc.scale) + fixed_point(e, acc.scale), out.w);
				break;
			}
		case GPUCOL_ACC_DISTINCT:
			{
				unsigned long long key[2] = {(unsigned long long) number << 32 | group,
				key_word(reg, acc.arg, acc.cls)};
				bool		is_new;

				if (find_entry(plan.distinct, key, &is_new) == ~0u)
					status = GPUCOL_OUT_OF_MEMORY;
				out.w[0] = is_new;
				break;
			}
		default:				/* MIN, MAX */
			out.w[0] = acc.cls == GPUCOL_CLASS_F ? strict_order(reg.f(acc.arg)) : reg.v[acc.arg];
			if (acc.cls == GPUCOL_CLASS_D && reg.high[acc.arg] != reg.v[acc.arg] >> 63)
				status = GPUCOL_UNSUPPORTED;
	}
	return status;
}

__device__ static unsigned long long
combine(int kind, unsigned long long x, unsigned long long y)
{
	if (kind == 0)
		return x + y;
	return kind == 1 ? ((long long) x < (long long) y ? x : y) : ((long long) x > (long long) y ? x : y);
}

__device__ static void
atomic_combine(int kind, unsigned long long *to, unsigned long long x)
{
	if (kind == 0)
	{
		if (x != 0)
			atomicAdd(to, x);
	}
	else if (kind == 1)
	{
		if ((long long) x < (long long) __ldcg(to))
			atomicMin((long long *) to, (long long) x);
	}
	else if ((long long) x > (long long) __ldcg(to))
		atomicMax((long long *) to, (long long) x);
}

/* Combine over the lanes of the warp. */
__device__ static unsigned long long
warp_combine(int kind, unsigned long long x)
{
	for (int d = 16; d > 0; d >>= 1)
		x = combine(kind, x, __shfl_xor_sync(GPUCOL_ALL_LANES, x, d));
	return x;
}

/* Remember the error of the first row that has one. */
__device__ static void
report(const GpucolInterpPlan &plan, unsigned long long ordinal, int status)
{
	atomicMin(plan.error, ordinal << 8 | (unsigned) status);
}

/* Group of a row's keys. */
__device__ static uint32_t
group_of_row(const GpucolInterpPlan &plan, const Registers &reg)
{
	unsigned long long key[GPUCOL_MAX_KEY_WORDS];
	unsigned long long nulls = 0;
	int			n = 1;
	bool		is_new;

	for (int k = 0; k < plan.nkeys; k++)
	{
		uint16_t	r = plan.keys[k];
		int			cls = plan.classes[r];
		bool		null = reg.null(r);

		nulls |= (unsigned long long) null << k;
		key[n++] = null ? 0 : key_word(reg, r, cls);
		if (cls == GPUCOL_CLASS_D)
			key[n++] = null ? 0 : reg.high[r];
	}
	key[0] = nulls;
	return find_entry(plan.groups, key, &is_new);
}

/* Most groups of a warp's rows for which it adds up before it writes. */
constexpr int GPUCOL_WARP_GROUPS = 4;

/* Advance the groups of a warp's rows, all lanes together. */
__device__ static void
advance_groups(const GpucolInterpPlan &plan, const Registers &reg, bool on,
			   unsigned long long ordinal)
{
	uint32_t	group = on ? group_of_row(plan, reg) : ~0u;
	uint32_t	active,
				leaders,
				peers;
	bool		few;

	if (on && group == ~0u)
	{
		report(plan, 0, GPUCOL_OUT_OF_MEMORY);
		on = false;
	}
	__syncwarp();
	active = __ballot_sync(GPUCOL_ALL_LANES, on);
	if (active == 0)
		return;
	peers = __match_any_sync(GPUCOL_ALL_LANES, on ? group : ~0u);
	leaders = __ballot_sync(GPUCOL_ALL_LANES, on && (int) (threadIdx.x % 32) == __ffs(peers) - 1);
	few = __popc(leaders) <= GPUCOL_WARP_GROUPS;
	for (int i = 0; i < plan.naccs; i++)
	{
		const GpucolAcc acc = plan.accs[i];
		Words		words;
		int			status = words_of_row(plan, i, acc, reg, on, group, words);

		if (status != GPUCOL_OK)
			report(plan, status == GPUCOL_OUT_OF_MEMORY ? 0 : ordinal, status);
		__syncwarp();
		if (few)
		{
			for (uint32_t left = leaders; left; left &= left - 1)
			{
				int			leader = __ffs(left) - 1;
				uint32_t	g = __shfl_sync(GPUCOL_ALL_LANES, group, leader);
				unsigned long long neutral = words.kind == 0 ? 0 :
					words.kind == 1 ? (unsigned long long) INT64_MAX : (unsigned long long) INT64_MIN;

				for (int j = 0; j < words.n; j++)
				{
					unsigned long long x = warp_combine(words.kind, on && group == g ? words.w[j] : neutral);

					if ((int) (threadIdx.x % 32) == leader)
						atomic_combine(words.kind, plan.table + (size_t) g * plan.nwords + acc.word + j, x);
				}
			}
		}
		else if (on)
			for (int j = 0; j < words.n; j++)
				atomic_combine(words.kind, plan.table + (size_t) group * plan.nwords + acc.word + j, words.w[j]);
	}
}

template <int MODE>
__global__ void __launch_bounds__(GPUCOL_INTERP_THREADS)
interp_kernel(const __grid_constant__ GpucolInterpPlan plan)
{
	const GpucolScanPlan &scan = plan.scan;
	int			lane = threadIdx.x % 32;
	uint32_t	warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	bool		ungrouped = MODE == MODE_EXPONENTS || (MODE == MODE_AGGREGATE && plan.nkeys == 0);
	unsigned long long total[MODE == MODE_AGGREGATE || MODE == MODE_EXPONENTS ? GPUCOL_MAX_WORDS : 1];
	Registers	reg;

	if (ungrouped)
		for (int i = 0; i < plan.naccs; i++)
		{
			const GpucolAcc &acc = plan.accs[i];

			if (MODE == MODE_EXPONENTS)
				total[i] = total[plan.naccs + i] = 0;
			else
			{
				Words		words;

				neutral_words(acc, words);
				for (int j = 0; j < words.n; j++)
					total[acc.word + j] = words.w[j];
			}
		}

	for (uint32_t number = warp; number < scan.nruns; number += warps)
	{
		Run			run = find_run(scan, number);
		uint32_t	skip = skipped_by_zones(scan, run, lane);
		uint32_t	base = scan.vector_start[run.segment];

		for (uint32_t v = 0; v < run.n; v++)
		{
			uint32_t	vector = run.first + v;
			size_t		global = (size_t) base + vector;
			uint32_t	word = 0;
			uint32_t	matches = 0;
			uint32_t	mask;
			unsigned long long out = 0;

			if (MODE == MODE_EMIT)
			{
				word = __ldg(plan.bitmap + global * 32 + lane);
				out = plan.counts[global];
				mask = warp_transpose(word, lane);
			}
			else
				mask = skip >> v & 1 ? 0 : vector_mask(scan, run, vector, lane);
			if (MODE != MODE_SELECT && !__any_sync(GPUCOL_ALL_LANES, mask != 0))
				continue;
			for (int p = 0; p < 32; p++)
			{
				bool		on = mask >> p & 1;
				Place		place = {scan.chunks + (size_t) run.segment * scan.ncolumns, vector, p * 32 + lane};
				unsigned long long ordinal = global * 1024 + place.row;
				int			status = GPUCOL_OK;

				if (!__any_sync(GPUCOL_ALL_LANES, on))
					continue;
				if (on)
				{
					reg.nulls = 0;
					status = evaluate(plan, place, 0, plan.nfilter_instrs, reg);
					if (status == GPUCOL_OK && MODE != MODE_EMIT && plan.filter != GPUCOL_NO_REG)
						on = reg.truth(plan.filter);
					if (status == GPUCOL_OK && on && MODE != MODE_SELECT)
						status = evaluate(plan, place, plan.nfilter_instrs, plan.ninstrs, reg);
					if (status != GPUCOL_OK)
					{
						report(plan, ordinal, status);
						on = false;
					}
				}
				__syncwarp();
				if (MODE == MODE_SELECT)
				{
					uint32_t	w = __ballot_sync(GPUCOL_ALL_LANES, on);

					if (lane == p)
						word = w;
					matches += __popc(w);
				}
				else if (MODE == MODE_EMIT)
				{
					uint32_t	w = __shfl_sync(GPUCOL_ALL_LANES, word, p);

					if (on)
					{
						unsigned long long at = out + __popc(w & ((1u << lane) - 1));

						plan.rows[at] = (unsigned long long) scan.segments[run.segment].number << 32 |
							(vector * GPUCOL_VECTOR_VALUES + place.row);
						for (uint32_t i = 0; i < plan.noutputs; i++)
						{
							const GpucolInterpOutput &o = plan.outputs[i];

							if (o.cls == GPUCOL_CLASS_D)
							{
								o.values[2 * at] = reg.v[o.reg];
								o.values[2 * at + 1] = reg.high[o.reg];
							}
							else
								o.values[at] = reg.v[o.reg];
							o.nulls[at] = reg.null(o.reg);
						}
					}
					out += __popc(w);
				}
				else if (MODE == MODE_EXPONENTS)
				{
					for (int i = 0; on && i < plan.naccs; i++)
						if ((plan.accs[i].op == GPUCOL_ACC_SUM_F || plan.accs[i].op == GPUCOL_ACC_SQUARE_F) &&
							!reg.null(plan.accs[i].arg))
						{
							unsigned long long e = reg.v[plan.accs[i].arg] >> 52 & 0x7ff;

							if (e != 0x7ff && e > total[i])
								total[i] = e;
							if (reg.v[plan.accs[i].arg] << 1 != 0 && 0x7ff - e > total[plan.naccs + i])
								total[plan.naccs + i] = 0x7ff - e;
						}
				}
				else if (ungrouped)
				{
					for (int i = 0; on && i < plan.naccs; i++)
					{
						const GpucolAcc &acc = plan.accs[i];
						Words		words;

						status = words_of_row(plan, i, acc, reg, true, 0, words);
						if (status != GPUCOL_OK)
							report(plan, status == GPUCOL_OUT_OF_MEMORY ? 0 : ordinal, status);
						for (int j = 0; j < words.n; j++)
							total[acc.word + j] = combine(words.kind, total[acc.word + j], words.w[j]);
					}
				}
				else
					advance_groups(plan, reg, on, ordinal);
			}
			if (MODE == MODE_SELECT)
			{
				plan.bitmap[global * 32 + lane] = word;
				if (lane == 0)
					plan.counts[global] = matches;
			}
		}
		if (*scan.cancel)
			break;
	}
	__syncwarp();
	if (ungrouped)
		for (int i = 0; i < plan.naccs; i++)
		{
			const GpucolAcc &acc = plan.accs[i];
			Words		words;

			if (MODE == MODE_EXPONENTS)
			{
				for (int j = i; j < 2 * plan.naccs; j += plan.naccs)
				{
					unsigned long long x = warp_combine(2, total[j]);

					if (lane == 0)
						atomicMax(plan.exponents + j, x);
				}
				continue;
			}
			neutral_words(acc, words);
			for (int j = 0; j < words.n; j++)
			{
				unsigned long long x = warp_combine(words.kind, total[acc.word + j]);

				if (lane == 0)
					atomic_combine(words.kind, plan.table + acc.word + j, x);
			}
		}
}

__global__ void
interp_init_kernel(const __grid_constant__ GpucolInterpPlan plan, uint32_t records)
{
	size_t		step = (size_t) gridDim.x * blockDim.x;

	for (size_t r = (size_t) blockIdx.x * blockDim.x + threadIdx.x; r < records; r += step)
		for (int i = 0; i < plan.naccs; i++)
		{
			const GpucolAcc &acc = plan.accs[i];
			Words		words;

			neutral_words(acc, words);
			for (int j = 0; j < words.n; j++)
				plan.table[r * plan.nwords + acc.word + j] = words.w[j];
		}
}

__global__ void
list_slots_kernel(const __grid_constant__ GpucolInterpPlan plan, uint32_t *slots, uint32_t *n)
{
	uint32_t	step = gridDim.x * blockDim.x;

	for (uint32_t s = blockIdx.x * blockDim.x + threadIdx.x; s < plan.groups.capacity; s += step)
		if (plan.groups.state[s] != 0)
			slots[atomicAdd(n, 1)] = s;
}

__global__ void
gather_kernel(const __grid_constant__ GpucolInterpPlan plan, const uint32_t *slots,
			  unsigned long long *keys, unsigned long long *records, uint32_t ngroups)
{
	uint32_t	step = gridDim.x * blockDim.x;

	for (uint32_t g = blockIdx.x * blockDim.x + threadIdx.x; g < ngroups; g += step)
	{
		for (uint32_t w = 0; w < plan.groups.nwords; w++)
			keys[(size_t) w * ngroups + g] = plan.groups.keys[(size_t) slots[g] * plan.groups.nwords + w];
		for (uint32_t w = 0; w < plan.nwords; w++)
			records[(size_t) g * plan.nwords + w] = plan.table[(size_t) slots[g] * plan.nwords + w];
	}
}

template <class Kernel>
static cudaError_t
launch(Kernel kernel, const GpucolInterpPlan &plan, cudaStream_t stream)
{
	kernel<<<gpucol_launch_blocks(kernel, GPUCOL_INTERP_THREADS, 0), GPUCOL_INTERP_THREADS, 0, stream>>>(plan);
	return cudaGetLastError();
}

cudaError_t
gpucol_interp_init(const GpucolInterpPlan &plan, uint32_t records, cudaStream_t stream)
{
	interp_init_kernel<<<gpucol_launch_blocks(interp_init_kernel, 256, 0), 256, 0, stream>>>(plan, records);
	return cudaGetLastError();
}

cudaError_t
gpucol_interp_exponents(const GpucolInterpPlan &plan, cudaStream_t stream)
{
	return launch(interp_kernel<MODE_EXPONENTS>, plan, stream);
}

cudaError_t
gpucol_interp_aggregate(const GpucolInterpPlan &plan, cudaStream_t stream)
{
	return launch(interp_kernel<MODE_AGGREGATE>, plan, stream);
}

cudaError_t
gpucol_interp_select(const GpucolInterpPlan &plan, cudaStream_t stream)
{
	return launch(interp_kernel<MODE_SELECT>, plan, stream);
}

cudaError_t
gpucol_interp_emit(const GpucolInterpPlan &plan, cudaStream_t stream)
{
	return launch(interp_kernel<MODE_EMIT>, plan, stream);
}

cudaError_t
gpucol_interp_gather(const GpucolInterpPlan &plan, uint32_t *slots, uint32_t *n,
					 unsigned long long *keys, unsigned long long *records,
					 uint32_t ngroups, cudaStream_t stream)
{
	list_slots_kernel<<<gpucol_launch_blocks(list_slots_kernel, 256, 0), 256, 0, stream>>>(plan, slots, n);
	gather_kernel<<<gpucol_launch_blocks(gather_kernel, 256, 0), 256, 0, stream>>>(plan, slots, keys, records, ngroups);
	return cudaGetLastError();
}
