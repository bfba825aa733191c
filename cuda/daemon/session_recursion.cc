/*-------------------------------------------------------------------------
 *
 * session_recursion.cc
 *	  A session's recursion: its messages, and the right to compute.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/session.cuh"

#include <cstring>

#include "cuda/base/admission.cuh"

/*
 * Tell how far a recursion has come.  A client that does not read that, or has left, must
 * not hold the device up.
 */
void
Session::tell(const GpucolWireRecStatus &status)
{
	try
	{
		if (client_.takes())
			client_.send(GPUCOL_WIRE_REC_STATUS, &status, sizeof(status));
	}
	catch (const Goodbye &)
	{
		/* the next look at what the client says tells as much */
	}
}

/* REC_START. */
void
Session::start_recursion()
{
	const std::vector<char> &plan = client_.payload();
	std::vector<char> answer;

	recursion_.reset();
	recursion_.reset(new Recursion(plan.data(), plan.size(), *devices[0], [this] { return client_.speaks(); },
								   [this] (const GpucolWireRecStatus &status) { tell(status); }));
	answer = recursion_->started();
	client_.send(GPUCOL_WIRE_REC_STATUS, answer.data(), answer.size());
}

/* REC_NEXT, or REC_SUMMARISE. */
void
Session::answer_recursion(bool rows)
{
	const std::vector<char> &question = client_.payload();
	std::vector<char> answer;
	GpucolWireRecStatus status;
	{
		/* where the client did not wait for it, the recursion notices that itself */
		Admission	admission(*devices[0], true, [this] { return client_.speaks(); });

		set_state("recursion");
		answer = rows ? recursion_->next(question.data(), question.size()) :
			recursion_->summarise(question.data(), question.size());
	}
	memcpy(&status, answer.data(), sizeof(status));
	if (status.status == GPUCOL_DEVICE_LOST)
		device_check(cudaDeviceSynchronize(), "the device failed");
	client_.send(rows ? GPUCOL_WIRE_REC_ROWS : GPUCOL_WIRE_REC_SUMMARY, answer.data(), answer.size());
}

/* One message of a recursion. */
void
Session::recurse(const GpucolWireHeader &header)
{
	/* recursions run on the first device; a request may have left another current */
	device_check(cudaSetDevice(devices[0]->ordinal), "could not use the device");
	if (header.type == GPUCOL_WIRE_REC_START)
		start_recursion();
	else if (header.type == GPUCOL_WIRE_REC_END)
		recursion_.reset();
	else if (!recursion_)
		throw Goodbye();
	else if (header.type == GPUCOL_WIRE_REC_LOAD)
		recursion_->load(client_.payload().data(), client_.payload().size());
	else
		answer_recursion(header.type == GPUCOL_WIRE_REC_NEXT);
}
