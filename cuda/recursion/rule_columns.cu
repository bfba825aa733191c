/*-------------------------------------------------------------------------
 *
 * rule_columns.cu
 *	  Steps of a rule that look at no relation.
 *
 * Values are computed with the functions of kernel/recursion_values.h, as the CPU
 * engine does; the first failure of a batch of rows (by its number) ends the run.
 *
 *-------------------------------------------------------------------------
 */
#include <cub/device/device_select.cuh>

#include "kernel/recursion_values.h"
#include "cuda/base/launch.cuh"
#include "cuda/recursion/rule_columns.cuh"

namespace
{

/* Codes compared as such: are they equal (or not), and both not NULL? */
__global__ void
equal_kernel(bool wanted, GpucolCodeSource a, GpucolCodeSource b, size_t n,
			 uint32_t null_code, uint8_t *keep)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint32_t	x = a.at(i),
					y = b.at(i);

		keep[i] = (x == y) == wanted && x != null_code && y != null_code;
	}
}

/* A function over two columns. */
struct Function
{
	GpucolRecFunction function;
	GpucolRecType type;
	GpucolCodeSource a;
	GpucolCodeSource b;
	const int64_t *values;		/* by code */
	uint32_t	null_code;

	__device__ __forceinline__ GpucolRecValue
	value(const GpucolCodeSource &source, size_t i) const
	{
		uint32_t	code = source.at(i);
		bool		isnull = code == null_code;

		return {isnull ? 0 : __ldg(values + code), isnull};
	}

	/* Of row i; a failure is recorded. */
	__device__ __forceinline__ GpucolRecValue
	at(size_t i, int *failure) const
	{
		GpucolRecValue result = {0, true};
		GpucolStatus status = gpucol_rec_evaluate(function, type, value(a, i),
												  value(b, i), &result);

		if (status != GPUCOL_OK)
			atomicMax(failure, (int) status);
		return result;
	}
};

__global__ void
test_kernel(Function f, size_t n, uint8_t *keep, int *failure)
{
	GPUCOL_FOR_EACH(i, n)
	{
		GpucolRecValue r = f.at(i, failure);

		keep[i] = !r.isnull && r.value != 0;
	}
}

__global__ void
compute_kernel(Function f, size_t n, int64_t *values, uint8_t *nulls, int *failure)
{
	GPUCOL_FOR_EACH(i, n)
	{
		GpucolRecValue r = f.at(i, failure);

		values[i] = r.value;
		nulls[i] = r.isnull;
	}
}

__global__ void
iota_kernel(uint32_t *out, size_t n)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = (uint32_t) i;
}

__global__ void
gather_kernel(const uint32_t *in, const uint32_t *rows, size_t n, uint32_t *out)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = in[rows[i]];
}

__global__ void
fill_kernel(uint32_t *out, size_t n, uint32_t value)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = value;
}

/* Add the values of a column to the accumulators of the rows that they come from. */
__global__ void
collect_kernel(GpucolRecFunction function, GpucolRecType type, GpucolCodeSource column,
			   const uint32_t *origin, size_t n, const int64_t *values,
			   uint32_t null_code, unsigned long long *first, unsigned long long *second)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint32_t	to = origin[i],
					code = column.at(i);

		if (function == GPUCOL_REC_COUNT)
		{
			atomicAdd(first + to, 1ull);
			continue;
		}
		if (code == null_code)
			continue;
		int64_t		v = __ldg(values + code);

		if (function == GPUCOL_REC_SUM)
		{
			atomicAdd(first + to, (unsigned long long) (uint32_t) v);
			atomicAdd(second + to, type == GPUCOL_REC_UINT8 ?
					  (unsigned long long) v >> 32 : (unsigned long long) (v >> 32));
			continue;
		}
		uint64_t	rank = gpucol_rec_order(type, v);

		atomicMin(first + to, (unsigned long long)
				  (function == GPUCOL_REC_MAX ? ~rank : rank));
		second[to] = 1;
	}
}

