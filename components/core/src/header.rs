//! The first line of a log: what a session is, written once.

use crate::fault::{Fault, Reason, quoted, shown_value};
use crate::json::{Text, Value, quote, read_members};

/// The only format version that is written and read.
pub const FORMAT_VERSION: u32 = 0;

/// The largest integer that every reader of JSON carries exactly.
pub const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

/// Members of a header line in the order in which they are written.
const NAMES: [&str; 8] = [
    "type",
    "version",
    "id",
    "createdAt",
    "cwd",
    "parentSession",
    "seedLength",
    "delegationDepth",
];

/// What a session is; never changed after it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// On-disk format, [`FORMAT_VERSION`].
    pub version: u32,
    /// Names the session; never interpreted.
    pub id: String,
    /// Milliseconds since 1970-01-01T00:00Z, at most [`SAFE_INTEGER_MAX`].
    pub created_at_ms: u64,
    /// Absolute path, or none.
    pub cwd: Option<String>,
    /// The session that this one was forked from.
    pub parent_session: Option<String>,
    /// How many leading events came from the parent.
    pub seed_length: Option<u64>,
    /// How many delegations lie between this session and a person.
    pub delegation_depth: Option<u32>,
    /// Members not named above, as the text of one JSON object, kept as found.
    pub extra: Option<String>,
}

/// Holds the rules of a header against a checked value, as one session `id` has it.
///
/// Of several broken rules the first in this order is reported: not an object, version, id, createdAt, cwd,
/// parentSession, seedLength, delegationDepth.
pub fn check_header(value: Value<'_>, id: &str) -> Result<Header, Fault> {
    if !value.is_object() {
        return Err(Fault::new(
            Reason::HeaderNotRecord,
            "a session header must be an object",
        ));
    }
    let members = Members::of(value);
    if members.version.and_then(Value::as_f64) != Some(f64::from(FORMAT_VERSION)) {
        let found = shown_value(members.version.map_or("none", Value::text));
        let message = format!("session header version must be {FORMAT_VERSION}, found {found}");
        return Err(Fault::new(Reason::HeaderVersion, message));
    }
    if !members.id.is_some_and(|found| found.is_str(id)) {
        let found = shown_value(members.id.map_or("none", Value::text));
        let message = format!("session header id is {found}, not {}", quoted(id));
        return Err(Fault::new(Reason::HeaderIdMismatch, message));
    }
    members.header(id)
}

impl Header {
    /// Reads the first line of a log, its newline excluded.
    ///
    /// All faults are `Corrupt` with line 1, but another version is `UnsupportedVersion`, whatever else the line says.
    /// Reasons: `log-empty`, `log-header-not-json`, `log-header-invalid` (no session header at all),
    /// `log-version-unsupported`, then those of single members.
    pub fn parse_line(line: &str) -> Result<Header, Fault> {
        read_line(line).map_err(|fault| fault.corrupt(1, 0))
    }

