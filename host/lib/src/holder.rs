//! Who holds a lease: this process as others see it, and whether the process that another holder names is gone.
//!
//! The facts come from Linux's `/proc`; elsewhere only the process id is known, and nobody is ever judged gone.

use std::fs;
use std::io::ErrorKind;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const HOST: &str = "host";
const MACHINE: &str = "machineId";
const BOOT_ID: &str = "bootId";
const PID_NAMESPACE: &str = "pidNamespace";
const PID: &str = "pid";
const PROCESS_START: &str = "processStart";
const SINCE: &str = "since";

/// There from the start to the end of every process namespace.
const FIRST_PID: u32 = 1;

/// This process as a JSON object: where it runs, which it is, and since when it asks.
pub(crate) fn this_process(since_ms: u64) -> String {
    let pid = std::process::id();
    json!({
        HOST: host(),
        MACHINE: machine(),
        BOOT_ID: boot_id(),
        PID_NAMESPACE: pid_namespace(),
        PID: pid,
        PROCESS_START: own_start(pid),
        SINCE: since_ms,
    })
    .to_string()
}

/// None where `/proc` cannot tell, and then nobody will judge this process.
fn own_start(pid: u32) -> Option<u64> {
    match Process::find(pid) {
        Found::Process(process) if sees_own_namespace() => Some(process.start),
        Found::Process(_) | Found::Nobody | Found::Unknown => None,
    }
}

/// Whether a holder's process is known to be gone, so that its lease may be taken at once.
///
/// Only a process that this one could see if it lived is ever judged: same host, boot and process namespace, and a
/// `/proc` that shows the processes of others (its `hidepid` option hides them, the first one included).
pub(crate) fn is_gone(holder: &Value) -> bool {
    if !matches!(Process::find(FIRST_PID), Found::Process(_)) || !sees_own_namespace() {
        return false;
    }
    let same = |name: &str, here: Option<String>| {
        here.is_some_and(|here| holder.get(name).and_then(Value::as_str) == Some(&here))
    };
    if !same(HOST, host()) || !same(BOOT_ID, boot_id()) || !same(PID_NAMESPACE, pid_namespace()) {
        return false;
    }
    let pid = holder
        .get(PID)
        .and_then(Value::as_u64)
        .and_then(|pid| u32::try_from(pid).ok());
    let start = holder.get(PROCESS_START).and_then(Value::as_u64);
    let (Some(pid), Some(start)) = (pid, start) else {
        return false;
    };
    match Process::find(pid) {
        Found::Process(process) => process.start != start || process.has_ended,
        Found::Nobody => true,
        Found::Unknown => false,
    }
}

/// Whether a holder cannot be looked for here, as it says that it runs on another host or in another process namespace, or
/// does not say where.
pub(crate) fn is_elsewhere(holder: &Value) -> bool {
    let named = |name: &str| holder.get(name).and_then(Value::as_str).map(str::to_owned);
    [
        (HOST, host()),
        (BOOT_ID, boot_id()),
        (PID_NAMESPACE, pid_namespace()),
    ]
    .into_iter()
    .any(|(name, here)| here.is_none() || named(name) != here)
}

/// Whether a holder ran before this host was last started: same host and machine, another boot, and it asked for the
/// lease before the present boot. Who says so may be mistaken, for names and ids are copied with machines: nobody has to
/// wait for the holder, but it is overtaken as one that may wake up.
pub(crate) fn is_of_an_earlier_boot(holder: &Value) -> bool {
    let named = |name: &str| holder.get(name).and_then(Value::as_str);
    let (Some(host), Some(boot_id), Some(boot_ms)) = (host(), boot_id(), boot_ms()) else {
        return false;
    };
    named(HOST) == Some(&host)
        && machine().is_some_and(|here| named(MACHINE) == Some(&here))
        && named(BOOT_ID).is_some_and(|theirs| theirs != boot_id)
        && holder
            .get(SINCE)
            .and_then(Value::as_u64)
            .is_some_and(|since| since < boot_ms)
}

/// When this host was started, in milliseconds since 1970.
fn boot_ms() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let seconds = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    seconds.trim().parse::<u64>().ok()?.checked_mul(1000)
}

/// Whether `/proc` counts processes as this one does: it may have been mounted in another namespace.
fn sees_own_namespace() -> bool {
    let own = std::process::id().to_string();
    fs::read_link("/proc/self").is_ok_and(|target| target.as_os_str() == own.as_str())
}

