//! Granted directories that a backend could exchange for others: by what else it was granted, or with somebody's help.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use annals::{Access, Backend, Cache, Error, ErrorCode, Need, Place};

use crate::scene::{Scene, component, turn};
use crate::table::{Row, told};

pub fn rows() -> Vec<Row> {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::create_dir_all(at("d/cache")).unwrap();
    fs::create_dir(at("real")).unwrap();
    symlink("../real", at("d/link")).unwrap();
    let over = |root: &str, granted: &str| {
        let place = Place::new(Backend::File(component().to_owned()))
            .inert(Need::Network)
            .root(at(root));
        place.directory(at(granted), "/granted", Access::ReadWrite)
    };
    let scene = Scene::new("", |place, _| place);
    let cache = over("real", "d").cache(Cache::new(at("d/cache/annals")));
    let rows = [
        ("a directory in the root", over("d", "d/cache")),
        ("a root in a directory", over("d/cache", "d")),
        ("a link in the root", over("d", "d/link")),
        ("the directory with machine code", cache),
    ];
    let refused = (2..).zip(rows).map(|(turn, (tried, place))| {
        let error = scene.annals.rebind(place).unwrap_err();
        Row {
            tried: format!("granted: {tried}"),
            got: told(&error),
            went_on: went_on(&scene, turn, &error, home.path()),
        }
    });
    let mut rows: Vec<Row> = refused.collect();
    rows.push(exchanged());
    rows
}

fn went_on(scene: &Scene, number: u64, error: &Error, home: &Path) -> Result<(), String> {
    let names_it = error.message.contains(&home.display().to_string());
    if error.reason != "grant-invalid" || !names_it {
        return Err(format!("{:?} says: {:.400}", error.reason, error.message));
    }
    scene.victim.append(&turn(number)).unwrap();
    scene.victim.flush().map_err(|error| error.message)?;
    scene.goes_on(3 * number)
}

/// The backend stops, and before it starts again the directory that it was granted is a link to another one.
fn exchanged() -> Row {
    let scene = Scene::new("trap", |place, outside| {
        let granted = outside.with_file_name("granted");
        fs::create_dir(&granted).unwrap();
        place.directory(granted, "/granted", Access::ReadWrite)
    });
    let granted = scene.outside().with_file_name("granted");
    let aside = scene.outside().with_file_name("aside");
    scene.victim.append(&turn(2)).unwrap();
    scene.arm();
    assert_eq!(scene.victim.flush().unwrap_err().reason, "backend-trapped");
    fs::rename(&granted, &aside).unwrap();
    symlink(scene.outside(), &granted).unwrap();
    let error = scene.victim.flush().unwrap_err();
    let is_read = scene.bystander.events(0, 1 << 20).is_ok();
    fs::remove_file(&granted).unwrap();
    fs::rename(&aside, &granted).unwrap();

    let names_both = error.message.contains("granted") && error.message.contains("hostile");
    let is_refused = error.code == ErrorCode::Unavailable && error.reason == "grant-changed";
    let went_on = match is_refused && names_both && is_read {
        true => scene.goes_on(6).and_then(|()| scene.ends_well(6)),
        false => Err(format!("{:?} says: {:.400}", error.reason, error.message)),
    };
    Row {
        tried: "granted: exchanged for a link before a restart".to_owned(),
        got: told(&error),
        went_on,
    }
}
