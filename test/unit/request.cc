/*-------------------------------------------------------------------------
 *
 * request.cc
 *	  Unit test of a request (cuda/query/request.cuh) over an imitation of CUDA: what it
 *	  asks its client for, what PUTs it believes, where pieces come to lie, how segments
 *	  are cut in parts, and what is found again.  Parts are counted, not computed.
 *
 *-------------------------------------------------------------------------
 */
#include <cuda_runtime.h>		/* the imitation: test/unit/no_cuda */

#include "cuda/base/cache.cc"
#include "cuda/base/claim.cc"
#include "cuda/base/device.cc"
#include "cuda/base/device_pool.cc"
#include "cuda/base/lane.cc"
#include "cuda/query/chunk_check.cc"
#include "cuda/query/chunk_form.cc"
#include "cuda/query/deal.cc"
#include "cuda/query/deal_cut.cc"
#include "cuda/query/objects.cc"
#include "cuda/query/partial.cc"
#include "cuda/query/parts.cc"
#include "cuda/query/piece_loader.cc"
#include "cuda/query/pieces.cc"
#include "cuda/query/prepared.cc"
#include "cuda/query/program_check.cc"
#include "cuda/query/request.cc"
#include "cuda/query/result_choice.cc"
#include "cuda/query/run_message.cc"

#include <set>
#include <string>

#include "check_cc.h"

static const uint32_t NROWS = 2048; /* of a segment: two vectors */
static const uint32_t NVECTORS = 2;
static const int WIDTH = 8;
static const size_t CODES = (size_t) NVECTORS * WIDTH * GPUCOL_ROW_BYTES;
static const size_t BITMAP = (size_t) NVECTORS * GPUCOL_ROW_BYTES;
static const uint32_t ENTRIES = 100;	/* of a dictionary */
static const int RUN_BYTES = 0x5a;	/* what expanded runs are made of here */

/* ---- the imitation ---- */

/* Blocks of the device, which it keeps to its end. */
static std::set<void *> *device_blocks = new std::set<void *>;

cudaError_t
cudaMalloc(char **p, size_t size)
{
	*p = (char *) aligned_alloc(512, (size + 511) / 512 * 512);
	device_blocks->insert(*p);
	return cudaSuccess;
}

cudaError_t
cudaFree(void *p)
{
	device_blocks->erase(p);
	free(p);
	return cudaSuccess;
}

void residency_note(const Resident &, int) {}
bool residency_idle() { return false; }

cudaError_t
gpucol_load_expand_runs(const uint32_t *, int width, const uint32_t *, uint32_t, uint32_t nrows,
						uint32_t *out, cudaStream_t)
{
	memset(out, RUN_BYTES, (size_t) GPUCOL_VECTORS(nrows) * width * GPUCOL_ROW_BYTES);
	return cudaSuccess;
}

cudaError_t
gpucol_load_expand_steps(const uint32_t *, int, uint64_t, int, uint32_t, uint32_t *, cudaStream_t)
{
	return cudaSuccess;
}

/* What parts were computed, and on which device. */
static std::mutex computed_mutex;
static std::multiset<uint32_t> computed;
static std::vector<size_t> part_sizes;
static int	delta_parts;
static std::vector<Marks> others;	/* of parts that have no rows of their own */
static bool marking;			/* each other part has met a row of a joined table */
static bool fails_in_the_end;	/* parts without rows of their own do */
static std::function<void(const PartTask &)> inspect;

