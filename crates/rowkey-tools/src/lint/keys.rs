//! Rules that require the declared key, and some of them its queries.

use halite_rowkey::internals::{Growth, HotEnd, leading_segment, rearranged_text, salt_by, salted};
use halite_rowkey::language::{Action, ColumnType, SplitClause};
use halite_rowkey::schema::{
    Field, FieldId, HashFunction, KeySchema, Order, Profile, Segment, SegmentKind,
};
use halite_rowkey::value::FieldType;

use super::finding::{Finding, Findings};
use super::input::{ConditionShape, LintInput, QueryShape};
use super::key_cost::{CellCosts, MeasuredKeys, measured_columns};
use super::rules::Severity;
use crate::cell_cost::RECOMMENDED;

/// Key length that triggers a finding.
const LONG_KEY_BYTES: usize = 128;
/// Times the bytes with a short digest below which neighbours share a long one.
const SHARED_DIGEST: f64 = 1.1;

pub(super) fn check(key: &KeySchema, subject: &LintInput<'_>, found: &mut Findings) {
    leading(key, subject, found);
    for (at, segment) in key.segments().iter().enumerate() {
        salt(key, at, segment, subject, found);
        stand_in(key, at, segment, subject, found);
        reversed(key, at, segment, found);
    }
    hbase_struct(key, found);
    unique(key, subject, found);
    columns(key, subject, found);
    unused(key, subject.queries, found);
    length(key, subject, found);
}

fn field_of<'k>(key: &'k KeySchema, kind: &SegmentKind) -> Option<&'k Field> {
    kind.field().map(|field| &key.fields()[field])
}

/// K-MONO, K-BUCKETLEAD and, if the declaration is sufficient, K-LOWCARD: the leading segment
/// determines the target of a write.
fn leading(key: &KeySchema, subject: &LintInput<'_>, found: &mut Findings) {
    // Regions created in advance for each bucket or day distribute its writes by the following
    // segments.
    let is_rolling =
        matches!(subject.split, Some(SplitClause::Rolling(_))) && key.segments().len() > 1;
    let Some(at) = leading_segment(key) else { return };
    let segment = &key.segments()[at];
    let Some(field) = field_of(key, &segment.kind) else { return };
    match &segment.kind {
        SegmentKind::Bucket { .. } => {
            let message = format!(
                "All rows written now are of the newest bucket of {}, so one region takes every \
                 write, however well the table is split.",
                field.name
            );
            let finding = found.add("K-BUCKETLEAD", at, message).fix(salted(key));
            if is_rolling {
                finding.cap_severity(Severity::Warning).evidence(
                    "SPLIT ROLLING helps as long as regions are cut before their time comes",
                );
            }
        }
        SegmentKind::Plain(_) | SegmentKind::Trunc { .. } => {
            if let Some(hot) = HotEnd::of_key(key) {
                let severity = match hot.growth {
                    Growth::Time => Severity::Error,
                    Growth::NamedAsCounter | Growth::NamedAsTime => Severity::Warning,
                };
                let finding = found
                    .add("K-MONO", at, hot.to_string())
                    .cap_severity(severity)
                    .fix(salted(key));
                if is_rolling && field.ty == FieldType::Date {
                    finding.cap_severity(Severity::Warning).evidence(
                        "SPLIT ROLLING helps as long as regions are cut before their time comes",
                    );
                }
            } else if field.ty == FieldType::Bool {
                few_values(at, &field.name, "two", found).fix(salted(key));
            } else if key.segments().len() > 1 && is_named_for_few(field) {
                few_values(at, &field.name, "few", found)
                    .evidence(
                        "by its name or type; lint --table counts them, and --explain says when \
                         few are enough",
                    )
                    .fix(salted_by_others(key, at));
            }
        }
        _ => {}
    }
}

