//! `annals-soak`: lays siege to the `annals` command, and ends with a table and the counts of its checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use annals_soak::command::program;
use annals_soak::disk::DISK_BYTES;
use annals_soak::siege::{Plan, Report, run};
use anyhow::{Context, Result, bail};
use clap::Parser;

/// Append, kill, stop and fill the disk, and look at what is left
#[derive(Parser, Debug)]
struct Arguments {
    /// How long, in seconds
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// How long until everything is looked at, in seconds
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    round_seconds: u64,
    /// Makes the choices again; by default the time
    #[arg(long)]
    seed: Option<u64>,
    /// How many append at once
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100))]
    writers: u64,
    /// Leave the full disk out, where none can be mounted
    #[arg(long)]
    no_full_disk: bool,
    /// The `annals` command; by default what `cargo xtask build` left
    #[arg(long, env = "ANNALS_COMMAND")]
    program: Option<PathBuf>,
    /// Where journals go, and evidence if there is any
    #[arg(long)]
    directory: PathBuf,
    /// A disk that may be filled: how it starts itself again in a mount namespace of its own
    #[arg(long, hide = true)]
    disk: Option<PathBuf>,
}

fn main() -> ExitCode {
    match siege(Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn siege(arguments: Arguments) -> Result<ExitCode> {
    let program = program(arguments.program.as_deref())?;
    fs::create_dir_all(&arguments.directory)?;
    let directory = fs::canonicalize(&arguments.directory)?;
    let seed = arguments.seed.unwrap_or_else(|| {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
        now.map_or(0, |now| now.as_secs())
    });
    let disk = match (&arguments.disk, arguments.no_full_disk) {
        (Some(disk), _) => disk.clone(),
        (None, true) => directory.join("disk"),
        (None, false) => return on_small_disk(&directory, seed),
    };
    let plan = Plan {
        seed,
        seconds: arguments.seconds,
        round_seconds: arguments.round_seconds.min(arguments.seconds),
        writers: arguments.writers,
        directory: directory.clone(),
        disk: disk.clone(),
        is_filled: !arguments.no_full_disk,
        program,
    };
    println!("seed {seed}, {} writers, {} s", plan.writers, plan.seconds);
    let report = run(plan)?;
    conclude(&report, &directory, &disk)
}

/// Starts this program again where a small disk is mounted that nobody else sees.
fn on_small_disk(directory: &Path, seed: u64) -> Result<ExitCode> {
    let disk = directory.join("disk");
    fs::create_dir_all(&disk)?;
    let mount = format!("mount -t tmpfs -o size={DISK_BYTES},mode=0700 tmpfs \"$0\"");
    let inside = |flags: &str, script: &str| {
        let mut command = Command::new("unshare");
        command.args([flags, "sh", "-c", script]).arg(&disk);
        command
    };
    let works = |flags: &&&str| {
        let ran = inside(flags, &mount).output();
        ran.is_ok_and(|ran| ran.status.success())
    };
    let Some(flags) = ["-m", "-rm"].iter().find(works) else {
        bail!(
            "no small disk can be mounted here (unshare -m or -rm, then mount -t tmpfs); \
             --no-full-disk leaves the full disk out"
        );
    };
    let mut again = inside(flags, &format!("{mount} && exec \"$@\""));
    again.arg(std::env::current_exe()?);
    again.args(std::env::args_os().skip(1));
    again.arg("--disk").arg(&disk);
    if !std::env::args().any(|argument| argument.starts_with("--seed")) {
        again.args(["--seed", &seed.to_string()]);
    }
    let status = again.status().context("unshare cannot be started")?;
    tidy(directory);
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Removes what holds no evidence.
fn tidy(directory: &Path) {
    for empty in [&directory.join("disk"), directory] {
        let _ = fs::remove_dir(empty);
    }
}

/// Prints the table; keeps what shows a fault.
fn conclude(report: &Report, directory: &Path, disk: &Path) -> Result<ExitCode> {
    let faults = report.faults();
    let failed = faults.iter().filter(|(_, count)| *count > 0).count();
    let passed = faults.len() - failed;
    print!("\n{}", report.table());
    if failed > 0 {
        let all = [report.counts.unexpected(), report.last.faults()].concat();
        for fault in all.iter().take(50) {
            println!("{fault}");
        }
        fs::write(directory.join("faults.txt"), all.join("\n"))?;
        let kept = directory.join("root");
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(disk.join("root")).arg(&kept);
        copy.status().context("cp cannot be started")?;
        println!(
            "journals, faults and the root are in {}",
            directory.display()
        );
    } else {
        let _ = fs::remove_dir_all(disk.join("root"));
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "jsonl")
            {
                fs::remove_file(path)?;
            }
        }
        tidy(directory);
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
