/*-------------------------------------------------------------------------
 *
 * picture.c
 *	  Formats of to_char() as pictures that engines have.
 *
 * A format is read as PostgreSQL reads it: at each place the longest of its keywords, else a
 * byte that stands for itself.  What depends on a locale or a time zone, and what is seldom
 * asked for, has no picture.  Before a picture is used, PostgreSQL's function is asked for the
 * texts of a few timestamps, which must be those of the picture.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "lower/picture.h"

/* A keyword of formats; -1: no picture has it. */
typedef struct Keyword
{
	const char *name;
	int			part;
	uint8		how;
} Keyword;

#define UPPER	GPUCOL_PICTURE_UPPER
#define LOWER	GPUCOL_PICTURE_LOWER
#define DOTS	GPUCOL_PICTURE_DOTS

/* A keyword in capitals and in small letters. */
#define BOTH(upper, lower, part) {upper, part, UPPER}, {lower, part, LOWER}

/* PostgreSQL's keywords. */
static const Keyword keywords[] = {
	BOTH("A.D.", "a.d.", -1),
	{"A.M.", GPUCOL_PICTURE_HALF, UPPER | DOTS}, {"a.m.", GPUCOL_PICTURE_HALF, LOWER | DOTS},
	BOTH("AD", "ad", -1),
	BOTH("AM", "am", GPUCOL_PICTURE_HALF),
	BOTH("B.C.", "b.c.", -1),
	BOTH("BC", "bc", -1),
	BOTH("CC", "cc", -1),
	BOTH("DAY", "day", GPUCOL_PICTURE_DAY), {"Day", GPUCOL_PICTURE_DAY, GPUCOL_PICTURE_CAPITAL},
	BOTH("DDD", "ddd", GPUCOL_PICTURE_DDD),
	BOTH("DD", "dd", GPUCOL_PICTURE_DD),
	BOTH("DY", "dy", GPUCOL_PICTURE_DY), {"Dy", GPUCOL_PICTURE_DY, GPUCOL_PICTURE_CAPITAL},
	BOTH("D", "d", GPUCOL_PICTURE_D),
	BOTH("FF1", "ff1", -1), BOTH("FF2", "ff2", -1), BOTH("FF3", "ff3", -1),
	BOTH("FF4", "ff4", -1), BOTH("FF5", "ff5", -1), BOTH("FF6", "ff6", -1),
	BOTH("FX", "fx", -1),
	BOTH("HH24", "hh24", GPUCOL_PICTURE_HH24),
	BOTH("HH12", "hh12", GPUCOL_PICTURE_HH12),
	BOTH("HH", "hh", GPUCOL_PICTURE_HH12),
	BOTH("IDDD", "iddd", -1),
	BOTH("ID", "id", GPUCOL_PICTURE_ID),
	BOTH("IW", "iw", GPUCOL_PICTURE_IW),
	BOTH("IYYY", "iyyy", GPUCOL_PICTURE_IYYY),
	BOTH("IYY", "iyy", -1), BOTH("IY", "iy", -1), BOTH("I", "i", -1),
	BOTH("J", "j", -1),
	BOTH("MI", "mi", GPUCOL_PICTURE_MI),
	BOTH("MM", "mm", GPUCOL_PICTURE_MM),
	BOTH("MONTH", "month", GPUCOL_PICTURE_MONTH), {"Month", GPUCOL_PICTURE_MONTH, GPUCOL_PICTURE_CAPITAL},
	BOTH("MON", "mon", GPUCOL_PICTURE_MON), {"Mon", GPUCOL_PICTURE_MON, GPUCOL_PICTURE_CAPITAL},
	BOTH("MS", "ms", GPUCOL_PICTURE_MS),
	BOTH("OF", "of", -1),
	{"P.M.", GPUCOL_PICTURE_HALF, UPPER | DOTS}, {"p.m.", GPUCOL_PICTURE_HALF, LOWER | DOTS},
	BOTH("PM", "pm", GPUCOL_PICTURE_HALF),
	BOTH("Q", "q", GPUCOL_PICTURE_Q),
	BOTH("RM", "rm", -1),
	BOTH("SSSSS", "sssss", GPUCOL_PICTURE_SECONDS),
	BOTH("SSSS", "ssss", GPUCOL_PICTURE_SECONDS),
	BOTH("SS", "ss", GPUCOL_PICTURE_SS),
	BOTH("TZH", "tzh", -1), BOTH("TZM", "tzm", -1), BOTH("TZ", "tz", -1),
	BOTH("US", "us", GPUCOL_PICTURE_US),
	BOTH("WW", "ww", GPUCOL_PICTURE_WW),
	BOTH("W", "w", GPUCOL_PICTURE_W),
	BOTH("Y,YYY", "y,yyy", -1),
	BOTH("YYYY", "yyyy", GPUCOL_PICTURE_YYYY),
	BOTH("YYY", "yyy", GPUCOL_PICTURE_YYY),
	BOTH("YY", "yy", GPUCOL_PICTURE_YY),
	BOTH("Y", "y", GPUCOL_PICTURE_Y),
};

