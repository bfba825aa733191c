#!/bin/bash
# cuda.sh: build the CUDA daemon, build/cuda/gpucol_gpud; `make install` installs it.
#
# Needs nvcc of CUDA 13, on the PATH or in /usr/local/cuda/bin, and nothing of
# PostgreSQL.  ARCH says for which devices (cuda/Makefile); without it, those that are here, or
# all that CUDA knows where there are none.

. "$(dirname "$0")/common.sh"

PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null ||
	die "the CUDA daemon needs nvcc, the compiler of CUDA 13 (package cuda-nvcc-13-0 of NVIDIA's CUDA toolkit), on the PATH or in /usr/local/cuda/bin. Without the daemon gpucol works on the CPU engine"
nvcc --version | sed -n 's/^.*release \([0-9.]*\).*/building the CUDA daemon with nvcc \1/p'
ARCH=$(cuda_arch all)
say "for ARCH=$ARCH"
make -s -j"$(nproc)" -C "$ROOT/cuda" ARCH="$ARCH"
say "built build/cuda/gpucol_gpud; 'make install' installs it beside the extension"
