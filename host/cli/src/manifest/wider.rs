//! What a manifest asks for and an accepted one did not.

use super::{Directory, Grants, Inert, Limits, Manifest, Part};

impl Manifest {
    /// What this asks for and `accepted`, of as many parts, did not, in words.
    pub fn beyond(&self, accepted: &Self) -> Vec<String> {
        let pairs = self.parts().zip(accepted.parts());
        let of_part = pairs.flat_map(|(now, before)| {
            let mut beyond = now.grants.beyond(before.grants);
            beyond.extend(now.limits.beyond(before.limits));
            let settings = now.settings.iter();
            let others =
                settings.filter(|(name, value)| before.settings.get(*name) != Some(*value));
            beyond.extend(others.map(|(name, value)| format!("setting {name}={value}")));
            let gone = before.settings.keys();
            let gone = gone.filter(|name| !now.settings.contains_key(*name));
            beyond.extend(gone.map(|name| format!("setting {name} left out")));
            let named = move |what: String| of(now, what);
            beyond.into_iter().map(named)
        });
        of_part.collect()
    }
}

fn of(part: Part<'_>, what: String) -> String {
    match part.is_layer {
        true => format!("{what} for {}", part.words()),
        false => what,
    }
}

impl Grants {
    fn beyond(&self, accepted: &Self) -> Vec<String> {
        let mut beyond = Vec::new();
        for asked in &self.directories {
            let is_covered = |granted: &Directory| {
                granted.path == asked.path
                    && granted.guest == asked.guest
                    && granted.access >= asked.access
            };
            if !accepted.directories.iter().any(is_covered) {
                beyond.push(asked.words());
            }
        }
        for asked in &self.tcp {
            if !accepted.tcp.contains(asked) {
                beyond.push(format!("TCP connections to {asked}"));
            }
        }
        for asked in &self.environment {
            if !accepted.environment.contains(asked) {
                beyond.push(format!("environment name {asked:?}"));
            }
        }
        let gone = accepted.inert.iter();
        let gone = gone.filter(|inert| !self.inert.contains(inert));
        beyond.extend(gone.map(|inert| match inert {
            Inert::Files => "files, which were inert".to_owned(),
            Inert::Network => "the network, which was inert".to_owned(),
        }));
        beyond
    }
}

impl Limits {
    fn beyond(&self, accepted: &Self) -> Vec<String> {
        let wide = |bytes: Option<usize>| bytes.map(|bytes| bytes as u64);
        let table = [
            (
                "memory_bytes_max",
                wide(self.memory_bytes_max),
                wide(accepted.memory_bytes_max),
            ),
            ("call_ms_max", self.call_ms_max, accepted.call_ms_max),
            (
                "page_bytes_max",
                wide(self.page_bytes_max),
                wide(accepted.page_bytes_max),
            ),
        ];
        let mut beyond = Vec::new();
        for (name, now, before) in table {
            // Where none was accepted the usual one was, which only the library knows.
            let is_wider = match (now, before) {
                (Some(now), Some(before)) => now > before,
                (None, None) => false,
                (None, Some(_)) | (Some(_), None) => true,
            };
            if is_wider {
                let now = now.map_or_else(|| "the usual".to_owned(), |now| now.to_string());
                beyond.push(format!("{name} {now}"));
            }
        }
        beyond
    }
}
