/*-------------------------------------------------------------------------
 *
 * records.h
 *	  Values of records and of algebraic data types.
 *
 * A record is a chain of pairs, each an item and the rest, interned as 16 bytes in a table
 * of their own: equal records are one value.  The value is the pair's code plus 1; 0 is nil,
 * and the end of a chain.  The first item of a branch of an algebraic data type is the
 * branch's number.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_RECORDS_H
#define GPUCOL_RECURSION_FRONT_RECORDS_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "recursion/front/functors.h"

/* Functors: pack(item, rest); field(record, number of the item), 0 where there is none. */
extern int64 gpucol_datalog_pack(const DatalogCall *call);
extern int64 gpucol_datalog_field(const DatalogCall *call);

/* The branch that a type without names of branches has. */
extern const DatalogBranch *gpucol_datalog_only_branch(const DatalogProgram *program,
													   DatalogType type);

/* Append a record as Souffle prints it: [1, a], $B, $A(1, 2), nil. */
extern void gpucol_datalog_print_record(StringInfo out, const DatalogProgram *program,
										const DatalogStore *store, DatalogType type, int64 value);

#endif							/* GPUCOL_RECURSION_FRONT_RECORDS_H */
