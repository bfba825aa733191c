/*-------------------------------------------------------------------------
 *
 * directory_index.c
 *	  Pages of a TOAST relation's index, looked at before they are relied upon.
 *
 * PostgreSQL's btree believes its pages.  A damaged one may lead it astray in memory, or
 * round in a circle that no cancel request ends.  So before the btree is asked for the
 * rows of a key, or is to take one, the pages on the way are looked at: that each
 * is of the level that is expected, that its items lie within it and are tuples of
 * this kind of index in ascending order, and that siblings know each other.
 *
 * Damage comes with a page from disk.  So a page is looked at once for each stay in a
 * buffer: whoever found it good leaves a mark in its header, in a field (pd_prune_xid) that
 * indexes have no use for, without making it dirty.  As with segment pages (page.c) a mark
 * that reaches the disk is worthless after a restart, and in any other buffer.
 *
 * A statement that changes many rows asks for neighbouring keys again and again.  So it is remembered,
 * until the statement ends, which keys go the way that was gone last, by what the pages
 * on it say, and it is not gone twice.
 *
 * Mostly a key that is asked for has no entry: a row that is to be deleted has no tombstone yet.  The leaf
 * page that was come to last says so of the keys between its first item and its high key, whatever
 * has become of the rest of the index: who has inserted an entry of such a key has done it there.  So
 * has its entry, if there is room: nbtree's insertion begins at the root and takes twice the instructions.
 *
 * The way is the btree's own: from the root down to the first page that may have the
 * key, and on each level to the right as far as keys reach.  A page is locked before the
 * one to the left of it is let go, so that what they say of each other is of one moment.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/nbtree.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "columnar/directory_index.h"
#include "columnar/directory_value.h"
#include "columnar/index_item.h"
#include "columnar/leaf_entry.h"
#include "columnar/page.h"
#include "compat.h"

/* Leaf pages that are looked at before a scan comes to them. */
#define AHEAD_PAGES		8

/* Leaf pages to the right of one that is asked for a key. */
#define ASKED_RIGHT		2

/* Entries from which on a page is logged as a whole, which is shorter then. */
#define WHOLE_PAGE		32

/* Levels that no index has; pages of which it is known in which buffer they were. */
#define MAX_LEVELS		32
#define RECENT_PAGES	16

/* An entry of a leaf page. */
typedef struct Entry
{
	IndexTupleData tuple;
	GpucolRowKey key;
} Entry;

/* A look at an index. */
typedef struct Look
{
	GpucolDirectory *dir;
	Relation	index;
	BlockNumber block;			/* at hand */
	bool		is_new;			/* it was read from disk just now */
	const char *problem;		/* of it */
	bool		straight;		/* each page was the one that the page above leads to, */
	GpucolItemKey above;			/* for all keys above this */
	bool		bounded;		/* and below this, if so */
	GpucolItemKey below;
} Look;

/* ------------------------------------------------------------------------
 * Pages
 * ------------------------------------------------------------------------
 */

/* What is wrong with the items of a page; NULL = nothing. */
static const char *
items_problem(Page page, BTPageOpaque opaque)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber first = P_FIRSTDATAKEY(opaque);
	GpucolItemKey before = {0};
	GpucolItemKey high = {0};
	IndexTuple	tuple;

	if (!P_RIGHTMOST(opaque) &&
		(last < P_HIKEY || !gpucol_item_read(page, P_HIKEY, true, &high, &tuple)))
		return "has no high key";
	for (OffsetNumber offset = first; offset <= last; offset++)
	{
		GpucolItemKey item;

		if (!gpucol_item_read(page, offset, !P_ISLEAF(opaque), &item, &tuple))
			return "has an item that cannot be";
		if (offset > first && gpucol_item_order(&before, &item) > 0)
			return "has items out of order";
		before = item;
	}
	if (!P_RIGHTMOST(opaque) && last >= first && gpucol_item_order(&before, &high) > 0)
		return "has an item above its high key";
	if (!P_ISLEAF(opaque) && last < first)
		return "has no items";
	return NULL;
}

