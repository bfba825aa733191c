/*-------------------------------------------------------------------------
 *
 * pieces.cuh
 *	  The pieces of a request's segments: which there are, and those that are resident.
 *
 * Each segment has so many of them: its chunks, then, where some segment has them, the
 * numbers of each column's dictionary entries and the bitmap of its deleted rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PIECES_CUH
#define GPUCOL_CUDA_PIECES_CUH

#include <vector>

#include "cuda/base/cache.cuh"
#include "cuda/query/run_message.cuh"

/* Which pieces segments have, by their number within the segment. */
class PieceCatalog
{
public:
	explicit PieceCatalog(const RunMessage &run) : run_(run) {}

	/* How many a segment has. */
	uint32_t	per_segment() const { return run_.head().ncolumns * (1 + run_.list().remaps) + run_.list().deleted; }

	/* Its number among those of all segments. */
	size_t		index(uint32_t segment, uint32_t number) const { return (size_t) segment * per_segment() + number; }

	/* The number of what a PUT sends part of; throws Failure where there is no such piece. */
	uint32_t	number_of(const GpucolWirePut &put) const;
	GpucolWireNeed describe(uint32_t segment, uint32_t number) const;

	/* Device memory of a piece, at most; 0 = there is no such piece. */
	uint64_t	bytes(uint32_t segment, uint32_t number) const;

	/* Rows, or entries, that it has. */
	uint32_t	rows(uint32_t segment, uint32_t number) const;
	ChunkKey	key(uint32_t segment, uint32_t number) const;

	/* Where the numbers of a column's dictionary and the deleted rows are among a segment's pieces. */
	uint32_t	remap(uint32_t slot) const { return run_.head().ncolumns + slot; }
	uint32_t	deleted() const { return per_segment() - 1; }

private:
	const RunMessage &run_;
};

/* Those that are resident, pinned by the request. */
class PinnedPieces
{
public:
	PinnedPieces(const RunMessage &run, const PieceCatalog &catalog);
	~PinnedPieces() { unpin_all(); }
	PinnedPieces(const PinnedPieces &) = delete;

	/* The chunks of a segment by slot, numbers of a column's dictionary, its deleted rows; NULL: none. */
	Resident   *const *chunks(uint32_t segment) const { return &resident_[catalog_.index(segment, 0)]; }
	const Resident *remap(uint32_t segment, uint32_t slot) const;
	const Resident *deleted(uint32_t segment) const;
	bool		is_missing(uint32_t segment, uint32_t number) const;

	/* Device memory of a segment's pieces, of all or of those that are missing. */
	uint64_t	segment_bytes(uint32_t segment, bool missing) const;
	Extent		measure(const std::vector<uint32_t> &segments) const;

	/* Pin those of a segment that a device has; throws Failure where they are of another size. */
	void		find(Device &device, uint32_t segment);

	/* One has been loaded, and is pinned: the request's from now on, whatever is thrown. */
	void		add(uint32_t segment, uint32_t number, Resident *piece);

	/* Pin what the list's last request found; false where some of it has left a device. */
	bool		recall();

	/* Everything was found when the caches were of these generations, and was dealt so: note it in the list. */
	void		remember(const std::vector<uint64_t> &generations, const std::vector<std::vector<uint32_t>> &dealt);

	/* No longer needed: these segments, which are all that the device has where they were recalled; or all. */
	void		unpin(Device &device, const std::vector<uint32_t> &segments);
	void		unpin_all();

private:
	void		check(uint32_t segment) const;

	const RunMessage &run_;
	const PieceCatalog &catalog_;
	std::vector<Resident *> resident_;	/* by the catalog's index */
	std::vector<PieceSet *> recalled_;	/* by device, where they are pinned together */
};

#endif
