/*-------------------------------------------------------------------------
 *
 * directory.h
 *	  The segment directory: rows of the table's TOAST relation that say which
 *	  segments exist and which of their rows are gone.
 *
 * A directory row is a TOAST tuple (chunk_id, chunk_seq, chunk_data) whose
 * chunk_id is below 10,000: the OID counter never issues those, so the rows never
 * meet a real TOAST value.
 *
 *	  chunk_id		chunk_seq			chunk_data
 *	  1				0					GpucolCounter
 *	  2				0					GpucolUpkeep
 *	  3				0					GpucolFoldCount
 *	  16 .. 271		first row			GpucolSegmentEntry
 *	  1024 .. 1279	row / 8192			bitmap of 8192 deleted rows
 *	  4096 .. 4351	row					GpucolTombstone
 *	  6144 .. 6399	row					lock record, see rowlock.h
 *	  8192 .. 8447	block				GpucolForward, see forward.h
 *
 * A row number n is keyed (base + n / 2^31, n mod 2^31); a bitmap is keyed the
 * same way by n / 8192, a forward by the block of TIDs.  The first three and lock records are
 * frozen at birth; the others are ordinary transactional tuples: their visibility
 * is the segments'.
 *
 * Each value ends with a checksum of the table's identity, its key and itself
 * (directory_value.c).  Rows are checked when they are read; what is wrong is an
 * error (ERRCODE_DATA_CORRUPTED) that says where the row stands.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DIRECTORY_H
#define GPUCOL_COLUMNAR_DIRECTORY_H

#include "postgres.h"

#include "access/genam.h"
#include "access/htup.h"
#include "executor/tuptable.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "columnar/rownum.h"

#define GPUCOL_ID_COUNTER		1
#define GPUCOL_ID_UPKEEP		2
#define GPUCOL_ID_FOLD_COUNT	3
#define GPUCOL_ID_SEGMENT		16
#define GPUCOL_ID_BITMAP		1024
#define GPUCOL_ID_TOMBSTONE		4096
#define GPUCOL_ID_LOCK			6144
#define GPUCOL_ID_FORWARD		8192
#define GPUCOL_ID_SPAN			256

#define GPUCOL_BITMAP_ROWS		8192
#define GPUCOL_BITMAP_BYTES		(GPUCOL_BITMAP_ROWS / 8)

/* Runs of pages that a segment may consist of. */
#define GPUCOL_MAX_EXTENTS		16

/* Version of directory and segment pages.  Tables of another one are refused. */
#define GPUCOL_DIRECTORY_VERSION	2

/*
 * The table's row number counter; changed in place, never transactionally.  In
 * every version it begins like this and ends with its checksum.
 */
typedef struct GpucolCounter
{
	uint64		next_row;
	uint64		lacks;			/* GPUCOL_LACKS_...; 0 = anything may be there */
	uint64		identity;		/* of the table's storage: random, not 0 */
	uint32		version;		/* GPUCOL_DIRECTORY_VERSION */
	uint32		unused;
} GpucolCounter;

/* Kinds of rows that the directory has never had; no bitmaps without tombstones. */
#define GPUCOL_LACKS_BITMAPS	1
#define GPUCOL_LACKS_LOCKS		2
#define GPUCOL_LACKS_TOMBSTONES	4
#define GPUCOL_LACKS_MOVES		8	/* forwards of segment rows */

typedef struct GpucolExtent
{
	BlockNumber start;
	uint32		npages;
} GpucolExtent;

/* Order extents by block. */
extern void gpucol_directory_sort_extents(GpucolExtent *extents, uint32 n);

/* Free extents that are remembered. */
#define GPUCOL_FREE_EXTENTS		118

/*
 * What VACUUM remembers of a table from one time to the next; changed in place
 * under the allocation lock (space.h).  "Lost" row numbers are those below the
 * counter that no segment has, of failed loads and of segments that are gone.
 */
typedef struct GpucolUpkeep
{
	uint64		generation;		/* grows with each change */
	uint64		cleaned;		/* lost numbers when indexes were last cleaned */
	uint64		reclaimed;		/* ... when free pages were last looked for */
	uint32		nfree;
	uint32		left_out;		/* runs of free pages that the list had no room for */
	GpucolExtent free[GPUCOL_FREE_EXTENTS]; /* pages that no segment has */
} GpucolUpkeep;

