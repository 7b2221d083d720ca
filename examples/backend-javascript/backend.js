// A backend in JavaScript: sessions as files of one directory, which the setting `root` names.
//
// A session is `<name>.log`, a header line and then a record a line; beside it may be `<name>.cut`, what `truncate`
// dropped, and `<name>.summary`. What is acknowledged is synced. A call reads the whole log. There are no leases: one
// process at a time may use a directory.
import { getDirectories } from 'wasi:filesystem/preopens@0.2.10';
import { checked, cutPageOf, digest, encode, endOf, isNewer, kept, lineOf, pageOf } from './log.js';
import { RECORD_BYTES_MAX, read, refuse } from './log.js';

const NAME_BYTES_MAX = 100, READ_BYTES = 1n << 20n, NO_BYTES = new Uint8Array(0);
const CODES = { 'insufficient-space': 'no-space', quota: 'no-space', 'read-only': 'read-only', access: 'read-only' };
const OF_STORED = ['append', 'load', 'truncate', 'loadCut', 'delete', 'update'];
let root;

// The name of a session's files: any id has one, no two share one, also where case is folded, and none leads elsewhere.
async function nameOf(id) {
  const bytes = encode(id || refuse('invalid', 'a session id must not be empty; give one'));
  const escaped = (byte) => `~${byte.toString(16).padStart(2, '0')}`;
  const letter = (byte) => String.fromCharCode(byte).replace(/[^a-z0-9_-]/, () => escaped(byte));
  const name = Array.from(bytes, letter).join('');
  return name.length <= NAME_BYTES_MAX ? name : `${name.slice(0, 60)}~~${await digest(bytes)}`;
}

const idOf = (name) => name.includes('~~') ? name : decodeURIComponent(name.replaceAll('~', '%'));

// Opens a file and uses it; undefined where there is none.
function opened(file, use, access = { write: true }, openFlags = {}) {
  try {
    const handle = root.openAt({}, file, openFlags, access);
    try { return use(handle); } finally { handle[Symbol.dispose](); }
  } catch (error) {
    if (error.payload !== 'no-entry') throw error;
  }
}

async function content(file) {
  const all = (handle) => {
    for (let read = [], at = 0, isEnd = false; ; at += read.at(-1).length) {
      [read[read.length], isEnd] = handle.read(READ_BYTES, BigInt(at));
      if (isEnd) return read;
    }
  };
  const parts = opened(file, all, { read: true });
  return parts && joined(parts);
}

const joined = async (parts) => new Uint8Array(await new Blob(parts).arrayBuffer());
async function stored(id) {
  const name = await nameOf(id), log = await content(`${name}.log`);
  return log ? { name, log } : refuse('not-found', `session ${JSON.stringify(id)} not found`, { id });
}

// All of the bytes from there on, or none.
const write = (bytes, at) => (handle) => {
  try {
    for (let done = 0; done < bytes.length;) done += Number(handle.write(bytes.subarray(done), BigInt(at + done)));
    handle.sync();
    return true;
  } catch (error) {
    handle.setSize(BigInt(at));
    throw error;
  }
};

// Whoever reads finds the old file or the new one, never half of it.
function replace(file, bytes) {
  opened('temporary', write(bytes, 0), { write: true }, { create: true, truncate: true });
  root.renameAt('temporary', root, file);
  root.sync();
}

async function summaryOf(name) {
  return await read(await content(`${name}.summary`) ?? NO_BYTES) ?? {};
}

async function entryOf(name) {
  const entry = { id: name, summary: {}, status: 'damaged' };
  try {
    entry.id = idOf(name);
    entry.summary = await summaryOf(name);
    const log = await content(`${name}.log`), header = await read(log);
    if (!header && isNewer(log)) entry.status = 'unsupported';
    Object.assign(entry, header ? { id: header.id, header } : refuse('corrupt', 'the first line is no header'));
    return { ...entry, updatedAtMs: (await endOf(log)).timeMs, status: 'ok' };
  } catch ({ message }) {
    return { ...entry, note: message };
  }
}

