//! The schema of keys that are there: what a table's keys are made of, guessed from a sample and proven on it.
//!
//! Keys of text are cut at their delimiters (`text.rs`), keys of bytes at what can be recognized in them (`binary.rs`,
//! `gaps.rs`); `values.rs` and `times.rs` say what the parts hold. `derived.rs` tries every salt and digest over every run of
//! fields. What comes out are drafts (`draft.rs`); each is a schema that `verify.rs` holds against every key. Nothing is
//! claimed that the keys do not show: where several answers fit, they are ranked, and each says how sure
//! it is and what speaks against it. `witness.rs` asks for a second witness where numbers look like times, `ids.rs` and `uuids.rs`
//! know identifiers, `tagged.rs` and `untagged.rs` keys of HBase's `OrderedBytes`, Phoenix and `OpenTSDB`.

mod addresses;
mod binary;
mod chance;
mod clusters;
mod column;
mod derived;
mod draft;
mod gaps;
mod ids;
mod inputs;
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
use halite_types::TableName;

use crate::language::print_table;
use crate::lint::{Finding, Sample, Subject, lint};
use crate::schema::{Field, KeySchema, Profile, Segment, SegmentKind};
use crate::value::FieldType;

use draft::{Draft, Piece};
use sample::Seen;

/// Keys that guesses are made from; all keys are used to hold them against.
const MODEL_KEYS_MAX: usize = 1_000;
/// Bytes of a key that guesses are made from; longer ones are only held against them.
const MODEL_KEY_BYTES_MAX: usize = 1_024;
/// Guesses that are held against all keys.
const VERIFIED_MAX: usize = 12;
/// From here on keys show so much that it does not matter where in the table they are from; below it, how much less is
/// proven by keys that may be the first ones.
const SURE: f64 = 0.9;
const FIRST_KEYS: f64 = 0.9;
/// How sure it is that text or bytes in which no structure is found have none.
const ONE_VALUE_SURE: f64 = 0.8;
/// Fewer keys prove little.
const KEYS_ENOUGH: usize = 40;
/// Of 100 keys a part of text or of bytes has so many, or no guess is made from it.
const PART_MIN: usize = 10;

/// What chance begins with where some of many keys are taken: the same keys give the same answer.
const SAMPLE_SEED: u64 = 0x6b65_7973;

/// How much is looked at and told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InferOptions {
    /// Keys that are looked at, at most; of more, some from all over.
    pub keys_max: usize,
    /// Schemas that are returned.
    pub candidates: usize,
    /// Keys that a schema does not explain, told for each.
    pub counter_examples: usize,
    /// What time it is, in milliseconds since 1970: buckets of time end near it.
    pub now_ms: Option<i64>,
    /// Whether the keys come from all over the table. Keys in order may else be its first ones, in which much is alike.
    pub from_all_over: bool,
}

impl Default for InferOptions {
    fn default() -> Self {
        Self { keys_max: 10_000, candidates: 3, counter_examples: 5, now_ms: None, from_all_over: false }
    }
}

/// What keys were found to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Inference {
    /// Keys that were looked at.
    pub keys: usize,
    /// Keys that there were; more than were looked at where these are a sample of them.
    pub given: usize,
    /// Schemas, the likeliest first; none if there were no keys.
    pub candidates: Vec<Inferred>,
    /// What lint sees in the keys themselves, negative salts (K-NEGMOD) among them.
    pub findings: Vec<Finding>,
    /// What cannot be told from these keys, or not be declared.
    pub notes: Vec<String>,
}

/// A schema that keys may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Inferred {
    /// The schema; names of fields are guesses, and may be changed without changing a key.
    pub schema: KeySchema,
    /// Keys that it explains: they can be taken apart, derived parts are what they should be, and the values give the same
    /// key again.
    pub explained: usize,
    /// Keys that were looked at.
    pub keys: usize,
    /// How sure it is that the keys are made so, 0 to 1: of claims with 0.9, one of ten may be wrong. Keys that cannot tell
    /// apart what they are give less, however many of them the schema explains.
    pub confidence: f64,
    /// What speaks against it, or what else the keys may be, and what would tell, in sentences.
    pub doubts: Vec<String>,
    /// Some of the keys that it does not explain.
    pub counter_examples: Vec<CounterExample>,
    /// What speaks for each segment, in their order.
    pub evidence: Vec<Evidence>,
    /// What should be known beside that.
    pub notes: Vec<String>,
}

/// A key that a schema does not explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterExample {
    /// The key.
    pub key: Bytes,
    /// Why not.
    pub reason: String,
}

/// What speaks for a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Where it lies in keys, as in `0..8`; `?` where that differs.
    pub place: String,
    /// What speaks for it.
    pub says: String,
}

impl Inferred {
    /// The share of the keys that it explains, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
    pub fn share(&self) -> f64 {
        self.explained as f64 / self.keys.max(1) as f64
    }

    /// The statement that declares it for a table.
    pub fn statement(&self, table: &TableName) -> String {
        format!("ALTER TABLE {} ADOPT {}", print_table(table), self.schema)
    }
}