/* Results of accumulators; none is NULL, which only MIN and MAX over nothing are. */
__global__ void
close_kernel(GpucolRecFunction function, GpucolRecType type,
			 const unsigned long long *first, const unsigned long long *second, size_t n,
			 int64_t *values, uint8_t *nulls, int *failure)
{
	GPUCOL_FOR_EACH(i, n)
	{
		nulls[i] = 0;
		if (function == GPUCOL_REC_COUNT)
			values[i] = (int64_t) first[i];
		else if (function == GPUCOL_REC_SUM)
		{
			__int128	high = type == GPUCOL_REC_UINT8 ? (__int128) second[i] :
				(__int128) (int64_t) second[i];
			__int128	sum = high * ((__int128) 1 << 32) + first[i];
			GpucolRecValue result = {0, false};
			bool		overflow = type == GPUCOL_REC_UINT8 ?
				sum != (__int128) (uint64_t) sum : sum != (__int128) (int64_t) sum;
			GpucolStatus status = gpucol_rec_fit(type, overflow, (int64_t) sum, &result);

			values[i] = result.value;
			if (status != GPUCOL_OK)
				atomicMax(failure, (int) status);
		}
		else
		{
			values[i] = gpucol_rec_unorder(type, function == GPUCOL_REC_MAX ?
										   ~first[i] : first[i]);
			nulls[i] = second[i] == 0;
		}
	}
}

__global__ void
invert_kernel(uint8_t *flags, size_t n)
{
	GPUCOL_FOR_EACH(i, n)
		flags[i] = !flags[i];
}

/* A zeroed word that kernels note failures in. */
GpucolArray<int>
no_failure(GpucolDeviceMemory &memory)
{
	GpucolArray<int> failure(memory, 1);

	gpucol_check(cudaMemsetAsync(failure.data(), 0, sizeof(int), memory.stream));
	return failure;
}

}								/* namespace */

GpucolCodeSource
GpucolRuleColumns::source(const GpucolRecOperand &o, const GpucolBindings &bindings) const
{
	if (o.kind == GPUCOL_REC_CONSTANT)
		return {nullptr, constant(o)};
	return {bindings.columns[o.index].data(), 0};
}

uint32_t
GpucolRuleColumns::constant(const GpucolRecOperand &o) const
{
	const GpucolRecConstant &c = plan_.constants[o.index];

	return c.isnull ? run_.codes.null_code() : run_.codes.code(c.value);
}

int
GpucolRuleColumns::order_of(const GpucolRecStep &atom, const std::vector<bool> &bound,
							GpucolKeyOrder &order) const
{
	int			n = 0,
				at = 0;

	order.arity = atom.noperands;
	order.bits = run_.codes.bits();
	for (int pass = 0; pass < 2; pass++)
		for (int c = 0; c < atom.noperands; c++)
		{
			const GpucolRecOperand &o = operand(atom, c);
			bool		fixed = o.kind == GPUCOL_REC_CONSTANT ||
				(o.kind == GPUCOL_REC_REGISTER && bound[o.index]);

			if (fixed != (pass == 0))
				continue;
			n += fixed;
			order.columns[at++] = (uint8_t) c;
		}
	return n;
}

GpucolRuleColumns::GpucolRuleColumns(GpucolDeviceRun &run, uint32_t number)
	: run_(run), plan_(*run.plan), rule_(plan_.rules[number]), last_read_(rule_.nregisters)
{
	for (uint32_t s = 0; s < rule_.nsteps; s++)
	{
		if (step(s).kind == GPUCOL_REC_COLLECT)
			last_read_[step(s).origin] = s;
		for (int i = 0; i < step(s).noperands; i++)
			if (operand(step(s), i).kind == GPUCOL_REC_REGISTER)
				last_read_[operand(step(s), i).index] = s;
	}
}

GpucolBindings
GpucolRuleColumns::copy(uint32_t s, const GpucolBindings &bindings) const
{
	GpucolBindings result(rule_.nregisters);

	result.n = bindings.n;
	for (uint32_t r = 0; r < rule_.nregisters; r++)
		if (bindings.bound[r] && read_after(s, r))
		{
			GpucolArray<uint32_t> column(run_.memory, bindings.n);

			gpucol_check(cudaMemcpyAsync(column.data(), bindings.columns[r].data(),
										 bindings.n * sizeof(uint32_t),
										 cudaMemcpyDeviceToDevice, run_.memory.stream));
			result.set(r, std::move(column));
		}
	return result;
}

