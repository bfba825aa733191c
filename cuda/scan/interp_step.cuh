/*-------------------------------------------------------------------------
 *
 * interp_step.cuh
 *	  One instruction for a few rows: the meaning of every opcode on the device.
 *
 * The interpreter calls step() with instructions from memory, and R rows share
 * what it costs to find out what is to be done; compiled programs call it with
 * constants and one row, whereupon only one case is left of it.
 *
 * Rows that are not in play are computed too, for the other lanes of a warp do so
 * anyway: only their errors do not count.
 *
 * Compiled with -fmad=false: PostgreSQL's products and sums are rounded apart.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_STEP_CUH
#define GPUCOL_CUDA_INTERP_STEP_CUH

#include "cuda/scan/interp_plan.h"
#include "cuda/scan/scanner.cuh"
#include "cuda/scan/values.cuh"

#include "kernel/float_order.h"
#include "kernel/status.h"

typedef __int128 int128;
typedef unsigned __int128 uint128;

/* The registers of R rows; sets of rows are masks, bit r being row r. */
template <int R>
struct Registers
{
	static constexpr uint32_t ALL = (1u << R) - 1;

	int64_t		v[GPUCOL_MAX_REGS][R];
	int64_t		high[GPUCOL_MAX_REGS][R];	/* D only */
	uint8_t		nulls[GPUCOL_MAX_REGS];

	/* Rows where a bool is true. */
	__device__ uint32_t
	truths(uint16_t reg) const
	{
		uint32_t	rows = 0;

#pragma unroll
		for (int r = 0; r < R; r++)
			rows |= (uint32_t) (v[reg][r] != 0) << r;
		return rows & ~nulls[reg];
	}
	__device__ double
	f(uint16_t reg, int r) const
	{
		return __longlong_as_double(v[reg][r]);
	}
	__device__ int128
	d(uint16_t reg, int r) const
	{
		return (int128) ((uint128) (uint64_t) high[reg][r] << 64 | (uint64_t) v[reg][r]);
	}
	__device__ void
	set_d(uint16_t reg, int r, int128 x)
	{
		v[reg][r] = (int64_t) x;
		high[reg][r] = (int64_t) (x >> 64);
	}
};

/* The registers of one of these rows. */
template <int R>
struct RowRegisters
{
	const Registers<R> &registers;
	int			row;

	__device__ bool null(uint16_t reg) const { return registers.nulls[reg] >> row & 1; }
	__device__ bool truth(uint16_t reg) const { return registers.v[reg][row] && !null(reg); }
	__device__ int64_t v(uint16_t reg) const { return registers.v[reg][row]; }
	__device__ int64_t high(uint16_t reg) const { return registers.high[reg][row]; }
	__device__ double f(uint16_t reg) const { return registers.f(reg, row); }
	__device__ int128 d(uint16_t reg) const { return registers.d(reg, row); }
};

/* Remember the error of the first row that has one. */
__device__ __forceinline__ void
report(const GpucolInterpPlan &plan, unsigned long long ordinal, int status)
{
	atomicMin(plan.error, ordinal << 8 | (unsigned) status);
}

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

/* Where R rows lie; `columns[slot]` is their chunk of a column. */
template <int R, class Columns>
struct Place
{
	const Columns &columns;
	uint32_t	vector;
	unsigned long long first;	/* ordinal of the vector's first row */
	int			row[R];			/* of the vector */
};

/* Load a constant into a register. */
template <int R>
__device__ __forceinline__ void
load_constant(const GpucolInterpPlan &plan, const GpucolInstr &in, Registers<R> &reg)
{
	const GpucolConst &c = plan.consts[in.aux];

#pragma unroll
	for (int r = 0; r < R; r++)
	{
		if (in.op == GPUCOL_OP_CONST_D)
			reg.high[in.dst][r] = c.v.d.hi;
		reg.v[in.dst][r] = c.v.i;
	}
	reg.nulls[in.dst] = c.isnull ? Registers<R>::ALL : 0;
}

