mod add;
mod inspect;
mod list;
mod remove;
mod test;

use clap::{Args, Subcommand};

use crate::args::{After, Cli};
use crate::commands::run_after;
use crate::failure::{Exit, Failure};

/// Test, inspect and add backends that somebody else wrote
#[derive(Args, Debug)]
pub struct Backend {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Test(After<test::Test>),
    Inspect(After<inspect::Inspect>),
    Add(After<add::Add>),
    List(After<list::List>),
    Remove(After<remove::Remove>),
}

impl Backend {
    pub fn run(&self, cli: &Cli) -> Result<Exit, Failure> {
        match &self.action {
            Action::Test(after) => run_after(cli, after),
            Action::Inspect(after) => run_after(cli, after),
            Action::Add(after) => run_after(cli, after),
            Action::List(after) => run_after(cli, after),
            Action::Remove(after) => run_after(cli, after),
        }
    }
}
