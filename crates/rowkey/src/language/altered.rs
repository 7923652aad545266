//! Effect of alterations on the descriptor of a table.

use halite_types::suggest::{closest_match, did_you_mean};
use halite_types::{Error, FamilyDescriptor, Result, TableDescriptor};

use super::change::{Alteration, NewColumn, TableOption};
use super::comments::move_comment;
use super::cursor::Name;
use super::declaration::{Column, Statement, TableDeclaration};
use super::error::{LanguageError, Span};
use super::options::{RawOption, apply};
use super::table_attributes::{ROW_KEY, ROW_SCHEMA};
use crate::schema::KeySchema;
use crate::strict::ROW_MARKER;

/// Key of a table whose columns are declared and whose key is not: the row itself.
const WHOLE_ROW: &str = "ROW KEY (row BYTES)";

/// Altered table.
#[derive(Clone, Debug, PartialEq)]
pub struct Altered {
    /// Descriptor with the declarations in its attributes.
    pub descriptor: TableDescriptor,
    /// Columns whose cells are to be deleted.
    pub purged: Vec<Column>,
    /// Columns for cells that are there already.
    pub adopted: Vec<Column>,
    /// What the user should know, each a sentence without a period.
    pub notes: Vec<String>,
}

/// Applies alterations to the descriptor of a table, all of them or none.
///
/// # Errors
/// `InvalidRequest` for a name that is missing or taken, a column that the key or other columns do
/// not permit, and values of options that the descriptor's check rejects.
pub fn altered(descriptor: &TableDescriptor, alterations: &[Alteration]) -> Result<Altered> {
    let declaration = match TableDeclaration::from_descriptor(descriptor) {
        Some(Ok(declaration)) => Some(declaration),
        Some(Err(error)) => {
            return Err(Error::invalid(format!(
                "{ROW_KEY} or {ROW_SCHEMA} of table {}: {error}; set the attribute with alter in \
                 the shell",
                descriptor.name()
            )));
        }
        None => None,
    };
    let mut draft = Draft {
        descriptor: descriptor.clone(),
        declaration,
        purged: Vec::new(),
        adopted: Vec::new(),
        notes: Vec::new(),
    };
    for alteration in alterations {
        draft.apply(alteration)?;
    }
    draft.finish()
}

/// Table between alterations.
struct Draft {
    descriptor: TableDescriptor,
    declaration: Option<TableDeclaration>,
    purged: Vec<Column>,
    adopted: Vec<Column>,
    notes: Vec<String>,
}

impl Draft {
    fn apply(&mut self, alteration: &Alteration) -> Result<()> {
        match alteration {
            Alteration::AddColumn(column) => self.add_column(column),
            Alteration::AdoptColumns(columns) => self.adopt_columns(columns),
            Alteration::DropColumn { name, purge } => self.drop_column(name, *purge),
            Alteration::RenameColumn { from, to } => self.rename_column(from, to),
            Alteration::AddFamily(name) => {
                if self.descriptor.find_family(name.as_bytes()).is_some() {
                    return Err(self.invalid(format!("has a family {name} already")));
                }
                self.descriptor.set_family(FamilyDescriptor::new(name.clone()));
                Ok(())
            }
            Alteration::DropFamily(name) => self.drop_family(name),
            Alteration::Set(options) => self.set(options),
        }
    }

    fn invalid(&self, what: impl std::fmt::Display) -> Error {
        Error::invalid(format!("table {} {what}", self.descriptor.name()))
    }

    fn declared(&mut self) -> Result<&mut TableDeclaration> {
        let name = self.descriptor.name();
        self.declaration.as_mut().ok_or_else(|| {
            Error::invalid(format!(
                "table {name} declares no columns; ALTER TABLE {name} ADOPT COLUMNS (..) declares \
                 those that its rows have, and ADOPT ROW KEY (..) its key"
            ))
        })
    }

    fn add_column(&mut self, new: &NewColumn) -> Result<()> {
        if new.column.not_null {
            let name = &new.column.name;
            return Err(self.invalid(format!(
                "has rows without {name}, which would not count as rows; leave NOT NULL out, or \
                 ADOPT COLUMNS if all rows have it"
            )));
        }
        let column = self.in_family(new)?;
        self.declared()?.columns.push(column);
        Ok(())
    }

