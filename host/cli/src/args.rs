//! The command line: the one source of flags, help and usage errors.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::{
    append, backend, cache, create, delete, doctor, fork, import, list, messages, resume, salvage,
    show, update, verify,
};
use crate::manifest;
use crate::output::Format;

/// Durable sessions for AI agents.
///
/// Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 refused or failed, 2 usage or
/// configuration, 3 damaged or of another format version, 70 a fault of this program. A command that SIGTERM, SIGHUP or
/// SIGINT ended stored what it had accepted; its code is 128 and the signal's number.
#[derive(Debug, Parser)]
#[command(name = "annals", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    // Not a global flag: of those, values given after the command would replace values given before it.
    #[command(flatten)]
    pub settings: Settings,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command; they may stand before or after it.
#[derive(Args, Debug)]
pub struct Global {
    /// Directory that holds the sessions; required, except with `--backend memory`
    // An empty value counts as none and is judged where a root is needed; the parser of paths would refuse it always.
    #[arg(long, global = true, value_name = "DIR", env = "ANNALS_ROOT",
        value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub root: Option<PathBuf>,
    /// Where sessions are kept: `jsonl` (default), `memory`, a name that `annals backend add` took, or the path of a
    /// backend component
    #[arg(long, global = true, value_name = "jsonl|memory|NAME|PATH.wasm", value_parser = backend)]
    pub backend: Option<Backend>,
    /// How store and backend are linked; by default static for bundled backends, dynamic for others
    #[arg(long, global = true)]
    pub link: Option<Link>,
    /// How long to wait for a session that somebody else writes, in milliseconds
    #[arg(long, global = true, value_name = "MS", default_value_t = 2000)]
    pub wait: u64,
    /// How results are written
    #[arg(long, global = true, default_value = "text")]
    pub format: Format,
}

// Without a doc comment, which would stand in the place of each command's own.
#[derive(Args, Debug)]
pub struct Settings {
    /// A setting of the backend; may be repeated
    #[arg(long = "set", alias = "setting", value_name = "KEY=VALUE", value_parser = setting)]
    pub list: Vec<(String, String)>,
    /// Middleware between the store and the backend: `encrypt`, or the path of a component; may be repeated, the outermost
    /// first. `encrypt` takes its key from the environment variable ANNALS_KEY, or the one that
    /// `--set encrypt.key-env=NAME` names
    #[arg(long = "through", value_name = "encrypt|PATH.wasm", value_parser = middleware)]
    pub through: Vec<Middleware>,
}

// A command's own flags, and the settings given after it. Without a doc comment for the same reason.
#[derive(Args, Debug)]
pub struct After<C: Args> {
    #[command(flatten)]
    pub settings: Settings,
    #[command(flatten)]
    pub command: C,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    Jsonl,
    Memory,
    File(PathBuf),
    /// One that was added.
    Added(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Middleware {
    Encrypt,
    File(PathBuf),
}

impl Middleware {
    /// As it was given.
    pub fn name(&self) -> String {
        match self {
            Self::Encrypt => "encrypt".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

impl From<&Middleware> for annals::Middleware {
    fn from(middleware: &Middleware) -> Self {
        match middleware {
            Middleware::Encrypt => Self::Encrypt,
            Middleware::File(path) => Self::File(path.clone()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Link {
    /// Composed into one component
    Static,
    /// The backend runs apart, with its own memory and limits
    Dynamic,
}

impl From<Link> for annals::Link {
    fn from(link: Link) -> Self {
        match link {
            Link::Static => Self::Static,
            Link::Dynamic => Self::Dynamic,
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Create(After<create::Create>),
    Append(After<append::Append>),
    Import(After<import::Import>),
    Show(After<show::Show>),
    Messages(After<messages::Messages>),
    List(After<list::List>),
    Verify(After<verify::Verify>),
    Doctor(After<doctor::Doctor>),
    Resume(After<resume::Resume>),
    Salvage(After<salvage::Salvage>),
    Fork(After<fork::Fork>),
    Update(After<update::Update>),
    Delete(After<delete::Delete>),
    Cache(After<cache::Cache>),
    Backend(backend::Backend),
}

/// A backend by name or path.
pub fn backend(text: &str) -> Result<Backend, String> {
    match text {
        "jsonl" => Ok(Backend::Jsonl),
        "memory" => Ok(Backend::Memory),
        path if is_path(path) => Ok(Backend::File(path.into())),
        name if manifest::check_name(name).is_ok() => Ok(Backend::Added(name.into())),
        _ => Err("give jsonl, memory, a name that annals backend add took, or the path of a component that ends in .wasm".into()),
    }
}

fn middleware(text: &str) -> Result<Middleware, String> {
    match text {
        "encrypt" => Ok(Middleware::Encrypt),
        path if is_path(path) => Ok(Middleware::File(path.into())),
        _ => Err("give encrypt, or the path of a component that ends in .wasm".into()),
    }
}

// A misspelled name is more likely than a component without its suffix in the current directory.
fn is_path(text: &str) -> bool {
    text.ends_with(".wasm") || text.contains(std::path::MAIN_SEPARATOR)
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err("give KEY=VALUE, as in sync=always".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_flags_may_stand_before_or_after_the_command() {
        for line in [
            "annals --root r --set sync=never list",
            "annals list --root r --set sync=never",
        ] {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(cli.global.root, Some("r".into()));
            assert_eq!(settings(&cli), [("sync".into(), "never".into())]);
        }
        let line = "annals --root r --set a=1 list --set b=2 --root s";
        let cli = Cli::try_parse_from(line.split(' ')).unwrap();
        assert_eq!(cli.global.root, Some("s".into()));
        let both = [("a".into(), "1".into()), ("b".into(), "2".into())];
        assert_eq!(settings(&cli), both);
    }

    #[test]
    fn layers_given_before_and_after_the_command_all_count() {
        let line = "annals --through encrypt --root r list --through a/b";
        let cli = Cli::try_parse_from(line.split(' ')).unwrap();
        let Command::List(after) = &cli.command else {
            panic!("not the command that was given");
        };
        let through = [cli.settings.through.as_slice(), &after.settings.through].concat();
        assert_eq!(
            through,
            [Middleware::Encrypt, Middleware::File("a/b".into())]
        );
        assert!(middleware("encript").is_err());
    }

    fn settings(cli: &Cli) -> Vec<(String, String)> {
        let Command::List(after) = &cli.command else {
            panic!("not the command that was given");
        };
        [cli.settings.list.as_slice(), &after.settings.list].concat()
    }

    #[test]
    fn a_backend_is_a_name_or_a_path() {
        assert_eq!(backend("memory"), Ok(Backend::Memory));
        assert_eq!(backend("x.wasm"), Ok(Backend::File("x.wasm".into())));
        assert_eq!(backend("mine"), Ok(Backend::Added("mine".into())));
        assert!(backend("Mine").is_err());
    }
}
