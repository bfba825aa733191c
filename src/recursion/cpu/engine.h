/*-------------------------------------------------------------------------
 *
 * engine.h
 *	  Internals of the CPU engine for recursion plans, shared by
 *	  cpu_recursive*.c only.
 *
 * Values are interned once, to dense 32-bit ids (id 0 is NULL), and every
 * relation is an append-only array of id tuples.  The rows found in one round
 * are neighbours in it, so that "previous", "delta" and "full" are row ranges:
 *
 *		0 ........ delta ........ committed ........ end
 *		[ previous )[    delta   )[ new, not yet visible )
 *
 * Membership is decided by a set (hash of packed pairs, hash of rows, or a
 * bitmap over the id domain), joins by indexes: hash-indexed sorted arrays
 * (HISA) in levels of geometrically growing size, so that a round pays for its
 * delta and not for the full relation.
 *
 * Two shapes of recursion have kernels of their own that work on 64 to 512
 * rows an instruction: recursion/cpu/closure.c and recursion/cpu/same_generation.c.  A third
 * needs no rounds: recursion/cpu/labels.c.
 *
 * Everything is counted in the run's budget; the functions return a
 * status and leave their structures consistent, so that finish can free them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_CPU_ENGINE_H
#define GPUCOL_RECURSION_CPU_ENGINE_H

#include <stdatomic.h>
#include <string.h>

#include "base/budget.h"
#include "base/hash_table.h"
#include "base/pool.h"
#include "base/thread.h"
#include "recursion/engine.h"
#include "kernel/recursion_values.h"

#define GPUCOL_REC_VECTOR	1024	/* rows that flow through a rule together */
#define GPUCOL_REC_NULL_ID	0

#define GPUCOL_REC_TRY(call) \
	do { \
		GpucolStatus try_status_ = (call); \
		if (try_status_ != GPUCOL_OK) \
			return try_status_; \
	} while (0)

/* Compile hot loops for several instruction sets, chosen at load time. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define GPUCOL_REC_CLONES \
	__attribute__((target_clones("arch=x86-64-v4,arch=x86-64-v3,default")))
#else
#define GPUCOL_REC_CLONES
#endif

/* What they call, which is compiled with them only where it is inlined. */
#define GPUCOL_REC_INLINE	inline __attribute__((always_inline))

/*
 * Make *array of the run's memory hold at least `needed` elements of `size` bytes;
 * *allocated counts elements.
 */
static inline GpucolStatus
gpucol_rec_reserve(GpucolBudget *memory, void **array, uint64_t *allocated,
				   uint64_t needed, size_t size)
{
	return gpucol_budget_array(memory, array, allocated, needed, size) ?
		GPUCOL_OK : GPUCOL_OUT_OF_MEMORY;
}

/* ---- values to ids (recursion/cpu/dictionary.c) ---- */

typedef struct GpucolRecDictionary
{
	int64_t    *values;			/* by id; [0] is NULL's and unused */
	uint64_t	nvalues;		/* ids given out, NULL included */
	uint64_t	values_allocated;
	uint32_t   *direct;			/* small non-negative value -> id; 0 = none */
	uint64_t	direct_allocated;
	GpucolHashTable table;		/* ids of the others, */
	uint64_t	nhashed;		/* so many */
} GpucolRecDictionary;

/* Ids that one of several threads gives to values. */
typedef struct GpucolRecOwnIds
{
	uint32_t	next;			/* those that it has not given yet */
	uint32_t	end;
	uint32_t	left;			/* how many it may give in all, before more room is made */
} GpucolRecOwnIds;

extern GpucolStatus gpucol_rec_dictionary_init(GpucolRecDictionary *dictionary,
											   GpucolBudget *memory);
extern void gpucol_rec_dictionary_free(GpucolRecDictionary *dictionary,
									   GpucolBudget *memory);

/* ---- relations (recursion/cpu/relation.c) ---- */

