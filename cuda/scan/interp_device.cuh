/*-------------------------------------------------------------------------
 *
 * interp_device.cuh
 *	  The kernels that run programs: any program over any chunk.
 *
 * A warp takes vectors as the scan kernels do and tests the ranges on packed
 * codes for the whole vector.  Then it runs the instructions of the filter for
 * the rows that are left, P::ROWS of them a lane at a time, and lists those that
 * pass, so that the other instructions find 32 rows a warp however few pass.
 * What these need of the filter's registers they compute again.  All lanes are at
 * one instruction, so dispatch does not diverge.
 *
 * Probes of built tables lie between: each computes its keys for the rows listed, looks
 * them up, and lists those that it hands on; the rows of its table that they have met are
 * kept beside the list, in device memory, for the stages that read their columns.  Where
 * rows multiply the list is saved, and the stages behind run for batches of up to 1,024
 * pairs, which are numbered row by row, until all are done.
 *
 * A probe may deliver rows of its table when the source's have gone through all probes: those
 * that nobody has met, or somebody has.  So the rows met are marked, and then the rows of such a
 * table go their way from its filter on, as those of a segment whose columns are all NULL.
 *
 * The code is compiled twice.  Ahead of time its program is the one in the plan
 * (interp_program.cuh): instructions are read from memory, registers are an
 * array in local memory, which the L1 cache keeps; several rows of a lane share
 * the cost of an instruction, and constants are loaded once a kernel.  At run time
 * (jit_interp.cc) the program is a class of constants, whereupon every loop over it
 * is unrolled and its registers are registers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_DEVICE_CUH
#define GPUCOL_CUDA_INTERP_DEVICE_CUH

#include "cuda/scan/interp_list.cuh"
#include "cuda/scan/interp_probe.cuh"
#include "cuda/scan/interp_table.cuh"
#include "cuda/scan/offsets.cuh"

/* One warp's run of program P in one mode. */
template <int MODE, class P>
struct ProgramWarp
{
	static constexpr int R = P::ROWS;
	typedef typename P::Columns Columns;

	const GpucolInterpPlan &plan;
	const int	lane;
	const bool	ungrouped;
	RowList		list;
	char	   *memory;			/* where probes keep what they have found */
	uint32_t	open;			/* probes whose saved lists are not done, by bit */
	unsigned long long reached; /* of probe `lane`: rows that reached it, */
	unsigned long long found;	/* and that it has handed on, before its filter */
	Registers<R> reg;
	unsigned long long total[MODE == MODE_AGGREGATE || MODE == MODE_EXPONENTS ? P::MAX_WORDS : 1];

	__device__ __forceinline__
	ProgramWarp(const GpucolInterpPlan &p, uint16_t *rows)
		: plan(p), lane(threadIdx.x % 32),
			ungrouped(MODE == MODE_EXPONENTS || (MODE == MODE_AGGREGATE && P::nkeys(p) == 0)),
		list{rows, 0, false},
			memory(p.memory == NULL ? NULL : p.memory + p.memory_size * ((blockIdx.x * blockDim.x + threadIdx.x) / 32)),
			open(0), reached(0), found(0) {}

	/* Totals that no row has advanced. */
	__device__ __forceinline__ void
	clear_totals()
	{
#pragma unroll P::UNROLL
		for (int i = 0; i < P::naccs(plan); i++)
		{
			const GpucolAcc acc = P::acc(plan, i);

			if (MODE == MODE_EXPONENTS)
				total[i] = total[P::naccs(plan) + i] = 0;
			else
			{
				Words		words;

				neutral_words(acc, words);
				for (int j = 0; j < words.n; j++)
					total[acc.word + j] = words.w[j];
			}
		}
	}

	/* Rows of `on` that have no error and pass the filter. */
	__device__ __forceinline__ uint32_t
	filter(const Place<R, Columns> &place, uint32_t on)
	{
		on = P::filter(plan, place, reg, on);
		return P::filter_register(plan) == GPUCOL_NO_REG ? on : on & reg.truths(P::filter_register(plan));
	}

