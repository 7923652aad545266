//! Rules about text keys: delimiters, widths, padding.

use halite_rowkey::schema::{Field, HashFunction, KeySchema, Order, Profile, Segment, SegmentKind};
use halite_rowkey::value::FieldType;

use super::finding::Findings;
use super::rules::Severity;

/// Digits of `Long.MAX_VALUE`.
const LONG_DIGITS: u8 = 19;

pub(super) fn check(key: &KeySchema, found: &mut Findings) {
    if key.profile() != Profile::Text {
        return;
    }
    for (at, segment) in key.segments().iter().enumerate() {
        let next = key.segments().get(at + 1);
        padding(key, at, segment, next.is_none(), found);
        if let Some(field) = open_text(key, segment) {
            end(field, at, next, found);
        }
        if let SegmentKind::Salt { function: HashFunction::Java, count, .. } = segment.kind {
            java_salt(at, count, found);
        }
    }
}

/// Returns the field of a segment whose text has no fixed length.
fn open_text<'k>(key: &'k KeySchema, segment: &Segment) -> Option<&'k Field> {
    let field = segment.kind.field().map(|field| &key.fields()[field])?;
    let is_open = matches!(segment.kind, SegmentKind::Plain(_) | SegmentKind::Reverse(_))
        && segment.digits.is_none()
        && field.ty.fixed_bytes().is_none();
    is_open.then_some(field)
}

/// K-PAD: numbers sort as text only if all have the same number of digits.
fn padding(key: &KeySchema, at: usize, segment: &Segment, is_last: bool, found: &mut Findings) {
    let Some(field) = segment.kind.field().map(|field| &key.fields()[field]) else { return };
    let Some((least, most)) = field.ty.integer_range() else { return };
    let name = &field.name;
    let wants = if segment.order == Order::Desc {
        LONG_DIGITS.into()
    } else {
        most.checked_ilog10().map_or(1, |log| log + 1)
    };
    let place = if segment.order == Order::Desc { format!("rev({name})") } else { name.clone() };
    match segment.digits {
        None if matches!(segment.kind, SegmentKind::Plain(_) | SegmentKind::Bucket { .. }) => {
            let message =
                format!("{name} is written with as many digits as it has: 10 sorts before 9.");
            let evidence = if is_last {
                "it is the last field, so only the order of rows suffers"
            } else {
                "what follows is mixed up too"
            };
            found.add("K-PAD", at, message).evidence(evidence).fix(format!("{{{place}:{wants}}}"));
        }
        Some(digits)
            if u32::from(digits) < wants && !matches!(segment.kind, SegmentKind::Bucket { .. }) =>
        {
            let message = format!(
                "{name} has room for {digits} digits, and a {} has up to {wants}: longer ones are \
                 refused, where other programs write them and sort wrongly.",
                field.ty
            );
            found
                .add("K-PAD", at, message)
                .cap_severity(Severity::Warning)
                .fix(format!("{{{place}:{wants}}}, or a type that fits {digits} digits"));
        }
        _ => {}
    }
    if least < 0
        && segment.order == Order::Asc
        && !matches!(field.ty, FieldType::Timestamp(_) | FieldType::Date)
    {
        let message =
            format!("{name} may be negative, and as text -1 sorts before -2 and both before 0.");
        found
            .add("K-PAD", at, message)
            .cap_severity(Severity::Warning)
            .fix(format!("an unsigned type for {name}, or PROFILE BIN"));
    }
}

/// K-AMBIG, K-DELIM and K-SEPORD: the end of text without a fixed length.
fn end(field: &Field, at: usize, next: Option<&Segment>, found: &mut Findings) {
    let name = &field.name;
    let Some(next) = next else { return };
    let SegmentKind::Const(delimiter) = &next.kind else {
        let message = format!(
            "There is nothing between {name} and what follows it: (1, 23) and (12, 3) are one key."
        );
        found.add("K-AMBIG", at, message).fix(format!(
            "a delimiter after {{{name}}}, a fixed width, or PROFILE BIN, which terminates fields"
        ));
        return;
    };
    let shown = String::from_utf8_lossy(delimiter).into_owned();
    if field.pattern.is_none() {
        let message = format!(
            "{name} may contain {shown:?}, which ends it in this key. Such values are refused when \
             they are written through this schema; other programs write them, and they are read \
             back cut in two."
        );
        let class: String = shown.chars().take(1).collect();
        found.add("K-DELIM", at, message).fix(format!("WHERE {name} MATCHES '[^{class}]+'"));
    }
    // Only control characters and the blank sort before all characters of names.
    if delimiter.first().is_some_and(|&first| first > b'-') {
        let message = format!(
            "{shown:?} sorts after digits, so user_10{shown} comes before user_1{shown}: a scan \
             for one {name} is correct, but several are not in the order of their names."
        );
        found
            .add("K-SEPORD", at, message)
            .fix("PROFILE BIN, or a delimiter that sorts before everything else, such as a blank");
    }
}

/// K-NEGMOD: correct here, and wrong in most programs that write such keys.
fn java_salt(at: usize, count: u32, found: &mut Findings) {
    let message = format!(
        "hashCode() % {count} is negative for half of all text in Java. Halite takes \
         Math.floorMod; a program that takes % writes keys that begin with a minus sign, which no \
         scan for a salt finds."
    );
    found
        .add("K-NEGMOD", at, message)
        .cap_severity(Severity::Note)
        .evidence("\"20150524002300_1232\".hashCode() % 1000 is -203, and the salt is 797")
        .fix(format!(
            "Math.floorMod(x.hashCode(), {count}) in Java; not Math.abs, which leaves one value \
             negative"
        ));
}
