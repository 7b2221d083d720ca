//! Equality of two JSON values, without recursion.

use std::collections::BTreeMap;

use super::scan::{Scanner, Stop};
use super::text::Text;
use super::walk::Nesting;

/// A value in file order; a container's children follow it, up to `next`.
struct Node<'a> {
    // For a container only its bracket.
    text: &'a str,
    name: Option<Text<'a>>,
    next: usize,
}

/// Whether two checked values are the same; see `Value::same`.
pub(super) fn same(left: &str, right: &str) -> bool {
    same_by(left, right, pair_members)
}

/// Like [`same`], members in one order only; see `Value::same_in_order`.
pub(super) fn same_in_order(left: &str, right: &str) -> bool {
    same_by(left, right, pair_members_in_order)
}

/// Pairs the members of two objects that have the same names; false when they do not.
type Pair = fn(&[Node<'_>], usize, &[Node<'_>], usize, &mut Vec<(usize, usize)>) -> bool;

fn same_by(left: &str, right: &str, pair_members: Pair) -> bool {
    if left == right {
        return true;
    }
    match in_step(left, right) {
        Ok(Verdict::Same) => true,
        Ok(Verdict::Other) => false,
        Ok(Verdict::Unknown) | Err(Stop) => same_by_nodes(left, right, pair_members),
    }
}

/// What reading two texts side by side tells, without a memory of more than a bit for each open bracket.
enum Verdict {
    Same,
    Other,
    /// They differ inside an object, where a name may stand elsewhere or be repeated.
    Unknown,
}

fn in_step(left: &str, right: &str) -> Result<Verdict, Stop> {
    let (mut l, mut r) = (Scanner::new(left), Scanner::new(right));
    let (mut open, mut objects) = (Nesting::default(), 0usize);
    let differ = |objects| match objects {
        0 => Ok(Verdict::Other),
        _ => Ok(Verdict::Unknown),
    };
    loop {
        let kind = l.peek();
        if (kind == b'{' || kind == b'[') && kind == r.peek() {
            let close = if kind == b'{' { b'}' } else { b']' };
            let is_empty = [&mut l, &mut r].map(|scan| {
                scan.take(kind);
                scan.space();
                scan.take(close)
            });
            if is_empty == [false, false] {
                open.push(kind == b'{');
                objects += usize::from(kind == b'{');
                if kind == b'{' && !l.name()?.same(r.name()?) {
                    return Ok(Verdict::Unknown);
                }
                continue;
            }
            if is_empty != [true, true] {
                return differ(objects);
            }
        } else if !same_leaf(l.value_text()?, r.value_text()?) {
            return differ(objects);
        }
        loop {
            let Some(in_object) = open.top() else {
                return Ok(Verdict::Same);
            };
            l.space();
            r.space();
            match (l.take(b','), r.take(b',')) {
                (true, true) => {
                    l.space();
                    r.space();
                    if in_object && !l.name()?.same(r.name()?) {
                        return Ok(Verdict::Unknown);
                    }
                    break;
                }
                (false, false) => {
                    let close = if in_object { b'}' } else { b']' };
                    l.expect(close)?;
                    r.expect(close)?;
                    open.pop();
                    objects -= usize::from(in_object);
                }
                (true, false) | (false, true) => return differ(objects),
            }
        }
    }
}

/// Whether two values are the same of which at most one is a container that holds anything.
fn same_leaf(left: &str, right: &str) -> bool {
    match (left.as_bytes().first(), right.as_bytes().first()) {
        (Some(b'"'), Some(b'"')) => inner(left).same(inner(right)),
        (Some(b'-' | b'0'..=b'9'), Some(b'-' | b'0'..=b'9')) => {
            left.parse::<f64>() == right.parse::<f64>()
        }
        _ => left == right,
    }
}

