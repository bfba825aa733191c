/*-------------------------------------------------------------------------
 *
 * send.h
 *	  Rows of our nodes to the client.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_SEND_H
#define GPUCOL_EXEC_SEND_H

/* Install the executor hook; called once, from _PG_init. */
extern void gpucol_send_init(void);

#endif							/* GPUCOL_EXEC_SEND_H */