void
gpucol_part_compute(const PartTask &task)
{
	std::lock_guard<std::mutex> lock(computed_mutex);

	computed.insert(task.part.segments.begin(), task.part.segments.end());
	part_sizes.push_back(task.part.segments.size());
	delta_parts += task.part.delta;
	if (task.part.others != NULL)
	{
		others.push_back(*task.part.others);
		if (fails_in_the_end)
			throw Failure{GPUCOL_UNSUPPORTED, "the end"};
	}
	else if (marking)
		task.part.result.marks = {{}, {1u << task.part.segments[0]}};
	for (uint32_t s : task.part.segments)
	{
		const Resident *chunk = task.pieces.chunks(s)[0];
		const unsigned char *codes = (const unsigned char *) chunk->chunk.codes;

		CHECK("a chunk has the codes that were sent", codes != NULL &&
			  (codes[0] == (unsigned char) (s + 1) || codes[0] == RUN_BYTES) &&
			  codes[0] == codes[(size_t) NVECTORS * chunk->chunk.width * GPUCOL_ROW_BYTES - 1]);
	}
	if (inspect)
		inspect(task);
	task.part.result.nsegments = task.part.segments.size();
	task.part.result.kernel = "none";
}

/* ---- a client ---- */

/* A RUN: SELECT count(*) over so many segments of a column. */
struct Run
{
	GpucolWireRun head = {};
	std::vector<GpucolWireSegment> segments;
	std::vector<GpucolWireColumnChunk> chunks;
	uint16_t	join = 0;		/* kind of a probe, if there is one */

	Run(uint64_t storage, uint32_t nsegments)
	{
		head.ncolumns = 1;
		for (uint32_t s = 0; s < nsegments; s++)
		{
			segments.push_back({{storage, storage}, 1000 + s, 0, NROWS, 0});
			chunks.push_back({77, 0, NVECTORS * WIDTH, 0, 1, 0});
		}
	}

	std::vector<char>
	message()
	{
		struct
		{
			GpucolProgram head;
			GpucolProgramColumn column;
			GpucolAgg	agg;
			GpucolProbe	probe;
		}			program = {};
		bool		listed = head.flags & GPUCOL_WIRE_RUN_LIST;
		std::vector<char> bytes;
		auto		add = [&bytes] (const void *p,
									size_t n) { bytes.insert(bytes.end(), (const char *) p, (const char *) p + n); };

		program.head.magic = GPUCOL_PROGRAM_MAGIC;
		program.head.version = GPUCOL_PROGRAM_VERSION;
		program.head.kind = GPUCOL_PROGRAM_AGG;
		program.head.size = sizeof(program);
		program.head.ncolumns = program.head.naggs = 1;
		program.head.filter = GPUCOL_NO_REG;
		program.head.columns = (uint32_t) ((char *) &program.column - (char *) &program);
		program.head.aggs = (uint32_t) ((char *) &program.agg - (char *) &program);
		program.column.attnum = 1;
		program.column.kind = GPUCOL_KIND_INT;
		program.agg.op = GPUCOL_AGG_COUNT_STAR;
		program.agg.arg = program.agg.filter = GPUCOL_NO_REG;
		program.head.nprobes = join != 0;
		program.head.probes = (uint32_t) ((char *) &program.probe - (char *) &program);
		program.probe.kind = join;
		program.probe.residual = program.probe.filter = GPUCOL_NO_REG;
		head.program_size = sizeof(program);
		head.nsegments = segments.size();
		add(&head, sizeof(head));
		add(&program, sizeof(program));
		bytes.resize(sizeof(head) + (sizeof(program) + 7) / 8 * 8);
		if (!listed)
		{
			add(segments.data(), segments.size() * sizeof(segments[0]));
			add(chunks.data(), chunks.size() * sizeof(chunks[0]));
		}
		return bytes;
	}
};

/* A session with a lane to each device. */
struct Session
{
	SegmentLists lists;
	BuiltTables tables;
	std::map<Device *, std::unique_ptr<Lane>> lanes;
	std::unique_ptr<Request> request;

	Lane *
	lane(Device &device)
	{
		std::unique_ptr<Lane> &lane = lanes[&device];

		if (!lane)
			lane.reset(new Lane(device));
		return lane.get();
	}

