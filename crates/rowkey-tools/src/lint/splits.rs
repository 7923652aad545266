//! Rules about the splits of a table.

use bytes::Bytes;
use halite_rowkey::internals::check_split;
use halite_rowkey::language::SplitClause;
use halite_rowkey::schema::{KeySchema, SegmentKind};
use halite_rowkey::split::{SplitNote, Splits, region_shares};
use halite_rowkey::value::FieldType;

use super::finding::{Finding, Findings};
use super::input::LintInput;
use super::rules::Severity;

/// Regions per server at which its memory is fragmented, according to HBase's guide.
const REGIONS_OF_SERVER: u32 = 200;
/// Sampled keys per region required to report an empty region.
const KEYS_OF_REGION: usize = 20;

pub(super) fn check(splits: &[Bytes], subject: &LintInput<'_>, found: &mut Findings) {
    many(splits.len() + 1, subject, found);
    if let Some(key) = subject.key {
        if splits.is_empty() {
            none(key, found);
        } else if let Ok(splits) = Splits::at(splits.to_vec()) {
            let of_salts = splits.for_schema(key);
            of_salts.notes.iter().for_each(|note| noted(note, found));
        }
    }
    if let Some(sample) = subject.sample {
        dead(splits, &sample.keys, found);
    }
}

/// P-NONE: a salt has no effect while all salts are in one region.
fn none(key: &KeySchema, found: &mut Findings) {
    // A salt after a field distributes only the rows of one of its values, and there are no
    // boundaries to propose for it.
    let first = key
        .segments()
        .iter()
        .enumerate()
        .find(|(_, segment)| !matches!(segment.kind, SegmentKind::Const(_)));
    let Some((at, &SegmentKind::Salt { count: count @ 2.., .. })) =
        first.map(|(at, segment)| (at, &segment.kind))
    else {
        return;
    };
    let message = format!(
        "The key has {count} salts, and the table begins as one region: all of them lie in one \
         place until it has grown and split by itself."
    );
    found.add("P-NONE", at, message).fix("SPLIT BY SALT");
}

/// P-ROLL: a declared table whose key begins with a time has no regions for future time ranges.
pub(super) fn rolling(subject: &LintInput<'_>, found: &mut Findings) {
    let (Some(key), Some(_)) = (subject.key, subject.table) else { return };
    let Some((at, segment)) = key
        .segments()
        .iter()
        .enumerate()
        .find(|(_, segment)| !matches!(segment.kind, SegmentKind::Const(_)))
    else {
        return;
    };
    let Some(field) = segment.kind.field().map(|field| &key.fields()[field]) else { return };
    let is_time = matches!(segment.kind, SegmentKind::Plain(_) | SegmentKind::Bucket { .. })
        && matches!(field.ty, FieldType::Timestamp(_) | FieldType::Date);
    if !is_time || matches!(subject.split, Some(SplitClause::Rolling(_))) {
        return;
    }
    let message = format!(
        "The key begins with {}, and there are no splits for future times: all existing boundaries \
         are in the past, and all regions but one are idle.",
        field.name
    );
    found.add("P-ROLL", at, message).fix(
        "SPLIT ROLLING '1d', if the time has to come first: regions of the next day are cut where \
         those of the last one were",
    );
}

/// P-CLAUSE: splits that `CREATE TABLE` will reject.
pub(super) fn refused(subject: &LintInput<'_>, found: &mut Findings) {
    let (Some(key), Some(clause)) = (subject.key, subject.split) else { return };
    if let Err(reason) = check_split(clause, key) {
        found
            .add("P-CLAUSE", None, format!("{clause} is refused when the table is made: {reason}."))
            .fix("SPLIT AT (...) or SPLIT FROM SAMPLE, which any key can have");
    }
}

/// P-SALTREG and P-ALIGN, from the notes of the splits.
fn noted(note: &SplitNote, found: &mut Findings) {
    let Some(rule) = note.rule() else { return };
    // The note contains its rule, and ends with the fix.
    let text = note.to_string();
    let text = text.split_once(": ").map_or(text.as_str(), |(_, text)| text);
    let (message, fix) = text.split_once("; ").unwrap_or((text, "SPLIT BY SALT"));
    found.add(rule, None, format!("{message}.")).fix(fix);
}

/// P-MANY.
fn many(regions: usize, subject: &LintInput<'_>, found: &mut Findings) {
    let Some(servers) = subject.load.servers.filter(|servers| *servers > 0) else { return };
    let each = u32::try_from(regions).unwrap_or(u32::MAX).div_ceil(servers);
    if each > REGIONS_OF_SERVER {
        let message = format!(
            "{regions} regions on {servers} servers are {each} on each: their memstores share one \
             memory, and flush as many small files."
        );
        found
            .add("P-MANY", None, message)
            .fix(format!("at most {} regions", u64::from(REGIONS_OF_SERVER) * u64::from(servers)));
    }
}

/// P-RANGE: regions that no key can fall into, such as hexadecimal splits of decimal keys.
fn dead(splits: &[Bytes], keys: &[Bytes], found: &mut Findings) {
    let regions = splits.len() + 1;
    if regions < 3 || keys.len() < regions * KEYS_OF_REGION {
        return;
    }
    let shares = region_shares(keys, splits);
    let empty = shares.iter().filter(|share| **share == 0.0).count();
    if empty * 10 < regions {
        return;
    }
    let letters = splits
        .iter()
        .filter(|split| {
            split.first().is_some_and(|first| matches!(first, b'a'..=b'f' | b'A'..=b'F'))
        })
        .count();
    let digits_only = keys.iter().all(|key| key.first().is_some_and(u8::is_ascii_digit));
    let why = if letters > 0 && digits_only {
        " The splits are hexadecimal, and the keys begin with decimal digits."
    } else {
        ""
    };
    let finding: &mut Finding = found.add(
        "P-RANGE",
        None,
        format!("{empty} of {regions} regions have none of the keys.{why}"),
    );
    finding
        .evidence(format!("in {} sampled keys", keys.len()))
        .fix(format!("SPLIT FROM SAMPLE 'keys.txt' INTO {regions}"));
    if why.is_empty() {
        finding.cap_severity(Severity::Note);
    }
}