	/* Rows i .. of the list; those that exist are the result. */
	__device__ __forceinline__ uint32_t
	take_rows(uint32_t i, Place<R, Columns> &place) const
	{
		uint32_t	on = 0;

#pragma unroll
		for (int r = 0; r < R; r++)
		{
			place.row[r] = list.at(i + r * 32 + lane);
			on |= (uint32_t) (i + r * 32 + lane < list.n) << r;
		}
		place.at = i + lane;
		place.probe = -1;
		return on;
	}

	/* Leave the rows in the list that pass the filter. */
	__device__ __forceinline__ void
	filter_list(Place<R, Columns> &place)
	{
		RowList		passed = {list.rows, 0, false};

		for (uint32_t i = 0; i < list.n; i += 32 * R)
		{
			uint32_t	on = filter(place, take_rows(i, place));

			__syncwarp();
#pragma unroll
			for (int r = 0; r < R; r++)
				passed.append(on >> r & 1, place.row[r]);
			__syncwarp();
		}
		list = passed;
	}

	/* ---- probes ---- */

	/* Matches by slot and place in the list. */
	__device__ __forceinline__ uint32_t *
	matches() const
	{
		return (uint32_t *) memory;
	}

	__device__ __forceinline__ SavedRows *
	saved(const GpucolDeviceProbe &probe) const
	{
		return (SavedRows *) (memory + probe.saved);
	}

	/* Add to the figures of probe p. */
	__device__ __forceinline__ void
	count(int p, uint32_t rows, uint32_t handed_on)
	{
		reached += lane == p ? rows : 0;
		found += lane == p ? handed_on : 0;
	}

	/* The sum of a set of rows over the warp's lanes. */
	__device__ __forceinline__ static uint32_t
	warp_rows(uint32_t on)
	{
		return lanes_sum(__popc(on));
	}

	/* Append rows of a batch to a list, and what they have met to its matches. */
	__device__ __forceinline__ void
	keep(const Place<R, Columns> &place, const GpucolDeviceProbe &probe, uint32_t on, RowList *passed)
	{
		uint32_t	to[R];
		uint32_t	n = passed->n;

#pragma unroll
		for (int r = 0; r < R; r++)
		{
			uint32_t	w = __ballot_sync(GPUCOL_ALL_LANES, on >> r & 1);

			to[r] = n + __popc(w & ((1u << lane) - 1));
			n += __popc(w);
			if (on >> r & 1)
				passed->rows[to[r]] = place.row[r];
		}
#pragma unroll P::UNROLL
		for (int s = 0; s < probe.nslots; s++)
		{
			uint32_t   *slot = matches() + s * GPUCOL_VECTOR_VALUES;
			uint32_t	match[R];

#pragma unroll
			for (int r = 0; r < R; r++)
				match[r] = s == probe.slot ? place.match[r] : slot[place.at + r * 32];
			__syncwarp();
#pragma unroll
			for (int r = 0; r < R; r++)
				if (on >> r & 1)
					slot[to[r]] = match[r];
		}
		passed->n = n;
		__syncwarp();
	}

	/* Are the rows met noted? */
	__device__ __forceinline__ static bool
	marks(const GpucolDeviceProbe &probe)
	{
		return MODE != MODE_EMIT && probe.marks != NULL;
	}

	/* Note the rows of the table that rows of `on` have met. */
	__device__ __forceinline__ void
	mark(const Place<R, Columns> &place, const GpucolDeviceProbe &probe, uint32_t on) const
	{
		if (marks(probe))
#pragma unroll
			for (int r = 0; r < R; r++)
				if (on >> r & 1)
					mark_rows(probe, place.match[r], 1);
	}

	/* The same where keys alone decide. */
	__device__ __forceinline__ void
	mark_keys(const Place<R, Columns> &place, const GpucolDeviceProbe &probe, const uint32_t *n) const
	{
		if (marks(probe))
#pragma unroll
			for (int r = 0; r < R; r++)
				mark_key(probe, place.match[r], n[r]);
	}

