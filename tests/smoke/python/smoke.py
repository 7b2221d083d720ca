"""The interface, used from Python on a real directory.

usage: python smoke.py COMPONENT COMMAND STORY
  COMPONENT  the composed annals-jsonl.wasm, COMMAND  the annals command, STORY  story.json
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import traceback

from annals import Refused, load, record
from holder import this_process
from leases import Leases

PAGE_BYTES = 1 << 20
HOLDER = this_process()
OPTIONS = record(out_of_band_types=[], strict=False)
SETTINGS = [("root", "/annals")]


def expect(actual, expected, what="value"):
    if actual != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")


def lines(events):
    return "".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in events)


def parsed(text):
    return [json.loads(line) for line in text.split("\n") if line]


def options(**given):
    names = ("id", "cwd", "parent_session", "seed_length", "delegation_depth", "created_at_ms", "seed", "extra")
    return record(**{name: given.get(name) for name in names})


class Smoke:
    """One root, one instance, and the checks in order; each goes on where the one before it stopped."""

    def __init__(self, component, command, story, root):
        self.make = load(component)
        self.command = command
        self.story = story
        self.root = root
        self.seen = []
        self.written = ""
        self.annals = self.make(root, self.observer)

    def observer(self, name):
        return lambda _store, session, *_rest: self.seen.append((name, session))

    def refused(self, code, call, *arguments):
        try:
            call(*arguments)
        except Refused as failure:
            expect(failure.error.code, code, "code")
            return failure.error
        raise AssertionError("the call succeeded")

    def stored(self, session):
        with open(os.path.join(self.root, "_no-cwd", f"{session}.jsonl"), encoding="utf-8", newline="") as file:
            return file.read()

    def run(self, *arguments, text=""):
        done = subprocess.run(
            [self.command, "--root", self.root, *arguments], input=text.encode(), capture_output=True, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"annals {arguments} exited {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()

    def history(self, handle):
        """The whole history of a session, one JSON message a line."""
        text, start = "", 0
        while True:
            page = self.annals.session("messages", handle, start, PAGE_BYTES)
            text += page.lines
            start += len(parsed(page.lines))
            if start >= page.total:
                return text

    def check_the_pure_rules_answer_without_a_store(self):
        message = next(event for event in self.story["turn"] if event["type"] == "user/message")
        events = lines([{"seq": 0, "time": 1, **message}])
        expect(self.annals.rule("fold-surface", events).nodes, [0], "nodes")
        expect(json.loads(self.annals.rule("message-of", events)), self.story["messages"][0], "message")
        error = self.refused("invalid", self.annals.rule, "check-trace", events)
        expect(error.reason, "trace-outside-turn", "reason")

    def check_configure_names_the_backend_and_what_it_promises(self):
        info = self.annals.call("configure", HOLDER, OPTIONS, SETTINGS)
        expect((info.name, info.durability), ("jsonl", "power"))

    def check_an_unknown_setting_is_refused_by_name(self):
        error = self.refused("invalid", self.annals.call, "configure", HOLDER, OPTIONS, [*SETTINGS, ("colour", "red")])
        expect("colour" in error.message, True, error.message)
        self.annals.call("configure", HOLDER, OPTIONS, SETTINGS)

    def check_create_append_flush_the_file_holds_the_lines_that_append_gave(self):
        handle = self.annals.call("create", options(id="from-python"), 1000)
        expect(self.annals.call("has", "from-python"), False, "has")
        batch = self.annals.session("append", handle, lines(self.story["turn"]), 2000)
        expect((getattr(batch, "first-seq"), batch.count), (0, len(self.story["turn"])))
        self.annals.session("flush", handle)
        self.written = batch.lines
        header, rest = self.stored("from-python").split("\n", 1)
        expect(json.loads(header)["createdAt"], 1000, "createdAt")
        expect(rest, self.written, "file")
        self.annals.session("close", handle)
        handle.drop(self.annals.store)

    def check_the_observer_was_told_in_order(self):
        told = [name for name, session in self.seen if session == "from-python"]
        expect([name for name in told if name != "flushed"], ["created", "appended", "disposed"])
        expect("flushed" in told, True, "flushed")

    def check_a_closed_session_answers_not_found(self):
        handle = self.annals.call("create", options(id="closed"), 1000)
        self.annals.session("close", handle)
        self.refused("not-found", self.annals.session, "append", handle, lines(self.story["turn"]), 2000)

    def check_open_again_nothing_to_repair_and_the_next_seq_follows(self):
        handle, repair = self.annals.call("open", "from-python", "resume")
        expect(self.annals.session("next-seq", handle), len(self.story["turn"]), "next seq")
        expect((getattr(repair, "cut-bytes"), repair.closers), (0, 0), "repair")
        expect(self.annals.session("events", handle, 0, PAGE_BYTES).lines, self.written, "events")
        batch = self.annals.session("append", handle, self.story["verbatim"] + "\n", 3000)
        data = re.search(r'"data":.*(?=\}$)', self.story["verbatim"])[0]
        expect(data in batch.lines, True, "data as given, spelling included")
        self.annals.session("close", handle)
        expect(self.stored("from-python").endswith(self.written + batch.lines), True, "bytes in are bytes out")

    def check_an_interrupted_turn_continue_leaves_it_open_inspect_tells_resume_closes_it(self):
        closers = self.story["closers"]
        handle, _ = self.annals.call("open", "from-python", "continue")
        self.annals.session("append", handle, lines(self.story["interrupted"]), 4000)
        self.annals.session("close", handle)
        before = self.stored("from-python")
        handle, due = self.annals.call("open", "from-python", "inspect")
        expect(due.closers, len(closers), "closers due")
        self.refused("read-only", self.annals.session, "append", handle, lines(self.story["turn"]), 5000)
        self.annals.session("close", handle)
        expect(self.stored("from-python"), before, "inspecting writes nothing: file")
        handle, repair = self.annals.call("open", "from-python", "resume")
        expect(repair.closers, len(closers), "closers")
        added = parsed(self.stored("from-python")[len(before) :])
        expect([event["type"] for event in added], closers)
        messages = parsed(self.history(handle))
        expect(messages[:-1], self.story["messages"], "messages")
        expect(messages[-1]["content"][0]["isError"], True, "isError")
        self.annals.session("close", handle)

    def check_refused_lines_change_nothing(self):
        for case in self.story["refused"]:
            handle, _ = self.annals.call("open", "from-python", "continue")
            before = self.annals.session("next-seq", handle)
            text = lines(self.story["turn"]) + case["line"] + "\n"
            error = self.refused(case["code"], self.annals.session, "append", handle, text, 6000)
            expect(type(json.loads(error.detail)), dict, "detail")
            expect(self.annals.session("next-seq", handle), before, case["name"])
            self.annals.session("close", handle)

    def check_an_unknown_id_is_not_found_with_every_field_of_the_record(self):
        error = self.refused("not-found", self.annals.call, "open", "../nobody", "resume")
        expect(sorted(vars(error)), ["code", "detail", "message", "reason"])
        expect("../nobody" in error.message, True, error.message)
        expect(bool(re.fullmatch(r"[a-z0-9-]+", error.reason)), True, error.reason)
        expect(type(json.loads(error.detail)), dict, "detail")

    def check_an_id_is_never_stored_twice(self):
        self.refused("already-exists", self.annals.call, "create", options(id="from-python"), 7000)

    def check_the_annals_command_reads_the_same_history(self):
        handle, _ = self.annals.call("open", "from-python", "inspect")
        messages = self.history(handle)
        self.annals.session("close", handle)
        expect(self.run("messages", "from-python"), messages)
        self.run("verify", "from-python")

    def check_a_session_that_the_annals_command_wrote_same_history_and_the_next_turn_goes_on(self):
        self.run("create", "--id", "from-command")
        self.run("append", "from-command", text=lines(self.story["turn"]))
        handle, _ = self.annals.call("open", "from-command", "resume")
        expect(self.history(handle), self.run("messages", "from-command"))
        expect(parsed(self.history(handle)), self.story["messages"][:2])
        self.annals.session("append", handle, lines(self.story["interrupted"]), 8000)
        self.annals.session("close", handle)
        expect(parsed(self.run("messages", "from-command")), self.story["messages"])

    def check_strict_an_event_that_does_not_fit_is_refused_and_the_next_one_is_not(self):
        strict = record(out_of_band_types=[], strict=True)
        self.annals.call("configure", HOLDER, strict, SETTINGS)
        handle, _ = self.annals.call("open", "from-command", "resume")
        error = self.refused("invalid", self.annals.session, "append", handle, lines(self.story["turn"]), 9000)
        expect(error.reason, "trace-turn-number", "reason")
        turn = [{**event, "data": {**event["data"], "turn": 3}} for event in self.story["turn"]]
        self.annals.session("append", handle, lines(turn), 9000)
        self.annals.session("close", handle)

    def check_a_new_instance_finds_what_is_stored(self):
        self.annals = self.make(self.root, self.observer)
        self.annals.call("configure", HOLDER, OPTIONS, SETTINGS)
        sessions = self.annals.call("list", None, 10).sessions
        expect(sorted(entry.id for entry in sessions), ["from-command", "from-python"])
        expect([entry.status for entry in sessions], ["ok", "ok"])


def run(checks):
    """Every check in order; a failure ends the run here, with its check's name."""
    for method in [name for name in vars(type(checks)) if name.startswith("check_")]:
        name = method.removeprefix("check_").replace("_", " ")
        try:
            getattr(checks, method)()
        except Exception:
            print(f"FAILED python: {name}", flush=True)
            traceback.print_exc(file=sys.stdout)
            sys.exit(1)
        print(f"ok python: {name}", flush=True)


def main():
    component, command, story_path = sys.argv[1:]
    with open(story_path, encoding="utf-8") as file:
        story = json.load(file)
    with tempfile.TemporaryDirectory(prefix="annals-python-") as root:
        smoke = Smoke(component, command, story, root)
        run(smoke)
        run(Leases(smoke.annals, component, command, root))


main()