/// Returns `true` if the name or the type of a field indicates few values for all rows of a table.
fn is_named_for_few(field: &Field) -> bool {
    const NAMES: [&str; 16] = [
        "status", "state", "type", "kind", "level", "severity", "gender", "sex", "flag", "country",
        "region", "category", "currency", "language", "priority", "env",
    ];
    let name = field.name.to_ascii_lowercase();
    let is_named = NAMES.iter().any(|word| name == *word || name.ends_with(&format!("_{word}")))
        || name.starts_with("is_");
    match field.ty {
        FieldType::U8 | FieldType::I8 => {
            !name.contains("shard") && !name.contains("salt") && !name.contains("bucket")
        }
        FieldType::Char(bytes) => bytes == 1 || is_named,
        ty => is_named && (ty.is_text() || ty.integer_range().is_some()),
    }
}

/// Returns the key with a salt of all fields that neither grow nor have few values, with the first
/// field of many values.
fn salted_by_others(key: &KeySchema, few: usize) -> String {
    let few = key.segments()[few].kind.field();
    let by: Vec<FieldId> = (0..key.fields().len())
        .filter(|&id| Some(id) != few && Growth::of_field(&key.fields()[id]).is_none())
        .collect();
    if by.is_empty() {
        return salted(key);
    }
    let mut segments = vec![salt_by(by)];
    segments.extend(key.segments().iter().cloned());
    rearranged_text(key, segments)
}

fn few_values<'f>(
    at: usize,
    name: &str,
    how_many: &str,
    found: &'f mut Findings,
) -> &'f mut Finding {
    found.add(
        "K-LOWCARD",
        at,
        format!(
            "{name} has {how_many} values, so at most as many places in the table take the load, \
             whatever is split or hashed."
        ),
    )
}

/// K-RNDSALT, K-TSMOD, K-LOWCARD of salts.
fn salt(
    key: &KeySchema,
    at: usize,
    segment: &Segment,
    subject: &LintInput<'_>,
    found: &mut Findings,
) {
    let SegmentKind::Salt { count, function, .. } = segment.kind else { return };
    let by = key.hashed_fields(at);
    if !function.is_deterministic() {
        let writes =
            |query: &QueryShape| !matches!(query.action, Action::Read | Action::RawScan { .. });
        let finds_again = |query: &&QueryShape| writes(query) || pins_whole_key(key, query);
        let again = subject.queries.iter().find(finds_again);
        let message = format!(
            "{} draws a salt for each write: a row that is written again becomes a second row, and \
             finding one asks for all {count} keys it may have.",
            function.name()
        );
        let finding = found.add("K-RNDSALT", at, message);
        if let Some(query) = again {
            finding.evidence(format!("query {} names single rows", query.name));
        } else if !subject.queries.is_empty() {
            // Rows that are written once and scanned, as in a log, are acceptable.
            finding.cap_severity(Severity::Warning);
        }
        finding.fix(with_salt(
            key,
            at,
            count,
            key.fields()
                .iter()
                .enumerate()
                .filter(|(_, field)| !field.ty.is_time())
                .map(|(id, _)| id)
                .collect(),
        ));
        return;
    }
    if by.iter().all(|&field| key.fields()[field].ty.is_time()) {
        let names: Vec<_> = by.iter().map(|&field| key.fields()[field].name.as_str()).collect();
        if function == HashFunction::Modulo {
            let message = format!(
                "The salt is {} % {count}: times that are multiples of {count}, such as full \
                 seconds in milliseconds, have one and the same salt.",
                names.join(", ")
            );
            let others = (0..key.fields().len()).filter(|field| !by.contains(field)).collect();
            found.add("K-TSMOD", at, message).fix(with_salt(key, at, count, others));
        }
    } else if let [only] = by[..]
        && key.fields()[only].ty == FieldType::Bool
    {
        few_values(at, &key.fields()[only].name, "two", found);
    }
}

/// Returns `true` if a query fixes every field of the key to single values.
fn pins_whole_key(key: &KeySchema, query: &QueryShape) -> bool {
    let one = |field| {
        query.conditions.iter().any(|&(of, asks)| {
            of == field && matches!(asks, ConditionShape::Equals | ConditionShape::In)
        })
    };
    (0..key.fields().len()).all(one)
}

