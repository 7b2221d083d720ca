//! The header of a sealed log: readable, with one member more, which binds the others to the key.

use annals_core::fault::quoted;
use annals_core::header::Header;
use annals_core::json::{Value, quote};
use annals_core::sealed::SEALED_MEMBER;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, SessionHeader};

use crate::cipher::Bound;
use crate::settings::Unopened;
use crate::{Ready, corrupt};

/// More layers than this are none that anybody stacked.
const LAYERS_MAX: usize = 16;

/// The header as it is stored.
pub(crate) fn sealed(ready: &Ready, header: &SessionHeader) -> Result<SessionHeader> {
    let members = members_of(header.extra.as_deref());
    let layer = layers(&members);
    if layer >= LAYERS_MAX {
        let message = format!(
            "session {} would be sealed more than {LAYERS_MAX} times; leave out some layers",
            quoted(&header.id)
        );
        let error = Error::new(ErrorCode::Limit, "limit-reached", message);
        return Err(error.fact("limit", "layers-max"));
    }
    let line = Header::from(header.clone()).line();
    let data = ready.cipher.seal(Bound::Header { line: &line }, "")?;
    let mark = (quote(&name_of(layer)), quote(&data));
    let members: Vec<(String, String)> = members.into_iter().chain([mark]).collect();
    Ok(SessionHeader {
        extra: text_of(&members),
        ..header.clone()
    })
}

/// The header as it was given, if this key sealed it; with `skip` in any case.
pub(crate) fn shown(ready: &Ready, header: SessionHeader) -> Result<SessionHeader> {
    match ready.unopened {
        Unopened::Refuse => opened(ready, header),
        Unopened::Skip => Ok(unmarked(header).0),
    }
}

/// The header as it was given, if this key sealed it.
///
/// # Errors
/// `corrupt`: reason `log-not-sealed`, or `sealed-record-unopened`.
pub(crate) fn opened(ready: &Ready, header: SessionHeader) -> Result<SessionHeader> {
    let (inner, data) = unmarked(header);
    let Some(data) = data else {
        let message = format!(
            "session {} is not sealed; read it without encrypt, or import it through encrypt to seal it",
            quoted(&inner.id)
        );
        return Err(corrupt("log-not-sealed", message, &inner.id, Some(1), None));
    };
    let line = Header::from(inner.clone()).line();
    match ready.cipher.open(Bound::Header { line: &line }, &data) {
        Some(_) => Ok(inner),
        None => Err(ready.unopened(&inner.id, Some(1), None)),
    }
}

/// The header without the mark of the innermost layer, and what that holds.
pub(crate) fn unmarked(header: SessionHeader) -> (SessionHeader, Option<String>) {
    let members = members_of(header.extra.as_deref());
    let Some(layer) = layers(&members).checked_sub(1) else {
        return (header, None);
    };
    let mark = quote(&name_of(layer));
    let (marks, others): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|(name, _)| *name == mark);
    let data = marks
        .first()
        .map(|(_, value)| value.trim_matches('"').to_owned());
    let inner = SessionHeader {
        extra: text_of(&others),
        ..header
    };
    (inner, data)
}

// The outermost layer marks first.
fn name_of(layer: usize) -> String {
    match layer {
        0 => SEALED_MEMBER.to_owned(),
        _ => format!("{SEALED_MEMBER}/{}", layer + 1),
    }
}

/// How many layers have marked it.
fn layers(members: &[(String, String)]) -> usize {
    let is_marked = |layer: &usize| {
        let mark = quote(&name_of(*layer));
        members.iter().any(|(name, _)| *name == mark)
    };
    (0..LAYERS_MAX).take_while(is_marked).count()
}

/// Names and values as they are written.
fn members_of(extra: Option<&str>) -> Vec<(String, String)> {
    let Some(Ok(extra)) = extra.map(Value::parse) else {
        return Vec::new();
    };
    let members = extra.members();
    let texts =
        members.map(|(name, value)| (format!("\"{}\"", name.raw()), value.text().to_owned()));
    texts.collect()
}

fn text_of(members: &[(String, String)]) -> Option<String> {
    let members: Vec<String> = members
        .iter()
        .map(|(name, value)| format!("{name}:{value}"))
        .collect();
    (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")))
}