void
GpucolRuleColumns::number_rows(GpucolBindings &bindings, uint32_t reg) const
{
	GpucolArray<uint32_t> rows(run_.memory, bindings.n);

	iota_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
		(rows.data(), bindings.n);
	gpucol_check(cudaGetLastError());
	bindings.set(reg, std::move(rows));
}

void
GpucolRuleColumns::filter(uint32_t s, GpucolBindings &bindings,
						  const GpucolArray<uint8_t> &keep, bool all) const
{
	size_t		n = bindings.n;
	GpucolDeviceMemory &memory = run_.memory;
	GpucolArray<uint32_t> every(memory, n),
				rows(memory, n);
	GpucolArray<unsigned long long> count(memory, 1);

	iota_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>> (every.data(), n);
	gpucol_check(cudaGetLastError());
	gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
		return cub::DeviceSelect::Flagged(scratch, bytes, every.data(), keep.data(),
										  rows.data(), count.data(), (int64_t) n,
										  memory.stream);
	});
	bindings.n = count.at(0);
	if (bindings.n == n)
		return;
	for (uint32_t r = 0; r < bindings.columns.size(); r++)
	{
		if (!bindings.bound[r])
			continue;
		if (!all && !read_after(s, r))
		{
			bindings.drop(r);
			continue;
		}
		GpucolArray<uint32_t> out(memory, bindings.n);

		if (bindings.n > 0)
		{
			gather_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, memory.stream>>>
				(bindings.columns[r].data(), rows.data(), bindings.n, out.data());
			gpucol_check(cudaGetLastError());
		}
		bindings.set(r, std::move(out));
	}
}

void
GpucolRuleColumns::same_columns(uint32_t s, const GpucolRepeats &repeats,
								GpucolBindings &bindings) const
{
	for (const auto &pair : repeats)
	{
		if (bindings.n == 0)
			return;
		GpucolArray<uint8_t> keep(run_.memory, bindings.n);

		equal_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
			(true, GpucolCodeSource{bindings.columns[pair.first].data(), 0},
			 GpucolCodeSource{bindings.columns[pair.second].data(), 0}, bindings.n,
			 run_.codes.null_code(), keep.data());
		gpucol_check(cudaGetLastError());
		filter(s, bindings, keep, true);
	}
}

/* Raise what a kernel recorded. */
void
GpucolRuleColumns::check_failure(const GpucolArray<int> &failure) const
{
	int			status = failure.at(0);

	if (status != GPUCOL_OK)
		throw GpucolFailure{(GpucolStatus) status};
}

namespace
{

Function
function_of(const GpucolDeviceRun &run, const GpucolRecStep &step, GpucolCodeSource a,
			GpucolCodeSource b)
{
	return {(GpucolRecFunction) step.function, (GpucolRecType) step.type, a, b,
		run.codes.device(), run.codes.null_code()};
}

}								/* namespace */

void
GpucolRuleColumns::test(uint32_t s, GpucolBindings &bindings) const
{
	const GpucolRecStep &test = step(s);
	GpucolCodeSource a = source(operand(test, 0), bindings),
				b = test.noperands > 1 ? source(operand(test, 1), bindings) : a;
	unsigned	grid = gpucol_launch_grid(bindings.n);
	GpucolArray<uint8_t> keep(run_.memory, bindings.n);

	if (test.function == GPUCOL_REC_EQ || test.function == GPUCOL_REC_NE)
	{
		equal_kernel<<<grid, GPUCOL_THREADS, 0, run_.memory.stream>>>
			(test.function == GPUCOL_REC_EQ, a, b, bindings.n, run_.codes.null_code(),
			 keep.data());
		gpucol_check(cudaGetLastError());
	}
	else
	{
		GpucolArray<int> failure = no_failure(run_.memory);

		test_kernel<<<grid, GPUCOL_THREADS, 0, run_.memory.stream>>>
			(function_of(run_, test, a, b), bindings.n, keep.data(), failure.data());
		gpucol_check(cudaGetLastError());
		check_failure(failure);
	}
	filter(s, bindings, keep);
}

