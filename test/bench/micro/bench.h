/*-------------------------------------------------------------------------
 *
 * bench.h
 *	  Timing for the micro benches: medians of repetitions in one process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BENCH_BENCH_H
#define GPUCOL_BENCH_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BENCH_REPEATS 7

static inline double
bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* Processor time of this process: what other load on the machine disturbs less. */
static inline double
bench_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static inline int
bench_compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/*
 * Median seconds of processor time of one execution of `statement`, which is
 * first run once to warm caches and then `loops` times in each of BENCH_REPEATS
 * repetitions.
 */
#define BENCH(seconds, loops, statement) \
	do { \
		double		times_[BENCH_REPEATS]; \
		statement; \
		for (int r_ = 0; r_ < BENCH_REPEATS; r_++) \
		{ \
			double		start_ = bench_cpu(); \
			for (long l_ = 0; l_ < (loops); l_++) \
			{ \
				statement; \
				__asm__ volatile("" ::: "memory"); \
			} \
			times_[r_] = (bench_cpu() - start_) / (double) (loops); \
		} \
		qsort(times_, BENCH_REPEATS, sizeof(double), bench_compare); \
		(seconds) = times_[BENCH_REPEATS / 2]; \
	} while (0)

static uint64_t bench_seed = 42;

static inline uint64_t
bench_random(void)
{
	uint64_t	z = (bench_seed += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif							/* GPUCOL_BENCH_BENCH_H */
