"""A backend in Python: sessions as files of one directory, which the setting `root` names.
A session is `<name>.log`, a header line and then a record a line; beside it may be `<name>.cut`, what `truncate`
dropped, and `<name>.summary`. A call reads the whole log. No leases: one process at a time may use a directory.
"""
import errno, hashlib, json, json.scanner, os, pathlib, re, urllib.parse, zlib
from componentize_py_types import Err
from wit_world import exports
from wit_world.imports.types import *
RECORD_BYTES_MAX, NAME_BYTES_MAX = 64 << 20, 100
CODES = {errno.ENOSPC: "no-space", errno.EDQUOT: "no-space", errno.EROFS: "read-only", errno.EACCES: "read-only"}
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
NESTED = json.JSONDecoder(parse_int=float)
NESTED.scan_once = json.scanner.py_make_scanner(NESTED)  # slower, but depth does not exhaust the component's stack
root = None

def refuse(code, message, **facts):
    raise Err(Error(ErrorCode[code.upper().replace("-", "_")], code, message, json.dumps(facts)))
def path(id, suffix):  # any id has a file name, no two share one, also where case is folded, and none leads elsewhere
    id or refuse("invalid", "a session id must not be empty; give one")
    name = re.sub(rb"[^a-z0-9_-]", lambda found: b"~%02x" % found[0][0], id.encode()).decode()
    short = f"{name[:60]}~~{hashlib.sha256(id.encode()).hexdigest()[:32]}"
    return root / ((name if len(name) <= NAME_BYTES_MAX else short) + suffix)
def content(file): return file.read_bytes() if file.exists() else None
def stored(id):
    log = content(path(id, ".log"))
    return refuse("not-found", f"session {json.dumps(id)} not found", id=id) if log is None else log

def replace(file, data):  # whoever reads finds the old file or the new one, never half of it
    (root / "temporary").write_bytes(data)
    (root / "temporary").replace(file)

def line_of(record):  # a header or a summary as JSON with a checksum
    text = json.dumps(vars(record), separators=(",", ":"))
    return f'{text[:-1]},"crc":{zlib.crc32(text.encode())}}}\n'.encode()
def read(kind, data):  # what `line_of` made the first line of; none where it is not that any more
    try:
        line = data[:data.find(b"\n") + 1]
        record = kind(**{name: value for name, value in json.loads(line).items() if name != "crc"})
        return record if line == line_of(record) else None
    except UNREADABLE:
        return None

def place_of(line):  # first seq, next seq, time of the last event; none where the line is no record
    try:  # numbers as doubles: exact as far as seqs go, and quick with a million digits
        is_nested = line.count(b"[") + line.count(b"{") > 1000
        value = NESTED.decode(line.decode()) if is_nested else json.loads(line.decode(), parse_int=float)
        steps = value["data"]["dt"] if "seq0" in value else []  # of a packed row, which has an event more than that
        seq, time_ms = value.get("seq0", value.get("seq")), value.get("time0", value.get("time"))
        return int(seq), int(seq + len(steps) + value.get("count", 1)), max(0, int(time_ms + sum(steps)))
    except UNREADABLE:
        return None

def end_of(log):  # next seq and time of the last event, both out of the last line
    _, newline, line = log[:-1].rpartition(b"\n")
    place = place_of(line) if newline else read(SessionHeader, log) and (0, 0, None)
    place and log.endswith(b"\n") or refuse("corrupt", "the log ends in no record; truncate it first")
    return place[1:]

def checked(events, next_seq):  # the bytes to store
    data, actual, max_ = events.lines.encode(), events.first_seq, RECORD_BYTES_MAX
    actual == next_seq or refuse("seq-conflict", f"the log goes on at seq {next_seq}, not {actual}; reopen the session")
    longest, last = max(map(len, data.split(b"\n"))) + 1, place_of(data[data.rfind(b"\n", 0, -1) + 1:])
    longest <= max_ or refuse("limit", f"a record has {longest} bytes", limit="record-bytes-max", max=max_)
    is_readable = not data or last and last[1] == next_seq + events.count
    return data if is_readable else refuse("invalid", "the batch ends in no record, or in one that is nested too deep")

def entry_of(file):
    header, summary, time_ms, note, log = None, SessionSummary(None, None), None, None, b""
    try:
        log, summary = file.read_bytes(), read(SessionSummary, content(file.with_suffix(".summary")) or b"") or summary
        header = read(SessionHeader, log) or refuse("corrupt", "the first line is no header that is read here")
        time_ms = end_of(log)[1]
    except (OSError, Err) as error:
        note = error.value.message if isinstance(error, Err) else f"the log cannot be read: {error.strerror}"
    bad = SessionStatus.UNSUPPORTED if not header and re.match(rb'{"version":[1-9]', log) else SessionStatus.DAMAGED
    id = header.id if header else file.stem if "~~" in file.stem else urllib.parse.unquote(file.stem.replace("~", "%"))
    return SessionEntry(id, header, summary, time_ms, bad if note else SessionStatus.OK, note)