/* Who has folded last, and of how many folded rows indexes may have entries (fold_count.h); changed in place. */
typedef struct GpucolFoldCount
{
	uint64		generation;		/* grows with each change */
	uint64		rows;			/* so many, or fewer */
	TransactionId folder;		/* that began last to change bitmaps */
	TransactionId newest;		/* that deleted one of those rows; invalid = all are frozen */
} GpucolFoldCount;

/* Bitmaps of one state are the same to the bit; of generation 0 nothing is known. */
typedef struct GpucolFoldState
{
	uint64		generation;
	TransactionId folder;
} GpucolFoldState;

/*
 * One segment.  Inserted by the loading (sub)transaction before the first row
 * with nrows = 0, and completed in place when the pages are written; `reserved`
 * row numbers belong to it from the start, those that no row got too unless they
 * could be given back.
 */
typedef struct GpucolSegmentEntry
{
	uint64		first_row;
	uint32		reserved;		/* row numbers, growing while it is loaded */
	uint32		nrows;			/* 0 = not written (yet) */
	uint32		npages;
	uint32		nwords;			/* word rows */
	uint32		nextents;
	uint32		flags;
	uint64		identity;		/* the counter's */
	uint64		raw_bytes;		/* what heap would store */
	GpucolExtent extents[GPUCOL_MAX_EXTENTS];
} GpucolSegmentEntry;

/*
 * Its rows were packed in other segments, which end with the transaction that writes it; that excludes writers before.
 * While it is in progress who looks whether a key is taken finds the rows where they were.
 */
#define GPUCOL_ENTRY_MOVED	1

/* A deleted row. */
typedef struct GpucolTombstone
{
	ItemPointerData new_tid;	/* the new version; the row's own TID if it was
								 * deleted, or the moved-partitions mark */
	uint16		flags;
} GpucolTombstone;

/* The row was updated and no column of a unique key has changed. */
#define GPUCOL_TOMBSTONE_KEY_KEPT	1

/* Rows of one block of TIDs that were packed in another place, one after another. */
typedef struct GpucolForward
{
	uint64		first_row;		/* number of the first */
	uint8		moved[40];		/* bit by offset */
} GpucolForward;

/* A directory row as read. */
typedef struct GpucolDirectoryTuple
{
	Oid			id;
	int32		seq;
	const void *data;
	Size		size;			/* without the checksum */
	bool		sealed;			/* there is room for one */
	ItemPointerData tid;
	TransactionId xmin;
	HeapTuple	tuple;
	Buffer		buffer;
} GpucolDirectoryTuple;

/* The key of a row. */
typedef struct GpucolRowKey
{
	Oid			id;
	int32		seq;
} GpucolRowKey;

/* How far an index has been looked at (directory_index.c). */
typedef struct GpucolIndexAhead
{
	BlockNumber block;			/* the last leaf page; invalid = as far as need be */
	GpucolRowKey key;			/* the highest of the page before */
	GpucolRowKey to;			/* where the range ends */
} GpucolIndexAhead;

/* The open TOAST relation of a table. */
typedef struct GpucolDirectory
{
	Relation	table;
	Relation	toast;
	Relation   *indexes;		/* NULL until gpucol_directory_open_indexes */
	int			nindexes;
	int			valid;			/* number of the index to read by */
	LOCKMODE	lockmode;
	BlockNumber nblocks;		/* of the TOAST relation when asked for; 0 = not yet */
	BlockNumber nsure;			/* that it has for sure */
	uint64		identity;		/* of the table's storage; 0 = not read, or no counter */
	void		(*note_damage) (void *arg, const char *text);	/* NULL = damage is an error */
	void	   *note_arg;
	GpucolRowKey looked;		/* key whose way in the index was looked at last */
	MemoryContext context;		/* that the directory was opened in */
	IndexScanDesc probe;		/* kept from one scan to the next; NULL = none yet */
	bool		probing;		/* the probe is some scan's */
	bool		peek;			/* what is read is not noted as a serializable transaction's */
} GpucolDirectory;

/*
 * Open the directory of a table; false if it has no TOAST relation, or for a
 * reader an empty one (then it has no segments).  A writer's locks are kept to
 * the end of the transaction.
 */
extern bool gpucol_directory_open(GpucolDirectory *dir, Relation table,
								  LOCKMODE lockmode);
