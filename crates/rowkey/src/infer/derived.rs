//! Whether digits or bytes are a salt or a digest of other fields: every function over every run of fields is tried, and what
//! agrees in nearly all keys is proof.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::column::{self, Column};
use super::draft::{Content, Draft, How, Piece, Suspect};
use super::inputs::{Row, input};
use crate::codec::HEX_DIGITS;
use crate::hash::{DIGEST_BYTES_MAX, digest, number};
use crate::schema::{HashFunction, Profile, SALTS_MAX};

/// Keys that are looked at for a proof.
const ROWS_MAX: usize = 400;
/// Of 100 keys so many agree with what was found; the others are counter-examples.
const AGREE_MIN: usize = 90;
/// Bits that agree by chance less than once in 2^32 keys; what was tried is far less than that.
const BITS_MIN: f64 = 32.0;
/// The same for salts, whose number is free and costs some bits.
const SALT_BITS_MIN: f64 = 26.0;
/// Fields of a key whose runs are tried.
const FIELDS_MAX: usize = 8;
/// Differences of salts that are taken together: their greatest common divisor is the number of salts.
const CHUNK: usize = 12;

/// How sure what is proven is: the keys may be those of a few values that agree.
const PROVEN_SURE: f64 = 0.98;
/// How sure it is that numbers that nothing explains are salts.
const DRAWN_SURE: f64 = 0.7;
const DRAWN_DOUBT: &str = "a small number of its own, like a kind or a state, looks the same as a salt that was drawn";

/// Points that a border costs which nothing but the proof shows.
const PARTED_PENALTY: f64 = 0.5;

