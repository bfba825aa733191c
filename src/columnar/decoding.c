/*-------------------------------------------------------------------------
 *
 * decoding.c
 *	  Whether a logical slot may want a table's changes.
 *
 * Segments and tombstones are not decoded.  While a logical slot of the database
 * may want the table's changes, those of packed rows are written to WAL in a form that is
 * (logical.c).  A slot that is created later waits for the transactions that did not
 * know of it: they have their number before they look.
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

#include "access/xact.h"
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
	(void) GetCurrentTransactionId();
	find_slots(&pgoutput, &other);
	return other || (pgoutput && is_published(table));
}
