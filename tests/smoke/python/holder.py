"""Who holds a lease: this process as hosts in other languages see it, and whether the process that another holder names
is gone. The members are those that `store.configure` documents; the facts come from Linux's /proc."""

import json
import os
import time


def this_process():
    """What `configure` is given."""
    pid = os.getpid()
    since = time.time_ns() // 1_000_000
    return json.dumps({**_here(), "pid": pid, "processStart": _start(pid), "since": since})


def is_gone(holder):
    """Whether the holder that a `busy` named is known to be gone: only a process that could be seen here is judged."""
    here = _here()
    if any(holder.get(name) != here[name] for name in here):
        return False
    return _start(holder["pid"]) != holder["processStart"]


def _here():
    return {
        "host": _line("/proc/sys/kernel/hostname"),
        "bootId": _line("/proc/sys/kernel/random/boot_id"),
        "pidNamespace": os.readlink("/proc/self/ns/pid"),
    }


def _start(pid):
    """Clock ticks since the boot; None where there is no such process, or only its remains."""
    try:
        stat = _line(f"/proc/{pid}/stat")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(")") + 2 :].split(" ")
    return None if fields[0] in "ZX" else int(fields[19])


def _line(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().rstrip("\n")