	/* Rows of `on` that pass the filter of probe p, if it has one. */
	__device__ __forceinline__ uint32_t
	filter_of(const Place<R, Columns> &place, int p, const GpucolDeviceProbe &probe, uint32_t on)
	{
		if (probe.residual_end < probe.filter_end)
			on = P::filter_of(plan, p, place, reg, on);
		return probe.filter == GPUCOL_NO_REG ? on : on & reg.truths(probe.filter);
	}

	/*
	 * Rows of `tried` that meet one of their `n` rows of the table from place.match on, so
	 * that the residual is true; place.match becomes that row, or by the probe's order the first, or none.
	 * Where nothing but rows of the table is wanted, all that they meet are marked.
	 */
	__device__ __forceinline__ uint32_t
	meet(Place<R, Columns> &place, int p, const GpucolDeviceProbe &probe, const uint32_t *n, uint32_t tried)
	{
		const bool	all = probe.kind == GPUCOL_JOIN_RIGHT_SEMI || probe.kind == GPUCOL_JOIN_RIGHT_ANTI;
		FirstRow	best[R];
		uint32_t	first[R];
		uint32_t	met = 0;

#pragma unroll
		for (int r = 0; r < R; r++)
			first[r] = place.match[r];
		for (uint32_t i = 0;; i++)
		{
			uint32_t	now = 0;

#pragma unroll
			for (int r = 0; r < R; r++)
				if ((all || probe.norder > 0 ? tried : tried & ~met) >> r & 1 && i < n[r])
				{
					now |= 1u << r;
					place.match[r] = first[r] + i;
				}
			if (!__any_sync(GPUCOL_ALL_LANES, now != 0))
				break;
			now &= P::residual_of(plan, p, place, reg, now);
			now &= probe.residual == GPUCOL_NO_REG ? now : reg.truths(probe.residual);
#pragma unroll
			for (int r = 0; r < R; r++)
				if (probe.norder > 0 && now >> r & 1)
					best[r].take(probe, RowRegisters<R>{reg, r}, place.match[r], !(met >> r & 1));
			mark(place, probe, now);
			met |= now;
			if (probe.unique)
				break;
		}
#pragma unroll
		for (int r = 0; r < R; r++)
			place.match[r] = !(met >> r & 1) ? GPUCOL_LOOKUP_NONE : probe.norder > 0 ? best[r].row : place.match[r];
		return met;
	}

	/* Look up the keys of a batch: rows that have some, how many, and which keys are NULL. */
	__device__ __forceinline__ uint32_t
	look_up(Place<R, Columns> &place, const GpucolDeviceProbe &probe, uint32_t on, uint32_t *n, uint32_t *nulls)
	{
		uint32_t	there = 0;

		*nulls = 0;
#pragma unroll
		for (int r = 0; r < R; r++)
		{
			bool		null = false;
			uint32_t	number = on >> r & 1 ? find_keys<P>(plan, probe, RowRegisters<R>{reg, r}, &null) :
				GPUCOL_LOOKUP_NONE;

			n[r] = 0;
			place.match[r] = GPUCOL_LOOKUP_NONE;
			if (number != GPUCOL_LOOKUP_NONE)
				place.match[r] = rows_of_number(probe, number, &n[r]);
			there |= (uint32_t) (n[r] > 0) << r;
			*nulls |= (uint32_t) null << r;
		}
		return there;
	}

	/* Of a batch's rows `on`, those that probe p hands on. */
	__device__ __forceinline__ uint32_t
	probe_rows(Place<R, Columns> &place, int p, const GpucolDeviceProbe &probe, uint32_t on)
	{
		uint32_t	n[R];
		uint32_t	nulls;
		uint32_t	met;

		on = P::keys_of(plan, p, place, reg, on);
		met = look_up(place, probe, on, n, &nulls);
		place.probe = p;
		if (probe.residual != GPUCOL_NO_REG || probe.norder > 0)
			met = meet(place, p, probe, n, met);
		else
			mark_keys(place, probe, n);
		switch (probe.kind)
		{
			case GPUCOL_JOIN_LEFT:
			case GPUCOL_JOIN_FULL:
				return on;
			case GPUCOL_JOIN_RIGHT_SEMI:
			case GPUCOL_JOIN_RIGHT_ANTI:
				return 0;
			case GPUCOL_JOIN_ANTI:
				return on & ~met;
			case GPUCOL_JOIN_NOT_IN:
				return probe.has_null ? 0 : probe.nrows == 0 ? on : on & ~met & ~nulls;
			default:
				return on & met;
		}
	}

