//! `halite advise capacity --schema`: what declared tables take, and how certain that is.

use std::collections::HashMap;
use std::io::Write;

use anyhow::{Context as _, anyhow, bail};
use halite::rowkey::language::{SplitClause, Statement, TableDeclaration, statements};
use halite::rowkey::split::Splits;
use halite::suggest::{closest_match, did_you_mean};
use halite_rowkey_tools::advise::{DeclaredCapacity, DeclaredLoad, declared_capacity};
use halite_rowkey_tools::simulate::FieldSpec;

use super::capacity::{print_capacity, print_sample};
use crate::key::resolve_splits;
use crate::text_table::{grouped, size};

/// Load of each of some declared tables.
pub(super) struct SchemaLoad<'a> {
    pub(super) rows: u64,
    /// As `NAME=GENERATOR`.
    pub(super) fields: &'a [String],
    pub(super) points: Option<u32>,
    pub(super) map_cells: u32,
    pub(super) writes_per_second: u64,
}

impl SchemaLoad<'_> {
    /// Prints what the tables of a text, or of the file that `@FILE` names, take.
    pub(super) fn print(&self, text: &str, out: &mut dyn Write) -> anyhow::Result<()> {
        let tables = tables(text)?;
        let fields = self.generators(&tables)?;
        let mut disk = 0_u64;
        for table in &tables {
            let name = table.descriptor.name();
            let (splits, unknown) =
                splits(table, &tables).with_context(|| format!("table {name}"))?;
            let load = DeclaredLoad {
                table,
                splits: splits.as_ref(),
                rows: self.rows,
                fields: &fields,
                points: self.points,
                map_cells: self.map_cells,
                writes_per_second: self.writes_per_second,
            };
            let mut found = declared_capacity(&load).with_context(|| format!("table {name}"))?;
            found.capacity.against.splice(0..0, unknown);
            writeln!(out, "table {name}, {}", table.key)?;
            print_declared(&found, out)?;
            writeln!(out)?;
            disk = disk.saturating_add(found.capacity.disk_bytes);
        }
        if tables.len() > 1 {
            writeln!(out, "{} on disk for all {} tables", size(disk), tables.len())?;
        }
        Ok(())
    }

    /// Returns the generators by the names of fields and columns.
    fn generators(
        &self,
        tables: &[TableDeclaration],
    ) -> anyhow::Result<HashMap<String, FieldSpec>> {
        let names: Vec<&str> = tables.iter().flat_map(names).collect();
        let mut generators = HashMap::new();
        for given in self.fields {
            let (name, spec) = given.split_once('=').with_context(|| {
                format!("--field {given}: specify NAME=GENERATOR, as in id=uniform(1000)")
            })?;
            if !names.contains(&name) {
                let hint = did_you_mean(closest_match(name, names.iter().copied()));
                bail!("--field {given}: no table has the field or column {name}{hint}");
            }
            let spec =
                FieldSpec::parse(spec).map_err(|error| anyhow!("--field {given}: {error}"))?;
            if generators.insert(name.to_owned(), spec).is_some() {
                bail!("--field {name} is specified twice; leave one out");
            }
        }
        Ok(generators)
    }
}

/// Returns the names of the fields and columns of a table.
fn names(table: &TableDeclaration) -> impl Iterator<Item = &str> {
    let fields = table.key.fields().iter().map(|field| &field.name[..]);
    fields.chain(table.columns.iter().map(|column| &column.name[..]))
}

fn tables(text: &str) -> anyhow::Result<Vec<TableDeclaration>> {
    let text = match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).with_context(|| format!("file {file}"))?,
        None => text.to_owned(),
    };
    let parsed = statements(&text)
        .map_err(|error| anyhow!("the schema cannot be read\n{}", error.render(&text)))?;
    let tables: Vec<TableDeclaration> = parsed
        .into_iter()
        .filter_map(|statement| match statement {
            Statement::CreateTable(table) => Some(table),
            _ => None,
        })
        .collect();
    let name = |table: &TableDeclaration| table.descriptor.name().clone();
    if let Some(twice) = (1..tables.len())
        .find(|&at| tables[..at].iter().any(|other| name(other) == name(&tables[at])))
    {
        bail!("the schema declares table {} twice; leave one out", name(&tables[twice]));
    }
    if tables.is_empty() {
        bail!("the schema has no CREATE TABLE statement; `halite key new` writes one");
    }
    Ok(tables)
}

/// Returns the splits with which a table is created, and what is not known of them. The tables of a
/// schema are created one after the other, so one is split like another that is declared before it.
fn splits(
    table: &TableDeclaration,
    schema: &[TableDeclaration],
) -> anyhow::Result<(Option<Splits>, Option<String>)> {
    let Some(clause) = &table.split else { return Ok((None, None)) };
    if let SplitClause::Like(name) = clause {
        let is_before =
            |other: &&TableDeclaration| other.descriptor.name() != table.descriptor.name();
        let mut before = schema.iter().take_while(is_before);
        let Some(other) = before.find(|other| other.descriptor.name() == name) else {
            let unknown = format!(
                "SPLIT LIKE {name}: the schema does not declare that table before, so one region is \
                 counted"
            );
            return Ok((None, Some(unknown)));
        };
        let (splits, unknown) = splits(other, schema)?;
        let keys = splits.map(|splits| Splits::at(splits.keys)).transpose()?;
        return Ok((keys.map(|splits| splits.for_schema(&table.key)), unknown));
    }
    let splits =
        resolve_splits(clause, &table.key, |name| bail!("SPLIT LIKE {name} has no splits here"));
    Ok((Some(splits?), None))
}

fn print_declared(found: &DeclaredCapacity, out: &mut dyn Write) -> anyhow::Result<()> {
    let keys = format!("keys of {:.1} bytes in the mean", found.key_bytes);
    print_sample(&found.capacity, &keys, out)?;
    for family in &found.families {
        writeln!(
            out,
            "family          {}: {:.1} cells a row, {:.1} bytes per cell, measured with {}",
            family.name, family.cells_per_row, family.bytes_per_cell, family.written_with
        )?;
    }
    writeln!(out, "cells           {}", grouped(found.capacity.cells))?;
    print_capacity(&found.capacity, out)
}
