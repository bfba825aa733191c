/*-------------------------------------------------------------------------
 *
 * manifest.c
 *	  What the segments of a table came to for one set of columns.
 *
 * A few are kept, those used last; nothing that some run still uses is freed.  One
 * whose dictionaries have grown too large, by strings of delta rows, is let go.  What is
 * kept counts against the session's budget, and takes a small part of it.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/manifest.h"

#define KEPT		16			/* at a time */
#define KEPT_BYTES	((size_t) 32 << 20) /* of one, at most */

#define KEPT_SHARE	8			/* of what the budget has left, for all */

static GpucolGpuManifest *kept[KEPT];
static uint64_t clock_now = 0;
static uint64_t last_id = 0;

uint64_t
gpucol_gpu_manifest_identity(const uint32_t *words, size_t n)
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
free_manifest(GpucolGpuManifest *manifest)
{
	for (int c = 0; manifest->dictionaries != NULL && c < manifest->ncolumns; c++)
		gpucol_gpu_dictionary_free(manifest->dictionaries[c]);
	free(manifest->dictionaries);
	free(manifest->segments);
	free(manifest->chunks);
	free(manifest->first_rows);
	free(manifest->columns);
	free(manifest->uses);
	free(manifest);
}

/* Was it made for this? */
static bool
is_for(const GpucolGpuManifest *manifest, const GpucolSource *source,
	   const GpucolProgramColumn *columns, int ncolumns, const GpucolBytesUse *uses)
{
	return manifest->version == source->version &&
		manifest->storage[0] == source->storage[0] && manifest->storage[1] == source->storage[1] &&
		manifest->ncolumns == ncolumns &&
		memcmp(manifest->columns, columns, sizeof(*columns) * (size_t) ncolumns) == 0 &&
		memcmp(manifest->uses, uses, sizeof(*uses) * (size_t) ncolumns) == 0;
}

