#!/usr/bin/env python3
"""Requests to the device daemon whose figures contradict each other, each beside one that
holds together: the first must be refused with its reason, the second answered.

Usage: lies.py SOCKET

Says how many were answered and refused as they should, and exits with 1 unless all were.
A request groups one segment's rows by its one column, and counts them.  The last ones
change what they send while the daemon takes it: each is refused, or answered by what
held together.
"""
import mmap
import os
import socket
import struct
import sys
import threading

import wire

INT, AGG, LOAD_I, COUNT_STAR, NO_REG = 1, 2, 0, 1, 0xffff
CONSTANT, FOR, DICT, RLE, RAW = 1, 2, 3, 4, 5
CODES, NULLS, ZONES, DICTIONARY = 0, 1, 2, 3
HAS_NULLS, HAS_ZONE = 1, 4
NEED, DONE, RESULT, RESULT_PART = 65, 66, 68, 69
ROWS, ROW_BYTES = 1024, 128


def program():
    """Group by column 1, count(*)."""
    columns, instrs, classes, keys, aggs, size = 88, 96, 112, 114, 116, 124
    head = struct.pack("<IHHI14HI10I4x", 0x4750434b, 2, AGG, size, 1, 0, 0, 1, 0, 1, NO_REG, 1, 1, 0, 0, 0, 0, 0, 0,
                       columns, instrs, instrs, instrs, classes, keys, aggs, 0, 0, 0)
    return (head + struct.pack("<hBbI", 1, INT, 0, 20) + struct.pack("<6Hi", LOAD_I, 0, NO_REG, NO_REG, NO_REG, NO_REG, 0) +
            struct.pack("<BxH", 2, 0) + struct.pack("<BBHHH", COUNT_STAR, 0, NO_REG, NO_REG, 0) + bytes(4))


def run(storage=0, nrows=ROWS, word_rows=64):
    head = struct.pack("<3Q8I16I", 0, 0, 0, 124, 1, 1, 0, 0, 0, 0, 0, *[0] * 16)
    return head + program() + struct.pack("<4Q2I", storage, storage, 1, 0, nrows, 0) + struct.pack("<2Q2IiI", 77, 0, word_rows, 0, 1, 0)