	/* Leave the rows in the list that probe p hands on; none of them multiplies. */
	__device__ __forceinline__ void
	probe_list(Place<R, Columns> &place, int p, const GpucolDeviceProbe &probe)
	{
		RowList		passed = {list.rows, 0, false};
		uint32_t	handed_on = 0;

		for (uint32_t i = 0; i < list.n; i += 32 * R)
		{
			uint32_t	on = take_rows(i, place);

			__syncwarp();
			on = probe_rows(place, p, probe, on);
			handed_on += warp_rows(on);
			keep(place, probe, filter_of(place, p, probe, on), &passed);
		}
		count(p, list.n, handed_on);
		list = passed;
	}

	/* Save a batch's rows that have pairs. */
	__device__ __forceinline__ void
	save_rows(const Place<R, Columns> &place, const GpucolDeviceProbe &probe, const uint32_t *n, SavedRows *to)
	{
		int			before = probe.nslots - (probe.slot >= 0);
		uint32_t	at = to->n;
		unsigned long long pairs = to->npairs;

		__syncwarp();
#pragma unroll
		for (int r = 0; r < R; r++)
		{
			uint32_t	w = __ballot_sync(GPUCOL_ALL_LANES, n[r] > 0);
			uint32_t	mine = at + __popc(w & ((1u << lane) - 1));
			unsigned long long sum = n[r];

			for (int d = 1; d < 32; d *= 2)
			{
				unsigned long long other = __shfl_up_sync(GPUCOL_ALL_LANES, sum, d);

				sum += lane >= d ? other : 0;
			}
			if (n[r] > 0)
			{
				to->starts[mine] = pairs + sum - n[r];
				to->row[mine] = place.row[r];
				to->first[mine] = place.match[r];
				for (int s = 0; s < before; s++)
					to->match[s * GPUCOL_VECTOR_VALUES + mine] =
						matches()[s * GPUCOL_VECTOR_VALUES + place.at + r * 32];
			}
			at += __popc(w);
			pairs += __shfl_sync(GPUCOL_ALL_LANES, sum, 31);
		}
		if (lane == 0)
		{
			to->n = at;
			to->npairs = pairs;
		}
		__syncwarp();
	}

	/* Of a batch at a probe that keeps rows, those that make no pair make one with no row of the table. */
	__device__ __forceinline__ void
	keep_unmet(Place<R, Columns> &place, int p, const GpucolDeviceProbe &probe, uint32_t on, uint32_t met, uint32_t *n)
	{
		uint32_t	first[R];

#pragma unroll
		for (int r = 0; r < R; r++)
			first[r] = place.match[r];
		place.probe = p;
		if (probe.residual != GPUCOL_NO_REG)
			met = meet(place, p, probe, n, met);
#pragma unroll
		for (int r = 0; r < R; r++)
		{
			place.match[r] = met >> r & 1 ? first[r] : GPUCOL_LOOKUP_NONE;
			n[r] = met >> r & 1 ? n[r] : on >> r & 1;
		}
	}

	/* Save the list at probe p, where its rows multiply. */
	__device__ __forceinline__ void
	open_pairs(Place<R, Columns> &place, int p, const GpucolDeviceProbe &probe)
	{
		SavedRows  *to = saved(probe);

		if (lane == 0)
		{
			to->next = to->npairs = 0;
			to->n = 0;
		}
		__syncwarp();
		for (uint32_t i = 0; i < list.n; i += 32 * R)
		{
			uint32_t	on = P::keys_of(plan, p, place, reg, take_rows(i, place));
			uint32_t	n[R];
			uint32_t	nulls;
			uint32_t	there = look_up(place, probe, on, n, &nulls);

			if (probe.residual == GPUCOL_NO_REG)
				mark_keys(place, probe, n);
			if (keeps_rows(probe))
				keep_unmet(place, p, probe, on, there, n);
			save_rows(place, probe, n, to);
		}
		count(p, list.n, 0);
		open |= to->npairs > 0 ? 1u << p : 0;
		list.n = 0;
	}

