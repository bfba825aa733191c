/*-------------------------------------------------------------------------
 *
 * table_build.cu
 *	  Rows that become a table.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/table_build.cuh"

#include <algorithm>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "cuda/base/launch.cuh"
#include "cuda/base/stage.cuh"
#include "cuda/query/row_search.cuh"

/* As the CPU engine: bits that a table may always have, and for each row. */
static const uint64_t DENSE_WORDS = (uint64_t) 1 << 25;
static const uint64_t DENSE_WORDS_PER_ROW = 64;

static const char *const WHAT = "a table of joined rows";

/* ---- kernels ---- */

/* Has a row no NULL among its keys? */
__device__ __forceinline__ bool
has_keys(const BuildRows &rows, uint64_t row)
{
	for (uint32_t k = 0; k < rows.nkeys; k++)
		if (rows.columns[k].nulls[row])
			return false;
	return true;
}

/*
 * Facts of a column over rows that have keys, and behind those of all columns over all rows; *kept:
 * rows that have keys.
 */
__global__ void
learn_kernel(const __grid_constant__ BuildRows rows, BuildFacts *facts, unsigned long long *kept)
{
	const BuildColumn &column = rows.columns[blockIdx.y % rows.ncolumns];
	const bool	all = blockIdx.y >= rows.ncolumns;
	long long	least = INT64_MAX,
				greatest = INT64_MIN;
	bool		nulls = false,
				wide = false;
	uint32_t	n = 0;

	GPUCOL_FOR_EACH(row, rows.n)
	{
		if (!all && !has_keys(rows, row))
			continue;
		n++;
		if (column.nulls[row])
		{
			nulls = true;
			continue;
		}

		long long	value = (long long) column.values[row * column.stride];

		least = min(least, value);
		greatest = max(greatest, value);
		wide |= column.stride > 1 && (long long) column.values[row * column.stride + 1] != value >> 63;
	}
	if (n > 0 && blockIdx.y == 0)
		atomicAdd(kept, (unsigned long long) n);
	if (n == 0)
		return;
	if (least <= greatest)
	{
		atomicMin(&facts[blockIdx.y].least, least);
		atomicMax(&facts[blockIdx.y].greatest, greatest);
	}
	if (nulls)
		facts[blockIdx.y].nulls = 1;
	if (wide)
		facts[blockIdx.y].wide = 1;
}

__device__ __forceinline__ uint64_t
word_of(const BuildRows &rows, uint64_t row)
{
	uint64_t	word = 0;

	for (uint32_t k = 0; k < rows.nkeys; k++)
		word |= ((uint64_t) rows.columns[k].values[row * rows.columns[k].stride] - (uint64_t) rows.least[k])
			<< rows.shift[k];
	return word;
}

__global__ void
bits_kernel(const __grid_constant__ BuildRows rows, unsigned long long *bits)
{
	GPUCOL_FOR_EACH(row, rows.n)
		if (has_keys(rows, row))
		{
			uint64_t	word = word_of(rows, row);

			atomicOr(bits + (word >> 6), 1ull << (word & 63));
		}
}

__global__ void
count_kernel(const unsigned long long *bits, uint64_t n, uint32_t *counts)
{
	GPUCOL_FOR_EACH(i, n)
		counts[i] = __popcll(bits[i]);
}

/* Numbers of the rows' keys. */
__global__ void
number_kernel(const __grid_constant__ BuildRows rows, const unsigned long long *bits, const uint32_t *before,
			  uint32_t *numbers)
{
	GPUCOL_FOR_EACH(row, rows.n)
	{
		uint64_t	word = has_keys(rows, row) ? word_of(rows, row) : UINT64_MAX;

		numbers[row] = word == UINT64_MAX ? GPUCOL_LOOKUP_NONE :
			before[word >> 6] + __popcll(bits[word >> 6] & ((1ull << (word & 63)) - 1));
	}
}

__global__ void
rows_kernel(uint32_t *rows, uint64_t n)
{
	GPUCOL_FOR_EACH(i, n)
		rows[i] = (uint32_t) i;
}