fn same_by_nodes(left: &str, right: &str, pair_members: Pair) -> bool {
    let (left, right) = (nodes(left), nodes(right));
    let mut due = vec![(0, 0)];
    while let Some((one, other)) = due.pop() {
        let (Some(a), Some(b)) = (left.get(one), right.get(other)) else {
            return false;
        };
        let alike = match (a.text.as_bytes().first(), b.text.as_bytes().first()) {
            (Some(b'{'), Some(b'{')) => pair_members(&left, one, &right, other, &mut due),
            (Some(b'['), Some(b'[')) => pair_elements(&left, one, &right, other, &mut due),
            _ => same_leaf(a.text, b.text),
        };
        if !alike {
            return false;
        }
    }
    true
}

fn inner(text: &str) -> Text<'_> {
    Text::escaped(
        text.strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or_default(),
    )
}

fn nodes(text: &str) -> Vec<Node<'_>> {
    let mut scan = Scanner::new(text);
    let mut nodes: Vec<Node<'_>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    loop {
        scan.separator();
        if scan.is_end() {
            return nodes;
        }
        if scan.take(b'}') || scan.take(b']') {
            let end = nodes.len();
            if let Some(node) = open.pop().and_then(|at| nodes.get_mut(at)) {
                node.next = end;
            }
            continue;
        }
        let in_object = open
            .last()
            .and_then(|at| nodes.get(*at))
            .is_some_and(|node| node.text == "{");
        let name = if in_object { scan.name().ok() } else { None };
        let start = scan.at();
        if scan.take(b'{') || scan.take(b'[') {
            open.push(nodes.len());
        } else if scan.value().is_err() {
            return nodes;
        }
        nodes.push(Node {
            text: scan.between(start, scan.at()),
            name,
            next: nodes.len() + 1,
        });
    }
}

fn children<'n, 'a>(
    nodes: &'n [Node<'a>],
    parent: usize,
) -> impl Iterator<Item = (usize, &'n Node<'a>)> {
    let end = nodes.get(parent).map_or(0, |node| node.next);
    let mut at = parent + 1;
    std::iter::from_fn(move || {
        let node = nodes.get(at).filter(|_| at < end)?;
        let found = (at, node);
        at = node.next;
        Some(found)
    })
}

fn members(nodes: &[Node<'_>], parent: usize) -> BTreeMap<Vec<u32>, usize> {
    let named = children(nodes, parent)
        .filter_map(|(at, node)| Some((node.name?.code_points().collect(), at)));
    named.collect()
}

fn pair_members(
    l: &[Node<'_>],
    one: usize,
    r: &[Node<'_>],
    other: usize,
    due: &mut Vec<(usize, usize)>,
) -> bool {
    let (left, right) = (members(l, one), members(r, other));
    if !left.keys().eq(right.keys()) {
        return false;
    }
    due.extend(left.into_values().zip(right.into_values()));
    true
}

fn pair_members_in_order(
    l: &[Node<'_>],
    one: usize,
    r: &[Node<'_>],
    other: usize,
    due: &mut Vec<(usize, usize)>,
) -> bool {
    let (left, right) = (ordered_members(l, one), ordered_members(r, other));
    if !left
        .iter()
        .map(|(name, _)| name)
        .eq(right.iter().map(|(name, _)| name))
    {
        return false;
    }
    let pairs = left.into_iter().zip(right);
    due.extend(pairs.map(|((_, a), (_, b))| (a, b)));
    true
}

/// A repeated name stands where it came first and counts as it came last, as every JavaScript reader has it.
fn ordered_members(nodes: &[Node<'_>], parent: usize) -> Vec<(Vec<u32>, usize)> {
    let mut last = members(nodes, parent);
    let names = children(nodes, parent).filter_map(|(_, node)| node.name);
    let names = names.map(|name| name.code_points().collect::<Vec<u32>>());
    names
        .filter_map(|name| last.remove(&name).map(|at| (name, at)))
        .collect()
}

fn pair_elements(
    l: &[Node<'_>],
    one: usize,
    r: &[Node<'_>],
    other: usize,
    due: &mut Vec<(usize, usize)>,
) -> bool {
    let (mut left, mut right) = (children(l, one), children(r, other));
    loop {
        match (left.next(), right.next()) {
            (Some((a, _)), Some((b, _))) => due.push((a, b)),
            (None, None) => return true,
            (Some(_), None) | (None, Some(_)) => return false,
        }
    }
}
