/*-------------------------------------------------------------------------
 *
 * bandwidth.c
 *	  Memory read bandwidth of a number of threads: the floor of a warm scan.
 *
 * `bandwidth THREADS [KIB]` sums 1 GiB of 64-bit words, split among the threads, and
 * prints the best of five passes in GB/s (10^9 bytes).  With KIB each thread reads
 * the first KIB of its part over and over: 16 stay in the first cache, so that the
 * figures of one and of two threads tell whether two processors share a core.
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
	size_t		count;			/* words to sum */
	size_t		length;			/* after so many from the start again */
	uint64_t	sum;
} Part;

static void *
sum_part(void *argument)
{
	Part	   *part = argument;
	uint64_t	sum = 0;

	for (size_t done = 0; done < part->count; done += part->length)
	{
		for (size_t i = 0; i < part->length; i++)
			sum += part->words[i];
		__asm__ volatile("" ::: "memory");
	}
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
pass(const uint64_t *words, int threads, size_t kib, uint64_t *sum)
{
	pthread_t	thread[MAX_THREADS];
	Part		part[MAX_THREADS];
	double		start = seconds();

	for (int i = 0; i < threads; i++)
	{
		size_t		count = WORDS / threads;

		part[i] = (Part) {words + count * i, count, kib > 0 ? kib * 128 : count, 0};
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
	size_t		kib = argc > 2 ? (size_t) atoi(argv[2]) : 0;
	uint64_t   *words = malloc(WORDS * sizeof(uint64_t));
	uint64_t	sum = 0;
	double		best = 1e9;

	if (words == NULL || threads < 1 || threads > MAX_THREADS)
		return 1;
	for (size_t i = 0; i < WORDS; i++)
		words[i] = i;
	for (int i = 0; i < PASSES; i++)
	{
		double		took = pass(words, threads, kib, &sum);

		best = took < best ? took : best;
	}
	printf("%.2f\n", WORDS * sizeof(uint64_t) / best / 1e9);
	return sum == 42;
}