typedef enum GpucolRecSetKind
{
	GPUCOL_REC_SET_NONE,		/* bag: every row is new */
	GPUCOL_REC_SET_UNIT,		/* arity 0 */
	GPUCOL_REC_SET_BITS,		/* arity 1 or 2: one bit for each possible row */
	GPUCOL_REC_SET_PAIRS,		/* arity 2: hash of packed pairs */
	GPUCOL_REC_SET_ROWS			/* hash of row numbers */
} GpucolRecSetKind;

typedef struct GpucolRecSlot
{
	uint32_t	start;
	uint32_t	count;
} GpucolRecSlot;

/* Rows [first, last) sorted by the columns of an index. */
typedef struct GpucolRecLevel
{
	uint64_t	first;
	uint64_t	last;
	uint32_t   *tuples;			/* whole tuples, those of one key together */
	uint32_t   *offsets;		/* dense: by id, noffsets entries */
	uint64_t	noffsets;
	GpucolRecSlot *slots;		/* or open addressing, nslots a power of two */
	uint64_t	nslots;
} GpucolRecLevel;

#define GPUCOL_REC_MAX_LEVELS	48

typedef struct GpucolRecIndex
{
	struct GpucolRecIndex *next;
	uint32_t	mask;			/* columns of the key, as bits */
	int			ncolumns;
	uint8_t		columns[GPUCOL_REC_MAX_ARITY];
	int			nlevels;
	GpucolRecLevel levels[GPUCOL_REC_MAX_LEVELS];
} GpucolRecIndex;

typedef struct GpucolRecTable
{
	const GpucolRecRelation *decl;
	int			arity;
	bool		bag;
	GpucolRecRun *run;
	uint32_t	forms;			/* columns, as bits, whose equal values have several forms (options.forms) */
	uint32_t   *tuples;			/* row-major */
	uint64_t	allocated;		/* rows */
	uint64_t	delta;			/* first row of the delta */
	uint64_t	committed;		/* rows that rules see */
	uint64_t	end;			/* rows, with those of this round */
	uint64_t	candidates;		/* rows offered to the set so far */
	GpucolRecSetKind set;
	uint64_t   *bits;			/* SET_BITS: domain^arity bits */
	uint64_t	domain;
	uint64_t   *slots;			/* SET_PAIRS: key; SET_ROWS: hash << 32 | row + 1 */
	uint64_t	nslots;
	uint64_t	region;			/* slots that a probe stays in; see slot_home */
	uint64_t   *old;			/* while it grows: the slots before, */
	uint64_t	nold;			/* how many they are, */
	uint64_t	old_region;		/* and their region */
	uint64_t	nused;
	GpucolRecIndex *indexes;
	uint64_t	emitted;		/* rows that next() has delivered */
	struct GpucolRecKernel *kernel; /* produces the rows after tuples[] */
	struct GpucolRecTotals *totals; /* all that is kept of the rows, or NULL */
	struct GpucolRecChosen *choices;	/* choice.c */
	uint32_t	nchoices;
} GpucolRecTable;

/* What belongs to a stratum. */
typedef struct GpucolRecStratum
{
	const uint32_t *relations;	/* that it derives */
	uint32_t	nrelations;
	uint32_t	nrules;
	const uint32_t *rules;
} GpucolRecStratum;

struct GpucolRecRun
{
	const GpucolRecPlan *plan;
	GpucolRecOptions options;
	GpucolBudget memory;
	GpucolRecDictionary dictionary;
	GpucolRecTable *tables;
	uint32_t   *constants;		/* ids of the plan's constants */
	struct GpucolRecStratum *strata;	/* by number */
	uint32_t   *sorted;			/* relations derived, and rules, by stratum */
	bool		fixed_domain;	/* no rule makes a value that was not loaded */
	struct GpucolRecExec *execs;	/* one for each rule, made when first run */
	uint32_t	stratum;		/* next to start, or running */
	bool		in_stratum;
	bool		done;
	_Atomic bool forms_lost;	/* which form a row has is not known */
	GpucolStatus failed;		/* sticky */
	int64_t		stratum_rounds;
	GpucolRecProgress progress;
	int64_t    *out_values;		/* buffers of next() */
	uint8_t    *out_nulls;
	const int64_t **out_columns;
	const uint8_t **out_null_columns;
};

