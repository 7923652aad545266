//! Conversion of row keys in the syntax of other databases.
//!
//! | written | means |
//! |---|---|
//! | Phoenix: `PRIMARY KEY (a, b DESC)` .. `SALT_BUCKETS = n` | `SALT(n)` in front |
//! | `SALT_COLUMNS = 'a,b'` next to it | `SALT(n BY a, b)` |
//! | `REVERSE_COLUMNS = 'a'`, `BUCKET_COLUMNS = 'ts:1h'`, `DICT_COLUMNS = 'a:3'` | `REVERSE(a)`, `BUCKET(ts, '1h')`, `DICT(a, 3)` instead of the column |
//! | Lindorm: `PRIMARY KEY (hash32(a), a, b)` | `HASH(a BYTES 4 USING murmur3)` in front |
//! | `DISTRIBUTE BY HASH(a) INTO n [BUCKETS]`, Kudu: `PARTITION BY HASH(a) PARTITIONS n` | `SALT(n BY a)` in front |
//! | `CLUSTER BY TIME_BUCKET(ts, '1h')` | `BUCKET(ts, '1h')` instead of `ts` |
//!
//! A created table always has profile BIN and Halite's salts. For a table that Phoenix reads,
//! specify `PROFILE = PHOENIX`. A table that is *adopted* with `PRIMARY KEY` has rows written by
//! Phoenix, so its profile is PHOENIX and the salt Phoenix's. In that profile the types are
//! Phoenix's too: its `DATE` is Halite's `TIMESTAMP`, and its `TIMESTAMP` is Halite's
//! `TIMESTAMP(ns)`.

use super::build::{RawKind, RawSegment};
use super::cursor::{Cursor, Name};
use super::error::{LanguageError, Span};
use super::key::{RawKey, profile, row_key, segment_list};
use super::options::{OURS, RawOption, options};
use super::types::{Width, bucket_width};
use crate::schema::{HashFunction, KeySchema, MAX_SALTS, Profile};

/// Parses `[CONSTRAINT name] PRIMARY KEY (..)`, if it follows.
pub(super) fn primary_key(cursor: &mut Cursor<'_>) -> Result<Option<RawKey>, LanguageError> {
    let start = cursor.span();
    if cursor.eat_word("CONSTRAINT") {
        cursor.expect_name("the constraint's name")?;
        if !(cursor.is_word("PRIMARY") && cursor.is_word_ahead(1, "KEY")) {
            return Err(cursor.unexpected(&["PRIMARY KEY"]));
        }
    }
    if !cursor.eat_words(&["PRIMARY", "KEY"]) {
        return Ok(None);
    }
    let segments = segment_list(cursor)?;
    Ok(Some(RawKey {
        profile: Profile::Bin,
        span: start.to(cursor.last_span()),
        segments,
        patterns: Vec::new(),
        primary: true,
    }))
}

/// Returns the key after `ADOPT`, in Halite's or Phoenix's syntax.
pub(super) fn adopted_key(cursor: &mut Cursor<'_>) -> Result<KeySchema, LanguageError> {
    let Some(mut key) = primary_key(cursor)? else { return row_key(cursor)?.build(&[]) };
    key.profile = Profile::Phoenix;
    if !cursor.at_end() && !cursor.is_sign(';') && !cursor.is_word("FORCE") {
        let options = options(cursor)?;
        if let Some(other) = options
            .iter()
            .find(|option| !OURS.iter().any(|ours| ours.eq_ignore_ascii_case(&option.name.text)))
        {
            return Err(LanguageError::new(
                other.name.span,
                "only findings about the key are reported when rows are adopted",
            ));
        }
        apply(&mut key, &options)?;
    }
    key.build(&[])
}

/// Parses `DISTRIBUTE BY`, `PARTITION BY` and `CLUSTER BY`, if one of them follows.
pub(super) fn distribution(
    cursor: &mut Cursor<'_>,
    key: &mut Option<RawKey>,
) -> Result<bool, LanguageError> {
    let start = cursor.span();
    let kudu = cursor.eat_words(&["PARTITION", "BY", "HASH"]);
    if kudu || cursor.eat_words(&["DISTRIBUTE", "BY", "HASH"]) {
        let by = cursor.expect_names("a column")?;
        cursor.expect_word(if kudu { "PARTITIONS" } else { "INTO" })?;
        let count = u32::try_from(cursor.expect_number("how many buckets", MAX_SALTS.into())?)
            .unwrap_or(u32::MAX);
        cursor.eat_word("BUCKETS");
        let span = start.to(cursor.last_span());
        let salt =
            RawSegment::new(RawKind::Salt { count, by, function: HashFunction::default() }, span);
        key_of(key, span)?.segments.insert(0, salt);
        return Ok(true);
    }
    if cursor.eat_words(&["CLUSTER", "BY", "TIME_BUCKET"]) {
        cursor.expect_sign('(')?;
        let field = cursor.expect_name("a column")?;
        cursor.expect_sign(',')?;
        let (width, at) = bucket_width(cursor)?;
        cursor.expect_sign(')')?;
        let key = key_of(key, start.to(cursor.last_span()))?;
        replace(key, &field, |field| RawKind::Bucket { field, width, span: at })?;
        return Ok(true);
    }
    Ok(false)
}