/* Of rows ordered by number, the first of which are the table's: their places, and where numbers begin (or NULL). */
__global__ void
ordered_kernel(const uint32_t *numbers, const uint32_t *rows, uint64_t n, const GpucolWireLookup table,
			   uint32_t *first, uint32_t *places)
{
	GPUCOL_FOR_EACH(i, n)
	{
		places[rows[i]] = i < table.nrows ? (uint32_t) i : GPUCOL_LOOKUP_NONE;
		if (first != NULL && i < table.nkeyed && (i == 0 || numbers[i] != numbers[i - 1]))
			first[numbers[i]] = (uint32_t) i;
	}
}

/* Write a column of the table. */
__global__ void
write_kernel(const BuildColumn column, uint64_t n, const uint32_t *places, int64_t reference, int width, char *values,
			 uint8_t *nulls)
{
	GPUCOL_FOR_EACH(row, n)
	{
		uint32_t	at = places[row];
		bool		null = column.nulls[row];
		uint64_t	value = null ? 0 : column.values[row * column.stride] - (uint64_t) reference;

		if (at == GPUCOL_LOOKUP_NONE)
			continue;
		if (width == 1)
			((uint8_t *) values)[at] = (uint8_t) value;
		else if (width == 2)
			((uint16_t *) values)[at] = (uint16_t) value;
		else if (width == 4)
			((uint32_t *) values)[at] = (uint32_t) value;
		else
			((uint64_t *) values)[at] = value;
		if (nulls != NULL)
			nulls[at] = null;
	}
}

/* ---- steps ---- */

template <class T> T *
TableBuild::array(size_t n)
{
	return c_.device.scratch().array<T>(n + 1, WHAT);
}

void
TableBuild::clear(void *p, int byte, size_t size)
{
	device_check(cudaMemsetAsync(p, byte, size, c_.device.stream()), "memset");
}

/* Find the rows and compute their outputs; how many they are. */
uint64_t
TableBuild::find_rows(Partial *result)
{
	uint64_t	n = RowSearch(c_, program_).run();
	std::vector<GpucolInterpOutput> outputs;

	program_.put_figures(result);
	rows_.n = n;
	rows_.nkeys = c_.program.head().njoin_keys;
	rows_.ncolumns = c_.program.head().nkeys;
	if (n >= GPUCOL_LOOKUP_NONE / 2)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "more rows than a table of the device has"};
	if (n == 0)
		return 0;
	outputs = program_.set_outputs(n, WHAT);
	program_.run(MODE_EMIT);
	gpucol_interp_check(c_.device.download(program_.plan.error, 1)[0]);
	for (uint32_t c = 0; c < rows_.ncolumns; c++)
		rows_.columns[c] = {outputs[c].values, outputs[c].nulls, outputs[c].cls == GPUCOL_CLASS_D ? 2u : 1u,
			outputs[c].cls != GPUCOL_CLASS_F};
	return n;
}

/* What the columns' values are. */
void
TableBuild::learn()
{
	BuildFacts	none = {INT64_MAX, INT64_MIN, 0, 0};
	BuildFacts *facts;
	unsigned long long *kept;
	uint32_t	nfacts = keeps_ ? 2 * rows_.ncolumns : rows_.ncolumns;
	dim3		grid(std::min(gpucol_launch_grid(rows_.n), 1024u), nfacts);

	facts_.assign(nfacts, none);
	if (rows_.n == 0)
		return;
	facts = c_.device.upload(facts_);
	kept = c_.device.upload(std::vector<unsigned long long>(1, 0));
	learn_kernel<<<grid, GPUCOL_THREADS, 0, c_.device.stream()>>>(rows_, facts, kept);
	device_check(cudaGetLastError(), "build");
	facts_ = c_.device.download(facts, nfacts);
	head_.nkeyed = (uint32_t) c_.device.download(kept, 1)[0];
	head_.nrows = keeps_ ? (uint32_t) rows_.n : head_.nkeyed;
	head_.has_null = head_.nkeyed < rows_.n;
	gpucol_stage(c_.device.stream(), "rows of a table known");
}

