//! Broken rules, as facts: what a caller acts on, a stable label, words for people, and numbers.

use std::borrow::Cow;
use std::fmt;

use crate::json::quote;

/// How many characters of a text from outside a message or a fact shows: names and paths in a log have no bound.
pub const SHOWN_CHARS_MAX: usize = 200;

/// A text from outside as messages and facts show it: whole, or its first [`SHOWN_CHARS_MAX`] characters and `…`.
pub fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

/// [`shown`] between quotes, on one line whatever is in it.
pub fn quoted(text: &str) -> String {
    quote(&shown(text))
}

/// [`shown`] of the text of a JSON value, on one line: outside strings, which hold none, a line break is a space.
pub fn shown_value(text: &str) -> String {
    shown(text).replace(['\n', '\r'], " ")
}

/// A broken rule. Nothing was changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What a caller acts on.
    pub class: Class,
    /// Exactly what is wrong.
    pub reason: Reason,
    /// For people: lower case, names the thing and, where there is one, the cure.
    pub message: String,
    /// Facts by name: `index`, `line`, `byte`, `path`, `expected`, `actual`, ...
    pub facts: Vec<(&'static str, Fact)>,
}

/// One fact of a [`Fault`].
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A count, a seq or an offset in bytes.
    Number(u64),
    /// A name, a path, a text.
    Text(String),
}

/// What a caller does about a [`Fault`]; the store maps it to its error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The input breaks a rule.
    Invalid,
    /// What is stored breaks a rule.
    Corrupt,
    /// Stored by another format version.
    UnsupportedVersion,
    /// A batch does not begin at the next seq.
    SeqConflict,
    /// There is no such thing.
    NotFound,
    /// The thing is there already.
    AlreadyExists,
    /// A named limit was reached.
    Limit,
    /// The session takes no events.
    ReadOnly,
}

impl Fault {
    /// A fault of the class that `reason` has by itself.
    pub fn new(reason: Reason, message: impl Into<String>) -> Fault {
        Fault {
            class: reason.class(),
            reason,
            message: message.into(),
            facts: Vec::new(),
        }
    }

    /// Adds a number.
    #[must_use]
    pub fn number(mut self, name: &'static str, value: u64) -> Fault {
        self.facts.push((name, Fact::Number(value)));
        self
    }

    /// Adds a text, as [`shown`].
    #[must_use]
    pub fn text(mut self, name: &'static str, value: impl AsRef<str>) -> Fault {
        let value = shown(value.as_ref()).into_owned();
        self.facts.push((name, Fact::Text(value)));
        self
    }

    /// The same broken rule, found in what is stored: `line` counts from 1, `byte` is where the line begins, counted
    /// from the start of the log. A refused version stays one, and so does a limit.
    #[must_use]
    pub fn corrupt(mut self, line: u64, byte: u64) -> Fault {
        if !matches!(self.class, Class::UnsupportedVersion | Class::Limit) {
            self.class = Class::Corrupt;
        }
        self.message = format!("line {line}: {}", self.message);
        self.number("line", line).number("byte", byte)
    }

    /// What a caller does about it.
    pub fn class(&self) -> Class {
        self.class
    }

