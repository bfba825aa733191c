/*-------------------------------------------------------------------------
 *
 * opcodes.h
 *	  The one table of kernel opcodes.  Every engine expands it: for an enum, for
 *	  names in EXPLAIN and errors, for dispatch, for code generation.
 *
 * GPUCOL_OPCODE(NAME, result, a, b, c)
 *	  result, a, b, c: register classes (see GpucolClass), NONE where unused.
 *	  B bool, I int64, D int128 decimal mantissa, F float8, S bytes.
 *
 * The table has no include guard: it is included once for each expansion.
 *
 * NULL rules: unless a comment says otherwise an operation is strict (NULL in,
 * NULL out).  Errors count only for rows of the instruction's mask that have
 * no NULL operand.
 *
 *-------------------------------------------------------------------------
 */

/* sources */
GPUCOL_OPCODE(LOAD_I, I, NONE, NONE, NONE)	/* column `aux` of kind INT; of
												 * kind DECIMAL, the mantissas */
GPUCOL_OPCODE(LOAD_D, D, NONE, NONE, NONE)	/* column `aux` of kind DECIMAL */
GPUCOL_OPCODE(LOAD_F, F, NONE, NONE, NONE)	/* column `aux` of a float kind */
GPUCOL_OPCODE(LOAD_B, B, NONE, NONE, NONE)	/* boolean column `aux` (kind INT) */
GPUCOL_OPCODE(LOAD_S, S, NONE, NONE, NONE)	/* column `aux` of kind BYTES */
GPUCOL_OPCODE(CONST_I, I, NONE, NONE, NONE) /* constant `aux` */
GPUCOL_OPCODE(CONST_D, D, NONE, NONE, NONE)
GPUCOL_OPCODE(CONST_F, F, NONE, NONE, NONE)
GPUCOL_OPCODE(CONST_B, B, NONE, NONE, NONE)

/* integers; aux = 2, 4 or 8: width of PostgreSQL's result type, range-checked */
GPUCOL_OPCODE(ADD_I, I, I, I, NONE)
GPUCOL_OPCODE(SUB_I, I, I, I, NONE)
GPUCOL_OPCODE(MUL_I, I, I, I, NONE)
GPUCOL_OPCODE(DIV_I, I, I, I, NONE) /* truncates; division by zero */
GPUCOL_OPCODE(MOD_I, I, I, I, NONE) /* sign of the dividend; x % -1 = 0 */
GPUCOL_OPCODE(NEG_I, I, I, NONE, NONE)
GPUCOL_OPCODE(ABS_I, I, I, NONE, NONE)
GPUCOL_OPCODE(CHECK_I, I, I, NONE, NONE)	/* cast to a narrower integer, or GPUCOL_WIDTH_NONE */

/* decimals: both operands at one scale but for MUL_D; beyond int128 is
 * GPUCOL_UNSUPPORTED */
GPUCOL_OPCODE(ADD_D, D, D, D, NONE)
GPUCOL_OPCODE(SUB_D, D, D, D, NONE)
GPUCOL_OPCODE(MUL_D, D, D, D, NONE)
GPUCOL_OPCODE(NEG_D, D, D, NONE, NONE)
GPUCOL_OPCODE(ABS_D, D, D, NONE, NONE)
GPUCOL_OPCODE(RESCALE_D, D, D, NONE, NONE)	/* times 10^aux */
GPUCOL_OPCODE(I_TO_D, D, I, NONE, NONE) /* times 10^aux */

/* floats; aux = 4 or 8: precision of PostgreSQL's result type; overflow and
 * underflow are errors exactly where PostgreSQL's float functions raise them */
GPUCOL_OPCODE(ADD_F, F, F, F, NONE)
GPUCOL_OPCODE(SUB_F, F, F, F, NONE)
GPUCOL_OPCODE(MUL_F, F, F, F, NONE)
GPUCOL_OPCODE(DIV_F, F, F, F, NONE)
GPUCOL_OPCODE(NEG_F, F, F, NONE, NONE)
GPUCOL_OPCODE(ABS_F, F, F, NONE, NONE)
GPUCOL_OPCODE(ROUND_F, F, F, NONE, NONE)	/* float8 -> float4 cast */
GPUCOL_OPCODE(I_TO_F, F, I, NONE, NONE)
GPUCOL_OPCODE(F_TO_I, I, F, NONE, NONE) /* rint, range-checked to aux bytes */

