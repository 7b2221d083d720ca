//! Ways out of the sandbox, by name. Whatever leads out is an error with reason `escaped`.

use std::env;
use std::ffi::CString;
use std::fs;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::path::Path;

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};

#[allow(unsafe_code)]
unsafe extern "C" {
    /// Of libc; the standard library has it for other systems only.
    fn symlink(target: *const std::ffi::c_char, link: *const std::ffi::c_char) -> i32;
}

/// Tries it. `setting` gives what it is to try it with.
pub fn on_append<'a>(attack: &str, setting: impl Fn(&str) -> &'a str) -> Result<()> {
    match attack {
        "read outside" => read_outside(setting("outside")),
        "write outside" => write_outside(setting("outside")),
        "links outwards" => links_outwards(setting("outside")),
        "write where only reading is granted" => write_read_only(),
        "network" => network(setting("closed")),
        "network beside the granted address" => {
            let granted = setting("granted");
            if TcpStream::connect(granted).is_err() {
                return Err(Error::new(
                    ErrorCode::Other,
                    "not-granted",
                    "the granted address is closed",
                ));
            }
            network(setting("closed"))
        }
        "environment" => match env::vars().next() {
            Some((name, _)) if name != "GRANTED" => Err(escaped(&name)),
            _ if env::vars().count() > 1 => Err(escaped("more than one name")),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Names of a file outside: as the host knows it, and upwards from what was granted.
fn ways_to(outside: &str) -> Vec<String> {
    let upwards = "../".repeat(20);
    let below = outside.trim_start_matches('/');
    vec![
        outside.to_owned(),
        format!("/annals/../{below}"),
        format!("/annals/{upwards}{below}"),
        format!("{upwards}{below}"),
        format!("/annals/./x/../../{below}"),
        format!("/annals//{outside}"),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
    ]
}

fn read_outside(outside: &str) -> Result<()> {
    let secret = format!("{outside}/secret");
    for way in ways_to(&secret) {
        if fs::read(&way).is_ok() {
            return Err(escaped(&way));
        }
    }
    for way in ways_to(outside) {
        if fs::read_dir(&way).is_ok() {
            return Err(escaped(&way));
        }
    }
    Ok(())
}

fn write_outside(outside: &str) -> Result<()> {
    let new = format!("{outside}/new");
    let own = "/annals/own";
    fs::write(own, "own").map_err(|error| escaped(&error.to_string()))?;
    for way in ways_to(&new) {
        let out = [
            fs::write(&way, "x").is_ok(),
            fs::create_dir(&way).is_ok(),
            fs::hard_link(own, &way).is_ok(),
            fs::copy(own, &way).is_ok(),
            fs::rename(own, &way).is_ok(),
        ];
        if out.contains(&true) {
            return Err(escaped(&way));
        }
    }
    for way in ways_to(&format!("{outside}/secret")) {
        let out = [
            fs::remove_file(&way).is_ok(),
            fs::hard_link(&way, "/annals/stolen").is_ok(),
            fs::rename(&way, "/annals/stolen").is_ok(),
        ];
        if out.contains(&true) {
            return Err(escaped(&way));
        }
    }
    Ok(())
}

/// Plants links, which may stay there, and follows them. Those of absolute names cannot even be made.
fn links_outwards(outside: &str) -> Result<()> {
    let below = outside.trim_start_matches('/');
    let upwards = format!("{}{below}", "../".repeat(20));
    let targets = [outside, &upwards, "..", "../.."];
    for (number, target) in targets.into_iter().enumerate() {
        let link = format!("/annals/link-{number}");
        if !plant(target, &link) {
            continue;
        }
        for way in [
            format!("{link}/secret"),
            link.clone(),
            format!("{link}/new"),
        ] {
            let is_out = fs::read(&way).is_ok()
                || fs::read_dir(&way).is_ok()
                || fs::write(&way, "x").is_ok()
                || (Path::new(&way).exists() && fs::metadata(&way).is_ok_and(|of| of.is_dir()));
            if is_out {
                return Err(escaped(&way));
            }
        }
    }
    // In the way of what the host, or another backend, may look for.
    for name in ["_leases", "_no-cwd", "cwd-0123456789ab"] {
        plant(&upwards, &format!("/annals/{name}"));
    }
    Ok(())
}

#[allow(unsafe_code)]
fn plant(target: &str, link: &str) -> bool {
    let (target, link) = (CString::new(target).unwrap(), CString::new(link).unwrap());
    // SAFETY: two strings that end in a zero byte and outlive the call.
    unsafe { symlink(target.as_ptr(), link.as_ptr()) == 0 }
}

fn write_read_only() -> Result<()> {
    let read = fs::read_to_string("/granted/secret");
    if read.ok().as_deref() != Some("secret") {
        let message = "what was granted cannot be read";
        return Err(Error::new(ErrorCode::Other, "not-granted", message));
    }
    let out = [
        fs::write("/granted/secret", "x").is_ok(),
        fs::write("/granted/new", "x").is_ok(),
        fs::create_dir("/granted/new").is_ok(),
        fs::remove_file("/granted/secret").is_ok(),
        fs::rename("/granted/secret", "/granted/other").is_ok(),
        fs::rename("/granted/secret", "/annals/stolen").is_ok(),
        fs::hard_link("/granted/secret", "/annals/stolen").is_ok(),
        plant("secret", "/granted/link"),
    ];
    match out.contains(&true) {
        true => Err(escaped(&format!("{out:?}"))),
        false => Ok(()),
    }
}

fn network(closed: &str) -> Result<()> {
    let out = [
        TcpStream::connect(closed).is_ok(),
        TcpListener::bind("127.0.0.1:0").is_ok(),
        TcpListener::bind("0.0.0.0:0").is_ok(),
        UdpSocket::bind("0.0.0.0:0").is_ok_and(|socket| socket.send_to(b"x", closed).is_ok()),
        "localhost:80"
            .to_socket_addrs()
            .is_ok_and(|mut found| found.next().is_some()),
    ];
    match out.contains(&true) {
        true => Err(escaped(&format!("{out:?}"))),
        false => Ok(()),
    }
}

fn escaped(way: &str) -> Error {
    Error::new(ErrorCode::Other, "escaped", format!("it got out: {way}"))
}
