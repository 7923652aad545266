//! Inference of the schema of existing keys from a sample, verified against the sample.
//!
//! Text keys are split at their delimiters (`text.rs`), binary keys at recognizable parts
//! (`binary.rs`, `gaps.rs`). `values.rs` and `times.rs` determine the content of the parts.
//! `derived.rs` tries every salt and digest over every sequence of fields. The results are drafts
//! (`draft.rs`); `verify.rs` checks the schema of each against every key. Only properties visible
//! in the keys are claimed. If several schemas fit, they are ranked, with their confidence and
//! doubts. `witness.rs` requires a second witness for numbers that look like times. `ids.rs` and
//! `uuids.rs` recognize identifiers; `tagged.rs` and `untagged.rs` recognize keys of HBase's
//! `OrderedBytes`, Phoenix and `OpenTSDB`.

mod addresses;
mod binary;
mod clusters;
mod column;
mod derived;
mod draft;
mod gaps;
mod ids;
mod inputs;
mod randomness;
mod sample;
mod tagged;
#[cfg(test)]
mod tests;
mod text;
mod times;
mod untagged;
mod uuids;
mod values;
mod verify;
mod witness;

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use fastrand::Rng;
use halite_rowkey::internals::print_table;
use halite_rowkey::schema::{Field, KeySchema, Profile, Segment, SegmentKind};
use halite_rowkey::value::FieldType;
use halite_types::TableName;

use crate::lint::{Finding, KeySample, LintInput, lint};

use draft::{Draft, DraftSegment};
use sample::SampledKeys;

/// Maximum keys used for drafts; all keys are used for verification.
const MAX_MODEL_KEYS: usize = 1_000;
/// Maximum bytes of a key used for drafts; longer keys are only used for verification.
const MAX_MODEL_KEY_BYTES: usize = 1_024;
/// Maximum drafts verified against all keys.
const MAX_VERIFIED_DRAFTS: usize = 12;
/// Minimum confidence at which the position of the keys in the table does not matter. Below it, the
/// confidence in keys that may be the first ones of the table is multiplied by `FIRST_KEYS`.
const SURE: f64 = 0.9;
const FIRST_KEYS: f64 = 0.9;
/// Confidence that text or bytes without a recognized structure have none.
const ONE_VALUE_SURE: f64 = 0.8;
/// Minimum number of keys for full confidence.
const KEYS_ENOUGH: usize = 40;
/// Minimum percentage of text keys, or of binary keys, for drafts of that kind.
const MIN_PART_PERCENT: usize = 10;

/// Seed of the sample from many keys: the same keys give the same result.
const SAMPLE_SEED: u64 = 0x6b65_7973;

/// Limits of the inference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InferOptions {
    /// Maximum keys examined; of more, a sample of all.
    pub max_keys: usize,
    /// Number of schemas returned.
    pub candidates: usize,
    /// Number of counter-examples per schema.
    pub counter_examples: usize,
    /// Current time in milliseconds since 1970: time buckets end near it.
    pub now_ms: Option<i64>,
    /// `true` if the keys are from the whole table. Otherwise sorted keys may be its first ones,
    /// which have more in common.
    pub from_all_over: bool,
}

impl Default for InferOptions {
    fn default() -> Self {
        Self {
            max_keys: 10_000,
            candidates: 3,
            counter_examples: 5,
            now_ms: None,
            from_all_over: false,
        }
    }
}

/// Result of an inference.
#[derive(Clone, Debug, PartialEq)]
pub struct Inference {
    /// Keys examined.
    pub keys: usize,
    /// Keys passed; more than were examined if those are a sample.
    pub given: usize,
    /// Schemas, most likely first; empty if there were no keys.
    pub candidates: Vec<Inferred>,
    /// Lint findings about the keys, including negative salts (K-NEGMOD).
    pub findings: Vec<Finding>,
    /// Properties that these keys do not determine, or that cannot be declared.
    pub notes: Vec<String>,
}

/// Possible schema of the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Inferred {
    /// Schema. Names of fields are guesses; changing them does not change a key.
    pub schema: KeySchema,
    /// Number of keys it explains: they can be decoded, derived parts match, and the values encode
    /// to the same key.
    pub explained: usize,
    /// Keys examined.
    pub keys: usize,
    /// Confidence that the keys have this schema, 0 to 1: of claims with 0.9, one of ten may be
    /// wrong. Ambiguous keys reduce it, regardless of the number of keys that the schema explains.
    pub confidence: f64,
    /// Reasons for doubt, alternative interpretations, and the facts that would decide, as
    /// sentences.
    pub doubts: Vec<String>,
    /// Some of the keys it does not explain.
    pub counter_examples: Vec<CounterExample>,
    /// Evidence for each segment, in order.
    pub evidence: Vec<Evidence>,
    /// Other notes.
    pub notes: Vec<String>,
}