/// The schemas that `keys` may have, the likeliest first. `cell_times_ms` are times of cells in the keys' rows, one for each
/// key in the same order, or none at all; with them buckets of time are told from other numbers, and rising keys are seen.
pub fn infer(keys: &[Bytes], cell_times_ms: &[i64], options: &InferOptions) -> Inference {
    let given = keys.len();
    let places = some_of(given, options.keys_max.max(1));
    let times: Vec<i64> = if cell_times_ms.len() == given { places.iter().map(|&at| cell_times_ms[at]).collect() } else { Vec::new() };
    let keys: Vec<Bytes> = places.into_iter().map(|at| keys[at].clone()).collect();
    let mut inference = Inference { keys: keys.len(), given, candidates: Vec::new(), findings: findings(&keys, &times), notes: Vec::new() };
    if keys.is_empty() {
        return inference;
    }
    let seen = model(&keys, times, options.now_ms);
    let texts = seen.only(column::is_text);
    let others = seen.only(|key| !column::is_text(key));
    let is_part = |part: &Seen<'_>| !part.keys.is_empty() && part.keys.len() * 100 >= seen.keys.len() * PART_MIN;
    let mut drafts: HashMap<String, (Draft, KeySchema, f64)> = HashMap::new();
    if is_part(&texts) {
        for (draft, places) in text::drafts(&texts) {
            keep(draft, &texts.at(&places), &seen, &mut drafts);
        }
    }
    if is_part(&others) {
        binary::drafts(&others).into_iter().for_each(|draft| keep(draft, &others, &seen, &mut drafts));
        inference.notes.extend(binary::without_end(&others));
    }
    inference.candidates = ranked(drafts, &keys, options);
    inference
}

/// Some keys from all over, in the order in which they were given.
fn model(keys: &[Bytes], times: Vec<i64>, now_ms: Option<i64>) -> Seen<'_> {
    let all = Seen { keys: keys.iter().map(|key| &key[..]).collect(), times_ms: times, now_ms, is_plain: false };
    let short: Vec<usize> = (0..keys.len()).filter(|&at| (1..=MODEL_KEY_BYTES_MAX).contains(&keys[at].len())).collect();
    all.at(&some_of(short.len(), MODEL_KEYS_MAX).into_iter().map(|at| short[at]).collect::<Vec<_>>())
}

/// Proves what can be proven of a draft, and keeps it if it explains something of the keys it was made from.
fn keep(draft: Draft, own: &Seen<'_>, all: &Seen<'_>, kept: &mut HashMap<String, (Draft, KeySchema, f64)>) {
    if draft.pieces.is_empty() {
        return;
    }
    let Some(draft) = derived::prove(draft, &own.keys) else { return };
    let Some(schema) = draft.schema().filter(|schema| draft.finds_its_pieces(schema, &own.keys)) else { return };
    let explained = all.keys.iter().filter(|key| schema.decode(key).is_ok()).count();
    let score = score(explained, all.keys.len(), &draft);
    let text = schema.to_text();
    if explained > 0 && kept.get(&text).is_none_or(|(_, _, other)| *other < score) {
        kept.insert(text, (draft, schema, score));
    }
}

/// How good a guess is: how much it says, of how many of the keys.
#[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
fn score(explained: usize, keys: usize, draft: &Draft) -> f64 {
    let says = if is_one_value(draft) { 0.0 } else { draft.points() };
    explained as f64 / keys.max(1) as f64 * (1.0 + says)
}

/// Whether it says no more than that keys are text or bytes.
fn is_one_value(draft: &Draft) -> bool {
    let is_any =
        |piece: &Piece| matches!(piece.content, draft::Content::Field { ty: FieldType::String | FieldType::Bytes, how: draft::How::Plain, .. });
    matches!(draft.pieces.as_slice(), [only] if is_any(only)) && draft.profile != (Profile::Ordered { compat: false })
}

/// The best drafts, held against all keys; behind them the key as one value, which is always right and says nothing.
fn ranked(drafts: HashMap<String, (Draft, KeySchema, f64)>, keys: &[Bytes], options: &InferOptions) -> Vec<Inferred> {
    let mut drafts: Vec<_> = drafts.into_iter().map(|(text, (draft, schema, score))| (score, text, draft, schema)).collect();
    drafts.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    drafts.truncate(VERIFIED_MAX);
    let verified = |(_, _, draft, schema): (f64, String, Draft, KeySchema)| inferred(&draft, schema, keys, options);
    let mut found: Vec<(f64, Inferred)> = drafts.into_iter().map(verified).collect();
    found.extend(whole_key(keys).map(|(draft, schema)| inferred(&draft, schema, keys, options)));
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut candidates: Vec<Inferred> = found.into_iter().map(|(_, inferred)| inferred).filter(|inferred| inferred.explained > 0).collect();
    let mut texts = HashSet::new();
    candidates.retain(|inferred| texts.insert(inferred.schema.to_text()));
    others_first(&mut candidates);
    candidates.truncate(options.candidates.max(1));
    share_out(&mut candidates);
    candidates
}

