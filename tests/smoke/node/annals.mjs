// Loads a composed store component in Node: transpile it, grant it one directory, link an observer.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { transpile } from "@bytecodealliance/jco-transpile";
import { filesystem } from "@bytecodealliance/preview2-shim";
import { WASIShim } from "@bytecodealliance/preview2-shim/instantiation";

allowMutateDirectory(filesystem.types.Descriptor.prototype);

// libc sets `mutate-directory` on every open, which the shim refuses although it then ignores the flag.
function allowMutateDirectory(descriptor) {
  const openAt = descriptor.openAt;
  descriptor.openAt = function (pathFlags, name, openFlags, flags) {
    return openAt.call(this, pathFlags, name, openFlags, { ...flags, mutateDirectory: false });
  };
}

/** JavaScript for the component at `componentPath`, written to `outDir`; a function that instantiates it. */
export async function prepare(componentPath, outDir) {
  const { files } = await transpile(componentPath, {
    name: "annals",
    instantiation: "async",
    wasiShim: false,
    emitTypescriptDeclarations: false,
  });
  fs.mkdirSync(outDir, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) {
    fs.writeFileSync(path.join(outDir, path.basename(name)), bytes);
  }
  const { instantiate } = await import(pathToFileURL(path.join(outDir, "annals.js")));
  const core = (name) => WebAssembly.compile(fs.readFileSync(path.join(outDir, name)));

  /** A fresh instance whose only directory is `root`, at the guest path `/annals`; its interfaces `store` and `log`. */
  return async function instance(root, observer) {
    const wasi = new WASIShim({
      sandbox: { preopens: { "/annals": root }, env: {}, args: [], enableNetwork: false },
    });
    const imports = { ...wasi.getImportObject(), "annals:session/observer": observer };
    return instantiate(core, imports);
  };
}