	/* Why a RUN is refused; "" if it is not. */
	std::string
	run(Run r)
	{
		std::vector<char> message = r.message();

		computed.clear();
		part_sizes.clear();
		delta_parts = 0;
		others.clear();
		request.reset();
		try
		{
			request.reset(new Request(message.data(), message.size(), lists,
									  {[this] (Device &d) { return lane(d); }, [] {}, [] {}, tables,
									   [] { return false; }}));
			request->submit();
		}
		catch (const Failure &f)
		{
			return f.reason;
		}
		return "";
	}

	/* Why a PUT is refused. */
	std::string
	put(GpucolWirePut put, const std::vector<char> &data)
	{
		try
		{
			request->put(put, data.data() + put.offset);
		}
		catch (const Failure &f)
		{
			return f.reason;
		}
		return "";
	}

	/* The same of a whole, in two parts. */
	std::string
	put(uint32_t kind, uint32_t a, uint32_t b, const std::vector<char> &data)
	{
		uint64_t	half = data.size() / 2 - 13;
		std::string why = put({kind, a, b, 0, data.size(), 0, half, 0}, data);

		return why != "" ? why : put({kind, a, b, 0, data.size(), half, data.size() - half, 0}, data);
	}

	void		send_all();
	std::string answer();
};

/* A chunk of a segment: bytes of one kind. */
static std::vector<char>
chunk_of(uint32_t segment)
{
	GpucolWireChunk head = {};
	std::vector<char> bytes(sizeof(head) + CODES, (char) (segment + 1));

	head.desc.kind = GPUCOL_KIND_INT;
	head.desc.coding = GPUCOL_CODING_FOR;
	head.desc.width = WIDTH;
	head.desc.streams[GPUCOL_STREAM_CODES].nrows = NVECTORS * WIDTH;
	head.present = 1u << GPUCOL_STREAM_CODES;
	memcpy(bytes.data(), &head, sizeof(head));
	return bytes;
}

/* The same in runs. */
static std::vector<char>
runs_of(uint32_t nruns)
{
	GpucolWireChunk head = {};
	size_t		codes = WIDTH * GPUCOL_ROW_BYTES;
	size_t		ends = (nruns * 4 + 127) / 128 * GPUCOL_ROW_BYTES;
	std::vector<char> bytes(sizeof(head) + codes + ends, 0);

	head.desc.kind = GPUCOL_KIND_INT;
	head.desc.coding = GPUCOL_CODING_RLE;
	head.desc.width = WIDTH;
	head.desc.nruns = nruns;
	head.desc.streams[GPUCOL_STREAM_CODES].nrows = WIDTH;
	head.desc.streams[GPUCOL_STREAM_RUN_ENDS].nrows = ends / GPUCOL_ROW_BYTES;
	head.present = 1u << GPUCOL_STREAM_CODES | 1u << GPUCOL_STREAM_RUN_ENDS;
	memcpy(bytes.data(), &head, sizeof(head));
	return bytes;
}

/* Send what is missing. */
void
Session::send_all()
{
	for (const GpucolWireNeed &need : std::vector<GpucolWireNeed>(request->missing()))
	{
		std::vector<char> data = need.kind == GPUCOL_PUT_CHUNK ? chunk_of(need.segment) :
			need.kind == GPUCOL_PUT_DELETED ? std::vector<char>(BITMAP, 3) : std::vector<char>(ENTRIES * 4, 4);
		std::string why = put(need.kind, need.segment, need.slot, data);

		CHECK("what was asked for is taken: " + why, why == "");
	}
}

/* Have it computed; why it failed. */
std::string
Session::answer()
{
	GpucolWireResult result = {};
	std::vector<char> data;

	CHECK("all is sent", request->all_sent());
	if (request->alone())
		request->compute_alone();
	while (!request->finished())
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	try
	{
		request->answer(&result, &data);
	}
	catch (const Failure &f)
	{
		return f.reason;
	}
	return "";
}

static void
open_devices(int n)
{
	for (int d = 0; d < n; d++)
	{
		devices.push_back(new Device(d, d));
		device_open_pool(&devices.back()->pool, d, (size_t) 64 << 20);
	}
}

