// The interface, used from Node on a real directory.
// usage: node smoke.mjs COMPONENT COMMAND STORY
//   COMPONENT  the composed annals-jsonl.wasm, COMMAND  the annals command, STORY  story.json
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { prepare } from "./annals.mjs";
import { thisProcess } from "./holder.mjs";
import { checkLeases } from "./leases.mjs";

const [componentPath, command, storyPath] = process.argv.slice(2);
const story = JSON.parse(fs.readFileSync(storyPath, "utf8"));
const work = fs.mkdtempSync(path.join(os.tmpdir(), "annals-node-"));
const root = path.join(work, "root");
const holder = thisProcess();
const pageBytes = 1 << 20;
const seen = [];
const observer = {
  created: (id) => void seen.push(`created ${id}`),
  appended: (id, events) => void seen.push(`appended ${id} ${events.firstSeq}+${events.count}`),
  flushed: (id) => void seen.push(`flushed ${id}`),
  disposed: (id) => void seen.push(`disposed ${id}`),
};
fs.mkdirSync(root, { mode: 0o700 });
process.on("exit", () => fs.rmSync(work, { recursive: true, force: true }));

async function check(name, body) {
  try {
    await body();
    console.log(`ok node: ${name}`);
  } catch (failure) {
    console.log(`FAILED node: ${name}`);
    console.log(failure?.stack ?? failure);
    process.exit(1);
  }
}

/** The error record that `call` fails with. */
function refused(call) {
  try {
    call();
  } catch (thrown) {
    // a record arrives as it is, or as the payload of jco's ComponentError
    return thrown.payload ?? thrown;
  }
  return assert.fail("the call succeeded");
}

const lines = (events) => events.map((event) => `${JSON.stringify(event)}\n`).join("");
const parsed = (text) => text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
const stored = (id) => fs.readFileSync(path.join(root, "_no-cwd", `${id}.jsonl`), "utf8");
const annals = (args, input = "") => execFileSync(command, ["--root", root, ...args], { encoding: "utf8", input });

/** The whole history of `session`, one JSON message a line. */
function history(session) {
  let text = "";
  let start = 0;
  for (;;) {
    const page = session.messages(start, pageBytes);
    text += page.lines;
    start += parsed(page.lines).length;
    if (start >= page.total) return text;
  }
}

const instance = await prepare(componentPath, path.join(work, "js"));
const options = { outOfBandTypes: [], strict: false };
let { store, log } = await instance(root, observer);
let written = "";

await check("the pure rules answer without a store", () => {
  const [message] = story.turn.filter((event) => event.type === "user/message");
  const events = lines([{ seq: 0, time: 1, ...message }]);
  assert.deepEqual([...log.foldSurface(events).nodes], [0n]);
  assert.deepEqual(JSON.parse(log.messageOf(events)), story.messages[0]);
  const error = refused(() => log.checkTrace(events));
  assert.deepEqual([error.code, error.reason], ["invalid", "trace-outside-turn"]);
});

await check("configure names the backend and what it promises", () => {
  const info = store.configure(holder, options, [["root", "/annals"]]);
  assert.equal(info.name, "jsonl");
  assert.equal(info.durability, "power");
  assert.equal(typeof info.recordBytesMax, "bigint");
});

await check("an unknown setting is refused by name", () => {
  const error = refused(() => store.configure(holder, options, [["root", "/annals"], ["colour", "red"]]));
  assert.equal(error.code, "invalid");
  assert.match(error.message, /colour/);
  store.configure(holder, options, [["root", "/annals"]]);
});

await check("create, append, flush: the file holds the complete lines that append gave", () => {
  const session = store.create({ id: "from-node" }, 1000n);
  assert.equal(store.has("from-node"), false);
  const batch = session.append(lines(story.turn), 2000n);
  assert.equal(batch.firstSeq, 0n);
  assert.equal(batch.count, BigInt(story.turn.length));
  assert.equal(batch.lastTimeMs, 2000n);
  session.flush();
  written = batch.lines;
  assert.equal(stored("from-node").split("\n").slice(1).join("\n"), written);
  assert.equal(JSON.parse(stored("from-node").split("\n")[0]).createdAt, 1000);
  session.close();
});

await check("the observer was told, in order", () => {
  const flushed = seen.filter((line) => line === "flushed from-node");
  assert.ok(flushed.length >= 1);
  assert.deepEqual(
    seen.filter((line) => line !== "flushed from-node"),
    ["created from-node", `appended from-node 0+${story.turn.length}`, "disposed from-node"],
  );
});

await check("a closed session answers not-found", () => {
  const session = store.create({ id: "closed" }, 1000n);
  session.close();
  assert.equal(refused(() => session.append(lines(story.turn), 2000n)).code, "not-found");
});

