// A backend in JavaScript: sessions as files of one directory, which the setting `root` names.
// A session is `<name>.log`, a header line and then a record a line; beside it may be `<name>.cut`, what `truncate`
// dropped, and `<name>.summary`. A call reads the whole log. No leases: one process at a time may use a directory.
import { getDirectories } from 'wasi:filesystem/preopens@0.2.10';

const LIMIT = { limit: 'record-bytes-max', max: 64 << 20 }, NAME_BYTES_MAX = 100, READ_BYTES = 1n << 20n, NEWLINE = 10;
const CODES = { 'insufficient-space': 'no-space', quota: 'no-space', 'read-only': 'read-only', access: 'read-only' };
const OF_STORED = ['append', 'load', 'truncate', 'loadCut', 'delete', 'update'], LONG = ['createdAtMs', 'seedLength'];
const encoder = new TextEncoder(), decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const decode = TextDecoder.prototype.decode = decoder.decode.bind(decoder); // else ids come in without byte order mark
let root;

const refuse = (code, message, facts = {}) => { throw { code, reason: code, message, detail: JSON.stringify(facts) }; };
const tried = (call) => { try { return call(); } catch {} }; // undefined where it fails
const ifThere = (call) => { try { return call(); } catch (error) { if (error.payload !== 'no-entry') throw error; } };
// The name of a session's files: any id has one, no two share one, also where case is folded, and none leads elsewhere.
async function nameOf(id) {
  id || refuse('invalid', 'a session id must not be empty; give one');
  const escaped = (found) => `~${found.slice(1) || found.charCodeAt(0).toString(16)}`.toLowerCase();
  const name = encodeURIComponent(id).replace(/%..|[^a-z0-9_-]/g, escaped);
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(id))).toHex();
  return name.length <= NAME_BYTES_MAX ? name : `${name.slice(0, 60)}~~${hash.slice(0, 32)}`;
}

function content(file) { // undefined where there is no such file
  using handle = ifThere(() => root.openAt({}, file, {}, { read: true }));
  const bytes = handle && new Uint8Array(Number(handle.stat().size));
  for (let at = 0, part = []; (at += part.length) < bytes?.length; bytes.set(part, at))
    [part] = handle.read(READ_BYTES, BigInt(at));
  return bytes;
}
function write(file, openFlags, bytes, at) { // all of the bytes from there on or none; synced
  using handle = root.openAt({}, file, openFlags, { write: true });
  try {
    for (let done = 0; done < bytes.length;) done += Number(handle.write(bytes.subarray(done), BigInt(at + done)));
    handle.sync();
  } catch (error) { handle.setSize(BigInt(at)); throw error; }
}
function replace(file, bytes) { // whoever reads finds the old file or the new one, never half of it
  write('temporary', { create: true, truncate: true }, bytes, 0);
  root.renameAt('temporary', root, file);
  root.sync();
}

