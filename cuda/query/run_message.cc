/*-------------------------------------------------------------------------
 *
 * run_message.cc
 *	  What a RUN says.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/run_message.cuh"

#include <cstring>

#include "cuda/query/partial.cuh"
#include "cuda/query/program_check.h"

RunMessage::RunMessage(const char *payload, size_t length, SegmentLists &lists)
{
	size_t		program_words;
	size_t		shape_size;
	size_t		first_size;
	size_t		known;

	if (length < sizeof(head_))
		throw malformed("too short");
	memcpy(&head_, payload, sizeof(head_));
	payload += sizeof(head_);
	length -= sizeof(head_);
	program_words = ((size_t) head_.program_size + 7) / 8;
	shape_size = has(GPUCOL_WIRE_RUN_SHAPE) ? sizeof(GpucolRowShape) : 0;
	first_size = has(GPUCOL_WIRE_RUN_FIRST) ? sizeof(GpucolFirst) : 0;
	known = program_words * 8 + shape_size + first_size;
	if (head_.nsegments > GPUCOL_WIRE_MAX_SEGMENTS || head_.ncolumns > 1600 || head_.flags > GPUCOL_WIRE_RUN_FLAGS ||
		head_.table >= GPUCOL_WIRE_TABLES ||
		length < known)
		throw malformed("lengths do not add up");
	program_.resize(program_words);
	memcpy(program_.data(), payload, program_words * 8);
	memcpy(&shape_, payload + program_words * 8, shape_size);
	memcpy((void *) &first_, payload + program_words * 8 + shape_size, first_size);
	gpucol_program_check(program(), head_.program_size, head_.ncolumns);
	if (shape() != NULL)
		gpucol_shape_check(program(), shape());
	if (first() != NULL)
		gpucol_first_check(program(), first());
	take_list(payload + known, length - known, lists);
}

/* The segments in a RUN's payload, checked. */
std::shared_ptr<SegmentList>
RunMessage::read_list(const char *p) const
{
	auto		list = std::make_shared<SegmentList>();
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(program(), const GpucolProgramColumn, columns);

	for (uint32_t c = 0; c < head_.ncolumns; c++)
		list->attnums.push_back(columns[c].attnum);
	list->segments.resize(head_.nsegments);
	memcpy(list->segments.data(), p, head_.nsegments * sizeof(GpucolWireSegment));
	p += head_.nsegments * sizeof(GpucolWireSegment);
	list->chunks.resize((size_t) head_.nsegments * head_.ncolumns);
	memcpy(list->chunks.data(), p, list->chunks.size() * sizeof(GpucolWireColumnChunk));
	for (const GpucolWireSegment &s : list->segments)
	{
		if (s.nrows == 0 || s.nrows > GPUCOL_MAX_SEGMENT_ROWS || s.ndeleted > s.nrows ||
			(s.ndeleted > 0) != (s.deleted != 0))
			throw malformed("rows of a segment");
		list->deleted |= s.deleted != 0;
		list->kept &= s.storage[0] != 0 || s.storage[1] != 0;
	}
	for (const GpucolWireColumnChunk &c : list->chunks)
	{
		if (c.attnum < 1)
			throw malformed("column of a table");
		if ((c.nentries > 0) != (c.remap != 0) || c.nentries > GPUCOL_MAX_SEGMENT_ROWS)
			throw malformed("numbers of a dictionary");
		list->remaps |= c.remap != 0;
	}
	return list;
}

/* The segments, from the payload or from the session's lists. */
void
RunMessage::take_list(const char *payload, size_t length, SegmentLists &lists)
{
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(program(), const GpucolProgramColumn, columns);
	bool		listed = has(GPUCOL_WIRE_RUN_LIST);
	bool		keep = has(GPUCOL_WIRE_RUN_KEEP);
	size_t		nchunks = (size_t) head_.nsegments * head_.ncolumns;

	if (((listed || keep) && head_.list >= GPUCOL_WIRE_LISTS) ||
		(keep && nchunks + head_.nsegments > GPUCOL_WIRE_LIST_CHUNKS) ||
		length != (listed ? 0 : head_.nsegments * sizeof(GpucolWireSegment) + nchunks * sizeof(GpucolWireColumnChunk)))
		throw malformed("lengths do not add up");
	list_ = listed ? lists[head_.list] : read_list(payload);
	if (list_ == NULL || list_->segments.size() != head_.nsegments || list_->attnums.size() != head_.ncolumns)
		throw malformed("a list of other segments");
	for (uint32_t c = 0; c < head_.ncolumns; c++)
		if (list_->attnums[c] != columns[c].attnum)
			throw malformed("a list of other columns");
	if (keep)
		lists[head_.list] = list_;
}

const char *
RunMessage::obstacle() const
{
	if (shape() != NULL && shape()->kind == GPUCOL_SHAPE_RANKED)
		return "a ranking over more than device memory holds at once";
	return gpucol_partial_obstacle(program());
}
