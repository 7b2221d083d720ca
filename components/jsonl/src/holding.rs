//! Which buckets hold which names, looked up once for a whole root: asking each bucket for each session costs as much as
//! there are sessions times buckets.

use std::collections::HashMap;

use crate::paths;

/// Logs by their names without suffix.
#[derive(Default)]
pub(crate) struct Holding {
    buckets: Vec<String>,
    by_name: HashMap<String, Vec<usize>>,
}

impl Holding {
    /// The logs of one bucket more.
    pub(crate) fn add<'a>(&mut self, bucket: &str, names: impl Iterator<Item = &'a str>) {
        let at = self.buckets.len();
        self.buckets.push(bucket.to_owned());
        for name in names {
            self.by_name.entry(name.to_owned()).or_default().push(at);
        }
    }

    /// Whether more than one bucket has the name.
    pub(crate) fn is_repeated(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|held| held.len() > 1)
    }

    /// The buckets that have a log with a name of the session, bytewise.
    pub(crate) fn buckets_of(&self, id: &str) -> Vec<String> {
        let names = [paths::encode_id(id), paths::spare_name(id)];
        let held = names
            .iter()
            .flatten()
            .filter_map(|name| self.by_name.get(name));
        let mut buckets: Vec<&String> = held
            .flatten()
            .filter_map(|at| self.buckets.get(*at))
            .collect();
        buckets.sort_unstable();
        buckets.dedup();
        buckets.into_iter().cloned().collect()
    }
}