/* What is wrong with a page; NULL = nothing. */
static const char *
page_problem(Page page, uint32 level)
{
	BTPageOpaque opaque;

	if (PageIsNew(page))
		return "is empty";
	if (PageGetSpecialSize(page) != MAXALIGN(sizeof(BTPageOpaqueData)) ||
		((PageHeader) page)->pd_lower < SizeOfPageHeaderData ||
		((PageHeader) page)->pd_lower > ((PageHeader) page)->pd_upper)
		return "is no page of a btree";
	opaque = BTPageGetOpaque(page);
	if (P_ISMETA(opaque))
		return "is not where it belongs";
	if (P_IGNORE(opaque))
		return P_RIGHTMOST(opaque) ? "is the last though it is deleted" : NULL;
	if (opaque->btpo_level != level || P_ISLEAF(opaque) != (level == 0))
		return "is of another level";
	return items_problem(page, opaque);
}

/* The mark of a page that was found good. */
static TransactionId
good_mark(Buffer buffer, uint32 level)
{
	return (TransactionId) (gpucol_page_cookie(buffer) >> 32) + level;
}

/* Look at the locked page at hand, unless that has been done. */
static bool
check_page(Look *look, Buffer buffer, uint32 level)
{
	PageHeader	header = (PageHeader) BufferGetPage(buffer);

	if (!look->is_new && header->pd_prune_xid == good_mark(buffer, level))
		return true;
	look->problem = page_problem((Page) header, level);
	if (look->problem != NULL)
		return false;
	header->pd_prune_xid = good_mark(buffer, level);
	return true;
}

/* What is known of the index that was looked at last, as long as its file lasts. */
static struct
{
	Oid			space;
	Oid			file;			/* invalid = nothing */
	BlockNumber nblocks;		/* it had, and only grows */
	BlockNumber root;			/* or P_NONE */
	uint32		level;			/* of the root */
	BlockNumber leaf;			/* that was come to last, or P_NONE */
	OffsetNumber place;			/* on it where the next key may belong */
	Buffer		recent[RECENT_PAGES];	/* in which pages of these remainders were found last, or invalid */

	TimestampTz statement;		/* that looked at it last; 0 = none: the keys */
	GpucolItemKey above;			/* above this */
	bool		bounded;		/* and below this, if so, */
	GpucolItemKey below;			/* are all on one leaf page, and the way to it is good */
}			last_index;

/* Forget it, unless it is the one at hand and cannot have been emptied in place. */
static void
begin_look(Look *look)
{
	Oid			space = gpucol_compat_relation_space(look->index);
	Oid			file = gpucol_directory_is_lasting(look->dir->table) ?
		gpucol_compat_relation_file(look->index) : InvalidOid;

	if (OidIsValid(file) && last_index.file == file && last_index.space == space)
		return;
	last_index.space = space;
	last_index.file = file;
	last_index.nblocks = 0;
	last_index.root = P_NONE;
	last_index.leaf = P_NONE;
	last_index.statement = 0;
}

/* Has this statement gone the way to keys before, all on one leaf page? */
static bool
is_known(GpucolRowKey from, GpucolRowKey to)
{
	return last_index.statement != 0 &&
		last_index.statement == GetCurrentStatementStartTimestamp() &&
		gpucol_item_order_key(&last_index.above, from) < 0 &&
		(!last_index.bounded || gpucol_item_order_key(&last_index.below, to) > 0);
}

/* The way to the leaf page at hand is good: remember for which keys. */
static void
note_way(const Look *look)
{
	last_index.leaf = look->block;
	last_index.statement = GetCurrentStatementStartTimestamp();
	last_index.above = look->above;
	last_index.bounded = look->bounded;
	last_index.below = look->below;
}

/* The way to keys from an item on leads elsewhere. */
static void
limit_way(Look *look, const GpucolItemKey *item)
{
	if (!look->bounded || gpucol_item_order(item, &look->below) < 0)
		look->below = *item;
	look->bounded = true;
}

/* Does the index have a block? */
static bool
has_block(const Look *look, BlockNumber block)
{
	if (block >= last_index.nblocks)
		last_index.nblocks = RelationGetNumberOfBlocks(look->index);
	return block < last_index.nblocks;
}