	/* List the next pairs that were saved at a probe. */
	__device__ __forceinline__ void
	list_pairs(int p, const GpucolDeviceProbe &probe)
	{
		SavedRows  *from = saved(probe);
		unsigned long long next = from->next;
		uint32_t	n = (uint32_t) min(from->npairs - next, (unsigned long long) GPUCOL_VECTOR_VALUES);

		for (uint32_t i = lane; i < n; i += 32)
		{
			uint32_t	row = from->row_of_pair(next + i);

			list.rows[i] = from->row[row];
			for (int s = 0; s < probe.nslots; s++)
				matches()[s * GPUCOL_VECTOR_VALUES + i] = s != probe.slot ?
					from->match[s * GPUCOL_VECTOR_VALUES + row] :
					from->first[row] == GPUCOL_LOOKUP_NONE ? GPUCOL_LOOKUP_NONE :
					from->first[row] + (uint32_t) (next + i - from->starts[row]);
		}
		list.n = n;
		list.all = false;
		__syncwarp();
		if (lane == 0)
			from->next = next + n;
		__syncwarp();
		if (from->next >= from->npairs || is_cancelled(plan.scan))
			open &= ~(1u << p);
	}

	/* The next pairs that were saved at probe p, as far as they pass its conditions. */
	__device__ __forceinline__ void
	next_pairs(Place<R, Columns> &place, int p, const GpucolDeviceProbe &probe)
	{
		RowList		passed = {list.rows, 0, false};
		uint32_t	handed_on = 0;

		list_pairs(p, probe);
		if (probe.keys_end == probe.filter_end && probe.residual == GPUCOL_NO_REG && probe.filter == GPUCOL_NO_REG)
		{
			count(p, 0, list.n);
			return;
		}
		for (uint32_t i = 0; i < list.n; i += 32 * R)
		{
			uint32_t	on = take_rows(i, place);

			place.probe = p;
#pragma unroll
			for (int r = 0; r < R; r++)
				place.match[r] = probe.slot < 0 ? GPUCOL_LOOKUP_NONE :
					matches()[probe.slot * GPUCOL_VECTOR_VALUES + place.at + r * 32];
			__syncwarp();
			if (probe.residual != GPUCOL_NO_REG)
			{
				uint32_t	unmet = 0;

#pragma unroll
				for (int r = 0; r < R; r++)
					unmet |= (uint32_t) (keeps_rows(probe) && place.match[r] == GPUCOL_LOOKUP_NONE) << r;
				unmet &= on;
				on = (P::residual_of(plan, p, place, reg, on & ~unmet) & ~unmet & reg.truths(probe.residual)) | unmet;
				mark(place, probe, on & ~unmet);
			}
			handed_on += warp_rows(on);
			keep(place, probe, filter_of(place, p, probe, on), &passed);
		}
		count(p, 0, handed_on);
		list = passed;
	}

	/* Use the rows that all probes have handed on; `out` is the number of the first of them. */
	__device__ __forceinline__ void
	take_joined(Place<R, Columns> &place, unsigned long long *out, unsigned long long number)
	{
		uint32_t	n = list.n;

		if (MODE != MODE_SELECT)
			run_list(place, *out, number);
		*out += n;
	}

	/* Take the list through probes from p on, as far as it goes; true: to their end. */
	__device__ __forceinline__ bool
	run_probes(Place<R, Columns> &place, int from)
	{
		bool		opened = false;

#pragma unroll P::UNROLL
		for (int p = 0; p < P::nprobes(plan); p++)
		{
			const GpucolDeviceProbe &probe = P::probe(plan, p);

			if (p < from || opened || list.n == 0)
				continue;
			opened = P::expands(plan) && probe.expands;
			if (opened)
				open_pairs(place, p, probe);
			else
				probe_list(place, p, probe);
		}
		return !opened && list.n > 0;
	}

