//! Detection of salts and digests of other fields: every function is tried over every sequence of
//! fields, and agreement in nearly all keys is proof.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use halite_rowkey::internals::{MAX_DIGEST_BYTES, digest, number};
use halite_rowkey::schema::{HashFunction, MAX_SALTS, Profile};

use super::column::{self, Column};
use super::draft::{Content, DerivedCandidate, Draft, DraftSegment, FieldEncoding};
use super::inputs::{DecodedRow, input};

/// Maximum keys examined for a proof.
const MAX_ROWS: usize = 400;
/// Minimum percentage of keys that agree; the others are counter-examples.
const MIN_AGREEMENT_PERCENT: usize = 90;
/// Bits that agree randomly less than once in 2^32 keys; far fewer combinations are tried.
const MIN_BITS: f64 = 32.0;
/// Bits for salts, whose number is free and costs some bits.
const MIN_SALT_BITS: f64 = 26.0;
/// Maximum fields of a key whose sequences are tried.
const MAX_FIELDS: usize = 8;
/// Number of differences that are combined: the greatest common divisor of hashes minus salts is
/// the number of salts.
const CHUNK: usize = 12;

/// Confidence of a proof: a few values in the keys may agree randomly.
const PROVEN_SURE: f64 = 0.98;
/// Confidence that unexplained numbers are generated salts.
const DRAWN_SURE: f64 = 0.7;
const DRAWN_DOUBT: &str =
    "a small number of its own, like a kind or a state, looks the same as a salt that was drawn";

/// Penalty for a boundary that only the proof supports.
const PARTED_PENALTY: f64 = 0.5;

/// Returns the draft with its candidates for derived parts resolved. `None` if digits were split
/// for a candidate that was not confirmed.
pub(super) fn prove(mut draft: Draft, keys: &[&[u8]]) -> Option<Draft> {
    let suspects: Vec<usize> = (0..draft.segments.len())
        .filter(|&at| draft.segments[at].derived_candidate.is_some())
        .collect();
    for at in suspects {
        let schema = draft.schema()?;
        let rows: Vec<DecodedRow<'_>> = keys
            .iter()
            .filter_map(|key| DecodedRow::from_key(&schema, key))
            .take(MAX_ROWS)
            .collect();
        if rows.is_empty() {
            return None;
        }
        let proof = derived_match(&draft, at, &rows);
        let piece = &mut draft.segments[at];
        let is_parted = piece.points <= 0.0;
        match proof {
            Some(proof) => {
                draft.penalty += if is_parted { PARTED_PENALTY } else { 0.0 };
                proof.put_into(&mut draft, at);
            }
            None if is_parted => return None,
            None => drawn(&mut draft, at, keys),
        }
    }
    (!is_cut_short(&draft)).then_some(draft)
}

/// Returns `true` if a digest is followed by bytes that look like its rest, without another reason
/// for the split.
fn is_cut_short(draft: &Draft) -> bool {
    let is_hash = |piece: &DraftSegment| matches!(piece.content, Content::Hash { .. });
    draft.penalty > 0.0
        && draft.segments.windows(2).any(|pair| {
            is_hash(&pair[0])
                && pair[1].is_field()
                && pair[1].derived_candidate.is_some()
                && pair[1].points < 0.5
        })
}

/// Function found for a candidate.
struct DerivedMatch {
    content: Content,
    agree: usize,
    of: usize,
    /// Segments of the input.
    run: Range<usize>,
}

impl DerivedMatch {
    fn put_into(self, draft: &mut Draft, at: usize) {
        let fields: Vec<String> = draft.segments[self.run.clone()]
            .iter()
            .filter(|piece| piece.is_field())
            .map(|piece| piece.name.clone())
            .collect();
        let of = fields.join(" and ");
        let counted = format!("{} of {} keys", self.agree, self.of);
        let (evidence, points) = match &self.content {
            Content::Hash { function, bytes, hex, digits, .. } => {
                let length = match (hex, digits) {
                    (true, Some(digits)) => format!("{digits} hexadecimal digits"),
                    (true, None) => format!("{} hexadecimal digits", 2 * u16::from(*bytes)),
                    (false, _) => format!("{bytes} bytes"),
                };
                // A wider digest explains more of the key.
                (
                    format!("the first {length} of {} of {of}: {counted}", function.name()),
                    4.0 + f64::from(*bytes) / 8.0,
                )
            }
            Content::Salt { function: HashFunction::Modulo, count, .. } => {
                (format!("{of} modulo {count}: {counted}"), 4.0)
            }
            Content::Salt { function, count, .. } => {
                (format!("{} of {of}, modulo {count}: {counted}", function.name()), 4.0)
            }
            Content::Literal(_) | Content::Field { .. } => {
                let piece = &mut draft.segments[at];
                "prefix".clone_into(&mut piece.name);
                piece.evidence = format!(
                    "a letter that counts salts computed from {of}; no declaration writes salts as \
                     letters, so it is declared as a field"
                );
                return;
            }
        };
        // The input of a digest is split at the correct boundaries.
        for piece in draft.segments[self.run]
            .iter_mut()
            .filter(|piece| piece.is_field() && piece.doubt.is_empty())
        {
            piece.sure = piece.sure.max(PROVEN_SURE);
        }
        let piece = &mut draft.segments[at];
        piece.evidence = evidence;
        piece.points = points;
        piece.content = self.content;
        (piece.sure, piece.doubt) = (PROVEN_SURE, String::new());
    }
}

