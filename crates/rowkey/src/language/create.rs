//! Parser of `CREATE TABLE`.
//!
//! ```text
//! create  := CREATE TABLE [IF NOT EXISTS] table ( element {, element} ) {clause}
//! element := ROW KEY .. | [CONSTRAINT name] PRIMARY KEY ( segment {, segment} ) | FAMILY family | column
//! clause  := WITH ( option {, option} ) | option {, option} | WITH QUERIES (..) | SPLIT ..
//!          | DISTRIBUTE BY HASH(columns) INTO n [BUCKETS] | PARTITION BY HASH(columns) PARTITIONS n
//!          | CLUSTER BY TIME_BUCKET(column, 'duration')
//! ```
//!
//! A column in the key is not a value column, unless it specifies a family; its type may be in
//! either position. A column without a family is in that of the option `COLUMN_FAMILY`, or in the
//! only family, or in `d`. A salt without BY is computed from the columns that every declared query
//! fixes to single values.

use halite_types::{FamilyDescriptor, TableDescriptor, TableName};

use super::build::{RawKind, RawSegment};
use super::columns::{ATTRIBUTES, RawColumn, column, printed_qualifier};
use super::cursor::{Cursor, Name};
use super::declaration::{
    Column, ColumnType, ConditionKind, Query, QueryCondition, SplitClause, TableDeclaration,
    salted_by,
};
use super::dialects::{apply as apply_foreign, distribution, primary_key};
use super::error::{LanguageError, Span};
use super::key::{RawKey, row_key};
use super::lexer::TokenKind;
use super::options::{RawOption, apply as apply_options, options};
use super::queries::queries;
use super::split::split;
use super::statement::table_name;
use crate::schema::{KeySchema, Profile};
use crate::series::SeriesColumn;
use crate::value::FieldType;

/// Maximum columns of one table.
const MAX_COLUMNS: usize = 1024;
/// Family of columns that name none.
const FAMILY: &str = "d";

/// Table as written.
pub(super) struct RawTable {
    pub(super) key: Option<RawKey>,
    pub(super) columns: Vec<RawColumn>,
    pub(super) families: Vec<Name>,
    pub(super) options: Vec<RawOption>,
    pub(super) queries: Option<(Vec<Query>, Vec<Span>)>,
    pub(super) split: Option<SplitClause>,
}

/// Parses the text after `CREATE TABLE`.
pub(super) fn create_table(cursor: &mut Cursor<'_>) -> Result<TableDeclaration, LanguageError> {
    let if_not_exists = cursor.eat_words(&["IF", "NOT", "EXISTS"]);
    let start = cursor.span();
    let name = table_name(cursor)?;
    let mut table = elements(cursor)?;
    while clause(cursor, &mut table)? {}
    let mut declaration = declare(table, name, start.to(cursor.last_span()))?;
    declaration.if_not_exists = if_not_exists;
    Ok(declaration)
}

/// Parses the parentheses after a table's name.
pub(super) fn elements(cursor: &mut Cursor<'_>) -> Result<RawTable, LanguageError> {
    let mut table = RawTable {
        key: None,
        columns: Vec::new(),
        families: Vec::new(),
        options: Vec::new(),
        queries: None,
        split: None,
    };
    cursor.expect_sign('(')?;
    loop {
        element(cursor, &mut table)?;
        // Phoenix writes no comma before CONSTRAINT.
        if !cursor.eat_sign(',') && !cursor.is_word("CONSTRAINT") {
            break;
        }
    }
    if cursor.eat_sign(')') {
        Ok(table)
    } else {
        let expected: Vec<&str> = ["','", "')'"].iter().chain(ATTRIBUTES).copied().collect();
        Err(cursor.unexpected(&expected))
    }
}

