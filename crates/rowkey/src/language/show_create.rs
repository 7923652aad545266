//! Canonical formatter of a declared table as `CREATE TABLE`.

use std::fmt;

use super::declaration::{Query, TableDeclaration};
use super::options;
use super::print::name;
use super::split::print_table;
use super::table_attributes::{ROW_KEY, ROW_SCHEMA, ROW_STATS};

impl fmt::Display for TableDeclaration {
    /// Formats the statement, preceded by lint suppressions as comments; it is parsed to the same
    /// declaration.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_suppressions(out)?;
        let elements = self.elements().into_iter().chain([self.key.to_text()]);
        let elements: Vec<String> = elements.map(|element| format!("  {element}")).collect();
        write!(
            out,
            "CREATE TABLE {} (\n{}\n)",
            print_table(self.descriptor.name()),
            elements.join(",\n")
        )?;
        let options = options::print(&self.descriptor, &[ROW_KEY, ROW_SCHEMA, ROW_STATS]);
        if !options.is_empty() {
            write!(out, "\nWITH ({})", options.join(", "))?;
        }
        self.fmt_clauses(out)
    }
}

impl TableDeclaration {
    /// Returns the columns, and the families without columns.
    fn elements(&self) -> Vec<String> {
        let bare = self.descriptor.families().map(|family| String::from_utf8_lossy(family.name()));
        let bare = bare
            .filter(|family| !self.columns.iter().any(|column| column.family == *family))
            .map(|family| format!("FAMILY {}", name(&family)));
        self.columns.iter().map(ToString::to_string).chain(bare).collect()
    }

    /// Returns the declarations that the descriptor does not contain elsewhere; empty if there are
    /// none.
    pub(super) fn schema_text(&self) -> String {
        struct ExtraClauses<'a>(&'a TableDeclaration);
        impl fmt::Display for ExtraClauses<'_> {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt_suppressions(out)?;
                let columns: Vec<String> = self.0.columns.iter().map(ToString::to_string).collect();
                if !columns.is_empty() {
                    write!(out, "({})", columns.join(", "))?;
                }
                self.0.fmt_clauses(out)
            }
        }
        ExtraClauses(self).to_string().trim_start().to_owned()
    }

    fn fmt_suppressions(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.suppressions.iter().try_for_each(|allowed| {
            let reason = if allowed.reason.is_empty() {
                String::new()
            } else {
                format!(" {}", allowed.reason)
            };
            writeln!(out, "-- lint:allow {}{reason}", allowed.rule)
        })
    }

    fn fmt_clauses(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.queries.is_empty() {
            let queries: Vec<String> = self.queries.iter().map(Query::to_string).collect();
            write!(out, "\nWITH QUERIES (\n  {}\n)", queries.join(",\n  "))?;
        }
        match &self.split {
            Some(split) => write!(out, "\n{split}"),
            None => Ok(()),
        }
    }
}