    /// The header line, without a newline: known members in their order, then `extra` as found.
    pub fn line(&self) -> String {
        let mut line = format!(
            "{{\"type\":\"session\",\"version\":{},\"id\":{},\"createdAt\":{}",
            self.version,
            quote(&self.id),
            self.created_at_ms
        );
        let members = [
            ("cwd", self.cwd.as_deref().map(quote)),
            ("parentSession", self.parent_session.as_deref().map(quote)),
            (
                "seedLength",
                self.seed_length.map(|count| count.to_string()),
            ),
            (
                "delegationDepth",
                self.delegation_depth.map(|count| count.to_string()),
            ),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                line.push_str(&format!(",\"{name}\":{value}"));
            }
        }
        if let Some(extra) = self
            .extra
            .as_deref()
            .and_then(|text| Value::parse(text).ok())
        {
            for (name, value) in extra.members().filter(|(name, _)| !is_known(*name)) {
                line.push_str(&format!(",\"{}\":", name.raw()));
                // Outside strings a line break is whitespace, inside it cannot stand: the line stays one line.
                line.extend(value.text().chars().map(|char| {
                    if matches!(char, '\n' | '\r') {
                        ' '
                    } else {
                        char
                    }
                }));
            }
        }
        line.push('}');
        line
    }

    /// Holds the rules of a header against one that did not come from JSON.
    pub fn check(&self) -> Result<(), Fault> {
        if self.version != FORMAT_VERSION {
            let message = format!(
                "session header version must be {FORMAT_VERSION}, found {}",
                self.version
            );
            return Err(Fault::new(Reason::HeaderVersion, message));
        }
        if self.created_at_ms > SAFE_INTEGER_MAX {
            return Err(not_a_count(Reason::HeaderCreatedAt, "createdAt"));
        }
        if let Some(cwd) = &self.cwd {
            check_cwd(cwd)?;
        }
        if self
            .seed_length
            .is_some_and(|count| count > SAFE_INTEGER_MAX)
        {
            return Err(not_a_count(Reason::HeaderSeedLength, "seedLength"));
        }
        let Some(extra) = &self.extra else {
            return Ok(());
        };
        let extra = Value::parse(extra).map_err(|fault| {
            let message = format!("further header members: {fault}");
            Fault::new(Reason::HeaderNotJson, message).text("path", fault.path)
        })?;
        if !extra.is_object() {
            return Err(Fault::new(
                Reason::HeaderNotRecord,
                "further header members must be an object",
            ));
        }
        match extra.members().find(|(name, _)| is_known(*name)) {
            None => Ok(()),
            Some((name, _)) => {
                let message = format!(
                    "{} is no further header member; it has its own place",
                    quoted(name.raw())
                );
                Err(Fault::new(Reason::HeaderNotRecord, message))
            }
        }
    }
}

fn is_known(name: Text<'_>) -> bool {
    NAMES.iter().any(|known| name.is(known))
}

fn read_line(line: &str) -> Result<Header, Fault> {
    if line.is_empty() {
        return Err(Fault::new(Reason::LogEmpty, "the log has no header line"));
    }
    let mut members = Members::default();
    let (value, lossy) =
        read_members(line, |name, value| members.set(name, value)).map_err(|fault| {
            Fault::new(
                Reason::LogHeaderNotJson,
                format!("the header line is {fault}"),
            )
        })?;
    let invalid = |what: &str| {
        let message = format!("the first line is no session header: {what}");
        Err(Fault::new(Reason::LogHeaderInvalid, message))
    };
    if !value.is_object() || !members.tag.is_some_and(|tag| tag.is_str("session")) {
        return invalid("its type is not \"session\"");
    }
    let Some(version) = members.version.and_then(Value::as_f64) else {
        return invalid("version must be a number");
    };
    if version != f64::from(FORMAT_VERSION) {
        let direction = if version > 0.0 {
            "a newer version of this program"
        } else {
            "another program"
        };
        let message = format!(
            "format version {version} was written by {direction}; this one reads {FORMAT_VERSION}"
        );
        let fault = Fault::new(Reason::LogVersionUnsupported, message);
        return Err(fault.text("version", members.version.map_or("", Value::text)));
    }
    if let Some(fault) = lossy {
        return Err(
            Fault::new(Reason::HeaderNotJson, format!("the header line: {fault}"))
                .text("path", fault.path),
        );
    }
    let Some(id) = members.id.and_then(Value::as_text).and_then(Text::decode) else {
        return invalid("id must be a string of whole characters");
    };
    if members.created_at.and_then(Value::as_seq).is_none() {
        return invalid("createdAt must be a non-negative safe integer");
    }
    members.header(&id)
}

