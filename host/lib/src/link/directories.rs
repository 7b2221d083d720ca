//! Streams of the names in a directory: WASI's host keeps all names of one, in memory that no limit of the component counts.
//! So there may be few at a time.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Descriptor, DirectoryEntryStream, Host, HostDescriptor,
};

use super::sandbox::Sandbox;
use crate::limits::{DIRECTORY_STREAMS_MAX, Reached};

/// As `wasmtime-wasi` names it; under another version this would stand beside it, and limit nothing.
pub(super) const FILES: &str = "wasi:filesystem/types@0.2.12";
pub(super) const READ_DIRECTORY: &str = "[method]descriptor.read-directory";

/// Puts the limit before what the linker has.
pub(super) fn limit(linker: &mut Linker<Sandbox>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut files = linker.instance(FILES)?;
    files.func_wrap_async(
        READ_DIRECTORY,
        |mut store, (directory,): (Resource<Descriptor>,)| {
            Box::new(async move { Ok((opened(store.data_mut(), directory).await?,)) })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

type Opened = std::result::Result<
    Resource<DirectoryEntryStream>,
    wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode,
>;

async fn opened(
    sandbox: &mut Sandbox,
    directory: Resource<Descriptor>,
) -> wasmtime::Result<Opened> {
    let mut open = std::mem::take(&mut sandbox.directory_streams);
    let table = sandbox.ctx().table;
    // One that was closed is not in the table any more, or something else is in its place.
    open.retain(|stream| {
        let stream = Resource::<DirectoryEntryStream>::new_borrow(*stream);
        table.get(&stream).is_ok()
    });
    sandbox.directory_streams = open;
    if sandbox.directory_streams.len() >= DIRECTORY_STREAMS_MAX {
        let (limit, max) = ("directory-streams-max", DIRECTORY_STREAMS_MAX);
        return Err(Reached { limit, max }.into());
    }
    match sandbox.filesystem().read_directory(directory).await {
        Ok(stream) => {
            sandbox.directory_streams.push(stream.rep());
            Ok(Ok(stream))
        }
        Err(error) => sandbox.filesystem().convert_error_code(error).map(Err),
    }
}
