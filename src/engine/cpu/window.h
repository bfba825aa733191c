/*-------------------------------------------------------------------------
 *
 * window.h
 *	  What is mapped of the source at a time (window.c), and the raw bytes of it (raw.c, raw_stream.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_WINDOW_H
#define GPUCOL_ENGINE_CPU_WINDOW_H

#include "engine/cpu/cpu.h"

/* The values of a vector of raw bytes, while its window lasts: what they lie in, kept for the next window. */
struct GpucolCpuRawData
{
	char	   *memory;
	size_t		size;
	const int64_t *items;		/* elements of its arrays, with a byte for */
	const uint8_t *nulls;		/* each that says whether it is NULL, or NULL */
};

/* Word rows of a stream that threads read: mapped, or copied where the source does not lend so many. */
typedef struct GpucolCpuHeld
{
	GpucolRows	rows;
	bool		mapped;
	bool		lent;			/* whoever reads a page verifies it before */
	uint32_t	nrows;
	void	   *memory;			/* copied */
	const char **pages;
} GpucolCpuHeld;

/* Of a column of raw bytes: the streams of a window by vector, and the blocks of its vectors. */
#define GPUCOL_CPU_RAW_STREAMS 3
struct GpucolCpuRawRows
{
	GpucolCpuHeld streams[GPUCOL_CPU_RAW_STREAMS];
	GpucolCpuHeld *pieces;		/* of DATA or ITEMS: of vectors that follow one another */
	uint32_t	npieces;
	uint32_t	room;			/* vectors of a window: the most pieces, too */
	uint16_t   *piece;			/* by vector of the window */
};

/* ---- window.c ---- */

/* Vectors that the next window can have. */
extern uint32_t gpucol_cpu_window_vectors(GpucolRun *run);

/* Vectors from one on to the last of at most so many that is not excluded, without large gaps of such that are. */
extern uint32_t gpucol_cpu_window_extent(const GpucolRun *run, uint32_t first, uint32_t most);

/* Word rows that the source lends for another purpose beside n of them. */
extern uint32_t gpucol_cpu_window_spare(const GpucolRun *run, uint32_t n);

/*
 * Make vectors [first, first + n) of every stream readable that the tests and, with
 * `loads`, the loads of this segment need; give them back.  With `lend` each thread
 * verifies what it reads of a vector.
 */
extern GpucolStatus gpucol_cpu_source_map(GpucolRun *run, uint32_t first, uint32_t n, bool loads, bool lend);
extern void gpucol_cpu_source_unmap(GpucolRun *run);
extern GpucolStatus gpucol_cpu_window_verify(GpucolRun *run, uint32_t vector);

/* In the main thread, while others are at work: have the source make the next window ready. */
extern void gpucol_cpu_window_ahead(GpucolRun *run);

/* Verify n word rows of a lent window, from a row of the segment on. */
extern GpucolStatus gpucol_cpu_rows_verify(GpucolRun *run, const GpucolRows *rows, uint32_t row, uint32_t n);

/* After threads were at work, all is unmapped, and status is not OK: have the source raise what it finds corrupt. */
extern GpucolStatus gpucol_cpu_window_failed(GpucolRun *run, GpucolStatus status);

/* ---- raw.c ---- */

/* Does the program read raw bytes of this column, not only their lengths?  Its values, or only packed elements? */
extern bool gpucol_cpu_raw_is_read(const GpucolRun *run, const GpucolCpuColumn *column);
extern bool gpucol_cpu_raw_is_unpacked(const GpucolRun *run, const GpucolCpuColumn *column);

/* Are values of a column to last as long as the window?  Then it has so many vectors of `most`. */
extern bool gpucol_cpu_raw_is_kept(const GpucolRun *run, const GpucolCpuColumn *column);
extern uint32_t gpucol_cpu_raw_most(GpucolRun *run, uint32_t most);

/*
 * Begin with the raw bytes of the window, of whose vectors run->window.work has those that are
 * not excluded; leaves out of it those that are found not to matter.  What is left to be done each
 * thread does with a vector that it is dealt, between map and release; *none: no row passes.
 */
extern GpucolStatus gpucol_cpu_raw_window(GpucolRun *run);
extern GpucolStatus gpucol_cpu_raw_map(GpucolRun *run, bool lend);
extern GpucolStatus gpucol_cpu_raw_vector(GpucolCpuWorker *worker, const GpucolCpuVector *vector, bool *none);

/* The window is done. */
extern void gpucol_cpu_raw_end(GpucolRun *run);

/* ---- raw_stream.c ---- */

/*
 * Hold the word rows of a column's raw bytes for the window's vectors that are
 * not excluded, as many as the source lends, the others copied; let all columns' go.
 */
extern GpucolStatus gpucol_cpu_raw_hold(GpucolRun *run, GpucolCpuColumn *column, bool lend);
extern void gpucol_cpu_raw_release(GpucolRun *run);

/* Make room for n vectors, in the run and in its workers. */
extern GpucolStatus gpucol_cpu_raw_room(GpucolRun *run, GpucolCpuColumn *column, uint32_t n);

/* Have the worker's decoder read a vector of it, where its word rows are held. */
extern GpucolStatus gpucol_cpu_raw_point(GpucolCpuWorker *worker, const GpucolCpuColumn *column, uint32_t vector);

/* Decode a vector of it, in any thread; the bitmap of its NULLs, in `space`, or NULL if it has none. */
extern GpucolStatus gpucol_cpu_raw_decode(GpucolCpuWorker *worker, GpucolCpuColumn *column, uint32_t vector,
										  GpucolBytes **values);
extern const uint32_t *gpucol_cpu_raw_nulls(const GpucolDecoder *decoder, uint32_t vector, uint32_t *space);

/* Forget what belongs to the segment. */
extern void gpucol_cpu_raw_reset(GpucolRun *run);

/* ---- stream.c ---- */

/* Hold word rows for threads: lent if the source lends so many beside what else is held, or copied; let them go. */
extern GpucolStatus gpucol_cpu_stream_hold(GpucolRun *run, int slot, GpucolStreamKind stream, uint32_t row,
										   uint32_t nrows, bool lend, uint32_t most, GpucolCpuHeld *held);
extern void gpucol_cpu_stream_release(GpucolRun *run, GpucolCpuHeld *held);

#endif							/* GPUCOL_ENGINE_CPU_WINDOW_H */
