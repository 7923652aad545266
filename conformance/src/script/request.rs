//! Commands that read or write rows, as operations of `halite-types`.

use std::ops::Bound;

use bytes::Bytes;
use halite_types::{
    Append, CheckAndMutate, Condition, Delete, Error, FamilyDescriptor, Get, Increment, Put,
    RowMutations, RowOp, Scan, Selection, TimeRange,
};
use halite_types::{LATEST_TIMESTAMP, RowRange};

use super::tokens::{Tokens, number};
use super::{CommandError, filter, text};

/// Parses `FAMILY[:ATTRIBUTE=VALUE,...]`.
pub(super) fn family(word: &str) -> Result<FamilyDescriptor, CommandError> {
    let (name, attributes) = word.split_once(':').unwrap_or((word, ""));
    let mut family = FamilyDescriptor::new(text::bytes(name)?);
    for attribute in attributes.split(',').filter(|attribute| !attribute.is_empty()) {
        let (name, value) = attribute.split_once('=').ok_or_else(|| {
            CommandError::malformed(format!("attribute {attribute:?} has no value"))
        })?;
        family = match (name, value) {
            ("VERSIONS", "all") => family.set("VERSIONS", i32::MAX),
            (
                "VERSIONS"
                | "MIN_VERSIONS"
                | "TTL"
                | "NEW_VERSION_BEHAVIOR"
                | "BLOOMFILTER"
                | "BLOCKSIZE",
                _,
            ) => family.set(name, value),
            ("KEEP_DELETED", _) => family.set("KEEP_DELETED_CELLS", value),
            _ => return Err(CommandError::malformed(format!("unknown attribute {name:?}"))),
        };
    }
    Ok(family)
}

/// Returns `true` if the command with this name writes one row.
pub(super) fn is_mutation(verb: &str) -> bool {
    matches!(
        verb,
        "put"
            | "delete"
            | "deletecolumn"
            | "deletefamily"
            | "deletefamilyversion"
            | "deleterow"
            | "incr"
            | "append"
            | "mutate"
            | "check"
    )
}

pub(super) fn mutation(words: &mut Tokens<'_>) -> Result<RowOp, CommandError> {
    match words.next()? {
        "put" => put(words).map(RowOp::from),
        "incr" => increment(words).map(RowOp::from),
        "append" => append(words).map(RowOp::from),
        "mutate" => row_mutations(words).map(RowOp::from),
        "check" => check(words).map(RowOp::from),
        verb => delete(verb, words).map(RowOp::from),
    }
}

/// Parses `{ MUTATION ; ... }`.
pub(super) fn block(words: &mut Tokens<'_>) -> Result<Vec<RowOp>, CommandError> {
    words.expect("{")?;
    let mut ops = Vec::new();
    while !words.flag("}") {
        ops.push(mutation(words)?);
        if !words.flag(";") && words.peek() != Some("}") {
            return Err(CommandError::malformed("a block lacks its closing brace"));
        }
    }
    Ok(ops)
}

fn put(words: &mut Tokens<'_>) -> Result<Put, CommandError> {
    let mut columns = Vec::new();
    let row = words.bytes()?;
    let mut put = Put::new(row);
    while !words.at_end() {
        if let Some(ttl) = words.option("ttl") {
            put = put.ttl_ms(number(ttl)?);
            continue;
        }
        let (family, qualifier) = words.column()?;
        let value = words.bytes()?;
        columns.push((family, qualifier, value, words.timestamp()?.unwrap_or(LATEST_TIMESTAMP)));
    }
    // The TTL applies to the whole put, whatever its position among the columns.
    Ok(columns.into_iter().fold(put, |put, (family, qualifier, value, timestamp)| {
        put.add_at(family, qualifier, timestamp, value)
    }))
}

