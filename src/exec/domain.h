/*-------------------------------------------------------------------------
 *
 * domain.h
 *	  The values of one type that are looked up: hashed and compared, by their bytes where equal
 *	  ones have the same, else by the type's functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_DOMAIN_H
#define GPUCOL_EXEC_DOMAIN_H

#include "postgres.h"

#include "utils/typcache.h"

#include "columnar/collation.h"
#include "exec/image.h"

typedef struct GpucolDomain
{
	FmgrInfo	hash;
	FmgrInfo	equal;
	Oid			collation;
	int16		typlen;
	bool		typbyval;
	bool		by_bytes;		/* no function is called */
} GpucolDomain;

static inline void
gpucol_domain_init(GpucolDomain *domain, Oid type, Oid collation)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO);

	fmgr_info_copy(&domain->hash, &entry->hash_proc_finfo, CurrentMemoryContext);
	fmgr_info_copy(&domain->equal, &entry->eq_opr_finfo, CurrentMemoryContext);
	domain->collation = collation;
	domain->typlen = entry->typlen;
	domain->typbyval = entry->typbyval;
	domain->by_bytes = gpucol_equal_by_bytes(type, collation);
}

static inline uint32
gpucol_domain_hash(GpucolDomain *domain, Datum value)
{
	if (domain->by_bytes)
		return (uint32) (gpucol_image_hash(value, domain->typlen, domain->typbyval) >> 32);
	return DatumGetUInt32(FunctionCall1Coll(&domain->hash, domain->collation, value));
}

static inline bool
gpucol_domain_equal(GpucolDomain *domain, Datum a, Datum b)
{
	if (domain->by_bytes)
		return gpucol_image_same(a, b, domain->typlen, domain->typbyval);
	return DatumGetBool(FunctionCall2Coll(&domain->equal, domain->collation, a, b));
}

#endif							/* GPUCOL_EXEC_DOMAIN_H */
