/*-------------------------------------------------------------------------
 *
 * put.cuh
 *	  What a client sends by PUTs: the kinds of it, and how much has been received.
 *
 * To add a kind: GpucolPutKind, a line of put_kinds, and for a piece its place in
 * PieceCatalog.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PUT_CUH
#define GPUCOL_CUDA_PUT_CUH

#include <cstddef>
#include <cstdint>

#include "cuda/base/failure.h"
#include "service/protocol.h"

/* What a PUT of one kind sends. */
struct PutKind
{
	enum Owner
	{
		UNKNOWN,
		SEGMENT,				/* a piece of segment `a`: PieceLoader */
		REQUEST					/* an object of the whole request: Objects */
	};
	Owner		owner;
	bool		slot;			/* `b` is a column slot */
	uint32_t	numbers;		/* object: `a` is less than that; 0: no matter */
	bool		everywhere;		/* object: for all devices, else for the one with the delta rows */
	bool		host;			/* the host keeps it too; of a chunk, what piece_loader.cc says */
};

/* By GpucolPutKind. */
static const PutKind put_kinds[] = {
	{PutKind::UNKNOWN, false, 0, false, false},
	{PutKind::SEGMENT, true, 0, false, false},	/* CHUNK */
	{PutKind::SEGMENT, false, 0, false, false}, /* DELETED */
	{PutKind::SEGMENT, true, 0, false, true},	/* REMAP */
	{PutKind::REQUEST, false, GPUCOL_WIRE_MAX_HOST, true, true},	/* HOST */
	{PutKind::REQUEST, true, 0, false, true},	/* DELTA_CODES */
	{PutKind::REQUEST, true, 0, false, false},	/* DELTA_NULLS */
	{PutKind::REQUEST, true, 0, true, false},	/* ORDER */
	{PutKind::REQUEST, false, GPUCOL_WIRE_MAX_PROBES, true, true},	/* LOOKUP */
	{PutKind::REQUEST, false, GPUCOL_WIRE_MAX_PROBES, true, false}, /* LOOKUP_DATA */
	{PutKind::REQUEST, false, GPUCOL_WIRE_MAX_PROBE_KEYS, true, false},	/* KEY_NUMBERS */
	{PutKind::REQUEST, false, GPUCOL_WIRE_MAX_PROBES, false, true}, /* TABLE */
	{PutKind::REQUEST, false, GPUCOL_WIRE_MAX_PROBES, false, true}	/* FIRST_ROW */
};

/* The kind of a PUT of a request over so many segments and columns; throws Failure. */
inline const PutKind &
put_kind(const GpucolWirePut &put, uint32_t nsegments, uint32_t ncolumns)
{
	const PutKind &kind = put_kinds[put.kind < sizeof(put_kinds) / sizeof(put_kinds[0]) ? put.kind : 0];

	if (kind.owner == PutKind::UNKNOWN || (kind.owner == PutKind::SEGMENT && put.a >= nsegments) ||
		(kind.slot && put.b >= ncolumns) || (kind.numbers > 0 && put.a >= kind.numbers))
		throw malformed("object of a PUT");
	return kind;
}

/* How much has been received of what comes in parts, one after the other. */
class Receipt
{
public:
	uint64_t	total() const { return total_; }
	bool		complete() const { return total_ > 0 && received_ == total_; }

	/* Is this the next part of it?  Throws Failure if not. */
	void
	check(const GpucolWirePut &put)
	{
		if (put.offset == 0)
		{
			if (total_ != 0)
				throw malformed("an object sent twice");
			if (put.total == 0 || put.total > ((uint64_t) 1 << 40))
				throw malformed("size of a PUT");
			total_ = put.total;
		}
		if (put.offset != received_ || put.length > total_ - received_ || put.total != total_)
			throw malformed("part of a PUT");
	}

	/* It is here. */
	void		take(const GpucolWirePut &put) { received_ += put.length; }

private:
	uint64_t	received_ = 0;
	uint64_t	total_ = 0;
};

#endif