/* Where the codes of keys lie in words. */
void
TableBuild::plan_keys()
{
	int			bits = 0;

	for (uint32_t k = 0; k < rows_.nkeys; k++)
	{
		GpucolWireLookupKey key = {};
		int			more;

		if (facts_[k].wide)
			throw unsupported("a key of more than 64 bits");
		if (head_.nkeyed > 0)
		{
			key.least = facts_[k].least;
			key.range = (uint64_t) facts_[k].greatest - (uint64_t) facts_[k].least;
		}
		more = key.range == 0 ? 0 : 64 - __builtin_clzll(key.range);
		key.shift = bits < 64 ? bits : 0;
		bits += more;
		if (bits > 63)
			throw unsupported("keys that the host hashes");
		head_.greatest |= key.range << key.shift;
		rows_.least[k] = key.least;
		rows_.shift[k] = key.shift;
		keys_.push_back(key);
	}
	if (head_.greatest >= DENSE_WORDS && head_.greatest / DENSE_WORDS_PER_ROW >= head_.nkeyed)
		throw unsupported("keys that the host hashes");
	head_.dense = 1;
	head_.unique = head_.nkeyed == 0;
}

/* A bit for each word, and how many are before each 64. */
void
TableBuild::set_bits()
{
	uint64_t	blocks = head_.greatest / 64 + 1;
	uint32_t   *counts = array<uint32_t>(blocks);
	size_t		bytes = 0;

	bits_ = array<unsigned long long>(blocks);
	before_ = array<uint32_t>(blocks);
	clear(bits_, 0, blocks * sizeof(*bits_));
	bits_kernel<<<gpucol_launch_grid(rows_.n), GPUCOL_THREADS, 0, c_.device.stream()>>>(rows_, bits_);
	count_kernel<<<gpucol_launch_grid(blocks), GPUCOL_THREADS, 0, c_.device.stream()>>>(bits_, blocks, counts);
	device_check(cudaGetLastError(), "build");
	device_check(cub::DeviceScan::ExclusiveSum(NULL, bytes, counts, before_, (int) blocks, c_.device.stream()), "scan");
	device_check(cub::DeviceScan::ExclusiveSum(array<char>(bytes), bytes, counts, before_, (int) blocks,
											   c_.device.stream()), "scan");
	head_.ndistinct = c_.device.download(before_ + blocks - 1, 1)[0] + c_.device.download(counts + blocks - 1, 1)[0];
	head_.unique = head_.ndistinct == head_.nkeyed;
	head_.gapless = head_.ndistinct - (uint64_t) 1 == head_.greatest;
	gpucol_stage(c_.device.stream(), "bits of a table");
}

/* Places of rows some of which have equal keys, or a NULL key. */
void
TableBuild::place_ordered(const uint32_t *numbers)
{
	uint32_t   *ordered = array<uint32_t>(rows_.n);
	uint32_t   *from = array<uint32_t>(rows_.n);
	uint32_t   *rows = array<uint32_t>(rows_.n);
	uint32_t	end = head_.nkeyed;
	size_t		bytes = 0;

	rows_kernel<<<gpucol_launch_grid(rows_.n), GPUCOL_THREADS, 0, c_.device.stream()>>>(from, rows_.n);
	device_check(cub::DeviceRadixSort::SortPairs(NULL, bytes, numbers, ordered, from, rows, (int) rows_.n, 0, 32,
												 c_.device.stream()), "sort");
	device_check(cub::DeviceRadixSort::SortPairs(array<char>(bytes), bytes, numbers, ordered, from, rows,
												 (int) rows_.n, 0, 32, c_.device.stream()), "sort");
	if (!head_.unique)
	{
		first_ = array<uint32_t>(head_.ndistinct + 1);
		device_check(cudaMemcpyAsync(first_ + head_.ndistinct, &end, sizeof(end), cudaMemcpyHostToDevice,
									 c_.device.stream()), "build");
	}
	ordered_kernel<<<gpucol_launch_grid(rows_.n), GPUCOL_THREADS, 0, c_.device.stream()>>>(ordered, rows, rows_.n,
																						  head_, first_, places_);
	device_check(cudaGetLastError(), "build");
	c_.device.wait();
}

/* Each row's place in the table. */
void
TableBuild::place_rows()
{
	uint32_t   *numbers = array<uint32_t>(rows_.n);

	places_ = numbers;
	if (head_.nkeyed == 0)
		rows_kernel<<<gpucol_launch_grid(rows_.n), GPUCOL_THREADS, 0, c_.device.stream()>>>(places_, rows_.n);
	else
		number_kernel<<<gpucol_launch_grid(rows_.n), GPUCOL_THREADS, 0, c_.device.stream()>>>(rows_, bits_,
																							 before_, numbers);
	device_check(cudaGetLastError(), "build");
	if (head_.nkeyed == 0 || (head_.unique && head_.nrows == head_.nkeyed))
		return;
	places_ = array<uint32_t>(rows_.n);
	place_ordered(numbers);
	gpucol_stage(c_.device.stream(), "rows of a table ordered");
}