fn host() -> Option<String> {
    line("/proc/sys/kernel/hostname")
}

// Tells machines apart that have one name; a hash, for the id itself is not meant to be passed on.
fn machine() -> Option<String> {
    let id = line("/etc/machine-id").filter(|id| !id.is_empty())?;
    let hash = Sha256::digest(format!("annals {id}"));
    Some(
        hash.iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    )
}

fn boot_id() -> Option<String> {
    line("/proc/sys/kernel/random/boot_id")
}

fn pid_namespace() -> Option<String> {
    let target = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(target.to_string_lossy().into_owned())
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim_end().to_owned())
}

struct Process {
    /// Clock ticks since the boot; tells a process from a later one of the same id.
    start: u64,
    /// Ended and only waiting for its parent to notice.
    has_ended: bool,
}

/// What a look for a process came to. Only `Nobody` says that there is none: a look may fail for reasons of its own.
enum Found {
    Process(Process),
    Nobody,
    Unknown,
}

/// The process ended between opening its file and reading it.
const ESRCH: i32 = 3;

impl Process {
    fn find(pid: u32) -> Found {
        Self::read(&format!("/proc/{pid}/stat"), pid)
    }

    fn read(path: &str, pid: u32) -> Found {
        match fs::read_to_string(path) {
            Ok(stat) => Self::parse(&stat, pid).map_or(Found::Unknown, Found::Process),
            Err(error)
                if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH) =>
            {
                Found::Nobody
            }
            Err(_) => Found::Unknown,
        }
    }

    fn parse(stat: &str, pid: u32) -> Option<Self> {
        // The name in parentheses may hold anything, so fields are counted from the last one on; state is the first.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        let start = fields.nth(18)?.parse().ok()?;
        // A process whose first thread has ended looks like this too, so its other threads are counted.
        let has_ended = matches!(state, "Z" | "X")
            && fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| tasks.count() <= 1);
        Some(Self { start, has_ended })
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Value {
        serde_json::from_str(&this_process(0)).unwrap()
    }

    #[test]
    fn this_process_is_not_gone() {
        assert!(!is_gone(&here()));
    }

    #[test]
    fn a_later_process_of_the_same_id_is_another_one() {
        let mut holder = here();
        holder[PROCESS_START] = json!(1);
        assert!(is_gone(&holder));
    }

    /// A failed look, out of file handles for one, counted as a process that is gone, and its lease was taken.
    #[test]
    fn only_a_missing_process_is_nobody() {
        assert!(matches!(Process::read("/proc/0/stat", 0), Found::Nobody));
        // a directory cannot be read as a file, and this text is no process
        assert!(matches!(Process::read("/proc/self", 1), Found::Unknown));
        assert!(matches!(Process::read("/proc/version", 1), Found::Unknown));
    }

    /// After a power loss a session could not be written for the whole time to live.
    #[test]
    fn a_holder_from_before_the_last_start_of_this_host_is_known() {
        let mut holder = here();
        assert!(!is_of_an_earlier_boot(&holder));
        holder[BOOT_ID] = json!("another");
        assert_eq!(is_of_an_earlier_boot(&holder), machine().is_some());
        // of one that names no machine nobody knows whether it is this one
        let mut nowhere = holder.clone();
        nowhere[MACHINE] = Value::Null;
        assert!(!is_of_an_earlier_boot(&nowhere));
        for name in [HOST, MACHINE] {
            let mut elsewhere = holder.clone();
            elsewhere[name] = json!("elsewhere");
            assert!(!is_of_an_earlier_boot(&elsewhere), "{name}");
        }
        // one that asked since this boot is of another machine
        holder[SINCE] = json!(u64::MAX);
        assert!(!is_of_an_earlier_boot(&holder));
        assert!(!is_of_an_earlier_boot(&json!({})));
    }

    #[test]
    fn a_process_elsewhere_is_never_judged() {
        assert!(!is_elsewhere(&here()));
        for name in [HOST, BOOT_ID, PID_NAMESPACE] {
            let mut holder = here();
            holder[PROCESS_START] = json!(1);
            holder[name] = json!("elsewhere");
            assert!(!is_gone(&holder), "{name}");
            assert!(is_elsewhere(&holder), "{name}");
        }
        assert!(!is_gone(&json!({})));
        assert!(is_elsewhere(&json!({})));
    }
}