/* Does a text of n bytes begin with a word? */
static bool
begins(const char *at, int n, const char *word)
{
	int			len = strlen(word);

	return n >= len && memcmp(at, word, len) == 0;
}

/* The longest keyword that a text of n bytes begins with, or NULL. */
static const Keyword *
find_keyword(const char *at, int n)
{
	const Keyword *found = NULL;

	for (int i = 0; i < (int) lengthof(keywords); i++)
	{
		if (begins(at, n, keywords[i].name) && (found == NULL || strlen(keywords[i].name) > strlen(found->name)))
			found = &keywords[i];
	}
	return found;
}

static bool
add_item(GpucolTextPicture *picture, int part, uint8 how)
{
	if (picture->nitems == GPUCOL_PICTURE_MOST)
		return false;
	picture->items[picture->nitems++] = (GpucolPictureItem) {part, how};
	return true;
}

/* Read what is between double quotes; returns the bytes read, or 0: there is no picture of it. */
static int
read_quoted(const char *at, int n, GpucolTextPicture *picture)
{
	int			i;

	for (i = 1; i < n && at[i] != '"'; i++)
	{
		if (at[i] == '\\' || !add_item(picture, GPUCOL_PICTURE_BYTE, (uint8) at[i]))
			return 0;
	}
	return Min(i + 1, n);
}

/* Read a keyword, or a byte; returns the bytes read, or 0. */
static int
read_item(const char *at, int n, GpucolTextPicture *picture)
{
	bool		plain = begins(at, n, "FM") || begins(at, n, "fm");
	const Keyword *keyword = find_keyword(at + (plain ? 2 : 0), n - (plain ? 2 : 0));
	int			len;

	if (begins(at, n, "TM") || begins(at, n, "tm") || (plain && keyword == NULL))
		return 0;
	if (keyword == NULL)
	{
		if (*at == '"')
			return read_quoted(at, n, picture);
		return *at != '\\' && *at != '\0' && add_item(picture, GPUCOL_PICTURE_BYTE, (uint8) *at) ? 1 : 0;
	}
	len = (plain ? 2 : 0) + strlen(keyword->name);
	/* what stands behind a number: 1st, 2nd */
	if (keyword->part < 0 || begins(at + len, n - len, "TH") || begins(at + len, n - len, "th") ||
		begins(at + len, n - len, "SP"))
		return 0;
	return add_item(picture, keyword->part, keyword->how | (plain ? GPUCOL_PICTURE_PLAIN : 0)) ? len : 0;
}

/* Does PostgreSQL make the same of a timestamp? */
static bool
makes_same(const text *format, const GpucolTextPicture *picture, Timestamp stamp)
{
	char		ours[GPUCOL_PICTURE_MOST * GPUCOL_PICTURE_ITEM];
	text	   *theirs = DatumGetTextPP(OidFunctionCall2Coll(F_TO_CHAR_TIMESTAMP_TEXT, DEFAULT_COLLATION_OID,
															 TimestampGetDatum(stamp), PointerGetDatum(format)));
	int			len = gpucol_picture_stamp(ours, picture, stamp) - ours;

	return len == (int) VARSIZE_ANY_EXHDR(theirs) && memcmp(ours, VARDATA_ANY(theirs), len) == 0;
}

bool
gpucol_picture_create(const text *format, GpucolTextPicture *picture)
{
	static const int32 days[] = {-730500, -40000, -1, 0, 36, 7000, 8765, 9999, 10957, 3000000};
	const char *data = VARDATA_ANY(format);
	int			n = VARSIZE_ANY_EXHDR(format);
	int			len;

	memset(picture, 0, sizeof(*picture));
	for (int at = 0; at < n; at += len)
	{
		len = read_item(data + at, n - at, picture);
		if (len == 0)
			return false;
	}
	for (int i = 0; i < (int) lengthof(days) && picture->nitems > 0; i++)
	{
		if (!makes_same(format, picture, days[i] * USECS_PER_DAY + i * INT64CONST(8767123457) % USECS_PER_DAY))
			return false;
	}
	return picture->nitems > 0;
}
