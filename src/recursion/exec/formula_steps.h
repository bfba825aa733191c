/*-------------------------------------------------------------------------
 *
 * formula_steps.h
 *	  What a formula of a recursion consists of: formula.c makes it, formula_run.c runs it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_EXEC_FORMULA_STEPS_H
#define GPUCOL_RECURSION_EXEC_FORMULA_STEPS_H

#include "recursion/exec/formula.h"

#define GPUCOL_FORMULA_STEPS	48

/* Lanes that a thread has room for, of formulas that are computed apart. */
#define GPUCOL_FORMULA_APART	8

/* What a value is. */
typedef enum GpucolFormulaKind
{
	KIND_NONE,
	KIND_INT,
	KIND_FLOAT,
	KIND_NUMERIC,
	KIND_TEXT,
	KIND_BOOL,
	KIND_INTS4,					/* arrays of integers of so many bytes */
	KIND_INTS8
} GpucolFormulaKind;

typedef union GpucolFormulaValue
{
	int64		i;
	double		f;
	int128		d;				/* packed; aligned as allocations are */
	GpucolBytes s;				/* TEXT, and arrays */
} GpucolFormulaValue;

typedef enum GpucolFormulaStepKind
{
	STEP_OPERAND,				/* aux: its number */
	STEP_CONSTANT,
	STEP_NULL,
	STEP_FUNCTION,				/* an opcode of one or two operands */
	STEP_NUMBER,				/* an integer as a packed decimal */
	STEP_REAL,					/* a packed decimal as a float */
	STEP_ROUND,					/* aux: GPUCOL_PACKED_ROUND */
	STEP_WRITE,					/* an integer as text */
	STEP_CONCAT,				/* the last aux values as one; op: NULL where one is */
	STEP_PART,					/* of a text; aux: GpucolFormulaPart */
	STEP_LENGTH,				/* characters of a text */
	STEP_SEARCH,				/* where in a text another begins, in characters */
	STEP_ALIKE,					/* are two texts of the same bytes? */
	STEP_APPEND,				/* an integer to an array, of elements of aux bytes */
	STEP_FIND,					/* is an integer an element of such an array? */
	STEP_NOT,
	STEP_AND,
	STEP_OR,
	STEP_IS_NULL,
	STEP_EITHER,				/* the first unless it is NULL, else the second */
	STEP_EXTREME,				/* the greater, or (aux) the lesser, that is not NULL */
	STEP_SELECT					/* the second where the first is true, else the third */
} GpucolFormulaStepKind;

typedef enum GpucolFormulaPart
{
	PART_FROM,					/* substr(text, from) */
	PART_FROM_FOR,				/* substr(text, from, for) */
	PART_LEFT,
	PART_RIGHT
} GpucolFormulaPart;

typedef struct GpucolFormulaStep
{
	GpucolFormulaStepKind kind;
	GpucolFormulaKind of;		/* OPERAND, EXTREME */
	uint8		op;
	int			aux;
	int			digits;			/* ROUND: at most, else an error; 0: any number */
	GpucolFormulaValue value;
} GpucolFormulaStep;

/* Values of a step for the rows of a piece. */
typedef struct GpucolFormulaLane
{
	GpucolFormulaValue values[GPUCOL_SYMBOLS_PIECE];
	uint8		states[GPUCOL_SYMBOLS_PIECE];
} GpucolFormulaLane;

struct GpucolRecursiveFormula
{
	int			noperands;
	const int  *positions;
	GpucolFormulaKind result;
	Oid			type;
	bool		is_bytes;		/* the characters of texts are bytes */
	bool		has_strings;	/* operands that are TEXT or arrays */
	bool		apart;			/* nothing is allocated, and few lanes do */
	const Node *tested;			/* while it is made: the argument of a CASE */
	int			nsteps;
	GpucolFormulaStep steps[GPUCOL_FORMULA_STEPS];
	GpucolFormulaLane *lanes;	/* a stack of them, as deep as it gets */
};

/* How many values a step takes from the stack. */
extern int	gpucol_formula_step_takes(const GpucolFormulaStep *step);

/* A numeric's bytes as a packed decimal. */
extern bool gpucol_formula_read_number(GpucolBytes bytes, GpucolFormulaValue *out);

#endif							/* GPUCOL_RECURSION_EXEC_FORMULA_STEPS_H */
