"""Leases between hosts: this process and the annals command hold, refuse, and take over from each other."""

import json
import os
import subprocess
import sys
import time

from annals import Refused, record
from holder import is_gone

EVENT = '{"type":"plugin/note","data":null}\n'
SESSION = "leased"


def expect(actual, expected, what):
    if actual != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")


class Leases:
    """The checks, in order; `annals` is an instance that was configured."""

    def __init__(self, annals, component, command, root):
        self.annals = annals
        self.component = component
        self.command = command
        self.root = root

    def open(self):
        return self.annals.call("open", SESSION, "continue")[0]

    def busy(self, call, *arguments):
        """The facts of the `busy` that a call is refused with."""
        try:
            call(*arguments)
        except Refused as failure:
            expect(failure.error.code, "busy", "code")
            return json.loads(failure.error.detail)
        raise AssertionError("the call succeeded")

    def start(self, *flags):
        """Starts `annals append`, while this process goes on."""
        arguments = [self.command, "--root", self.root, "append", SESSION, *flags]
        child = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        child.stdin.write(EVENT)
        child.stdin.flush()
        return child

    def append(self, *flags, meanwhile=lambda: None):
        child = self.start(*flags)
        child.stdin.close()
        while child.poll() is None:
            meanwhile()
            time.sleep(0.1)
        return child.returncode, child.stderr.read()

    def check_while_this_process_holds_a_session_the_command_is_refused_and_told_who_holds_it(self):
        names = ("id", "cwd", "parent_session", "seed_length", "delegation_depth", "created_at_ms", "seed", "extra")
        options = record(**{name: None for name in names} | {"id": SESSION})
        handle = self.annals.call("create", options, 1000)
        self.annals.session("append", handle, EVENT, 1000)
        self.annals.session("flush", handle)
        code, errors = self.append("--wait", "200")
        expect(code, 1, errors)
        for words in (f"pid {os.getpid()}", f"annals salvage {SESSION} --fork"):
            expect(words in errors, True, errors)
        self.annals.session("close", handle)
        expect(self.append("--wait", "0")[0], 0, "code")

    def check_while_the_command_holds_a_session_this_process_is_refused_until_that_is_gone(self):
        child = self.start("--follow")
        child.stdout.readline()
        facts = self.busy(self.open)
        expect(facts["holder"]["pid"], child.pid, "pid")
        expect(is_gone(facts["holder"]), False, "gone")
        child.kill()
        child.wait()
        expect(is_gone(facts["holder"]), True, "gone")
        self.annals.call("evict", SESSION, record(token=facts["token"], why="gone"))
        self.annals.session("close", self.open())

    def check_a_killed_host_of_this_language_keeps_the_command_for_less_than_a_second(self):
        script = os.path.join(os.path.dirname(__file__), "hold.py")
        arguments = [sys.executable, script, self.component, self.root, SESSION]
        child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        expect(child.stdout.readline(), "held\n", "printed")
        expect(self.append("--wait", "0")[0], 1, "code")
        child.kill()
        child.wait()
        killed = time.monotonic()
        expect(self.append()[0], 0, "code")
        seconds = time.monotonic() - killed
        expect(seconds < 1, True, f"{seconds} s")

    def check_whoever_renews_keeps_a_lease_whoever_is_silent_loses_it_and_is_told_so(self):
        handle = self.open()
        ttl = ("--set", "lease-ttl-ms=1000")
        code, errors = self.append("--wait", "2500", *ttl, meanwhile=lambda: self.annals.call("renew"))
        expect(code, 1, errors)
        self.annals.session("append", handle, EVENT, 2000)
        self.annals.session("flush", handle)
        code, errors = self.append("--wait", "20000", *ttl)
        expect(code, 0, errors)
        self.busy(self.annals.call, "renew")
        self.busy(self.annals.session, "append", handle, EVENT, 3000)
        self.annals.session("close", handle)