/// Key that a schema does not explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterExample {
    /// Key.
    pub key: Bytes,
    /// Reason.
    pub reason: String,
}

/// Evidence for a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Range in keys, such as `0..8`; `?` if that differs.
    pub place: String,
    /// Evidence as text.
    pub text: String,
}

impl Inferred {
    /// Returns the share of the keys that the schema explains, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
    pub fn share(&self) -> f64 {
        self.explained as f64 / self.keys.max(1) as f64
    }

    /// Returns the statement that declares the schema for a table.
    pub fn statement(&self, table: &TableName) -> String {
        format!("ALTER TABLE {} ADOPT {}", print_table(table), self.schema)
    }
}

/// Returns the possible schemas of `keys`, most likely first. `cell_times_ms` are times of cells in
/// the keys' rows, one for each key in the same order, or empty; they distinguish time buckets from
/// other numbers, and reveal ascending keys.
pub fn infer(keys: &[Bytes], cell_times_ms: &[i64], options: &InferOptions) -> Inference {
    let given = keys.len();
    let places = some_of(given, options.max_keys.max(1));
    let times: Vec<i64> = if cell_times_ms.len() == given {
        places.iter().map(|&at| cell_times_ms[at]).collect()
    } else {
        Vec::new()
    };
    let keys: Vec<Bytes> = places.into_iter().map(|at| keys[at].clone()).collect();
    let mut inference = Inference {
        keys: keys.len(),
        given,
        candidates: Vec::new(),
        findings: findings(&keys, &times),
        notes: Vec::new(),
    };
    if keys.is_empty() {
        return inference;
    }
    let seen = model(&keys, times, options.now_ms);
    let texts = seen.only(column::is_text);
    let others = seen.only(|key| !column::is_text(key));
    let is_part = |part: &SampledKeys<'_>| {
        !part.keys.is_empty() && part.keys.len() * 100 >= seen.keys.len() * MIN_PART_PERCENT
    };
    let mut drafts: HashMap<String, (Draft, KeySchema, f64)> = HashMap::new();
    if is_part(&texts) {
        for (draft, places) in text::drafts(&texts) {
            keep(draft, &texts.select(&places), &seen, &mut drafts);
        }
    }
    if is_part(&others) {
        binary::drafts(&others)
            .into_iter()
            .for_each(|draft| keep(draft, &others, &seen, &mut drafts));
        inference.notes.extend(binary::without_end(&others));
    }
    inference.candidates = ranked(drafts, &keys, options);
    inference
}

/// Returns a sample of all keys, in the given order.
fn model(keys: &[Bytes], times: Vec<i64>, now_ms: Option<i64>) -> SampledKeys<'_> {
    let all = SampledKeys {
        keys: keys.iter().map(|key| &key[..]).collect(),
        times_ms: times,
        now_ms,
        is_plain: false,
    };
    let short: Vec<usize> =
        (0..keys.len()).filter(|&at| (1..=MAX_MODEL_KEY_BYTES).contains(&keys[at].len())).collect();
    all.select(
        &some_of(short.len(), MAX_MODEL_KEYS).into_iter().map(|at| short[at]).collect::<Vec<_>>(),
    )
}

/// Verifies the derived parts of a draft, and retains it if it explains some of its keys.
fn keep(
    draft: Draft,
    own: &SampledKeys<'_>,
    all: &SampledKeys<'_>,
    kept: &mut HashMap<String, (Draft, KeySchema, f64)>,
) {
    if draft.segments.is_empty() {
        return;
    }
    let Some(draft) = derived::prove(draft, &own.keys) else { return };
    let Some(schema) = draft.schema().filter(|schema| draft.finds_its_segments(schema, &own.keys))
    else {
        return;
    };
    let explained = all.keys.iter().filter(|key| schema.decode(key).is_ok()).count();
    let score = score(explained, all.keys.len(), &draft);
    let text = schema.to_text();
    if explained > 0 && kept.get(&text).is_none_or(|(_, _, other)| *other < score) {
        kept.insert(text, (draft, schema, score));
    }
}

