/*-------------------------------------------------------------------------
 *
 * encode.c
 *	  Encoding speed: segments of 1,048,576 rows of five integer columns (30,000,
 *	  1,000, 10, 100,000 and 1,000,000 values, uniformly random), a decimal float
 *	  and a text column, against reading the arrays once.
 *
 *	  encode [million rows to report for; default 30]
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode.h"

#include "bench.h"

#define ROWS GPUCOL_DEFAULT_SEGMENT_ROWS

static volatile uint64_t sink;

/* Seconds to encode one segment of one column. */
static double
encode(const GpucolEncodeColumn *column, GpucolChunkDesc *desc)
{
	GpucolImage image = {0};
	double		seconds;

	BENCH(seconds, 1,
		  gpucol_image_free(&image);
		  if (gpucol_encode_begin(&image, 1, ROWS, 0, &gpucol_memory_malloc) != GPUCOL_OK ||
			  gpucol_encode_column(&image, 0, column) != GPUCOL_OK ||
			  gpucol_encode_finish(&image) != GPUCOL_OK)
		  abort());
	*desc = *gpucol_image_desc(&image, 0);
	gpucol_image_free(&image);
	return seconds;
}

/* Seconds to read so many bytes once. */
static double
read_once(const void *data, size_t size)
{
	typedef uint64_t V __attribute__((vector_size(32), aligned(8)));
	const V    *from = data;
	double		seconds;
	V			sum[4];

	BENCH(seconds, 1,
		  memset(sum, 0, sizeof(sum));
		  for (size_t i = 0; i + 4 <= size / 32; i += 4)
			  for (size_t j = 0; j < 4; j++)
				  sum[j] += from[i + j];
		  sink = (sum[0] + sum[1] + sum[2] + sum[3])[0]);
	return seconds;
}

static double
report(const char *name, const GpucolEncodeColumn *column, double floor)
{
	GpucolChunkDesc desc;
	double		seconds = encode(column, &desc);

	printf("%-18s %6d %5d %9.2f %9.0f %6.0f %%\n", name, desc.coding, desc.width,
		   seconds * 1e3, ROWS / seconds / 1e6, floor / seconds * 100);
	return seconds;
}

int
main(int argc, char **argv)
{
	static const uint64_t ranges[] = {30000, 1000, 10, 100000, 1000000};
	double		millions = argc > 1 ? atof(argv[1]) : 30;
	int64_t    *values = malloc(ROWS * sizeof(int64_t));
	GpucolBytes *bytes = malloc(ROWS * sizeof(GpucolBytes));
	char	   *text = malloc(ROWS * 16);
	GpucolEncodeColumn ints = {.kind = GPUCOL_KIND_INT, .values = values};
	GpucolEncodeColumn floats = {.kind = GPUCOL_KIND_FLOAT8, .values = values};
	GpucolEncodeColumn texts = {.kind = GPUCOL_KIND_BYTES, .bytes = bytes};
	double		total = 0;
	double		floor;

	memset(values, 1, ROWS * sizeof(int64_t));
	floor = read_once(values, ROWS * sizeof(int64_t));
	printf("%-18s %6s %5s %9s %9s %8s\n", "column", "coding", "width", "ms",
		   "Mrow/s", "of floor");
	for (int c = 0; c < 5; c++)
	{
		char		name[32];

		for (int i = 0; i < ROWS; i++)
			values[i] = (int64_t) (bench_random() % ranges[c]);
		snprintf(name, sizeof(name), "int of %llu", (unsigned long long) ranges[c]);
		total += report(name, &ints, floor);
	}
	printf("five int columns, %.0f M rows: %.2f s; reading the arrays once: %.2f s\n",
		   millions, total * millions * 1e6 / ROWS, floor * 5 * millions * 1e6 / ROWS);
	for (int i = 0; i < ROWS; i++)
	{
		double		d = (double) (bench_random() % 1000000) / 100;

		memcpy(&values[i], &d, sizeof(d));
		snprintf(text + i * 16, 16, "value %llu", (unsigned long long) (bench_random() % 5000));
		bytes[i] = (GpucolBytes) {text + i * 16, strlen(text + i * 16)};
	}
	report("float8, 2 digits", &floats, floor);
	report("text of 5000", &texts, floor);
	for (int i = 0; i < ROWS; i++)
	{
		snprintf(text + i * 16, 16, "%llx", (unsigned long long) bench_random());
		bytes[i] = (GpucolBytes) {text + i * 16, strlen(text + i * 16)};
	}
	report("text, all distinct", &texts, floor);
	return 0;
}
