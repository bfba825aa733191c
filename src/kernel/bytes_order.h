/*-------------------------------------------------------------------------
 *
 * bytes_order.h
 *	  Order of BYTES values: of their bytes, and that of a host.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_BYTES_ORDER_H
#define GPUCOL_KERNEL_BYTES_ORDER_H

#include <string.h>

#include "kernel/program.h"

/* memcmp order, the shorter of equal beginnings first: < 0, 0 or > 0. */
static inline int
gpucol_bytes_compare(const GpucolBytes *a, const GpucolBytes *b)
{
	size_t		len = a->len < b->len ? a->len : b->len;
	int			order = len > 0 ? memcmp(a->data, b->data, len) : 0;

	return order != 0 ? order : a->len < b->len ? -1 : a->len > b->len;
}

/* Months, days and microseconds of an interval as PostgreSQL compares them: months have thirty days. */
static inline __int128
gpucol_bytes_span(const GpucolBytes *value)
{
	int64_t		usecs = 0;
	int32_t		days = 0;
	int32_t		months = 0;

	if (value->len == 16)
	{
		memcpy(&usecs, value->data, 8);
		memcpy(&days, value->data + 8, 4);
		memcpy(&months, value->data + 12, 4);
	}
	return (__int128) (months * INT64_C(30) + days) * INT64_C(86400000000) + usecs;
}

static inline int
gpucol_bytes_compare_spans(const GpucolBytes *a, const GpucolBytes *b)
{
	__int128	x = gpucol_bytes_span(a);
	__int128	y = gpucol_bytes_span(b);

	return x < y ? -1 : x > y;
}

/* Is it an order that the host is asked for? */
static inline bool
gpucol_order_is_host(int order)
{
	return order > 0 && order != GPUCOL_ORDER_SPANS;
}

/*
 * The order of a least or greatest value, as GpucolAgg.order numbers it.  Values that are
 * equal to the host are in the order of their bytes, so that every engine finds the same.
 * Calls the host, which may raise the user's errors.
 */
static inline int
gpucol_host_order_compare(const GpucolHost *host, int order, const GpucolBytes *a,
						  const GpucolBytes *b)
{
	int			c = gpucol_order_is_host(order) ? host->compare(host->context, order - 1, a, b) :
		order == GPUCOL_ORDER_SPANS ? gpucol_bytes_compare_spans(a, b) : 0;

	return c != 0 ? c : gpucol_bytes_compare(a, b);
}

#endif							/* GPUCOL_KERNEL_BYTES_ORDER_H */
