"""report.py: what the measurements share: the report that they print and keep, psql,
and a line about the machine.  Expects a running cluster named by PGHOST, psql on PATH."""

import os
import platform
import re
import subprocess
import sys
import time


class Report:
    """Markdown that is printed and kept in a file."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")

    def __call__(self, line=""):
        print(line, flush=True)
        print(line, file=self.file, flush=True)


def psql(script, options="", **variables):
    """Run a psql script with settings of the session; its output without alignment."""
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
    for name, value in variables.items():
        command += ["-v", f"{name}={value}"]
    environment = dict(os.environ, PGOPTIONS=options) if options else None
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False,
                          env=environment)
    if done.returncode:
        sys.exit(f"psql failed: {done.stderr}\n{script}")
    return done.stdout


def machine(tree):
    """One line that says where this was measured."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = re.search(r"model name\s*: (.*)", info.read())
    commit = os.environ.get("GPUCOL_BENCH_COMMIT") or subprocess.run(
        ["git", "-C", tree, "log", "-1", "--format=%h"], capture_output=True, text=True, check=False).stdout.strip()
    version = psql("SHOW server_version").strip()
    return (f"{time.strftime('%Y-%m-%d')}, commit {commit}, PostgreSQL {version}, "
            f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} cores")
