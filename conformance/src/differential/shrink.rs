//! Minimization of a program on which two sides differ.
//!
//! First lines are removed, in runs of half the program and then shorter ones, then words and their
//! parts. Candidates are text, so every construct of the language shrinks without separate code. A
//! candidate that is not in the language, or that would leave a timestamp to the clock of a
//! cluster, is skipped.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use halite_types::{LATEST_TIMESTAMP, RowOp};

use super::{Difference, parse};
use crate::script::Command;

/// Returns the smallest program found, with this number of concurrent trials. `try_one` runs a
/// program and returns the difference. With `keep_table` the first line stays unchanged.
pub fn shrink(
    found: Difference,
    keep_table: bool,
    threads: usize,
    try_one: &(dyn Fn(&[String]) -> Option<Difference> + Sync),
) -> Difference {
    let mut best = found;
    loop {
        let before = best.program.len() + length(&best.program);
        best = without_lines(best, threads, try_one);
        best = with_smaller_lines(best, usize::from(keep_table), threads, try_one);
        if best.program.len() + length(&best.program) >= before {
            return best;
        }
    }
}

fn length(program: &[String]) -> usize {
    program.iter().map(String::len).sum()
}

/// Removes runs of lines, longer ones first. The first line creates the table and stays.
fn without_lines(
    mut best: Difference,
    threads: usize,
    try_one: &(dyn Fn(&[String]) -> Option<Difference> + Sync),
) -> Difference {
    let mut run = best.program.len() / 2;
    while run > 0 {
        let mut end = best.program.len();
        while end > 1 {
            // From the end: reads are removed before the writes they depend on.
            let starts = (0..threads)
                .map(|index| end.saturating_sub(run * (index + 1)).max(1))
                .take_while({
                    let mut last = end;
                    move |&start| std::mem::replace(&mut last, start) > start
                });
            let starts: Vec<usize> = starts.collect();
            let candidates = starts
                .iter()
                .map(|&start| cut(&best.program, start, (start + run).min(end)))
                .collect::<Vec<_>>();
            match first_that_differs(&candidates, threads, try_one) {
                Some((index, smaller)) => {
                    end = starts[index].min(smaller.program.len());
                    best = smaller;
                }
                None => end = *starts.last().unwrap_or(&1),
            }
        }
        run /= 2;
    }
    best
}

fn cut(program: &[String], start: usize, end: usize) -> Vec<String> {
    [&program[..start], &program[end..]].concat()
}

/// Minimizes each line from `index` on.
fn with_smaller_lines(
    mut best: Difference,
    mut index: usize,
    threads: usize,
    try_one: &(dyn Fn(&[String]) -> Option<Difference> + Sync),
) -> Difference {
    while index < best.program.len() {
        let with = |line: String| {
            let mut program = best.program.clone();
            program[index] = line;
            program
        };
        let candidates: Vec<_> = smaller_lines(&best.program[index])
            .into_iter()
            .filter(|line| is_fair(&best.program[index], line))
            .map(with)
            .collect();
        match first_that_differs(&candidates, threads, try_one) {
            Some((_, smaller)) => best = smaller,
            None => index += 1,
        }
    }
    best
}

/// Returns the first candidate that still differs, by index. Trials of later candidates may be
/// wasted.
fn first_that_differs(
    candidates: &[Vec<String>],
    threads: usize,
    try_one: &(dyn Fn(&[String]) -> Option<Difference> + Sync),
) -> Option<(usize, Difference)> {
    let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let work = || {
        let mut mine = None;
        while let Some((index, candidate)) =
            Some(next.fetch_add(1, Relaxed)).and_then(|index| Some((index, candidates.get(index)?)))
        {
            if index > found.load(Relaxed) {
                break;
            }
            if let Some(difference) = try_one(candidate) {
                found.fetch_min(index, Relaxed);
                mine = Some((index, difference));
                break;
            }
        }
        mine
    };
    std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..threads.min(candidates.len())).map(|_| scope.spawn(work)).collect();
        let found =
            running.into_iter().filter_map(|thread| thread.join().expect("a try does not panic"));
        found.min_by_key(|(index, _)| *index)
    })
}

/// Returns variants of a line without some of its words, and with smaller words.
fn smaller_lines(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let mut out = Vec::new();
    // Removes a mutation from its block, a member from a block, or `check ... then`.
    if let Some((_, then)) = line.split_once(" then ") {
        out.push(then.to_string());
    }
    if let Some((_, inside)) = line.split_once(" { ") {
        out.extend(inside.trim_end_matches(" }").split(" ; ").map(ToString::to_string));
    }
    for run in (1..=6.min(words.len() - 1)).rev() {
        for start in 1..=words.len() - run {
            out.push([&words[..start], &words[start + run..]].concat().join(" "));
        }
    }
    for (index, word) in words.iter().enumerate() {
        for smaller in smaller_words(word) {
            let mut words = words.clone();
            words[index] = &smaller;
            out.push(words.join(" "));
        }
    }
    out
}

/// Returns variants of a filter: an inner filter, or the filter without one of them; and variants
/// of a list of arguments or attributes without one element.
fn smaller_words(word: &str) -> Vec<String> {
    let mut out = Vec::new();
    if let Some((head, filter)) =
        word.split_once("filter=").or_else(|| word.contains('(').then_some(("", word)))
    {
        let prefix = if word.starts_with("filter=") { "filter=" } else { "" };
        out.extend(
            smaller_filters(filter).into_iter().map(|smaller| format!("{head}{prefix}{smaller}")),
        );
    } else if let Some((family, attributes)) =
        word.split_once(':').filter(|(_, rest)| rest.contains('='))
    {
        let attributes: Vec<&str> = attributes.split(',').collect();
        for index in 0..attributes.len() {
            let rest: Vec<&str> = attributes
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index)
                .map(|(_, attribute)| *attribute)
                .collect();
            out.push(if rest.is_empty() {
                family.to_string()
            } else {
                format!("{family}:{}", rest.join(","))
            });
        }
    }
    out
}