/* Lock a page in a mode; InvalidBuffer if there is none. */
static Buffer
lock_page(Look *look, BlockNumber block, int mode)
{
	int64		reads = pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
	Buffer		buffer;

	if (!has_block(look, block))
	{
		look->problem = "leads behind the end of the index";
		return InvalidBuffer;
	}
	look->block = block;
	buffer = gpucol_page_read_again(look->index, block, &last_index.recent[block % RECENT_PAGES]);
	look->is_new = reads != pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
	LockBuffer(buffer, mode);
	return buffer;
}

/*
 * Lock the page to the right of a locked one, which is let go, and look at it.
 */
static Buffer
step_right(Look *look, Buffer buffer, uint32 level)
{
	BTPageOpaque opaque = BTPageGetOpaque(BufferGetPage(buffer));
	bool		linked = !P_ISDELETED(opaque);
	BlockNumber left = look->block;
	Buffer		next = lock_page(look, opaque->btpo_next, BT_READ);

	UnlockReleaseBuffer(buffer);
	if (!BufferIsValid(next) || !check_page(look, next, level))
		return next;
	if (linked && BTPageGetOpaque(BufferGetPage(next))->btpo_prev != left)
		look->problem = "does not know its left sibling";
	return next;
}

/* The high key of a page; less than any where it has none, since it is deleted. */
static GpucolItemKey
high_key(Page page)
{
	GpucolItemKey none = {0};
	GpucolItemKey high = {0};
	IndexTuple	tuple;

	return !P_IGNORE(BTPageGetOpaque(page)) &&
		gpucol_item_read(page, P_HIKEY, true, &high, &tuple) ? high : none;
}

/*
 * The page below to begin at with a key; P_NONE if its way is further to the right.  Notes which
 * keys go the same way.
 */
static BlockNumber
find_child(Look *look, Page page, GpucolRowKey key)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber low = P_FIRSTDATAKEY(opaque);
	OffsetNumber high = PageGetMaxOffsetNumber(page);
	OffsetNumber last = high;
	GpucolItemKey item;
	IndexTuple	tuple;

	if (P_IGNORE(opaque))
		return P_NONE;
	if (!P_RIGHTMOST(opaque))
	{
		item = high_key(page);
		if (gpucol_item_order_key(&item, key) < 0)
			return P_NONE;
		limit_way(look, &item);
	}
	/* the last item that is less than the key; the first one is less than any */
	while (low < high)
	{
		OffsetNumber middle = low + (high - low + 1) / 2;

		if (gpucol_item_read(page, middle, true, &item, &tuple) && gpucol_item_order_key(&item, key) < 0)
			low = middle;
		else
			high = middle - 1;
	}
	if (low < last && gpucol_item_read(page, low + 1, true, &item, &tuple))
		limit_way(look, &item);
	if (!gpucol_item_read(page, low, true, &item, &tuple))
		return P_NONE;
	if (low > P_FIRSTDATAKEY(opaque) && gpucol_item_order(&look->above, &item) < 0)
		look->above = item;
	return BTreeTupleGetDownLink(tuple);
}

/*
 * Look at the pages of a level from a locked one on that keys up to `to` may be on, at most
 * `limit` behind the first that may have `from`; and find where to go on below.
 */
