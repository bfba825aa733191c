/*-------------------------------------------------------------------------
 *
 * jsonb_value.c
 *	  Fields, elements and texts of jsonb (kernel/jsonb_value.h), and sets of them: values made by hand, and the same
 *	  with bytes changed at random, of which nothing beyond the end may be read.
 *
 *-------------------------------------------------------------------------
 */
#include "check.h"
#include "kernel/set_function.h"

#define ROUNDS 200000

/* A container while it is made. */
typedef struct Made
{
	uint32_t	words[16];
	uint32_t	nwords;
	char		data[512];
	uint32_t	size;
} Made;

static void
add(Made *made, uint32_t kind, const void *bytes, uint32_t len)
{
	uint32_t	begin = made->size;

	if (kind == GPUCOL_JSONB_NUMERIC || kind == GPUCOL_JSONB_CONTAINER)
		while (made->size % 4 != 0)
			made->data[made->size++] = 0;
	if (len > 0)
		memcpy(made->data + made->size, bytes, len);
	made->size += len;
	/* every third says where it ends */
	made->words[made->nwords] = kind | (made->nwords % 3 == 2 ? GPUCOL_JSONB_ENDS | made->size : made->size - begin);
	made->nwords++;
}

/* Add a numeric of digits of base 10,000. */
static void
add_number(Made *made, bool negative, int weight, int scale, const int16_t *digits, uint32_t n, bool wide)
{
	char		bytes[64];
	uint32_t	head = wide ? 8 : 6;
	uint32_t	size = (head + 2 * n) << 2;
	uint16_t	word = wide ? (uint16_t) ((negative ? 0x4000 : 0) | scale) :
		(uint16_t) (0x8000 | (negative ? 0x2000 : 0) | scale << 7 | (weight & 0x7f));
	int16_t		wide_weight = (int16_t) weight;

	memcpy(bytes, &size, 4);
	memcpy(bytes + 4, &word, 2);
	memcpy(bytes + 6, &wide_weight, 2);
	memcpy(bytes + head, digits, 2 * n);
	add(made, GPUCOL_JSONB_NUMERIC, bytes, head + 2 * n);
}

/* The container's bytes; their number. */
static uint32_t
finish(const Made *made, uint32_t head, char *to)
{
	memcpy(to, &head, 4);
	memcpy(to + 4, made->words, 4 * made->nwords);
	memcpy(to + 4 + 4 * made->nwords, made->data, made->size);
	return 4 + 4 * made->nwords + made->size;
}

/* All texts of a set, each behind a bar; false where the set is none. */
static GpucolStatus
read_set(const GpucolSetFunction *function, GpucolBytes value, char *to, size_t room)
{
	GpucolSetCursor cursor;
	GpucolStatus status = gpucol_set_begin(function, value, &cursor);
	char		number[GPUCOL_JSONB_ROOM];
	GpucolBytes item;
	bool		isnull;
	size_t		used = 0;

	while (status == GPUCOL_OK && gpucol_set_next(function, &cursor, number, &item, &isnull))
		if (used + item.len + 2 < room)
		{
			to[used++] = '|';
			memcpy(to + used, isnull ? "" : item.data, isnull ? 0 : item.len);
			used += item.len;
		}
	to[used] = '\0';
	return status;
}

static uint32_t
make_array(char *to)
{
	static const int16_t some[] = {12, 3456, 7890};
	Made		made = {.nwords = 0};

	add(&made, GPUCOL_JSONB_STRING, "text", 4);
	add_number(&made, false, 1, 4, some, 3, false);
	add_number(&made, true, -2, 10, some, 2, true);
	add(&made, GPUCOL_JSONB_TRUE, NULL, 0);
	add(&made, GPUCOL_JSONB_NULL, NULL, 0);
	add_number(&made, false, 0, 2, some, 0, false);
	add(&made, GPUCOL_JSONB_FALSE, NULL, 0);
	add_number(&made, false, 3, 0, some, 1, true);
	add(&made, GPUCOL_JSONB_STRING, "", 0);
	return finish(&made, GPUCOL_JSONB_ARRAY | made.nwords, to);
}