fn element(cursor: &mut Cursor<'_>, table: &mut RawTable) -> Result<(), LanguageError> {
    let start = cursor.span();
    let ours = cursor.is_word("ROW") && cursor.is_word_ahead(1, "KEY");
    let key = if ours { Some(row_key(cursor)?) } else { primary_key(cursor)? };
    if let Some(key) = key {
        return set_key(table, key, start.to(cursor.last_span()));
    }
    if cursor.is_word("FAMILY") && (cursor.is_sign_ahead(2, ',') || cursor.is_sign_ahead(2, ')')) {
        cursor.advance();
        table.families.push(cursor.expect_name("a family")?);
        return Ok(());
    }
    let column = column(cursor)?;
    if let Some(span) = column.primary {
        let segment = RawSegment::new(RawKind::Plain(column.name.clone()), column.name.span);
        set_key(
            table,
            RawKey {
                profile: Profile::Bin,
                span,
                segments: vec![segment],
                patterns: Vec::new(),
                primary: true,
            },
            span,
        )?;
    }
    if table.columns.len() == MAX_COLUMNS {
        return Err(LanguageError::new(
            column.name.span,
            format!("a table has at most {MAX_COLUMNS} columns"),
        ));
    }
    if table.columns.iter().any(|other| other.name.text == column.name.text) {
        return Err(LanguageError::new(
            column.name.span,
            format!("column {} is declared twice", column.name.text),
        ));
    }
    table.columns.push(column);
    Ok(())
}

fn set_key(table: &mut RawTable, key: RawKey, span: Span) -> Result<(), LanguageError> {
    match table.key.replace(key) {
        None => Ok(()),
        Some(_) => Err(LanguageError::new(span, "the table has a key already")
            .suggest("leave one of the two out")),
    }
}

/// Parses one clause after the parentheses, if there is one.
pub(super) fn clause(cursor: &mut Cursor<'_>, table: &mut RawTable) -> Result<bool, LanguageError> {
    let span = cursor.span();
    if cursor.eat_word("WITH") {
        if cursor.eat_word("QUERIES") {
            return once(&mut table.queries, queries(cursor)?, span);
        }
        cursor.expect_sign('(').map_err(|_| cursor.unexpected(&["'('", "QUERIES"]))?;
        table.options.extend(options(cursor)?);
        return if cursor.eat_sign(')') {
            Ok(true)
        } else {
            Err(cursor.unexpected(&["','", "')'"]))
        };
    }
    if cursor.eat_word("SPLIT") {
        return once(&mut table.split, split(cursor)?, span);
    }
    if distribution(cursor, &mut table.key)? {
        return Ok(true);
    }
    if matches!(cursor.kind(), TokenKind::Word(_))
        && (cursor.is_sign_ahead(1, '=') || cursor.is_sign_ahead(1, '.'))
    {
        table.options.extend(options(cursor)?);
        return Ok(true);
    }
    if cursor.at_end() || cursor.is_sign(';') {
        Ok(false)
    } else {
        Err(cursor.unexpected(&["WITH", "SPLIT", "';'", "the end"]))
    }
}

fn once<T>(slot: &mut Option<T>, value: T, span: Span) -> Result<bool, LanguageError> {
    match slot.replace(value) {
        None => Ok(true),
        Some(_) => {
            Err(LanguageError::new(span, "this was said already")
                .suggest("leave one of the two out"))
        }
    }
}

fn declare(
    mut table: RawTable,
    name: TableName,
    span: Span,
) -> Result<TableDeclaration, LanguageError> {
    let Some(mut key) = table.key.take() else {
        return Err(LanguageError::new(span, format!("table {name} has no row key"))
            .suggest("add ROW KEY (SALT(16 BY id), id STRING) to its columns"));
    };
    apply_foreign(&mut key, &table.options)?;
    let (queries, places) = table.queries.take().unwrap_or_default();
    salt_by_queries(&mut key, &queries);
    let declared: Vec<(String, FieldType)> = table
        .columns
        .iter()
        .filter_map(|column| Some((column.name.text.clone(), column.field_type()?)))
        .collect();
    let key = key.build(&declared)?;
    check_key_columns(&table.columns, &key)?;
    let descriptor = descriptor(&table, &key, name)?;
    let family = default_family(&table);
    let columns = values(table.columns, &key);
    let spans: Vec<Span> = columns.iter().map(|column| column.name.span).collect();
    let columns: Vec<Column> =
        columns.into_iter().map(|column| column.in_family(&family)).collect();
    check_queries(&queries, &places, &columns, &key)?;
    check_columns(&columns, &spans, &key)?;
    Ok(TableDeclaration {
        descriptor,
        if_not_exists: false,
        key,
        columns,
        queries,
        split: table.split,
        suppressions: Vec::new(),
    })
}