static bool
check_level(Look *look, Buffer buffer, uint32 level, GpucolRowKey from, GpucolRowKey to, uint32 limit,
			BlockNumber *child, GpucolIndexAhead *ahead)
{
	uint32		pages = 0;
	uint32		steps = 0;

	*child = P_NONE;
	while (look->problem == NULL)
	{
		Page		page = BufferGetPage(buffer);
		bool		rightmost = P_RIGHTMOST(BTPageGetOpaque(page));
		GpucolItemKey high = high_key(page);

		if (level > 0 && *child == P_NONE)
			*child = find_child(look, page, from);
		if (rightmost || gpucol_item_order_key(&high, to) > 0)
		{
			if (level == 0 && !rightmost)
				limit_way(look, &high);
			if (level == 0 && look->straight)
				note_way(look);
			ahead->block = InvalidBlockNumber;
			break;
		}
		if (gpucol_item_order_key(&high, from) >= 0 && ++pages == limit)
		{
			ahead->block = look->block;
			break;
		}
		ahead->key = high.key;	/* of the last page but one */
		look->straight = false;
		buffer = step_right(look, buffer, level);
		if (!has_block(look, ++steps))
			look->problem = "is in a circle of pages";
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	return look->problem == NULL;
}

/* Read the meta page; false if the index is empty, or damaged. */
static bool
read_meta(Look *look)
{
	Buffer		buffer = lock_page(look, BTREE_METAPAGE, BT_READ);
	BTMetaPageData *meta;
	Page		page;

	last_index.root = P_NONE;
	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	meta = BTPageGetMeta(page);
	if (PageIsNew(page) || PageGetSpecialSize(page) != MAXALIGN(sizeof(BTPageOpaqueData)) ||
		!P_ISMETA(BTPageGetOpaque(page)) || meta->btm_magic != BTREE_MAGIC ||
		meta->btm_version != BTREE_VERSION || meta->btm_fastlevel > MAX_LEVELS)
		look->problem = "is no meta page";
	else
	{
		last_index.root = meta->btm_fastroot;
		last_index.level = meta->btm_fastlevel;
	}
	UnlockReleaseBuffer(buffer);
	return last_index.root != P_NONE;
}

/* Lock a page and look at it. */
static Buffer
lock_and_check(Look *look, BlockNumber block, uint32 level)
{
	Buffer		buffer = lock_page(look, block, BT_READ);

	if (BufferIsValid(buffer))
		(void) check_page(look, buffer, level);
	return buffer;
}

/*
 * Lock the root: what is known as such, if it is still the only page of its level.
 * InvalidBuffer if the index is empty, or damaged.
 */
static Buffer
lock_root(Look *look)
{
	if (last_index.root != P_NONE)
	{
		Buffer		buffer = lock_and_check(look, last_index.root, last_index.level);

		if (look->problem == NULL)
		{
			BTPageOpaque opaque = BTPageGetOpaque(BufferGetPage(buffer));

			if (!P_IGNORE(opaque) && P_LEFTMOST(opaque) && P_RIGHTMOST(opaque))
				return buffer;
		}
		if (BufferIsValid(buffer))
			UnlockReleaseBuffer(buffer);
		look->problem = NULL;
	}
	return read_meta(look) ? lock_and_check(look, last_index.root, last_index.level) :
		InvalidBuffer;
}

/* ------------------------------------------------------------------------
 * Interface
 * ------------------------------------------------------------------------
 */

/* Say what was found; true if all is well. */
static bool
conclude(const Look *look)
{
	if (look->problem == NULL)
		return true;
	gpucol_value_damaged_index(look->dir, look->index, look->block, look->problem);
	return false;
}

bool
gpucol_index_check(GpucolDirectory *dir, Relation index, GpucolRowKey from, GpucolRowKey to, GpucolIndexAhead *ahead)
{
	Look		look = {.dir = dir, .index = index, .straight = true};
	GpucolIndexAhead unused;
	uint32		limit = ahead != NULL ? AHEAD_PAGES : PG_UINT32_MAX;
	Buffer		buffer;

	if (ahead == NULL)
		ahead = &unused;
	ahead->block = InvalidBlockNumber;
	ahead->to = to;
	begin_look(&look);
	if (is_known(from, to))
		return true;
	buffer = lock_root(&look);
	if (!BufferIsValid(buffer))
		return conclude(&look);
	for (uint32 level = last_index.level;; level--)
	{
		BlockNumber child;

		if (!check_level(&look, buffer, level, from, to, limit, &child, ahead) || level == 0)
			return conclude(&look);
		if (child == P_NONE)
		{
			look.problem = "leads to no page below";
			return conclude(&look);
		}
		buffer = lock_and_check(&look, child, level - 1);
	}
}

bool
gpucol_index_check_ahead(GpucolDirectory *dir, Relation index, GpucolRowKey at, GpucolIndexAhead *ahead)
{
	Look		look = {.dir = dir, .index = index};
	GpucolItemKey reached = {GPUCOL_ITEM_WHOLE, at};
	BlockNumber child;

	if (ahead->block == InvalidBlockNumber || gpucol_item_order_key(&reached, ahead->key) <= 0)
		return true;
	begin_look(&look);
	(void) check_level(&look, lock_and_check(&look, ahead->block, 0), 0, at, ahead->to,
					   AHEAD_PAGES, &child, ahead);
	return conclude(&look);
}

/* ------------------------------------------------------------------------
 * Keys without entries
 * ------------------------------------------------------------------------
 */

/* Does a leaf page that is good have all entries of a key?  Says where one belongs if it has none, else 0. */
static bool
page_tells(Page page, GpucolRowKey key, OffsetNumber *place)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber low = P_FIRSTDATAKEY(opaque);
	OffsetNumber end = PageGetMaxOffsetNumber(page) + 1;
	OffsetNumber high = end;
	OffsetNumber guess = last_index.place - 1;
	int			guesses = 2;
	GpucolItemKey item = P_RIGHTMOST(opaque) ? (GpucolItemKey) {0} : high_key(page);
	IndexTuple	tuple;

	if (P_IGNORE(opaque) || !P_ISLEAF(opaque) || low == end ||
		(!P_RIGHTMOST(opaque) && gpucol_item_order_key(&item, key) <= 0) ||
		(!P_LEFTMOST(opaque) &&
		 (!gpucol_item_read(page, low, false, &item, &tuple) || gpucol_item_order_key(&item, key) >= 0)))
		return false;
	while (low < high)
	{
		/* mostly keys come in order */
		bool		guessed = guesses-- > 0 && guess >= low && guess < high;
		OffsetNumber middle = guessed ? guess : low + (high - low) / 2;

		if (!gpucol_item_read(page, middle, false, &item, &tuple))
			return false;
		if (gpucol_item_order_key(&item, key) < 0)
			guess = low = middle + 1;
		else
			high = middle;
	}
	last_index.place = low;
	*place = low == end ||
		(gpucol_item_read(page, low, false, &item, &tuple) && gpucol_item_order_key(&item, key) != 0) ?
		low : InvalidOffsetNumber;
	return true;
}

