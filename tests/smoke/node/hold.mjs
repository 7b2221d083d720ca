// A process that opens a session and holds it until it is killed.
// usage: node hold.mjs COMPONENT ROOT OUT ID
import { prepare } from "./annals.mjs";
import { thisProcess } from "./holder.mjs";

const [componentPath, root, out, id] = process.argv.slice(2);
const observer = { created: () => {}, appended: () => {}, flushed: () => {}, disposed: () => {} };
const { store } = await (await prepare(componentPath, out))(root, observer);
store.configure(thisProcess(), { outOfBandTypes: [], strict: false }, [["root", "/annals"]]);
const [session] = store.open(id, "continue");
console.log("held");
setInterval(() => store.renew(), 1000);
process.on("exit", () => session.close());
