/*-------------------------------------------------------------------------
 *
 * status.h
 *	  Status codes that every engine, the storage codec and the device daemon
 *	  return instead of raising errors.
 *
 * Code below this line of the architecture never longjmps: it runs in threads,
 * in a process without PostgreSQL, and on a device.  The executor layer turns a
 * status into PostgreSQL's own error (same text, same SQLSTATE as the function
 * that the user called would have raised) or, for the codes from
 * GPUCOL_UNSUPPORTED on, into a whole-query fallback.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_STATUS_H
#define GPUCOL_KERNEL_STATUS_H

typedef enum GpucolStatus
{
	GPUCOL_OK = 0,
	GPUCOL_END,					/* no more data; not an error */

	/* errors of the user's expression: raised as PostgreSQL's own */
	GPUCOL_INT2_OUT_OF_RANGE,	/* "smallint out of range" */
	GPUCOL_INT4_OUT_OF_RANGE,	/* "integer out of range" */
	GPUCOL_INT8_OUT_OF_RANGE,	/* "bigint out of range" */
	GPUCOL_FLOAT_OVERFLOW,		/* "value out of range: overflow" */
	GPUCOL_FLOAT_UNDERFLOW,		/* "value out of range: underflow" */
	GPUCOL_DIVISION_BY_ZERO,	/* "division by zero" */
	GPUCOL_ROOT_OF_NEGATIVE,	/* "cannot take square root of a negative number" */
	GPUCOL_LOG_OF_ZERO,			/* "cannot take logarithm of zero" */
	GPUCOL_LOG_OF_NEGATIVE,		/* "cannot take logarithm of a negative number" */
	GPUCOL_ZERO_TO_NEGATIVE,	/* "zero raised to a negative power is undefined" */
	GPUCOL_COMPLEX_POWER,		/* "a negative number raised to a non-integer power ..." */
	GPUCOL_INPUT_OUT_OF_RANGE,	/* "input is out of range" */
	GPUCOL_DATE_OUT_OF_RANGE,	/* "date out of range" */
	GPUCOL_DATE_NO_STAMP,		/* "date out of range for timestamp" */
	GPUCOL_STAMP_OUT_OF_RANGE,	/* "timestamp out of range" */
	GPUCOL_INFINITE_DATES,		/* "cannot subtract infinite dates" */
	GPUCOL_SPAN_OUT_OF_RANGE,	/* "interval out of range" */
	GPUCOL_BOUNDS_TURNED,		/* "range lower bound must be less than or equal to range upper bound" */

	/* errors of the data or of the environment: raised as gpucol's own */
	GPUCOL_CORRUPT,				/* bytes that no writer of ours produces */
	GPUCOL_CANCELLED,			/* cancel or timeout: CHECK_FOR_INTERRUPTS next */
	GPUCOL_ROUNDS_EXCEEDED,		/* a recursion went past its limit of rounds */

	/* reasons for a whole-query fallback to another engine */
	GPUCOL_UNSUPPORTED,			/* a value or shape this engine does not do */
	GPUCOL_OUT_OF_MEMORY,		/* within the budget that the engine was given */
	GPUCOL_DEVICE_LOST,			/* daemon or device went away */
	GPUCOL_UNPROFITABLE,		/* another engine would be faster */
	GPUCOL_TOO_DEEP				/* nested deeper than the thread's stack allows */
} GpucolStatus;

/* true for a status that another engine may still answer */
#define GPUCOL_STATUS_IS_FALLBACK(s) ((s) >= GPUCOL_UNSUPPORTED)

/* true for a status that says which error a row of the user's raises */
#define GPUCOL_STATUS_IS_OF_ROW(s) \
	((s) >= GPUCOL_INT2_OUT_OF_RANGE && (s) <= GPUCOL_BOUNDS_TURNED)

#endif							/* GPUCOL_KERNEL_STATUS_H */
