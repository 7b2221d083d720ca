//! Static link: store and backend are one component.

use std::borrow::Cow;
use std::path::Path;

use wasmtime::Store;
use wasmtime::component::ResourceTable;

use super::{Attached, Chosen, Data, Instance, linker, trapped};
use crate::bindings::store::SessionStore;
use crate::bundle;
use crate::component;
use crate::compose::{Misfit, compose};
use crate::engine::{self, Trust};
use crate::error::{Error, Result};
use crate::grants::Waiting;
use crate::observer::Observers;
use crate::records::ErrorCode;

/// The component of both. One that did not come with this crate is refused: no limit would hold for it, and what stops it
/// would stop the store.
pub(super) fn link(chosen: Chosen, observers: Observers) -> Result<Instance> {
    if !chosen.source.is_own() {
        return Err(foreign(&chosen.source.name));
    }
    let Chosen {
        source,
        grants,
        settings,
        limits: _,
        cache,
    } = chosen;
    let engine = engine::new(Trust::Full).map_err(|error| trapped(&error))?;
    let precompiled = source.bundled.map(|bundled| &bundled.composed);
    let composed = || {
        let store = bundle::store()?;
        let bytes = compose(store.wasm, &source.bytes).map_err(|misfit| match misfit {
            Misfit::Invalid(cause) => source.invalid(&cause),
            Misfit::World(cause) => source.lacks_world(&cause),
        })?;
        Ok(Cow::Owned(bytes))
    };
    let component =
        component::compile(&engine, precompiled, composed, &source.name, cache.as_ref())?;
    let (grants, settings) = super::granted(&source, &component, grants, settings)?;

    let mut linker = linker(&engine).map_err(|error| trapped(&error))?;
    super::files::add_to_linker(&mut linker).map_err(|error| trapped(&error))?;
    let data = Data {
        wasi: grants.wasi(Waiting::Blocks)?,
        table: ResourceTable::new(),
        observers,
        backend: Attached::Composed,
    };
    let mut store = Store::new(&engine, data);
    store.set_hostcall_fuel(engine::CALL_BYTES_MAX);
    let exports = SessionStore::instantiate(&mut store, &component, &linker)
        .map_err(|error| component::import_missing(&source.name, &error))?;
    Ok(Instance {
        store,
        exports,
        settings: Some(settings),
        root: grants.root().map(Path::to_path_buf),
    })
}

fn foreign(name: &str) -> Error {
    let message = format!(
        "{name} did not come with annals, so it is not linked statically, where no limit would hold for it; link it dynamically, as --link dynamic does"
    );
    let facts = [("component", name)];
    Error::new(ErrorCode::Invalid, "component-foreign", message, &facts)
}