/* comparisons; floats by PostgreSQL's total order (NaN greatest and equal) */
GPUCOL_OPCODE(EQ_I, B, I, I, NONE)
GPUCOL_OPCODE(NE_I, B, I, I, NONE)
GPUCOL_OPCODE(LT_I, B, I, I, NONE)
GPUCOL_OPCODE(LE_I, B, I, I, NONE)
GPUCOL_OPCODE(EQ_D, B, D, D, NONE)
GPUCOL_OPCODE(NE_D, B, D, D, NONE)
GPUCOL_OPCODE(LT_D, B, D, D, NONE)
GPUCOL_OPCODE(LE_D, B, D, D, NONE)
GPUCOL_OPCODE(EQ_F, B, F, F, NONE)
GPUCOL_OPCODE(NE_F, B, F, F, NONE)
GPUCOL_OPCODE(LT_F, B, F, F, NONE)
GPUCOL_OPCODE(LE_F, B, F, F, NONE)
GPUCOL_OPCODE(IN_I, B, I, NONE, NONE)	/* constants b .. b + c - 1, ascending */
GPUCOL_OPCODE(HOST_TEST, B, S, NONE, NONE)	/* host predicate `aux`, once per
											 * distinct value; sees NULL too */

/* three-valued logic; never strict */
GPUCOL_OPCODE(AND, B, B, B, NONE)
GPUCOL_OPCODE(OR, B, B, B, NONE)
GPUCOL_OPCODE(NOT, B, B, NONE, NONE)
GPUCOL_OPCODE(IS_TRUE, B, B, NONE, NONE)	/* never NULL */
GPUCOL_OPCODE(IS_NULL_B, B, B, NONE, NONE)	/* never NULL */
GPUCOL_OPCODE(IS_NULL_I, B, I, NONE, NONE)
GPUCOL_OPCODE(IS_NULL_D, B, D, NONE, NONE)
GPUCOL_OPCODE(IS_NULL_F, B, F, NONE, NONE)
GPUCOL_OPCODE(IS_NULL_S, B, S, NONE, NONE)
GPUCOL_OPCODE(B_TO_I, I, B, NONE, NONE) /* false 0, true 1 */

/* a ? b : c; NULL condition takes c */
GPUCOL_OPCODE(CASE_B, B, B, B, B)
GPUCOL_OPCODE(CASE_I, I, B, I, I)
GPUCOL_OPCODE(CASE_D, D, B, D, D)
GPUCOL_OPCODE(CASE_F, F, B, F, F)

/* byte strings, the CPU engine's; aux: GPUCOL_TEXT_xxx */
GPUCOL_OPCODE(LENGTH_S, I, S, NONE, NONE)
GPUCOL_OPCODE(PART_S, S, S, NONE, NONE) /* constants b, c: what is skipped, then taken */
GPUCOL_OPCODE(MATCH_S, S, S, NONE, NONE) /* constants from b: a GpucolTextPattern; its group, else all */
GPUCOL_OPCODE(FIELD_S, S, S, NONE, NONE) /* constants from b: a GpucolTextSeparator; aux: which field */
GPUCOL_OPCODE(EQ_S, B, S, S, NONE)	/* as bytes */
GPUCOL_OPCODE(LT_S, B, S, S, NONE)

/* functions of floats, aux: GpucolMathFunction (kernel/math_functions.h); the CPU engine */
GPUCOL_OPCODE(MATH_F, F, F, NONE, NONE)
GPUCOL_OPCODE(MATH2_F, F, F, F, NONE)

/* bits of integers; aux as above, nothing leaves it; the CPU engine */
GPUCOL_OPCODE(BIT_AND_I, I, I, I, NONE)
GPUCOL_OPCODE(BIT_OR_I, I, I, I, NONE)
GPUCOL_OPCODE(BIT_XOR_I, I, I, I, NONE)
GPUCOL_OPCODE(SHL_I, I, I, I, NONE) /* by the lowest bits of b, as processors do */
GPUCOL_OPCODE(SHR_I, I, I, I, NONE)

/* dates and timestamps (engine/cpu/expr_time.c); the CPU engine */
GPUCOL_OPCODE(DATE_ADD_I, I, I, I, NONE)	/* days, times aux */
GPUCOL_OPCODE(TIME_DIFF_I, I, I, I, NONE)	/* of dates (aux 4), timestamps (8) or finite ones (9) */
GPUCOL_OPCODE(SHIFT_I, I, I, I, I)	/* by an interval, as a timestamp; aux: GPUCOL_SHIFT_xxx */