fn delete(verb: &str, words: &mut Tokens<'_>) -> Result<Delete, CommandError> {
    let mut delete = Delete::new(words.bytes()?);
    if verb == "deleterow" {
        return Ok(words.timestamp()?.map_or(delete.clone(), |timestamp| delete.up_to(timestamp)));
    }
    while !words.at_end() {
        let what = words.next()?;
        let timestamp = words.timestamp()?.unwrap_or(LATEST_TIMESTAMP);
        delete = match verb {
            "delete" => text::column(what)
                .map(|(family, qualifier)| delete.version(family, qualifier, timestamp))?,
            "deletecolumn" => text::column(what)
                .map(|(family, qualifier)| delete.column_up_to(family, qualifier, timestamp))?,
            "deletefamily" => delete.family_up_to(text::bytes(what)?, timestamp),
            "deletefamilyversion" => delete.family_version(text::bytes(what)?, timestamp),
            _ => return Err(CommandError::malformed(format!("unknown command {verb:?}"))),
        };
    }
    Ok(delete)
}

fn increment(words: &mut Tokens<'_>) -> Result<Increment, CommandError> {
    let mut increment = Increment::new(words.bytes()?);
    let mut columns = Vec::new();
    while !words.at_end() {
        if let Some(range) = words.option("range") {
            increment.time_range = time_range(range)?;
        } else if let Some(ttl) = words.option("ttl") {
            increment = increment.ttl_ms(number(ttl)?);
        } else if words.flag("noresult") {
            increment.return_results = false;
        } else {
            let (family, qualifier) = words.column()?;
            columns.push((family, qualifier, words.number()?));
        }
    }
    // As with a put, the TTL applies to all columns.
    Ok(columns.into_iter().fold(increment, |increment, (family, qualifier, delta)| {
        increment.add(family, qualifier, delta)
    }))
}

fn append(words: &mut Tokens<'_>) -> Result<Append, CommandError> {
    let mut append = Append::new(words.bytes()?);
    let mut columns = Vec::new();
    while !words.at_end() {
        if let Some(range) = words.option("range") {
            append.time_range = time_range(range)?;
        } else if let Some(ttl) = words.option("ttl") {
            append = append.ttl_ms(number(ttl)?);
        } else if words.flag("noresult") {
            append.return_results = false;
        } else {
            let (family, qualifier) = words.column()?;
            columns.push((family, qualifier, words.bytes()?));
        }
    }
    Ok(columns
        .into_iter()
        .fold(append, |append, (family, qualifier, value)| append.add(family, qualifier, value)))
}

fn row_mutations(words: &mut Tokens<'_>) -> Result<RowMutations, CommandError> {
    let mut mutations = RowMutations::new(words.bytes()?);
    mutations.ops = block(words)?;
    Ok(mutations)
}

fn check(words: &mut Tokens<'_>) -> Result<CheckAndMutate, CommandError> {
    let row = words.bytes()?;
    let condition = if words.flag("filter") {
        Condition::Filter(filter::parse(words.next()?)?)
    } else {
        let (family, qualifier) = words.column()?;
        let op = filter::operator(words.next()?)?;
        let value = if words.flag("null") { None } else { Some(words.bytes()?) };
        Condition::Column { family, qualifier, op, value }
    };
    let range = words.option("range").map(time_range).transpose()?;
    words.expect("then")?;
    let mut check = CheckAndMutate::new(row, condition, mutation(words)?);
    check.time_range = range.unwrap_or_default();
    Ok(check)
}

/// Parses a get. Returns it, and `true` if only existence is requested.
pub(super) fn get(words: &mut Tokens<'_>) -> Result<(Get, bool), CommandError> {
    let mut get = Get::new(words.bytes()?);
    let mut exists_only = false;
    while !words.at_end() {
        if words.flag("exists") {
            exists_only = true;
        } else if !select(words, &mut get.selection)? {
            get = match add(words.next()?)? {
                (family, None) => get.family(family),
                (family, Some(qualifier)) => get.column(family, qualifier),
            };
        }
    }
    Ok((get, exists_only))
}

