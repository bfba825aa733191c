#!/usr/bin/env python3
"""Break the device daemon: an illegal address, or malformed messages.

Usage: wire.py fault SOCKET | wire.py fuzz SOCKET N
"""
import os
import random
import socket
import struct
import sys

MAGIC, VERSION = 0x44475047, 10
(HELLO, SLAB, RUN, PUT, CANCEL, STATUS, EVICT, FAULT,
 REC_START, REC_LOAD, REC_SUMMARISE, REC_NEXT, REC_END, SOON) = range(1, 15)


def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(2)
    s.connect(path)
    return s


def message(kind, payload, magic=MAGIC, version=VERSION, length=None):
    return struct.pack("<IHHI", magic, version, kind,
                       len(payload) if length is None else length) + payload


def hello(s):
    s.sendall(message(HELLO, struct.pack("<iI", os.getpid(), 0)))
    s.recv(100)


def garbage(rnd):
    payload = rnd.randbytes(rnd.choice([0, 1, 8, 40, 96, 500, 5000]))
    shape = rnd.randrange(8)
    if shape == 0:
        return rnd.randbytes(200)
    if shape == 1:
        return message(rnd.choice([t for t in range(1, SOON + 1) if t != FAULT]), payload, length=rnd.choice([0, 7, 2**31, 2**32 - 1]))
    if shape == 2:
        return message(rnd.choice([0, 99, rnd.randrange(32, 65536)]), payload)
    if shape == 3:
        head = struct.pack("<5Q8I64s", 1, 2, 0, 0, rnd.getrandbits(rnd.choice([1, 40])),
                           rnd.randrange(4096), rnd.randrange(rnd.choice([4, 2**20])),
                           rnd.randrange(rnd.choice([4, 2000])), rnd.randrange(4), rnd.randrange(32), rnd.randrange(rnd.choice([1, 20])),
                           rnd.getrandbits(32), 0,
                           rnd.randbytes(64))
        return message(RUN, head + payload)
    if shape == 4:
        put = struct.pack("<IIIIQQQQ", rnd.randrange(9), rnd.randrange(9), rnd.randrange(9),
                          rnd.randrange(2), rnd.getrandbits(40), rnd.getrandbits(8),
                          rnd.getrandbits(rnd.choice([8, 60])), rnd.getrandbits(rnd.choice([8, 60])))
        return message(PUT, put + payload)
    if shape == 5:
        return message(rnd.choice([CANCEL, STATUS, EVICT, SLAB, SOON]), payload)
    if shape == 6:
        counts = [rnd.randrange(rnd.choice([2, 50, 2**32])) for _ in range(7)]
        start = struct.pack("<8IQqQ", *counts, rnd.randrange(5), rnd.getrandbits(40), rnd.getrandbits(20), 0)
        return message(REC_START, start + payload)
    ask = struct.pack("<4I", rnd.randrange(3), rnd.randrange(rnd.choice([4, 2**32])), rnd.randrange(2), 0)
    return message(rnd.choice([REC_LOAD, REC_SUMMARISE, REC_NEXT, REC_END]), ask[:rnd.choice([8, 16])] + payload)


def main():
    mode, path = sys.argv[1], sys.argv[2]
    if mode == "fault":
        s = connect(path)
        hello(s)
        s.sendall(message(FAULT, b""))
        try:
            print("answer", s.recv(100))
        except OSError as e:
            print(e)
        return
    rnd = random.Random(7)
    for _ in range(int(sys.argv[3])):
        s = connect(path)
        try:
            if rnd.randrange(4):
                hello(s)
            for _ in range(rnd.randrange(1, 4)):
                s.sendall(garbage(rnd))
            s.settimeout(0.05)
            s.recv(1000)
        except OSError:
            pass
        s.close()
    print("done")


if __name__ == "__main__":
    main()
