//! A caller inside an asynchronous runtime.

use annals::{Annals, Backend, CreateOptions, Link, Place, Upkeep};

use crate::{TURN, artefact};

// A runtime may not wait on its own threads for another one, and panicked: in `Upkeep`, and in `rebind`.
#[test]
fn a_caller_on_a_thread_of_a_runtime_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let mut stranger = std::fs::read(artefact("jsonl.wasm")).unwrap();
    stranger.extend_from_slice(&[0, 5, 4, b's', b'e', b'l', b'f']);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        for (name, backend) in [
            ("bundled", Backend::Jsonl),
            ("stranger", Backend::Bytes(stranger)),
        ] {
            let annals = Annals::builder()
                .backend(Backend::Memory)
                .link(Link::Dynamic)
                .build()
                .unwrap();
            let session = annals.create(CreateOptions::default()).unwrap();
            session.append(TURN).unwrap();
            let place = Place::new(backend).root(directory.path().join(name));
            annals.rebind(place.clone()).unwrap();
            session.flush().unwrap();
            let upkeep = Upkeep::new(place).unwrap();
            assert!(!upkeep.inspect(10).unwrap().is_empty(), "its lease");
        }
    });
}
