//! Writes of a component that may block this thread.
//!
//! WASI's host hands each write of a file to another thread, and the component then waits for it: two threads are woken for
//! what takes less time than waking one.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::p2::bindings::sync::io::streams::{Host, StreamError};
use wasmtime_wasi::p2::{DynOutputStream, StreamResult};
use wasmtime_wasi::runtime::in_tokio;

/// As `wasmtime-wasi` names it; under another version this would stand beside it, and change nothing.
const STREAMS: &str = "wasi:io/streams@0.2.12";
const WRITE: &str = "[method]output-stream.write";

/// WASI for a component that may block this thread.
pub(super) fn add_to_linker<T: WasiView>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    let mut streams = linker.instance(STREAMS)?;
    streams.func_wrap(
        WRITE,
        |mut store, (stream, bytes): (Resource<DynOutputStream>, Vec<u8>)| {
            let table = store.data_mut().ctx().table;
            let written: StreamResult<()> = match table.get_mut(&stream) {
                Ok(stream) => in_tokio(stream.blocking_write_and_flush(bytes.into())),
                Err(error) => Err(error.into()),
            };
            let answer: Result<(), StreamError> = match written {
                Ok(()) => Ok(()),
                Err(error) => Err(table.convert_stream_error(error)?),
            };
            Ok((answer,))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

#[cfg(test)]
mod tests {
    use wasmtime::Engine;
    use wasmtime::component::ResourceTable;
    use wasmtime_wasi::{WasiCtx, WasiCtxView};

    use super::*;
    use crate::link::directories;

    struct Nothing {
        wasi: WasiCtx,
        table: ResourceTable,
    }

    impl WasiView for Nothing {
        fn ctx(&mut self) -> WasiCtxView<'_> {
            WasiCtxView {
                ctx: &mut self.wasi,
                table: &mut self.table,
            }
        }
    }

    /// What takes the place of a function of WASI's host does nothing where the host has it under another name.
    #[test]
    fn what_is_replaced_is_there() {
        let mut linker = Linker::<Nothing>::new(&Engine::default());
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
        let replaced = [
            (STREAMS, WRITE),
            (directories::FILES, directories::READ_DIRECTORY),
        ];
        for (instance, function) in replaced {
            let mut instance = linker.instance(instance).unwrap();
            let defined = instance.func_wrap(function, |_, (): ()| Ok(()));
            assert!(defined.is_err(), "{function} is not in the linker");
        }
    }
}
