// Who holds a lease: this process as hosts in other languages see it, and whether the process that another holder names
// is gone. The members are those that `store.configure` documents; the facts come from Linux's /proc.
import fs from "node:fs";

const line = (path) => fs.readFileSync(path, "utf8").trimEnd();

/** What `configure` is given. */
export function thisProcess(since = Date.now()) {
  return JSON.stringify({ ...here(), pid: process.pid, processStart: start(process.pid), since });
}

/** Whether the holder that a `busy` named is known to be gone: only a process that could be seen here is judged. */
export function isGone(holder) {
  const seen = here();
  if (Object.keys(seen).some((name) => holder[name] !== seen[name])) return false;
  return start(holder.pid) !== holder.processStart;
}

function here() {
  return {
    host: line("/proc/sys/kernel/hostname"),
    bootId: line("/proc/sys/kernel/random/boot_id"),
    pidNamespace: fs.readlinkSync("/proc/self/ns/pid"),
  };
}

/** Clock ticks since the boot; undefined where there is no such process, or only its remains. */
function start(pid) {
  let stat;
  try {
    stat = line(`/proc/${pid}/stat`);
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes(error.code)) return undefined;
    throw error;
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ["Z", "X"].includes(fields[0]) ? undefined : Number(fields[19]);
}
