//! Text for people: one line each, and nothing in it that moves a terminal's cursor.

use std::borrow::Cow;

use crate::output;

/// `text` with control characters and characters that reorder a line written as escapes.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

fn is_unsafe(c: char) -> bool {
    let reorders =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || reorders || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Escaped, and at most `chars_max` characters, the last of which then is an ellipsis.
pub fn excerpt(text: &str, chars_max: usize) -> String {
    // A line may be megabytes long; only as much of it as can be shown is looked at.
    let end = text
        .char_indices()
        .nth(chars_max)
        .map_or(text.len(), |(at, _)| at);
    let (head, rest) = text.split_at(end);
    let safe = escape(head);
    if rest.is_empty() && safe.chars().count() <= chars_max {
        return safe.into_owned();
    }
    let mut short: String = safe.chars().take(chars_max.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// `text` as one word of a command line, quoted where a shell would read it otherwise.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let quoted = format!("'{}'", text.replace('\'', r"'\''"));
    // A word that begins with a dash would be read as a flag.
    Cow::Owned(if text.starts_with('-') {
        format!("-- {quoted}")
    } else {
        quoted
    })
}

/// `3 events`, `1 event`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// How narrow a column of a table is made, at most.
const COLUMN_CHARS_MIN: usize = 8;

/// Columns as wide as their widest cell, two spaces apart. On a terminal the widest are cut until a row fits; what goes into
/// a pipe or a file is whole.
pub fn table<const N: usize>(rows: &[[String; N]]) -> String {
    table_within(rows, output::columns())
}

fn table_within<const N: usize>(rows: &[[String; N]], chars_max: Option<usize>) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    if let Some(chars_max) = chars_max {
        narrow(
            &mut widths,
            chars_max.saturating_sub(2 * N.saturating_sub(1)),
        );
    }
    let mut table = String::new();
    for row in rows {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            let cell = excerpt(cell, *width);
            line.push_str(&cell);
            // not by a width of the format, which ends at 65,535
            let chars = cell.chars().count();
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(chars) + 2));
        }
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

/// Takes from the widest column, of equal ones the last, until all together have so many characters.
fn narrow(widths: &mut [usize], chars_max: usize) {
    while widths.iter().sum::<usize>() > chars_max {
        match widths.iter_mut().max() {
            Some(widest) if *widest > COLUMN_CHARS_MIN => *widest -= 1,
            Some(_) | None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_escapes() {
        assert_eq!(escape("plain é"), "plain é");
        assert_eq!(escape("a\n\u{1b}[2J\u{202e}b"), "a\\n\\u{1b}[2J\\u{202e}b");
    }

    #[test]
    fn an_excerpt_is_never_longer_than_asked() {
        assert_eq!(excerpt("abcd", 4), "abcd");
        assert_eq!(excerpt("abcde", 4), "abc…");
        assert_eq!(excerpt("é\né", 3), "é\\…");
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(shell_word("019-a.b/c"), "019-a.b/c");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("-x"), "-- '-x'");
    }

    #[test]
    fn columns_line_up() {
        let rows = [["a", "b"], ["long", "c"]].map(|row| row.map(String::from));
        assert_eq!(table_within(&rows, None), "a     b\nlong  c\n");
    }

    /// A session with an id of 65,536 characters ended every listing with a panic.
    #[test]
    fn a_cell_may_be_longer_than_a_width_of_the_format() {
        let rows = [["x".repeat(70_000), "b".into()], ["a".into(), "c".into()]];
        let table = table_within(&rows, None);
        let last = table.lines().last().unwrap();
        assert_eq!((last.len(), last.ends_with(" c")), (70_003, true));
    }

    #[test]
    fn the_widest_columns_are_cut_to_the_terminal() {
        let long = "x".repeat(100);
        let rows =
            [["2026-07-26", &long, "/home"], ["-", "short", "y"]].map(|row| row.map(String::from));
        for (columns, id) in [(40, 21), (117, 98), (10, 8)] {
            let table = table_within(&rows, Some(columns));
            let first = table.lines().next().unwrap();
            let cut = format!("{}…", "x".repeat(id - 1));
            assert!(first.contains(&format!(" {cut} ")), "{table}");
            assert!(columns == 10 || first.chars().count() <= columns, "{table}");
        }
        assert!(table_within(&rows, None).contains(&long));
        assert!(table_within(&rows, Some(119)).contains(&long));
    }
}
