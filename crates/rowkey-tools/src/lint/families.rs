//! Rules about families, columns and their attributes.

use halite_types::schema::family_attribute as attribute;
use halite_types::{FamilyDescriptor, TableDescriptor};

use super::finding::Findings;
use super::input::LintInput;
use super::key_cost::CellCosts;
use halite_rowkey::language::ColumnType;

/// Bytes of a `KeyValue` with a key of 16 bytes, a family and a qualifier of one each, and a value
/// of eight.
const SMALL_CELL_BYTES: usize = 46;
/// Maximum families recommended by HBase's guide.
const MAX_FAMILIES: usize = 3;
/// Maximum versions; more indicate that versions are used as a list.
const MAX_VERSIONS: u32 = 100;
/// Part of the bytes that an encoding has to save.
const MIN_SAVING: f64 = 0.1;
/// Qualifier length that triggers a finding.
const QUALIFIER_BYTES: usize = 4;

pub(super) fn check(table: &TableDescriptor, subject: &LintInput<'_>, found: &mut Findings) {
    if table.family_count() > MAX_FAMILIES {
        let message = format!(
            "{} families: a region flushes and compacts them together, so a family with little in \
             it makes many small files for one with much.",
            table.family_count()
        );
        found
            .add("F-MANYCF", None, message)
            .fix("columns that are read together in one family; others in a table of their own");
    }
    for family in table.families() {
        long_name(family, found);
        versions(family, found);
        encoding(family, subject, found);
    }
    for column in subject.columns {
        if column.qualifier.len() > QUALIFIER_BYTES
            && let Some(letter) = String::from_utf8_lossy(&column.qualifier).chars().next()
        {
            let more = column.qualifier.len() - letter.len_utf8();
            let message = format!(
                "Qualifier {} is repeated in every cell of the column: {more} bytes more than one \
                 letter.",
                String::from_utf8_lossy(&column.qualifier)
            );
            let word =
                if matches!(column.ty, ColumnType::Map { .. }) { "PREFIX" } else { "QUALIFIER" };
            found.add("F-LONGQ", None, message).fix(format!(
                "{} ... {word} {letter}, which keeps the long name in queries",
                column.name
            ));
        }
    }
}

/// F-LONGCF.
fn long_name(family: &FamilyDescriptor, found: &mut Findings) {
    let bytes = family.name().len();
    if bytes > 1 {
        let more = bytes - 1;
        let name = String::from_utf8_lossy(family.name());
        let message =
            format!("Family {name} has a name of {bytes} bytes, and every cell repeats it.");
        let percent = more * 100 / SMALL_CELL_BYTES;
        found
            .add("F-LONGCF", None, message)
            .evidence(format!("{more} bytes more for each cell, {percent} % of a small one"))
            .fix("one letter; readable names belong in the declaration of columns");
    }
}

/// F-VER.
fn versions(family: &FamilyDescriptor, found: &mut Findings) {
    let versions = family.max_versions();
    if versions > MAX_VERSIONS {
        let name = String::from_utf8_lossy(family.name());
        let message = format!(
            "Family {name} keeps {versions} versions of each cell. They are no list to page \
             through: all of a cell are read to find one, and a row is never split between regions."
        );
        found.add("F-VER", None, message).fix("the time in the row key, or in the qualifier");
    }
}

/// F-DBE: for keys whose declaration implies that neighbors share prefixes.
fn encoding(family: &FamilyDescriptor, subject: &LintInput<'_>, found: &mut Findings) {
    let Some(key) = subject.key else { return };
    let has_encoding = family
        .attributes
        .get(attribute::DATA_BLOCK_ENCODING)
        .is_some_and(|encoding| encoding != "NONE");
    if key.segments().len() < 2 || has_encoding {
        return;
    }
    let costs = CellCosts::measure(Some(family.name()), subject);
    if costs.as_ref().is_some_and(|costs| costs.fast_diff > costs.plain * (1.0 - MIN_SAVING)) {
        return;
    }
    let name = String::from_utf8_lossy(family.name());
    let finding = found.add(
        "F-DBE",
        None,
        format!(
            "Neighbours in family {name} share the first fields of their keys, and each cell \
             writes them whole."
        ),
    );
    finding.fix(format!("{name}: DATA_BLOCK_ENCODING => 'FAST_DIFF'"));
    if let Some(costs) = costs {
        finding.evidence(costs.text());
    }
}