GpucolGpuManifest *
gpucol_gpu_manifest_find(GpucolSource *source, const GpucolProgramColumn *columns,
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

GpucolGpuManifest *
gpucol_gpu_manifest_create(const GpucolSource *source, const GpucolProgramColumn *columns,
						int ncolumns, const GpucolBytesUse *uses)
{
	GpucolGpuManifest *manifest = calloc(1, sizeof(GpucolGpuManifest));
	size_t		n = (size_t) ncolumns + 1;

	if (manifest == NULL)
		return NULL;
	manifest->id = ++last_id;
	manifest->users = 1;
	manifest->storage[0] = source->storage[0];
	manifest->storage[1] = source->storage[1];
	manifest->version = source->version;
	manifest->ncolumns = ncolumns;
	manifest->columns = calloc(n, sizeof(*columns));
	manifest->uses = calloc(n, sizeof(*uses));
	manifest->dictionaries = calloc(n, sizeof(void *));
	if (manifest->columns == NULL || manifest->uses == NULL || manifest->dictionaries == NULL)
	{
		free_manifest(manifest);
		return NULL;
	}
	memcpy(manifest->columns, columns, sizeof(*columns) * (size_t) ncolumns);
	memcpy(manifest->uses, uses, sizeof(*uses) * (size_t) ncolumns);
	for (int c = 0; c < ncolumns; c++)
	{
		if (uses[c] != GPUCOL_BYTES_NUMBERS)
			continue;
		manifest->dictionaries[c] = gpucol_gpu_dictionary_create();
		if (manifest->dictionaries[c] == NULL)
		{
			free_manifest(manifest);
			return NULL;
		}
	}
	return manifest;
}

static GpucolStatus
make_space(GpucolGpuManifest *manifest)
{
	uint32_t	space = manifest->space == 0 ? 64 : manifest->space * 2;
	void	   *p;

	if (space > GPUCOL_WIRE_MAX_SEGMENTS)
		return GPUCOL_UNSUPPORTED;
	if ((p = realloc(manifest->segments, sizeof(*manifest->segments) * space)) == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	manifest->segments = p;
	if ((p = realloc(manifest->chunks, sizeof(*manifest->chunks) * ((size_t) manifest->ncolumns * space + 1))) == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	manifest->chunks = p;
	if ((p = realloc(manifest->first_rows, sizeof(*manifest->first_rows) * space)) == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	manifest->first_rows = p;
	manifest->space = space;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_gpu_manifest_add(GpucolGpuManifest *manifest, const GpucolWireSegment *segment,
					 uint64_t first_row, GpucolWireColumnChunk **chunks)
{
	GpucolStatus status = manifest->nsegments < manifest->space ? GPUCOL_OK : make_space(manifest);

	if (status != GPUCOL_OK)
		return status;
	*chunks = manifest->chunks + (size_t) manifest->nsegments * manifest->ncolumns;
	memset(*chunks, 0, sizeof(**chunks) * (size_t) manifest->ncolumns);
	manifest->first_rows[manifest->nsegments] = first_row;
	manifest->segments[manifest->nsegments++] = *segment;
	return GPUCOL_OK;
}

size_t
gpucol_gpu_manifest_bytes(const GpucolGpuManifest *manifest)
{
	size_t		n = manifest->space * (sizeof(GpucolWireSegment) + sizeof(uint64_t) +
									(size_t) manifest->ncolumns * sizeof(GpucolWireColumnChunk));

	for (int c = 0; c < manifest->ncolumns; c++)
		if (manifest->dictionaries[c] != NULL)
			n += gpucol_gpu_dictionary_bytes(manifest->dictionaries[c]);
	return n;
}

/* Keep the one at a place no longer: it has a user less. */
static void
let_go(int place)
{
	GpucolGpuManifest *manifest = kept[place];

	kept[place] = NULL;
	manifest->users--;
	if (manifest->budget != NULL)
		gpucol_budget_release(manifest->budget, manifest->counted);
	manifest->counted = 0;
	manifest->budget = NULL;
}

/* A place that is free, or else that used longest ago. */
static int
oldest_place(void)
{
	int			place = 0;

	for (int i = 0; i < KEPT; i++)
	{
		if (kept[i] == NULL)
			return i;
		if (kept[i]->used < kept[place]->used)
			place = i;
	}
	return place;
}

/* May so many bytes more be kept?  Reserves them. */
static bool
reserve(GpucolBudget *budget, size_t bytes)
{
	size_t		all = bytes;

	for (int i = 0; i < KEPT; i++)
		if (kept[i] != NULL)
			all += kept[i]->counted;
	return all <= gpucol_budget_left(budget) / KEPT_SHARE && gpucol_budget_reserve(budget, bytes);
}

void
gpucol_gpu_manifest_keep(GpucolGpuManifest *manifest, GpucolBudget *budget)
{
	size_t		bytes = gpucol_gpu_manifest_bytes(manifest);
	GpucolGpuManifest *oldest;
	int			place;

	if (manifest->version == 0 || manifest->nsegments == 0 || bytes > KEPT_BYTES)
		return;
	place = oldest_place();
	oldest = kept[place];
	if (oldest != NULL)
	{
		let_go(place);
		if (oldest->users == 0)
			free_manifest(oldest);
	}
	if (budget != NULL && !reserve(budget, bytes))
		return;
	manifest->budget = budget;
	manifest->counted = bytes;
	kept[place] = manifest;
	manifest->users++;
	manifest->used = ++clock_now;
}

bool
gpucol_gpu_manifest_listable(const GpucolGpuManifest *manifest)
{
	return manifest->version != 0 &&
		(uint64_t) manifest->nsegments * ((uint32_t) manifest->ncolumns + 1) <= GPUCOL_WIRE_LIST_CHUNKS;
}

/* Count what delta rows have added to the dictionaries; false: it has become too much. */
static bool
count_growth(GpucolGpuManifest *manifest)
{
	size_t		bytes = gpucol_gpu_manifest_bytes(manifest);

	if (bytes > 2 * KEPT_BYTES)
		return false;
	if (manifest->budget != NULL && bytes > manifest->counted &&
		!reserve(manifest->budget, bytes - manifest->counted))
		return false;
	if (bytes > manifest->counted)
		manifest->counted = bytes;
	return true;
}

void
gpucol_gpu_manifest_release(GpucolGpuManifest *manifest)
{
	if (manifest == NULL)
		return;
	for (int i = 0; i < KEPT; i++)
		if (kept[i] == manifest && !count_growth(manifest))
			let_go(i);
	if (--manifest->users == 0)
		free_manifest(manifest);
}