/// K-TRUNC, K-HEX and K-ENTROPY: digests and prefixes.
fn stand_in(
    key: &KeySchema,
    at: usize,
    segment: &Segment,
    subject: &LintInput<'_>,
    found: &mut Findings,
) {
    match &segment.kind {
        SegmentKind::Hash { by, bytes, hex, .. } => {
            for &field in by.iter().filter(|&&field| key.carrier(field).is_none()) {
                shared(
                    &key.fields()[field].name,
                    at,
                    &format!("{bytes} bytes of a digest stand"),
                    u32::from(*bytes) * 8,
                    subject,
                    found,
                );
            }
            let takes = usize::from(*bytes) * if *hex { 2 } else { 1 };
            if *hex && key.profile() != Profile::Text {
                found
                    .add(
                        "K-HEX",
                        at,
                        format!(
                            "{bytes} bytes of digest are written as {takes} digits, in every cell \
                             of the row."
                        ),
                    )
                    .fix("leave HEX out");
            }
            if at == 0 && takes > 8 {
                long_digest(key, at, takes, subject, found);
            }
        }
        SegmentKind::Trunc { field, bytes } if key.carrier(*field).is_none() => {
            let name = &key.fields()[*field].name;
            let message = format!(
                "Only the first {bytes} bytes of {name} are in the key: two of one beginning share \
                 a row, and the later one replaces the earlier one."
            );
            found
                .add("K-TRUNC", at, message)
                .fix(format!("DICT({name}, 4) keeps it short and apart"));
        }
        _ => {}
    }
}

/// K-ENTROPY: a digest of `takes` bytes at the start of the key.
fn long_digest(
    key: &KeySchema,
    at: usize,
    takes: usize,
    subject: &LintInput<'_>,
    found: &mut Findings,
) {
    let costs = DigestCosts::measure(key, at, subject);
    let is_shared = costs.as_ref().is_some_and(|costs| costs.whole < costs.short * SHARED_DIGEST);
    let effect = if is_shared {
        "Rows with the same fields share them, so that a block encoding leaves them out, but every \
         cell carries them in the log, in memory and on the wire"
    } else {
        "Neighbours share none of them, so PREFIX and FAST_DIFF find nothing to leave out"
    };
    let message = format!(
        "The key begins with {takes} bytes that look random. {effect}; 2 bytes spread over 65,536 \
         places."
    );
    let finding = found.add("K-ENTROPY", at, message).fix("HASH(... BYTES 2)");
    if let Some(costs) = costs {
        finding.evidence(costs.text());
    }
}

/// Bytes of a cell under `FAST_DIFF`, with a digest at the start of the key and with two bytes of it.
struct DigestCosts {
    whole: f64,
    short: f64,
    about: String,
}

impl DigestCosts {
    fn measure(key: &KeySchema, at: usize, subject: &LintInput<'_>) -> Option<Self> {
        let mut segments = key.segments().to_vec();
        if let SegmentKind::Hash { bytes, .. } = &mut segments[at].kind {
            *bytes = 2;
        }
        segments[at].digits = None;
        let short = key.rearranged(segments).ok()?;
        // A sample has keys of the declaration only, so both are made from declarations.
        let (whole, short) =
            (MeasuredKeys::new(Some(key), None)?, MeasuredKeys::new(Some(&short), None)?);
        let columns = measured_columns(None, subject);
        let measure = |keys: &MeasuredKeys| keys.bytes_per_cell(b"f", &columns, RECOMMENDED);
        Some(Self {
            whole: measure(&whole)?,
            short: measure(&short)?,
            about: whole.describe(columns.len()),
        })
    }

    fn text(&self) -> String {
        format!(
            "measured on {}: {:.1} bytes on disk for a cell under FAST_DIFF, and {:.1} with 2 \
             bytes of the digest",
            self.about, self.whole, self.short
        )
    }
}