extern void gpucol_directory_close(GpucolDirectory *dir);

/* Open the directory's indexes, which scans and insertions do by themselves. */
extern void gpucol_directory_open_indexes(GpucolDirectory *dir);

/*
 * Drop what a failed REINDEX CONCURRENTLY has left of the TOAST relation's index,
 * of a table that TRUNCATE, VACUUM FULL or CLUSTER (which hold AccessExclusiveLock)
 * give new storage.  PostgreSQL keeps such an index up to date, but neither builds
 * it anew with the others nor swaps it with theirs: it would name rows that are
 * gone, and the keys of the directory come again.
 */
extern void gpucol_directory_drop_invalid_indexes(Relation table);

/* Key of a row number (or bitmap number) in the id range from `base`. */
extern void gpucol_directory_key(Oid base, uint64 number, Oid *id, int32 *seq);

/* The number that a key stands for. */
extern uint64 gpucol_directory_number(Oid base, Oid id, int32 seq);

/*
 * Scan the rows keyed `from` to `to` (inclusive) in the id range of `base`, in
 * the given direction.  A row lasts until the next is asked for; its page is pinned.
 */
typedef struct GpucolDirectoryScan
{
	GpucolDirectory *dir;
	Snapshot	snapshot;
	ScanDirection direction;
	Oid			base;
	GpucolRowKey first;
	GpucolRowKey last;
	Oid			id;				/* being scanned */
	GpucolIndexAhead ahead;
	IndexScanDesc scan;			/* NULL at the end */
	bool		broken;			/* damage, which was noted, has ended it */
	Buffer		buffer;			/* of the row at hand, or last looked at */
	HeapTupleData tuple;
	bool		any_entry;		/* the index has given an entry, of this key: */
	GpucolRowKey entry;
	ItemPointerData entry_tid;
	bool		any_seen;		/* the snapshot has seen a row, of this key: */
	GpucolRowKey seen;
	GpucolUpkeep copy;			/* data that may change in place, of any kind */
} GpucolDirectoryScan;

extern void gpucol_directory_scan_begin(GpucolDirectoryScan *scan,
										GpucolDirectory *dir, Snapshot snapshot,
										Oid base, uint64 from, uint64 to,
										ScanDirection direction);
extern bool gpucol_directory_scan_next(GpucolDirectoryScan *scan,
									   GpucolDirectoryTuple *row);
extern void gpucol_directory_scan_end(GpucolDirectoryScan *scan);

/*
 * Read the row at a place of a page whose buffer is locked; false if there is none that
 * is as it must be.  The caller has asked for the identity before.
 */
extern bool gpucol_directory_read(GpucolDirectory *dir, Buffer buffer, ItemPointer tid,
								  HeapTuple tuple, GpucolDirectoryTuple *row);

/* What an index entry leads to: a row of its key, or none. */
typedef enum GpucolPlace
{
	GPUCOL_PLACE_ROW,
	GPUCOL_PLACE_PRUNED,		/* a dead row's, of which nothing is left */
	GPUCOL_PLACE_WRONG,			/* something else, */
	GPUCOL_PLACE_DAMAGED		/* or a row that fails its checks: *problem says what is wrong */
} GpucolPlace;

/*
 * Look at the place that the index entry of a key leads to, on a page whose buffer is locked.
 * The caller has asked for the identity before.
 */
extern GpucolPlace gpucol_directory_look(GpucolDirectory *dir, Buffer buffer, ItemPointer place,
										 GpucolRowKey key, HeapTuple tuple,
										 GpucolDirectoryTuple *row, const char **problem);

/*
 * Have `take` take the number of each row keyed `from` to `to` (inclusive) in the id range of
 * `base` that a snapshot sees, in ascending order: as a scan would, but page by page.
 * (directory_run.c)
 */
typedef void (*GpucolDirectoryTake) (uint64 number, void *arg);

extern void gpucol_directory_run(GpucolDirectory *dir, Snapshot snapshot, Oid base, uint64 from,
								 uint64 to, GpucolDirectoryTake take, void *arg);

/*
 * Copy the data of a key's row at a place, if there is one and the snapshot sees it;
 * its transaction too.
 */
extern bool gpucol_directory_fetch(GpucolDirectory *dir, Snapshot snapshot,
								   const ItemPointerData *tid, Oid id, int32 seq,
								   void *data, Size size, TransactionId *xmin);