/* decimals that carry their own scale, P (kernel/packed_decimal.h); the CPU engine */
GPUCOL_OPCODE(PACK_D, D, D, I, NONE)	/* a mantissa at scale aux, b digits of which are shown */
GPUCOL_OPCODE(NUMERIC_P, D, S, NONE, NONE)	/* a numeric as PostgreSQL stores it */
GPUCOL_OPCODE(ARITH_P, D, D, D, NONE)	/* aux: GpucolPackedFunction; division by zero */
GPUCOL_OPCODE(COMPARE_P, B, D, D, NONE) /* aux: GpucolPackedComparison */
GPUCOL_OPCODE(PART_P, D, D, NONE, NONE) /* aux: GpucolPackedPart */
GPUCOL_OPCODE(ROUND_P, D, D, NONE, NONE)	/* aux: GPUCOL_PACKED_ROUND; a plain mantissa */
GPUCOL_OPCODE(SCALE_P, I, D, NONE, NONE)
GPUCOL_OPCODE(P_TO_F, F, D, NONE, NONE)
GPUCOL_OPCODE(D_TO_I, I, D, NONE, NONE) /* of a plain one at scale 0; aux as above */

/* intervals, in three integers: months, days, microseconds; the CPU engine.  aux is
 * GPUCOL_SPAN_xxx; infinite ones are GPUCOL_UNSUPPORTED */
GPUCOL_OPCODE(SPAN_S, I, S, NONE, NONE) /* a part of an interval as PostgreSQL stores it */
GPUCOL_OPCODE(SPAN_ADD_I, I, I, I, NONE)	/* aux negative: less b */
GPUCOL_OPCODE(AGE_I, I, I, I, NONE) /* a part of age(a, b) of timestamps */

/* a timestamp to a zone's local time, or back (aux: GPUCOL_ZONE_TO_STAMP); the CPU engine */
GPUCOL_OPCODE(ZONE_I, I, I, NONE, NONE) /* constants from b: a GpucolTimeZone */
GPUCOL_OPCODE(ZONE_S, I, I, S, NONE)	/* b: the host's address of one; GPUCOL_UNSUPPORTED where it is empty */

/* texts made of values (kernel/text_form.h); the CPU engine */
GPUCOL_OPCODE(FORM_I, S, I, NONE, NONE) /* aux: GpucolTextForm */
GPUCOL_OPCODE(FORM_TZ, S, I, I, NONE)	/* a timestamptz, b its local time */
GPUCOL_OPCODE(FORM_D, S, D, NONE, NONE) /* aux: scale; negative: a carries it */
GPUCOL_OPCODE(FORM_S, S, S, NONE, NONE) /* a uuid */
GPUCOL_OPCODE(MD5_S, S, S, NONE, NONE)	/* of bytes, as digits */
GPUCOL_OPCODE(PICTURE_I, S, I, NONE, NONE)	/* a timestamp; constants from b: a GpucolTextPicture */
GPUCOL_OPCODE(TEXT_S, S, NONE, NONE, NONE)	/* constants from b: length in four bytes, bytes */
GPUCOL_OPCODE(CASE_S, S, B, S, S)	/* as the other CASE */
GPUCOL_OPCODE(BOTH_S, S, S, S, S)	/* a, b, and c between them; aux: GpucolBothNull */

/* a, which is an error above b; where one is NULL it is not: bounds of ranges; the CPU engine */
GPUCOL_OPCODE(ORDERED_I, I, I, I, NONE)

/* arrays as PostgreSQL stores them (kernel/array_value.h); the CPU engine.  aux: width of the
 * elements of a type of fixed width */
GPUCOL_OPCODE(ARRAY_SIZE_S, I, S, NONE, NONE)	/* aux: GPUCOL_ARRAY_SIZE_AUX */
GPUCOL_OPCODE(ARRAY_ITEM_I, I, S, I, NONE)	/* the element of subscript b, or NULL */
GPUCOL_OPCODE(ARRAY_ITEM_F, F, S, I, NONE)
GPUCOL_OPCODE(ARRAY_ITEM_S, S, S, I, NONE)
GPUCOL_OPCODE(ARRAY_HAS_I, B, S, I, NONE)	/* b = ANY (a); false of an array without elements, whatever b is */
GPUCOL_OPCODE(ARRAY_HAS_F, B, S, F, NONE)
GPUCOL_OPCODE(ARRAY_HAS_S, B, S, S, NONE)	/* as bytes */
GPUCOL_OPCODE(ARRAY_PLACE_I, I, S, I, NONE) /* array_position(a, b), NULL elements found by NULL; more
											 * than one dimension is GPUCOL_UNSUPPORTED */