/// Reports that `bits` of a digest do not distinguish all values, with the expected number of
/// collisions if it is known.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn shared(
    name: &str,
    at: usize,
    digest_text: &str,
    bits: u32,
    subject: &LintInput<'_>,
    found: &mut Findings,
) {
    let finding = found.add(
        "K-TRUNC",
        at,
        format!(
            "{digest_text} for {name}, which is not in the key itself: two values of one digest \
             share their rows."
        ),
    );
    if let Some(rows) = subject.load.rows {
        // Birthday bound; sufficiently exact for few collisions.
        let pairs = (rows as f64).powi(2)
            / 2f64.powi(i32::try_from(bits).unwrap_or(i32::MAX).saturating_add(1));
        if pairs < 1e-6 {
            finding.cap_severity(Severity::Note);
        }
        finding.evidence(format!(
            "with {rows} different values, {pairs:.2} pairs of them are expected to meet"
        ));
    }
    finding.fix(format!("keep {name} in the key after its digest, or use DICT({name}, 4)"));
}

/// K-REVVAR.
fn reversed(key: &KeySchema, at: usize, segment: &Segment, found: &mut Findings) {
    let SegmentKind::Reverse(field) = segment.kind else { return };
    let field = &key.fields()[field];
    if field.ty.fixed_bytes().is_none() {
        let message = format!(
            "{} may have any length: reversed, 12345 and 612345 begin alike, and a scan for one of \
             them meets the other.",
            field.name
        );
        found.add("K-REVVAR", at, message).fix(format!(
            "REVERSE({}) CHAR(n) with its length, or a profile that ends fields, which BIN does",
            field.name
        ));
        if matches!(key.profile(), Profile::Bin | Profile::Ordered { .. }) {
            found.0.last_mut().expect("it was added just now").cap_severity(Severity::Note);
        }
    }
}

/// K-NULLTAIL and K-BLOB: two permanent defects of HBase's encodings.
fn hbase_struct(key: &KeySchema, found: &mut Findings) {
    let Profile::Ordered { .. } = key.profile() else { return };
    let count = key.segments().len();
    let Some(last) = key.segments().last() else { return };
    if last.nullable && last.order == Order::Desc {
        found
            .add(
                "K-NULLTAIL",
                count - 1,
                "Struct writes nothing for a null at the end. In descending order null comes last, \
                 and a key that is cut off comes first.",
            )
            .evidence(
                "(a, null) is 346100 and comes before (a, z), which is 346100cb85ff (HBase 2.6.4)",
            )
            .fix("NULLABLE without DESC, or PROFILE BIN");
    }
    let is_bytes = |segment: &Segment| {
        field_of(key, &segment.kind).is_some_and(|field| field.ty == FieldType::Bytes)
    };
    if let Some(at) = key
        .segments()
        .iter()
        .position(is_bytes)
        .filter(|&at| at + 1 < count || last.order == Order::Desc)
    {
        let name = field_of(key, &key.segments()[at].kind).map_or("", |field| &field.name);
        let message = format!(
            "{name} is written as OrderedBlobVar, seven bits to a byte, and that does not sort: 01 \
             comes before 00 00."
        );
        found
            .add("K-BLOB", at, message)
            .fix(format!("{name} as the last field, ascending, or PROFILE BIN"));
    }
}

/// K-UNIQ: segments that distinguish rows of the same time. Salts and digests of fields in the key
/// do not; generated salts do in part, as does every segment that contains a part of another field.
fn unique(key: &KeySchema, subject: &LintInput<'_>, found: &mut Findings) {
    let is_a_time = |field: FieldId| key.fields()[field].ty.is_time();
    let has_time =
        (0..key.fields().len()).any(|field| is_a_time(field) && key.carrier(field).is_some());
    if !has_time || !(0..key.fields().len()).all(is_a_time) {
        return;
    }
    let drawn = |segment: &Segment| match segment.kind {
        SegmentKind::Salt { count, function, .. } if !function.is_deterministic() => {
            f64::from(count)
        }
        _ => 1.0,
    };
    let salts: f64 = key.segments().iter().map(drawn).product();
    let message = "Nothing but a time tells rows apart: two that are written in one tick of the \
                   clock have one key, and the second replaces the first.";
    let finding = found.add("K-UNIQ", key.segments().len() - 1, message);
    if let Some(rate) = subject.load.writes_per_second {
        // Expected number of `each` rows in one tick with one salt, without the first one.
        let places = ticks_per_second(key) * salts;
        let each = rate / places;
        let lost = places * (each + (-each).exp_m1());
        finding.evidence(format!(
            "with {rate} rows each second at random times, about {lost:.1} are lost each second"
        ));
    }
    finding.fix("add the writer's id, or a sequence number, after the time");
}

