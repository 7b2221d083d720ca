//! The simulated disk itself.

use std::collections::HashSet;
use std::path::Path;

use annals_crash::{Draws, Fault, Loss, Plan, PowerCut, Sim, Tree};
use annals_jsonl::files::{Fs, Mode};

const FILE: &str = "/f";

/// Every content that the file may have after a power loss; none where it is not there.
fn contents(sim: &Sim) -> HashSet<Option<Vec<u8>>> {
    let tree = sim.tree();
    let power = PowerCut::of(&tree);
    let states = power.states(100_000, &mut Draws::new(1));
    assert!(states.is_exhaustive);
    let content = |tree: Tree| {
        let mut files = tree.files().into_iter();
        let file = files.find(|(path, _)| path == Path::new(FILE));
        file.map(|(_, content)| content.to_vec())
    };
    states
        .states
        .iter()
        .map(|state| content(power.disk(state)))
        .collect()
}

fn set<const N: usize>(contents: [&[u8]; N]) -> HashSet<Option<Vec<u8>>> {
    contents
        .into_iter()
        .map(|content| Some(content.to_vec()))
        .collect()
}

/// A disk with a durable file of that content.
fn with_file(content: &[u8]) -> Sim {
    let sim = Sim::default();
    let mut file = sim.open(Path::new(FILE), Mode::New).unwrap();
    file.write_all(content).unwrap();
    sim.settle();
    sim
}

#[test]
fn a_synced_file_without_a_synced_name_may_be_absent_but_not_empty() {
    let sim = Sim::default();
    let mut file = sim.open(Path::new(FILE), Mode::New).unwrap();
    file.write_all(b"ab").unwrap();
    assert!(contents(&sim).contains(&Some(Vec::new())));
    file.sync().unwrap();
    assert_eq!(contents(&sim), HashSet::from([None, Some(b"ab".to_vec())]));
    sim.sync_directory(Path::new("/")).unwrap();
    assert_eq!(contents(&sim), set([b"ab"]));
}

#[test]
fn an_unsynced_write_is_absent_whole_cut_or_zeros() {
    let sim = with_file(b"ab");
    let mut file = sim.open(Path::new(FILE), Mode::Append).unwrap();
    file.write_all(b"cdef").unwrap();
    assert_eq!(
        contents(&sim),
        set([
            b"ab",
            b"abcdef",
            b"abc",
            b"abcd",
            b"abcde",
            b"ab\0\0\0\0",
            b"abc\0\0\0",
            b"abcd\0\0",
            b"abcde\0",
        ])
    );
}

#[test]
fn what_is_written_over_is_old_or_new() {
    let sim = with_file(b"abcd");
    let mut file = sim.open(Path::new(FILE), Mode::Overwrite).unwrap();
    file.write_all(b"WXYZ").unwrap();
    assert_eq!(
        contents(&sim),
        set([b"abcd", b"WXYZ", b"Wbcd", b"WXcd", b"WXYd"])
    );
}

#[test]
fn a_long_write_is_cut_at_the_borders_of_blocks() {
    let sim = with_file(&[b'a'; 96]);
    let mut file = sim.open(Path::new(FILE), Mode::Append).unwrap();
    file.write_all(&[b'b'; 9000]).unwrap();
    let lengths: HashSet<usize> = contents(&sim)
        .into_iter()
        .flatten()
        .map(|content| content.len())
        .collect();
    assert_eq!(
        lengths,
        HashSet::from([96, 97, 4096, 4596, 8192, 9095, 9096])
    );
}

#[test]
fn names_are_there_or_not_each_for_itself_and_a_rename_is_one_step() {
    let sim = with_file(b"old");
    let other = Path::new("/other");
    sim.open(other, Mode::New)
        .unwrap()
        .write_all(b"new")
        .unwrap();
    sim.settle();
    sim.rename(other, Path::new(FILE)).unwrap();
    assert_eq!(contents(&sim), set([b"old", b"new"]));
    sim.remove(Path::new(FILE)).unwrap();
    assert_eq!(contents(&sim).len(), 3);
}

#[test]
fn what_a_failed_sync_was_to_make_durable_stays_in_doubt() {
    for (loss, seen) in [
        (Loss::Kept, &b"abcd"[..]),
        (Loss::Zeros, b"ab\0\0"),
        (Loss::Gone, b"ab"),
    ] {
        let sim = with_file(b"ab").failing(Plan {
            at: 3,
            is_look: false,
            fault: Fault::LostSync(loss),
            is_lasting: false,
        });
        let mut file = sim.open(Path::new(FILE), Mode::Append).unwrap();
        file.write_all(b"cd").unwrap();
        file.sync().unwrap_err();
        let read = |sim: &Sim| {
            let mut bytes = [0; 8];
            let mut file = sim.open(Path::new(FILE), Mode::Read).unwrap();
            let count = file.read_at(0, &mut bytes).unwrap();
            bytes[..count].to_vec()
        };
        assert_eq!(read(&sim), seen);
        // another handle, and a sync that says ok
        sim.open(Path::new(FILE), Mode::Append)
            .unwrap()
            .sync()
            .unwrap();
        assert!(contents(&sim).contains(&Some(b"ab".to_vec())), "{loss:?}");
        assert!(sim.misuse().is_empty());
        file.sync().unwrap();
        assert_eq!(sim.misuse().len(), 1);
    }
}

#[test]
fn a_short_write_is_no_error_by_itself() {
    for (fault, is_whole) in [
        (Fault::Short, true),
        (Fault::ShortThenNoSpace, false),
        (Fault::ShortThenIo, false),
    ] {
        let sim = with_file(b"ab").failing(Plan {
            at: 2,
            is_look: false,
            fault,
            is_lasting: false,
        });
        let mut file = sim.open(Path::new(FILE), Mode::Append).unwrap();
        assert_eq!(file.write_all(b"cdef").is_ok(), is_whole);
        let length = sim
            .open(Path::new(FILE), Mode::Read)
            .unwrap()
            .bytes()
            .unwrap();
        assert_eq!(length, if is_whole { 6 } else { 4 });
    }
}

#[test]
fn a_name_is_never_taken_twice() {
    let sim = with_file(b"ab");
    assert!(sim.open(Path::new(FILE), Mode::New).is_err());
    let other = Path::new("/other");
    sim.link(Path::new(FILE), other).unwrap();
    assert!(sim.link(Path::new(FILE), other).is_err());
    assert!(
        Sim::over(sim.tree())
            .without_links(Fault::OtherDevice)
            .link(other, Path::new("/third"))
            .is_err()
    );
}
