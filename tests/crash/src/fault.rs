//! What goes wrong, and where.

/// What changes something on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A directory is made.
    MakeDirectory,
    /// A file is made.
    MakeFile,
    /// Bytes are written.
    Write,
    /// A file is cut.
    SetLength,
    /// A file's content is made durable.
    Sync,
    /// A file gets a second name.
    Link,
    /// A file gets another name.
    Rename,
    /// A file's name is removed.
    Remove,
    /// A directory is removed.
    RemoveDirectory,
    /// A directory's names are made durable.
    SyncDirectory,
}

/// What is seen of a write whose sync failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of it, as long as it stays in memory.
    Kept,
    /// Zeros in its place.
    Zeros,
    /// Nothing of it.
    Gone,
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The disk is full (ENOSPC).
    NoSpace,
    /// The disk is at fault (EIO).
    Io,
    /// The disk cannot be written any more (EROFS).
    ReadOnly,
    /// Half of the bytes are written, which is no error by itself.
    Short,
    /// Half of the bytes are written, then the disk is full.
    ShortThenNoSpace,
    /// Half of the bytes are written, then the disk is at fault.
    ShortThenIo,
    /// A sync fails (EIO), with what is seen then.
    LostSync(Loss),
    /// A link fails: EPERM.
    LinkNotPermitted,
    /// A link fails: ENOTSUP.
    LinkUnsupported,
    /// A link fails: EMLINK.
    TooManyLinks,
    /// A link fails: EXDEV.
    OtherDevice,
}

const LINKS: [Fault; 4] = [
    Fault::LinkNotPermitted,
    Fault::LinkUnsupported,
    Fault::TooManyLinks,
    Fault::OtherDevice,
];

impl Fault {
    /// The faults that the operation may meet.
    pub fn of(operation: Operation) -> Vec<Fault> {
        let mut faults = vec![Fault::Io];
        match operation {
            Operation::MakeDirectory | Operation::MakeFile | Operation::Rename => {
                faults.extend([Fault::NoSpace, Fault::ReadOnly]);
            }
            Operation::Link => {
                faults.extend([Fault::NoSpace, Fault::ReadOnly]);
                faults.extend(LINKS);
            }
            Operation::Write => faults.extend([
                Fault::NoSpace,
                Fault::ReadOnly,
                Fault::Short,
                Fault::ShortThenNoSpace,
                Fault::ShortThenIo,
            ]),
            Operation::Sync => {
                let losses = [Loss::Kept, Loss::Zeros, Loss::Gone];
                faults = losses.map(Fault::LostSync).to_vec();
            }
            Operation::SetLength | Operation::Remove | Operation::RemoveDirectory => {
                faults.push(Fault::ReadOnly);
            }
            Operation::SyncDirectory => {}
        }
        faults
    }

    /// Whether the fault, once there, is met by every later operation of that kind too.
    pub fn lasts_for(self, operation: Operation) -> bool {
        match self {
            Fault::NoSpace => matches!(
                operation,
                Operation::MakeDirectory
                    | Operation::MakeFile
                    | Operation::Write
                    | Operation::Link
                    | Operation::Rename
            ),
            Fault::Io => true,
            Fault::ReadOnly => !matches!(operation, Operation::Sync | Operation::SyncDirectory),
            fault if fault.is_of_links() => operation == Operation::Link,
            _ => false,
        }
    }

    /// Whether only links meet it.
    pub fn is_of_links(self) -> bool {
        LINKS.contains(&self)
    }

    /// The number of the error, none where there is none.
    pub(crate) fn number(self) -> Option<i32> {
        match self {
            Fault::Short => None,
            Fault::NoSpace | Fault::ShortThenNoSpace => Some(28),
            Fault::Io | Fault::ShortThenIo | Fault::LostSync(_) => Some(5),
            Fault::ReadOnly => Some(30),
            Fault::LinkNotPermitted => Some(1),
            Fault::LinkUnsupported => Some(95),
            Fault::TooManyLinks => Some(31),
            Fault::OtherDevice => Some(18),
        }
    }
}

/// Which operation meets a fault.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Counted from 0, among those that change something or among the others.
    pub at: usize,
    /// Whether operations that only look are counted, and not those that change something.
    pub is_look: bool,
    /// What happens to it.
    pub fault: Fault,
    /// Whether it happens to every later one too, until the disk is healed.
    pub is_lasting: bool,
}