class Persistence(exports.Persistence):
    def __getattribute__(self, name):  # every call goes through here
        def call(*arguments):
            root or name == "configure" or refuse("not-configured", "not configured; call configure first")
            try:
                return object.__getattribute__(self, name)(*arguments)
            except OSError as error:
                refuse(CODES.get(error.errno, "other"), f"the medium failed: {error.strerror}")
        return call
    def configure(self, settings):
        global root
        given = dict(settings)
        list(given) == ["root"] or refuse("invalid", f'the setting "root" is needed, and no other; given: {[*given]}')
        root = pathlib.Path(given["root"])
        root.mkdir(parents=True, exist_ok=True)
        return BackendInfo("python-files", "0.1.0", Durability.PROCESS, False, LeaseScope.NONE, RECORD_BYTES_MAX, [])
    def acquire(self, id, holder, evict): return "none"
    def renew(self, id, token): pass
    def release(self, id, token): pass
    def has(self, id): return path(id, ".log").exists()
    def create(self, header, token, first):
        self.has(header.id) and refuse("already-exists", f"session {json.dumps(header.id)} already exists")
        replace(path(header.id, ".log"), line_of(header) + checked(first, 0))
    def append(self, id, token, events):
        log = stored(id)
        data = checked(events, end_of(log)[0])
        try:
            with path(id, ".log").open("ab") as file:
                file.write(data)
        except OSError:
            os.truncate(path(id, ".log"), len(log))  # all of it or none
            raise
    def load(self, id, cursor, bytes_max):
        log = stored(id)
        not cursor or cursor < len(log) and log[cursor - 1] == 10 or refuse("invalid", "no page gave this cursor")
        header = None if cursor else read(SessionHeader, log)
        start = log.find(b"\n") + 1 if header else cursor  # a first line that is no header goes up as it is
        one = log.find(b"\n", start) + 1 or len(log)
        for end in (log.rfind(b"\n", start, start + bytes_max) + 1, one) if start else ():
            text = log[start:end].decode(errors="replace")
            if text.endswith("\n") and text.encode() == log[start:end]:
                return Page(header, start, text, None, end if end < len(log) else None)
        return Page(header, start, "", log[start:one] or None, one if one < len(log) else None)
    def truncate(self, id, token, keep_events):
        log, events, cut = stored(id), 0, content(path(id, ".cut")) or b""
        end = log.find(b"\n") + 1
        read(SessionHeader, log) or refuse("corrupt", "the first line is no session header")
        while events < keep_events and (place := place_of(log[end:log.find(b"\n", end) + 1])) and place[0] == events:
            end, events = log.find(b"\n", end) + 1, place[1]
        events == keep_events or refuse("invalid", f"no record ends at {keep_events} events, but one does at {events}")
        if end < len(log):  # a call that was killed may have saved it already
            replace(path(id, ".cut"), cut if cut.endswith(log[end:]) else cut + log[end:])
            replace(path(id, ".log"), log[:end])
    def load_cut(self, id, cursor, bytes_max):
        _, cut = stored(id), content(path(id, ".cut")) or b""
        not cursor or cursor < len(cut) or refuse("invalid", "no page gave this cursor")
        end = min(len(cut), cursor + max(1, bytes_max))
        return Page(None, None, "", cut[cursor:end] or None, end if end < len(cut) else None)
    def list(self, cursor, count_max):
        cursor is None or cursor.startswith("after:") or refuse("invalid", "no listing gave this cursor")
        files = sorted(file for file in root.glob("*.log") if file.name > (cursor or "after:")[6:])
        shown = files[:count_max or 1]
        return Listing([entry_of(file) for file in shown], f"after:{shown[-1].name}" if shown != files else None)
    def delete(self, id, token):
        stored(id)
        for suffix in (".cut", ".summary", ".log"):  # the log last: until then the session is there
            path(id, suffix).unlink(missing_ok=True)
    def update(self, id, summary):
        _, old = stored(id), read(SessionSummary, content(path(id, ".summary")) or b"") or SessionSummary(None, None)
        texts = [old if new is None else new or None for old, new in zip(vars(old).values(), vars(summary).values())]
        replace(path(id, ".summary"), line_of(SessionSummary(*texts)))