/* {"b": 1, "aa": "x", "tags": [...]} */
static uint32_t
make_object(char *to)
{
	static const int16_t one[] = {1};
	char		array[512];
	Made		made = {.nwords = 0};

	add(&made, GPUCOL_JSONB_STRING, "b", 1);
	add(&made, GPUCOL_JSONB_STRING, "aa", 2);
	add(&made, GPUCOL_JSONB_STRING, "tags", 4);
	add_number(&made, false, 0, 0, one, 1, false);
	add(&made, GPUCOL_JSONB_STRING, "x", 1);
	add(&made, GPUCOL_JSONB_CONTAINER, array, make_array(array));
	return finish(&made, GPUCOL_JSONB_OBJECT | 3, to);
}

int
main(void)
{
	GpucolSetFunction elements = {.jsonb = GPUCOL_SET_ELEMENTS};
	GpucolSetFunction keys = {.jsonb = GPUCOL_SET_KEYS};
	GpucolSetFunction tags = {.jsonb = GPUCOL_SET_ELEMENTS,.path_len = 5,.path = "\004tags"};
	GpucolSetFunction none = {.jsonb = GPUCOL_SET_ELEMENTS,.path_len = 6,.path = "\002no\002aa"};
	GpucolSetFunction scalar = {.jsonb = GPUCOL_SET_ELEMENTS,.path_len = 2,.path = "\001b"};
	const GpucolSetFunction *all[] = {&elements, &keys, &tags, &none, &scalar};
	char		array[1024];
	char		object[1024];
	uint32_t	array_len = make_array(array);
	uint32_t	object_len = make_object(object);
	char		out[1024];

	CHECK(read_set(&elements, (GpucolBytes) {array, array_len}, out, sizeof(out)) == GPUCOL_OK &&
		  strcmp(out, "|text|123456.7890|-0.0000001234|true||0.00|false|12000000000000|") == 0, "%s", out);
	CHECK(read_set(&keys, (GpucolBytes) {object, object_len}, out, sizeof(out)) == GPUCOL_OK &&
		  strcmp(out, "|b|aa|tags") == 0, "%s", out);
	CHECK(read_set(&tags, (GpucolBytes) {object, object_len}, out, sizeof(out)) == GPUCOL_OK &&
		  strncmp(out, "|text|123456.7890|", 18) == 0, "%s", out);
	CHECK(read_set(&none, (GpucolBytes) {object, object_len}, out, sizeof(out)) == GPUCOL_OK && *out == '\0', "%s",
		  out);
	CHECK(read_set(&scalar, (GpucolBytes) {object, object_len}, out, sizeof(out)) == GPUCOL_UNSUPPORTED, "%s", out);
	CHECK(read_set(&elements, (GpucolBytes) {object, object_len}, out, sizeof(out)) == GPUCOL_UNSUPPORTED, "%s", out);
	CHECK(read_set(&keys, (GpucolBytes) {array, array_len}, out, sizeof(out)) == GPUCOL_UNSUPPORTED, "%s", out);
	srand(1);
	for (int round = 0; round < ROUNDS; round++)
	{
		const char *from = round % 2 == 0 ? array : object;
		uint32_t	len = round % 2 == 0 ? array_len : object_len;
		char	   *copy;

		len -= rand() % 4 == 0 ? (uint32_t) rand() % len : 0;
		copy = malloc(len == 0 ? 1 : len);
		memcpy(copy, from, len);
		for (int i = rand() % 4; i >= 0 && len > 0; i--)
			copy[(uint32_t) rand() % (rand() % 2 == 0 ? len : len < 40 ? len : 40)] ^= (char) (1 << rand() % 8);
		for (int i = 0; i < 5; i++)
			(void) read_set(all[i], (GpucolBytes) {copy, len}, out, sizeof(out));
		free(copy);
	}
	return check_summary("jsonb_value");
}