fn smaller_filters(filter: &str) -> Vec<String> {
    let Some((name, inside)) = filter.strip_suffix(')').and_then(|filter| filter.split_once('('))
    else {
        return Vec::new();
    };
    let parts = split_arguments(inside);
    let mut out: Vec<String> =
        parts.iter().filter(|part| part.contains('(')).map(ToString::to_string).collect();
    for index in 0..parts.len() {
        let with = |part: Option<&str>| {
            let parts: Vec<&str> = parts
                .iter()
                .enumerate()
                .filter_map(|(other, old)| if other == index { part } else { Some(*old) })
                .collect();
            format!("{name}({})", parts.join(","))
        };
        out.push(with(None));
        out.extend(smaller_filters(parts[index]).iter().map(|smaller| with(Some(smaller))));
    }
    out
}

/// Splits arguments at the commas outside inner parentheses.
fn split_arguments(inside: &str) -> Vec<&str> {
    let (mut out, mut depth, mut start) = (Vec::new(), 0, 0);
    for (index, byte) in inside.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 0 => {
                out.push(&inside[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    if !inside.is_empty() {
        out.push(&inside[start..]);
    }
    out
}

/// Returns `true` if a line is in the language and leaves no more timestamps to the cluster's clock
/// than the original.
fn is_fair(from: &str, line: &str) -> bool {
    let stamped_later = |line: &str| {
        let step = parse(&[line.to_string()]).ok()?.steps.pop()?;
        Some(match step.command {
            // A word was lost, and a timestamp is read as the row.
            Ok(Command::Apply(op)) if op.row().starts_with(b"@") => usize::MAX,
            Ok(Command::Apply(op)) => unstamped(&op),
            Ok(Command::Batch(ops)) => ops.iter().map(unstamped).fold(0, usize::saturating_add),
            Ok(Command::Create(families, _)) if families.is_empty() => usize::MAX,
            Ok(_) => 0,
            Err(_) => usize::MAX,
        })
    };
    match (stamped_later(from), stamped_later(line)) {
        (Some(before), Some(after)) => after <= before,
        _ => false,
    }
}

/// Returns the number of cells that the store stamps.
fn unstamped(op: &RowOp) -> usize {
    let of = |cells: &halite_types::CellsBuilder| {
        cells.into_iter().filter(|cell| cell.timestamp() == LATEST_TIMESTAMP).count()
    };
    match op {
        RowOp::Put(put) => of(put.mutation().cells()),
        RowOp::Delete(delete) if delete.mutation().cells().is_empty() => {
            usize::from(delete.timestamp == LATEST_TIMESTAMP)
        }
        RowOp::Delete(delete) => of(delete.mutation().cells()),
        RowOp::Increment(increment) => of(increment.mutation().cells()),
        RowOp::Append(append) => of(append.mutation().cells()),
        // An empty request is a different kind of request, which programs do not generate.
        RowOp::Mutate(mutations) if mutations.ops.is_empty() => usize::MAX,
        RowOp::Mutate(mutations) => {
            mutations.ops.iter().map(unstamped).fold(0, usize::saturating_add)
        }
        RowOp::CheckAndMutate(check) => unstamped(&check.then),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sides that differ at the first scan with a `Page` filter after a put of `v2`.
    fn differ(program: &[String]) -> Option<Difference> {
        parse(program).ok().filter(|_| program[0].contains(" f"))?;
        let put = program.iter().position(|line| line.contains("v2"))?;
        let scan = program
            .iter()
            .position(|line| line.starts_with("scan") && line.contains("Page(1)"))
            .filter(|scan| *scan > put)?;
        Some(Difference { program: program[..=scan].to_vec(), results: [Vec::new(), Vec::new()] })
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(|line| line.trim().to_string()).collect()
    }

    #[test]
    fn shrinking_removes_unneeded_commands() {
        let program = lines(
            "create f:VERSIONS=2,BLOCKSIZE=16 g
            put a f:q v1 @1
            flush
            mutate a { put a f:q v1 @2 f:p v2 @3 ; delete a f:q @4 }
            get a
            check a f:q = v then put a g:q v @2
            scan reverse versions=all filter=All(One(Page(1),Value(=,binary:v)),Skip(KeyOnly())) limit=3
            get b",
        );
        let found = differ(&program).unwrap();
        assert_eq!(
            shrink(found, false, 3, &differ).program,
            ["create f", "put a f:p v2 @3", "scan filter=Page(1)"]
        );
    }

    #[test]
    fn shrinking_keeps_explicit_timestamps() {
        assert!(is_fair("put a f:q v @1 f:p v @2", "put a f:q v @1"));
        assert!(!is_fair("put a f:q v @1", "put a f:q v"));
        assert!(is_fair("delete a f:q", "delete a f:q"));
        assert!(!is_fair("deleterow a @3", "deleterow a"));
        assert!(!is_fair("put a f:q v @1", "put a f:q"));
        assert!(!is_fair(
            "check a f:q = v then mutate a { put a f:q v @1 }",
            "check a f:q = v then mutate a { }"
        ));
    }
}