static void
close_devices()
{
	for (Device *device : devices)
	{
		uint64_t	all[2] = {0, 0};

		CHECK("nothing is pinned in the end", device->cache.pinned() == 0);
		device->cache.evict(all);
		CHECK("nor used", device->pool.used() == 0);
		delete device;
	}
	devices.clear();
}

/* Everything once. */
static std::multiset<uint32_t>
all(uint32_t n)
{
	std::multiset<uint32_t> s;

	for (uint32_t i = 0; i < n; i++)
		s.insert(i);
	return s;
}

/* ---- tests ---- */

static void
test_one_part()
{
	open_devices(1);
	{
		Session		s;
		Run			run(1, 3);

		CHECK("a RUN is taken", s.run(run) == "");
		CHECK("all is missing", s.request->missing().size() == 3 && !s.request->complete() && s.request->alone());
		s.send_all();
		CHECK("is answered", s.answer() == "" && computed == all(3) && delta_parts == 1);
		CHECK("the next finds it", s.run(run) == "" && s.request->complete());
		CHECK("and is answered", s.answer() == "" && computed == all(3));
		run.chunks[1].identity++;
		CHECK("but not what is another", s.run(run) == "" && s.request->missing().size() == 1 &&
			  s.request->missing()[0].segment == 1);
		run.chunks[1].identity--;
		run.segments[2].nrows--;
		CHECK("nor of another size", s.run(run) == "malformed request: a resident piece of another size");
	}
	close_devices();
}

static void
test_lists()
{
	open_devices(2);
	{
		Session		s;
		Run			run(1, 6);

		run.head.flags = GPUCOL_WIRE_RUN_KEEP;
		CHECK("a RUN is taken", s.run(run) == "" && s.request->missing().size() == 6);
		s.send_all();
		CHECK("by two devices", s.answer() == "" && computed == all(6) && part_sizes.size() == 2 && delta_parts == 1);
		run.head.flags = GPUCOL_WIRE_RUN_LIST;
		CHECK("the list is found", s.run(run) == "" && s.request->complete() && s.answer() == "" && computed == all(6));
		CHECK("and recalled", s.run(run) == "" && s.request->complete() && s.answer() == "" && computed == all(6));
		s.request.reset();

		uint64_t	storage[2] = {1, 1};

		devices[1]->cache.evict(storage);
		CHECK("as far as it is still there", s.run(run) == "" && s.request->missing().size() == 3);
		s.send_all();
		CHECK("and is answered", s.answer() == "" && computed == all(6));
		run.head.list = 1;
		CHECK("another list is none", s.run(run) == "malformed request: a list of other segments");
	}
	close_devices();
}

/* Rows of joined tables that no part has met are delivered by one more, which knows what all have. */
static void
test_rows_of_tables()
{
	open_devices(2);
	{
		Session		s;
		Run			run(1, 6);

		run.join = GPUCOL_JOIN_FULL;
		marking = true;
		CHECK("a RUN is taken", s.run(run) == "");
		s.send_all();
		CHECK("by two devices, and in the end", s.answer() == "" && computed == all(6) && part_sizes.size() == 3);
		CHECK("with what both have met", part_sizes.back() == 0 && others == std::vector<Marks>({{{}, {3}}}));
		fails_in_the_end = true;
		CHECK("or it fails", s.run(run) == "" && s.answer() == "the end" && others.size() == 1);
		fails_in_the_end = false;
		run.join = GPUCOL_JOIN_SEMI;
		CHECK("no other join needs it", s.run(run) == "" && s.answer() == "" && part_sizes.size() == 2);
		marking = false;
	}
	close_devices();
	open_devices(1);
	{
		Session		s;
		Run			run(1, 6);

		run.join = GPUCOL_JOIN_RIGHT_ANTI;
		CHECK("nor a part that is alone", s.run(run) == "");
		s.send_all();
		CHECK("which delivers them itself", s.answer() == "" && part_sizes.size() == 1 && others.empty());
	}
	close_devices();
}

