/*-------------------------------------------------------------------------
 *
 * guc.h
 *	  All settings of gpucol, in name order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_GUC_H
#define GPUCOL_GUC_H

/* gpucol.engine */
typedef enum GpucolEngineChoice
{
	GPUCOL_ENGINE_AUTO,
	GPUCOL_ENGINE_CPU,
	GPUCOL_ENGINE_CUDA
} GpucolEngineChoice;

/* gpucol.pushdown */
typedef enum GpucolPushdownChoice
{
	GPUCOL_PUSHDOWN_ALLOW,
	GPUCOL_PUSHDOWN_FORBID,
	GPUCOL_PUSHDOWN_REQUIRE
} GpucolPushdownChoice;

/* Most that gpucol.automerge_max_workers may be. */
#define GPUCOL_AUTOMERGE_WORKERS	64

extern bool gpucol_automerge;
extern double gpucol_automerge_cost_delay;	/* milliseconds */
extern int	gpucol_automerge_cost_limit;	/* -1 = vacuum_cost_limit */
extern int	gpucol_automerge_max_workers;
extern int	gpucol_automerge_naptime;	/* seconds */
extern double gpucol_automerge_scale_factor;
extern int	gpucol_automerge_threshold;
extern int	gpucol_automerge_timeout;	/* seconds */
extern int	gpucol_cpu_threads;
extern int	gpucol_delta_memory_limit;	/* MB; 0 = nothing is kept */
extern bool gpucol_enable_agg;
extern bool gpucol_enable_into;
extern bool gpucol_enable_join;
extern bool gpucol_enable_recursive;
extern bool gpucol_enable_scan;
extern bool gpucol_enable_topk;
extern bool gpucol_enable_window;
extern bool gpucol_enabled;
extern int	gpucol_engine_choice;
extern int	gpucol_gpu_memory_limit;	/* MB; 0 = chosen by the daemon */
extern bool gpucol_jit;
extern int	gpucol_max_cpu_threads; /* 0 = by the number of processors */
extern int	gpucol_max_memory;	/* MB; 0 = half of the machine */
extern int	gpucol_max_recursion_rounds;	/* 0 = no limit */
extern int	gpucol_memory_limit;	/* MB; 0 = hash_mem, and 256 at least */
extern int	gpucol_pushdown;
extern int	gpucol_ranking_memory_limit;	/* MB; 0 = half of the machine */
extern int	gpucol_recursive_memory_limit;	/* MB; 0 = half of the machine */
extern int	gpucol_recursive_strategy;	/* GpucolRecStrategy */
extern int	gpucol_segment_rows;

extern void gpucol_guc_init(void);

#endif							/* GPUCOL_GUC_H */
