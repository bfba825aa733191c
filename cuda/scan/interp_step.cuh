/*-------------------------------------------------------------------------
 *
 * interp_step.cuh
 *	  One instruction for a few rows on the device; what opcodes mean is in
 *	  src/kernel/scalar.h.
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
#include "kernel/scalar.h"
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

/* Where R rows lie; `columns[slot]` is their chunk of a column. */
template <int R, class Columns>
struct Place
{
	const Columns &columns;
	uint32_t	vector;
	unsigned long long first;	/* ordinal of the vector's first row */
	int			row[R];			/* of the vector */
	const uint32_t *matches;	/* rows of built tables, by slot and place in the list */
	uint32_t	at;				/* that place of the first row; the others' follow, 32 apart */
	int			probe;			/* the one at hand, or -1, and its match of each row */
	uint32_t	match[R];
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
			GpucolStatus status = gpucol_scalar_I_TO_D(plan.columns[slot].scale - chunk.scale, reg.v[dst][r], &x);

			reg.set_d(dst, r, x);
			bad |= (uint32_t) (*nulls >> r & 1 ? GPUCOL_OK : status) << 8 * r;
		}
	return bad;
}

/* A value of a built table's column, less its reference. */
__device__ static inline uint64_t
stored_value(const void *values, int width, uint32_t row)
{
	switch (width)
	{
		case 1:
			return __ldg((const uint8_t *) values + row);
		case 2:
			return __ldg((const uint16_t *) values + row);
		case 4:
			return __ldg((const uint32_t *) values + row);
		default:
			return __ldg((const unsigned long long *) values + row);
	}
}

/* Load a column of a built table into a register: NULL where a row has no match. */
template <int R, class Columns>
__device__ __forceinline__ void
load_payload(const GpucolInterpPlan &plan, const Place<R, Columns> &place, uint16_t op, int number, uint16_t dst,
			 Registers<R> &reg, uint32_t *nulls)
{
	const GpucolDevicePayload payload = Columns::payload(plan, number);

#pragma unroll
	for (int r = 0; r < R; r++)
	{
		uint32_t	row = payload.probe == place.probe ? place.match[r] :
			place.matches[payload.slot * GPUCOL_VECTOR_VALUES + place.at + r * 32];
		bool		null = row >= payload.nrows || (payload.nulls != NULL && __ldg(payload.nulls + row));
		int64_t		value = null ? 0 :
			(int64_t) (stored_value(payload.values, payload.width, row) + (uint64_t) payload.reference);

		reg.v[dst][r] = value;
		if (op == GPUCOL_OP_LOAD_D)
			reg.high[dst][r] = value >> 63;
		*nulls |= (uint32_t) null << r;
	}
}

