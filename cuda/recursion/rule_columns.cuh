/*-------------------------------------------------------------------------
 *
 * rule_columns.cuh
 *	  The bindings of a rule as columns of codes, and what the steps do to them
 *	  that look at no relation: tests, computed values, aggregates.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RULE_COLUMNS_CUH
#define GPUCOL_CUDA_RULE_COLUMNS_CUH

#include <vector>

#include "cuda/recursion/recursive.cuh"

/* Where a code comes from: a register's column, or a constant. */
struct GpucolCodeSource
{
	const uint32_t *column;		/* NULL = constant */
	uint32_t	constant;

#ifdef __CUDACC__
	__device__ __forceinline__ uint32_t
	at(size_t i) const
	{
		return column ? column[i] : constant;
	}
#endif
};

/*
 * Columns of codes, by register; n rows.  Behind the rule's registers come those
 * that a join needs for columns of one register (by place) and one for the rows that
 * bindings come from.
 */
struct GpucolBindings
{
	size_t		n = 1;
	std::vector<GpucolArray<uint32_t>> columns;
	std::vector<bool> bound;

	explicit GpucolBindings(uint32_t nregisters)
		: columns(nregisters + GPUCOL_REC_MAX_ARITY + 1),
		  bound(nregisters + GPUCOL_REC_MAX_ARITY + 1) {}

	void
	set(uint32_t reg, GpucolArray<uint32_t> &&column)
	{
		columns[reg] = std::move(column);
		bound[reg] = true;
	}

	void
	drop(uint32_t reg)
	{
		columns[reg] = GpucolArray<uint32_t>();
		bound[reg] = false;
	}
};

/* Pairs of registers that must agree. */
typedef std::vector<std::pair<uint32_t, uint32_t>> GpucolRepeats;

/* An aggregate under way: two numbers for each row that it is computed for. */
struct GpucolAccumulators
{
	const GpucolRecStep *step;	/* the AGGREGATE */
	GpucolArray<unsigned long long> first;	/* COUNT: rows; SUM: low halves; MIN,
											 * MAX: the best rank */
	GpucolArray<unsigned long long> second; /* SUM: high halves; MIN, MAX: not 0 if
											 * there was a value */
};

/* One rule over columns. */
class GpucolRuleColumns
{
protected:
	GpucolRuleColumns(GpucolDeviceRun &run, uint32_t number);

	const GpucolRecStep &step(uint32_t s) const { return plan_.steps[rule_.steps + s]; }
	const GpucolRecOperand &
	operand(const GpucolRecStep &s, int i) const
	{
		return plan_.operands[s.operands + i];
	}

	/* The register for the rows that bindings come from. */
	uint32_t origin() const { return rule_.nregisters + GPUCOL_REC_MAX_ARITY; }

	GpucolCodeSource source(const GpucolRecOperand &o, const GpucolBindings &bindings) const;

	/* The code of a constant. */
	uint32_t constant(const GpucolRecOperand &o) const;

	/*
	 * The column order for looking up an atom: those that constants or registers with
	 * a value fix come first; how many there are.
	 */
	int order_of(const GpucolRecStep &atom, const std::vector<bool> &bound,
				 GpucolKeyOrder &order) const;

	/* Is the register read by a step after s? */
	bool
	read_after(uint32_t s, uint32_t reg) const
	{
		return reg < last_read_.size() && last_read_[reg] > s;
	}

	/* A copy of the columns that a step after s reads. */
	GpucolBindings copy(uint32_t s, const GpucolBindings &bindings) const;

	/* Bind a register to the row numbers. */
	void number_rows(GpucolBindings &bindings, uint32_t reg) const;

	/*
	 * Keep the rows with a flag; unless `all`, columns that no step after s reads
	 * are dropped.
	 */
	void filter(uint32_t s, GpucolBindings &bindings, const GpucolArray<uint8_t> &keep,
				bool all = false) const;

	/* Keep the rows in which the columns of each pair agree, and are not NULL. */
	void same_columns(uint32_t s, const GpucolRepeats &repeats,
					  GpucolBindings &bindings) const;

	/* TEST and COMPUTE. */
	void test(uint32_t s, GpucolBindings &bindings) const;
	void compute(uint32_t s, GpucolBindings &bindings) const;

	/* Parts of AGGREGATE: before the body, at its COLLECT, after it. */
	GpucolAccumulators open(const GpucolRecStep &aggregate, size_t n) const;
	void collect(const GpucolRecStep &step, const GpucolBindings &bindings,
				 GpucolAccumulators &to) const;
	void close(uint32_t s, GpucolAccumulators &from, GpucolBindings &bindings) const;

	GpucolDeviceRun &run_;
	const GpucolRecPlan &plan_;
	const GpucolRecRule &rule_;

private:
	std::vector<uint32_t> last_read_;	/* by register: the last step that reads it */

	void check_failure(const GpucolArray<int> &failure) const;
};

#endif							/* GPUCOL_CUDA_RULE_COLUMNS_CUH */