/* Where the keys behind those of a leaf page are; P_NONE if a key is not among them. */
static BlockNumber
next_leaf(Page page, GpucolRowKey key)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	GpucolItemKey high;

	if (P_IGNORE(opaque) || P_RIGHTMOST(opaque))
		return P_NONE;
	high = high_key(page);
	return gpucol_item_order_key(&high, key) < 0 ? opaque->btpo_next : P_NONE;
}

/* Ask the leaf page that was come to last, if there is one, and those to the right that it was split to. */
static bool
ask_leaf(Look *look, GpucolRowKey key, OffsetNumber *place)
{
	BlockNumber block = last_index.leaf;
	bool		tells = false;

	for (int steps = 0; !tells && block != P_NONE && steps <= ASKED_RIGHT; steps++)
	{
		Buffer		buffer = lock_page(look, block, BT_READ);
		Page		page;

		if (!BufferIsValid(buffer))
			break;
		page = BufferGetPage(buffer);
		last_index.leaf = block;
		/* what is wrong with it, those say who go the whole way */
		block = P_NONE;
		if (check_page(look, buffer, 0))
		{
			tells = page_tells(page, key, place);
			block = next_leaf(page, key);
		}
		UnlockReleaseBuffer(buffer);
	}
	return tells;
}

bool
gpucol_index_lacks(GpucolDirectory *dir, Relation index, GpucolRowKey key)
{
	Look		look = {.dir = dir, .index = index};
	OffsetNumber place = InvalidOffsetNumber;

	begin_look(&look);
	if (ask_leaf(&look, key, &place))
		return OffsetNumberIsValid(place);
	last_index.statement = 0;	/* the way that was known does not lead there any more */
	last_index.leaf = P_NONE;
	if (gpucol_index_check(dir, index, key, key, NULL))
		(void) ask_leaf(&look, key, &place);
	return OffsetNumberIsValid(place);
}

