//! Generated from the WIT: the store as we call it, a backend as we call it for the store, and what both share.

/// The store component: its exports, and the imports that this crate gives it.
pub mod store {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "session-store",
        additional_derives: [PartialEq],
    });
}

/// What a backend may export besides, for those who look after its medium.
pub mod upkeep {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "session-upkeep",
        with: { "annals:session/types": super::store::annals::session::types },
        additional_derives: [Clone, PartialEq],
    });
}

/// A backend component in its own wasmtime store.
pub mod backend {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "session-persistence",
        with: { "annals:session/types": super::store::annals::session::types },
    });
}

/// The same, called under a deadline, for a backend that is trusted with nothing.
pub mod timed {
    pub mod backend {
        wasmtime::component::bindgen!({
            path: "../../wit",
            world: "session-persistence",
            exports: { default: async },
            with: { "annals:session/types": crate::bindings::store::annals::session::types },
        });
    }

    pub mod upkeep {
        wasmtime::component::bindgen!({
            path: "../../wit",
            world: "session-upkeep",
            exports: { default: async },
            with: { "annals:session/types": crate::bindings::store::annals::session::types },
        });
    }
}