/// Returns the score of a draft: its specificity and the number of keys it explains.
#[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
fn score(explained: usize, keys: usize, draft: &Draft) -> f64 {
    let says = if is_one_value(draft) { 0.0 } else { draft.points() };
    explained as f64 / keys.max(1) as f64 * (1.0 + says)
}

/// Returns `true` if the draft only states that keys are text or bytes.
fn is_one_value(draft: &Draft) -> bool {
    let is_any = |piece: &DraftSegment| {
        matches!(
            piece.content,
            draft::Content::Field {
                ty: FieldType::String | FieldType::Bytes,
                encoding: draft::FieldEncoding::Plain,
                ..
            }
        )
    };
    matches!(draft.segments.as_slice(), [only] if is_any(only))
        && draft.profile != (Profile::Ordered { compat: false })
}

/// Returns the best drafts, verified against all keys, followed by the key as one value, which is
/// always valid but uninformative.
fn ranked(
    drafts: HashMap<String, (Draft, KeySchema, f64)>,
    keys: &[Bytes],
    options: &InferOptions,
) -> Vec<Inferred> {
    let mut drafts: Vec<_> = drafts
        .into_iter()
        .map(|(text, (draft, schema, score))| (score, text, draft, schema))
        .collect();
    drafts.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    drafts.truncate(MAX_VERIFIED_DRAFTS);
    let verified = |(_, _, draft, schema): (f64, String, Draft, KeySchema)| {
        inferred(&draft, schema, keys, options)
    };
    let mut found: Vec<(f64, Inferred)> = drafts.into_iter().map(verified).collect();
    found.extend(whole_key(keys).map(|(draft, schema)| inferred(&draft, schema, keys, options)));
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut candidates: Vec<Inferred> = found
        .into_iter()
        .map(|(_, inferred)| inferred)
        .filter(|inferred| inferred.explained > 0)
        .collect();
    let mut texts = HashSet::new();
    candidates.retain(|inferred| texts.insert(inferred.schema.to_text()));
    others_first(&mut candidates);
    candidates.truncate(options.candidates.max(1));
    share_out(&mut candidates);
    candidates
}

fn inferred(
    draft: &Draft,
    schema: KeySchema,
    keys: &[Bytes],
    options: &InferOptions,
) -> (f64, Inferred) {
    let verified = verify::verify(&schema, keys, options.counter_examples);
    let place = |at: usize| {
        let shown = |place: Option<&Option<usize>>| {
            place.copied().flatten().map_or("?".to_owned(), |place| place.to_string())
        };
        format!("{}..{}", shown(verified.begins.get(at)), shown(verified.ends.get(at)))
    };
    let evidence = draft
        .segments
        .iter()
        .enumerate()
        .map(|(at, piece)| Evidence { place: place(at), text: piece.evidence.clone() })
        .collect();
    let score = score(verified.explained, keys.len(), draft);
    let (explained, counter_examples) = (verified.explained, verified.counter_examples);
    let (mut sure, mut doubts) = (confidence(draft, explained, keys), Vec::new());
    if sure < SURE && !options.from_all_over && keys.len() > 1 && keys.is_sorted() {
        sure *= FIRST_KEYS;
        doubts.push(
            "the keys are in order: if they are the first ones of a table, others may begin in \
             another way"
                .to_owned(),
        );
    }
    for (at, piece) in
        draft.segments.iter().enumerate().filter(|(_, piece)| !piece.doubt.is_empty())
    {
        doubts.push(format!("segment {}: {}", at + 1, piece.doubt));
    }
    if keys.len() < KEYS_ENOUGH {
        doubts.push(format!("{} keys are few", keys.len()));
    }
    if explained < keys.len() {
        doubts.push(
            "other keys are there too: a table of several kinds of rows, or rows that were written \
             by mistake"
                .to_owned(),
        );
    }
    (
        score,
        Inferred {
            schema,
            explained,
            keys: keys.len(),
            confidence: sure,
            doubts,
            counter_examples,
            evidence,
            notes: draft.notes.clone(),
        },
    )
}

/// Returns the confidence of a draft: that of its least certain part, multiplied by the share of
/// explained keys, and reduced for few keys.
#[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
fn confidence(draft: &Draft, explained: usize, keys: &[Bytes]) -> f64 {
    let few = match keys.len() {
        0..10 => 0.5,
        10..KEYS_ENOUGH => 0.8,
        _ => 1.0,
    };
    let whole = if is_one_value(draft) { ONE_VALUE_SURE } else { 1.0 };
    draft.sure().min(whole) * few * explained as f64 / keys.len().max(1) as f64
}