/* Put the first of some entries on a locked page, as many as belong there one after another and find room. */
static uint32
put_entries(Relation index, Buffer buffer, const GpucolRowKey *keys, const ItemPointerData *tids, uint32 n)
{
	Page		page = BufferGetPage(buffer);
	bool		whole = n >= WHOLE_PAGE;
	uint32		done = 0;
	OffsetNumber place;

	START_CRIT_SECTION();
	for (; done < n && PageGetFreeSpace(page) >= sizeof(Entry) && page_tells(page, keys[done], &place) &&
		 OffsetNumberIsValid(place); done++)
	{
		Entry		entry = {{tids[done], sizeof(entry)}, keys[done]};

		gpucol_leaf_entry_put(index, buffer, &entry.tuple, last_index.place++, !whole);
	}
	if (whole && done > 0 && RelationNeedsWAL(index))
		(void) log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	return done;
}

uint32
gpucol_index_enter(GpucolDirectory *dir, Relation index, const GpucolRowKey *keys, const ItemPointerData *tids,
				   uint32 n)
{
	Look		look = {.dir = dir, .index = index};
	uint32		done = 0;
	Buffer		buffer;

	begin_look(&look);
	if (last_index.leaf == P_NONE || !BufferIsValid(buffer = lock_page(&look, last_index.leaf, BT_WRITE)))
		return 0;
	if (check_page(&look, buffer, 0) && !P_INCOMPLETE_SPLIT(BTPageGetOpaque(BufferGetPage(buffer))))
		done = put_entries(index, buffer, keys, tids, n);
	UnlockReleaseBuffer(buffer);
	return done;
}

/* ------------------------------------------------------------------------
 * Leaf pages
 * ------------------------------------------------------------------------
 */

/* Does an entry come behind another one? */
static bool
is_behind(GpucolRowKey key, const ItemPointerData *tid, GpucolRowKey other, const ItemPointerData *other_tid)
{
	if (key.id != other.id)
		return key.id > other.id;
	if (key.seq != other.seq)
		return key.seq > other.seq;
	return ItemPointerCompare(unconstify(ItemPointerData *, tid),
							  unconstify(ItemPointerData *, other_tid)) > 0;
}

/* Take the entries of a tuple; where a page was split, its right half has some that were taken before. */
static void
take_entries(Look *look, GpucolIndexLeaf *leaf, GpucolRowKey key, IndexTuple tuple)
{
	bool		posting = BTreeTupleIsPosting(tuple);
	const ItemPointerData *tids = posting ? BTreeTupleGetPosting(tuple) : &tuple->t_tid;
	int			n = posting ? BTreeTupleGetNPosting(tuple) : 1;

	for (int i = 0; i < n; i++)
	{
		if (leaf->any && !is_behind(key, &tids[i], leaf->key, &leaf->tid))
			continue;
		if (leaf->n == MaxTIDsPerBTreePage ||
			(leaf->n > 0 && !is_behind(key, &tids[i], leaf->keys[leaf->n - 1],
									   &leaf->tids[leaf->n - 1])))
		{
			look->problem = "has entries out of order";
			return;
		}
		leaf->keys[leaf->n] = key;
		leaf->tids[leaf->n++] = tids[i];
	}
}

/* A key as a number of the same order. */
static uint64
order_of(GpucolRowKey key)
{
	return (uint64) key.id << 32 | ((uint32) key.seq ^ PG_INT32_MIN);
}

/* Take the entries of a page that is locked, and that has been found good since. */
static void
take_page(Look *look, Page page, GpucolRowKey from, GpucolRowKey to, GpucolIndexLeaf *leaf)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber end = P_IGNORE(opaque) ? InvalidOffsetNumber : PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = P_FIRSTDATAKEY(opaque); offset <= end && look->problem == NULL; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		IndexTuple	tuple = (IndexTuple) PageGetItem(page, id);
		GpucolRowKey key;

		memcpy(&key, (char *) tuple + sizeof(IndexTupleData), GPUCOL_ITEM_BYTES);
		if (order_of(key) > order_of(to))
			break;
		if (order_of(key) >= order_of(from) && !(leaf->live_only && ItemIdIsDead(id)))
			take_entries(look, leaf, key, tuple);
	}
}

