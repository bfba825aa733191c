/*-------------------------------------------------------------------------
 *
 * decoding.c
 *	  Logical decoding, which knows of delta rows only.
 *
 * Segments and tombstones are not decoded.  While a logical slot of the database
 * may want the table's changes, loads therefore stay in the delta, merges are
 * refused, and so are updates and deletes of rows that had been packed before: a
 * subscriber would miss them silently.  A slot that is created later waits for the
 * transactions that did not know of it.
 *
 * A slot of pgoutput wants tables that are published; any other plugin, all.
 *
 * A standby may have logical slots, too (from 16 on).  All that is known of them here is
 * that the physical slot of the standby holds back catalogs; so they may want all tables
 * of all databases.  Where failover slots exist (17) their copies on the standby explain
 * it; then a slot that is the standby's own is expected to be one of pgoutput.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_publication.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/lwlock.h"
#include "utils/relcache.h"

#include "columnar/decoding.h"
#include "compat.h"

/* Look at the slots of this database, and of standbys: of pgoutput, and of other plugins. */
static void
find_slots(bool *pgoutput, bool *other)
{
	bool		standby = false;
	bool		failover = false;

	*pgoutput = *other = false;
	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		SpinLockAcquire(&slot->mutex);
		if (slot->in_use && SlotIsPhysical(slot))
			standby |= TransactionIdIsValid(slot->data.catalog_xmin);
		else if (slot->in_use)
		{
			bool		here = slot->data.database == MyDatabaseId;
			bool		published = strcmp(NameStr(slot->data.plugin), "pgoutput") == 0;

			failover |= gpucol_compat_slot_failover(slot);
			*pgoutput |= here && published;
			*other |= here && !published;
		}
		SpinLockRelease(&slot->mutex);
	}
	LWLockRelease(ReplicationSlotControlLock);
	*pgoutput |= standby && failover;
	*other |= standby && !failover;
}

/* Is the table published? */
static bool
is_published(Relation table)
{
	PublicationDesc desc;

	RelationBuildPublicationDesc(table, &desc);
	return desc.pubactions.pubinsert || desc.pubactions.pubupdate ||
		desc.pubactions.pubdelete;
}

bool
gpucol_decoding_active(Relation table)
{
	bool		pgoutput;
	bool		other;

	if (!RelationIsLogicallyLogged(table) || max_replication_slots <= 0)
		return false;
	find_slots(&pgoutput, &other);
	return other || (pgoutput && is_published(table));
}

void
gpucol_decoding_check(Relation table)
{
	if (gpucol_decoding_active(table))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change packed rows of table \"%s\" while a logical replication slot decodes it",
						RelationGetRelationName(table)),
				 errdetail("Changes of packed rows are not decoded."),
				 errhint("Rows loaded while the slot exists can be changed. ALTER TABLE ... SET ACCESS METHOD heap makes all rows such.")));
}