/* Decimal arithmetic on one row. */
template <int R>
__device__ __forceinline__ GpucolStatus
decimal_result(const GpucolInstr &in, const Registers<R> &reg, int row, int128 *r)
{
	switch (in.op)
	{
		case GPUCOL_OP_ADD_D:
			return gpucol_scalar_ADD_D(in.aux, reg.d(in.a, row), reg.d(in.b, row), r);
		case GPUCOL_OP_SUB_D:
			return gpucol_scalar_SUB_D(in.aux, reg.d(in.a, row), reg.d(in.b, row), r);
		case GPUCOL_OP_MUL_D:
			return gpucol_scalar_MUL_D(in.aux, reg.d(in.a, row), reg.d(in.b, row), r);
		case GPUCOL_OP_RESCALE_D:
		case GPUCOL_OP_I_TO_D:
			return gpucol_scalar_RESCALE_D(in.aux, in.op == GPUCOL_OP_I_TO_D ? (int128) reg.v[in.a][row] :
										   reg.d(in.a, row), r);
		case GPUCOL_OP_NEG_D:
			return gpucol_scalar_NEG_D(in.aux, reg.d(in.a, row), r);
		default:
			return gpucol_scalar_ABS_D(in.aux, reg.d(in.a, row), r);
	}
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

	/* An operation of src/kernel/scalar.h on integers. */
	template <GpucolStatus (*F) (int, int64_t, int64_t, int64_t *)>
	__device__ __forceinline__ void
	integers()
	{
		nulls = an | bn;
		each_row([&] (int r) {
			int64_t		x = 0;
			GpucolStatus s = F(in.aux, a(r), b(r), &x);

			give(r, x, s);
		});
	}

	template <GpucolStatus (*F) (int, int64_t, int64_t *)>
	__device__ __forceinline__ void
	integer()
	{
		each_row([&] (int r) {
			int64_t		x = 0;
			GpucolStatus s = F(in.aux, a(r), &x);

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
			status(r, decimal_result(in, reg, r, &x));
			reg.set_d(in.dst, r, x);
		});
	}

	/* The same on floats. */
	template <GpucolStatus (*F) (int, double, double, double *)>
	__device__ __forceinline__ void
	floats()
	{
		nulls = an | bn;
		each_row([&] (int r) {
			double		x = 0;
			GpucolStatus s = F(in.aux, reg.f(in.a, r), reg.f(in.b, r), &x);

			give(r, __double_as_longlong(x), s);
		});
	}

	__device__ __forceinline__ void
	round_float()
	{
		each_row([&] (int r) {
			double		x = 0;
			GpucolStatus s = gpucol_scalar_ROUND_F(in.aux, reg.f(in.a, r), &x);

			give(r, __double_as_longlong(x), s);
		});
	}

	__device__ __forceinline__ void
	float_to_integer()
	{
		each_row_rolled([&] (int r) {
			int64_t		x = 0;
			GpucolStatus s = gpucol_scalar_F_TO_I(in.aux, reg.f(in.a, r), &x);

			give(r, x, s);
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

			/* aux: is some constant NULL? (cuda/query/interpreter.cc) */
			give(r, gpucol_scalar_in(plan.consts + in.b, in.c, in.aux, a(r), &null));
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

		nulls = both ? gpucol_scalar_and_null(x, an, y, bn) : gpucol_scalar_or_null(x, an, y, bn);
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
				return compare_floats([] (double x, double y) { return gpucol_scalar_EQ_F(x, y); });
			case GPUCOL_OP_NE_F:
				return compare_floats([] (double x, double y) { return gpucol_scalar_NE_F(x, y); });
			case GPUCOL_OP_LT_F:
				return compare_floats([] (double x, double y) { return gpucol_scalar_LT_F(x, y); });
			case GPUCOL_OP_LE_F:
				return compare_floats([] (double x, double y) { return gpucol_scalar_LE_F(x, y); });
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
				return floats<gpucol_scalar_ADD_F>();
			case GPUCOL_OP_SUB_F:
				return floats<gpucol_scalar_SUB_F>();
			case GPUCOL_OP_MUL_F:
				return floats<gpucol_scalar_MUL_F>();
			case GPUCOL_OP_DIV_F:
				return floats<gpucol_scalar_DIV_F>();
			case GPUCOL_OP_NEG_F:
				return each_row([&] (int r) { give_float(r, -reg.f(in.a, r)); });
			case GPUCOL_OP_ABS_F:
				return each_row([&] (int r) { give_float(r, fabs(reg.f(in.a, r))); });
			case GPUCOL_OP_ROUND_F:
				return round_float();
			case GPUCOL_OP_I_TO_F:
				return each_row([&] (int r) { give_float(r, gpucol_scalar_I_TO_F(in.aux, a(r))); });
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
				if (in.aux < 0)
					load_payload(plan, place, in.op, -1 - in.aux, in.dst, reg, &nulls);
				else
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
				return integers<gpucol_scalar_ADD_I>();
			case GPUCOL_OP_SUB_I:
				return integers<gpucol_scalar_SUB_I>();
			case GPUCOL_OP_MUL_I:
				return integers<gpucol_scalar_MUL_I>();
			case GPUCOL_OP_DIV_I:
				return integers<gpucol_scalar_DIV_I>();
			case GPUCOL_OP_MOD_I:
				return integers<gpucol_scalar_MOD_I>();
			case GPUCOL_OP_NEG_I:
				return integer<gpucol_scalar_NEG_I>();
			case GPUCOL_OP_ABS_I:
				return integer<gpucol_scalar_ABS_I>();
			case GPUCOL_OP_CHECK_I:
				return integer<gpucol_scalar_CHECK_I>();
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
step(const GpucolInterpPlan &plan, const Place<R, Columns> &place, const GpucolInstr &in, Registers<R> &reg,
	 uint32_t on)
{
	uint32_t	an = in.a < GPUCOL_MAX_REGS ? reg.nulls[in.a] : 0;
	uint32_t	bn = in.b < GPUCOL_MAX_REGS ? reg.nulls[in.b] : 0;
	Step<R, Columns> one = {plan, place, in, reg, an, bn, an, 0};

	one.run();
	reg.nulls[in.dst] = one.nulls;
	return one.bad != 0 ? leave_failed(plan, place, in, reg, one.bad, on) : on;
}

#endif
