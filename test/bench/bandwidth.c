/*-------------------------------------------------------------------------
 *
 * bandwidth.c
 *	  Memory read bandwidth of a number of threads: the floor of a warm scan.
 *
 * `bandwidth THREADS` sums 1 GiB of 64-bit words, split among the threads, and
 * prints the best of five passes in GB/s (10^9 bytes).
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORDS ((size_t) 1 << 27)
#define PASSES 5
#define MAX_THREADS 256

typedef struct Part
{
	const uint64_t *words;
	size_t		count;
	uint64_t	sum;
} Part;

static void *
sum_part(void *argument)
{
	Part	   *part = argument;
	uint64_t	sum = 0;

	for (size_t i = 0; i < part->count; i++)
		sum += part->words[i];
	part->sum = sum;
	return NULL;
}

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* One pass over all words; the sum keeps the compiler honest. */
static double
pass(const uint64_t *words, int threads, uint64_t *sum)
{
	pthread_t	thread[MAX_THREADS];
	Part		part[MAX_THREADS];
	double		start = seconds();

	for (int i = 0; i < threads; i++)
	{
		part[i] = (Part) {words + WORDS / threads * i, WORDS / threads, 0};
		if (pthread_create(&thread[i], NULL, sum_part, &part[i]) != 0)
			exit(1);
	}
	for (int i = 0; i < threads; i++)
	{
		pthread_join(thread[i], NULL);
		*sum += part[i].sum;
	}
	return seconds() - start;
}

int
main(int argc, char **argv)
{
	int			threads = argc > 1 ? atoi(argv[1]) : 1;
	uint64_t   *words = malloc(WORDS * sizeof(uint64_t));
	uint64_t	sum = 0;
	double		best = 1e9;

	if (words == NULL || threads < 1 || threads > MAX_THREADS)
		return 1;
	for (size_t i = 0; i < WORDS; i++)
		words[i] = i;
	for (int i = 0; i < PASSES; i++)
	{
		double		took = pass(words, threads, &sum);

		best = took < best ? took : best;
	}
	printf("%.2f\n", WORDS * sizeof(uint64_t) / best / 1e9);
	return sum == 42;
}