fn derived_match(draft: &Draft, at: usize, rows: &[DecodedRow<'_>]) -> Option<DerivedMatch> {
    let mut best: Option<DerivedMatch> = None;
    for run in runs(draft, at) {
        for (_, function) in HashFunction::NAMES {
            let found = is_digest(draft, at, &run, *function, rows)
                .or_else(|| is_salt(draft, at, &run, *function, rows));
            best = match (best, found) {
                (Some(best), Some(found)) if found.agree <= best.agree => Some(best),
                (best, found) => found.or(best),
            };
        }
    }
    best
}

/// Returns the sequences of segments from a field to a field, without the candidate, shortest
/// first.
fn runs(draft: &Draft, suspect: usize) -> Vec<Range<usize>> {
    let is_whole = |at: &usize| {
        matches!(
            draft.segments[*at].content,
            Content::Field { encoding: FieldEncoding::Plain | FieldEncoding::Reverse, .. }
        )
    };
    let fields: Vec<usize> = (0..draft.segments.len())
        .filter(|at| *at != suspect && draft.segments[*at].is_field())
        .take(MAX_FIELDS)
        .collect();
    let mut runs = Vec::new();
    for (from, &first) in fields.iter().enumerate() {
        for &last in &fields[from..] {
            let between = || fields.iter().filter(|at| (first..=last).contains(*at));
            let derived = (first..=last).any(|at| {
                matches!(draft.segments[at].content, Content::Hash { .. } | Content::Salt { .. })
            });
            if !(first..=last).contains(&suspect) && !derived && between().all(is_whole) {
                runs.push(first..last + 1);
            }
        }
    }
    runs.sort_by_key(ExactSizeIterator::len);
    runs
}

fn is_digest(
    draft: &Draft,
    at: usize,
    run: &Range<usize>,
    function: HashFunction,
    rows: &[DecodedRow<'_>],
) -> Option<DerivedMatch> {
    let most = function.digest_bytes()?;
    let hex = draft.segments[at].derived_candidate? == DerivedCandidate::Digits;
    let width = rows.first()?.bytes(at).len();
    let is_even = width.is_multiple_of(2);
    if width == 0
        || width > if hex { 2 * most } else { most }
        || hex && !is_even && draft.profile != Profile::Text
    {
        return None;
    }
    let mut seen = HashSet::new();
    let mut agree = 0;
    for (looked, row) in rows.iter().enumerate() {
        let of = input(draft, row, run)?;
        if digest_begins(function, &of, row.bytes(at), hex) {
            agree += 1;
            seen.insert(row.bytes(at));
        } else if looked >= 8 && agree * 2 < looked || looked == rows.len().min(3) - 1 && agree == 0
        {
            return None;
        }
    }
    let bits = f64::from(u32::try_from(seen.len() * width).unwrap_or(u32::MAX))
        * if hex { 4.0 } else { 8.0 };
    if agree * 100 < rows.len() * MIN_AGREEMENT_PERCENT || bits < MIN_BITS || seen.len() < 2 {
        return None;
    }
    let bytes = u8::try_from(if hex { width.div_ceil(2) } else { width }).ok()?;
    let digits =
        if hex && draft.profile == Profile::Text { u8::try_from(width).ok() } else { None };
    Some(DerivedMatch {
        content: Content::Hash { of: run.clone().collect(), function, bytes, hex, digits },
        agree,
        of: rows.len(),
        run: run.clone(),
    })
}

fn digest_begins(
    function: HashFunction,
    of: &super::inputs::Owned,
    found: &[u8],
    hex: bool,
) -> bool {
    let mut room = [0; MAX_DIGEST_BYTES];
    let Some(bytes) = digest(function, of.borrowed(), &mut room) else { return false };
    if !hex {
        return bytes.starts_with(found);
    }
    let digit = |at: usize| {
        let byte = bytes.get(at / 2)?;
        let nibble = if at.is_multiple_of(2) { byte >> 4 } else { byte & 15 };
        char::from_digit(nibble.into(), 16)
    };
    found.iter().enumerate().all(|(at, byte)| digit(at) == Some(char::from(*byte)))
}

fn is_salt(
    draft: &Draft,
    at: usize,
    run: &Range<usize>,
    function: HashFunction,
    rows: &[DecodedRow<'_>],
) -> Option<DerivedMatch> {
    let suspect = draft.segments[at].derived_candidate?;
    let width = rows.first()?.bytes(at).len();
    let mut pairs = Vec::with_capacity(rows.len());
    for row in rows {
        let hash = number(function, input_of_salt(draft, row, run, function)?.borrowed())?;
        pairs.push((hash, i128::from(salt_of(row.bytes(at), suspect)?)));
        // A number that equals the hash minus a constant is not a salt; most attempts end here.
        if pairs.len() == 2 * CHUNK && pairs.chunks(CHUNK).all(is_no_salt) {
            return None;
        }
    }
    let count = salts(&pairs)?;
    let agree = pairs.iter().filter(|(hash, salt)| hash.rem_euclid(count.into()) == *salt).count();
    let inputs = pairs.iter().collect::<HashSet<_>>().len();
    let bits = f64::from(u32::try_from(inputs).unwrap_or(u32::MAX)) * f64::from(count).log2();
    let is_written = match suspect {
        DerivedCandidate::Raw => {
            draft.profile != Profile::Text && width == if count <= 256 { 1 } else { 2 }
        }
        DerivedCandidate::Digits => {
            draft.profile == Profile::Text
                && width >= (count - 1).checked_ilog10().map_or(1, |power| power as usize + 1)
        }
        DerivedCandidate::Letter => true,
    };
    if agree * 100 < rows.len() * MIN_AGREEMENT_PERCENT || bits < MIN_SALT_BITS || !is_written {
        return None;
    }
    let digits = (suspect == DerivedCandidate::Digits).then(|| u8::try_from(width).ok()).flatten();
    let content = match suspect {
        DerivedCandidate::Letter => Content::Literal(bytes::Bytes::new()),
        _ => Content::Salt { of: run.clone().collect(), function, count, digits },
    };
    Some(DerivedMatch { content, agree, of: rows.len(), run: run.clone() })
}

/// Returns the input of a salt: the integer for remainders, the hash input for all other functions.
fn input_of_salt(
    draft: &Draft,
    row: &DecodedRow<'_>,
    run: &Range<usize>,
    function: HashFunction,
) -> Option<super::inputs::Owned> {
    match function {
        HashFunction::Modulo if run.len() == 1 => row.integer(draft, run.start),
        HashFunction::Modulo => None,
        _ => input(draft, row, run),
    }
}

fn salt_of(bytes: &[u8], suspect: DerivedCandidate) -> Option<u64> {
    match (suspect, bytes) {
        (DerivedCandidate::Raw, &[salt]) => Some(salt.into()),
        (DerivedCandidate::Raw, &[high, low]) => Some(u64::from(high) << 8 | u64::from(low)),
        (DerivedCandidate::Digits, digits) if digits.len() <= 5 => column::number(digits),
        (DerivedCandidate::Letter, &[letter]) => {
            Some(u64::from(letter.to_ascii_lowercase().wrapping_sub(b'a')))
        }
        _ => None,
    }
}

/// Returns `true` if no number of salts explains these pairs of hash and salt; a single wrong key
/// is sufficient.
fn is_no_salt(pairs: &[(i128, i128)]) -> bool {
    pairs.iter().map(|(_, salt)| *salt).max().is_some_and(|most| divisor(pairs) <= most)
}

/// Returns the number of salts on which most of the keys agree.
fn salts(pairs: &[(i128, i128)]) -> Option<u32> {
    let mut distinct: Vec<(i128, i128)> = Vec::new();
    let mut seen = HashSet::new();
    distinct.extend(pairs.iter().filter(|pair| seen.insert(**pair)));
    let greatest = distinct.iter().map(|(_, salt)| *salt).max().filter(|salt| *salt > 0)?;
    let mut votes: HashMap<i128, usize> = HashMap::new();
    for chunk in distinct.chunks(CHUNK).filter(|chunk| chunk.len() >= CHUNK.min(distinct.len())) {
        *votes.entry(divisor(chunk)).or_insert(0) += 1;
    }
    let likely = votes
        .into_iter()
        .filter(|(count, _)| *count > 1)
        .max_by_key(|(count, votes)| (*votes, *count))
        .map(|(count, _)| count)?;
    // For few keys the divisor may be a multiple of the number of salts.
    let parts = (1..=4096_i128).filter(|part| likely % part == 0).map(|part| likely / part);
    let count = parts.into_iter().find(|count| *count <= MAX_SALTS.into())?;
    if count * 20 < greatest * 19 { None } else { u32::try_from(count).ok() }
}

/// Returns the greatest number that divides every hash minus its salt.
fn divisor(pairs: &[(i128, i128)]) -> i128 {
    pairs.iter().fold(0_i128, |divisor, (hash, salt)| {
        let (mut a, mut b) = (divisor, (hash - salt).abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    })
}

/// Resolves an unexplained candidate: a generated salt if it looks like one, otherwise a field.
fn drawn(draft: &mut Draft, at: usize, keys: &[&[u8]]) {
    let is_first =
        draft.segments[..at].iter().all(|piece| matches!(piece.content, Content::Literal(_)));
    let Some(schema) = draft.schema().filter(|_| is_first) else { return };
    let rows: Vec<DecodedRow<'_>> =
        keys.iter().filter_map(|key| DecodedRow::from_key(&schema, key)).collect();
    let column = Column::from_values(rows.iter().map(|row| row.bytes(at)).collect());
    let suspect = draft.segments[at].derived_candidate.unwrap_or(DerivedCandidate::Raw);
    let Some(count) = evenly_used(&column, suspect) else { return };
    let twice = under_several(&rows, at);
    let evidence = format!(
        "{count} values, as often one as the other; no tested digest or remainder of the fields \
         gives them: they are random, in rotation, or from an unknown function{}",
        twice.map_or_else(String::new, |evidence| format!("; {evidence}"))
    );
    draft.notes.push(format!(
        "which salt a row has cannot be computed from the key's other fields: a row is found by \
         asking for all {count} of them"
    ));
    let piece: &mut DraftSegment = &mut draft.segments[at];
    piece.evidence = evidence;
    piece.points = 2.0;
    (piece.sure, piece.doubt) = (DRAWN_SURE, DRAWN_DOUBT.to_owned());
    let digits = (suspect == DerivedCandidate::Digits)
        .then(|| column.width().and_then(|width| u8::try_from(width).ok()))
        .flatten();
    if suspect == DerivedCandidate::Letter {
        "prefix".clone_into(&mut piece.name);
    } else {
        piece.content =
            Content::Salt { of: Vec::new(), function: HashFunction::Random, count, digits };
    }
}

/// Returns the number of values, if they are all the salts from 0 on (for letters, from `a` on) and
/// about equally frequent.
fn evenly_used(column: &Column<'_>, suspect: DerivedCandidate) -> Option<u32> {
    let salts =
        column.values.iter().map(|value| salt_of(value, suspect)).collect::<Option<Vec<_>>>()?;
    let count = usize::try_from(salts.iter().max()? + 1).ok()?;
    let each = column.values.len() / count.max(1);
    // A deviation that occurs randomly about once in a thousand times.
    let allowed = 1.0 + 4.0 / f64::from(u32::try_from(each.max(1)).ok()?).sqrt();
    (count >= 2 && column.distinct == count && each >= 5 && column.unevenness() <= allowed)
        .then(|| u32::try_from(count).ok())
        .flatten()
}

/// Describes rows that exist under several salts, which proves that these were generated.
fn under_several(rows: &[DecodedRow<'_>], at: usize) -> Option<String> {
    let mut salts: HashMap<&[u8], (&[u8], usize)> = HashMap::new();
    let mut several = 0;
    let mut example = None;
    for row in rows {
        let (salt, rest) = (row.bytes(at), row.after(at));
        let (first, count) = salts.entry(rest).or_insert((salt, 0));
        if *first != salt {
            *count += 1;
            several += usize::from(*count == 1);
            example.get_or_insert((rest, *first, salt));
        }
    }
    let (rest, one, other) = example?;
    let shown = halite_types::key::to_string_binary;
    Some(format!(
        "{several} rows exist under more than one salt, {} under {} and {} for one",
        shown(rest),
        shown(one),
        shown(other)
    ))
}
