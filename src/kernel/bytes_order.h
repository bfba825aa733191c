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

/*
 * The order of a least or greatest value, as GpucolAgg.order numbers it.  Values that are
 * equal to the host are in the order of their bytes, so that every engine finds the same.
 * Calls the host, which may raise the user's errors.
 */
static inline int
gpucol_host_order_compare(const GpucolHost *host, int order, const GpucolBytes *a,
						  const GpucolBytes *b)
{
	int			c = order > 0 ? host->compare(host->context, order - 1, a, b) : 0;

	return c != 0 ? c : gpucol_bytes_compare(a, b);
}

#endif							/* GPUCOL_KERNEL_BYTES_ORDER_H */
