/*-------------------------------------------------------------------------
 *
 * piece_loader.cuh
 *	  Pieces of segments that a client sends: into device memory, checked, and resident.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PIECE_LOADER_CUH
#define GPUCOL_CUDA_PIECE_LOADER_CUH

#include <map>
#include <vector>

#include "cuda/query/deal.cuh"
#include "cuda/query/parts.cuh"
#include "cuda/query/put.cuh"

class PieceLoader
{
public:
	PieceLoader(const RunMessage &run, const PieceCatalog &catalog, PinnedPieces &pieces, Deal &deal,
				PartsAtWork &parts, Claim &claim);

	/* Frees what has come in part only. */
	~PieceLoader();
	PieceLoader(const PieceLoader &) = delete;

	/* Take part of a piece; `data` is host memory.  Waits for memory; throws Failure. */
	void		put(const PutKind &kind, const GpucolWirePut &put, const char *data);

	/* How many pieces have been loaded. */
	size_t		loaded() const { return loaded_; }

private:
	struct Loading;

	void		check(const GpucolWirePut &put, uint32_t number) const;
	void		begin(Loading *loading, Share &share, uint64_t bytes);
	void		begin_chunk(Loading *loading, Share &share, const GpucolWirePut &put);
	void		put_chunk(Loading *loading, Share &share, const GpucolWirePut &put, const char *data);
	void		put_streams(Loading *loading, Lane &lane, uint64_t at, const char *data, uint64_t n);
	void		put_plain(Loading *loading, Share &share, const PutKind &kind, const GpucolWirePut &put,
						  const char *data);
	void		finish_chunk(Loading *loading, Share &share, uint32_t segment, uint32_t slot);
	void		finish(Loading *loading, const GpucolWirePut &put, uint32_t number);
	void	   *memory(Share &share, size_t size);

	const RunMessage &run_;
	const PieceCatalog &catalog_;
	PinnedPieces &pieces_;
	Deal	   &deal_;
	PartsAtWork &parts_;
	Claim	   &claim_;
	std::map<size_t, Loading> loading_; /* by the catalog's index */
	size_t		loaded_ = 0;
};

#endif