	/* Take the list through the probes behind `last`, and use what comes out; the number of these rows. */
	__device__ __forceinline__ unsigned long long
	join_list(Place<R, Columns> &place, int last, unsigned long long out, unsigned long long number)
	{
		const unsigned long long start = out;

		for (;;)
		{
			if (run_probes(place, last + 1))
				take_joined(place, &out, number);
			if (!P::expands(plan) || open == 0)
				break;
			last = 31 - __clz(open);
#pragma unroll P::UNROLL
			for (int p = 0; p < P::nprobes(plan); p++)
				if (p == last)
					next_pairs(place, p, P::probe(plan, p));
		}
		return out - start;
	}

	/* List rows of a vector of the table of the probe whose rows the scan is of. */
	__device__ __forceinline__ void
	list_tail(Place<R, Columns> &place, int p, const GpucolDeviceProbe &probe)
	{
		RowList		passed = {list.rows, 0, false};

		list.set(delivered_mask(probe, place.vector, lane), lane);
		count(p, 0, list.n);
		for (int s = 0; s < probe.nslots; s++)
			for (uint32_t i = lane; i < list.n; i += 32)
				matches()[s * GPUCOL_VECTOR_VALUES + i] = GPUCOL_LOOKUP_NONE;
		for (uint32_t i = 0; i < list.n; i += 32 * R)
		{
			uint32_t	on = take_rows(i, place);

			place.probe = p;
#pragma unroll
			for (int r = 0; r < R; r++)
				place.match[r] = place.vector * GPUCOL_VECTOR_VALUES + place.row[r];
			__syncwarp();
			keep(place, probe, filter_of(place, p, probe, on), &passed);
		}
		list = passed;
	}

	/* Add the warp's figures of probes to all. */
	__device__ __forceinline__ void
	deliver_figures() const
	{
		if (lane >= P::nprobes(plan) || MODE == MODE_EMIT)
			return;
		atomicAdd(plan.figures + 2 * lane, reached);
		atomicAdd(plan.figures + 2 * lane + 1, found);
	}

	/* ---- vectors ---- */

	/* Match bitmap of a vector, and the number of its matches. */
	__device__ __forceinline__ void
	select(Place<R, Columns> &place, uint32_t mask, size_t number)
	{
		uint32_t	word = 0,
					matches = 0;

#pragma unroll 1
		for (int p = 0; p < 32; p += R)
		{
			uint32_t	on = mask >> p & Registers<R>::ALL;

			if (!__any_sync(GPUCOL_ALL_LANES, on != 0))
				continue;
#pragma unroll
			for (int r = 0; r < R; r++)
				place.row[r] = (p + r) * 32 + lane;
			on = filter(place, on);
#pragma unroll
			for (int r = 0; r < R; r++)
			{
				uint32_t	w = __ballot_sync(GPUCOL_ALL_LANES, on >> r & 1);

				if (lane == p + r)
					word = w;
				matches += __popc(w);
			}
		}
		plan.bitmap[number * 32 + lane] = word;
		if (lane == 0)
			plan.counts[number] = matches;
	}

	/* Deliver one row as number `at` of the result. */
	__device__ __forceinline__ void
	emit(const RowRegisters<R> &row, unsigned long long at, unsigned long long number)
	{
		plan.rows[at] = number;
#pragma unroll P::UNROLL
		for (int i = 0; i < P::noutputs(plan); i++)
		{
			const GpucolInterpOutput o = P::output(plan, i);
			bool		null = row.null(o.reg);

			if (o.cls == GPUCOL_CLASS_D)
			{
				o.values[2 * at] = null ? 0 : row.v(o.reg);
				o.values[2 * at + 1] = null ? 0 : row.high(o.reg);
			}
			else
				o.values[at] = null ? 0 : row.v(o.reg);
			o.nulls[at] = null;
		}
	}

