//! A stored log read whole, past all damage: core's salvage over the pages of the library.

use annals::{Annals, Page, SessionHeader};
use annals_core::fault::{Fault, quoted};
use annals_core::header::Header;
use annals_core::salvage::{Finding, HeaderOrigin, Report, Salvage, Salvaged};
use serde_json::{Map, Value, json};

use crate::failure::{self, Failure};
use crate::text;

/// How much of a log is read at once, in bytes.
const PAGE_BYTES: u32 = 1 << 20;

/// What is wrong with a log, line by line.
pub fn survey(annals: &Annals, id: &str) -> Result<Report, Failure> {
    let mut salvage = Salvage::of_session(id);
    read_log(annals, id, &mut salvage)?;
    Ok(finished(id, salvage)?.report)
}

/// Everything readable of a log, and of what repairs cut from it. A sealed one is refused.
pub fn salvage(annals: &Annals, id: &str) -> Result<Salvaged, Failure> {
    let mut salvage = Salvage::of_session(id);
    read_log(annals, id, &mut salvage)?;
    let mut next = Some(0);
    while let Some(cursor) = next {
        let page = annals
            .read_cut(id, cursor, PAGE_BYTES)
            .map_err(|error| Failure::about(id, error))?;
        salvage.cut(bytes_of(&page), page.at_byte);
        next = page.next;
    }
    let salvaged = finished(id, salvage)?;
    salvaged
        .check_unsealed()
        .map_err(|fault| refused(id, &fault))?;
    Ok(salvaged)
}

/// The first prompt in a log, where it has one.
pub fn first_prompt(annals: &Annals, id: &str) -> Result<Option<String>, Failure> {
    let mut salvage = Salvage::of_session(id);
    read_log(annals, id, &mut salvage)?;
    let prompt = finished(id, salvage)?.session.first_prompt();
    Ok(prompt.filter(|prompt| !prompt.is_empty()))
}

fn read_log(annals: &Annals, id: &str, salvage: &mut Salvage) -> Result<(), Failure> {
    let read = |cursor| {
        annals
            .read(id, cursor, PAGE_BYTES)
            .map_err(|error| Failure::about(id, error))
    };
    let mut page = read(0)?;
    match page.header.take() {
        Some(header) => {
            let header = core_header(header);
            let bytes = header.line().len() as u64 + 1;
            salvage.header(header, page.at_byte.unwrap_or(bytes));
        }
        None => {
            let line = page.raw.take().unwrap_or_default();
            salvage
                .first_line(&line)
                .map_err(|fault| refused(id, &fault))?;
        }
    }
    salvage.log(bytes_of(&page), page.at_byte);
    while let Some(cursor) = page.next {
        page = read(cursor)?;
        salvage.log(bytes_of(&page), page.at_byte);
    }
    Ok(())
}

fn bytes_of(page: &Page) -> &[u8] {
    page.raw.as_deref().unwrap_or(page.lines.as_bytes())
}

fn finished(id: &str, salvage: Salvage) -> Result<Salvaged, Failure> {
    salvage.finish().map_err(|fault| refused(id, &fault))
}

fn refused(id: &str, fault: &Fault) -> Failure {
    let name = quoted(id);
    let message = match fault.message.contains(&name) {
        true => fault.message.clone(),
        false => format!("session {name}: {}", fault.message),
    };
    Failure::Said(failure::exit_of_input(fault), message)
}

fn core_header(header: SessionHeader) -> Header {
    Header {
        version: header.version,
        id: header.id,
        created_at_ms: header.created_at_ms,
        cwd: header.cwd,
        parent_session: header.parent_session,
        seed_length: header.seed_length,
        delegation_depth: header.delegation_depth,
        extra: header.extra,
    }
}

/// One finding for people: `line 41, byte 4711, 11 bytes: this is no whole JSON value (log-corrupt-unparsable)`.
pub fn line(finding: &Finding) -> String {
    let Finding {
        line,
        byte,
        length,
        missing,
        ..
    } = *finding;
    let place = match finding.is_in_cut {
        true => format!("in what was cut: line {line}, byte {byte}"),
        false => format!("line {line}, byte {byte}"),
    };
    let bytes = match length {
        0 => String::new(),
        _ => format!(", {}", text::count(length, "byte")),
    };
    let gone = match missing {
        0 => String::new(),
        _ => format!(", {} missing", text::count(missing, "event")),
    };
    // messages of core name their line by themselves where they come from a whole log
    let own = format!("line {line}: ");
    let message = finding
        .message
        .strip_prefix(&own)
        .unwrap_or(&finding.message);
    format!(
        "{place}{bytes}: {message} ({}){gone}",
        finding.reason.label()
    )
}

/// Findings as JSON: `{line, byte, length, reason, message, missing?, cut?}`.
pub fn findings_json(report: &Report) -> Value {
    let findings = report.findings.iter().map(|finding| {
        let mut members = Map::new();
        members.insert("line".into(), finding.line.into());
        members.insert("byte".into(), finding.byte.into());
        members.insert("length".into(), finding.length.into());
        members.insert("reason".into(), finding.reason.label().into());
        members.insert("message".into(), finding.message.clone().into());
        if finding.missing > 0 {
            members.insert("missing".into(), finding.missing.into());
        }
        if finding.is_in_cut {
            members.insert("cut".into(), true.into());
        }
        Value::from(members)
    });
    findings.collect()
}

/// What a salvage did, as members of a JSON object.
pub fn report_json(report: &Report) -> Map<String, Value> {
    let header = match report.header {
        HeaderOrigin::Kept => "kept",
        HeaderOrigin::Rebuilt => "rebuilt",
    };
    let value = json!({
        "inPlace": report.in_place,
        "gaps": report.gaps,
        "setAside": report.set_aside,
        "repeated": report.repeated,
        "unreadableBytes": report.unreadable_bytes,
        "header": header,
        "findings": findings_json(report),
        "findingCount": report.finding_count,
    });
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// What a salvage did, for people.
pub fn summary(report: &Report) -> String {
    let mut parts = vec![format!(
        "{} in place",
        text::count(report.in_place, "event")
    )];
    let more = [
        (report.gaps, "gap", " marked"),
        (report.set_aside, "line", " set aside"),
        (report.repeated, "repeated line", " left out"),
        (report.unreadable_bytes, "byte", " unreadable"),
    ];
    for (number, noun, what) in more {
        if number > 0 {
            parts.push(format!("{}{what}", text::count(number, noun)));
        }
    }
    if report.header == HeaderOrigin::Rebuilt {
        parts.push("the header is made anew".to_owned());
    }
    parts.join(", ")
}
