/*-------------------------------------------------------------------------
 *
 * describe.c
 *	  Rules of a recursion plan in words, to show in what order they join.
 *
 * For example "path :- delta path, edge [1], not wall [1 2], 1 test": for each row of
 * the last delta of path, the rows of edge whose first column is known by then, for
 * which wall has no row with both columns, and that pass a test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "recursion/front/builder.h"

/* The columns of a relation that a step matches with what is known. */
static void
append_columns(StringInfo out, const GpucolRecPlan *plan, const GpucolRecStep *step)
{
	const char *separator = " [";
	int			i;

	for (i = 0; i < step->noperands; i++)
	{
		uint16		kind = plan->operands[step->operands + i].kind;

		if (kind != GPUCOL_REC_REGISTER && kind != GPUCOL_REC_CONSTANT)
			continue;
		appendStringInfo(out, "%s%d", separator, i + 1);
		separator = " ";
	}
	if (separator[1] == '\0')
		appendStringInfoChar(out, ']');
}

/* Add a step that reads a relation. */
static void
append_relation(StringInfo out, const GpucolRecPlan *plan,
				const GpucolRecStep *step, const char *const *names,
				const char *what)
{
	appendStringInfo(out, "%s%s%s", out->data[out->len - 1] == '-' ? " " : ", ",
					 what, names[step->relation]);
	append_columns(out, plan, step);
}

char *
gpucol_rec_plan_describe(const GpucolRecPlan *plan, uint32 number,
						 const char *const *names)
{
	const GpucolRecRule *rule = &plan->rules[number];
	const GpucolRecStep *steps = &plan->steps[rule->steps];
	StringInfoData out;
	int			tests = 0;
	uint32		i;

	initStringInfo(&out);
	appendStringInfo(&out, "%s :-", names[steps[rule->nsteps - 1].relation]);
	for (i = 0; i < rule->nsteps; i++)
	{
		if (steps[i].kind == GPUCOL_REC_EXPAND)
		{
			appendStringInfo(&out, "%srows of a function", out.data[out.len - 1] == '-' ? " " : ", ");
			continue;
		}
		switch ((GpucolRecStepKind) steps[i].kind)
		{
			case GPUCOL_REC_ATOM:
				append_relation(&out, plan, &steps[i], names,
								steps[i].version == GPUCOL_REC_DELTA ? "delta " :
								steps[i].version == GPUCOL_REC_PREVIOUS ?
								"previous " : "");
				break;
			case GPUCOL_REC_PRESENT:
				append_relation(&out, plan, &steps[i], names, "some ");
				break;
			case GPUCOL_REC_ABSENT:
				append_relation(&out, plan, &steps[i], names, "not ");
				break;
			case GPUCOL_REC_TEST:
				tests++;
				break;
			default:
				break;
		}
	}
	if (tests > 0)
		appendStringInfo(&out, "%s%d %s", out.data[out.len - 1] == '-' ? " " : ", ",
						 tests, tests == 1 ? "test" : "tests");
	return out.data;
}