await check("open again: nothing to repair, the next seq follows", () => {
  const [session, repair] = store.open("from-node", "resume");
  assert.equal(session.nextSeq(), BigInt(story.turn.length));
  assert.deepEqual([repair.cutBytes, repair.cutEvents, repair.closers], [0n, 0n, 0]);
  assert.equal(session.events(0n, pageBytes).lines, written);
  const batch = session.append(`${story.verbatim}\n`, 3000n);
  assert.ok(batch.lines.includes(story.verbatim.match(/"data":.*(?=\}$)/)[0]), "data as given, spelling included");
  written += batch.lines;
  session.close();
  assert.ok(stored("from-node").endsWith(written), "bytes in are bytes out");
});

await check("an interrupted turn: continue leaves it open, inspect tells, resume closes it", () => {
  const [session] = store.open("from-node", "continue");
  session.append(lines(story.interrupted), 4000n);
  session.close();
  const before = stored("from-node");
  const [inspected, due] = store.open("from-node", "inspect");
  assert.equal(due.closers, story.closers.length);
  assert.equal(refused(() => inspected.append(lines(story.turn), 5000n)).code, "read-only");
  inspected.close();
  assert.equal(stored("from-node"), before, "inspecting writes nothing");
  const [resumed, repair] = store.open("from-node", "resume");
  assert.equal(repair.closers, story.closers.length);
  const added = parsed(stored("from-node").slice(before.length));
  assert.deepEqual(added.map((event) => event.type), story.closers);
  const messages = parsed(history(resumed));
  assert.deepEqual(messages.slice(0, story.messages.length), story.messages);
  assert.equal(messages.length, story.messages.length + 1);
  assert.equal(messages.at(-1).content[0].isError, true);
  resumed.close();
});

for (const { name, line, code } of story.refused) {
  await check(`refused with nothing changed: ${name}`, () => {
    const [session] = store.open("from-node", "continue");
    const before = session.nextSeq();
    const error = refused(() => session.append(`${lines(story.turn)}${line}\n`, 6000n));
    assert.equal(error.code, code);
    assert.equal(typeof JSON.parse(error.detail), "object");
    assert.equal(session.nextSeq(), before);
    session.close();
  });
}

await check("an unknown id is not-found, with every field of the record", () => {
  const error = refused(() => store.open("../nobody", "resume"));
  assert.deepEqual(Object.keys(error).sort(), ["code", "detail", "message", "reason"]);
  assert.equal(error.code, "not-found");
  assert.match(error.reason, /^[a-z0-9-]+$/);
  assert.ok(error.message.includes("../nobody"));
  assert.equal(typeof JSON.parse(error.detail), "object");
});

await check("an id is never stored twice", () => {
  assert.equal(refused(() => store.create({ id: "from-node" }, 7000n)).code, "already-exists");
});

await check("the annals command reads the same history", () => {
  const [session] = store.open("from-node", "inspect");
  const messages = history(session);
  session.close();
  assert.equal(annals(["messages", "from-node"]), messages);
  annals(["verify", "from-node"]);
});

await check("a session that the annals command wrote: same history, and the next turn goes on", () => {
  annals(["create", "--id", "from-command"]);
  annals(["append", "from-command"], lines(story.turn));
  const [session] = store.open("from-command", "resume");
  assert.equal(history(session), annals(["messages", "from-command"]));
  assert.deepEqual(parsed(history(session)), story.messages.slice(0, 2));
  session.append(lines(story.interrupted), 8000n);
  session.close();
  assert.deepEqual(parsed(annals(["messages", "from-command"])), story.messages);
});

await check("strict: an event that does not fit is refused, and the next one is not", () => {
  store.configure(holder, { outOfBandTypes: [], strict: true }, [["root", "/annals"]]);
  const [session] = store.open("from-command", "resume");
  const error = refused(() => session.append(lines(story.turn), 9000n));
  assert.deepEqual([error.code, error.reason], ["invalid", "trace-turn-number"]);
  session.append(lines(story.turn.map((event) => ({ ...event, data: { ...event.data, turn: 3 } }))), 9000n);
  session.close();
});

await check("a new instance finds what is stored", async () => {
  ({ store } = await instance(root, observer));
  store.configure(holder, options, [["root", "/annals"]]);
  const listing = store.list(undefined, 10);
  assert.deepEqual(listing.sessions.map((entry) => entry.id).sort(), ["from-command", "from-node"]);
  assert.ok(listing.sessions.every((entry) => entry.status === "ok"));
});

await checkLeases({ check, refused, store, root, command, componentPath, work });
