/*-------------------------------------------------------------------------
 *
 * jsonb_number.h
 *	  Numbers out of fields of documents, without their text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_JSONB_NUMBER_H
#define GPUCOL_EXEC_JSONB_NUMBER_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* Have an expression that is ready take (document ->> key)::number by the functions here. */
extern void gpucol_jsonb_number_install(ExprState *state);

#endif							/* GPUCOL_EXEC_JSONB_NUMBER_H */
