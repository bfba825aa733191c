/*-------------------------------------------------------------------------
 *
 * probes.cuh
 *	  The probes of a program, over the tables that came along.
 *
 * A table (kernel/lookup.h) is the session's (built_tables.cuh), or lies in device memory as long
 * as the request: its description is
 * checked (lookup_check.h), and each probe gets the addresses of its arrays.  Which stages
 * read columns of it decides what warps keep of its matches (interp_plan.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PROBES_CUH
#define GPUCOL_CUDA_PROBES_CUH

#include <memory>
#include <vector>

#include "cuda/query/lookup_check.h"
#include "cuda/query/part_context.cuh"
#include "cuda/query/sections.cuh"
#include "cuda/scan/interp_plan.h"

class Probes
{
public:
	/* Throws Failure where tables are missing, or do not suit the program. */
	explicit Probes(const PartContext &c);

	/* By probe: do rows multiply there? */
	const std::vector<bool> &expands() const { return expands_; }

	/* Tell the kernels; instructions lie in the order of the sections behind the constants. */
	void		describe(const Sections &sections, GpucolInterpPlan *plan) const;

private:
	struct Table
	{
		LookupTable described;
		const char *data;		/* on the device */
		std::shared_ptr<const BuiltTable> built;	/* whose they are; NULL: the request's */
	};

	void		load_table(uint16_t number);
	bool		load_built(uint16_t number);
	void		check_probe(size_t number) const;
	bool		is_written(uint16_t reg, uint16_t end) const;
	const GpucolWireFirstRow *first_row(size_t number) const;
	void		check_payload(const GpucolPayload &payload) const;
	const Table &table_of(const GpucolProbe &probe) const { return tables_[probe.table]; }
	GpucolDeviceKey key(const GpucolProbe &probe, int k) const;
	GpucolDevicePayload payload(const GpucolPayload &of) const;
	GpucolDeviceProbe probe(size_t number) const;
	void		add_order(const GpucolWireFirstRow &first, GpucolDeviceProbe *probe) const;
	bool		is_read(size_t number, const Sections &sections) const;
	void		lay_out_memory(const Sections &sections, GpucolInterpPlan *plan) const;

	const PartContext &c_;
	std::vector<Table> tables_; /* by number */
	std::vector<bool> expands_;
};

#endif