const lineAt = (bytes, at) => bytes.subarray(at, bytes.indexOf(NEWLINE, at) + 1); // empty where it has no end
function lineOf(record) { // a header or a summary as JSON with a checksum
  const json = JSON.stringify(record, (_, value) => typeof value === 'bigint' ? String(value) : value);
  return `${json.slice(0, -1)},"sum":${encoder.encode(json).reduce((sum, byte) => (sum * 31 + byte) | 0, 0)}}\n`;
}
const read = (bytes) => tried(() => { // what `lineOf` made the first line of, in this version; or undefined
  const line = decode(lineAt(bytes, 0)), revived = (member, value) => LONG.includes(member) ? BigInt(value) : value;
  const { sum, ...record } = JSON.parse(line, revived);
  return lineOf(record) === line && !record.version ? record : undefined;
});
const placeOf = (line) => tried(() => { // first seq, next seq, time of the last event; undefined where it is no record
  const { seq0, time0, seq = seq0, time = time0, count = 1, data } = JSON.parse(decode(line));
  const steps = seq0 === undefined ? [] : data.dt; // of a packed row, which has an event more than that
  const timeMs = Math.max(0, Math.trunc(steps.reduce((sum, step) => sum + step, time)));
  return { seq: BigInt(seq), next: BigInt(seq + steps.length + count), timeMs: BigInt(timeMs) };
});
function endOf(log) { // next seq and time of the last event, both out of the last line
  const at = log.lastIndexOf(NEWLINE, -2) + 1, place = at ? placeOf(lineAt(log, at)) : read(log) && { next: 0n };
  return place ?? refuse('corrupt', 'the log ends in no record; truncate it first');
}
function checked({ lines, firstSeq }, next, head = '') { // the bytes to store, after that head
  firstSeq === next || refuse('seq-conflict', `the log goes on at seq ${next}, not ${firstSeq}; reopen the session`);
  const longest = lines.split('\n').reduce((most, line) => Math.max(most, encoder.encode(line).length + 1), 0);
  return longest <= LIMIT.max ? encoder.encode(head + lines) : refuse('limit', `a record has ${longest} bytes`, LIMIT);
}
const cutOf = (name) => content(`${name}.cut`) ?? new Uint8Array(0);
const summaryOf = (name) => read(content(`${name}.summary`)) ?? {};
const nextOf = (bytes, end) => end < bytes.length ? BigInt(end) : undefined;
function entryOf(file) {
  const name = file.slice(0, -4), log = tried(() => content(file)), header = read(log), end = tried(() => endOf(log));
  const unescaped = tried(() => name.includes('~~') ? name : decodeURIComponent(name.replaceAll('~', '%'))) ?? name;
  const entry = { id: header?.id ?? unescaped, header, summary: tried(() => summaryOf(name)) ?? {} };
  if (header && end) return { ...entry, status: 'ok', updatedAtMs: end.timeMs };
  const status = tried(() => /^{"version":[1-9]/.test(decode(log.subarray(0, 12)))) ? 'unsupported' : 'damaged';
  return { ...entry, status, note: header ? 'the log ends in no record' : 'the log has no header that is read here' };
}

const calls = {
  configure(settings) {
    const names = settings.map(([name]) => name), [[, path] = []] = settings, recordBytesMax = BigInt(LIMIT.max);
    names.join() === 'root' || refuse('invalid', `the setting "root" is needed, and no other; given: ${names}`);
    [root] = getDirectories().find(([, name]) => name === path) ?? refuse('invalid', `root "${path}" is not granted`);
    const promises = { durability: 'power', wantsPacked: false, lease: 'none', recordBytesMax, notes: [] };
    return { name: 'javascript-files', version: '0.1.0', ...promises };
  },
  acquire: () => 'none', renew() {}, release() {},
  has: async (id) => Boolean(content(`${await nameOf(id)}.log`)),
  async create(header, _, first) {
    await calls.has(header.id) && refuse('already-exists', `session ${JSON.stringify(header.id)} already exists`);
    replace(`${await nameOf(header.id)}.log`, checked(first, 0n, lineOf(header)));
  },
  append: ({ name, log }, _, events) => write(`${name}.log`, {}, checked(events, endOf(log).next), log.length),
  load({ log }, cursor, bytesMax) {
    const header = cursor ? undefined : read(log), start = header ? lineAt(log, 0).length : Number(cursor);
    !cursor || (start < log.length && log[start - 1] === NEWLINE) || refuse('invalid', 'no page gave this cursor');
    const rest = log.subarray(start), many = rest.subarray(0, rest.subarray(0, bytesMax).lastIndexOf(NEWLINE) + 1);
    const one = lineAt(rest, 0), raw = one.length ? one : rest; // a first line that is no header goes up as it is
    const whole = start ? [many, one].find((bytes) => tried(() => decode(bytes))) : undefined;
    const page = { header, atByte: BigInt(start), next: nextOf(log, start + (whole ?? raw).length) };
    return whole ? { ...page, lines: decode(whole) } : { ...page, lines: '', raw: raw.length ? raw : undefined };
  },
  truncate({ name, log }, _, keepEvents) {
    read(log) ?? refuse('corrupt', 'the first line is no session header');
    let end = lineAt(log, 0).length, events = 0n;
    for (let place; events < keepEvents && (place = placeOf(lineAt(log, end)))?.seq === events; events = place.next)
      end += lineAt(log, end).length;
    events === keepEvents || refuse('invalid', `no record ends at ${keepEvents} events, but one does at ${events}`);
    if (end === log.length) return;
    write(`${name}.cut`, { create: true }, log.subarray(end), cutOf(name).length); // twice if killed here
    replace(`${name}.log`, log.subarray(0, end));
  },
  loadCut({ name }, cursor, bytesMax) {
    const cut = cutOf(name), at = Number(cursor), end = at + Math.max(1, bytesMax);
    !at || at < cut.length || refuse('invalid', 'no page gave this cursor');
    return { lines: '', raw: cut.length ? cut.subarray(at, end) : undefined, next: nextOf(cut, end) };
  },
  list(cursor = 'after:', countMax) {
    cursor.startsWith('after:') || refuse('invalid', 'no listing gave this cursor');
    using stream = root.readDirectory();
    const files = [];
    for (let entry; (entry = stream.readDirectoryEntry());) if (entry.name.endsWith('.log')) files.push(entry.name);
    const rest = files.filter((file) => file > cursor.slice(6)).sort(), shown = rest.slice(0, countMax || 1);
    return { sessions: shown.map(entryOf), next: shown.length < rest.length ? `after:${shown.at(-1)}` : undefined };
  },
  delete({ name }) { // the log last: until then the session is there
    for (const suffix of ['.cut', '.summary', '.log']) ifThere(() => root.unlinkFileAt(name + suffix));
    root.sync();
  },
  update({ name }, change) {
    const old = summaryOf(name), now = (member) => (change[member] ?? old[member]) || undefined;
    replace(`${name}.summary`, encoder.encode(lineOf({ name, title: now('title'), firstPrompt: now('firstPrompt') })));
  },
};

// What the medium refuses is an error of the interface; what needs a stored session gets its name and log for its id.
export const persistence = Object.fromEntries(Object.entries(calls).map(([call, run]) => [call, async (...given) => {
  root || call === 'configure' || refuse('not-configured', 'not configured; call configure first');
  try {
    if (!OF_STORED.includes(call)) return await run(...given);
    const [id, ...rest] = given, name = await nameOf(id), log = content(`${name}.log`);
    return run({ name, log: log ?? refuse('not-found', `session ${JSON.stringify(id)} not found`, { id }) }, ...rest);
  } catch (error) {
    throw error.code ? error : refuse(CODES[error.payload] ?? 'other', `the medium failed: ${error.payload ?? error}`);
  }
}]));
