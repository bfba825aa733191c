/*-------------------------------------------------------------------------
 *
 * codings.c
 *	  What the encoder makes of the columns of a CSV file with a header line, and
 *	  what exceptions (patched frame of reference) would save.
 *
 * Reads standard input.  A column is INT if every field is an integer, else
 * FLOAT8 if every field is a number, else BYTES; empty fields and NA are NULL.
 * For each column: the coding chosen, its width, its size against 8 bytes a value
 * (BYTES: the bytes themselves), and for numbers the size of the best patched
 * coding, in which a value outside 2^w from the best reference costs 10 bytes
 * (position and value) beside its w bits.
 *
 *	  xz -dc test/bench/data/flights.csv.xz | build/bench/codings
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode.h"
#include "kernel/bitpack.h"

#include "bench.h"

#define MAX_COLUMNS 64
#define EXCEPTION_BYTES 10

typedef struct Column
{
	char	   *name;
	GpucolKind	kind;
	GpucolBytes *bytes;
	int64_t    *values;
	uint32_t   *nulls;
} Column;

static Column columns[MAX_COLUMNS];
static int	ncolumns;
static uint32_t nrows;
static uint32_t room;

static char *
read_all(size_t *len)
{
	size_t		size = 1 << 20;
	char	   *text = malloc(size + 1);

	*len = 0;
	for (;;)
	{
		size_t		n = fread(text + *len, 1, size - *len, stdin);

		*len += n;
		if (n == 0)
			break;
		if (*len == size)
			text = realloc(text, (size *= 2) + 1);
	}
	text[*len] = '\0';
	return text;
}

/* Cut a line at its commas, quotes aside; returns the fields. */
static int
split(char *line, char **fields)
{
	int			n = 0;
	int			quoted = 0;

	fields[n++] = line;
	for (char *p = line; *p; p++)
	{
		quoted ^= *p == '"';
		if (*p == ',' && !quoted && n < MAX_COLUMNS)
		{
			*p = '\0';
			fields[n++] = p + 1;
		}
	}
	return n;
}

static void
add_row(char **fields, int n)
{
	if (nrows == room)
	{
		room = room ? room * 2 : 65536;
		for (int c = 0; c < ncolumns; c++)
			columns[c].bytes = realloc(columns[c].bytes, room * sizeof(GpucolBytes));
	}
	for (int c = 0; c < ncolumns; c++)
	{
		const char *field = c < n ? fields[c] : "";

		columns[c].bytes[nrows] = (GpucolBytes) {field, strlen(field)};
	}
	nrows++;
}

static int
is_null(const GpucolBytes *b)
{
	return b->len == 0 || (b->len == 2 && memcmp(b->data, "NA", 2) == 0);
}

static void
classify(Column *c)
{
	int			ints = 1;
	int			floats = 1;

	c->nulls = calloc(nrows / 32 + 1, 4);
	c->values = calloc(nrows, 8);
	for (uint32_t i = 0; i < nrows; i++)
	{
		char	   *end;
		const char *text = c->bytes[i].data;

		if (is_null(&c->bytes[i]))
		{
			c->nulls[i / 32] |= UINT32_C(1) << (i % 32);
			continue;
		}
		strtoll(text, &end, 10);
		ints &= *end == '\0';
		strtod(text, &end);
		floats &= *end == '\0';
	}
	c->kind = ints ? GPUCOL_KIND_INT : floats ? GPUCOL_KIND_FLOAT8 : GPUCOL_KIND_BYTES;
	for (uint32_t i = 0; i < nrows && c->kind != GPUCOL_KIND_BYTES; i++)
	{
		double		d = strtod(c->bytes[i].data, NULL);

		if (c->kind == GPUCOL_KIND_INT)
			c->values[i] = strtoll(c->bytes[i].data, NULL, 10);
		else
			memcpy(&c->values[i], &d, 8);
	}
}

static int
compare_values(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return x < y ? -1 : x > y;
}