/// The draft with what its suspects turned out to be. `None` if digits were parted from others on a suspicion that did not
/// come true.
pub(super) fn prove(mut draft: Draft, keys: &[&[u8]]) -> Option<Draft> {
    let suspects: Vec<usize> = (0..draft.pieces.len()).filter(|&at| draft.pieces[at].suspect.is_some()).collect();
    for at in suspects {
        let schema = draft.schema()?;
        let rows: Vec<Row<'_>> = keys.iter().filter_map(|key| Row::of(&schema, key)).take(ROWS_MAX).collect();
        if rows.is_empty() {
            return None;
        }
        let proof = proven(&draft, at, &rows);
        let piece = &mut draft.pieces[at];
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

/// Whether bytes that look like the rest of a digest stand behind one that nothing else parts from them.
fn is_cut_short(draft: &Draft) -> bool {
    let is_hash = |piece: &Piece| matches!(piece.content, Content::Hash { .. });
    draft.penalty > 0.0
        && draft.pieces.windows(2).any(|pair| is_hash(&pair[0]) && pair[1].is_field() && pair[1].suspect.is_some() && pair[1].points < 0.5)
}

/// What a suspect was found to be.
struct Proof {
    content: Content,
    agree: usize,
    of: usize,
    /// Which fields it is computed from, by their pieces.
    run: Range<usize>,
}

impl Proof {
    fn put_into(self, draft: &mut Draft, at: usize) {
        let fields: Vec<String> = draft.pieces[self.run.clone()].iter().filter(|piece| piece.is_field()).map(|piece| piece.name.clone()).collect();
        let of = fields.join(" and ");
        let counted = format!("{} of {} keys", self.agree, self.of);
        let (said, points) = match &self.content {
            Content::Hash { function, bytes, hex, digits, .. } => {
                let what = match (hex, digits) {
                    (true, Some(digits)) => format!("{digits} hexadecimal digits"),
                    (true, None) => format!("{} hexadecimal digits", 2 * u16::from(*bytes)),
                    (false, _) => format!("{bytes} bytes"),
                };
                // A wider digest explains more of the key.
                (format!("the first {what} of {} of {of}: {counted}", function.name()), 4.0 + f64::from(*bytes) / 8.0)
            }
            Content::Salt { function: HashFunction::Modulo, count, .. } => (format!("{of} modulo {count}: {counted}"), 4.0),
            Content::Salt { function, count, .. } => (format!("{} of {of}, modulo {count}: {counted}", function.name()), 4.0),
            Content::Literal(_) | Content::Field { .. } => {
                let piece = &mut draft.pieces[at];
                "prefix".clone_into(&mut piece.name);
                piece.evidence =
                    format!("a letter that counts salts computed from {of}; no declaration writes salts as letters, so it stands as a field");
                return;
            }
        };
        // What a digest is of is cut where it should be.
        for piece in draft.pieces[self.run].iter_mut().filter(|piece| piece.is_field() && piece.doubt.is_empty()) {
            piece.sure = piece.sure.max(PROVEN_SURE);
        }
        let piece = &mut draft.pieces[at];
        piece.evidence = said;
        piece.points = points;
        piece.content = self.content;
        (piece.sure, piece.doubt) = (PROVEN_SURE, String::new());
    }
}

fn proven(draft: &Draft, at: usize, rows: &[Row<'_>]) -> Option<Proof> {
    let mut best: Option<Proof> = None;
    for run in runs(draft, at) {
        for (_, function) in HashFunction::NAMES {
            let found = is_digest(draft, at, &run, *function, rows).or_else(|| is_salt(draft, at, &run, *function, rows));
            best = match (best, found) {
                (Some(best), Some(found)) if found.agree <= best.agree => Some(best),
                (best, found) => found.or(best),
            };
        }
    }
    best
}

/// Pieces from a field to a field, without the suspect, the shortest first: what is left out of a run changes nothing.
fn runs(draft: &Draft, suspect: usize) -> Vec<Range<usize>> {
    let is_whole = |at: &usize| matches!(draft.pieces[*at].content, Content::Field { how: How::Plain | How::Reverse, .. });
    let fields: Vec<usize> = (0..draft.pieces.len()).filter(|at| *at != suspect && draft.pieces[*at].is_field()).take(FIELDS_MAX).collect();
    let mut runs = Vec::new();
    for (from, &first) in fields.iter().enumerate() {
        for &last in &fields[from..] {
            let between = || fields.iter().filter(|at| (first..=last).contains(*at));
            let derived = (first..=last).any(|at| matches!(draft.pieces[at].content, Content::Hash { .. } | Content::Salt { .. }));
            if !(first..=last).contains(&suspect) && !derived && between().all(is_whole) {
                runs.push(first..last + 1);
            }
        }
    }
    runs.sort_by_key(ExactSizeIterator::len);
    runs
}

fn is_digest(draft: &Draft, at: usize, run: &Range<usize>, function: HashFunction, rows: &[Row<'_>]) -> Option<Proof> {
    let most = function.digest_bytes()?;
    let hex = draft.pieces[at].suspect? == Suspect::Digits;
    let width = rows.first()?.bytes(at).len();
    let is_even = width.is_multiple_of(2);
    if width == 0 || width > if hex { 2 * most } else { most } || hex && !is_even && draft.profile != Profile::Text {
        return None;
    }
    let mut seen = HashSet::new();
    let mut agree = 0;
    for (looked, row) in rows.iter().enumerate() {
        let of = input(draft, row, run)?;
        if digest_begins(function, &of, row.bytes(at), hex) {
            agree += 1;
            seen.insert(row.bytes(at));
        } else if looked >= 8 && agree * 2 < looked || looked == rows.len().min(3) - 1 && agree == 0 {
            return None;
        }
    }
    let bits = f64::from(u32::try_from(seen.len() * width).unwrap_or(u32::MAX)) * if hex { 4.0 } else { 8.0 };
    if agree * 100 < rows.len() * AGREE_MIN || bits < BITS_MIN || seen.len() < 2 {
        return None;
    }
    let bytes = u8::try_from(if hex { width.div_ceil(2) } else { width }).ok()?;
    let digits = if hex && draft.profile == Profile::Text { u8::try_from(width).ok() } else { None };
    Some(Proof { content: Content::Hash { of: run.clone().collect(), function, bytes, hex, digits }, agree, of: rows.len(), run: run.clone() })
}

fn digest_begins(function: HashFunction, of: &super::inputs::Owned, found: &[u8], hex: bool) -> bool {
    let mut room = [0; DIGEST_BYTES_MAX];
    let Some(bytes) = digest(function, of.borrowed(), &mut room) else { return false };
    if !hex {
        return bytes.starts_with(found);
    }
    let digit = |at: usize| bytes.get(at / 2).map(|byte| HEX_DIGITS[usize::from(if at.is_multiple_of(2) { byte >> 4 } else { byte & 15 })]);
    found.iter().enumerate().all(|(at, byte)| digit(at) == Some(*byte))
}

fn is_salt(draft: &Draft, at: usize, run: &Range<usize>, function: HashFunction, rows: &[Row<'_>]) -> Option<Proof> {
    let suspect = draft.pieces[at].suspect?;
    let width = rows.first()?.bytes(at).len();
    let mut pairs = Vec::with_capacity(rows.len());
    for row in rows {
        let hash = number(function, input_of_salt(draft, row, run, function)?.borrowed())?;
        pairs.push((hash, i128::from(salt_of(row.bytes(at), suspect)?)));
        // A number that differs from the hash by itself only is no salt, and most of what is tried ends here.
        if pairs.len() == 2 * CHUNK && pairs.chunks(CHUNK).all(is_no_salt) {
            return None;
        }
    }
    let count = salts(&pairs)?;
    let agree = pairs.iter().filter(|(hash, salt)| hash.rem_euclid(count.into()) == *salt).count();
    let inputs = pairs.iter().collect::<HashSet<_>>().len();
    let bits = f64::from(u32::try_from(inputs).unwrap_or(u32::MAX)) * f64::from(count).log2();
    let is_written = match suspect {
        Suspect::Raw => draft.profile != Profile::Text && width == if count <= 256 { 1 } else { 2 },
        Suspect::Digits => draft.profile == Profile::Text && width >= (count - 1).checked_ilog10().map_or(1, |power| power as usize + 1),
        Suspect::Letter => true,
    };
    if agree * 100 < rows.len() * AGREE_MIN || bits < SALT_BITS_MIN || !is_written {
        return None;
    }
    let digits = (suspect == Suspect::Digits).then(|| u8::try_from(width).ok()).flatten();
    let content = match suspect {
        Suspect::Letter => Content::Literal(bytes::Bytes::new()),
        _ => Content::Salt { of: run.clone().collect(), function, count, digits },
    };
    Some(Proof { content, agree, of: rows.len(), run: run.clone() })
}

/// Remainders are of the integer, everything else of what a hash is of.
fn input_of_salt(draft: &Draft, row: &Row<'_>, run: &Range<usize>, function: HashFunction) -> Option<super::inputs::Owned> {
    match function {
        HashFunction::Modulo if run.len() == 1 => row.integer(draft, run.start),
        HashFunction::Modulo => None,
        _ => input(draft, row, run),
    }
}

fn salt_of(bytes: &[u8], suspect: Suspect) -> Option<u64> {
    match (suspect, bytes) {
        (Suspect::Raw, &[salt]) => Some(salt.into()),
        (Suspect::Raw, &[high, low]) => Some(u64::from(high) << 8 | u64::from(low)),
        (Suspect::Digits, digits) if digits.len() <= 5 => column::number(digits),
        (Suspect::Letter, &[letter]) => Some(u64::from(letter.to_ascii_lowercase().wrapping_sub(b'a'))),
        _ => None,
    }
}

/// Whether no number of salts explains these; one wrong key among them is enough for that.
fn is_no_salt(pairs: &[(i128, i128)]) -> bool {
    pairs.iter().map(|(_, salt)| *salt).max().is_some_and(|most| divisor(pairs) <= most)
}

/// The number of salts that most of the keys agree on.
fn salts(pairs: &[(i128, i128)]) -> Option<u32> {
    let mut distinct: Vec<(i128, i128)> = Vec::new();
    let mut seen = HashSet::new();
    distinct.extend(pairs.iter().filter(|pair| seen.insert(**pair)));
    let greatest = distinct.iter().map(|(_, salt)| *salt).max().filter(|salt| *salt > 0)?;
    let mut votes: HashMap<i128, usize> = HashMap::new();
    for chunk in distinct.chunks(CHUNK).filter(|chunk| chunk.len() >= CHUNK.min(distinct.len())) {
        *votes.entry(divisor(chunk)).or_insert(0) += 1;
    }
    let likely = votes.into_iter().filter(|(count, _)| *count > 1).max_by_key(|(count, votes)| (*votes, *count)).map(|(count, _)| count)?;
    // Of few keys the divisor may be a multiple of the number of salts.
    let parts = (1..=4096_i128).filter(|part| likely % part == 0).map(|part| likely / part);
    let count = parts.into_iter().find(|count| *count <= SALTS_MAX.into())?;
    if count * 20 < greatest * 19 { None } else { u32::try_from(count).ok() }
}

/// The greatest number that divides every hash minus its salt.
fn divisor(pairs: &[(i128, i128)]) -> i128 {
    pairs.iter().fold(0_i128, |divisor, (hash, salt)| {
        let (mut a, mut b) = (divisor, (hash - salt).abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    })
}

/// A suspect that nothing explains: a salt that was drawn, if it looks like one, else the field it was taken for.
fn drawn(draft: &mut Draft, at: usize, keys: &[&[u8]]) {
    let is_first = draft.pieces[..at].iter().all(|piece| matches!(piece.content, Content::Literal(_)));
    let Some(schema) = draft.schema().filter(|_| is_first) else { return };
    let rows: Vec<Row<'_>> = keys.iter().filter_map(|key| Row::of(&schema, key)).collect();
    let column = Column::of(rows.iter().map(|row| row.bytes(at)).collect());
    let suspect = draft.pieces[at].suspect.unwrap_or(Suspect::Raw);
    let Some(count) = evenly_used(&column, suspect) else { return };
    let twice = under_several(&rows, at);
    let said = format!(
        "{count} values, as often one as the other; no digest and no remainder of the fields that was tried gives them: drawn by chance or in turn, or by a function that is not known here{}",
        twice.map_or_else(String::new, |said| format!("; {said}"))
    );
    draft
        .notes
        .push(format!("which salt a row has cannot be computed from the key's other fields: a row is found by asking for all {count} of them"));
    let piece: &mut Piece = &mut draft.pieces[at];
    piece.evidence = said;
    piece.points = 2.0;
    (piece.sure, piece.doubt) = (DRAWN_SURE, DRAWN_DOUBT.to_owned());
    let digits = (suspect == Suspect::Digits).then(|| column.width().and_then(|width| u8::try_from(width).ok())).flatten();
    if suspect == Suspect::Letter {
        "prefix".clone_into(&mut piece.name);
    } else {
        piece.content = Content::Salt { of: Vec::new(), function: HashFunction::Random, count, digits };
    }
}

/// How many values there are, if they are all salts from 0 on (all letters) and about as frequent.
fn evenly_used(column: &Column<'_>, suspect: Suspect) -> Option<u32> {
    let salts = column.values.iter().map(|value| salt_of(value, suspect)).collect::<Option<Vec<_>>>()?;
    let count = usize::try_from(salts.iter().max()? + 1).ok()?;
    let each = column.values.len() / count.max(1);
    // So far from even comes by chance about once in a thousand times.
    let allowed = 1.0 + 4.0 / f64::from(u32::try_from(each.max(1)).ok()?).sqrt();
    (count >= 2 && column.distinct == count && each >= 5 && column.unevenness() <= allowed).then(|| u32::try_from(count).ok()).flatten()
}

/// Rows that stand under several salts, in words: the proof that these were drawn.
fn under_several(rows: &[Row<'_>], at: usize) -> Option<String> {
    let mut salts: HashMap<&[u8], (&[u8], usize)> = HashMap::new();
    let mut several = 0;
    let mut example = None;
    for row in rows {
        let (salt, rest) = (row.bytes(at), row.behind(at));
        let (first, count) = salts.entry(rest).or_insert((salt, 0));
        if *first != salt {
            *count += 1;
            several += usize::from(*count == 1);
            example.get_or_insert((rest, *first, salt));
        }
    }
    let (rest, one, other) = example?;
    let shown = halite_types::key::print_bytes;
    Some(format!("{several} rows stand under more than one salt, {} under {} and {} for one", shown(rest), shown(one), shown(other)))
}