    /// The number of that name, if there is one.
    pub fn number_of(&self, name: &str) -> Option<u64> {
        self.facts.iter().find_map(|(known, fact)| match fact {
            Fact::Number(value) if *known == name => Some(*value),
            Fact::Number(_) | Fact::Text(_) => None,
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

// One table: a variant, its label and its class cannot drift apart.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $label:literal $class:ident;)*) => {
        /// Exactly which rule is broken. Labels are stable; see [`Reason::label`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason { $($(#[$doc])* $name,)* }

        impl Reason {
            /// Every reason there is.
            pub const ALL: &'static [Reason] = &[$(Reason::$name,)*];

            /// The stable label, kebab case.
            pub fn label(self) -> &'static str {
                match self { $(Reason::$name => $label,)* }
            }

            /// The class of a fault with this reason, unless the fault says otherwise.
            pub fn class(self) -> Class {
                match self { $(Reason::$name => Class::$class,)* }
            }
        }
    };
}

reasons! {
    /// The seq is not the next one.
    SeqNotContiguous "seq-not-contiguous" Invalid;
    /// An event that is not for the surface carries `surfaceOp`.
    SurfaceOpOnLogOnlyEvent "surface-op-on-log-only-event" Invalid;
    /// An event that is not for the surface carries `sourceEventSeqs`.
    SourcesOnLogOnlyEvent "sources-on-log-only-event" Invalid;
    /// An event for the surface lacks `surfaceOp`.
    SurfaceOpMissing "surface-op-missing" Invalid;
    /// `surfaceOp` is neither `"append"` nor an object.
    SurfaceOpInvalid "surface-op-invalid" Invalid;
    /// A replace without exactly `op`, `start` and `end`, both seqs.
    ReplaceOpInvalid "replace-op-invalid" Invalid;
    /// The first node of the range is not on the surface.
    ReplaceStartNotFound "replace-start-not-found" Invalid;
    /// The last node of the range is not on the surface.
    ReplaceEndNotFound "replace-end-not-found" Invalid;
    /// The range's end stands before its start.
    ReplaceRangeReversed "replace-range-reversed" Invalid;
    /// `sourceEventSeqs` is not an array.
    SourcesNotArray "sources-not-array" Invalid;
    /// `sourceEventSeqs` is empty where sources are due.
    SourcesEmpty "sources-empty" Invalid;
    /// `sourceEventSeqs` has an element that is no seq.
    SourcesNotSeqs "sources-not-seqs" Invalid;
    /// `sourceEventSeqs` names a seq twice.
    SourcesDuplicate "sources-duplicate" Invalid;
    /// `sourceEventSeqs` names this event or a later one.
    SourcesNotEarlier "sources-not-earlier" Invalid;
    /// A replace does not name every node it removes as a source.
    SourcesMissingShadowed "sources-missing-shadowed" Invalid;
    /// A tool result may rewrite one node only.
    ToolRewriteNotSingle "tool-rewrite-not-single" Invalid;
    /// A tool result may rewrite a tool result only.
    ToolRewriteWrongTarget "tool-rewrite-wrong-target" Invalid;
    /// A tool result may rewrite content only.
    ToolRewriteChangesMoreThanContent "tool-rewrite-changes-more-than-content" Invalid;

    /// A seed event holds a number that JSON cannot carry without loss, or is no JSON.
    SeedNotJson "seed-not-json" Invalid;
    /// An event is not exactly type, seq, time, data and the two surface members.
    SeedEnvelopeInvalid "seed-envelope-invalid" Invalid;
    /// A seed event's seq is not the next one.
    SeedSeqNotContiguous "seed-seq-not-contiguous" Invalid;
    /// The event type `request/header-delta` of an old format.
    LegacyHeaderDelta "legacy-header-delta" Invalid;
    /// A `request/header` of an old format, written as a fallback.
    LegacyHeaderFallback "legacy-header-fallback" Invalid;
    /// A `request/header` whose config names no provider and model.
    SeedHeaderWithoutProviderModel "seed-header-without-provider-model" Invalid;
    /// An `assistant/message` that does not say which provider and model wrote it.
    SeedAssistantWithoutProvenance "seed-assistant-without-provenance" Invalid;
    /// A `turn/end` of an old format.
    SeedLegacyAborted "seed-legacy-aborted" Invalid;
    /// Data to append holds a number that JSON cannot carry without loss, or is no JSON.
    AppendDataNotJson "append-data-not-json" Invalid;
    /// Surface members to append hold a number that JSON cannot carry without loss, or are no JSON.
    AppendSurfaceMetadataNotJson "append-surface-metadata-not-json" Invalid;
    /// A line to append is no object with a type and data, or has unknown members.
    AppendEnvelopeInvalid "append-envelope-invalid" Invalid;
    /// A line to append is for the surface and holds nothing that a message could be made of.
    AppendMessageInvalid "append-message-invalid" Invalid;
    /// A line to append does not have the next seq.
    AppendSeqMismatch "append-seq-mismatch" SeqConflict;
    /// The session takes no events.
    SessionReadOnly "session-read-only" ReadOnly;
    /// An event on the surface holds nothing that a message could be made of.
    MessageInvalid "message-invalid" Corrupt;
    /// A position past the end.
    StartBeyondEnd "start-beyond-end" Invalid;
    /// A named limit was reached.
    LimitReached "limit-reached" Limit;

    /// A header holds a number that JSON cannot carry without loss, or is no JSON.
    HeaderNotJson "header-not-json" Invalid;
    /// A header is not an object.
    HeaderNotRecord "header-not-record" Invalid;
    /// A header of another format version.
    HeaderVersion "header-version" UnsupportedVersion;
    /// A header of another session.
    HeaderIdMismatch "header-id-mismatch" Invalid;
    /// `createdAt` is no time.
    HeaderCreatedAt "header-created-at" Invalid;
    /// `cwd` is no string.
    HeaderCwdType "header-cwd-type" Invalid;
    /// `cwd` is no absolute path.
    HeaderCwdNotAbsolute "header-cwd-not-absolute" Invalid;
    /// `parentSession` is no string.
    HeaderParentSession "header-parent-session" Invalid;
    /// `seedLength` is no count.
    HeaderSeedLength "header-seed-length" Invalid;
    /// `delegationDepth` is no count.
    HeaderDelegationDepth "header-delegation-depth" Invalid;

    /// A row has other members than its four.
    RowEnvelope "row-envelope" Invalid;
    /// `seq0` is no seq.
    RowSeq0 "row-seq0" Invalid;
    /// `time0` is no time.
    RowTime0 "row-time0" Invalid;
    /// A row's data is no object.
    RowDataNotObject "row-data-not-object" Invalid;
    /// A row's data has other members than its kind has.
    RowDataKeys "row-data-keys" Invalid;
    /// A tool call's id or name is no string.
    RowIdOrName "row-id-or-name" Invalid;
    /// Turn, step or index is no number of its kind.
    RowTurnStepIndex "row-turn-step-index" Invalid;
    /// The texts are not an array of strings.
    RowPayload "row-payload" Invalid;
    /// The time steps are not an array of safe integers.
    RowDt "row-dt" Invalid;
    /// There is not one time step fewer than texts.
    RowDtLength "row-dt-length" Invalid;
    /// A row reaches past the last possible seq.
    RowMemberSeqOverflow "row-member-seq-overflow" Invalid;
    /// A row reaches a time that is none.
    RowMemberTimeOverflow "row-member-time-overflow" Invalid;

    /// A log without a header line.
    LogEmpty "log-empty" Corrupt;
    /// The first line is no JSON.
    LogHeaderNotJson "log-header-not-json" Corrupt;
    /// The first line is no session header.
    LogHeaderInvalid "log-header-invalid" Corrupt;
    /// A line that is no whole JSON value.
    LogCorruptUnparsable "log-corrupt-unparsable" Corrupt;
    /// A line whose seq is not the next one.
    LogCorruptSeqGap "log-corrupt-seq-gap" Corrupt;
    /// A log of another format version.
    LogVersionUnsupported "log-version-unsupported" UnsupportedVersion;
    /// A log that only the middleware that sealed it can read or continue.
    LogSealed "log-sealed" UnsupportedVersion;

    /// There is no event at the boundary.
    ForkInvalidBoundary "fork-invalid-boundary" Invalid;
    /// The event at the boundary, given or the last one, is no `turn/end`.
    ForkOpenTurn "fork-open-turn" Invalid;

    /// A trace's seqs do not increase.
    TraceSeqNotIncreasing "trace-seq-not-increasing" Invalid;
    /// A turn starts inside a turn.
    TraceTurnAlreadyOpen "trace-turn-already-open" Invalid;
    /// A turn does not have the next number, counted from 1.
    TraceTurnNumber "trace-turn-number" Invalid;
    /// A turn ends that is not the open one.
    TraceTurnEndMismatch "trace-turn-end-mismatch" Invalid;
    /// A turn ends before its step does.
    TraceTurnEndStepOpen "trace-turn-end-step-open" Invalid;
    /// A step starts in a turn that is not the open one.
    TraceStepStartTurnMismatch "trace-step-start-turn-mismatch" Invalid;
    /// A step starts inside a step.
    TraceStepAlreadyOpen "trace-step-already-open" Invalid;
    /// A step does not have the next number, counted from 1 in its turn.
    TraceStepNumber "trace-step-number" Invalid;
    /// An event names a step that is not the open one.
    TraceNotInOpenStep "trace-not-in-open-step" Invalid;
    /// A tool result answers no call of its step that still waits for one.
    TraceResultWithoutCall "trace-result-without-call" Invalid;
    /// A tool result is rewritten outside any turn.
    TraceRewriteOutsideTurn "trace-rewrite-outside-turn" Invalid;
    /// An event stands outside any turn.
    TraceOutsideTurn "trace-outside-turn" Invalid;

    /// A text that is not one JSON value.
    JsonSyntax "json-syntax" Invalid;
}
