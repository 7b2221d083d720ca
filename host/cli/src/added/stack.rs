//! A backend that was added and the layers over it, as a place: one component when it runs, which may use what each of
//! its parts was accepted to use, and as much as all of them were together.

use annals::{Backend, Middleware, Need};
use annals_core::fault::quoted;

use super::Present;
use crate::failure::Failure;
use crate::manifest::{Access, Bundled, Grants, Inert, Limits, Manifest, Part};
use crate::sealing;

/// That place, with the backend and its layers below those that it has. `given` settings go before those of the manifest.
/// With `is_sealed` those of `encrypt` among them are for a layer that goes over all this.
pub fn place(
    place: annals::Place,
    present: Present,
    given: &[(String, String)],
    is_sealed: bool,
) -> Result<annals::Place, Failure> {
    let Present {
        manifest,
        components,
    } = present;
    let mut place = place.named(format!("backend {}", quoted(&manifest.name)));
    if are_files_inert(&manifest, &components)? {
        place = place.inert(Need::Files);
    }
    for (part, bytes) in manifest.parts().zip(components) {
        place = match (part.bundled(), bytes) {
            (Some(Bundled::Jsonl), _) => place.backend(Backend::Jsonl),
            (Some(Bundled::Memory), _) => place.backend(Backend::Memory),
            (Some(Bundled::Encrypt), _) => place.through(Middleware::Encrypt),
            (None, bytes) if part.is_layer => {
                place.through(Middleware::Bytes(bytes.unwrap_or_default()))
            }
            (None, bytes) => place.backend(Backend::Bytes(bytes.unwrap_or_default())),
        };
        place = granted(place, part.grants)?;
    }
    for (key, value) in given
        .iter()
        .cloned()
        .chain(settings(&manifest, given, is_sealed))
    {
        place = place.setting(key, value);
    }
    Ok(limited(place, &manifest))
}

/// Those of the manifest that nobody gave instead: each layer's before those of what is below it.
pub fn settings(
    manifest: &Manifest,
    given: &[(String, String)],
    is_sealed: bool,
) -> Vec<(String, String)> {
    let is_replaced = |key: &str| {
        let is_for_above = is_sealed && key.starts_with(sealing::SETTINGS);
        !is_for_above && given.iter().any(|(name, _)| name == key)
    };
    let of_parts = manifest.parts().flat_map(|part| {
        let own = part.settings.iter();
        let own: Vec<_> = own
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        match part.bundled() {
            Some(Bundled::Encrypt) => sealing::explicit(own, 1),
            Some(Bundled::Jsonl | Bundled::Memory) | None => own,
        }
    });
    of_parts.filter(|(key, _)| !is_replaced(key)).collect()
}

/// Whether nobody gets files. The parts of a stack share them, so a single one that needs them does.
fn are_files_inert(manifest: &Manifest, components: &[Option<Vec<u8>>]) -> Result<bool, Failure> {
    let is_inert = |part: &Part<'_>| part.grants.inert.contains(&Inert::Files);
    if !manifest.parts().any(|part| is_inert(&part)) {
        return Ok(false);
    }
    for (part, bytes) in manifest.parts().zip(components) {
        let bytes = bytes.as_ref().filter(|_| !is_inert(&part));
        let Some(bytes) = bytes else { continue };
        let found = annals::inspect(&part.words(), bytes).map_err(Failure::configuration)?;
        if found.needs.contains(&Need::Files) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// With what a part may use, as far as none before it did.
fn granted(mut place: annals::Place, grants: &Grants) -> Result<annals::Place, Failure> {
    for granted in &grants.directories {
        let access = match granted.access {
            Access::Read => annals::Access::Read,
            Access::Write => annals::Access::ReadWrite,
        };
        place = place.directory(&granted.path, &granted.guest, access);
    }
    for address in &grants.tcp {
        place = place.tcp(*address);
    }
    for variable in &grants.environment {
        let Some(value) = std::env::var_os(variable) else {
            continue;
        };
        let value = value.into_string().map_err(|_| {
            Failure::usage(format!(
                "the value of {variable} is not UTF-8; set another one"
            ))
        })?;
        place = place.environment(variable, value);
    }
    if grants.inert.contains(&Inert::Network) {
        place = place.inert(Need::Network);
    }
    Ok(place)
}

/// Memory and time of the parts that say how much, together, and the longest of their answers.
fn limited(mut place: annals::Place, manifest: &Manifest) -> annals::Place {
    fn of<T>(
        manifest: &Manifest,
        limit: fn(&Limits) -> Option<T>,
        both: fn(T, T) -> T,
    ) -> Option<T> {
        let limits = manifest.parts().filter_map(|part| limit(part.limits));
        limits.reduce(both)
    }
    if let Some(bytes) = of(
        manifest,
        |limits| limits.memory_bytes_max,
        usize::saturating_add,
    ) {
        place = place.memory_bytes_max(bytes);
    }
    if let Some(ms) = of(manifest, |limits| limits.call_ms_max, u64::saturating_add) {
        place = place.call_ms_max(ms);
    }
    if let Some(bytes) = of(manifest, |limits| limits.page_bytes_max, usize::max) {
        place = place.page_bytes_max(bytes);
    }
    place
}
