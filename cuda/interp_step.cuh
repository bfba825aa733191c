/*-------------------------------------------------------------------------
 *
 * interp_step.cuh
 *	  One instruction for one row: the meaning of every opcode on the device.
 *
 * The interpreter calls step() with instructions from memory; compiled programs
 * call it with constants, whereupon only one case is left of it.
 *
 * Compiled with -fmad=false: PostgreSQL's products and sums are rounded apart.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_STEP_CUH
#define GPUCOL_CUDA_INTERP_STEP_CUH

#include "interp_plan.h"
#include "scanner.cuh"
#include "values.cuh"

#include "kernel/float_order.h"
#include "kernel/status.h"

typedef __int128 int128;
typedef unsigned __int128 uint128;

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

__device__ __forceinline__ bool
is_inf(double x)
{
	return isinf(x);
}

__device__ __forceinline__ int
range_error(int aux)
{
	return aux == 2 ? GPUCOL_INT2_OUT_OF_RANGE : aux == 4 ? GPUCOL_INT4_OUT_OF_RANGE : GPUCOL_INT8_OUT_OF_RANGE;
}

__device__ __forceinline__ int
fit_error(int64_t x, int aux)
{
	return aux == 8 || (aux == 4 ? x == (int32_t) x : x == (int16_t) x) ? GPUCOL_OK : range_error(aux);
}

__device__ __forceinline__ bool
add128(int128 x, int128 y, int128 *r)
{
	*r = (int128) ((uint128) x + (uint128) y);
	return ((x ^ *r) & (y ^ *r)) < 0;
}

/* Product; true if it left int128. */
__device__ __forceinline__ bool
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

__device__ __forceinline__ int
rescale(int128 x, int power, int128 *r)
{
	*r = x;
	for (; power > 0; power--)
		if (mul128(*r, 10, r))
			return GPUCOL_UNSUPPORTED;
	return GPUCOL_OK;
}

/* Where a row lies; `columns[slot]` is its chunk of a column. */
template <class Columns>
struct Place
{
	const Columns &columns;
	uint32_t	vector;
	int			row;
};

/* Load a column into a register; returns a status. */
template <class Columns>
__device__ __forceinline__ int
load_column(const GpucolInterpPlan &plan, const Place<Columns> &place, uint16_t op,
			int slot, uint16_t dst, Registers &reg)
{
	const GpucolDeviceChunk &chunk = place.columns[slot];
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
__device__ __forceinline__ int
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
__device__ __forceinline__ int
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

__device__ __forceinline__ bool
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
template <class Columns>
__device__ __forceinline__ int
step(const GpucolInterpPlan &plan, const Place<Columns> &place, const GpucolInstr &in, Registers &reg)
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

#endif
