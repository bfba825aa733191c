/*-------------------------------------------------------------------------
 *
 * session_status.cc
 *	  What the daemon tells of its devices, its cache and its sessions, and makes leave
 *	  the cache.
 *
 * Lock order: the list of sessions, then what a session shows.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/session.cuh"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "cuda/base/device_verdict.h"
#include "cuda/daemon/open_devices.cuh"
#include "cuda/jit/jit.cuh"

static std::mutex sessions_mutex;
static std::set<Session *> sessions;

/* Be shown from here on. */
void
Session::enter()
{
	std::lock_guard<std::mutex> lock(sessions_mutex);

	sessions.insert(this);
}

void
Session::leave()
{
	std::lock_guard<std::mutex> lock(sessions_mutex);

	sessions.erase(this);
}

void
Session::set_pid(int pid)
{
	std::lock_guard<std::mutex> lock(shown_mutex_);

	pid_ = pid;
}

void
Session::set_state(const char *state)
{
	std::lock_guard<std::mutex> lock(shown_mutex_);

	state_ = state;
	since_ = Clock::now();
}

/* What it shows. */
GpucolWireActivityRow
Session::activity()
{
	std::lock_guard<std::mutex> lock(shown_mutex_);
	GpucolWireActivityRow row = {};

	row.pid = pid_;
	snprintf(row.state, sizeof(row.state), "%s", state_);
	row.seconds = std::chrono::duration<double>(Clock::now() - since_).count();
	row.bytes = held_;
	row.progress = progress_;
	return row;
}

/* What all show. */
std::vector<GpucolWireActivityRow>
Session::activities()
{
	std::lock_guard<std::mutex> lock(sessions_mutex);
	std::vector<GpucolWireActivityRow> rows;

	for (Session *s : sessions)
		rows.push_back(s->activity());
	return rows;
}

/* Any device, used or not. */
static GpucolWireDevice
describe(int ordinal)
{
	cudaDeviceProp prop;
	GpucolWireDevice d = {};

	d.number = -1;
	if (cudaGetDeviceProperties(&prop, ordinal) != cudaSuccess)
	{
		cudaGetLastError();
		return d;
	}
	memcpy(d.name, prop.name, sizeof(d.name) - 1);
	d.multiprocessors = prop.multiProcessorCount;
	d.memory = prop.totalGlobalMem;
	snprintf(d.architecture, sizeof(d.architecture), "%s", device_architecture(10 * prop.major + prop.minor).c_str());
	return d;
}

/* One that is used. */
static GpucolWireDevice
describe(Device &device, const JitCounts &compiled)
{
	GpucolWireDevice d = describe(device.ordinal);

	d.number = device.number;
	snprintf(d.code, sizeof(d.code), "%s", device.code.c_str());
	d.limit = device.pool.limit();
	d.held = device.pool.used();
	d.cached = device.cache.bytes();
	d.hits = device.cache.hits;
	d.misses = device.cache.misses;
	d.evictions = device.cache.evictions;
	d.requests = device.requests;
	d.compiled = compiled.ready;
	d.compiling = compiled.waiting;
	d.refused = compiled.refused;
	snprintf(d.compiler, sizeof(d.compiler), "%s", jit.note().c_str());
	return d;
}

static std::vector<GpucolWireDevice>
describe_devices()
{
	std::vector<GpucolWireDevice> rows;
	JitCounts	compiled = jit.counts();

	for (Device *device : devices)
		rows.push_back(describe(*device, compiled));
	for (const UnusedDevice &device : unused_devices)
	{
		GpucolWireDevice d = describe(device.ordinal);

		snprintf(d.unused_because, sizeof(d.unused_because), "%s", device.why.c_str());
		rows.push_back(d);
	}
	return rows;
}

/* What is resident, as much of it as a message holds. */
static std::vector<GpucolWireCacheRow>
describe_cache()
{
	std::vector<GpucolWireCacheRow> rows;

	for (Device *device : devices)
	{
		std::vector<GpucolWireCacheRow> more = device->cache.rows();

		rows.insert(rows.end(), more.begin(), more.end());
	}
	rows.resize(std::min<size_t>(rows.size(), GPUCOL_WIRE_MAX_PAYLOAD / sizeof(rows[0])));
	return rows;
}

template <class Row> static void
send_rows(Connection &client, const std::vector<Row> &rows)
{
	client.send(GPUCOL_WIRE_STATUS_ROWS, rows.data(), rows.size() * sizeof(Row));
}

/* STATUS. */
void
Session::status()
{
	switch (client_.as<GpucolWireStatus>().kind)
	{
		case GPUCOL_STATUS_DEVICES:
			send_rows(client_, describe_devices());
			break;
		case GPUCOL_STATUS_CACHE:
			send_rows(client_, describe_cache());
			break;
		case GPUCOL_STATUS_ACTIVITY:
			send_rows(client_, activities());
			break;
		default:
			throw Goodbye();
	}
}

/* EVICT. */
void
Session::evict()
{
	GpucolWireEvict wire = client_.as<GpucolWireEvict>();
	GpucolWireEvicted evicted = {0, 0};

	for (Device *device : devices)
	{
		GpucolWireEvicted here = device->cache.evict(wire.storage);

		evicted.chunks += here.chunks;
		evicted.bytes += here.bytes;
	}
	client_.send(GPUCOL_WIRE_EVICTED, &evicted, sizeof(evicted));
}