const calls = {
  configure(settings) {
    const names = settings.map(([name]) => name), [[, path] = []] = settings, recordBytesMax = BigInt(RECORD_BYTES_MAX);
    names.join() === 'root' || refuse('invalid', `the setting "root" is needed, and no other; given: ${names}`);
    [root] = getDirectories().find(([, name]) => name === path) ?? refuse('invalid', `root "${path}" is not granted`);
    const promises = { durability: 'power', wantsPacked: false, lease: 'none', recordBytesMax, notes: [] };
    return { name: 'javascript-files', version: '0.1.0', ...promises };
  },
  acquire: () => 'none',
  renew() {},
  release() {},
  has: async (id) => Boolean(await content(`${await nameOf(id)}.log`)),
  async create(header, _, first) {
    await calls.has(header.id) && refuse('already-exists', `session ${JSON.stringify(header.id)} already exists`);
    replace(`${await nameOf(header.id)}.log`, await joined([await lineOf(header), checked(first, 0n)]));
  },
  async append({ name, log }, _, events) {
    const bytes = checked(events, (await endOf(log)).next);
    opened(`${name}.log`, write(bytes, log.length)) ?? refuse('other', 'the log went away');
  },
  load: ({ log }, cursor, bytesMax) => pageOf(log, cursor, bytesMax),
  async truncate({ name, log }, _, keepEvents) {
    await read(log) ?? refuse('corrupt', 'the first line is no session header');
    const end = kept(log, keepEvents), dropped = log.subarray(end), cut = await content(`${name}.cut`) ?? NO_BYTES;
    if (!dropped.length) return;
    const isSaved = cut.subarray(-dropped.length).join() === dropped.join(); // by a call that was killed
    replace(`${name}.cut`, isSaved ? cut : await joined([cut, dropped]));
    replace(`${name}.log`, log.subarray(0, end));
  },
  loadCut: async ({ name }, cursor, bytesMax) => cutPageOf(await content(`${name}.cut`) ?? NO_BYTES, cursor, bytesMax),
  async list(cursor = 'after:', countMax) {
    cursor.startsWith('after:') || refuse('invalid', 'no listing gave this cursor');
    const files = [], sessions = [], stream = root.readDirectory();
    for (let entry; (entry = stream.readDirectoryEntry());) files.push(entry.name);
    stream[Symbol.dispose]();
    const names = files.filter((file) => file.endsWith('.log')).map((file) => file.slice(0, -4));
    const rest = names.filter((name) => name > cursor.slice(6)).sort();
    for (const name of rest.slice(0, countMax || 1)) sessions.push(await entryOf(name));
    return { sessions, next: sessions.length < rest.length ? `after:${rest[sessions.length - 1]}` : undefined };
  },
  delete({ name }) { // the log last: until then the session is there
    const files = ['.cut', '.summary', '.log'].map((suffix) => name + suffix);
    for (const file of files) opened(file, () => root.unlinkFileAt(file));
    root.sync();
  },
  async update({ name }, change) {
    const old = await summaryOf(name), text = (member) => (change[member] ?? old[member]) || undefined;
    replace(`${name}.summary`, await lineOf({ of: name, title: text('title'), firstPrompt: text('firstPrompt') }));
  },
};

// What the medium refuses is an error of the interface; what needs a stored session gets its name and log for its id.
export const persistence = Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, async (...args) => {
  root || name === 'configure' || refuse('not-configured', 'not configured; call configure first');
  try {
    return await call(...(OF_STORED.includes(name) ? [await stored(args[0]), ...args.slice(1)] : args));
  } catch (error) {
    throw error.code ? error : refuse(CODES[error.payload] ?? 'other', `the medium failed: ${error.payload ?? error}`);
  }
}]));