/* Milliseconds between two looks for a cancel of a thread that waits. */
#define GPUCOL_REC_POLL_MS		20

/* True if the run is to end; call at least every 50 ms. */
static inline bool
gpucol_rec_cancelled(const GpucolRecRun *run)
{
	return run->options.cancelled != NULL &&
		run->options.cancelled(run->options.context);
}

/* The same from a loop over many rows, i counting them. */
static inline bool
gpucol_rec_poll(const GpucolRecRun *run, uint64_t i)
{
	return (i & 0x3ffff) == 0x3ffff && gpucol_rec_cancelled(run);
}

/* Id of a value of the run's dictionary, a new one if need be. */
extern GpucolStatus gpucol_rec_dictionary_intern(GpucolRecRun *run, int64_t value,
												 uint32_t *id);

/* The same for n values, NULL's id where nulls[i]; nulls may be NULL: none. */
extern GpucolStatus gpucol_rec_dictionary_intern_column(GpucolRecRun *run, uint32_t n, const int64_t *values,
														const uint8_t *nulls, uint32_t *ids);

/* Make room for `members` threads that give up to n ids each. */
extern GpucolStatus gpucol_rec_dictionary_share(GpucolRecRun *run, uint64_t members, uint32_t n);

/* The same as intern_column by one of them, which may give n more. */
extern void gpucol_rec_dictionary_intern_shared(GpucolRecRun *run, GpucolRecOwnIds *own, uint32_t n,
												const int64_t *values, const uint8_t *nulls, uint32_t *ids);

static inline uint64_t
gpucol_rec_mix(uint64_t h)
{
	h ^= h >> 32;
	h *= UINT64_C(0x9E3779B97F4A7C15);
	return h ^ (h >> 29);
}

extern GpucolStatus gpucol_rec_table_init(GpucolRecRun *run, uint32_t relation);
extern void gpucol_rec_table_free(GpucolRecRun *run, GpucolRecTable *table);

/*
 * Add n candidate rows given as columns of ids; those that the table does not
 * hold are appended after `end`.
 */
extern GpucolStatus gpucol_rec_table_add(GpucolRecRun *run,
										 GpucolRecTable *table, uint32_t n,
										 const uint32_t *const *columns);

/*
 * Which of n rows, given as columns of ids, does the set of the table hold, be they committed
 * or of this round?  False: it has no set that tells.
 */
extern bool gpucol_rec_table_holds(const GpucolRecTable *table, uint32_t n,
								   const uint32_t *const *columns, uint8_t *holds);

/* Append rows known to be absent, without entering them in the set. */
extern GpucolStatus gpucol_rec_table_append(GpucolRecRun *run,
											GpucolRecTable *table, uint64_t n,
											const uint32_t *pairs);

/* Of the rows after `committed`, drop those that no choice of the relation lets stay. */
extern GpucolStatus gpucol_rec_choose(GpucolRecRun *run, GpucolRecTable *table);
extern void gpucol_rec_choices_free(GpucolRecRun *run, GpucolRecTable *table);

/* The rows after `committed` become the delta. */
extern void gpucol_rec_table_commit(GpucolRecRun *run, GpucolRecTable *table);

/* Drop rows that a merge column has superseded. */
extern GpucolStatus gpucol_rec_table_compact(GpucolRecRun *run,
											 GpucolRecTable *table);

/* Is this row of a merging table the current one of its key? */
extern bool gpucol_rec_table_current(const GpucolRecTable *table, uint64_t row);

/* Drop the duplicates of a bag of pairs of ids below `domain`, before it is read. */
extern GpucolStatus gpucol_rec_table_distinct(GpucolRecRun *run, GpucolRecTable *table,
											  uint64_t domain);

/* Turn the set into a bitmap over ids below `domain`. */
extern GpucolStatus gpucol_rec_table_to_bits(GpucolRecRun *run,
											 GpucolRecTable *table,
											 uint64_t domain);