	/* Greatest and least exponents of what sums of floats add up. */
	__device__ __forceinline__ void
	advance_exponents(uint32_t on)
	{
#pragma unroll P::UNROLL
		for (int i = 0; i < P::naccs(plan); i++)
		{
			const GpucolAcc acc = P::acc(plan, i);

			if (acc.op != GPUCOL_ACC_SUM_F && acc.op != GPUCOL_ACC_SQUARE_F)
				continue;
#pragma unroll
			for (int r = 0; r < R; r++)
				if (on & ~reg.nulls[acc.arg] & 1u << r)
				{
					unsigned long long e = reg.v[acc.arg][r] >> 52 & 0x7ff;

					if (e != 0x7ff && e > total[i])
						total[i] = e;
					if (reg.v[acc.arg][r] << 1 != 0 && 0x7ff - e > total[P::naccs(plan) + i])
						total[P::naccs(plan) + i] = 0x7ff - e;
				}
		}
	}

	/* Totals of the lane's rows; counts and sums of integers add them up first. */
	__device__ __forceinline__ void
	advance_totals(const Place<R, Columns> &place, uint32_t on)
	{
#pragma unroll P::UNROLL
		for (int i = 0; i < P::naccs(plan); i++)
		{
			const GpucolAcc acc = P::acc(plan, i);
			uint32_t	rows = on;

			if (acc.filter != GPUCOL_NO_REG)
				rows &= reg.truths(acc.filter);
			if (acc.arg != GPUCOL_NO_REG)
				rows &= ~reg.nulls[acc.arg];
			if (acc.op == GPUCOL_ACC_COUNT)
				total[acc.word] += __popc(rows);
			else if (acc.op == GPUCOL_ACC_SUM_I)
			{
				unsigned long long low = 0;
				long long	high = 0;

#pragma unroll
				for (int r = 0; r < R; r++)
				{
					int64_t		x = rows >> r & 1 ? reg.v[acc.arg][r] : 0;

					low += (uint32_t) x;
					high += x >> 32;
				}
				total[acc.word] += low;
				total[acc.word + 1] += (unsigned long long) high;
			}
			else
#pragma unroll 1
				for (int r = 0; r < R; r++)
				{
					Words		words;
					int			status = words_of_row(plan, i, acc, RowRegisters<R>{reg, r}, rows >> r & 1, 0, words);

					if (status != GPUCOL_OK)
						report(plan, status == GPUCOL_OUT_OF_MEMORY ? 0 : place.first + place.row[r], status);
					for (int j = 0; j < words.n; j++)
						total[acc.word + j] = combine(words.kind, total[acc.word + j], words.w[j]);
				}
		}
	}

	/* Run the instructions after the filter for the list, and use what they give;
	 * `out` is the result's number of the first row. */
	__device__ __forceinline__ void
	run_list(Place<R, Columns> &place, unsigned long long out, unsigned long long number)
	{
		for (uint32_t i = 0; i < list.n; i += 32 * R)
		{
			uint32_t	on = P::rest(plan, place, reg, take_rows(i, place));

			if (MODE == MODE_EXPONENTS)
				advance_exponents(on);
			else if (MODE == MODE_AGGREGATE && ungrouped)
				advance_totals(place, on);
			else
#pragma unroll 1
				for (int r = 0; r < R; r++)
					if (MODE == MODE_AGGREGATE)
						advance_groups<P>(plan, RowRegisters<R>{reg, r}, on >> r & 1, place.first + place.row[r]);
					else if (on >> r & 1)
						emit(RowRegisters<R>{reg, r}, out + i + r * 32 + lane, number + place.row[r]);
			__syncwarp();
		}
	}

	/* Ask for the codes of the next vector of a run, lest its first instructions wait. */
	__device__ __forceinline__ void
	prefetch(const Run &run, uint32_t vector) const
	{
		const GpucolDeviceChunk *chunks = plan.scan.chunks + (size_t) run.segment * plan.scan.ncolumns;

		for (uint32_t c = 0; c < plan.scan.ncolumns; c++)
			if (c >= 64 || plan.prefetched >> c & 1)
				prefetch_vector(chunks[c], vector, lane);
	}

