"""peers.py: columnar extensions of PostgreSQL that part `olap` measures beside gpucol.

GPUCOL_BENCH_SYSTEMS names those to take part, by the names of PEERS; they have to be installed in the
PostgreSQL that the benchmark runs on (README).  Each keeps the same tables in a schema of its own,
as its documents advise for analysis: without indexes, compressed by its default.
"""

import re
from typing import NamedTuple


class Peer(NamedTuple):
    """What makes a peer's tables of a benchmark's."""
    extension: str
    method: str                 # the access method of its tables
    ordered: dict = {}          # table: the column in whose order it is divided and compressed


# Tables that grow with the scale are hypertables, by time where they have it; dates are seven years.
HYPERTABLES = {"lineorder": "lo_orderdate", "lineitem": "l_shipdate", "orders": "o_orderdate", "hits": "eventdate"}
PEERS = {
    "citus": Peer("citus_columnar", "columnar"),
    "pgcolumnar": Peer("pgcolumnar", "pgcolumnar"),
    "timescaledb": Peer("timescaledb", "heap", HYPERTABLES),
}


def method(system):
    """The access method of a system's tables."""
    return PEERS[system].method if system in PEERS else "heap" if system == "heap" else "gpucol"


def schema(system):
    """The prefix of the schema that has a system's tables."""
    return system if system in PEERS or system == "heap" else "gpucol"


def divisor(system, table):
    """The column that divides a system's table, None where none does."""
    return PEERS[system].ordered.get(table) if system in PEERS else None


def divide(system, table, kind):
    """The statement that makes an empty table one of a peer's kind, divided by a column of a type; "" = none."""
    by = divisor(system, table)
    if by is None:
        return ""
    interval = "20000" if re.match("int|bigint", kind) else "INTERVAL '2 years'"
    return (f"SELECT create_hypertable('{table}', by_range('{by}', {interval}), create_default_indexes => false);"
            f"ALTER TABLE {table} SET (timescaledb.enable_columnstore, timescaledb.segmentby = '', timescaledb.orderby = '{by}')")


def finish(system, table):
    """The statement that compresses a loaded table; "" = none is needed."""
    return f"SELECT count(compress_chunk(chunk)) FROM show_chunks('{table}') chunk" if divisor(system, table) else ""


def size(system, table):
    """The expression of a table's bytes."""
    return f"{'hypertable_size' if divisor(system, table) else 'pg_total_relation_size'}('{table}')"