/* Release the set of a table that gets no more rows. */
extern void gpucol_rec_table_free_set(GpucolRecRun *run, GpucolRecTable *table);

/*
 * Candidates that one of several threads has collected (recursion/cpu/buffers.c).
 * They enter the table in this order: open, by one thread; decide, by all, each
 * as one of `nowners` owners; count, by all, each its own buffer; take, likewise;
 * close, by one.
 */
typedef struct GpucolRecBuffer
{
	uint32_t	n;
	uint32_t	room;
	uint32_t	kept;			/* of n */
	uint32_t	entered;		/* of kept: with a slot of their own */
	bool		ended;			/* the thread gets no more */
	uint32_t   *tuples;			/* row-major */
	uint64_t   *hash;			/* once decided: its partition and the slot */
	uint8_t    *keep;			/* 0 = not, 1 = yes, 2 = instead of an older row */
} GpucolRecBuffer;

/* False: out of memory, and nothing is held. */
extern bool gpucol_rec_buffer_init(GpucolBudget *memory,
								   const GpucolRecTable *table,
								   GpucolRecBuffer *buffer, uint32_t room);
extern void gpucol_rec_buffer_free(GpucolBudget *memory,
								   const GpucolRecTable *table,
								   GpucolRecBuffer *buffer);

/* Can several threads add to the table? */
extern bool gpucol_rec_table_shareable(const GpucolRecTable *table);

/* Add n candidates to a buffer that has room for them. */
extern void gpucol_rec_table_offer(const GpucolRecTable *table,
								   GpucolRecBuffer *buffer, uint32_t n,
								   const uint32_t *const *columns);
extern GpucolStatus gpucol_rec_table_open(GpucolRecRun *run,
										  GpucolRecTable *table,
										  const GpucolRecBuffer *buffers,
										  int nbuffers);
/* False: a cancel came, which the first owner looks for. */
extern bool gpucol_rec_table_decide(GpucolRecRun *run, GpucolRecTable *table,
									GpucolRecBuffer *buffers, int nbuffers,
									int owner, int nowners);
extern void gpucol_rec_table_count(GpucolRecBuffer *buffer);
extern void gpucol_rec_table_take(GpucolRecTable *table,
								  const GpucolRecBuffer *buffers, int own);
extern void gpucol_rec_table_close(GpucolRecRun *run, GpucolRecTable *table,
								   const GpucolRecBuffer *buffers,
								   int nbuffers);

/* ---- indexes (recursion/cpu/index.c) ---- */

/* Find or create the index on the columns of `mask` (not 0). */
extern GpucolStatus gpucol_rec_index_get(GpucolRecRun *run,
										 GpucolRecTable *table, uint32_t mask,
										 GpucolRecIndex **index);

/* Make it cover all committed rows, with a level that ends at `delta`. */
extern GpucolStatus gpucol_rec_index_refresh(GpucolRecRun *run,
											 GpucolRecTable *table,
											 GpucolRecIndex *index);
extern void gpucol_rec_index_free(GpucolRecRun *run, GpucolRecTable *table,
								  GpucolRecIndex *index);

/* Hash of a key whose ids are key[0 .. n-1]. */
static GPUCOL_REC_INLINE uint64_t
gpucol_rec_hash_key(const uint32_t *key, int n)
{
	uint64_t	h = key[0];
	int			i;

	for (i = 1; i < n; i++)
		h = gpucol_rec_mix(h) + key[i];
	return gpucol_rec_mix(h);
}

/* ---- rules (recursion/cpu/rules.c) ---- */

typedef struct GpucolRecExec GpucolRecExec;

extern GpucolStatus gpucol_rec_rule_run(GpucolRecRun *run, uint32_t rule);

/* Free what was prepared for a rule, which does not run again; and for all. */
extern void gpucol_rec_rule_free(GpucolRecRun *run, uint32_t rule);
extern void gpucol_rec_rules_free(GpucolRecRun *run);

/* ---- kernels ---- */

/*
 * A kernel evaluates one stratum of a known shape and then produces its rows
 * as pairs of ids, or their summary.
 */
