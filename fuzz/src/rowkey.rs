//! Row keys: texts of the language, keys written by other programs, page tokens stored by callers,
//! and packed series. No bytes make the decoders panic. A parsed value can be printed and parsed
//! again, and a decoded key is encoded to the same bytes.
#![no_main]

mod corpus;
mod memory_table;

use std::sync::{Arc, LazyLock};

use halite_rowkey::language::{
    LanguageError, SchemaStatement, Statement, TableDeclaration, altered, statements,
};
use halite_rowkey::plan::{KeyQuery, Plan, PlanOptions};
use halite_rowkey::scatter::{PageToken, Scatter, ScatterOptions};
use halite_rowkey::{KeyErrorKind, KeySchema, series};
use halite_rowkey_tools::lint::{LintInput, lint, lint_declaration, lint_struct};
use halite_types::{FamilyDescriptor, Scan, TableDescriptor, block_on};
use libfuzzer_sys::fuzz_target;

use memory_table::Rows;

static SCHEMAS: LazyLock<Vec<KeySchema>> =
    LazyLock::new(|| corpus::schemas().into_iter().map(|(schema, _)| schema).collect());

fuzz_target!(init: corpus::write("rowkey", Vec::new()), |data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    match choice % 4 {
        0 => text(&String::from_utf8_lossy(rest)),
        1 => {
            let Some((schema, key)) = rest.split_first() else { return };
            decoded(&SCHEMAS[usize::from(*schema) % SCHEMAS.len()], key);
        }
        2 => {
            let Some((schema, token)) = rest.split_first() else { return };
            page(&SCHEMAS[usize::from(*schema) % SCHEMAS.len()], token);
        }
        _ => packed(rest),
    }
});

fn text(text: &str) {
    let shown = |error: LanguageError| {
        assert!(
            error.span.start <= error.span.end && error.render(text).contains('^'),
            "an error contains its position"
        );
    };
    match text.parse::<KeySchema>() {
        Ok(key) => key_reads_back(&key),
        Err(error) => shown(error),
    }
    match statements(text) {
        Ok(found) => found.iter().for_each(statement_reads_back),
        Err(error) => shown(error),
    }
    let _ = lint_struct(text);
}

fn key_reads_back(key: &KeySchema) {
    let printed = key.to_text();
    assert_eq!(
        printed.parse::<KeySchema>().expect("a printed declaration parses"),
        *key,
        "{printed}"
    );
    let _ = lint(&LintInput { key: Some(key), ..LintInput::default() });
}

fn statement_reads_back(statement: &Statement) {
    let placeless = |declaration: &TableDeclaration| {
        let mut declaration = TableDeclaration { if_not_exists: false, ..declaration.clone() };
        declaration
            .suppressions
            .iter_mut()
            .for_each(|allowed| allowed.span = halite_rowkey::language::Span::default());
        declaration
    };
    match statement {
        Statement::CreateTable(declaration) => {
            let printed = declaration.to_string();
            // Printing writes out defaults, so that a text near the limit may exceed it.
            if printed.len() > halite_rowkey::language::MAX_TEXT_BYTES {
                return;
            }
            match printed.parse() {
                Ok(Statement::CreateTable(again)) => {
                    assert_eq!(placeless(&again), placeless(declaration), "{printed}");
                }
                other => panic!("{printed}\nparsed as {other:?}"),
            }
            let _ = lint_declaration(declaration, &LintInput::default());
        }
        Statement::Adopt { key, .. } => key_reads_back(key),
        Statement::Schema(SchemaStatement::Alter { alterations, .. }) => {
            for before in tables() {
                if let Ok(changed) = altered(&before, alterations)
                    && let Some(declared) = TableDeclaration::from_descriptor(&changed.descriptor)
                {
                    declared.expect("an altered table can be read again");
                }
            }
        }
        Statement::AlterSalt { .. } | Statement::ShowCreateTable(_) | Statement::Schema(_) => {}
    }
}

/// Returns a table without a declaration, and one with columns.
fn tables() -> [TableDescriptor; 2] {
    let name = || "t".parse().expect("a name");
    let declared = "CREATE TABLE t (a I64 FAMILY f, b STRING FAMILY g, ROW KEY (k STRING))";
    let Ok(Statement::CreateTable(declared)) = declared.parse() else { panic!("{declared}") };
    [TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), declared.described()]
}

/// Verifies that a decoded key of the schema is encoded to the same bytes.
fn decoded(schema: &KeySchema, key: &[u8]) {
    let _ = schema.split_segments(key);
    let Ok(decoded) = schema.decode(key) else { return };
    // A prefix or a bucket does not determine its value, and other values have the same bytes.
    if (0..schema.fields().len()).any(|field| decoded.is_partial(field)) {
        return;
    }
    match schema.encode(decoded.values()) {
        Ok(again) => assert_eq!(&again[..], key, "{schema}: {:?}", decoded.values()),
        // A dictionary's number and a random salt are not computed from values.
        Err(error) => assert!(
            matches!(error.kind, KeyErrorKind::NotInDictionary | KeyErrorKind::Unsupported(_)),
            "{schema}: {error}"
        ),
    }
}

/// Checks a token that is damaged between its header, which identifies the query, and its checksum.
fn page(schema: &KeySchema, damaged: &[u8]) {
    if let Ok(token) = PageToken::from_bytes(damaged) {
        assert_eq!(token.to_bytes(), damaged);
    }
    let table = Arc::new(Rows::of(schema));
    for reverse in [false, true] {
        let plan = Plan::new(
            &Arc::new(schema.clone()),
            &KeyQuery::all().reverse(reverse),
            &PlanOptions::default(),
        )
        .expect("every row matches the query");
        let plan = Arc::new(plan);
        let scatter = |after: Option<&PageToken>| {
            Scatter::new(
                table.clone(),
                Arc::clone(&plan),
                Scan::all(),
                &ScatterOptions::default(),
                after,
            )
        };
        let mut whole = scatter(None).expect("a plan is executable");
        let Some(first) = block_on(whole.next()).expect("the table is readable") else { return };
        let head: Vec<u8> = whole.token_of(&first).to_bytes()[..9].to_vec();
        let Ok(token) = PageToken::from_bytes(&with_checksum(&head, damaged)) else { continue };
        let Ok(mut rest) = scatter(Some(&token)) else { continue };
        let mut rows = 0;
        while let Ok(Some(_)) = block_on(rest.next()) {
            rows += 1;
            assert!(rows <= Rows::COUNT, "a page returns more rows than the table");
        }
    }
}

/// Returns a token that a caller made up: with the checksum, FNV-1a, of its bytes.
fn with_checksum(head: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut bytes = [head, rest].concat();
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let checksum = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    bytes.extend(checksum.to_be_bytes());
    bytes
}

fn packed(cell: &[u8]) {
    let Ok(points) = series::unpack(cell) else { return };
    let bits = |points: &[series::Point]| {
        points.iter().map(|point| (point.offset, point.value.to_bits())).collect::<Vec<_>>()
    };
    if let Ok(again) = series::pack(&points) {
        assert_eq!(
            bits(&series::unpack(&again).expect("packed points are decodable")),
            bits(&points)
        );
    }
}