/// Returns the ticks per second of the finest time in the key.
#[expect(clippy::cast_precision_loss, reason = "at most a thousand million")]
fn ticks_per_second(key: &KeySchema) -> f64 {
    let ticks = |field: &Field| match field.ty {
        FieldType::Timestamp(unit) => unit.per_second() as f64,
        _ => 1.0 / 86_400.0,
    };
    let carried =
        key.fields().iter().enumerate().filter(|(field, _)| key.carrier(*field).is_some());
    carried.map(|(_, field)| ticks(field)).fold(0.0, f64::max)
}

/// K-TIMEDUP and K-LOCAL.
fn columns(key: &KeySchema, subject: &LintInput<'_>, found: &mut Findings) {
    let is_in_key = key.fields().iter().any(|field| field.ty.is_time());
    for column in subject.columns {
        let is_a_time = matches!(column.ty, ColumnType::Value(ty) if ty.is_time());
        if is_in_key
            && (is_a_time
                || matches!(column.name.to_ascii_lowercase().as_str(), "ts" | "timestamp" | "time"))
        {
            let message = format!(
                "Column {} holds a time, and the key has one; every cell has its own timestamp \
                 too.",
                column.name
            );
            found
                .add("K-TIMEDUP", None, message)
                .fix(format!("leave {} out, and read it from the key", column.name));
        }
    }
    for (at, segment) in key.segments().iter().enumerate() {
        let Some(field) = field_of(key, &segment.kind) else { continue };
        if field.ty == FieldType::String
            && Growth::of_field(field).is_some()
            && key.profile() != Profile::Text
        {
            let message = format!(
                "{} is text: 2024-3-5, 05.03.2024 and 2024-03-05 are three keys of one day, and \
                 only the last form sorts.",
                field.name
            );
            found.add("K-LOCAL", at, message).fix(format!("{} TIMESTAMP, or DATE", field.name));
        }
    }
}

/// K-UNUSED.
fn unused(key: &KeySchema, queries: &[QueryShape], found: &mut Findings) {
    if queries.is_empty() {
        return;
    }
    for (id, field) in key.fields().iter().enumerate() {
        let is_queried = queries.iter().any(|query| {
            query.conditions.iter().any(|&(of, _)| of == id)
                || query.order.iter().any(|&(of, _)| of == id)
        });
        if !is_queried {
            let message = format!(
                "No declared query asks for {} or orders by it. If it only keeps rows apart, leave \
                 it at the end.",
                field.name
            );
            found.add("K-UNUSED", key.carrier(id), message);
        }
    }
}

/// K-LEN, for keys with a long minimum length.
fn length(key: &KeySchema, subject: &LintInput<'_>, found: &mut Findings) {
    let least: usize = (0..key.segments().len()).filter_map(|at| key.fixed_bytes(at)).sum();
    if least > LONG_KEY_BYTES {
        let message = format!(
            "A key has at least {least} bytes, and every cell of its row repeats it in the log, in \
             memory and on the wire; on disk a block encoding leaves most of it out."
        );
        let finding = found
            .add("K-LEN", None, message)
            .fix("DICT for long names, and DATA_BLOCK_ENCODING = 'FAST_DIFF' for what is left");
        if let Some(costs) = CellCosts::measure(None, subject) {
            finding.evidence(costs.text());
        }
    }
}

/// Returns the key with one salt replaced.
fn with_salt(key: &KeySchema, at: usize, count: u32, by: Vec<FieldId>) -> String {
    let mut segments = key.segments().to_vec();
    segments[at].kind = SegmentKind::Salt { count, by, function: HashFunction::default() };
    rearranged_text(key, segments)
}