typedef struct GpucolRecKernel
{
	int64_t		rounds;			/* of its stratum, for kernels that make rounds */

	/* Up to n pairs into out[2 * n]; *produced = 0 at the end. */
	GpucolStatus (*next) (GpucolRecRun *run, struct GpucolRecKernel *kernel,
						  uint32_t *pairs, uint32_t n, uint32_t *produced);

	/*
	 * Number of rows and, by id, how many rows have it in each column (arrays
	 * of one counter an id, zeroed by the caller; either may be NULL).
	 */
	GpucolStatus (*count) (GpucolRecRun *run, struct GpucolRecKernel *kernel,
						   uint64_t *nrows, uint64_t *first, uint64_t *second);
	void		(*free) (GpucolRecRun *run, struct GpucolRecKernel *kernel);
} GpucolRecKernel;

/* ---- aggregates over all rows (recursion/cpu/totals.c) ---- */

/* Add the committed rows of a table to summaries of the columns with want[i]. */
extern GpucolStatus gpucol_rec_summarise_rows(const GpucolRecRun *run,
											  const GpucolRecTable *table,
											  const bool *want,
											  GpucolRecSummary *columns);

/* Add the rows that its kernel would produce. */
extern GpucolStatus gpucol_rec_summarise_kernel(GpucolRecRun *run, GpucolRecTable *table,
												const bool *want, uint64_t *nrows,
												GpucolRecSummary *columns);

/* What is known of a relation of two columns whose rows nobody reads. */
typedef struct GpucolRecTotals
{
	uint64_t	nrows;
	GpucolRecSummary columns[2];
	uint64_t	nids;			/* when they were counted */
	uint64_t   *counts[2];		/* by id: rows that have it in the column, or NULL */
} GpucolRecTotals;

/* An AGGREGATE that totals can answer. */
typedef struct GpucolRecTotal
{
	uint32_t	relation;
	int			value;			/* the aggregated column, -1 = none */
	int			key;			/* the column that is matched, -1 = none, */
	GpucolRecOperand operand;	/* and with what */
} GpucolRecTotal;

/* Is step `at` of the plan one? */
extern bool gpucol_rec_total_of(const GpucolRecPlan *plan, uint32_t at,
								GpucolRecTotal *total);

/*
 * If totals are all that is read of a relation that has a kernel, have it count them;
 * *made says whether.
 */
extern GpucolStatus gpucol_rec_totals_make(GpucolRecRun *run, uint32_t relation, bool *made);

/* The value of such an aggregate; key is the id that its key matches. */
extern GpucolStatus gpucol_rec_totals_get(const GpucolRecTotals *totals,
										  const GpucolRecStep *step,
										  const GpucolRecTotal *total, uint32_t key,
										  GpucolRecValue *result);
extern void gpucol_rec_totals_free(GpucolRecRun *run, GpucolRecTable *table);

/*
 * r(x,z) :- r(x,y), e(y,z), its mirror image, and r(x,z) :- r(x,y), r(y,z):
 * if the stratum has this shape, *kernel is set when its first delta is
 * committed.
 */
extern GpucolStatus gpucol_rec_closure_start(GpucolRecRun *run,
											 uint32_t stratum,
											 GpucolRecTable **table,
											 GpucolRecKernel **kernel);

/* r(x,y) :- e(a,x), r(a,b), f(b,y): likewise, between any two rounds. */
extern GpucolStatus gpucol_rec_samegen_start(GpucolRecRun *run,
											 uint32_t stratum,
											 GpucolRecTable **table,
											 GpucolRecKernel **kernel);

/*
 * r(y,l) :- r(x,l), e(x,y) where r keeps the least or greatest l: if the stratum has this
 * shape, all that its rules would bring is added to the relation and *done set, when
 * its first delta is committed.
 */
extern GpucolStatus gpucol_rec_labels_run(GpucolRecRun *run, uint32_t stratum,
										  bool *done);

/*
 * If the stratum defines one binary relation by set semantics, and that by one
 * or two recursive rules: the relation and the rules (rules[2]).
 */
