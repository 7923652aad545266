//! Parser of `NAME = value` lists, which sets them in a table's descriptor.
//!
//! A family attribute is set on all families of the table, or on one with `family.` in front; a
//! table attribute on the table; a quoted name with dots is a setting.

use halite_types::schema::{family_attribute as fam, table_attribute as tab};
use halite_types::{FamilyDescriptor, TableDescriptor};

use crate::strict::{ROW_KEY_STRICT, ROW_MARKER};

use super::cursor::{Cursor, Name};
use super::error::{LanguageError, Span};
use super::lexer::TokenKind;
use super::print::{name, quoted};

/// Maximum options of one statement.
const MAX_OPTIONS: usize = 256;

/// Option as written.
pub(super) struct RawOption {
    pub(super) family: Option<Name>,
    pub(super) name: Name,
    pub(super) value: String,
    /// Position of the value.
    pub(super) value_span: Span,
}

/// Family attributes that statements may set.
const FAMILY: &[&str] = &[
    fam::VERSIONS,
    fam::MIN_VERSIONS,
    fam::TTL,
    fam::KEEP_DELETED_CELLS,
    fam::BLOCKSIZE,
    fam::BLOCKCACHE,
    fam::IN_MEMORY,
    fam::BLOOMFILTER,
    fam::COMPRESSION,
    fam::COMPRESSION_COMPACT,
    fam::COMPRESSION_COMPACT_MAJOR,
    fam::COMPRESSION_COMPACT_MINOR,
    fam::DATA_BLOCK_ENCODING,
    fam::INDEX_BLOCK_ENCODING,
    fam::REPLICATION_SCOPE,
    fam::NEW_VERSION_BEHAVIOR,
    fam::MERGE,
];

/// Table attributes that statements may set.
const TABLE: &[&str] = &[
    tab::MAX_FILESIZE,
    tab::MEMSTORE_FLUSHSIZE,
    tab::DURABILITY,
    tab::READONLY,
    tab::REGION_REPLICATION,
    tab::COMPACTION_ENABLED,
    tab::SPLIT_ENABLED,
    tab::MERGE_ENABLED,
    tab::SPLIT_POLICY,
    ROW_KEY_STRICT,
    ROW_MARKER,
];

/// Options about the key or the columns; `create.rs` and `dialects.rs` process them.
pub(super) const OURS: &[&str] = &[
    "COLUMN_FAMILY",
    "PROFILE",
    "SALT_BUCKETS",
    "SALT_COLUMNS",
    "REVERSE_COLUMNS",
    "BUCKET_COLUMNS",
    "DICT_COLUMNS",
];

/// Parses options separated by commas.
pub(super) fn options(cursor: &mut Cursor<'_>) -> Result<Vec<RawOption>, LanguageError> {
    let mut options = Vec::new();
    loop {
        if options.len() == MAX_OPTIONS {
            return Err(LanguageError::new(
                cursor.span(),
                format!("a statement has at most {MAX_OPTIONS} options"),
            ));
        }
        let mut name = cursor.expect_name("an option")?;
        let mut family = None;
        if cursor.eat_sign('.') {
            family = Some(std::mem::replace(&mut name, cursor.expect_name("an option")?));
        }
        cursor.expect_sign('=')?;
        let at = cursor.span();
        options.push(RawOption {
            family,
            name,
            value: value(cursor)?,
            value_span: at.to(cursor.last_span()),
        });
        if !cursor.eat_sign(',') {
            return Ok(options);
        }
    }
}

fn value(cursor: &mut Cursor<'_>) -> Result<String, LanguageError> {
    let sign = if cursor.eat_sign('-') { "-" } else { "" };
    let value = match cursor.kind() {
        TokenKind::Text(text) if sign.is_empty() => text.clone(),
        TokenKind::Word(word) if sign.is_empty() => (*word).to_owned(),
        TokenKind::Number(number) => format!("{sign}{number}"),
        _ => return Err(cursor.unexpected(&["a value"])),
    };
    cursor.advance();
    Ok(value)
}