def packed(codes, width):
    """One vector of codes, as kernel/format.h has them; width 1 to 32."""
    words = [0] * (32 * width)
    for i, code in enumerate(codes):
        bit = i // 32 * width
        shifted = code << bit % 32
        words[bit // 32 * 32 + i % 32] |= shifted & 0xffffffff
        if shifted >> 32:
            words[(bit // 32 + 1) * 32 + i % 32] |= shifted >> 32
    return struct.pack(f"<{len(words)}I", *words)


class Chunk:
    """A chunk as it is sent; a right one but for what is given."""

    def __init__(self, codes=None, width=8, zone=(0, 9), **other):
        self.coding, self.width, self.zone = FOR, width, zone
        self.flags, self.null_count, self.ndict, self.nruns, self.reference, self.step = HAS_ZONE, 0, 0, 0, 0, 0
        self.streams = {}
        if width:
            self.streams[CODES] = packed(codes or [i % 10 for i in range(ROWS)], width)
        for name, value in other.items():
            setattr(self, name, value)

    def bytes(self):
        sizes = [len(self.streams.get(k, b"")) // ROW_BYTES for k in range(7)]
        streams = [x for n in sizes for x in (0, n)]
        desc = struct.pack("<BBBbHhIIIIqqqQQ14IIIQ120x", INT, self.coding, self.width, 0, self.flags, 1, 20, self.null_count,
                           self.ndict, self.nruns, self.reference, *self.zone, 0, 0, *streams, 0, 0, self.step)
        return desc + struct.pack("<I124x", sum(1 << k for k in self.streams)) + b"".join(self.streams[k] for k in sorted(self.streams))


def receive(s):
    _, _, kind, length = struct.unpack("<IHHI", wire.receive(s, 12))
    return kind, wire.receive(s, length)


def ask(path, chunk, request=None, total=None):
    """What the daemon answers: status, groups, reason."""
    s = wire.connect(path)
    wire.hello(s)
    s.sendall(wire.message(wire.RUN, request or run()))
    kind, payload = receive(s)
    if kind == NEED:
        data = chunk.bytes() if total is None else chunk.bytes()[:total]
        s.sendall(wire.message(wire.PUT, struct.pack("<4I4Q", wire.PUT_CHUNK, 0, 0, 0, len(data), 0, len(data), 0) + data))
        kind, payload = receive(s)
    s.close()
    assert kind == RESULT, kind
    status, _, groups = struct.unpack_from("<IIQ", payload)
    return status, groups, payload[112:272].split(b"\0")[0].decode()


def slab_of(s, size):
    """A session's slab, mapped."""
    s.sendall(wire.message(wire.SLAB, struct.pack("<Q", size)))
    _, fds, _, _ = socket.recv_fds(s, 12, 1)
    slab = mmap.mmap(fds[0], size)
    os.close(fds[0])
    return slab


def keys_of(s, slab, payload):
    """The group keys of an answer."""
    _, _, groups = struct.unpack_from("<IIQ", payload)
    in_slab = struct.unpack_from("<I", payload, 104)[0]
    data = slab[:groups * 8] if in_slab else receive(s)[1]
    return list(struct.unpack_from(f"<{groups}q", data))


def ask_changing(path, chunk, place, other):
    """The keys of the answer to a chunk of which 8 bytes are others now and then; None: refused."""
    s = wire.connect(path)
    wire.hello(s)
    data = chunk.bytes()
    slab = slab_of(s, 1 << 20)
    slab[:len(data)] = data
    right, over = data[place:place + 8], threading.Event()

    def change():
        while not over.is_set():
            slab[place:place + 8] = other
            slab[place:place + 8] = right

    s.sendall(wire.message(wire.RUN, run()))
    kind, _ = receive(s)
    assert kind == NEED, kind
    writer = threading.Thread(target=change)
    writer.start()
    s.sendall(wire.message(wire.PUT, struct.pack("<4I4Q", wire.PUT_CHUNK, 0, 0, 1, len(data), 0, len(data), 0)))
    kind = DONE
    while kind == DONE:
        kind, payload = receive(s)
    over.set()
    writer.join()
    assert kind == RESULT, kind
    keys = keys_of(s, slab, payload) if struct.unpack_from("<I", payload)[0] == 0 else None
    s.close()
    return keys


def dictionary(entries, codes, **other):
    data = struct.pack(f"<{len(entries)}q", *entries)
    chunk = Chunk(codes=codes, coding=DICT, ndict=len(entries), zone=(entries[0], entries[-1]), **other)
    chunk.streams[DICTIONARY] = data + bytes(-len(data) % ROW_BYTES)
    return chunk


def nulls(rows, **other):
    chunk = Chunk(flags=HAS_ZONE | HAS_NULLS, null_count=len(rows), **other)
    chunk.streams[NULLS] = sum(1 << r for r in rows).to_bytes(ROW_BYTES, "little")
    return chunk


def with_empty(stream, **other):
    chunk = Chunk(**other)
    chunk.streams[stream] = b""
    return chunk


def zoned(zone, **other):
    chunk = Chunk(**other)
    chunk.streams[ZONES] = struct.pack("<qq", *zone) + bytes(112)
    return chunk


BEYOND = "beyond what its segment tells"
FEW = [i % 3 for i in range(ROWS)]
WILD = [i % 10 if i != 500 else 200 for i in range(ROWS)]

# What is asked: by which chunk, with which request, how many groups or which reason comes back.
CASES = [
    ("ten values", Chunk(), {}, 10),
    ("a greatest value that is none", Chunk(zone=(0, 3)), {}, BEYOND),
    ("a least value that is none", Chunk(zone=(4, 9)), {}, BEYOND),
    ("one value beyond", Chunk(codes=WILD), {}, BEYOND),
    ("that value in a row that is NULL", nulls([500], codes=WILD), {}, 11),
    ("another reference", Chunk(reference=1000), {}, BEYOND),
    ("with its zone", Chunk(reference=1000, zone=(1000, 1009)), {}, 10),
    ("a reference beyond int64", Chunk(reference=2**63 - 5, zone=(0, 9)), {}, BEYOND),
    ("three values", Chunk(codes=FEW, zone=(0, 2)), {}, 3),
    ("a constant", Chunk(width=0, coding=CONSTANT, reference=5, zone=(5, 5)), {}, 1),
    ("another constant than the zone's", Chunk(width=0, coding=CONSTANT, reference=50, zone=(5, 5)), {}, BEYOND),
    ("a constant with codes", Chunk(coding=CONSTANT), {}, "descriptor of a chunk"),
    ("integers as they are", Chunk(coding=RAW), {}, "descriptor of a chunk"),
    ("a step without steps", Chunk(step=3), {}, "descriptor of a chunk"),
    ("an empty zone", Chunk(zone=(9, 0)), {}, "zone of a chunk"),
    ("a dictionary", dictionary([-5, 7, 10**12], FEW, width=2), {}, 3),
    ("out of order", dictionary([-5, 10**12, 7], FEW, width=2), {}, "dictionary of a chunk"),
    ("codes beyond it", dictionary([-5, 7, 9], [3] * ROWS, width=2), {}, 1),
    ("no entries beside other codes", with_empty(DICTIONARY, codes=WILD), {}, "streams of a chunk"),
    ("zones of vectors", zoned((0, 9)), {}, 10),
    ("zones beyond the chunk's", zoned((0, 10)), {}, "zone of a vector"),
    ("less than a head", Chunk(), {"total": 100}, "size of a PUT"),
    ("less than its streams", Chunk(), {"total": 1000}, "size of a chunk"),
    ("a chunk of more rows than told", Chunk(), {"request": run(word_rows=1)}, "larger than announced"),
    ("a segment of more rows", Chunk(), {"request": run(nrows=5000)}, "size of a chunk's stream"),
    ("a chunk that stays", Chunk(), {"request": run(storage=99)}, 10),
    ("and is found", None, {"request": run(storage=99)}, 10),
    ("by a segment of more rows", None, {"request": run(storage=99, nrows=5000)}, "resident piece of another size"),
    ("and found again", None, {"request": run(storage=99)}, 10),
]


ROUNDS = 300


def changing(path):
    """A dictionary whose last entry changes; how many answers are wrong."""
    chunk = dictionary([-5, 7, 9], FEW, width=2)
    last = wire.CHUNK_HEAD + len(chunk.streams[CODES]) + 16
    answers = [ask_changing(path, chunk, last, struct.pack("<q", 10**12)) for _ in range(ROUNDS)]
    wrong = [keys for keys in answers if keys is not None and sorted(keys) != [-5, 7, 9]]
    print(f"a dictionary that changes: {sum(keys is None for keys in answers)} refused, {len(wrong)} of {ROUNDS} wrong", *wrong[:1])
    return len(wrong)


def main():
    wrong = 0
    for name, chunk, how, expected in CASES:
        status, groups, reason = ask(sys.argv[1], chunk, **how)
        right = expected in reason and status != 0 if isinstance(expected, str) else status == 0 and groups == expected
        if not right:
            wrong += 1
            print(f"{name}: status {status}, {groups} groups, reason \"{reason}\"; expected {expected}")
    wrong += changing(sys.argv[1]) > 0
    print(f"{len(CASES) + 1 - wrong} of {len(CASES) + 1} as expected")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