/* Segments of several tables in one RUN: each is known by its own table and column. */
static void
test_tables()
{
	open_devices(1);
	{
		Session		s;
		Run			one(1, 3);
		Run			both(1, 6);
		uint64_t	storage[2] = {2, 2};

		for (uint32_t i = 3; i < 6; i++)
		{
			both.segments[i] = {{2, 2}, 1000 + i - 3, 0, NROWS, 0};
			both.chunks[i].attnum = 5;
		}
		CHECK("of one table", s.run(one) == "" && s.request->missing().size() == 3);
		s.send_all();
		CHECK("is answered", s.answer() == "" && computed == all(3));
		CHECK("the other's segments are not this one's", s.run(both) == "" && s.request->missing().size() == 3 &&
			  s.request->missing()[0].segment == 3);
		s.send_all();
		CHECK("both are answered", s.answer() == "" && computed == all(6));
		CHECK("and found", s.run(both) == "" && s.request->complete() && s.answer() == "");
		both.chunks[4].attnum = 1;
		CHECK("but not another column", s.run(both) == "" && s.request->missing().size() == 1);
		both.chunks[4].attnum = 5;
		s.request.reset();
		devices[0]->cache.evict(storage);
		CHECK("one goes without the other", s.run(both) == "" && s.request->missing().size() == 3 &&
			  s.run(one) == "" && s.request->complete());
		both.segments[5].storage[0] = both.segments[5].storage[1] = 0;
		CHECK("nothing is kept beside what may not be", s.run(both) == "" && s.request->missing().size() == 6);
		s.send_all();
		CHECK("and is answered", s.answer() == "" && computed == all(6));
		both.chunks[0].attnum = 0;
		CHECK("no column", s.run(both) == "malformed request: column of a table");
	}
	close_devices();
}

static void
test_parts()
{
	open_devices(1);
	{
		Session		s;
		Run			run(1, 40);

		request_window = 8 * (CODES + 4 * GPUCOL_ROW_BYTES);
		CHECK("a RUN is taken", s.run(run) == "" && s.request->missing().size() == 40 && !s.request->alone());
		s.send_all();
		CHECK("in parts", s.answer() == "" && computed == all(40) && part_sizes.size() > 10 && delta_parts == 1);
		CHECK("of which some stay", s.run(run) == "" && s.request->missing().size() < 40 &&
			  s.request->missing().size() >= 32);
		s.send_all();
		CHECK("and is answered", s.answer() == "" && computed == all(40));
		run.head.flags = GPUCOL_WIRE_RUN_PREFETCH;
		CHECK("a prefetch takes what fits", s.run(run) == "" && s.request->missing().size() <= 8);
		s.send_all();
		CHECK("and computes nothing", s.answer() == "" && computed.empty());
		run = Run(2, 40);
		request_window = CODES;
		CHECK("two segments must fit", s.run(run).find("one segment of the query needs") == 0);
		request_window = 0;
	}
	close_devices();
}

static void
test_failed_part()
{
	open_devices(2);
	{
		Session		s;

		inspect = [] (const PartTask &task) {
			if (task.part.segments[0] % 2 == 1)
				throw Failure{GPUCOL_FLOAT_OVERFLOW, "too large"};
		};
		CHECK("a RUN is taken", s.run(Run(1, 6)) == "");
		s.send_all();
		CHECK("and fails as its part did", s.answer() == "too large");
		inspect = nullptr;
	}
	close_devices();
}

