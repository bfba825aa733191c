/*-------------------------------------------------------------------------
 *
 * survey.h
 *	  Where the pages of a table lie in shared buffers, and pins of threads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_SURVEY_H
#define GPUCOL_COLUMNAR_SURVEY_H

#include "postgres.h"

#include "storage/buf.h"
#include "utils/rel.h"

typedef struct GpucolSurvey GpucolSurvey;

/*
 * Make a survey of a table in the current memory context, yet to be taken by so many
 * threads; NULL if looking its pages up one by one is sooner, or if they are in no
 * shared buffers.
 */
extern GpucolSurvey *gpucol_survey_create(Relation table, int nthreads);

/* Take part `part` of `nparts` of it.  By any thread; each part once. */
extern void gpucol_survey_take(GpucolSurvey *survey, int part, int nparts);

/*
 * The buffer where a block of the main fork was seen, InvalidBuffer if nowhere.  It
 * may be gone from there: hold it.
 */
extern Buffer gpucol_survey_find(const GpucolSurvey *survey, BlockNumber block);

/*
 * Pin that block if it is still in that buffer.  By any thread of the process, which
 * must give it back before the process ends in any way but by a crash, since nobody
 * else knows of it.
 */
extern bool gpucol_survey_hold(const GpucolSurvey *survey, Buffer buffer, BlockNumber block);
extern void gpucol_survey_let_go(Buffer buffer);

#endif							/* GPUCOL_COLUMNAR_SURVEY_H */
