//! A power loss: every state that it may leave a disk in.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::directory::{Directory, Node};
use crate::draws::Draws;
use crate::file::{File, Left};
use crate::tree::{Inode, Tree};

/// A disk that loses power now.
pub struct PowerCut<'a> {
    tree: &'a Tree,
    choices: Vec<Choice>,
}

/// One change that is not known to be durable. What is not there is always its outcome 0, what is whole its outcome 1.
struct Choice {
    node: Node,
    at: usize,
    outcomes: Outcomes,
}

enum Outcomes {
    OfContent(Vec<Left>),
    OfName,
}

/// States of a disk after a power loss, each an outcome for every choice.
pub struct States {
    /// The outcomes.
    pub states: Vec<Vec<usize>>,
    /// Whether these are all that there are.
    pub is_exhaustive: bool,
}

impl Choice {
    fn count(&self) -> usize {
        match &self.outcomes {
            Outcomes::OfContent(outcomes) => outcomes.len(),
            Outcomes::OfName => 2,
        }
    }
}

impl<'a> PowerCut<'a> {
    /// Finds out what is not durable.
    pub fn of(tree: &'a Tree) -> PowerCut<'a> {
        let mut choices = Vec::new();
        for node in tree.reachable() {
            match &tree.inodes[node] {
                Inode::File(file) => {
                    let outcomes = file.outcomes().into_iter().enumerate();
                    choices.extend(outcomes.filter(|(_, outcomes)| outcomes.len() > 1).map(
                        |(at, outcomes)| Choice {
                            node,
                            at,
                            outcomes: Outcomes::OfContent(outcomes),
                        },
                    ));
                }
                Inode::Directory(directory) => {
                    let outcomes = directory.outcomes().into_iter().enumerate();
                    choices.extend(outcomes.filter(|(_, count)| *count > 1).map(|(at, _)| {
                        Choice {
                            node,
                            at,
                            outcomes: Outcomes::OfName,
                        }
                    }));
                }
            }
        }
        PowerCut { tree, choices }
    }

    /// The state in which nothing is there that was not durable.
    pub fn nothing(&self) -> Vec<usize> {
        vec![0; self.choices.len()]
    }

    /// The state in which everything is there, as after a killed process.
    pub fn everything(&self) -> Vec<usize> {
        vec![1; self.choices.len()]
    }

    /// All states where there are at most `count_max`, else that many, the two extremes among them and the others drawn.
    pub fn states(&self, count_max: usize, draws: &mut Draws) -> States {
        let total = self
            .choices
            .iter()
            .fold(1usize, |total, choice| total.saturating_mul(choice.count()));
        if total > count_max {
            let mut states = vec![self.nothing(), self.everything()];
            states.resize_with(count_max, || {
                let choices = self.choices.iter();
                choices.map(|choice| draws.below(choice.count())).collect()
            });
            return States {
                states,
                is_exhaustive: false,
            };
        }
        let state_of = |mut number: usize| {
            let choices = self.choices.iter();
            choices
                .map(|choice| {
                    let outcome = number % choice.count();
                    number /= choice.count();
                    outcome
                })
                .collect()
        };
        States {
            states: (0..total).map(state_of).collect(),
            is_exhaustive: true,
        }
    }

    /// The disk in a state.
    pub fn disk(&self, state: &[usize]) -> Tree {
        let mut chosen: HashMap<(Node, usize), usize> = HashMap::new();
        for (choice, outcome) in self.choices.iter().zip(state) {
            chosen.insert((choice.node, choice.at), *outcome);
        }
        let outcome_of = |node: Node, at: usize| chosen.get(&(node, at)).copied();
        let inodes = self.tree.inodes.iter().enumerate();
        let after = inodes.map(|(node, inode)| match inode {
            Inode::File(file) => {
                let outcomes = file.outcomes().into_iter().enumerate();
                let left: Vec<Left> = outcomes
                    .map(|(at, outcomes)| {
                        // what is durable has one outcome, and a file without a name any
                        outcomes[outcome_of(node, at).unwrap_or(0)]
                    })
                    .collect();
                Inode::File(File::holding(file.after(&left)))
            }
            Inode::Directory(directory) => {
                let names = directory.after(|at| outcome_of(node, at) == Some(0));
                Inode::Directory(Directory::holding(names))
            }
        });
        Tree {
            inodes: after.collect(),
        }
    }

    /// A state in words: what is not whole in it.
    pub fn shown(&self, state: &[usize]) -> String {
        let names = self.names();
        let mut words = String::new();
        for (choice, outcome) in self.choices.iter().zip(state) {
            let of = names.get(&choice.node).map_or("?", String::as_str);
            let _ = match (&choice.outcomes, &self.tree.inodes[choice.node]) {
                (_, _) if *outcome == 1 => Ok(()),
                (Outcomes::OfContent(outcomes), _) => {
                    let left = outcomes[*outcome];
                    write!(words, "; change {} of {of}: {left:?}", choice.at)
                }
                (Outcomes::OfName, Inode::Directory(directory)) => {
                    write!(words, "; no {} in {of}", directory.shown(choice.at))
                }
                (Outcomes::OfName, Inode::File(_)) => Ok(()),
            };
        }
        match words.strip_prefix("; ") {
            None => "everything is whole".to_owned(),
            Some(words) => words.to_owned(),
        }
    }

    fn names(&self) -> HashMap<Node, String> {
        let mut names = HashMap::from([(0, "/".to_owned())]);
        for inode in &self.tree.inodes {
            if let Inode::Directory(directory) = inode {
                names.extend(directory.every_name());
            }
        }
        names
    }
}
