//! Other keys for the fields of a key.

use halite_rowkey::schema::{FieldId, HashFunction, KeySchema, Segment, SegmentKind};

/// Salts of a proposed key.
const SALTS: [u32; 2] = [16, 64];

/// Proposed key.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Key.
    pub key: KeySchema,
    /// What it does, in a few words.
    pub note: String,
}

/// Returns the key of a table that declares none: the whole row as one field.
///
/// # Panics
/// Never: the language has this key.
#[must_use]
pub fn opaque_key() -> KeySchema {
    "ROW KEY (row BYTES)".parse().expect("the language has bytes of any length")
}

/// Returns keys with the same fields that divide a load in other ways: with salts, with a hash or
/// the reverse of the first field, with the second field first, and without a salt. Those that the
/// fields cannot form are left out, as is the key itself.
#[must_use]
pub fn candidates(key: &KeySchema) -> Vec<Candidate> {
    let is_salt = |segment: &&Segment| matches!(segment.kind, SegmentKind::Salt { .. });
    let base: Vec<Segment> =
        key.segments().iter().filter(|segment| !is_salt(segment)).cloned().collect();
    let own_salt = key.segments().iter().any(|segment| is_salt(&segment));
    let lead = base.iter().find_map(|segment| segment.kind.carries());
    let mut drafts: Vec<(Vec<Segment>, String)> = Vec::new();
    if let Some(lead) = lead {
        let name = &key.fields()[lead].name;
        for count in SALTS {
            drafts.push((
                with_front(&base, salt(count, vec![lead])),
                format!("{count} salts by {name}: reads with {name} stay in one range"),
            ));
        }
        if key.fields().len() > 1 {
            drafts.push((
                with_front(&base, salt(SALTS[0], Vec::new())),
                format!(
                    "{} salts by the whole key: even, ranges are read {} times",
                    SALTS[0], SALTS[0]
                ),
            ));
        }
        drafts.push((
            with_front(&base, hash(lead)),
            format!("two bytes of a hash of {name} first: even by {name}"),
        ));
        drafts.extend(replaced_lead(&base, lead, name));
    }
    if let Some(swapped) = swapped(&base, own_salt) {
        drafts.push((swapped, "the second field first".to_owned()));
    }
    if own_salt {
        drafts.push((base, "without the salt: one range per query, frontiers return".to_owned()));
    }
    let mut found: Vec<Candidate> = Vec::new();
    for (segments, note) in drafts {
        let Ok(other) = key.rearranged(segments) else { continue };
        let text = other.to_text();
        let is_known =
            text == key.to_text() || found.iter().any(|known| known.key.to_text() == text);
        // What is printed must be a declaration.
        if !is_known && text.parse::<KeySchema>().is_ok() {
            found.push(Candidate { key: other, note });
        }
    }
    found
}

fn salt(count: u32, by: Vec<FieldId>) -> SegmentKind {
    SegmentKind::Salt { count, by, function: HashFunction::default() }
}

fn hash(field: FieldId) -> SegmentKind {
    SegmentKind::Hash { by: vec![field], bytes: 2, function: HashFunction::default(), hex: false }
}

fn with_front(base: &[Segment], kind: SegmentKind) -> Vec<Segment> {
    std::iter::once(Segment::new(kind)).chain(base.iter().cloned()).collect()
}

/// Returns the key with its first field reversed, by bytes and by bits.
fn replaced_lead(base: &[Segment], lead: FieldId, name: &str) -> Vec<(Vec<Segment>, String)> {
    let Some(at) = base.iter().position(|segment| segment.kind == SegmentKind::Plain(lead)) else {
        return Vec::new();
    };
    let with = |kind: SegmentKind, note: &str| {
        let mut segments = base.to_vec();
        segments[at] = Segment::new(kind);
        (segments, format!("{name} {note}: even for rising numbers, no ranges of {name}"))
    };
    vec![
        with(SegmentKind::Reverse(lead), "reversed"),
        with(SegmentKind::BitReverse(lead), "with its bits reversed"),
    ]
}

/// Returns the segments with the first two fields exchanged, if nothing else is in the key.
fn swapped(base: &[Segment], had_salt: bool) -> Option<Vec<Segment>> {
    let is_plain = |segment: &Segment| matches!(segment.kind, SegmentKind::Plain(_));
    if base.len() < 2 || !base.iter().all(is_plain) || had_salt {
        return None;
    }
    let mut segments = base.to_vec();
    segments.swap(0, 1);
    Some(segments)
}