/// Sets options in a descriptor with existing families.
///
/// # Errors
/// Unknown names, missing families, and values that the descriptor's check rejects.
pub(super) fn apply(
    options: &[RawOption],
    descriptor: &mut TableDescriptor,
) -> Result<(), LanguageError> {
    check_duplicates(options)?;
    for option in options
        .iter()
        .filter(|option| !OURS.iter().any(|ours| ours.eq_ignore_ascii_case(&option.name.text)))
    {
        apply_one(option, descriptor)?;
        descriptor
            .check()
            .map_err(|error| LanguageError::new(option.value_span, error.to_string()))?;
    }
    Ok(())
}

/// Rejects a repeated option, because one of its values would be lost silently.
fn check_duplicates(options: &[RawOption]) -> Result<(), LanguageError> {
    // Settings have case-sensitive names.
    let is_same =
        |a: &str, b: &str| if a.contains('.') { a == b } else { a.eq_ignore_ascii_case(b) };
    let family = |option: &RawOption| option.family.as_ref().map(|family| family.text.clone());
    for (at, option) in options.iter().enumerate() {
        if options[..at].iter().any(|before| {
            family(before) == family(option) && is_same(&before.name.text, &option.name.text)
        }) {
            return Err(LanguageError::new(
                option.name.span,
                format!("{} was said already", option.name.text),
            ));
        }
    }
    Ok(())
}

fn apply_one(option: &RawOption, descriptor: &mut TableDescriptor) -> Result<(), LanguageError> {
    let upper = option.name.text.to_ascii_uppercase();
    let setting = option.name.text.contains('.');
    if FAMILY.contains(&upper.as_str()) || (setting && option.family.is_some()) {
        let value = if upper == fam::TTL && option.value.eq_ignore_ascii_case("FOREVER") {
            i32::MAX.to_string()
        } else {
            option.value.clone()
        };
        let mut families = families_of(option, descriptor)?;
        for family in &mut families {
            if setting {
                family.configuration.insert(option.name.text.clone(), value.clone());
            } else {
                family.attributes.insert(upper.clone(), value.clone());
            }
        }
        families.into_iter().for_each(|family| descriptor.set_family(family));
    } else if option.family.is_some() || !(setting || TABLE.contains(&upper.as_str())) {
        let error = LanguageError::new(
            option.name.span,
            format!("there is no option {}", option.name.text),
        );
        return Err(error.near(&upper, FAMILY.iter().chain(TABLE).chain(OURS).copied()));
    } else if setting {
        descriptor.configuration.insert(option.name.text.clone(), option.value.clone());
    } else {
        descriptor.attributes.insert(upper, option.value.clone());
    }
    Ok(())
}

fn families_of(
    option: &RawOption,
    descriptor: &TableDescriptor,
) -> Result<Vec<FamilyDescriptor>, LanguageError> {
    let Some(name) = &option.family else { return Ok(descriptor.families().cloned().collect()) };
    match descriptor.find_family(name.text.as_bytes()) {
        Some(family) => Ok(vec![family.clone()]),
        None => {
            Err(LanguageError::new(name.span, format!("the table has no family {}", name.text)))
        }
    }
}

/// Returns the options of a descriptor without `skipped` table attributes: values common to all
/// families are printed once.
pub(super) fn print(descriptor: &TableDescriptor, skipped: &[&str]) -> Vec<String> {
    let pair = |family: Option<&FamilyDescriptor>, key: &str, value: &str| {
        let bare = !value.is_empty()
            && value.len() < 19
            && value.bytes().all(|digit| digit.is_ascii_digit());
        let value = if bare { value.to_owned() } else { quoted(value) };
        let family = family.map_or_else(String::new, |family| {
            format!("{}.", name(&String::from_utf8_lossy(family.name())))
        });
        format!("{family}{} = {value}", name(key))
    };
    let of_table = descriptor
        .attributes
        .iter()
        .filter(|(key, _)| !skipped.contains(&key.as_str()))
        .chain(&descriptor.configuration);
    let mut printed: Vec<String> = of_table.map(|(key, value)| pair(None, key, value)).collect();
    let shared = |key: &str, value: &str| {
        descriptor
            .families()
            .all(|family| family.attributes.get(key).is_some_and(|other| other == value))
    };
    for (at, family) in descriptor.families().enumerate() {
        for (key, value) in &family.attributes {
            match shared(key, value) {
                true if at == 0 => printed.push(pair(None, key, value)),
                true => {}
                false => printed.push(pair(Some(family), key, value)),
            }
        }
        printed
            .extend(family.configuration.iter().map(|(key, value)| pair(Some(family), key, value)));
    }
    printed
}