/* Each kind of a piece. */
static void
test_pieces()
{
	open_devices(1);
	{
		Session		s;
		Run			run(1, 2);

		run.segments[1].deleted = 5;
		run.segments[1].ndeleted = 1;
		run.chunks[0].remap = 6;
		run.chunks[0].nentries = ENTRIES;
		CHECK("a RUN is taken", s.run(run) == "");
		CHECK("all pieces are missing", s.request->missing().size() == 4);
		s.send_all();
		inspect = [] (const PartTask &task) {
			const Resident *remap = task.pieces.remap(0, 0);
			const Resident *deleted = task.pieces.deleted(1);

			CHECK("numbers", remap != NULL && remap->nrows == ENTRIES && remap->numbers.size() == ENTRIES &&
				  remap->most == 0x04040404 && memcmp(remap->memory, remap->numbers.data(), ENTRIES * 4) == 0);
			CHECK("deleted rows", deleted != NULL && deleted->nrows == NROWS &&
				  ((char *) deleted->memory)[BITMAP - 1] == 3);
			CHECK("what there is not", task.pieces.remap(1, 0) == NULL && task.pieces.deleted(0) == NULL);
		};
		CHECK("is answered", s.answer() == "");
		CHECK("and found", s.run(run) == "" && s.request->complete() && s.answer() == "");
		inspect = nullptr;

		CHECK("runs", s.run(Run(2, 1)) == "" && s.put(GPUCOL_PUT_CHUNK, 0, 0, runs_of(20)) == "" && s.answer() == "");
	}
	close_devices();
}

static void
test_objects()
{
	open_devices(1);
	{
		Session		s;
		Run			run(1, 1);
		std::vector<char> three(300, 3),
					nulls(BITMAP, 5);

		run.head.nobjects = 3;
		run.head.delta_rows = 10;
		CHECK("a RUN is taken", s.run(run) == "");
		s.send_all();
		CHECK("objects are waited for", !s.request->complete() && !s.request->all_sent());
		CHECK("a result of a host test", s.put(GPUCOL_PUT_HOST, 7, 99, three) == "");
		CHECK("places", s.put(GPUCOL_PUT_ORDER, 2, 0, three) == "");
		CHECK("in part", s.put({GPUCOL_PUT_DELTA_NULLS, 0, 0, 0, nulls.size(), 0, 10, 0}, nulls) == "");
		CHECK("is not all", !s.request->all_sent());
		CHECK("the rest", s.put({GPUCOL_PUT_DELTA_NULLS, 0, 0, 0, nulls.size(), 10, nulls.size() - 10, 0},
								nulls) == "");
		CHECK("no more", s.put(GPUCOL_PUT_DELTA_CODES, 0, 0, three) == "malformed request: object of a PUT");
		CHECK("memory is counted", s.request->held() == 2 * three.size() + nulls.size());
		inspect = [&] (const PartTask &task) {
			const Object *host = task.object(GPUCOL_PUT_HOST, 7, 0);
			const Object *order = task.object(GPUCOL_PUT_ORDER, 2, 0);
			const Object *delta = task.object(GPUCOL_PUT_DELTA_NULLS, 0, 0);

			CHECK("a host test's is here too", host != NULL && host->host == three &&
				  memcmp(task.on_device<char>(*host), three.data(), 300) == 0);
			CHECK("places are not", order != NULL && order->host.empty() && task.on_device<char>(*order)[299] == 3);
			CHECK("nor NULLs", delta != NULL && delta->bytes() == BITMAP &&
				  task.on_device<char>(*delta)[BITMAP - 1] == 5);
			CHECK("what did not come", task.object(GPUCOL_PUT_HOST, 8, 0) == NULL &&
				  task.object(GPUCOL_PUT_ORDER, 1, 0) == NULL);
		};
		CHECK("is answered", s.answer() == "" && delta_parts == 1);
		inspect = nullptr;
	}
	close_devices();
}