fn inferred(draft: &Draft, schema: KeySchema, keys: &[Bytes], options: &InferOptions) -> (f64, Inferred) {
    let verified = verify::verify(&schema, keys, options.counter_examples);
    let place = |at: usize| {
        let shown = |place: Option<&Option<usize>>| place.copied().flatten().map_or("?".to_owned(), |place| place.to_string());
        format!("{}..{}", shown(verified.begins.get(at)), shown(verified.ends.get(at)))
    };
    let evidence = draft.pieces.iter().enumerate().map(|(at, piece)| Evidence { place: place(at), says: piece.evidence.clone() }).collect();
    let score = score(verified.explained, keys.len(), draft);
    let (explained, counter_examples) = (verified.explained, verified.counter_examples);
    let (mut sure, mut doubts) = (confidence(draft, explained, keys), Vec::new());
    if sure < SURE && !options.from_all_over && keys.len() > 1 && keys.is_sorted() {
        sure *= FIRST_KEYS;
        doubts.push("the keys are in order: if they are the first ones of a table, others may begin in another way".to_owned());
    }
    for (at, piece) in draft.pieces.iter().enumerate().filter(|(_, piece)| !piece.doubt.is_empty()) {
        doubts.push(format!("segment {}: {}", at + 1, piece.doubt));
    }
    if keys.len() < KEYS_ENOUGH {
        doubts.push(format!("{} keys are few", keys.len()));
    }
    if explained < keys.len() {
        doubts.push("other keys are there too: a table of several kinds of rows, or rows that were written by mistake".to_owned());
    }
    (score, Inferred { schema, explained, keys: keys.len(), confidence: sure, doubts, counter_examples, evidence, notes: draft.notes.clone() })
}

/// How sure a draft is: as sure as its least sure piece, of the share of the keys that it explains, and less of few keys.
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

/// Behind the best, schemas that make something else of the keys go before those that cut them in another way only.
fn others_first(candidates: &mut Vec<Inferred>) {
    let claims: Vec<_> = candidates.iter().map(|one| claims(&one.schema)).collect();
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&at| at > 0 && claims[..at].contains(&claims[at]));
    let mut taken: Vec<Option<Inferred>> = std::mem::take(candidates).into_iter().map(Some).collect();
    candidates.extend(order.into_iter().filter_map(|at| taken[at].take()));
}

/// What a schema says beyond where values end: the profile, and how many times, identifiers, salts and digests there are. Those that have
/// no type are known by the names that are guessed for them.
fn claims(schema: &KeySchema) -> (Profile, [usize; 4]) {
    let mut counts = [0; 4];
    for segment in schema.segments() {
        let field = segment.kind.field().map(|field| &schema.fields()[field]);
        let is_named = |names: &[&str]| field.is_some_and(|field| names.contains(&field.name.trim_end_matches(|last: char| last.is_ascii_digit())));
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

/// Schemas that contradict each other are not likely together: those behind the first share what it leaves.
fn share_out(candidates: &mut [Inferred]) {
    let mut left = 1.0_f64;
    for candidate in candidates {
        candidate.confidence *= left;
        left = (left - candidate.confidence).max(0.0);
    }
}

/// The key as one value.
fn whole_key(keys: &[Bytes]) -> Option<(Draft, KeySchema)> {
    let is_text = keys.iter().all(|key| column::is_text(key));
    let ty = if is_text { FieldType::String } else { FieldType::Bytes };
    let values: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let mut draft = Draft::new(Profile::Bin);
    draft.push(Piece::field(ty, "key", "nothing is said of what is in it", 0.0, &values).sure(0.5, "no structure was found; there may be one"));
    let field = Field { name: "key".to_owned(), ty, pattern: None };
    let schema = KeySchema::new(Profile::Bin, vec![field], vec![Segment::new(SegmentKind::Plain(0))]).ok()?;
    Some((draft, schema))
}

/// What lint's rules about samples say; with times, keys are put in the order of these.
fn findings(keys: &[Bytes], times: &[i64]) -> Vec<Finding> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let distinct = times.iter().collect::<HashSet<_>>().len();
    // Keys of one time may have come in any order. Where most share theirs, as those of a bulk load do, times say nothing of the order.
    let is_in_arrival_order = !times.is_empty() && distinct * 2 >= times.len();
    if is_in_arrival_order {
        // The greatest of one time stands first, so that a key only rises above those of earlier times.
        order.sort_by(|&a, &b| times[a].cmp(&times[b]).then_with(|| keys[b].cmp(&keys[a])));
    }
    let sample = Sample { keys: order.into_iter().map(|at| keys[at].clone()).collect(), is_in_arrival_order };
    lint(&Subject { sample: Some(&sample), ..Subject::default() })
}

/// Places of `wanted` of so many keys, drawn by chance and in the order of the keys: in even steps, lines that alternate would
/// all be of one kind.
fn some_of(count: usize, wanted: usize) -> Vec<usize> {
    if count <= wanted {
        return (0..count).collect();
    }
    let mut places = Rng::with_seed(SAMPLE_SEED).choose_multiple(0..count, wanted);
    places.sort_unstable();
    places
}
