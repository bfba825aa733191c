/*-------------------------------------------------------------------------
 *
 * pieces.cc
 *	  The pieces of a request's segments.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/pieces.cuh"

#include <algorithm>

uint32_t
PieceCatalog::number_of(const GpucolWirePut &put) const
{
	if (put.kind == GPUCOL_PUT_CHUNK)
		return put.b;
	if (put.kind == GPUCOL_PUT_REMAP && run_.list().remaps)
		return remap(put.b);
	if (put.kind == GPUCOL_PUT_DELETED && run_.list().deleted)
		return deleted();
	throw malformed("object of a PUT");
}

GpucolWireNeed
PieceCatalog::describe(uint32_t s, uint32_t number) const
{
	uint32_t	ncolumns = run_.head().ncolumns;

	if (number < ncolumns)
		return {s, (uint16_t) number, GPUCOL_PUT_CHUNK};
	if (run_.list().remaps && number < 2 * ncolumns)
		return {s, (uint16_t) (number - ncolumns), GPUCOL_PUT_REMAP};
	return {s, 0, GPUCOL_PUT_DELETED};
}

uint64_t
PieceCatalog::bytes(uint32_t s, uint32_t number) const
{
	GpucolWireNeed need = describe(s, number);

	if (need.kind == GPUCOL_PUT_CHUNK)
		return ((uint64_t) run_.chunk(s, need.slot).nrows + 4) * GPUCOL_ROW_BYTES;
	if (need.kind == GPUCOL_PUT_REMAP)
		return (uint64_t) run_.chunk(s, need.slot).nentries * sizeof(uint32_t);
	return run_.segment(s).deleted != 0 ? (uint64_t) GPUCOL_VECTORS(run_.segment(s).nrows) * GPUCOL_ROW_BYTES : 0;
}

uint32_t
PieceCatalog::rows(uint32_t s, uint32_t number) const
{
	GpucolWireNeed need = describe(s, number);

	return need.kind == GPUCOL_PUT_REMAP ? run_.chunk(s, need.slot).nentries : run_.segment(s).nrows;
}

ChunkKey
PieceCatalog::key(uint32_t s, uint32_t number) const
{
	GpucolWireNeed need = describe(s, number);
	uint64_t	identity = need.kind == GPUCOL_PUT_CHUNK ? run_.chunk(s, need.slot).identity :
		need.kind == GPUCOL_PUT_REMAP ? run_.chunk(s, need.slot).remap : run_.segment(s).deleted;

	return {{run_.segment(s).storage[0], run_.segment(s).storage[1]}, run_.segment(s).id,
		need.kind == GPUCOL_PUT_DELETED ? 0 : run_.chunk(s, need.slot).attnum, need.kind, identity};
}

PinnedPieces::PinnedPieces(const RunMessage &run, const PieceCatalog &catalog)
	: run_(run), catalog_(catalog), resident_((size_t) run.head().nsegments * catalog.per_segment(), NULL)
{
}

const Resident *
PinnedPieces::remap(uint32_t s, uint32_t slot) const
{
	return run_.list().remaps ? resident_[catalog_.index(s, catalog_.remap(slot))] : NULL;
}

const Resident *
PinnedPieces::deleted(uint32_t s) const
{
	return run_.list().deleted ? resident_[catalog_.index(s, catalog_.deleted())] : NULL;
}

bool
PinnedPieces::is_missing(uint32_t s, uint32_t number) const
{
	return resident_[catalog_.index(s, number)] == NULL && catalog_.bytes(s, number) > 0;
}

uint64_t
PinnedPieces::segment_bytes(uint32_t s, bool missing) const
{
	uint64_t	bytes = 0;

	for (uint32_t i = 0; i < catalog_.per_segment(); i++)
		if (!missing || resident_[catalog_.index(s, i)] == NULL)
			bytes += catalog_.bytes(s, i);
	return bytes;
}

Extent
PinnedPieces::measure(const std::vector<uint32_t> &segments) const
{
	Extent		extent = {0, 0};

	for (uint32_t s : segments)
	{
		extent.bytes += segment_bytes(s, false);
		extent.rows += run_.segment(s).nrows;
	}
	return extent;
}

/* Are a segment's pieces as large as the client says? */
void
PinnedPieces::check(uint32_t s) const
{
	for (uint32_t i = 0; i < catalog_.per_segment(); i++)
	{
		const Resident *piece = resident_[catalog_.index(s, i)];

		if (piece != NULL && piece->nrows != catalog_.rows(s, i))
			throw malformed("a resident piece of another size");
	}
}

void
PinnedPieces::find(Device &device, uint32_t s)
{
	uint32_t	n = catalog_.per_segment();
	std::vector<ChunkKey> keys;

	if (!run_.may_keep() || n == 0)
		return;
	keys.reserve(n);
	for (uint32_t i = 0; i < n; i++)
		keys.push_back(catalog_.key(s, i));
	device.cache.find(keys.data(), n, &resident_[catalog_.index(s, 0)]);
	check(s);
}

void
PinnedPieces::add(uint32_t s, uint32_t number, Resident *piece)
{
	resident_[catalog_.index(s, number)] = piece;
	check(s);
}

bool
PinnedPieces::recall()
{
	const FoundSegments &found = run_.list().found;

	for (const std::unique_ptr<PieceSet> &set : found.on)
	{
		if (!set->pin())
		{
			unpin_all();
			return false;
		}
		recalled_.push_back(set.get());
	}
	resident_ = found.resident;
	return true;
}

void
PinnedPieces::remember(const std::vector<uint64_t> &generations, const std::vector<std::vector<uint32_t>> &dealt)
{
	FoundSegments &found = run_.list().found;
	std::vector<std::vector<Resident *>> on(devices.size());

	for (Resident *piece : resident_)
		if (piece != NULL)
			on[piece->home->device()].push_back(piece);
	found.resident = resident_;
	found.on.clear();
	for (size_t d = 0; d < devices.size(); d++)
		found.on.emplace_back(new PieceSet(devices[d]->cache, std::move(on[d]), generations[d]));
	found.dealt = dealt;
	found.extents.clear();
	for (const std::vector<uint32_t> &segments : dealt)
		found.extents.push_back(measure(segments));
	run_.list().prepared.clear();
}

void
PinnedPieces::unpin(Device &device, const std::vector<uint32_t> &segments)
{
	std::vector<Resident *> pinned;
	uint32_t	n = catalog_.per_segment();

	if (!recalled_.empty())
	{
		recalled_[device.number]->unpin();
		recalled_[device.number] = NULL;
		return;
	}
	pinned.reserve(segments.size() * n);
	for (uint32_t s : segments)
	{
		auto		first = resident_.begin() + catalog_.index(s, 0);

		pinned.insert(pinned.end(), first, first + n);
		std::fill_n(first, n, (Resident *) NULL);
	}
	device.cache.unpin(pinned.data(), pinned.size());
}

void
PinnedPieces::unpin_all()
{
	for (PieceSet *set : recalled_)
		if (set != NULL)
			set->unpin();
	if (!recalled_.empty())
		std::fill(resident_.begin(), resident_.end(), (Resident *) NULL);
	recalled_.clear();
	for (Resident *&piece : resident_)
	{
		if (piece != NULL)
			piece->home->unpin(&piece, 1);
		piece = NULL;
	}
}