    fn adopt_columns(&mut self, columns: &[NewColumn]) -> Result<()> {
        if self.declaration.is_none() {
            let key: KeySchema = WHOLE_ROW
                .parse()
                .map_err(|error: LanguageError| Error::invalid(error.to_string()))?;
            self.notes.push(format!(
                "the key is declared as {WHOLE_ROW}, the row as it is; ADOPT ROW KEY (..) names \
                 its parts"
            ));
            let declared = key.declared_in(self.descriptor.clone());
            self.declaration =
                TableDeclaration::from_descriptor(&declared).and_then(std::result::Result::ok);
        }
        for new in columns {
            let column = self.in_family(new)?;
            self.adopted.push(column.clone());
            self.declared()?.columns.push(column);
        }
        Ok(())
    }

    /// Returns a column in its family, which exists.
    fn in_family(&self, new: &NewColumn) -> Result<Column> {
        let mut column = new.column.clone();
        let families: Vec<String> = self
            .descriptor
            .families()
            .map(|family| String::from_utf8_lossy(family.name()).into_owned())
            .collect();
        if !new.has_family {
            column.family = families.first().cloned().unwrap_or_default();
        } else if !families.contains(&column.family) {
            let hint = did_you_mean(closest_match(&column.family, families.iter().map(|f| &**f)));
            return Err(self.invalid(format!(
                "has no family {}{hint}; ADD FAMILY {} creates it",
                column.family, column.family
            )));
        }
        Ok(column)
    }

    fn drop_column(&mut self, name: &str, purge: bool) -> Result<()> {
        let at = self.place_of(name)?;
        let column = self.declared()?.columns.remove(at);
        move_comment(&mut self.descriptor, name, None);
        if column.not_null {
            self.notes.push(format!(
                "{name} told which rows are there: without a NOT NULL column INSERT is refused, and \
                 UPSERT writes over what is there"
            ));
        }
        if !purge {
            let cells = format!("{}:{}", column.family, column.qualifier.escape_ascii());
            self.notes.push(format!("the cells {cells} remain; DROP COLUMN .. PURGE deletes them"));
        }
        self.purged.extend(purge.then_some(column));
        Ok(())
    }

    fn rename_column(&mut self, from: &str, to: &str) -> Result<()> {
        let at = self.place_of(from)?;
        let declaration = self.declared()?;
        if let Some(column) = declaration.columns.get_mut(at) {
            to.clone_into(&mut column.name);
        }
        move_comment(&mut self.descriptor, from, Some(to));
        let declaration = self.declared()?;
        for query in &mut declaration.queries {
            let conditions = query.conditions.iter_mut().map(|condition| &mut condition.column);
            let orders = query.order.iter_mut().map(|order| &mut order.column);
            for name in conditions.chain(orders).filter(|name| *name == from) {
                to.clone_into(name);
            }
        }
        Ok(())
    }

    /// Returns the place of a column among the declared ones.
    fn place_of(&mut self, name: &str) -> Result<usize> {
        let table = self.descriptor.name().clone();
        let declaration = self.declared()?;
        if let Some(at) = declaration.columns.iter().position(|column| column.name == name) {
            return Ok(at);
        }
        if declaration.key.field_id(name).is_some() {
            return Err(Error::invalid(format!(
                "{name} is in the key of table {table}; ADOPT ROW KEY with the same parts and other \
                 names renames them, and the key of a row cannot lose a part"
            )));
        }
        let names = declaration.columns.iter().map(|column| column.name.as_str());
        let hint = did_you_mean(closest_match(name, names));
        Err(Error::invalid(format!("table {table} has no column {name}{hint}")))
    }

    fn drop_family(&mut self, name: &str) -> Result<()> {
        let columns: Vec<&str> = self
            .declaration
            .iter()
            .flat_map(|declaration| &declaration.columns)
            .filter(|column| column.family == name)
            .map(|column| column.name.as_str())
            .collect();
        if !columns.is_empty() {
            return Err(self.invalid(format!(
                "has columns in family {name}: {}; DROP COLUMN them first",
                columns.join(", ")
            )));
        }
        if self.descriptor.attributes.get(ROW_MARKER).is_some_and(|family| family == name) {
            return Err(self.invalid(format!(
                "has in family {name} the marker of each row, which tells that it is there"
            )));
        }
        if self.descriptor.family_count() == 1 {
            return Err(self.invalid("would have no family; DROP TABLE drops it"));
        }
        match self.descriptor.remove_family(name.as_bytes()) {
            Some(_) => Ok(()),
            None => Err(self.invalid(format!("has no family {name}"))),
        }
    }