extern bool gpucol_rec_stratum_lone(const GpucolRecRun *run, uint32_t stratum,
									 uint32_t *relation, uint32_t *rules,
									 uint32_t *nrules);

/* Binary atoms of a rule whose columns are two different registers. */
typedef struct GpucolRecEdge
{
	uint32_t	relation;
	uint16_t	first;			/* register of column 0 */
	uint16_t	second;
	uint8_t		version;
} GpucolRecEdge;

/*
 * Read a rule as n such atoms and an EMIT of two registers; false if it is
 * anything else.
 */
extern bool gpucol_rec_rule_edges(const GpucolRecRun *run, uint32_t rule,
								  uint32_t n, GpucolRecEdge *atoms,
								  GpucolRecEdge *emit);

/* Neighbours of each id, as compressed sparse rows. */
typedef struct GpucolRecAdjacency
{
	uint32_t	n;				/* ids */
	uint64_t   *start;			/* n + 1 */
	uint64_t	nedges;
	uint32_t   *to;
} GpucolRecAdjacency;

/*
 * Adjacency of the committed rows of a table, from one column to another; rows whose
 * `from` is NULL are left out if skip_null.
 */
extern GpucolStatus gpucol_rec_adjacency_build(GpucolRecRun *run,
											   const GpucolRecTable *table,
											   int from, int to, bool skip_null,
											   GpucolRecAdjacency *adjacency);
extern void gpucol_rec_adjacency_free(GpucolRecRun *run,
									  GpucolRecAdjacency *adjacency);

/*
 * Strongly connected components of a graph, numbered in topological order, and
 * the edges between different ones, each once.
 */
typedef struct GpucolRecComponents
{
	uint32_t	nnodes;
	uint32_t	ncomponents;
	uint32_t   *component;		/* by node */
	uint32_t   *member_start;	/* ncomponents + 1 */
	uint32_t   *members;
	GpucolRecAdjacency successors;	/* component to component */
} GpucolRecComponents;

/* Build from a zeroed struct; whatever comes of it, free it. */
extern GpucolStatus gpucol_rec_components_build(GpucolRecRun *run,
												const GpucolRecAdjacency *edges,
												GpucolRecComponents *components);

/* Every node is a component of its own, edges as they are; takes the edges. */
extern GpucolStatus gpucol_rec_components_of_nodes(GpucolRecRun *run,
												   GpucolRecAdjacency *edges,
												   GpucolRecComponents *components);
extern void gpucol_rec_components_free(GpucolRecRun *run,
									   GpucolRecComponents *components);

/* ---- one rule in several threads (recursion/cpu/team.c) ---- */

typedef struct GpucolRecTeam GpucolRecTeam;

/*
 * Call work(context, team, i) for each member i.  Members take pieces of rows
 * [first, last) with gpucol_rec_team_rows until it says false, and emit to
 * `table`; if the rule `computes`, they give values ids.  GPUCOL_END: there is no memory for that, and nothing
 * was done.
 */
extern GpucolStatus gpucol_rec_team_run(GpucolRecRun *run,
										GpucolRecTable *table, uint64_t first,
										uint64_t last, int members, bool computes,
										void (*work) (void *context,
													  GpucolRecTeam *team,
													  int member),
										void *context);
extern bool gpucol_rec_team_rows(GpucolRecTeam *team, uint64_t *first,
								 uint64_t *last);
extern GpucolStatus gpucol_rec_team_emit(GpucolRecTeam *team, int member,
										 uint32_t n,
										 const uint32_t *const *columns);

/* Have `ids`, zeroed when the member began, suffice for n values. */
extern GpucolStatus gpucol_rec_team_ids(GpucolRecTeam *team, int member, GpucolRecOwnIds *ids, uint32_t n);

/* Is the work to end? */
extern bool gpucol_rec_team_stopped(GpucolRecTeam *team, int member);

/* End it with this status. */
extern void gpucol_rec_team_fail(GpucolRecTeam *team, GpucolStatus status);

#endif							/* GPUCOL_RECURSION_CPU_ENGINE_H */
