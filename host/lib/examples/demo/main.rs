//! What Annals does, shown on a session that is killed in the middle of a tool call: `cargo xtask demo`.

mod show;
mod story;

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use annals::{Annals, CreateOptions, ForkOptions, OpenMode, Session};

/// What the recorder prints when everything up to the running tool call is durable, before id and number of events.
const IN_TOOL_CALL: &str = "in-tool-call";
/// Bytes of stored records asked for at a time.
const PAGE_BYTES: u32 = 1 << 20;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["record", root] => record(Path::new(root)),
        [] => tell(),
        _ => Err("usage: demo".into()),
    }
}

/// The process that will be killed: two turns, the second of which it never finishes.
fn record(root: &Path) -> Outcome<()> {
    let annals = Annals::jsonl(root)?;
    let options = CreateOptions {
        cwd: Some("/home/ada/website".to_owned()),
        ..Default::default()
    };
    let session = annals.create(options)?;
    for step in story::recorded() {
        session.append(&step)?;
        session.flush()?;
    }
    println!("{IN_TOOL_CALL} {} {}", session.id(), session.next_seq()?);
    std::io::stdout().flush()?;
    // the tool runs, and never comes back
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}

fn tell() -> Outcome<()> {
    let root = new_root()?;
    println!(
        "Annals keeps the sessions of AI agents. Here is one session, from its first event to its fork."
    );

    show::chapter(
        1,
        "An agent records a session, and is killed in the middle of a tool call",
    );
    let (id, acknowledged) = record_and_kill(&root)?;

    show::chapter(2, "Another process opens the session again");
    let annals = Annals::jsonl(&root)?;
    let session = resume(&annals, &id, acknowledged)?;

    show::chapter(3, "Compaction: the model sees less, the log loses nothing");
    compact(&session)?;

    show::chapter(4, "A fork goes back to the end of the first turn");
    let boundary = show::first_turn_end(&lines_of(&session)?)?;
    let child = annals.fork(
        &id,
        ForkOptions {
            boundary: Some(boundary),
            ..Default::default()
        },
    )?;
    child.flush()?;
    println!(
        "  {} begins with events 0 to {boundary} of its parent, byte for byte.",
        child.id()
    );

    show::chapter(
        5,
        "The same session goes on in memory: another backend, nothing built again",
    );
    go_on_in_memory(&annals, &session)?;
    session.close()?;
    child.close()?;

    show::chapter(6, "What is stored");
    for entry in annals.sessions()? {
        show::entry(&entry);
    }
    annals.shutdown()?;
    show::places(&root, &id);
    Ok(())
}

/// An empty directory that is left for the reader to look at.
fn new_root() -> Outcome<PathBuf> {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let root = std::env::temp_dir().join(format!("annals-demo-{}", since_epoch.as_millis()));
    std::fs::create_dir(&root)?;
    Ok(root)
}

/// Answers the id of the session that the killed process left, and how many events were acknowledged to it.
fn record_and_kill(root: &Path) -> Outcome<(String, u64)> {
    let mut recorder = Command::new(std::env::current_exe()?)
        .arg("record")
        .arg(root)
        .stdout(Stdio::piped())
        .spawn()?;
    let announced = announced(&mut recorder);
    // SIGKILL: no handler runs, nothing is flushed on the way out
    recorder.kill()?;
    recorder.wait()?;
    let (id, acknowledged) = announced?;
    println!("  Process {} recorded session {id},", recorder.id());
    println!("  ran a tool in its second turn, and got SIGKILL before the tool came back.");
    println!("  Until then it was told that {acknowledged} events are durable.");
    Ok((id, acknowledged))
}

fn announced(recorder: &mut Child) -> Outcome<(String, u64)> {
    let stdout = recorder.stdout.take().ok_or("the recorder has no stdout")?;
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        if let [IN_TOOL_CALL, id, events] = line.split(' ').collect::<Vec<_>>()[..] {
            return Ok((id.to_owned(), events.parse()?));
        }
    }
    Err("the recorder stopped before its tool call".into())
}

fn resume(annals: &Annals, id: &str, acknowledged: u64) -> Outcome<Session> {
    let (session, repair) = annals.open(id, OpenMode::Resume)?;
    let lines = lines_of(&session)?;
    let added = usize::try_from(repair.closers)?;
    let preserved = lines
        .len()
        .checked_sub(added)
        .ok_or("more was added than there is")?;
    if u64::try_from(preserved)? != acknowledged {
        return Err(
            format!("{acknowledged} events were acknowledged, {preserved} are there").into(),
        );
    }
    println!("  Preserved, every one of the {acknowledged}:");
    show::events(lines.iter().take(preserved))?;
    println!("  Added by repair, so that the history is one that a model accepts:");
    show::events(lines.iter().skip(preserved))?;
    Ok(session)
}

fn compact(session: &Session) -> Outcome<()> {
    println!("  Before:");
    show::history(&session.history()?)?;
    let nodes = session.surface()?.nodes;
    let summarised = nodes
        .get(..4)
        .ok_or("the history is shorter than the story")?;
    session.append(&story::compaction(summarised)?)?;
    session.flush()?;
    println!(
        "  After one user/message that replaces the first {} entries:",
        summarised.len()
    );
    show::history(&session.history()?)?;
    println!("  The log still holds all {} events.", session.next_seq()?);
    Ok(())
}

fn go_on_in_memory(stored: &Annals, session: &Session) -> Outcome<()> {
    let (mut lines, mut cursor) = (String::new(), Some(0));
    while let Some(from) = cursor {
        let page = stored.read(session.id(), from, PAGE_BYTES)?;
        lines.push_str(&page.lines);
        cursor = page.next;
    }
    let memory = Annals::memory()?;
    let copy = memory.create(CreateOptions {
        id: Some(session.id().to_owned()),
        cwd: session.header().cwd.clone(),
        seed: Some(lines),
        ..Default::default()
    })?;
    let begun_with = copy.next_seq()?;
    copy.append(&story::last_turn())?;
    copy.flush()?;
    println!(
        "  In memory: {begun_with} events came along, and the session goes on to {}.",
        copy.next_seq()?
    );
    println!("  In the file: still {} events.", session.next_seq()?);
    memory.shutdown()?;
    Ok(())
}

/// Every event of a live session, one a line.
fn lines_of(session: &Session) -> Outcome<Vec<String>> {
    let (mut lines, mut start) = (Vec::new(), Some(0));
    while let Some(from) = start {
        let page = session.events(from, PAGE_BYTES)?;
        lines.extend(page.lines.lines().map(str::to_owned));
        start = page.next;
    }
    Ok(lines)
}