fn key_of(key: &mut Option<RawKey>, span: Span) -> Result<&mut RawKey, LanguageError> {
    key.as_mut().ok_or_else(|| {
        LanguageError::new(span, "this distributes a key, and none is declared")
            .suggest("declare PRIMARY KEY (..) among the columns")
    })
}

/// Changes a key as specified by options.
pub(super) fn apply(key: &mut RawKey, options: &[RawOption]) -> Result<(), LanguageError> {
    let find =
        |name: &str| options.iter().find(|option| option.name.text.eq_ignore_ascii_case(name));
    if let Some(option) = find("PROFILE") {
        key.profile = inside(option, profile)?;
    }
    if let Some(option) = find("REVERSE_COLUMNS") {
        for field in inside(option, |cursor| cursor.expect_names("a column"))? {
            replace(key, &field, RawKind::Reverse)?;
        }
    }
    if let Some(option) = find("BUCKET_COLUMNS") {
        for (field, width, at) in inside(option, |cursor| pairs(cursor, bucket_width).map(flat))? {
            replace(key, &field, |field| RawKind::Bucket { field, width, span: at })?;
        }
    }
    if let Some(option) = find("DICT_COLUMNS") {
        let bytes = |cursor: &mut Cursor<'_>| {
            cursor.expect_number("how many bytes its number has", u8::MAX.into())
        };
        for (field, bytes) in inside(option, |cursor| pairs(cursor, bytes))? {
            replace(key, &field, |field| RawKind::Dict {
                field,
                bytes: u8::try_from(bytes).unwrap_or(u8::MAX),
            })?;
        }
    }
    salt(key, find("SALT_BUCKETS"), find("SALT_COLUMNS"))
}

fn salt(
    key: &mut RawKey,
    buckets: Option<&RawOption>,
    columns: Option<&RawOption>,
) -> Result<(), LanguageError> {
    let by = columns
        .map(|option| inside(option, |cursor| cursor.expect_names("a column")))
        .transpose()?
        .unwrap_or_default();
    let Some(buckets) = buckets else {
        let lonely = |columns: &RawOption| {
            LanguageError::new(columns.name.span, "SALT_COLUMNS says nothing without SALT_BUCKETS")
                .suggest("add SALT_BUCKETS = 16")
        };
        return columns.map_or(Ok(()), |columns| Err(lonely(columns)));
    };
    let count = inside(buckets, |cursor| {
        cursor.expect_number("how many salts there are", MAX_SALTS.into())
    })?;
    let function = if key.profile == Profile::Phoenix {
        HashFunction::Phoenix
    } else {
        HashFunction::default()
    };
    let kind = RawKind::Salt { count: u32::try_from(count).unwrap_or(u32::MAX), by, function };
    key.segments.insert(0, RawSegment::new(kind, buckets.value_span));
    Ok(())
}

fn flat(pairs: Vec<(Name, (Width, Span))>) -> Vec<(Name, Width, Span)> {
    pairs.into_iter().map(|(name, (width, span))| (name, width, span)).collect()
}

/// Parses `a:x,b:y`.
fn pairs<T>(
    cursor: &mut Cursor<'_>,
    value: impl Fn(&mut Cursor<'_>) -> Result<T, LanguageError>,
) -> Result<Vec<(Name, T)>, LanguageError> {
    let mut pairs = Vec::new();
    loop {
        let name = cursor.expect_name("a column")?;
        cursor.expect_sign(':')?;
        pairs.push((name, value(cursor)?));
        if !cursor.eat_sign(',') {
            return Ok(pairs);
        }
    }
}

/// Parses the whole value of an option; errors are marked at the value.
fn inside<T>(
    option: &RawOption,
    read: impl FnOnce(&mut Cursor<'_>) -> Result<T, LanguageError>,
) -> Result<T, LanguageError> {
    let mut cursor = Cursor::inside(&option.value, |_| option.value_span.start)
        .map_err(|error| LanguageError { span: option.value_span, ..error })?;
    let found = read(&mut cursor).and_then(|found| cursor.expect_end().map(|()| found));
    found.map_err(|error| LanguageError { span: option.value_span, ..error })
}

/// Replaces a segment that is an unchanged column.
fn replace(
    key: &mut RawKey,
    column: &Name,
    kind: impl FnOnce(Name) -> RawKind,
) -> Result<(), LanguageError> {
    let plain = |segment: &&mut RawSegment| matches!(&segment.kind, RawKind::Plain(name) if name.text == column.text);
    if let Some(segment) = key.segments.iter_mut().find(plain) {
        segment.kind = kind(column.clone());
        return Ok(());
    }
    let known: Vec<&str> = key
        .segments
        .iter()
        .filter_map(|segment| Some(segment.kind.field()?.text.as_str()))
        .collect();
    Err(LanguageError::new(
        column.span,
        format!("{} is no column of the key as it is", column.text),
    )
    .near(&column.text, known))
}
