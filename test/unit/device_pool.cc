/*-------------------------------------------------------------------------
 *
 * device_pool.cc
 *	  Unit test of the pool of a device's memory (cuda/base/device_pool.h).
 *
 * The device is imitated by the addresses of one reserved range.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/device_pool.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <vector>

#include "check_cc.h"

static const size_t MB = (size_t) 1 << 20;

/* A device of so much memory; nothing is stored in it. */
struct Device
{
	size_t		size;
	size_t		held = 0;
	size_t		most = 0;
	uintptr_t	next = 512 * MB;
	std::map<char *, size_t> arenas;
	bool		wrong = false;
	int			given = 0;
	DevicePool	pool;

	Device(size_t size_, size_t limit) : size(size_)
	{
		pool.open([this] (size_t n) { return take(n); }, [this] (char *p) { give(p); }, limit);
	}

	char *
	take(size_t n)
	{
		char	   *p = (char *) next;

		if (n == 0 || n > size - held)
			return NULL;

		/* neighbours in address, so that blocks of two arenas might be joined */
		next += (n + 511) / 512 * 512;
		arenas[p] = n;
		held += n;
		most = held > most ? held : most;
		return p;
	}

	void
	give(char *p)
	{
		wrong |= arenas.count(p) == 0;
		given++;
		held -= arenas[p];
		arenas.erase(p);
	}

	/* Does a block lie in one arena? */
	bool
	holds(char *p, size_t n) const
	{
		auto		at = arenas.upper_bound(p);

		return at != arenas.begin() && (--at, p + n <= at->first + at->second);
	}
};

static void
test_limit()
{
	Device		d(100000 * MB, 1000 * MB);
	void	   *a = d.pool.allocate(600 * MB);
	void	   *b = d.pool.allocate(400 * MB);

	CHECK("the limit can be used up", a != NULL && b != NULL && d.pool.used() == 1000 * MB);
	CHECK("no more than that", d.pool.allocate(1) == NULL);
	d.pool.release(a);
	CHECK("what comes back is used again", d.pool.allocate(600 * MB) == a);
	CHECK("absurd sizes", d.pool.allocate(SIZE_MAX) == NULL && d.pool.allocate(SIZE_MAX - 100) == NULL &&
		  d.pool.allocate(1001 * MB) == NULL);
	d.pool.release(NULL);
	d.pool.release((char *) a + 512);
	CHECK("what is no block is left alone", d.pool.used() == 1000 * MB && d.most == 1000 * MB);
}

/* Memory that was in small arenas can become one large block. */
static void
test_large_after_small()
{
	Device		d(100000 * MB, 2048 * MB);
	std::vector<void *> blocks;
	void	   *large;

	for (int i = 0; i < 2048; i++)
		blocks.push_back(d.pool.allocate(MB));
	CHECK("small blocks fill the limit", d.pool.used() == 2048 * MB && d.arenas.size() == 4);
	for (int i = 0; i < 2048; i++)
		if (i != 700)
			d.pool.release(blocks[i]);
	large = d.pool.allocate(1500 * MB);
	CHECK("a large one fits beside one small one", large != NULL && d.holds((char *) large, 1500 * MB));
	CHECK("which stays where it is", d.pool.used() == 1501 * MB && d.holds((char *) blocks[700], MB));
	CHECK("arenas that are in use stay", d.arenas.size() == 2);
	d.given = 0;
	CHECK("a second does not fit", d.pool.allocate(600 * MB) == NULL);
	d.pool.release(large);
	CHECK("nor does more than everything", d.pool.allocate(2048 * MB) == NULL);
	CHECK("and nothing is given back in vain", d.given == 0);
	CHECK("the limit holds", d.most <= 2048 * MB && !d.wrong);
}

/* The device may have less than the limit. */
static void
test_small_device()
{
	Device		d(700 * MB, 4096 * MB);
	void	   *a = d.pool.allocate(100 * MB);
	void	   *b = d.pool.allocate(150 * MB);
	void	   *c;

	CHECK("less than an arena is taken where there is no more", a != NULL && b != NULL);
	CHECK("not more than there is", d.pool.allocate(600 * MB) == NULL && d.held <= 700 * MB);
	d.pool.release(a);
	d.pool.release(b);
	c = d.pool.allocate(600 * MB);
	CHECK("arenas make way for a larger one", c != NULL && d.holds((char *) c, 600 * MB));
}

static void
test_lend()
{
	Device		d(100000 * MB, 1000 * MB);
	void	   *a = d.pool.allocate(300 * MB);

	CHECK("what is left may be lent, though an arena holds it", !d.pool.lend(701 * MB) && d.pool.lend(400 * MB));
	CHECK("what is lent is not allocated", d.pool.allocate(301 * MB) == NULL);
	CHECK("nor lent twice", !d.pool.lend(301 * MB));
	CHECK("absurd sizes", !d.pool.lend(SIZE_MAX));
	d.pool.release(a);
	CHECK("arenas that nothing lies in make room", d.pool.lend(600 * MB) && d.held == 0);
	CHECK("everything is lent", d.pool.allocate(1) == NULL && d.pool.used() == 1000 * MB && d.pool.unlent() == 0);
	d.pool.repay(1000 * MB);
	CHECK("and taken back", d.pool.allocate(1000 * MB) != NULL);
}

/* Blocks never overlap, and what is counted is what is out. */
static void
test_random()
{
	Device		d(3000 * MB, 2500 * MB);
	std::mt19937 random(42);
	std::map<char *, size_t> out;
	size_t		used = 0,
				lent = 0;
	bool		right = true;

	for (int i = 0; i < 20000; i++)
	{
		unsigned	what = random() % 10;

		if (what < 5)
		{
			size_t		n = (random() % 20 == 0 ? random() % (800 * MB) : random() % (8 * MB)) + 1;
			char	   *p = (char *) d.pool.allocate(n);

			if (p == NULL)
				continue;
			n = (n + 511) / 512 * 512;

			auto		after = out.lower_bound(p);

			right &= (uintptr_t) p % 512 == 0 && d.holds(p, n) && (after == out.end() || p + n <= after->first) &&
				(after == out.begin() || std::prev(after)->first + std::prev(after)->second <= p);
			out[p] = n;
			used += n;
		}
		else if (what < 9 && !out.empty())
		{
			auto		at = std::next(out.begin(), random() % out.size());

			d.pool.release(at->first);
			used -= at->second;
			out.erase(at);
		}
		else if (lent > 0)
		{
			d.pool.repay(lent);
			lent = 0;
		}
		else
		{
			size_t		n = random() % (900 * MB);

			lent = d.pool.lend(n) ? n : 0;
		}
		right &= d.pool.used() == used + lent && d.held + lent <= 2500 * MB;
	}
	CHECK("blocks are apart, in arenas, and under the limit", right && !d.wrong);
	for (auto &o : out)
		d.pool.release(o.first);
	d.pool.repay(lent);
	CHECK("everything comes back", d.pool.used() == 0 && d.pool.lend(2500 * MB) && d.held == 0);
}

int
main()
{
	test_limit();
	test_large_after_small();
	test_small_device();
	test_lend();
	test_random();
	return summary("device_pool");
}