/// The members of a header as written.
#[derive(Default)]
struct Members<'a> {
    tag: Option<Value<'a>>,
    version: Option<Value<'a>>,
    id: Option<Value<'a>>,
    created_at: Option<Value<'a>>,
    cwd: Option<Value<'a>>,
    parent_session: Option<Value<'a>>,
    seed_length: Option<Value<'a>>,
    delegation_depth: Option<Value<'a>>,
    others: Vec<(Text<'a>, Value<'a>)>,
}

impl<'a> Members<'a> {
    fn of(value: Value<'a>) -> Members<'a> {
        let mut members = Members::default();
        for (name, value) in value.members() {
            members.set(name, value);
        }
        members
    }

    fn set(&mut self, name: Text<'a>, value: Value<'a>) {
        let slot = match name.decode_lossy().as_ref() {
            "type" => &mut self.tag,
            "version" => &mut self.version,
            "id" => &mut self.id,
            "createdAt" => &mut self.created_at,
            "cwd" => &mut self.cwd,
            "parentSession" => &mut self.parent_session,
            "seedLength" => &mut self.seed_length,
            "delegationDepth" => &mut self.delegation_depth,
            _ => {
                self.others.push((name, value));
                return;
            }
        };
        *slot = Some(value);
    }

    /// The rules after version and id.
    fn header(&self, id: &str) -> Result<Header, Fault> {
        let created_at_ms = self.created_at.and_then(Value::as_seq);
        let created_at_ms =
            created_at_ms.ok_or_else(|| not_a_count(Reason::HeaderCreatedAt, "createdAt"))?;
        let cwd = string(self.cwd, Reason::HeaderCwdType, "cwd")?;
        if let Some(cwd) = &cwd {
            check_cwd(cwd)?;
        }
        let parent_session = string(
            self.parent_session,
            Reason::HeaderParentSession,
            "parentSession",
        )?;
        let seed_length = count(self.seed_length, Reason::HeaderSeedLength, "seedLength")?;
        let depth = count(
            self.delegation_depth,
            Reason::HeaderDelegationDepth,
            "delegationDepth",
        )?;
        let delegation_depth = depth.map(u32::try_from).transpose().map_err(|_| {
            let message = format!(
                "session header delegationDepth must be at most {}",
                u32::MAX
            );
            Fault::new(Reason::HeaderDelegationDepth, message)
        })?;
        let others = self
            .others
            .iter()
            .map(|(name, value)| format!("\"{}\":{}", name.raw(), value.text()));
        let others: Vec<String> = others.collect();
        Ok(Header {
            version: FORMAT_VERSION,
            id: id.to_owned(),
            created_at_ms,
            cwd,
            parent_session,
            seed_length,
            delegation_depth,
            extra: (!others.is_empty()).then(|| format!("{{{}}}", others.join(","))),
        })
    }
}

fn string(value: Option<Value<'_>>, reason: Reason, name: &str) -> Result<Option<String>, Fault> {
    let Some(value) = value else { return Ok(None) };
    match value.as_text().and_then(Text::decode) {
        Some(text) => Ok(Some(text.into_owned())),
        None => Err(Fault::new(
            reason,
            format!("session header {name} must be a string of whole characters"),
        )),
    }
}

fn count(value: Option<Value<'_>>, reason: Reason, name: &str) -> Result<Option<u64>, Fault> {
    let Some(value) = value else { return Ok(None) };
    value
        .as_seq()
        .map(Some)
        .ok_or_else(|| not_a_count(reason, name))
}

fn not_a_count(reason: Reason, name: &str) -> Fault {
    Fault::new(
        reason,
        format!("session header {name} must be a non-negative safe integer"),
    )
}

fn check_cwd(cwd: &str) -> Result<(), Fault> {
    if cwd.starts_with('/') {
        return Ok(());
    }
    let message = format!(
        "session header cwd must be an absolute path, found {}",
        quoted(cwd)
    );
    Err(Fault::new(Reason::HeaderCwdNotAbsolute, message))
}