GPUCOL_OPCODE(ARRAY_PLACE_F, I, S, F, NONE)
GPUCOL_OPCODE(ARRAY_PLACE_S, I, S, S, NONE)

/* what the host makes of a column's values, the CPU engine's */
GPUCOL_OPCODE(HOST_MAP, S, S, NONE, NONE)	/* host function `aux`, once per distinct value; sees
											 * NULL too */

/* a numeric as PostgreSQL stores it as a mantissa at scale aux, NULL if it is none of int64, or
 * GPUCOL_UNSUPPORTED (GPUCOL_NUMERIC_EXACTLY, GPUCOL_NUMERIC_SHOWN_SO); the CPU engine's */
GPUCOL_OPCODE(NUMERIC_D, D, S, NONE, NONE)
GPUCOL_OPCODE(SCALE_S, I, S, NONE, NONE)	/* how many digits it displays; more than aux are GPUCOL_UNSUPPORTED */

/* decimals that are rounded out of quotients and floats; the CPU engine's */
GPUCOL_OPCODE(QUOTIENT_D, D, D, D, NONE)	/* by a constant other than 0; aux: GPUCOL_QUOTIENT */
GPUCOL_OPCODE(F_TO_D, D, F, NONE, NONE) /* aux: GPUCOL_FLOAT_DECIMAL */

/*
 * Arrays as rows (lower/fold.c).  EACH and SPREAD have a value for each element of the arrays of a row, and so
 * has what is computed of them; such instructions read no other values of rows, but constants.  A FOLD makes
 * one value of those of a row's elements; NULL does not count.  The CPU engine's.
 */
GPUCOL_OPCODE(EACH_I, I, S, NONE, NONE) /* the element of array a, NULL where another has more; aux: its width */
GPUCOL_OPCODE(EACH_F, F, S, NONE, NONE)
GPUCOL_OPCODE(EACH_S, S, S, NONE, NONE)
GPUCOL_OPCODE(EACH_NUMBER, I, S, NONE, NONE)	/* its number from 1; aux: its width */
GPUCOL_OPCODE(SPREAD_B, B, B, NONE, NONE)	/* the row's value, for each of its elements */
GPUCOL_OPCODE(SPREAD_I, I, I, NONE, NONE)
GPUCOL_OPCODE(SPREAD_F, F, F, NONE, NONE)
GPUCOL_OPCODE(SPREAD_S, S, S, NONE, NONE)
GPUCOL_OPCODE(HOST_EACH, B, S, NONE, NONE)	/* host predicate `aux`, which any thread may ask for */
GPUCOL_OPCODE(FOLD_COUNT, I, B, NONE, NONE) /* of those that are true; never NULL */
GPUCOL_OPCODE(FOLD_DISTINCT_I, I, I, B, NONE)	/* how many differ of those where b is true; never NULL */
GPUCOL_OPCODE(FOLD_DISTINCT_F, I, F, B, NONE)
GPUCOL_OPCODE(FOLD_DISTINCT_S, I, S, B, NONE)	/* as bytes */
GPUCOL_OPCODE(FOLD_AND, B, B, NONE, NONE)	/* NULL where there is none, as of all that follow */
GPUCOL_OPCODE(FOLD_OR, B, B, NONE, NONE)
GPUCOL_OPCODE(FOLD_SUM_I, I, I, NONE, NONE) /* of integers of 4 bytes, or fewer */
GPUCOL_OPCODE(FOLD_SUM_D, D, I, NONE, NONE)
GPUCOL_OPCODE(FOLD_SUM_F, F, F, NONE, NONE) /* in the order of elements; aux: bytes of the type */
GPUCOL_OPCODE(FOLD_AVG_F, F, F, NONE, NONE)
GPUCOL_OPCODE(FOLD_MIN_I, I, I, NONE, NONE)
GPUCOL_OPCODE(FOLD_MAX_I, I, I, NONE, NONE)
GPUCOL_OPCODE(FOLD_MIN_F, F, F, NONE, NONE) /* of equal ones the last */
GPUCOL_OPCODE(FOLD_MAX_F, F, F, NONE, NONE)

/* functions of packed decimals with PostgreSQL's digits, aux: GpucolNumericFunction; the CPU engine's */
GPUCOL_OPCODE(MATH_P, D, D, NONE, NONE)
GPUCOL_OPCODE(MATH2_P, D, D, D, NONE)
GPUCOL_OPCODE(F_TO_P, D, F, NONE, NONE) /* aux 4: a real; the CPU engine's */
GPUCOL_OPCODE(TRIM_P, D, D, NONE, NONE) /* without zeros at the end: equal ones are the same */
