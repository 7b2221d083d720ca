//! The interface that middleware and the store import, as a backend.

/// Makes of the imported interface `persistence` a backend: `imported!(Below, below)` implements
/// [`Persistence`](crate::Persistence) for `Below` with the functions of the module `below` that `wit_bindgen` generated,
/// whose types have to be those of [`types`](crate::types).
#[macro_export]
macro_rules! imported {
    ($below:ident, $imported:ident) => {
        const _: () = {
            use $crate::Result;
            use $crate::types::{
                BackendInfo, Batch, Eviction, Listing, Page, SessionHeader, SessionSummary,
            };

            impl $crate::Persistence for $below {
                fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
                    $imported::configure(settings)
                }

                fn acquire(
                    &mut self,
                    id: Option<&str>,
                    holder: &str,
                    evict: Option<&Eviction>,
                ) -> Result<String> {
                    $imported::acquire(id, holder, evict)
                }

                fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
                    $imported::renew(id, token)
                }

                fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
                    $imported::release(id, token)
                }

                fn create(
                    &mut self,
                    header: &SessionHeader,
                    token: &str,
                    first: &Batch,
                ) -> Result<()> {
                    $imported::create(header, token, first)
                }

                fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
                    $imported::append(id, token, events)
                }

                fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
                    $imported::load(id, cursor, bytes_max)
                }

                fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
                    $imported::truncate(id, token, keep_events)
                }

                fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
                    $imported::list(cursor, count_max)
                }

                fn has(&mut self, id: &str) -> Result<bool> {
                    $imported::has(id)
                }

                fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
                    $imported::load_cut(id, cursor, bytes_max)
                }

                fn delete(&mut self, id: &str, token: &str) -> Result<()> {
                    $imported::delete(id, token)
                }

                fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
                    $imported::update(id, summary)
                }
            }
        };
    };
}
