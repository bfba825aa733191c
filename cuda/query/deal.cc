/*-------------------------------------------------------------------------
 *
 * deal.cc
 *	  The segments of a request dealt to devices.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/deal.cuh"

#include <algorithm>

/* Pin what the list's last request found, if all of it is still there and one part a device. */
bool
Deal::recall()
{
	const FoundSegments &found = run_.list().found;

	if (found.on.size() != devices.size())
		return false;
	for (size_t d = 0; d < devices.size(); d++)
		if (!is_one_part(*devices[d], found.extents[d]))
			return false;
	return pieces_.recall();
}

/*
 * Deal the segments to the devices, or to the first, and pin what is resident
 * there.  A segment goes where its first column is, else to the device of its turn.
 */
void
Deal::look_up(std::vector<std::vector<uint32_t>> *dealt, bool one_device)
{
	size_t		n = devices.size();
	bool		choose = n > 1 && !one_device && run_.may_keep() && run_.head().ncolumns > 0;

	for (uint32_t s = 0; s < run_.head().nsegments; s++)
	{
		uint32_t	d = one_device ? 0 : (run_.head().turn + s) % n;

		if (choose && !devices[d]->cache.has(catalog_.key(s, 0)))
			for (uint32_t e = 0; e < n; e++)
				if (devices[e]->cache.has(catalog_.key(s, 0)))
					d = e;
		pieces_.find(*devices[d], s);
		(*dealt)[d].push_back(s);
	}
}

/* Cut what each device was dealt in parts; there is one share at least. */
void
Deal::make_shares(std::vector<std::vector<uint32_t>> &dealt, bool recalled)
{
	for (size_t d = 0; d < devices.size(); d++)
	{
		if (dealt[d].empty() && (d + 1 < devices.size() || !shares_.empty()))
			continue;
		shares_.emplace_back(new Share());
		shares_.back()->lane = lane_(*devices[d]);
		make_parts(shares_.size() - 1, dealt[d], recalled ? run_.list().found.extents[d] : pieces_.measure(dealt[d]));
	}
	for (auto &part : parts_)
		if (part->share == 0)
		{
			part->delta = true;
			break;
		}
}

void
Deal::make()
{
	const char *reason = run_.obstacle();
	bool		one_device = reason != NULL && !run_.prefetch();
	std::vector<std::vector<uint32_t>> dealt(devices.size());
	std::vector<uint64_t> generations;
	bool		any_device = !one_device || devices.size() == 1;
	bool		recalled;

	part_of_.assign(run_.head().nsegments, 0);
	recalled = any_device && recall();
	for (Device *device : devices)
		generations.push_back(device->cache.generation());
	if (recalled)
		dealt = run_.list().found.dealt;
	else
		look_up(&dealt, one_device);
	make_shares(dealt, recalled);
	if (reason != NULL && parts_.size() > 1 && !run_.prefetch())
		throw Failure{GPUCOL_UNSUPPORTED, reason};
	for (auto &share : shares_)
		if (!alone())
			share->lane->start();
	if (!recalled)
		list_missing();
	found_ = any_device && parts_.size() == shares_.size() && run_.may_keep() && missing_.empty() && !run_.prefetch();
	if (found_ && !recalled)
		pieces_.remember(generations, dealt);
}

void
Deal::forget()
{
	pieces_.unpin_all();
	missing_.clear();
	parts_.clear();
	shares_.clear();
}

std::vector<Need>
Deal::needs() const
{
	std::vector<Need> needs;

	for (auto &share : shares_)
	{
		uint64_t	limit = share->device().pool.unlent();

		needs.push_back({&share->device(), limit - limit / 8, 0, 0});
	}
	for (auto &part : parts_)
		for (uint32_t s : part->segments)
		{
			uint64_t	missing = pieces_.segment_bytes(s, true);

			needs[part->share].missing += missing;
			needs[part->share].pinned += pieces_.segment_bytes(s, false) - missing;
		}
	for (Need &need : needs)	/* one that is larger is computed in parts */
		need.missing = std::min(need.missing, need.capacity - std::min(need.capacity, need.pinned));
	return needs;
}

/* What the client must send, by segment. */
void
Deal::list_missing()
{
	for (size_t i = 0; i < parts_.size(); i++)
	{
		parts_[i]->missing = 0;
		for (uint32_t s : parts_[i]->segments)
			part_of_[s] = i;
	}
	for (uint32_t s = 0; s < run_.head().nsegments; s++)
		for (uint32_t i = 0; has(s) && i < catalog_.per_segment(); i++)
			if (pieces_.is_missing(s, i))
			{
				missing_.push_back(catalog_.describe(s, i));
				part_of(s).missing++;
			}
}
