//! Statements of the row-key language: CREATE TABLE, ALTER TABLE, and those of `change_schema`.

use std::sync::Arc;

use halite_rowkey::language::{SchemaStatement, SplitClause, Statement, TableDeclaration};
use halite_rowkey::split::{DEFAULT_WIDTHS_AHEAD, Rolling, Splits};
use halite_rowkey::strict::ROW_MARKER;
use halite_rowkey::{KeySchema, change_schema};
use halite_types::key::to_string_binary;
use halite_types::{Bytes, TableDescriptor, TableName};

use super::key_sample::{now_ms, sample};
use super::local::PG_TEMP;
use super::{HaliteCatalog, INFORMATION_SCHEMA, PG_CATALOG, PUBLIC, SYSTEM_SCHEMA};
use crate::error::{Result, SqlError, SqlState};
use crate::write::marker_family;

/// Runs a statement and returns its command tag. `notices` receives what the user should know.
pub(crate) async fn run(
    catalog: &HaliteCatalog,
    statement: Statement,
    notices: &mut Vec<String>,
) -> Result<&'static str> {
    match statement {
        Statement::CreateTable(declaration) => {
            create(catalog, &declaration, notices).await?;
            Ok("CREATE TABLE")
        }
        Statement::Adopt { table, key, forced } => {
            adopt(catalog, &table, &key, forced, notices).await?;
            Ok("ALTER TABLE")
        }
        Statement::AlterSalt { table, salts, .. } => Err(SqlError::unsupported(format!(
            "table {table}: the number of salts of a table that exists cannot be changed yet; \
             create a table with SALT({salts} ..) in its key and copy the rows"
        ))),
        Statement::Schema(statement) => {
            if let SchemaStatement::CreateSchema { name, .. } = &statement {
                check_schema(name)?;
            }
            Ok(change_schema(&*catalog.cluster, &statement, notices).await?)
        }
        Statement::ShowCreateTable(table) => Err(SqlError::new(
            SqlState::Internal,
            format!("SHOW CREATE TABLE {table} is answered with rows"),
        )),
    }
}

/// Returns the table that a statement declares or changes the declaration of.
pub(crate) fn declared_table(statement: &Statement) -> Option<TableName> {
    match statement {
        Statement::CreateTable(declaration) => Some(declaration.descriptor.name().clone()),
        Statement::Adopt { table, .. }
        | Statement::AlterSalt { table, .. }
        | Statement::Schema(SchemaStatement::Alter { table, .. }) => Some(table.clone()),
        Statement::Schema(SchemaStatement::AdoptFromSample { table, apply: true, .. }) => {
            Some(table.clone())
        }
        Statement::Schema(_) | Statement::ShowCreateTable(_) => None,
    }
}

/// Refuses a namespace of which no table could be named: its name means another schema.
fn check_schema(name: &str) -> Result<()> {
    const OTHERS: [&str; 5] = [PG_TEMP, PG_CATALOG, INFORMATION_SCHEMA, SYSTEM_SCHEMA, PUBLIC];
    if OTHERS.iter().any(|other| name.eq_ignore_ascii_case(other)) {
        let text = format!("schema {name} is one of this dialect, and no namespace: name another");
        return Err(SqlError::new(SqlState::DuplicateSchema, text));
    }
    Ok(())
}

async fn create(
    catalog: &HaliteCatalog,
    declaration: &TableDeclaration,
    notices: &mut Vec<String>,
) -> Result<()> {
    let name = declaration.descriptor.name();
    if declaration.if_not_exists
        && let Some(current) = catalog.descriptor(name).await?
    {
        let other = match KeySchema::from_descriptor(&current) {
            Some(Ok(key)) if key == declaration.key => String::new(),
            Some(Ok(key)) => format!(", with another key: {key}"),
            _ => ", and declares no key".to_owned(),
        };
        notices.push(format!("table {name} exists already{other}"));
        return Ok(());
    }
    let splits = match &declaration.split {
        Some(clause) => split_keys(catalog, clause, &declaration.key).await?,
        None => Vec::new(),
    };
    let descriptor = described(declaration)?;
    Ok(catalog.cluster.admin().create_table(descriptor, splits).await?)
}

/// Returns the descriptor of a table to create.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn described(declaration: &TableDeclaration) -> Result<TableDescriptor> {
    let mut descriptor = declaration.described();
    // Tells INSERT and UPDATE whether a row is there, where no column does.
    if !descriptor.attributes.contains_key(ROW_MARKER)
        && let Some(family) = marker_family(declaration, &descriptor)
    {
        descriptor = descriptor.set(ROW_MARKER, family);
    }
    descriptor.check()?;
    Ok(descriptor)
}

async fn split_keys(
    catalog: &HaliteCatalog,
    clause: &SplitClause,
    key: &KeySchema,
) -> Result<Vec<Bytes>> {
    let invalid =
        |what: String| SqlError::new(SqlState::InvalidParameter, format!("{clause}: {what}"));
    let declared = Splits::declared(clause, key).map_err(|error| invalid(error.to_string()))?;
    let splits = match (declared, clause) {
        (Some(splits), _) => splits,
        (None, SplitClause::Like(table)) => {
            Splits::like(&catalog.cluster.table(table).regions().await?)
        }
        (None, SplitClause::Rolling(width_ms)) => {
            let rolling =
                Rolling::for_schema(&Arc::new(key.clone()), *width_ms).map_err(invalid)?;
            let boundaries = rolling.boundaries(now_ms(), DEFAULT_WIDTHS_AHEAD)?;
            Splits::at(boundaries).map_err(|error| invalid(error.to_string()))?
        }
        (None, _) => {
            return Err(SqlError::unsupported(format!(
                "{clause}: SQL reads no files of splits; use halite shell, or SPLIT AT"
            )));
        }
    };
    Ok(splits.for_schema(key).keys)
}

async fn adopt(
    catalog: &HaliteCatalog,
    name: &TableName,
    key: &KeySchema,
    forced: bool,
    notices: &mut Vec<String>,
) -> Result<()> {
    let table = catalog.cluster.table(name);
    let current: Arc<TableDescriptor> = table.descriptor().await?;
    let keys = sample(&table).await?;
    let misfit = keys.iter().find(|row| key.decode(row).is_err());
    if !forced {
        if let Some(Ok(declared)) = KeySchema::from_descriptor(&current) {
            declared.check_change(key)?;
        }
        if let Some(row) = misfit {
            return Err(SqlError::new(
                SqlState::InvalidParameter,
                format!(
                    "row {} of table {name} is no key of {key}; declare another key, or add FORCE",
                    to_string_binary(row)
                ),
            ));
        }
    }
    let redeclared = key.adopted_in(&current)?;
    catalog.cluster.admin().alter_table(redeclared.descriptor).await?;
    let fitting = keys.iter().filter(|row| key.decode(row).is_ok()).count();
    notices.push(format!("the key fits {fitting} of {} sampled row(s)", keys.len()));
    notices.extend(redeclared.dropped.iter().map(|what| format!("no longer declared: {what}")));
    Ok(())
}