/* Bytes of the best patched coding, with its width and exceptions. */
static uint64_t
best_patched(const Column *c, int *best_width, uint32_t *exceptions)
{
	int64_t    *sorted = malloc((nrows + 1) * 8);
	uint32_t	n = 0;
	uint64_t	nulls = 0;
	uint64_t	best = UINT64_MAX;

	for (uint32_t i = 0; i < nrows; i++)
		if (!(c->nulls[i / 32] >> (i % 32) & 1))
			sorted[n++] = c->values[i];
	qsort(sorted, n, 8, compare_values);
	if (n < nrows)
		nulls = (uint64_t) GPUCOL_VECTORS(nrows) * GPUCOL_ROW_BYTES;
	for (int w = 0; w < 64; w++)
	{
		uint32_t	most = 0;
		uint32_t	hi = 0;
		uint64_t	bytes;

		for (uint32_t lo = 0; lo < n; lo++)
		{
			while (hi < n && (uint64_t) sorted[hi] - (uint64_t) sorted[lo] <=
				   gpucol_bitpack_max(w))
				hi++;
			most = hi - lo > most ? hi - lo : most;
		}
		bytes = nulls + (uint64_t) GPUCOL_VECTORS(nrows) * w * GPUCOL_ROW_BYTES +
			(uint64_t) (n - most) * EXCEPTION_BYTES;
		if (bytes < best)
		{
			best = bytes;
			*best_width = w;
			*exceptions = n - most;
		}
	}
	free(sorted);
	return best;
}

static void
report(const Column *c, const GpucolImage *image, double seconds)
{
	static const char *const codings[] = {"", "CONSTANT", "FOR", "DICT", "RLE", "RAW", "SCALED"};
	static const char *const kinds[] = {"", "int", "", "", "float8", "bytes"};
	const GpucolChunkDesc *desc = gpucol_image_desc(image, 0);
	uint64_t	bytes = (uint64_t) image->pieces[1].nrows * GPUCOL_ROW_BYTES;
	uint64_t	plain = (uint64_t) nrows * 8;

	if (c->kind == GPUCOL_KIND_BYTES)
	{
		plain = 0;
		for (uint32_t i = 0; i < nrows; i++)
			plain += c->bytes[i].len;
	}
	printf("%-15s %-6s %-8s %5d %9.1f %6.1f %6.0f",
		   c->name, kinds[c->kind], codings[desc->coding], desc->width,
		   (double) bytes / 1024, (double) plain / (double) bytes,
		   nrows / seconds / 1e6);
	if (c->kind == GPUCOL_KIND_INT)
	{
		int			width = 0;
		uint32_t	exceptions = 0;
		uint64_t	patched = best_patched(c, &width, &exceptions);

		printf(" %9.1f %5d %9u", (double) patched / 1024, width, exceptions);
	}
	printf("\n");
}

static void
bench_column(Column *c)
{
	GpucolEncodeColumn input = {
		.kind = c->kind, .values = c->values, .bytes = c->bytes, .nulls = c->nulls,
		.attnum = 1
	};
	GpucolImage image = {0};
	double		seconds;

	BENCH(seconds, 1,
		  gpucol_image_free(&image);
		  if (gpucol_encode_begin(&image, 1, nrows, 0, &gpucol_memory_malloc) != GPUCOL_OK ||
			  gpucol_encode_column(&image, 0, &input) != GPUCOL_OK ||
			  gpucol_encode_finish(&image) != GPUCOL_OK)
		  abort());
	report(c, &image, seconds);
	gpucol_image_free(&image);
}

int
main(void)
{
	size_t		len;
	char	   *text = read_all(&len);
	char	   *fields[MAX_COLUMNS];
	char	   *line = strtok(text, "\r\n");

	if (line == NULL)
		return 1;
	ncolumns = split(line, fields);
	for (int c = 0; c < ncolumns; c++)
		columns[c].name = fields[c];
	while ((line = strtok(NULL, "\r\n")) != NULL && nrows < GPUCOL_MAX_SEGMENT_ROWS)
		add_row(fields, split(line, fields));
	printf("%u rows\n%-15s %-6s %-8s %5s %9s %6s %6s %9s %5s %9s\n", nrows,
		   "column", "kind", "coding", "width", "kB", "ratio", "Mrow/s",
		   "patched", "width", "exceptions");
	for (int c = 0; c < ncolumns; c++)
	{
		classify(&columns[c]);
		bench_column(&columns[c]);
	}
	return 0;
}