pub(super) fn scan(words: &mut Tokens<'_>) -> Result<Scan, CommandError> {
    let mut scan = Scan::all();
    let (mut start, mut stop) = (Bytes::new(), Bytes::new());
    let (mut start_inclusive, mut stop_inclusive) = (true, false);
    let mut prefix = None;
    while !words.at_end() {
        if words.flag("reverse") {
            scan.reverse = true;
        } else if words.flag("raw") {
            scan.raw = true;
        } else if words.flag("startexclusive") {
            start_inclusive = false;
        } else if words.flag("stopinclusive") {
            stop_inclusive = true;
        } else if let Some(row) = words.option("start") {
            start = text::bytes(row)?;
        } else if let Some(row) = words.option("stop") {
            stop = text::bytes(row)?;
        } else if let Some(row) = words.option("prefix") {
            prefix = Some(text::bytes(row)?);
        } else if let Some(cells) = words.option("batch") {
            // HBase treats 0 and below as unlimited.
            scan.batch = usize::try_from(number::<i64>(cells)?).ok().filter(|&cells| cells > 0);
        } else if let Some(bytes) = words.option("resultbytes") {
            scan.max_result_bytes = number(bytes)?;
        } else if let Some(rows) = words.option("limit") {
            scan.limit = Some(number(rows)?);
        } else if !select(words, &mut scan.selection)? {
            scan = match add(words.next()?)? {
                (family, None) => scan.family(family),
                (family, Some(qualifier)) => scan.column(family, qualifier),
            };
        }
    }
    let (first, last) = (bound(start, start_inclusive), bound(stop, stop_inclusive));
    scan.range = match prefix {
        Some(prefix) => RowRange::prefix(prefix),
        None if scan.reverse => RowRange { start: last, end: first },
        None => RowRange { start: first, end: last },
    };
    Ok(scan)
}

/// Returns the bound; an empty row is unbounded.
fn bound(row: Bytes, inclusive: bool) -> Bound<Bytes> {
    match inclusive {
        _ if row.is_empty() => Bound::Unbounded,
        true => Bound::Included(row),
        false => Bound::Excluded(row),
    }
}

fn add(word: &str) -> Result<(Bytes, Option<Bytes>), CommandError> {
    if word.contains(':') {
        return text::column(word).map(|(family, qualifier)| (family, Some(qualifier)));
    }
    if word.contains('=') {
        return Err(CommandError::malformed(format!("unknown option {word:?}")));
    }
    Ok((text::bytes(word)?, None))
}

/// Parses the next word if it is an option common to gets and scans.
fn select(words: &mut Tokens<'_>, selection: &mut Selection) -> Result<bool, CommandError> {
    if let Some(versions) = words.option("versions") {
        selection.max_versions = match versions {
            "all" => i32::MAX as u32,
            _ => u32::try_from(number::<i64>(versions)?)
                .map_err(|_| Error::invalid("a negative number of versions"))?,
        };
    } else if let Some(range) = words.option("range") {
        selection.time_range = time_range(range)?;
    } else if let Some(timestamp) = words.option("ts") {
        selection.time_range = TimeRange::at(number(timestamp)?)?;
    } else if let Some(family_range) = words.option("familyrange") {
        let (family, range) = family_range.split_once(':').ok_or_else(|| {
            CommandError::malformed("invalid familyrange: expected FAMILY:MIN..MAX")
        })?;
        selection.family_time_ranges.insert(text::bytes(family)?, time_range(range)?);
    } else if let Some(cells) = words.option("storelimit") {
        // HBase treats a negative limit as unlimited.
        selection.family_limit = u32::try_from(number::<i64>(cells)?).ok();
    } else if let Some(cells) = words.option("storeoffset") {
        selection.family_offset = u32::try_from(number::<i64>(cells)?).unwrap_or(0);
    } else if let Some(word) = words.option("filter") {
        selection.filter = Some(filter::parse(word)?);
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Parses `MIN..MAX`.
fn time_range(text: &str) -> Result<TimeRange, CommandError> {
    let (min, max) = text.split_once("..").ok_or_else(|| {
        CommandError::malformed(format!("invalid range {text:?}: expected MIN..MAX"))
    })?;
    let min = if min.is_empty() { 0 } else { number(min)? };
    let max = if max.is_empty() { i64::MAX } else { number(max)? };
    Ok(TimeRange::new(min, max)?)
}
