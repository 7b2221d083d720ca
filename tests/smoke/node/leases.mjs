// Leases between hosts: this process and the annals command hold, refuse, and take over from each other.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isGone } from "./holder.mjs";

const HOLD = fileURLToPath(new URL("hold.mjs", import.meta.url));
const EVENT = '{"type":"plugin/note","data":null}\n';

export async function checkLeases({ check, refused, store, root, command, componentPath, work }) {
  const id = "leased";
  const open = () => store.open(id, "continue")[0];
  const busy = () => JSON.parse(refused(open).detail);

  /** Runs `annals append`, while this process goes on. */
  async function append(...flags) {
    const child = execFile(command, ["--root", root, "append", id, ...flags], () => {});
    let errors = "";
    child.stderr.on("data", (text) => (errors += text));
    child.stdin.end(EVENT);
    const [code] = await once(child, "close");
    return { code, errors };
  }

  /** A process that holds the session, once it has said so. */
  async function holding(program, args, input) {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    child.stdin.write(input);
    await once(child.stdout, "data");
    return child;
  }

  async function kill(child) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  await check("while this process holds a session the command is refused, and told who holds it", async () => {
    const session = store.create({ id }, 1000n);
    session.append(EVENT, 1000n);
    session.flush();
    const { code, errors } = await append("--wait", "200");
    assert.equal(code, 1, errors);
    assert.ok(errors.includes(`pid ${process.pid}`), errors);
    assert.ok(errors.includes(`annals salvage ${id} --fork`), errors);
    session.close();
    assert.equal((await append("--wait", "0")).code, 0);
  });

  await check("while the command holds a session this process is refused, until that is gone", async () => {
    const child = await holding(command, ["--root", root, "append", id, "--follow"], EVENT);
    const { holder, token } = busy();
    assert.equal(holder.pid, child.pid);
    assert.equal(isGone(holder), false);
    await kill(child);
    assert.equal(isGone(busy().holder), true);
    store.evict(id, { token, why: "gone" });
    open().close();
  });

  await check("a killed host of this language keeps the command for less than a second", async () => {
    const args = [HOLD, componentPath, root, path.join(work, "held"), id];
    const child = await holding(process.execPath, args, "");
    assert.equal((await append("--wait", "0")).code, 1);
    await kill(child);
    const killed = Date.now();
    assert.equal((await append()).code, 0);
    assert.ok(Date.now() - killed < 1000, `${Date.now() - killed} ms`);
  });

  await check("whoever renews keeps a lease, whoever is silent loses it and is told so", async () => {
    const session = open();
    const ttl = ["--set", "lease-ttl-ms=1000"];
    const renewing = setInterval(() => store.renew(), 200);
    assert.equal((await append("--wait", "2500", ...ttl)).code, 1);
    clearInterval(renewing);
    session.append(EVENT, 2000n);
    session.flush();
    assert.equal((await append("--wait", "20000", ...ttl)).code, 0);
    assert.equal(refused(() => store.renew()).code, "busy");
    assert.equal(refused(() => session.append(EVENT, 3000n)).code, "busy");
    session.close();
  });
}