/*
 * The random number that tells the table's storage from any other; 0 where nothing was
 * ever packed.
 */
extern uint64 gpucol_directory_identity(GpucolDirectory *dir);

/*
 * Insert a row; options are heap_insert's.  With `unique` a second live row of
 * the same key is an error.  Returns its place in the TOAST relation.
 */
extern ItemPointerData gpucol_directory_insert(GpucolDirectory *dir, Oid id,
											   int32 seq, const void *data,
											   Size size, CommandId cid,
											   int options, bool unique);

/* Enter a row that was inserted into one of the directory's open indexes. */
extern void gpucol_directory_enter(GpucolDirectory *dir, int number, GpucolRowKey key, ItemPointer tid,
								   bool unique);

/*
 * Insert n rows of small data of one size each, `data` one after another, keyed by numbers, mostly ascending ones, in
 * the id range of `base`.  A second live row of a key is an error, or the caller knows that there is none.
 * (directory_batch.c)
 */
extern void gpucol_directory_insert_many(GpucolDirectory *dir, Oid base, const uint64 *numbers, const void *data,
										 Size size, uint32 n, CommandId cid);

/*
 * Have rows that this transaction has inserted, entered into the indexes by now, belong to no
 * transaction: they stay whatever becomes of this one.
 */
extern void gpucol_directory_freeze(GpucolDirectory *dir, const ItemPointerData *tids, uint32 n);

/* Delete a row that this transaction knows to be live and uncontended. */
extern void gpucol_directory_delete(GpucolDirectory *dir, ItemPointer tid,
									CommandId cid);

/*
 * Replace the data of a row in place, whatever becomes of this transaction.
 * Only for the counter and for rows that no other transaction can see.
 */
extern void gpucol_directory_overwrite(GpucolDirectory *dir, ItemPointer tid,
									   const void *data, Size size);

/*
 * Read the frozen row of an id, whose data begin with a number that grows, or
 * make it with the given first data, which stay whatever becomes of this
 * transaction.  find is false where there is none.
 */
extern bool gpucol_directory_find(GpucolDirectory *dir, Oid id, void *data,
								  Size size, ItemPointer tid);
extern void gpucol_directory_make(GpucolDirectory *dir, Oid id, void *data,
								  Size size, ItemPointer tid);

/* Make a directory's counter, with an identity of its own, unless there is one. */
extern void gpucol_directory_begin(GpucolDirectory *dir, uint64 next_row, uint64 lacks);

/*
 * Reserve n row numbers.  With `after` not 0 only if the next free number is
 * `after`; false otherwise.
 */
extern bool gpucol_directory_reserve(GpucolDirectory *dir, uint64 n,
									 uint64 after, uint64 *first);

/*
 * Give back the numbers from `first` to `end`, which no row has ever had, if none were
 * reserved since; false otherwise.  The caller holds the allocation lock (space.h) and
 * changes the entry of the segment that has them before it lets go.
 */
extern bool gpucol_directory_unreserve(GpucolDirectory *dir, uint64 first,
									   uint64 end);

/*
 * The kinds of rows (GPUCOL_LACKS_...) that the directory has never had, as far as
 * that is known.  Whoever inserts the first one admits the kind before, so that no
 * snapshot that sees the row can miss it: ask when whatever makes the row visible has
 * happened, if it has (an MVCC snapshot is there, the lock of the row's TID is held; a
 * dirty look for a tombstone has found none, before a bitmap is looked for).
 */
extern uint64 gpucol_directory_lacks(GpucolDirectory *dir);
extern void gpucol_directory_admit(GpucolDirectory *dir, uint64 kind);

/* Does the table's file keep its rows as long as this transaction lasts? */
extern bool gpucol_directory_is_lasting(Relation table);

/* The next free row number; 0 where no row was ever reserved. */
extern uint64 gpucol_directory_next_row(GpucolDirectory *dir);

/*
 * Bits of a bitmap row, whose first bit is row number `first`, that are set for
 * rows from .. end - 1.
 */
extern uint32 gpucol_directory_count_bits(const GpucolDirectoryTuple *row,
										  uint64 first, uint64 from, uint64 end);

#endif							/* GPUCOL_COLUMNAR_DIRECTORY_H */
