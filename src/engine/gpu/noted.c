/*-------------------------------------------------------------------------
 *
 * noted.c
 *	  What the segments of a table came to for one set of columns.
 *
 * A few are kept, those used last; nothing that some run still uses is freed.  One
 * whose dictionaries have grown too large, by strings of delta rows, is let go.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/noted.h"

#define KEPT		16			/* at a time */
#define KEPT_BYTES	((size_t) 32 << 20) /* of one, at most */

static GpucolGpuNoted *kept[KEPT];
static uint64_t clock_now = 0;
static uint64_t last_id = 0;

uint64_t
gpucol_gpu_noted_identity(const uint32_t *words, size_t n)
{
	uint64_t	h = 0x9e3779b97f4a7c15u ^ n;

	for (size_t i = 0; i < n; i++)
	{
		h = (h ^ words[i]) * 0xbf58476d1ce4e5b9u;
		h ^= h >> 29;
	}
	h = (h ^ h >> 32) * 0x94d049bb133111ebu;
	return (h ^ h >> 31) | 1;
}

static void
free_noted(GpucolGpuNoted *noted)
{
	for (int c = 0; noted->dictionaries != NULL && c < noted->ncolumns; c++)
		gpucol_gpu_dictionary_free(noted->dictionaries[c]);
	free(noted->dictionaries);
	free(noted->segments);
	free(noted->chunks);
	free(noted->first_rows);
	free(noted->columns);
	free(noted->uses);
	free(noted);
}

/* Was it made for this? */
static bool
is_for(const GpucolGpuNoted *noted, const GpucolSource *source,
	   const GpucolProgramColumn *columns, int ncolumns, const GpucolBytesUse *uses)
{
	return noted->version == source->version &&
		noted->storage[0] == source->storage[0] && noted->storage[1] == source->storage[1] &&
		noted->ncolumns == ncolumns &&
		memcmp(noted->columns, columns, sizeof(*columns) * (size_t) ncolumns) == 0 &&
		memcmp(noted->uses, uses, sizeof(*uses) * (size_t) ncolumns) == 0;
}

GpucolGpuNoted *
gpucol_gpu_noted_find(GpucolSource *source, const GpucolProgramColumn *columns,
					  int ncolumns, const GpucolBytesUse *uses)
{
	if (source->version == 0 && source->ops->identify != NULL)
		source->ops->identify(source);
	if (source->version == 0)
		return NULL;
	for (int i = 0; i < KEPT; i++)
		if (kept[i] != NULL && is_for(kept[i], source, columns, ncolumns, uses))
		{
			kept[i]->users++;
			kept[i]->used = ++clock_now;
			return kept[i];
		}
	return NULL;
}

GpucolGpuNoted *
gpucol_gpu_noted_create(const GpucolSource *source, const GpucolProgramColumn *columns,
						int ncolumns, const GpucolBytesUse *uses)
{
	GpucolGpuNoted *noted = calloc(1, sizeof(GpucolGpuNoted));
	size_t		n = (size_t) ncolumns + 1;

	if (noted == NULL)
		return NULL;
	noted->id = ++last_id;
	noted->users = 1;
	noted->storage[0] = source->storage[0];
	noted->storage[1] = source->storage[1];
	noted->version = source->version;
	noted->ncolumns = ncolumns;
	noted->columns = calloc(n, sizeof(*columns));
	noted->uses = calloc(n, sizeof(*uses));
	noted->dictionaries = calloc(n, sizeof(void *));
	if (noted->columns == NULL || noted->uses == NULL || noted->dictionaries == NULL)
	{
		free_noted(noted);
		return NULL;
	}
	memcpy(noted->columns, columns, sizeof(*columns) * (size_t) ncolumns);
	memcpy(noted->uses, uses, sizeof(*uses) * (size_t) ncolumns);
	for (int c = 0; c < ncolumns; c++)
	{
		if (uses[c] != GPUCOL_BYTES_NUMBERS)
			continue;
		noted->dictionaries[c] = gpucol_gpu_dictionary_create();
		if (noted->dictionaries[c] == NULL)
		{
			free_noted(noted);
			return NULL;
		}
	}
	return noted;
}

static GpucolStatus
make_space(GpucolGpuNoted *noted)
{
	uint32_t	space = noted->space == 0 ? 64 : noted->space * 2;
	void	   *p;

	if (space > GPUCOL_WIRE_MAX_SEGMENTS)
		return GPUCOL_UNSUPPORTED;
	if ((p = realloc(noted->segments, sizeof(*noted->segments) * space)) == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	noted->segments = p;
	if ((p = realloc(noted->chunks, sizeof(*noted->chunks) * ((size_t) noted->ncolumns * space + 1))) == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	noted->chunks = p;
	if ((p = realloc(noted->first_rows, sizeof(*noted->first_rows) * space)) == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	noted->first_rows = p;
	noted->space = space;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_gpu_noted_add(GpucolGpuNoted *noted, const GpucolWireSegment *segment,
					 uint64_t first_row, GpucolWireColumnChunk **chunks)
{
	GpucolStatus status = noted->nsegments < noted->space ? GPUCOL_OK : make_space(noted);

	if (status != GPUCOL_OK)
		return status;
	*chunks = noted->chunks + (size_t) noted->nsegments * noted->ncolumns;
	memset(*chunks, 0, sizeof(**chunks) * (size_t) noted->ncolumns);
	noted->first_rows[noted->nsegments] = first_row;
	noted->segments[noted->nsegments++] = *segment;
	noted->rows += segment->nrows - segment->ndeleted;
	return GPUCOL_OK;
}

/* Memory that it takes. */
static size_t
bytes_of(const GpucolGpuNoted *noted)
{
	size_t		n = noted->space * (sizeof(GpucolWireSegment) + sizeof(uint64_t) +
									(size_t) noted->ncolumns * sizeof(GpucolWireColumnChunk));

	for (int c = 0; c < noted->ncolumns; c++)
		if (noted->dictionaries[c] != NULL)
			n += gpucol_gpu_dictionary_bytes(noted->dictionaries[c]);
	return n;
}

void
gpucol_gpu_noted_keep(GpucolGpuNoted *noted)
{
	int			place = -1;

	if (noted->version == 0 || noted->nsegments == 0 || bytes_of(noted) > KEPT_BYTES)
		return;
	for (int i = 0; i < KEPT; i++)
	{
		if (kept[i] == NULL)
		{
			place = i;
			break;
		}
		if (place < 0 || kept[i]->used < kept[place]->used)
			place = i;
	}
	if (kept[place] != NULL)
		gpucol_gpu_noted_release(kept[place]);
	kept[place] = noted;
	noted->users++;
	noted->used = ++clock_now;
}

bool
gpucol_gpu_noted_listable(const GpucolGpuNoted *noted)
{
	return noted->version != 0 &&
		(uint64_t) noted->nsegments * ((uint32_t) noted->ncolumns + 1) <= GPUCOL_WIRE_LIST_CHUNKS;
}

/* Have delta rows made the dictionaries too large? */
static bool
is_overgrown(const GpucolGpuNoted *noted)
{
	return bytes_of(noted) > 2 * KEPT_BYTES;
}

void
gpucol_gpu_noted_release(GpucolGpuNoted *noted)
{
	if (noted == NULL)
		return;
	for (int i = 0; i < KEPT && is_overgrown(noted); i++)
		if (kept[i] == noted)
		{
			kept[i] = NULL;
			noted->users--;
		}
	if (--noted->users == 0)
		free_noted(noted);
}
