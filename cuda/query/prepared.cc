/*-------------------------------------------------------------------------
 *
 * prepared.cc
 *	  Scans that are kept for statements that repeat.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/prepared.cuh"

#include <algorithm>

/* Scans of one list; bytes of one, and which part of all memory those may be. */
static const size_t KEPT = 4;
static const uint64_t MOST_BYTES = (uint64_t) 1 << 20;
static const uint64_t PART_OF_MEMORY = 16384;

void
SlotFacts::widen(const Bounds &bounds, bool nulls, int of_scale)
{
	nullable |= nulls;
	if (bounds.lo <= bounds.hi)
	{
		lo = std::min(lo, bounds.lo);
		hi = std::max(hi, bounds.hi);
	}
	bounded &= bounds.known;
	scale = scale == NO_SCALE || scale == of_scale ? of_scale : SCALES_DIFFER;
}

std::shared_ptr<PreparedScan>
PreparedScans::find(const Key &key)
{
	std::lock_guard<std::mutex> lock(mutex_);

	for (size_t i = 0; i < kept_.size(); i++)
		if (kept_[i].first == key)
		{
			std::rotate(kept_.begin() + i, kept_.begin() + i + 1, kept_.end());
			return kept_.back().second;
		}
	return NULL;
}

void
PreparedScans::clear()
{
	std::lock_guard<std::mutex> lock(mutex_);

	kept_.clear();
}

void
PreparedScans::keep(const Key &key, const std::shared_ptr<PreparedScan> &scan, uint64_t limit)
{
	std::lock_guard<std::mutex> lock(mutex_);

	kept_.erase(std::remove_if(kept_.begin(), kept_.end(), [&key] (const auto &k) {
		return k.first.device == key.device && (k.first.generation != key.generation || k.first == key);
	}), kept_.end());
	if (scan->memory.held() > std::min(MOST_BYTES, limit / PART_OF_MEMORY))
		return;
	if (kept_.size() >= KEPT)
		kept_.erase(kept_.begin());
	kept_.emplace_back(key, scan);
}
