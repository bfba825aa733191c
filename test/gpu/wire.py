#!/usr/bin/env python3
"""Break the device daemon: an illegal address, malformed messages, or messages of the
server that have been changed on their way.

Usage: wire.py fault SOCKET | wire.py fuzz SOCKET N | wire.py relay SOCKET SEED

relay takes the daemon's place at SOCKET until it is terminated, and hands what the server
says on to the daemon, some messages with some bytes of their payload changed: those of
RUNs, of heads of chunks and of recursions often, packed columns now and then.  It then
says how many it changed.  What goes through a slab it does not see.
"""
import os
import random
import re
import select
import signal
import socket
import struct
import sys
import threading

PROTOCOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/service/protocol.h")
MAGIC = 0x44475047
VERSION = int(re.search(r"GPUCOL_WIRE_VERSION\s+(\d+)", open(PROTOCOL).read()).group(1))
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
    if not s.recv(100):
        sys.exit("the daemon does not speak this protocol")


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
        head = struct.pack("<3Q8I64s", 0, 0, rnd.getrandbits(rnd.choice([1, 40])),
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


def receive(s, n):
    """Exactly n bytes, or less at the end."""
    got = b""
    while len(got) < n:
        more = s.recv(n - len(got))
        if not more:
            break
        got += more
    return got


PUT_HEAD, CHUNK_HEAD = 48, 384	# bytes: GpucolWirePut, GpucolWireChunk
PUT_CHUNK = 1
FIGURES = range(24, 48)			# of a GpucolChunkDesc: reference and zone, which no count contradicts
changed = 0


def is_head(kind, payload):
    """Does a message begin a chunk that travels in it?"""
    if kind != PUT or len(payload) < PUT_HEAD + CHUNK_HEAD:
        return False
    what, _, _, in_slab, _, offset = struct.unpack_from("<IIIIQQ", payload)
    return what == PUT_CHUNK and offset == 0 and not in_slab


def places(kind, payload, rnd):
    """Where a message's payload is changed."""
    if is_head(kind, payload) and rnd.randrange(4):
        first = PUT_HEAD + (rnd.choice(FIGURES) if rnd.randrange(2) else rnd.randrange(CHUNK_HEAD))
        return [first] + [PUT_HEAD + rnd.choice(FIGURES) for _ in range(rnd.randrange(3))]
    if kind == PUT and len(payload) > PUT_HEAD and rnd.randrange(8):
        return [rnd.randrange(PUT_HEAD, len(payload)) for _ in range(rnd.randrange(1, 200))]
    return [rnd.randrange(min(len(payload), rnd.choice([64, 200, 1000, 1 << 30]))) for _ in range(rnd.randrange(1, 4))]


def change(kind, payload, rnd):
    """The payload with some bytes changed."""
    global changed
    new = bytearray(payload)
    for at in places(kind, payload, rnd):
        new[at] = rnd.choice([0, 1, 0x7f, 0xff, new[at] ^ 1 << rnd.randrange(8)])
    changed += 1
    return bytes(new)


def is_changed(kind, payload, rnd):
    if kind in (HELLO, SLAB) or not payload:
        return False
    if kind == PUT:
        return rnd.randrange(12 if is_head(kind, payload) else 60) == 0
    return rnd.randrange(4) == 0


def to_daemon(client, daemon, rnd):
    """The server's messages, until either end leaves."""
    try:
        while len(head := receive(client, 12)) == 12:
            _, _, kind, length = struct.unpack("<IHHI", head)
            payload = receive(client, length)
            if is_changed(kind, payload, rnd):
                payload = change(kind, payload, rnd)
            daemon.sendall(head + payload)
    except OSError:
        pass
    for s in (client, daemon):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def to_server(daemon, client):
    """What the daemon says, with the descriptors that come along."""
    try:
        while True:
            data, fds, _, _ = socket.recv_fds(daemon, 1 << 16, 4)
            if not data:
                break
            sent = socket.send_fds(client, [data], fds) if fds else 0
            client.sendall(data[sent:])
            for fd in fds:
                os.close(fd)
    except OSError:
        pass
    try:
        client.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def relay(path, seed):
    behind = path + ".behind"
    rnd = random.Random(seed)
    listener = socket.socket(socket.AF_UNIX)
    os.rename(path, behind)
    listener.bind(path)
    os.chmod(path, 0o777)
    listener.listen(64)

    def give_back(*_):
        os.rename(behind, path)
        print(changed, "messages changed", flush=True)
        os._exit(0)

    signal.signal(signal.SIGTERM, give_back)
    while True:
        select.select([listener], [], [], 1)
        client, _ = listener.accept()
        daemon = socket.socket(socket.AF_UNIX)
        try:
            daemon.connect(behind)
        except OSError:
            client.close()
            continue
        threading.Thread(target=to_daemon, args=(client, daemon, random.Random(rnd.random())), daemon=True).start()
        threading.Thread(target=to_server, args=(daemon, client), daemon=True).start()


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
    if mode == "relay":
        relay(path, int(sys.argv[3]))
    rnd = random.Random(7)
    answered = 0
    for _ in range(int(sys.argv[3])):
        s = connect(path)
        try:
            if rnd.randrange(4):
                hello(s)
            for _ in range(rnd.randrange(1, 4)):
                s.sendall(garbage(rnd))
            s.settimeout(0.05)
            if s.recv(1000):
                answered += 1
        except OSError:
            pass
        s.close()
    print(answered, "answered")


if __name__ == "__main__":
    main()
