/*-------------------------------------------------------------------------
 *
 * result_layout.cuh
 *	  Where the arrays of a result lie (GpucolWireResult in src/service/protocol.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RESULT_LAYOUT_CUH
#define GPUCOL_CUDA_RESULT_LAYOUT_CUH

#include <cstring>
#include <vector>

#include "cuda/query/program_view.cuh"

/* The arrays of a result. */
struct ResultLayout
{
	struct Column
	{
		int			width;		/* words of 8 bytes a row */
		size_t		values;		/* offsets in the data */
		size_t		nulls;
	};
	std::vector<Column> columns;
	size_t		rows = 0;		/* SCAN: offset of the row numbers */
	size_t		states = 0;		/* AGG */
	size_t		size = 0;

	ResultLayout(const GpucolProgram *p, uint64_t n)
	{
		if (p->kind == GPUCOL_PROGRAM_SCAN)
			size += n * 8;
		for (int k = 0; k < p->nkeys; k++)
		{
			Column		c = {ProgramView(p).key_width(k), size, 0};

			size += n * 8 * c.width;
			c.nulls = size;
			size += (n + 7) / 8 * 8;
			columns.push_back(c);
		}
		states = size;
		if (p->kind == GPUCOL_PROGRAM_AGG)
			size += n * p->naggs * sizeof(GpucolAggState);
	}
};

/* Copy row `from` of a result to row `to` of another. */
static inline void
gpucol_result_copy_row(const ResultLayout &lf, const char *from, uint64_t i, const ResultLayout &lt, char *to,
					   uint64_t j)
{
	for (size_t k = 0; k < lf.columns.size(); k++)
	{
		size_t		w = 8 * lf.columns[k].width;

		memcpy(to + lt.columns[k].values + j * w, from + lf.columns[k].values + i * w, w);
		to[lt.columns[k].nulls + j] = from[lf.columns[k].nulls + i];
	}
}

#endif