/// Checks that columns in the key have no attribute that only cells have.
fn check_key_columns(columns: &[RawColumn], key: &KeySchema) -> Result<(), LanguageError> {
    let in_key = columns
        .iter()
        .filter(|column| column.family.is_none() && key.field_id(&column.name.text).is_some());
    for column in in_key {
        if let Some((word, span)) = column.cell_attribute() {
            let message =
                format!("column {} is in the key, and only a cell has {word}", column.name.text);
            return Err(LanguageError::new(span, message).suggest("leave it out"));
        }
    }
    Ok(())
}

/// Returns the columns that are not in the key, or that are also stored separately.
pub(super) fn values(columns: Vec<RawColumn>, key: &KeySchema) -> Vec<RawColumn> {
    columns
        .into_iter()
        .filter(|column| column.family.is_some() || key.field_id(&column.name.text).is_none())
        .collect()
}

fn salt_by_queries(key: &mut RawKey, queries: &[Query]) {
    let columns: Vec<String> = key
        .segments
        .iter()
        .filter_map(|segment| Some(segment.kind.field()?.text.clone()))
        .collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let shared = salted_by(queries, key.profile, &columns);
    for segment in &mut key.segments {
        let span = segment.span;
        match &mut segment.kind {
            RawKind::Salt { by, function, .. } if by.is_empty() && function.is_deterministic() => {
                *by = shared.iter().map(|text| Name { text: text.clone(), span }).collect();
            }
            _ => {}
        }
    }
}

fn default_family(table: &RawTable) -> String {
    let option =
        table.options.iter().find(|option| option.name.text.eq_ignore_ascii_case("COLUMN_FAMILY"));
    let named: Vec<&str> = table
        .families
        .iter()
        .chain(table.columns.iter().filter_map(|column| column.family.as_ref()))
        .map(|name| name.text.as_str())
        .collect();
    match (option, named.first()) {
        (Some(option), _) => option.value.clone(),
        (None, Some(only)) if named.iter().all(|name| name == only) => (*only).to_owned(),
        _ => FAMILY.to_owned(),
    }
}

fn descriptor(
    table: &RawTable,
    key: &KeySchema,
    name: TableName,
) -> Result<TableDescriptor, LanguageError> {
    let mut descriptor = TableDescriptor::new(name);
    let default = default_family(table);
    for named in &table.families {
        descriptor.set_family(FamilyDescriptor::new(named.text.clone()));
    }
    for column in &table.columns {
        if column.family.is_none() && key.field_id(&column.name.text).is_some() {
            continue;
        }
        let family = column.family.as_ref().map_or(default.as_str(), |family| &family.text);
        let span = column.family.as_ref().map_or(column.name.span, |family| family.span);
        let mut found = descriptor
            .find_family(family.as_bytes())
            .cloned()
            .unwrap_or_else(|| FamilyDescriptor::new(family.to_owned()));
        if let Some((versions, at)) = column.versions {
            let versions = versions.to_string();
            if found
                .attributes
                .insert("VERSIONS".into(), versions.clone())
                .is_some_and(|other| other != versions)
            {
                return Err(LanguageError::new(
                    at,
                    format!("family {family} has one number of versions for all its columns"),
                ));
            }
        }
        found.check().map_err(|error| LanguageError::new(span, error.to_string()))?;
        descriptor.set_family(found);
    }
    if descriptor.family_count() == 0 {
        descriptor.set_family(FamilyDescriptor::new(default));
    }
    let before = descriptor.clone();
    apply_options(&table.options, &mut descriptor)?;
    // Columns with a number of versions set it on their family.
    for family in before.families().filter(|family| family.attributes.contains_key("VERSIONS")) {
        let now = descriptor
            .find_family(family.name())
            .and_then(|family| family.attributes.get("VERSIONS"));
        let option =
            table.options.iter().rfind(|option| option.name.text.eq_ignore_ascii_case("VERSIONS"));
        if let Some(option) = option.filter(|_| now != family.attributes.get("VERSIONS")) {
            let versions = &family.attributes["VERSIONS"];
            let message = format!(
                "a column said already that family {} keeps {versions} versions",
                String::from_utf8_lossy(family.name())
            );
            return Err(LanguageError::new(option.value_span, message));
        }
    }
    Ok(descriptor)
}