/* Show the entries of a locked page, if it is good, and keep it pinned. */
static bool
show_leaf(Look *look, Buffer buffer, GpucolRowKey from, GpucolRowKey to, GpucolIndexLeaf *leaf)
{
	leaf->n = 0;
	leaf->buffer = InvalidBuffer;
	if (look->problem == NULL)
	{
		Page		page = BufferGetPage(buffer);
		GpucolItemKey high = high_key(page);

		take_page(look, page, from, to, leaf);
		leaf->last = P_RIGHTMOST(BTPageGetOpaque(page)) || gpucol_item_order_key(&high, to) > 0;
	}
	if (look->problem != NULL)
	{
		if (BufferIsValid(buffer))
			UnlockReleaseBuffer(buffer);
		return conclude(look);
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	leaf->buffer = buffer;
	leaf->block = look->block;
	return true;
}

/* Lock the leaf page where a key is to be looked for. */
static Buffer
lock_leaf(Look *look, GpucolRowKey key)
{
	Buffer		buffer = lock_root(look);

	if (!BufferIsValid(buffer))
		return buffer;
	for (uint32 level = last_index.level; level > 0 && look->problem == NULL; level--)
	{
		GpucolIndexAhead unused;
		BlockNumber child;

		if (!check_level(look, buffer, level, key, key, 1, &child, &unused))
			return InvalidBuffer;
		if (child == P_NONE)
			look->problem = "leads to no page below";
		buffer = child == P_NONE ? InvalidBuffer : lock_and_check(look, child, level - 1);
	}
	return buffer;
}

/* The page to the right of a locked one, which is let go.  No item of it is below that one's high key. */
static Buffer
lock_right(Look *look, Buffer buffer, GpucolIndexLeaf *leaf)
{
	GpucolItemKey high = high_key(BufferGetPage(buffer));
	Buffer		next = step_right(look, buffer, 0);
	BTPageOpaque opaque;
	IndexTuple	tuple;
	GpucolItemKey first;

	if (look->problem != NULL)
		return next;
	opaque = BTPageGetOpaque(BufferGetPage(next));
	if (!P_IGNORE(opaque) && P_FIRSTDATAKEY(opaque) <= PageGetMaxOffsetNumber(BufferGetPage(next)) &&
		gpucol_item_read(BufferGetPage(next), P_FIRSTDATAKEY(opaque), false, &first, &tuple) &&
		gpucol_item_order(&first, &high) < 0)
		look->problem = "has items that belong to the left";
	if (!has_block(look, ++leaf->steps))
		look->problem = "is in a circle of pages";
	return next;
}

bool
gpucol_index_first_leaf(GpucolDirectory *dir, Relation index, GpucolRowKey from, GpucolRowKey to, bool live_only,
						GpucolIndexLeaf *leaf)
{
	Look		look = {.dir = dir, .index = index};
	Buffer		buffer;

	leaf->steps = 0;
	leaf->any = false;
	leaf->live_only = live_only;
	begin_look(&look);
	buffer = lock_leaf(&look, from);
	while (BufferIsValid(buffer) && look.problem == NULL &&
		   !P_RIGHTMOST(BTPageGetOpaque(BufferGetPage(buffer))))
	{
		GpucolItemKey high = high_key(BufferGetPage(buffer));

		if (gpucol_item_order_key(&high, from) >= 0)
			break;
		buffer = lock_right(&look, buffer, leaf);
	}
	if (!BufferIsValid(buffer))
	{
		(void) conclude(&look);
		return false;
	}
	return show_leaf(&look, buffer, from, to, leaf);
}

bool
gpucol_index_next_leaf(GpucolDirectory *dir, Relation index, GpucolRowKey from, GpucolRowKey to, GpucolIndexLeaf *leaf)
{
	Look		look = {.dir = dir, .index = index, .block = leaf->block};

	if (leaf->last)
	{
		ReleaseBuffer(leaf->buffer);
		return false;
	}
	if (leaf->n > 0)
	{
		leaf->any = true;
		leaf->key = leaf->keys[leaf->n - 1];
		leaf->tid = leaf->tids[leaf->n - 1];
	}
	begin_look(&look);
	LockBuffer(leaf->buffer, BT_READ);
	return show_leaf(&look, lock_right(&look, leaf->buffer, leaf), from, to, leaf);
}