void
GpucolRuleColumns::compute(uint32_t s, GpucolBindings &bindings) const
{
	const GpucolRecStep &compute = step(s);
	GpucolCodeSource a = source(operand(compute, 0), bindings),
				b = compute.noperands > 1 ? source(operand(compute, 1), bindings) : a;
	unsigned	grid = gpucol_launch_grid(bindings.n);
	cudaStream_t stream = run_.memory.stream;
	GpucolArray<uint32_t> out(run_.memory, bindings.n);

	if (compute.function != GPUCOL_REC_COPY)
	{
		GpucolArray<int64_t> values(run_.memory, bindings.n);
		GpucolArray<uint8_t> nulls(run_.memory, bindings.n);
		GpucolArray<int> failure = no_failure(run_.memory);

		compute_kernel<<<grid, GPUCOL_THREADS, 0, stream>>>
			(function_of(run_, compute, a, b), bindings.n, values.data(), nulls.data(),
			 failure.data());
		gpucol_check(cudaGetLastError());
		check_failure(failure);
		run_.codes.intern(values.data(), nulls.data(), bindings.n, out.data());
	}
	else if (a.column)
		gpucol_check(cudaMemcpyAsync(out.data(), a.column, bindings.n * sizeof(uint32_t),
									 cudaMemcpyDeviceToDevice, stream));
	else
	{
		fill_kernel<<<grid, GPUCOL_THREADS, 0, stream>>> (out.data(), bindings.n, a.constant);
		gpucol_check(cudaGetLastError());
	}
	bindings.set(compute.target, std::move(out));
}

GpucolAccumulators
GpucolRuleColumns::open(const GpucolRecStep &aggregate, size_t n) const
{
	bool		extreme = aggregate.function == GPUCOL_REC_MIN ||
		aggregate.function == GPUCOL_REC_MAX;
	GpucolAccumulators result = {&aggregate,
		GpucolArray<unsigned long long>(run_.memory, n),
		GpucolArray<unsigned long long>(run_.memory, n)};

	gpucol_check(cudaMemsetAsync(result.first.data(), extreme ? 0xff : 0,
								 n * sizeof(unsigned long long), run_.memory.stream));
	gpucol_check(cudaMemsetAsync(result.second.data(), 0, n * sizeof(unsigned long long),
								 run_.memory.stream));
	return result;
}

void
GpucolRuleColumns::collect(const GpucolRecStep &step, const GpucolBindings &bindings,
						   GpucolAccumulators &to) const
{
	GpucolCodeSource column = {nullptr, 0};

	if (step.noperands > 0)
		column = source(operand(step, 0), bindings);
	collect_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
		((GpucolRecFunction) to.step->function, (GpucolRecType) to.step->type, column,
		 bindings.columns[step.origin].data(), bindings.n, run_.codes.device(),
		 run_.codes.null_code(), to.first.data(), to.second.data());
	gpucol_check(cudaGetLastError());
}

void
GpucolRuleColumns::close(uint32_t s, GpucolAccumulators &from,
						 GpucolBindings &bindings) const
{
	unsigned	grid = gpucol_launch_grid(bindings.n);
	GpucolArray<int64_t> values(run_.memory, bindings.n);
	GpucolArray<uint8_t> nulls(run_.memory, bindings.n);
	GpucolArray<uint32_t> out(run_.memory, bindings.n);
	GpucolArray<int> failure = no_failure(run_.memory);

	close_kernel<<<grid, GPUCOL_THREADS, 0, run_.memory.stream>>>
		((GpucolRecFunction) from.step->function, (GpucolRecType) from.step->type,
		 from.first.data(), from.second.data(), bindings.n, values.data(), nulls.data(),
		 failure.data());
	gpucol_check(cudaGetLastError());
	check_failure(failure);
	run_.codes.intern(values.data(), nulls.data(), bindings.n, out.data());
	bindings.set(from.step->target, std::move(out));
	if (from.step->function != GPUCOL_REC_MIN && from.step->function != GPUCOL_REC_MAX)
		return;
	invert_kernel<<<grid, GPUCOL_THREADS, 0, run_.memory.stream>>> (nulls.data(), bindings.n);
	gpucol_check(cudaGetLastError());
	filter(s, bindings, nulls);
}