/* Frames and widths of the columns. */
void
TableBuild::plan_columns()
{
	for (uint32_t c = 0; c < rows_.ncolumns; c++)
	{
		GpucolWireLookupColumn column = {};
		const BuildFacts &facts = facts_[keeps_ ? rows_.ncolumns + c : c];
		bool		some = facts.least <= facts.greatest;
		uint64_t	range = some ? (uint64_t) facts.greatest - (uint64_t) facts.least : 0;

		if (facts.wide)
			throw unsupported("decimals of a joined table that exceed 64 bits");
		column.cls = (uint8_t) c_.program.key_class(c);
		column.has_nulls = facts.nulls != 0;
		column.width = 8;
		if (column.cls != GPUCOL_CLASS_F)
		{
			column.reference = some ? facts.least : 0;
			column.width = range <= UINT8_MAX ? 1 : range <= UINT16_MAX ? 2 : range <= UINT32_MAX ? 4 : 8;
		}
		columns_.push_back(column);
	}
}

/* Lay the table out, and fill it. */
void
TableBuild::write(BuiltTable *table)
{
	uint64_t	sizes[GPUCOL_LOOKUP_ARRAYS];
	const void *arrays[GPUCOL_LOOKUP_ARRAYS] = {first_, bits_, before_, NULL, NULL};
	auto		append = [table] (const void *p, size_t size) {
		table->description.insert(table->description.end(), (const char *) p, (const char *) p + size);
	};
	LookupTable layout;

	gpucol_wire_lookup_sizes(&head_, sizes);
	for (uint64_t size : sizes)
		table->bytes += GPUCOL_WIRE_PADDED(size, 1);
	for (const GpucolWireLookupColumn &c : columns_)
		table->bytes += GPUCOL_WIRE_PADDED(head_.nrows, c.width) +
			(c.has_nulls ? GPUCOL_WIRE_PADDED(head_.nrows, 1) : 0);
	append(&head_, sizeof(head_));
	append(keys_.data(), keys_.size() * sizeof(keys_[0]));
	append(columns_.data(), columns_.size() * sizeof(columns_[0]));
	layout = gpucol_lookup_check(table->description.data(), table->description.size(), table->bytes);
	if (table->bytes == 0)
		return;
	table->data = table->memory.array<char>(table->bytes, WHAT);
	for (int i = 0; i < GPUCOL_LOOKUP_ARRAYS; i++)
		if (sizes[i] > 0)
			device_check(cudaMemcpyAsync(table->data + layout.arrays[i], arrays[i], sizes[i], cudaMemcpyDeviceToDevice,
										 c_.device.stream()), "build");
	for (uint32_t c = 0; c < rows_.ncolumns; c++)
		write_kernel<<<gpucol_launch_grid(rows_.n), GPUCOL_THREADS, 0, c_.device.stream()>>>
			(rows_.columns[c], rows_.n, places_, columns_[c].reference, columns_[c].width,
			 table->data + layout.columns[c].values,
			 columns_[c].has_nulls ? (uint8_t *) table->data + layout.columns[c].nulls : NULL);
	device_check(cudaGetLastError(), "build");
}

void
TableBuild::run(Partial *result)
{
	auto		table = std::make_shared<BuiltTable>(c_.device.lane().device(), c_.task.run.head().memory_limit);
	cudaEvent_t e;

	if (!c_.task.deal.alone() || devices.size() > 1)
		throw unsupported("a table of columns that are on several devices, or come in parts");
	find_rows(result);
	e = c_.device.mark();
	head_.nkeys = (uint16_t) rows_.nkeys;
	head_.ncolumns = (uint16_t) rows_.ncolumns;
	learn();
	plan_keys();
	if (head_.nkeyed > 0)
		set_bits();
	if (head_.nrows > 0)
		place_rows();
	plan_columns();
	write(table.get());
	c_.device.finish(e);
	result->kernel = "table";
	result->nrows = 1;
	result->data = table->description;
	c_.task.tables.put(c_.task.run.head().table, table);
}