/// Moves schemas with other claims before those that only split the keys differently. The best
/// schema stays first.
fn others_first(candidates: &mut Vec<Inferred>) {
    let claims: Vec<_> = candidates.iter().map(|one| claims(&one.schema)).collect();
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&at| at > 0 && claims[..at].contains(&claims[at]));
    let mut taken: Vec<Option<Inferred>> =
        std::mem::take(candidates).into_iter().map(Some).collect();
    candidates.extend(order.into_iter().filter_map(|at| taken[at].take()));
}

/// Returns the claims of a schema besides the ends of values: the profile, and the numbers of
/// times, identifiers, salts and digests. Those without a separate type are recognized by their
/// guessed names.
fn claims(schema: &KeySchema) -> (Profile, [usize; 4]) {
    let mut counts = [0; 4];
    for segment in schema.segments() {
        let field = segment.kind.field().map(|field| &schema.fields()[field]);
        let is_named = |names: &[&str]| {
            field.is_some_and(|field| {
                names.contains(&field.name.trim_end_matches(|last: char| last.is_ascii_digit()))
            })
        };
        match (&segment.kind, field.map(|field| field.ty)) {
            (SegmentKind::Salt { .. }, _) => counts[0] += 1,
            (SegmentKind::Hash { .. }, _) => counts[1] += 1,
            (SegmentKind::Bucket { .. }, _) | (_, Some(FieldType::Timestamp(_))) => counts[2] += 1,
            (_, Some(FieldType::Uuid)) => counts[3] += 1,
            _ if is_named(&["digest"]) => counts[1] += 1,
            _ if is_named(&["uuid", "ulid", "object_id", "snowflake"]) => counts[3] += 1,
            _ => {}
        }
    }
    (schema.profile(), counts)
}

/// Reduces the confidence of contradicting schemas, which cannot all be likely: those after the
/// first share the remaining confidence.
fn share_out(candidates: &mut [Inferred]) {
    let mut left = 1.0_f64;
    for candidate in candidates {
        candidate.confidence *= left;
        left = (left - candidate.confidence).max(0.0);
    }
}

/// Returns the key as one value.
fn whole_key(keys: &[Bytes]) -> Option<(Draft, KeySchema)> {
    let is_text = keys.iter().all(|key| column::is_text(key));
    let ty = if is_text { FieldType::String } else { FieldType::Bytes };
    let values: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let mut draft = Draft::new(Profile::Bin);
    draft.push(
        DraftSegment::field(ty, "key", "its contents are unknown", 0.0, &values)
            .sure(0.5, "no structure was found; there may be one"),
    );
    let field = Field { name: "key".to_owned(), ty, pattern: None };
    let schema =
        KeySchema::new(Profile::Bin, vec![field], vec![Segment::new(SegmentKind::Plain(0))])
            .ok()?;
    Some((draft, schema))
}

/// Returns the lint findings about the sample; with times, keys are sorted by them.
fn findings(keys: &[Bytes], times: &[i64]) -> Vec<Finding> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let distinct = times.iter().collect::<HashSet<_>>().len();
    // Keys of the same time may have arrived in any order. If most share theirs, as after a bulk
    // load, times do not determine the order.
    let is_in_arrival_order = !times.is_empty() && distinct * 2 >= times.len();
    if is_in_arrival_order {
        // The greatest of one time is first, so that a key only exceeds those of earlier times.
        order.sort_by(|&a, &b| times[a].cmp(&times[b]).then_with(|| keys[b].cmp(&keys[a])));
    }
    let sample = KeySample {
        keys: order.into_iter().map(|at| keys[at].clone()).collect(),
        is_in_arrival_order,
    };
    lint(&LintInput { sample: Some(&sample), ..LintInput::default() })
}

/// Returns `max_count` of `count` indexes, selected randomly and in ascending order: even steps
/// would select only one kind of alternating lines.
fn some_of(count: usize, max_count: usize) -> Vec<usize> {
    if count <= max_count {
        return (0..count).collect();
    }
    let mut places = Rng::with_seed(SAMPLE_SEED).choose_multiple(0..count, max_count);
    places.sort_unstable();
    places
}
