/*-------------------------------------------------------------------------
 *
 * gpu_order.c
 *	  Orders of byte strings: sorted by bytes and by a host's comparison, sorted
 *	  again after others were numbered, and left in the middle of a comparison.
 *
 *-------------------------------------------------------------------------
 */
#include <setjmp.h>

#include "engine/gpu/order.h"

#include "check.h"

static long compared;
static long leave_at;
static jmp_buf left;

/* Order 0: by bytes, backwards; order 1: by length, then by bytes. */
static int
compare(void *context, int order, const GpucolBytes *a, const GpucolBytes *b)
{
	size_t		n = a->len < b->len ? a->len : b->len;
	int			c = memcmp(a->data, b->data, n);

	(void) context;
	if (++compared == leave_at)
		longjmp(left, 1);
	if (c == 0 || order == 1)
		c = a->len != b->len ? (a->len < b->len ? -1 : 1) : c;
	return order == 0 ? -c : c;
}

static const GpucolHost host = {.compare = compare};

/* The comparison that an order of an aggregate stands for. */
static int
expected(uint16_t order, const GpucolBytes *a, const GpucolBytes *b)
{
	return order == 0 ? -compare(NULL, 0, a, b) : compare(NULL, order - 1, a, b);
}

/* Number n random strings more. */
static void
add_strings(GpucolGpuDictionary *dictionary, int n)
{
	for (int i = 0; i < n; i++)
	{
		char		data[8];
		size_t		len = check_random() % 7;
		uint32_t	number;

		for (size_t k = 0; k < len; k++)
			data[k] = (char) (check_random() % 5 * 60);
		CHECK(gpucol_gpu_dictionary_number(dictionary, data, len, &number), "no memory");
	}
}

/* Sort by an order: every number once, each string after the one before; the comparisons made. */
static long
sort_and_check(GpucolGpuDictionary *dictionary, uint16_t which)
{
	GpucolGpuOrder order = {.order = which};
	void	   *scratch = NULL;
	uint32_t	n;
	const GpucolBytes *strings = gpucol_gpu_dictionary_strings(dictionary, &n);
	uint8_t    *seen = calloc(n + 1u, 1);
	long		took;

	compared = 0;
	CHECK(gpucol_gpu_order_sort(&order, dictionary, &host, &scratch) == GPUCOL_OK, "order %d", which);
	took = compared;
	CHECK(order.n == n, "%u of %u", order.n, n);
	for (uint32_t i = 0; i < order.n; i++)
	{
		CHECK(order.numbers[i] < n && !seen[order.numbers[i]]++, "number %u at %u", order.numbers[i], i);
		CHECK(i == 0 || expected(which, &strings[order.numbers[i - 1]], &strings[order.numbers[i]]) < 0,
			  "order %d at %u", which, i);
	}
	free(seen);
	free(order.numbers);
	free(scratch);
	return took;
}

/* Leave in every comparison in turn: nothing is lost (the leak checker tells), and what follows is right. */
static void
test_leaving(void)
{
	GpucolGpuDictionary *dictionary = gpucol_gpu_dictionary_create();
	static GpucolGpuOrder order;
	static void *scratch;

	add_strings(dictionary, 40);
	for (volatile long at = 1;; at += 3)
	{
		order = (GpucolGpuOrder) {.order = 2};
		scratch = NULL;
		compared = 0;
		leave_at = at;
		if (setjmp(left) == 0)
		{
			CHECK(gpucol_gpu_order_sort(&order, dictionary, &host, &scratch) == GPUCOL_OK, "sort");
			leave_at = 0;
		}
		free(order.numbers);
		free(scratch);
		if (leave_at == 0)
			break;
	}
	sort_and_check(dictionary, 0);
	gpucol_gpu_dictionary_free(dictionary);
}

int
main(void)
{
	static const GpucolHost none;
	GpucolGpuOrder order = {.order = 1};
	void	   *scratch = NULL;

	for (int n = 0; n < 300; n += n < 5 ? 1 : 59)
	{
		GpucolGpuDictionary *dictionary = gpucol_gpu_dictionary_create();
		uint32_t	strings;

		add_strings(dictionary, n);
		gpucol_gpu_dictionary_strings(dictionary, &strings);
		for (uint16_t which = 0; which < 3; which++)
		{
			sort_and_check(dictionary, which);
			CHECK(which == 0 || sort_and_check(dictionary, which) == (strings > 0 ? strings - 1 : 0),
				  "what is sorted is compared with its neighbour only");
		}
		add_strings(dictionary, 30);
		sort_and_check(dictionary, 2);
		sort_and_check(dictionary, 1);
		CHECK(gpucol_gpu_order_sort(&order, dictionary, &none, &scratch) == GPUCOL_UNSUPPORTED, "no comparison");
		gpucol_gpu_dictionary_free(dictionary);
	}
	test_leaving();
	return check_summary("gpu_order");
}