    fn set(&mut self, options: &[TableOption]) -> Result<()> {
        let name = |text: &String| Name { text: text.clone(), span: Span::default() };
        let raw = |option: &TableOption| RawOption {
            family: option.family.as_ref().map(name),
            name: name(&option.name),
            value: option.value.clone(),
            value_span: Span::default(),
        };
        let options: Vec<RawOption> = options.iter().map(raw).collect();
        apply(&options, &mut self.descriptor).map_err(|error| {
            let hint = error.suggestion.map_or_else(String::new, |hint| format!("; {hint}"));
            Error::invalid(format!("table {}: {}{hint}", self.descriptor.name(), error.message))
        })
    }

    fn finish(self) -> Result<Altered> {
        let Self { mut descriptor, declaration, purged, adopted, mut notes } = self;
        if let Some(mut declaration) = declaration {
            notes.extend(
                declaration
                    .drop_unfit()
                    .into_iter()
                    .map(|what| format!("no longer declared: {what}")),
            );
            // The parser of statements decides, so that the output of SHOW CREATE TABLE can be
            // parsed. No attribute concerns the columns: a cluster has some that statements do not
            // know.
            let families =
                descriptor.families().map(|family| FamilyDescriptor::new(family.name().clone()));
            let bare = TableDescriptor::new(descriptor.name().clone());
            declaration.descriptor = families.fold(bare, TableDescriptor::family);
            if let Err(LanguageError { message, suggestion, .. }) =
                declaration.to_string().parse::<Statement>()
            {
                let hint = suggestion.map_or_else(String::new, |hint| format!("; {hint}"));
                return Err(Error::invalid(format!(
                    "table {}: {message}{hint}",
                    descriptor.name()
                )));
            }
            let attributes = declaration.described().attributes;
            for name in [ROW_KEY, ROW_SCHEMA] {
                match attributes.get(name) {
                    Some(text) => drop(descriptor.attributes.insert(name.into(), text.clone())),
                    None => drop(descriptor.attributes.remove(name)),
                }
            }
        }
        descriptor.check()?;
        Ok(Altered { descriptor, purged, adopted, notes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::SchemaStatement;

    fn table(text: &str) -> TableDescriptor {
        let statement: Statement = text.parse().unwrap();
        let Statement::CreateTable(declaration) = statement else { panic!("{text}") };
        declaration.described()
    }

    fn alter(before: &TableDescriptor, text: &str) -> Result<Altered> {
        let statement: Statement = format!("ALTER TABLE t {text}").parse().unwrap();
        let Statement::Schema(SchemaStatement::Alter { alterations, .. }) = statement else {
            panic!("{text}")
        };
        altered(before, &alterations)
    }

    fn shown(descriptor: &TableDescriptor) -> String {
        TableDeclaration::from_descriptor(descriptor).unwrap().unwrap().to_string()
    }

    fn refused(before: &TableDescriptor, text: &str, why: &str) {
        let error = alter(before, text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }

    const USERS: &str = "CREATE TABLE t (a I64 FAMILY f, b STRING FAMILY g QUALIFIER x, \
                         n I32 FAMILY f NOT NULL, ROW KEY (id STRING, ts TIMESTAMP DESC)) \
                         WITH QUERIES (q: id = ? AND b = ? ORDER BY ts DESC)";

    #[test]
    fn columns_are_added_renamed_and_dropped_together() {
        let before = table(USERS);
        let after =
            alter(&before, "ADD COLUMN c DOUBLE, ADD g.d STRING, RENAME COLUMN b TO bb, DROP a");
        let after = after.unwrap();
        let text = shown(&after.descriptor);
        for part in ["c F64 FAMILY f", "d STRING FAMILY g", "bb STRING FAMILY g QUALIFIER 'x'"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("bb = ?") && !text.contains("a I64"), "{text}");
        assert!(after.notes.iter().any(|note| note.contains("f:a remain")), "{:?}", after.notes);
        assert!(after.purged.is_empty());
        // All of them, or none.
        refused(&before, "ADD COLUMN c DOUBLE, DROP COLUMN zz", "has no column zz");
    }

    #[test]
    fn dropped_columns_leave_the_queries_that_name_them() {
        let after = alter(&table(USERS), "DROP COLUMN b PURGE, DROP COLUMN n").unwrap();
        assert_eq!(after.purged.len(), 1);
        assert_eq!(after.purged[0].qualifier, "x");
        let notes = after.notes.join("; ");
        assert!(notes.contains("no longer declared: query q"), "{notes}");
        assert!(notes.contains("n told which rows are there"), "{notes}");
        assert!(!shown(&after.descriptor).contains("QUERIES"));
    }

    #[test]
    fn names_that_are_taken_or_missing_are_refused() {
        let before = table(USERS);
        for (text, why) in [
            ("ADD COLUMN a I64", "a is declared twice"),
            ("ADD COLUMN id I64", "id"),
            ("ADD COLUMN y STRING FAMILY g QUALIFIER x", "one name in the store"),
            ("ADD COLUMN c I64 NOT NULL", "leave NOT NULL out"),
            ("ADD h.c I64", "has no family h"),
            ("DROP COLUMN aa", "did you mean a"),
            ("DROP COLUMN id", "in the key"),
            ("RENAME COLUMN a TO b", "b is declared twice"),
            ("DROP FAMILY f", "has columns in family f: a, n"),
            ("ADD FAMILY f", "has a family f already"),
            ("SET (VERSIONNS = 3)", "did you mean VERSIONS"),
            ("SET (h.VERSIONS = 3)", "has no family h"),
            ("SET (VERSIONS = 0)", "VERSIONS"),
        ] {
            refused(&before, text, why);
        }
        let wrong = |text: &str| format!("ALTER TABLE t {text}").parse::<Statement>().unwrap_err();
        assert!(wrong("ADD COLUMN c I64 PRIMARY KEY").message.contains("stays as it is"));
        assert!(wrong("SET (SALT_BUCKETS = 4)").message.contains("of the key"));
        assert!(wrong("ADD c I64 VERSIONS 3").to_string().contains("family.VERSIONS"));
    }

    #[test]
    fn families_and_options_change_without_a_declaration() {
        let bare = TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f"));
        let after = alter(&bare, "ADD FAMILY g, SET (g.VERSIONS = 5, MAX_FILESIZE = 1000000000)");
        let after = after.unwrap().descriptor;
        assert_eq!(after.find_family(b"g").unwrap().max_versions(), 5);
        assert_eq!(after.max_file_size_bytes(), Some(1_000_000_000));
        let after = alter(&after, "DROP FAMILY f").unwrap().descriptor;
        assert_eq!(after.family_count(), 1);
        refused(&after, "DROP FAMILY g", "would have no family");
        refused(&after, "ADD COLUMN a I64", "ADOPT COLUMNS (..)");
        let marked = bare.clone().set(ROW_MARKER, "f").family(FamilyDescriptor::new("g"));
        refused(&marked, "DROP FAMILY f", "the marker of each row");
    }

    #[test]
    fn columns_of_a_table_without_a_key_are_adopted() {
        let bare = TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f"));
        let after = alter(&bare, "ADOPT COLUMNS (name STRING QUALIFIER n, age I32 ENCODING TEXT)");
        let after = after.unwrap();
        assert_eq!(after.adopted.len(), 2);
        let text = shown(&after.descriptor);
        assert!(text.contains("name STRING FAMILY f QUALIFIER 'n'"), "{text}");
        assert!(text.contains("age I32 FAMILY f ENCODING TEXT"), "{text}");
        assert!(text.contains("ROW KEY (\"row\" BYTES)") || text.contains("ROW KEY (row BYTES)"));
        // Every key of a row is one of it.
        let key = KeySchema::from_descriptor(&after.descriptor).unwrap().unwrap();
        for row in [&b"a\0b"[..], b"\xff\xff", b"1"] {
            assert!(key.decode(row).is_ok(), "{row:?}");
        }
    }
}
