//! What lint says: `halite.lint`, notices after statements that declare tables, and findings about
//! statements. The rules are given by the program, [`SqlContext::with_lint`].
//!
//! [`SqlContext::with_lint`]: crate::SqlContext::with_lint

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::array::StringViewArray;
use halite_rowkey::language::TableDeclaration;
use halite_rowkey::table_lint::{LintMessage, LintSubject, TableLint};
use halite_types::{Bytes, Cluster, RegionInfo, TableDescriptor, TableName};

use super::key_sample::sample;
use super::system_columns::{Columns, text};
use crate::error::{Result, SqlError};

/// Namespace of HBase's own tables.
const HBASE: &str = "hbase";

/// Finding about a table.
#[derive(Clone, Debug)]
pub(crate) struct LintLine {
    pub(crate) table: TableName,
    pub(crate) message: LintMessage,
}

/// Returns the columns of `halite.lint`, and what the user should know.
pub(super) async fn lint(
    cluster: &Arc<dyn Cluster>,
    rules: Option<&Arc<dyn TableLint>>,
) -> Result<(Columns, Option<String>)> {
    let Some(rules) = rules else {
        let notice = "halite.lint is empty: this program has no rules of lint; halite sql and \
                      halite serve have them";
        return Ok((columns(&[]), Some(notice.to_owned())));
    };
    let tables = cluster.admin().list_tables().await.map_err(SqlError::from)?;
    let mut lines = Vec::new();
    for table in tables.iter().filter(|table| table.name().namespace() != HBASE) {
        // A declaration that cannot be read is none that lint examines.
        let declaration = TableDeclaration::from_descriptor(table);
        let Ok(declaration) = declaration.transpose() else { continue };
        let opened = cluster.table(table.name());
        let Ok(regions) = opened.regions().await else { continue };
        // Of a disabled table no keys are known.
        let keys = sample(&opened).await.unwrap_or_default();
        let found = check(rules, table, declaration.as_ref(), &starts(&regions), &keys);
        let name = table.name();
        lines.extend(found.into_iter().map(|message| LintLine { table: name.clone(), message }));
    }
    Ok((columns(&lines), None))
}

/// Returns the warnings and errors of lint about a table that a statement has declared, as notices.
pub(crate) async fn notices(
    cluster: &Arc<dyn Cluster>,
    rules: &Arc<dyn TableLint>,
    name: &TableName,
) -> Vec<String> {
    let table = cluster.table(name);
    // The statement is done, whatever cannot be said of it.
    let Ok(descriptor) = table.descriptor().await else { return Vec::new() };
    let Ok(regions) = table.regions().await else { return Vec::new() };
    let declaration = TableDeclaration::from_descriptor(&descriptor);
    let Some(Ok(declaration)) = declaration else { return Vec::new() };
    let found = check(rules, &descriptor, Some(&declaration), &starts(&regions), &[]);
    let told = found.iter().filter(|message| message.is_warning());
    told.map(|message| format!("lint of {name}: {message}")).collect()
}

fn starts(regions: &[RegionInfo]) -> Vec<Bytes> {
    let starts = regions.iter().map(|region| region.start.clone());
    starts.filter(|start| !start.is_empty()).collect()
}

/// Runs the rules. They advise, so a fault of one of them fails no statement.
fn check(
    rules: &Arc<dyn TableLint>,
    table: &TableDescriptor,
    declaration: Option<&TableDeclaration>,
    splits: &[Bytes],
    keys: &[Bytes],
) -> Vec<LintMessage> {
    let subject = LintSubject { table, declaration, splits, keys };
    catch_unwind(AssertUnwindSafe(|| rules.check(&subject))).unwrap_or_default()
}

/// Returns findings as columns.
pub(crate) fn columns(lines: &[LintLine]) -> Columns {
    let of = |pick: fn(&LintMessage) -> &str| text(lines.iter().map(|line| pick(&line.message)));
    let evidence: StringViewArray =
        lines.iter().map(|line| line.message.evidence.as_deref()).collect();
    let fix: StringViewArray = lines.iter().map(|line| line.message.fix.as_deref()).collect();
    vec![
        ("namespace", text(lines.iter().map(|line| line.table.namespace())), false),
        ("table_name", text(lines.iter().map(|line| line.table.qualifier())), false),
        ("rule", of(|message| message.rule), false),
        ("severity", of(|message| message.severity), false),
        ("what", of(|message| &message.what), false),
        ("evidence", Arc::new(evidence), true),
        ("fix", Arc::new(fix), true),
    ]
}