fn check_queries(
    queries: &[Query],
    places: &[Span],
    columns: &[Column],
    key: &KeySchema,
) -> Result<(), LanguageError> {
    let known: Vec<&str> = key
        .fields()
        .iter()
        .map(|field| field.name.as_str())
        .chain(columns.iter().map(|column| column.name.as_str()))
        .collect();
    let named = queries.iter().flat_map(|query| query.columns().map(move |column| (query, column)));
    for ((query, column), span) in named.zip(places) {
        if !known.contains(&column) {
            let message =
                format!("query {} names {column}, and the table has no such column", query.name);
            return Err(LanguageError::new(*span, message).near(column, known));
        }
        let is_prefix = |condition: &QueryCondition| {
            condition.column == column && condition.kind == ConditionKind::Prefix
        };
        if let Some(ty) = type_of(column, columns, key).filter(|ty| !has_beginnings(*ty))
            && query.conditions.iter().any(is_prefix)
        {
            let message = format!(
                "query {} asks for a beginning of {column}, which is of type {ty}: only text and \
                 bytes have beginnings",
                query.name
            );
            return Err(LanguageError::new(*span, message)
                .suggest(format!("{column} = ? or {column} IN RANGE")));
        }
    }
    Ok(())
}

fn type_of(name: &str, columns: &[Column], key: &KeySchema) -> Option<FieldType> {
    match key.field_id(name) {
        Some(field) => Some(key.fields()[field].ty),
        None => columns
            .iter()
            .find(|column| column.name == name)
            .and_then(|column| column.ty.value_type()),
    }
}

fn has_beginnings(ty: FieldType) -> bool {
    ty.is_text() || matches!(ty, FieldType::Bytes | FieldType::Fixed(_))
}

/// Checks that a column and those before it have no cell in common; returns the reason and the fix.
fn check_apart(column: &Column, before: &[Column]) -> Result<(), (String, &'static str)> {
    let is_map = |column: &Column| matches!(column.ty, ColumnType::Map { .. });
    for other in before.iter().filter(|other| other.family == column.family) {
        if is_map(column) || is_map(other) {
            let map = if is_map(column) { column } else { other };
            if other.owns(&column.qualifier) || column.owns(&other.qualifier) {
                let prefix = match &map.qualifier[..] {
                    [] => format!("every cell of family {}", map.family),
                    prefix => format!("cells that begin with {}", printed_qualifier(prefix)),
                };
                let message = format!(
                    "columns {} and {} have cells in common: {} has {prefix}",
                    other.name, column.name, map.name
                );
                return Err((message, "give the MAP a PREFIX of its own, or a family"));
            }
        } else if other.qualifier == column.qualifier {
            let qualifier = String::from_utf8_lossy(&column.qualifier);
            let message = format!(
                "columns {} and {} have one name in the store, {}:{qualifier}",
                other.name, column.name, column.family
            );
            return Err((message, ""));
        }
    }
    Ok(())
}

/// Checks the rules that require the key.
fn check_columns(columns: &[Column], spans: &[Span], key: &KeySchema) -> Result<(), LanguageError> {
    for ((at, column), span) in columns.iter().enumerate().zip(spans) {
        check_apart(column, &columns[..at]).map_err(|(message, fix)| {
            let error = LanguageError::new(*span, message);
            if fix.is_empty() { error } else { error.suggest(fix) }
        })?;
        let ColumnType::Series { offset_of, .. } = &column.ty else { continue };
        if let Some(field) = offset_of.as_ref().filter(|field| key.field_id(field).is_none()) {
            let message = format!(
                "column {} is an offset of {field}, which the key does not have",
                column.name
            );
            return Err(LanguageError::new(*span, message)
                .near(field, key.fields().iter().map(|field| field.name.as_str())));
        }
        let series =
            SeriesColumn::new(key, column).map_err(|message| LanguageError::new(*span, message))?;
        let is_taken = |other: &&Column| {
            other.family == column.family && series.may_be_loose(&other.qualifier)
        };
        if let Some(other) = columns.iter().find(is_taken) {
            let message = format!(
                "column {} could be taken for a point of {}: {} has as many bytes after {} as an \
                 offset",
                other.name,
                column.name,
                printed_qualifier(&other.qualifier),
                printed_qualifier(&column.qualifier)
            );
            return Err(
                LanguageError::new(*span, message).suggest("another qualifier for one of the two")
            );
        }
    }
    Ok(())
}
