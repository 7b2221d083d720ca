// What the bytes of a log say: a header line, then a record a line. No files here.

export const RECORD_BYTES_MAX = 64 << 20;
const NEWLINE = 10;

const encoder = new TextEncoder(), decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
export const encode = encoder.encode.bind(encoder), decode = decoder.decode.bind(decoder);
TextDecoder.prototype.decode = (bytes) => decode(bytes); // else an id loses its byte order mark on its way in

export function refuse(code, message, facts = {}) {
  throw { code, reason: code, message, detail: JSON.stringify(facts) };
}

export async function digest(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('').slice(0, 32);
}

// The line of a header or a summary: JSON with a checksum.
export async function lineOf(record) {
  const json = JSON.stringify(record, (_, value) => typeof value === 'bigint' ? Number(value) : value);
  return encode(`${json.slice(0, -1)},"check":"${await digest(encode(json))}"}\n`);
}

// What `lineOf` made the first line of; undefined where it is not that any more.
export async function read(bytes) {
  try {
    const line = decode(bytes.subarray(0, bytes.indexOf(NEWLINE) + 1)), { check, ...record } = JSON.parse(line);
    for (const name of ['createdAtMs', 'seedLength']) if (name in record) record[name] = BigInt(record[name]);
    return decode(await lineOf(record)) === line ? record : undefined;
  } catch {}
}

export const isNewer = (log) => /^{"version":[1-9]/.test(String.fromCharCode(...log.subarray(0, 12)));
export const recordsStart = (log) => log.indexOf(NEWLINE) + 1;

// First seq, next seq, time of the last event; undefined where the line is no record.
function placeOf(line) {
  try {
    const { seq0, time0, seq = seq0, time = time0, count = 1, data } = JSON.parse(decode(line));
    const steps = seq0 === undefined ? [] : data.dt; // of a packed row, which has an event more than that
    const timeMs = Math.max(0, Math.trunc(steps.reduce((sum, step) => sum + step, time)));
    return { seq: BigInt(seq), next: BigInt(seq + steps.length + count), timeMs: BigInt(timeMs) };
  } catch {}
}

// Next seq and time of the last event, both out of the last line.
export async function endOf(log) {
  const start = log.lastIndexOf(NEWLINE, -2) + 1;
  const place = start ? placeOf(log.subarray(start)) : await read(log) && { next: 0n };
  return place && log.at(-1) === NEWLINE ? place : refuse('corrupt', 'the log ends in no record; truncate it first');
}

// How many bytes the header and the first events have.
export function kept(log, keepEvents) {
  let end = recordsStart(log), events = 0n;
  for (let place, next; events < keepEvents; [events, end] = [place.next, next]) {
    next = log.indexOf(NEWLINE, end) + 1;
    place = placeOf(log.subarray(end, next));
    place?.seq === events || refuse('invalid', `only ${events} events can be kept, not ${keepEvents}`);
  }
  return events === keepEvents ? end : refuse('invalid', `a row goes on to ${events} events, beyond ${keepEvents}`);
}

// The bytes to store.
export function checked(events, next) {
  const bytes = encode(events.lines), { firstSeq } = events, max = RECORD_BYTES_MAX;
  firstSeq === next || refuse('seq-conflict', `the log goes on at seq ${next}, not ${firstSeq}; reopen the session`);
  for (let at = 0, end; at < bytes.length; at = end) {
    end = bytes.indexOf(NEWLINE, at) + 1 || bytes.length;
    end - at <= max || refuse('limit', `a record has ${end - at} bytes`, { limit: 'record-bytes-max', max });
  }
  return bytes;
}

// The page from a cursor on: whole lines of UTF-8 together, anything else alone.
export async function pageOf(log, cursor, bytesMax) {
  const at = Number(cursor), header = at ? undefined : await read(log);
  !at || (at < log.length && log[at - 1] === NEWLINE) || refuse('invalid', 'no page gave this cursor');
  const start = header ? recordsStart(log) : at, one = log.indexOf(NEWLINE, start) + 1 || log.length;
  const many = log.subarray(start, start + bytesMax).lastIndexOf(NEWLINE) + 1 + start;
  const page = (end, rest) => ({ header, atByte: BigInt(start), lines: '', ...rest, next: nextOf(log, end) });
  for (const end of start ? [many, one] : []) { // a first line that is no header goes up as it is
    try {
      if (end > start && log[end - 1] === NEWLINE) return page(end, { lines: decode(log.subarray(start, end)) });
    } catch {}
  }
  return page(one, { raw: one > start ? log.slice(start, one) : undefined });
}

// The page of cut bytes from a cursor on.
export function cutPageOf(cut, cursor, bytesMax) {
  const at = Number(cursor), end = at + Math.max(1, bytesMax);
  !at || at < cut.length || refuse('invalid', 'no page gave this cursor');
  return { lines: '', raw: cut.length ? cut.slice(at, end) : undefined, next: nextOf(cut, end) };
}

const nextOf = (bytes, end) => end < bytes.length ? BigInt(end) : undefined;