	/* One vector, `number` of the scan. */
	__device__ __forceinline__ void
	run_vector(const Run &run, const Columns &columns, uint32_t vector, size_t number, bool skip)
	{
		const GpucolScanPlan &scan = plan.scan;
		const int	tail = P::TAILS ? plan.tail : 0;
		Place<R, Columns> place = {columns, vector, (number + (tail > 0 ? plan.tail_start : 0)) * GPUCOL_VECTOR_VALUES,
			{}, matches(), 0, -1, {}};
		unsigned long long out = 0;
		unsigned long long row = (unsigned long long) scan.segments[run.segment].number << 32 |
			vector * GPUCOL_VECTOR_VALUES;
		uint32_t	mask;

		if (P::nprobes(plan) > 0)
		{
			unsigned long long n;

			if (tail > 0)
				list_tail(place, tail - 1, P::probe(plan, tail - 1));
			else
			{
				list.set(skip ? 0 : vector_mask(scan, run, vector, lane), lane);
				if (P::filters(plan))
					filter_list(place);
			}
			n = join_list(place, tail - 1, MODE == MODE_EMIT ? plan.counts[number] : 0, row);
			if (MODE == MODE_SELECT && lane == 0)
				plan.counts[number] = n;
			return;
		}
		if (MODE == MODE_EMIT)
		{
			mask = warp_transpose(__ldg(plan.bitmap + number * 32 + lane), lane);
			out = plan.counts[number];
		}
		else
			mask = skip ? 0 : vector_mask(scan, run, vector, lane);
		if (MODE == MODE_SELECT)
		{
			select(place, mask, number);
			return;
		}
		list.set(mask, lane);
		if (MODE != MODE_EMIT && P::filters(plan))
			filter_list(place);
		run_list(place, out, row);
	}

	/* Add the warp's totals to the table's. */
	__device__ __forceinline__ void
	deliver_totals()
	{
#pragma unroll P::UNROLL
		for (int i = 0; i < P::naccs(plan); i++)
		{
			const GpucolAcc acc = P::acc(plan, i);
			Words		words;

			if (MODE == MODE_EXPONENTS)
			{
				for (int j = i; j < 2 * P::naccs(plan); j += P::naccs(plan))
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
};

/* A kernel's work: program P over the plan's rows. */
template <int MODE, class P>
__device__ __forceinline__ void
interp_run(const GpucolInterpPlan &plan)
{
	constexpr bool LISTS = MODE != MODE_SELECT || P::PROBES;
	__shared__ uint16_t rows[LISTS ? GPUCOL_INTERP_THREADS / 32 : 1][GPUCOL_VECTOR_VALUES];
	const GpucolScanPlan &scan = plan.scan;
	uint32_t	warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	ProgramWarp<MODE, P> work(plan, rows[LISTS ? threadIdx.x / 32 : 0]);

	if (work.ungrouped)
		work.clear_totals();
	P::start(plan, work.reg);
	for (uint32_t number = warp; number < scan.nruns; number += warps)
	{
		Run			run = find_run(scan, number);
		uint32_t	base = scan.vector_start[run.segment];
		typename P::Columns columns(scan.chunks + (size_t) run.segment * scan.ncolumns);
		uint32_t	skip;

		/* most runs have no rows where few are wanted */
		if (MODE == MODE_EMIT && (size_t) base + run.first + run.n < scan.nvectors &&
			plan.counts[(size_t) base + run.first] == plan.counts[(size_t) base + run.first + run.n])
			continue;
		skip = skipped_by_zones(scan, run, work.lane);
		for (uint32_t v = 0; v < run.n; v++)
		{
			if ((MODE != MODE_EMIT || P::nprobes(plan) > 0) && v + 1 < run.n && !(skip >> (v + 1) & 1))
				work.prefetch(run, run.first + v + 1);
			work.run_vector(run, columns, run.first + v, (size_t) base + run.first + v, skip >> v & 1);
		}
		if (is_cancelled(scan))
			break;
	}
	__syncwarp();
	if (work.ungrouped)
		work.deliver_totals();
	work.deliver_figures();
}

#endif