/* Each thing that is wrong with a PUT. */
static void
test_wrong_puts()
{
	open_devices(1);
	{
		Session		s;
		Run			run(1, 2);
		std::vector<char> chunk = chunk_of(0),
					large(sizeof(GpucolWireChunk) + 2 * CODES, 0);
		uint64_t	n = chunk.size();
		auto		refused = [&] (const char *why, GpucolWirePut put, const std::vector<char> &data) {
			std::string reason;

			s.run(run);
			reason = s.put(put, data);
			CHECK(std::string(why) + ", not " + reason, reason == std::string("malformed request: ") + why);
		};

		refused("object of a PUT", {0, 0, 0, 0, n, 0, n, 0}, chunk);
		refused("object of a PUT", {8, 0, 0, 0, n, 0, n, 0}, chunk);
		refused("object of a PUT", {UINT32_MAX, 0, 0, 0, n, 0, n, 0}, chunk);
		refused("object of a PUT", {GPUCOL_PUT_CHUNK, 2, 0, 0, n, 0, n, 0}, chunk);
		refused("object of a PUT", {GPUCOL_PUT_CHUNK, 0, 1, 0, n, 0, n, 0}, chunk);
		refused("object of a PUT", {GPUCOL_PUT_DELETED, 0, 0, 0, BITMAP, 0, BITMAP, 0}, chunk);
		refused("object of a PUT", {GPUCOL_PUT_REMAP, 0, 0, 0, 8, 0, 8, 0}, chunk);
		refused("object of a PUT", {GPUCOL_PUT_HOST, 0, 0, 0, 8, 0, 8, 0}, chunk);
		refused("size of a PUT", {GPUCOL_PUT_CHUNK, 0, 0, 0, 0, 0, 0, 0}, chunk);
		refused("size of a PUT", {GPUCOL_PUT_CHUNK, 0, 0, 0, 20, 0, 20, 0}, chunk);
		refused("size of a PUT", {GPUCOL_PUT_CHUNK, 0, 0, 0, (uint64_t) 2 << 40, 0, 20, 0}, chunk);
		refused("part of a PUT", {GPUCOL_PUT_CHUNK, 0, 0, 0, n, 8, n - 8, 0}, chunk);
		refused("part of a PUT", {GPUCOL_PUT_CHUNK, 0, 0, 0, n - 1, 0, n, 0}, chunk);
		refused("size of a chunk", {GPUCOL_PUT_CHUNK, 0, 0, 0, n - 1, 0, n - 1, 0}, chunk);
		run.head.nobjects = 1;
		refused("object of a PUT", {GPUCOL_PUT_HOST, GPUCOL_WIRE_MAX_HOST, 0, 0, 8, 0, 8, 0}, chunk);
		refused("object of a PUT", {GPUCOL_PUT_ORDER, 0, 1, 0, 8, 0, 8, 0}, chunk);
		refused("size of a PUT", {GPUCOL_PUT_ORDER, 0, 0, 0, 0, 0, 0, 0}, chunk);

		CHECK("a RUN is taken", s.run(run) == "" && s.put({GPUCOL_PUT_CHUNK, 0, 0, 0, n, 0, 100, 0}, chunk) == "");
		CHECK("twice", s.put({GPUCOL_PUT_CHUNK, 0, 0, 0, n, 0, 100, 0},
							 chunk) == "malformed request: an object sent twice");
		CHECK("another size",
			  s.put({GPUCOL_PUT_CHUNK, 0, 0, 0, n + 1, 100, 100, 0}, chunk) == "malformed request: part of a PUT");
		CHECK("the rest", s.put({GPUCOL_PUT_CHUNK, 0, 0, 0, n, 100, n - 100, 0}, chunk) == "");
		CHECK("again", s.put({GPUCOL_PUT_CHUNK, 0, 0, 0, n, 0, n, 0},
							 chunk) == "malformed request: a piece that nobody asked for");
		memcpy(large.data(), chunk.data(), sizeof(GpucolWireChunk));
		((GpucolWireChunk *) large.data())->desc.width = 2 * WIDTH;
		((GpucolWireChunk *) large.data())->desc.streams[GPUCOL_STREAM_CODES].nrows *= 2;
		CHECK("larger than announced", s.put({GPUCOL_PUT_CHUNK, 1, 0, 0, large.size(), 0, large.size(), 0}, large) ==
			  "malformed request: a chunk larger than announced");
	}
	close_devices();
}

int
main()
{
	test_one_part();
	test_lists();
	test_rows_of_tables();
	test_tables();
	test_parts();
	test_failed_part();
	test_pieces();
	test_objects();
	test_wrong_puts();
	return summary("request");
}
