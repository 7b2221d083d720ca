//! One directory: the names that are durable, and what was done to them since.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::file::Fate;

/// Where a node is in its tree.
pub(crate) type Node = usize;

pub(crate) type Names = BTreeMap<Arc<str>, Node>;

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Add(Arc<str>, Node),
    Remove(Arc<str>, Node),
    Rename(Arc<str>, Arc<str>, Node),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    durable: Arc<Names>,
    changes: Vec<(Change, Fate)>,
    seen: Arc<Names>,
}

impl Directory {
    /// A directory that is durable as it is.
    pub(crate) fn holding(names: Arc<Names>) -> Directory {
        Directory {
            durable: Arc::clone(&names),
            changes: Vec::new(),
            seen: names,
        }
    }

    /// The names as everybody sees them.
    pub(crate) fn seen(&self) -> &Names {
        &self.seen
    }

    pub(crate) fn change(&mut self, change: Change) {
        change.apply(Arc::make_mut(&mut self.seen));
        self.changes.push((change, Fate::Unsynced));
    }

    pub(crate) fn sync(&mut self) {
        for (_, fate) in &mut self.changes {
            if *fate == Fate::Unsynced {
                *fate = Fate::Durable;
            }
        }
        let settled = self
            .changes
            .iter()
            .take_while(|(_, fate)| *fate == Fate::Durable)
            .count();
        for (change, _) in self.changes.drain(..settled) {
            change.apply(Arc::make_mut(&mut self.durable));
        }
    }

    /// How many outcomes each change has, in their order.
    pub(crate) fn outcomes(&self) -> Vec<usize> {
        let of = |(_, fate): &(Change, Fate)| match fate {
            Fate::Durable => 1,
            Fate::Unsynced | Fate::Doubtful => 2,
        };
        self.changes.iter().map(of).collect()
    }

    /// The names after a power loss that undid the changes of which that is said.
    pub(crate) fn after(&self, is_undone: impl Fn(usize) -> bool) -> Arc<Names> {
        if self.changes.is_empty() {
            return Arc::clone(&self.durable);
        }
        let mut names = Names::clone(&self.durable);
        for (at, (change, _)) in self.changes.iter().enumerate() {
            if !is_undone(at) {
                change.apply(&mut names);
            }
        }
        Arc::new(names)
    }

    /// Every node that a name may lead to after a power loss.
    pub(crate) fn children(&self) -> impl Iterator<Item = Node> {
        let added = self.changes.iter().filter_map(|(change, _)| match change {
            Change::Add(_, node) | Change::Rename(_, _, node) => Some(*node),
            Change::Remove(..) => None,
        });
        self.durable.values().copied().chain(added)
    }

    /// Every name that led to something, with what it led to.
    pub(crate) fn every_name(&self) -> impl Iterator<Item = (Node, String)> {
        let added = self.changes.iter().filter_map(|(change, _)| match change {
            Change::Add(name, node) | Change::Rename(_, name, node) => Some((name, node)),
            Change::Remove(..) => None,
        });
        let all = self.durable.iter().chain(added);
        all.map(|(name, node)| (*node, name.to_string()))
    }

    /// What was done at that place.
    pub(crate) fn shown(&self, at: usize) -> String {
        match &self.changes[at].0 {
            Change::Add(name, _) => format!("name {name}"),
            Change::Remove(name, _) => format!("removal of {name}"),
            Change::Rename(from, to, _) => format!("rename {from} -> {to}"),
        }
    }
}

impl Change {
    fn apply(&self, names: &mut Names) {
        let drop_name = |names: &mut Names, name: &Arc<str>, node: Node| {
            if names.get(name) == Some(&node) {
                names.remove(name);
            }
        };
        match self {
            Change::Add(name, node) => {
                names.insert(Arc::clone(name), *node);
            }
            Change::Remove(name, node) => drop_name(names, name, *node),
            Change::Rename(from, to, node) => {
                drop_name(names, from, *node);
                names.insert(Arc::clone(to), *node);
            }
        }
    }
}
