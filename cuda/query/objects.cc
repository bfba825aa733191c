/*-------------------------------------------------------------------------
 *
 * objects.cc
 *	  What a query sends along beside the pieces of segments.
 *
 * What lies in its slab a client may change while it is looked at: what is looked at is
 * a copy, and that copy is what the devices get.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/objects.cuh"

Objects::Objects(uint32_t n, uint64_t limit, const std::vector<std::unique_ptr<Share>> &shares) : left_(n)
{
	for (const std::unique_ptr<Share> &share : shares)
		places_.push_back({share->lane, std::unique_ptr<Scratch>(new Scratch(share->device(), limit))});
}

const Object *
Objects::find(GpucolPutKind kind, uint32_t a, uint32_t b) const
{
	auto		at = objects_.find({kind, a, put_kinds[kind].slot ? b : 0});

	return at == objects_.end() || !at->second.receipt.complete() ? NULL : &at->second;
}

void
Objects::put(const PutKind &kind, const GpucolWirePut &put, const char *data)
{
	if (left_ == 0)
		throw malformed("object of a PUT");

	Object	   &object = objects_[{put.kind, put.a, kind.slot ? put.b : 0}];

	object.receipt.check(put);
	if (kind.host)
	{
		object.host.insert(object.host.end(), data, data + put.length);
		data = object.host.data() + object.host.size() - put.length;
	}
	object.device.resize(places_.size(), NULL);
	for (size_t i = 0; i < (kind.everywhere ? places_.size() : 1); i++)
	{
		Place	   &place = places_[i];

		if (object.device[i] == NULL)
		{
			object.device[i] = place.memory->array<char>(put.total, "what the query sends along");
			held_ += put.total;
		}
		device_check(cudaSetDevice(place.lane->device().ordinal), "could not use the device");
		place.lane->load(object.device[i] + put.offset, data, put.length);
		place.lane->loaded();
	}
	object.receipt.take(put);
	if (object.receipt.complete())
		left_--;
}