/* Load a column into a register; returns the rows' statuses, a byte each. */
template <int R, class Columns>
__device__ __forceinline__ uint32_t
load_column(const GpucolInterpPlan &plan, const Place<R, Columns> &place, uint16_t op,
			int slot, uint16_t dst, Registers<R> &reg, uint32_t *nulls)
{
	const GpucolDeviceChunk chunk = place.columns[slot];	/* one wait, not one a member */
	uint64_t	code[R];
	uint32_t	bad = 0;

	if (chunk.all_null)
	{
		*nulls = Registers<R>::ALL;
		return 0;
	}
	if (chunk.nulls)
#pragma unroll
		for (int r = 0; r < R; r++)
			*nulls |= (uint32_t) row_is_null(chunk, place.vector, place.row[r]) << r;
	codes_of_rows(chunk.codes + (size_t) place.vector * chunk.width * GPUCOL_ROW_WORDS, chunk.width, place.row, code);
	if (op == GPUCOL_OP_LOAD_F)
	{
#pragma unroll
		for (int r = 0; r < R; r++)
			reg.v[dst][r] = __double_as_longlong(float_of_code(chunk, code[r]));
		return 0;
	}
#pragma unroll
	for (int r = 0; r < R; r++)
		reg.v[dst][r] = integer_of_code(chunk, code[r]);
	if (op == GPUCOL_OP_LOAD_D)
#pragma unroll
		for (int r = 0; r < R; r++)
		{
			int128		x;
			int			status = rescale(reg.v[dst][r], plan.columns[slot].scale - chunk.scale, &x);

			reg.set_d(dst, r, x);
			bad |= (uint32_t) (*nulls >> r & 1 ? GPUCOL_OK : status) << 8 * r;
		}
	return bad;
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

/*
 * Integer arithmetic with PostgreSQL's range checks.  Where the result is narrower
 * than int64 so are the operands.
 */
__device__ __forceinline__ int
narrow_binary(uint16_t op, int aux, int64_t x, int64_t y, int64_t *r)
{
	switch (op)
	{
		case GPUCOL_OP_ADD_I:
			*r = x + y;
			break;
		case GPUCOL_OP_SUB_I:
			*r = x - y;
			break;
		case GPUCOL_OP_MUL_I:
			*r = (int64_t) (int32_t) x * (int32_t) y;
			break;
		default:
			if (y == 0)
				return GPUCOL_DIVISION_BY_ZERO;
			if (op == GPUCOL_OP_DIV_I)
				*r = y == -1 ? -x : (int32_t) x / (int32_t) y;
			else
				*r = y == -1 ? 0 : (int32_t) x % (int32_t) y;
	}
	return fit_error(*r, aux);
}

__device__ __forceinline__ int
integer_binary(uint16_t op, int aux, int64_t x, int64_t y, int64_t *r)
{
	bool		over = false;

	if (aux != 8)
		return narrow_binary(op, aux, x, y, r);
	switch (op)
	{
		case GPUCOL_OP_ADD_I:
			*r = (int64_t) ((uint64_t) x + (uint64_t) y);
			over = ((x ^ *r) & (y ^ *r)) < 0;
			break;
		case GPUCOL_OP_SUB_I:
			*r = (int64_t) ((uint64_t) x - (uint64_t) y);
			over = ((x ^ y) & (x ^ *r)) < 0;
			break;
		case GPUCOL_OP_MUL_I:
			*r = (int64_t) ((uint64_t) x * (uint64_t) y);
			over = __mul64hi(x, y) != *r >> 63;
			break;
		default:
			if (y == 0)
				return GPUCOL_DIVISION_BY_ZERO;
			if (op == GPUCOL_OP_MOD_I)
				*r = y == -1 ? 0 : x % y;
			else if (y == -1)
			{
				*r = (int64_t) -(uint64_t) x;
				over = x == INT64_MIN;
			}
			else
				*r = x / y;
	}
	return over ? GPUCOL_INT8_OUT_OF_RANGE : GPUCOL_OK;
}

/* Decimal arithmetic; true if it left int128. */
template <int R>
__device__ __forceinline__ bool
decimal_result(const GpucolInstr &in, const Registers<R> &reg, int row, int128 *r)
{
	int128		x = in.op == GPUCOL_OP_I_TO_D ? (int128) reg.v[in.a][row] : reg.d(in.a, row);
	int128		y;

	switch (in.op)
	{
		case GPUCOL_OP_ADD_D:
			return add128(x, reg.d(in.b, row), r);
		case GPUCOL_OP_SUB_D:
			y = reg.d(in.b, row);
			return add128(x, -y, r) | (y == -y && y != 0);
		case GPUCOL_OP_MUL_D:
			return mul128(x, reg.d(in.b, row), r);
		case GPUCOL_OP_RESCALE_D:
		case GPUCOL_OP_I_TO_D:
			return rescale(x, in.aux, r) != GPUCOL_OK;
		default:				/* NEG_D, ABS_D */
			*r = in.op == GPUCOL_OP_NEG_D || x < 0 ? -x : x;
			return x == -x && x != 0;
	}
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

/* Is x among the constants of an instruction?  NULL if it is not but one of them is. */
__device__ __forceinline__ bool
in_constants(const GpucolInterpPlan &plan, const GpucolInstr &in, int64_t x, bool *null)
{
	bool		found = false;

	if (!in.aux)				/* no constant is NULL (lower_program.cu) */
		return find_constant(plan.consts + in.b, in.c, x);
	for (int i = 0; i < in.c; i++)
		found |= !plan.consts[in.b + i].isnull && plan.consts[in.b + i].v.i == x;
	*null = !found;
	return found;
}

/*
 * Rows of `on` without those whose status is an error and which count for the
 * instruction; the register of all that have one becomes 0.
 */
template <int R, class Columns>
__device__ __forceinline__ uint32_t
leave_failed(const GpucolInterpPlan &plan, const Place<R, Columns> &place, const GpucolInstr &in, Registers<R> &reg,
			 uint32_t bad, uint32_t on)
{
	uint32_t	counted = in.mask == GPUCOL_NO_REG ? on : on & reg.truths(in.mask);

#pragma unroll
	for (int r = 0; r < R; r++)
		if (bad >> 8 * r & 0xff)
		{
			reg.v[in.dst][r] = 0;
			if (counted >> r & 1)
			{
				report(plan, place.first + place.row[r], bad >> 8 * r & 0xff);
				on &= ~(1u << r);
			}
		}
	return on;
}

/*
 * One instruction on its way: its operands' NULLs, and what it gives so far.  A
 * member function for each kind of instruction, and a case for each opcode (run()).
 */
template <int R, class Columns>
struct Step
{
	static_assert(R >= 1 && R <= 4, "a status is a byte of a word");

	const GpucolInterpPlan &plan;
	const Place<R, Columns> &place;
	const GpucolInstr &in;
	Registers<R> &reg;
	uint32_t	an;				/* rows whose first operand is NULL */
	uint32_t	bn;				/* whose second is */
	uint32_t	nulls;			/* whose result is */
	uint32_t	bad;			/* statuses, a byte a row */

	__device__ __forceinline__ int64_t a(int r) const { return reg.v[in.a][r]; }
	__device__ __forceinline__ int64_t b(int r) const { return reg.v[in.b][r]; }
	__device__ __forceinline__ bool is_null(int r) const { return nulls >> r & 1; }
	__device__ __forceinline__ void status(int r, int s) { bad |= (uint32_t) s << 8 * r; }
	__device__ __forceinline__ void give(int r, int64_t x) { reg.v[in.dst][r] = x; }
	__device__ __forceinline__ void give_float(int r, double x) { give(r, __double_as_longlong(x)); }

	/* The same where there is an error only if the result is not NULL. */
	__device__ __forceinline__ void
	give(int r, int64_t x, int s)
	{
		give(r, x);
		status(r, is_null(r) ? GPUCOL_OK : s);
	}

	template <class F>
	__device__ __forceinline__ static void
	each_row(F f)
	{
#pragma unroll
		for (int r = 0; r < R; r++)
			f(r);
	}

	/* For what is long: once in the code. */
	template <class F>
	__device__ __forceinline__ static void
	each_row_rolled(F f)
	{
#pragma unroll 1
		for (int r = 0; r < R; r++)
			f(r);
	}

	template <uint16_t OP>
	__device__ __forceinline__ void
	integers()
	{
		nulls = an | bn;
		each_row([&] (int r) {
			int64_t		x = 0;
			int			s = integer_binary(OP, in.aux, a(r), b(r), &x);

			give(r, x, s);
		});
	}

	__device__ __forceinline__ void
	negate_integer()
	{
		each_row([&] (int r) {
			int64_t		x = a(r);
			int			s = GPUCOL_OK;

			if (in.op == GPUCOL_OP_NEG_I || x < 0)
				s = integer_binary(GPUCOL_OP_SUB_I, in.aux, 0, x, &x);
			give(r, x, s);
		});
	}

	__device__ __forceinline__ void
	decimals()
	{
		each_row_rolled([&] (int r) {
			int128		x = 0;

			if (is_null(r))
				return;
			status(r, decimal_result(in, reg, r, &x) ? GPUCOL_UNSUPPORTED : GPUCOL_OK);
			reg.set_d(in.dst, r, x);
		});
	}

	template <uint16_t OP>
	__device__ __forceinline__ void
	floats()
	{
		nulls = an | bn;
		each_row([&] (int r) {
			double		x = 0;
			int			s = float_binary(OP, in.aux, reg.f(in.a, r), reg.f(in.b, r), &x);

			give(r, __double_as_longlong(x), s);
		});
	}

	__device__ __forceinline__ void
	round_float()
	{
		each_row([&] (int r) {
			double		x = reg.f(in.a, r),
						y = (double) (float) x;

			give(r, __double_as_longlong(y), is_inf(y) && !is_inf(x) ? GPUCOL_FLOAT_OVERFLOW :
				 y == 0 && x != 0 ? GPUCOL_FLOAT_UNDERFLOW : GPUCOL_OK);
		});
	}

	__device__ __forceinline__ void
	float_to_integer()
	{
		each_row_rolled([&] (int r) {
			double		limit = ldexp(1.0, in.aux * 8 - 1),
						x = rint(reg.f(in.a, r));
			bool		fits = x >= -limit && x < limit;

			give(r, fits ? (int64_t) x : 0, fits ? GPUCOL_OK : range_error(in.aux));
		});
	}

	/* f says of two integers, decimals or floats whether they compare so. */
	template <class F>
	__device__ __forceinline__ void
	compare_integers(F f)
	{
		nulls = an | bn;
		each_row([&] (int r) { give(r, f(a(r), b(r))); });
	}

	template <class F>
	__device__ __forceinline__ void
	compare_decimals(F f)
	{
		nulls = an | bn;
		each_row([&] (int r) { give(r, f(reg.d(in.a, r), reg.d(in.b, r))); });
	}

	template <class F>
	__device__ __forceinline__ void
	compare_floats(F f)
	{
		nulls = an | bn;
		each_row([&] (int r) { give(r, f(reg.f(in.a, r), reg.f(in.b, r))); });
	}

	__device__ __forceinline__ void
	find_in_constants()
	{
		each_row_rolled([&] (int r) {
			bool		null = false;

			give(r, in_constants(plan, in, a(r), &null));
			nulls |= (uint32_t) null << r;
		});
	}

	__device__ __forceinline__ void
	host_test()
	{
		nulls = 0;
		each_row([&] (int r) {
			uint32_t	n = plan.host_size[in.aux];
			uint8_t		x = plan.host[in.aux][an >> r & 1 ? n : min((uint32_t) a(r), n)];

			give(r, x == 1);
			nulls |= (uint32_t) (x == 2) << r;
		});
	}

	__device__ __forceinline__ void
	combine_bools()
	{
		bool		both = in.op == GPUCOL_OP_AND;
		uint32_t	x = reg.truths(in.a),
					y = reg.truths(in.b);

		nulls = both ? (an & bn) | (an & y) | (x & bn) : (an | bn) & ~(x | y);
		each_row([&] (int r) { give(r, (both ? x & y : x | y) >> r & 1); });
	}

	__device__ __forceinline__ void
	choose()
	{
		uint32_t	first = reg.truths(in.a);

		nulls = (first & bn) | (~first & reg.nulls[in.c] & Registers<R>::ALL);
		each_row([&] (int r) {
			uint16_t	from = first >> r & 1 ? in.b : in.c;

			give(r, reg.v[from][r]);
			if (in.op == GPUCOL_OP_CASE_D)
				reg.high[in.dst][r] = reg.high[from][r];
		});
	}

	__device__ __forceinline__ void
	run_logic()
	{
		switch (in.op)
		{
			case GPUCOL_OP_IN_I:
				return find_in_constants();
			case GPUCOL_OP_HOST_TEST:
				return host_test();
			case GPUCOL_OP_AND:
			case GPUCOL_OP_OR:
				return combine_bools();
			case GPUCOL_OP_NOT:
				return each_row([&] (int r) { give(r, !a(r)); });
			case GPUCOL_OP_IS_TRUE:
				nulls = 0;
				return each_row([&] (int r) { give(r, a(r) && !(an >> r & 1)); });
			case GPUCOL_OP_IS_NULL_B:
			case GPUCOL_OP_IS_NULL_I:
			case GPUCOL_OP_IS_NULL_D:
			case GPUCOL_OP_IS_NULL_F:
			case GPUCOL_OP_IS_NULL_S:
				nulls = 0;
				return each_row([&] (int r) { give(r, an >> r & 1); });
			case GPUCOL_OP_B_TO_I:
				return each_row([&] (int r) { give(r, a(r)); });
			case GPUCOL_OP_CASE_B:
			case GPUCOL_OP_CASE_I:
			case GPUCOL_OP_CASE_D:
			case GPUCOL_OP_CASE_F:
				return choose();
			default:
				each_row([&] (int r) { status(r, GPUCOL_UNSUPPORTED); });
		}
	}

	__device__ __forceinline__ void
	run_comparison()
	{
		switch (in.op)
		{
			case GPUCOL_OP_EQ_I:
				return compare_integers([] (int64_t x, int64_t y) { return x == y; });
			case GPUCOL_OP_NE_I:
				return compare_integers([] (int64_t x, int64_t y) { return x != y; });
			case GPUCOL_OP_LT_I:
				return compare_integers([] (int64_t x, int64_t y) { return x < y; });
			case GPUCOL_OP_LE_I:
				return compare_integers([] (int64_t x, int64_t y) { return x <= y; });
			case GPUCOL_OP_EQ_D:
				return compare_decimals([] (int128 x, int128 y) { return x == y; });
			case GPUCOL_OP_NE_D:
				return compare_decimals([] (int128 x, int128 y) { return x != y; });
			case GPUCOL_OP_LT_D:
				return compare_decimals([] (int128 x, int128 y) { return x < y; });
			case GPUCOL_OP_LE_D:
				return compare_decimals([] (int128 x, int128 y) { return x <= y; });
			case GPUCOL_OP_EQ_F:
				return compare_floats([] (double x, double y) { return x == y || (x != x && y != y); });
			case GPUCOL_OP_NE_F:
				return compare_floats([] (double x, double y) { return x != y && !(x != x && y != y); });
			case GPUCOL_OP_LT_F:
				return compare_floats([] (double x, double y) { return x < y || (x == x && y != y); });
			case GPUCOL_OP_LE_F:
				return compare_floats([] (double x, double y) { return x <= y || y != y; });
			default:
				run_logic();
		}
	}

	__device__ __forceinline__ void
	run_float()
	{
		switch (in.op)
		{
			case GPUCOL_OP_ADD_F:
				return floats<GPUCOL_OP_ADD_F>();
			case GPUCOL_OP_SUB_F:
				return floats<GPUCOL_OP_SUB_F>();
			case GPUCOL_OP_MUL_F:
				return floats<GPUCOL_OP_MUL_F>();
			case GPUCOL_OP_DIV_F:
				return floats<GPUCOL_OP_DIV_F>();
			case GPUCOL_OP_NEG_F:
				return each_row([&] (int r) { give_float(r, -reg.f(in.a, r)); });
			case GPUCOL_OP_ABS_F:
				return each_row([&] (int r) { give_float(r, fabs(reg.f(in.a, r))); });
			case GPUCOL_OP_ROUND_F:
				return round_float();
			case GPUCOL_OP_I_TO_F:
				return each_row([&] (int r) { give_float(r, in.aux == 4 ? (double) (float) a(r) : (double) a(r)); });
			case GPUCOL_OP_F_TO_I:
				return float_to_integer();
			default:
				run_comparison();
		}
	}

	__device__ __forceinline__ void
	run()
	{
		switch (in.op)
		{
			case GPUCOL_OP_LOAD_I:
			case GPUCOL_OP_LOAD_D:
			case GPUCOL_OP_LOAD_F:
			case GPUCOL_OP_LOAD_B:
			case GPUCOL_OP_LOAD_S:
				nulls = 0;
				bad = load_column(plan, place, in.op, in.aux, in.dst, reg, &nulls);
				return;
			case GPUCOL_OP_CONST_I:
			case GPUCOL_OP_CONST_D:
			case GPUCOL_OP_CONST_F:
			case GPUCOL_OP_CONST_B:
				load_constant(plan, in, reg);
				nulls = reg.nulls[in.dst];
				return;
			case GPUCOL_OP_ADD_I:
				return integers<GPUCOL_OP_ADD_I>();
			case GPUCOL_OP_SUB_I:
				return integers<GPUCOL_OP_SUB_I>();
			case GPUCOL_OP_MUL_I:
				return integers<GPUCOL_OP_MUL_I>();
			case GPUCOL_OP_DIV_I:
				return integers<GPUCOL_OP_DIV_I>();
			case GPUCOL_OP_MOD_I:
				return integers<GPUCOL_OP_MOD_I>();
			case GPUCOL_OP_NEG_I:
			case GPUCOL_OP_ABS_I:
				return negate_integer();
			case GPUCOL_OP_CHECK_I:
				return each_row([&] (int r) { give(r, a(r), fit_error(a(r), in.aux)); });
			case GPUCOL_OP_ADD_D:
			case GPUCOL_OP_SUB_D:
			case GPUCOL_OP_MUL_D:
				nulls = an | bn;
				[[fallthrough]];
			case GPUCOL_OP_NEG_D:
			case GPUCOL_OP_ABS_D:
			case GPUCOL_OP_RESCALE_D:
			case GPUCOL_OP_I_TO_D:
				return decimals();
			default:
				run_float();
		}
	}
};

/*
 * Evaluate one instruction for R rows; `on` are those whose errors count.  Returns
 * those of them that had none, having reported it.
 */
template <int R, class Columns>
__device__ __forceinline__ uint32_t
step(const GpucolInterpPlan &plan, const Place<R, Columns> &place, const GpucolInstr &in, Registers<R> &reg, uint32_t on)
{
	uint32_t	an = in.a < GPUCOL_MAX_REGS ? reg.nulls[in.a] : 0;
	uint32_t	bn = in.b < GPUCOL_MAX_REGS ? reg.nulls[in.b] : 0;
	Step<R, Columns> one = {plan, place, in, reg, an, bn, an, 0};

	one.run();
	reg.nulls[in.dst] = one.nulls;
	return one.bad != 0 ? leave_failed(plan, place, in, reg, one.bad, on) : on;
}

#endif
