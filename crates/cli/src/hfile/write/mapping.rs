//! Mapping of the columns of a file to the row key, the timestamp and the cells.

use anyhow::{Context as _, anyhow, bail};
use halite::Bytes;
use halite::rowkey::KeySchema;

use super::value_type::ValueType;

/// Name of the row key in a list as of `ImportTsv`.
const ROW_KEY: &str = "HBASE_ROW_KEY";
/// Name of the timestamp there.
const TIMESTAMP: &str = "HBASE_TS_KEY";
/// Prefix of the names of other parts of a cell there, which are not written.
const OTHER_PARTS: &str = "HBASE_";
/// Name of a column there that is not read.
const SKIPPED: &str = "-";

/// Arguments that map columns.
#[derive(Default)]
pub(crate) struct MappingArgs {
    /// `COLUMN`, or `FIELD=COLUMN` for each field of a declared key.
    pub(crate) keys: Vec<String>,
    /// `FAMILY:QUALIFIER[=COLUMN[:TYPE]]`.
    pub(crate) columns: Vec<String>,
    /// Family of the columns that are not named otherwise.
    pub(crate) family: Option<String>,
    pub(crate) timestamp: Option<String>,
    /// List of `ImportTsv`, which replaces the others.
    pub(crate) import_tsv: Option<String>,
}

/// Cell of each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CellColumn {
    /// Index of the column in a line.
    pub(super) input: usize,
    pub(super) family: Bytes,
    pub(super) qualifier: Bytes,
    pub(super) ty: ValueType,
}

/// Source of the row key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeySource {
    /// The bytes of a column.
    Column(usize),
    /// A column for each field of the declared key; `None` for a null.
    Fields(Vec<Option<usize>>),
}

/// Resolved mapping.
#[derive(Debug)]
pub(super) struct Mapping {
    pub(super) key: KeySource,
    pub(super) timestamp: Option<usize>,
    pub(super) cells: Vec<CellColumn>,
    /// Number of columns in a line.
    pub(super) width: usize,
}

impl Mapping {
    /// Resolves the arguments for a file whose columns have these names and a table with this key.
    ///
    /// # Errors
    /// Returns an error for an unknown column or field, a missing key, or no cells.
    pub(super) fn new(
        arguments: &MappingArgs,
        names: &[String],
        key: Option<&KeySchema>,
    ) -> anyhow::Result<Self> {
        if let Some(twice) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
            bail!("the file has two columns {}; rename one in its header", names[twice]);
        }
        let key = key_source(&arguments.keys, names, key)?;
        let timestamp = match &arguments.timestamp {
            Some(name) => Some(find(names, name)?),
            None => None,
        };
        let mut cells = arguments
            .columns
            .iter()
            .map(|text| cell_column(text, names))
            .collect::<anyhow::Result<Vec<_>>>()?;
        if let Some(family) = &arguments.family {
            let is_used = |at: &usize| {
                timestamp == Some(*at)
                    || cells.iter().any(|cell| cell.input == *at)
                    || match &key {
                        KeySource::Column(column) => column == at,
                        KeySource::Fields(fields) => fields.contains(&Some(*at)),
                    }
            };
            let others = (0..names.len()).filter(|at| !is_used(at)).map(|input| CellColumn {
                input,
                family: family.clone().into(),
                qualifier: names[input].clone().into(),
                ty: ValueType::Text,
            });
            let others: Vec<_> = others.collect();
            cells.extend(others);
        }
        if cells.is_empty() {
            bail!(
                "no column becomes a cell; give --column FAMILY:QUALIFIER=COLUMN, or --family for \
                 all"
            );
        }
        check_targets(&cells)?;
        Ok(Self { key, timestamp, cells, width: names.len() })
    }

    /// Resolves a list as `-Dimporttsv.columns` has it: one name per column of the file.
    ///
    /// # Errors
    /// Returns an error if there is no row key, or a part of cells that is not written.
    pub(super) fn from_import_tsv(list: &str) -> anyhow::Result<Self> {
        let names: Vec<&str> = list.split(',').map(str::trim).collect();
        let (mut key, mut timestamp, mut cells) = (None, None, Vec::new());
        for (input, name) in names.iter().enumerate() {
            match *name {
                ROW_KEY if key.replace(input).is_none() => {}
                TIMESTAMP if timestamp.replace(input).is_none() => {}
                ROW_KEY | TIMESTAMP => bail!("{name} is given twice"),
                SKIPPED => {}
                other if other.starts_with(OTHER_PARTS) => {
                    bail!("{other} is not supported; name it {SKIPPED} to leave the column out")
                }
                column => {
                    let (family, qualifier) = column.split_once(':').unwrap_or((column, ""));
                    cells.push(CellColumn {
                        input,
                        family: family.to_owned().into(),
                        qualifier: qualifier.to_owned().into(),
                        ty: ValueType::Text,
                    });
                }
            }
        }
        let key = key.with_context(|| format!("one column has to be {ROW_KEY}"))?;
        if cells.is_empty() {
            bail!("no column becomes a cell; name one FAMILY:QUALIFIER");
        }
        check_targets(&cells)?;
        Ok(Self { key: KeySource::Column(key), timestamp, cells, width: names.len() })
    }

    /// Returns the families of the cells.
    pub(super) fn families(&self) -> std::collections::BTreeSet<&Bytes> {
        self.cells.iter().map(|cell| &cell.family).collect()
    }
}

/// Two columns for one cell would hide each other.
fn check_targets(cells: &[CellColumn]) -> anyhow::Result<()> {
    for (at, cell) in cells.iter().enumerate() {
        let is_same =
            |other: &&CellColumn| other.family == cell.family && other.qualifier == cell.qualifier;
        if cells[..at].iter().any(|other| is_same(&other)) {
            let column = [&cell.family[..], b":", &cell.qualifier].concat();
            bail!("two columns are written to {}", halite::to_string_binary(&column));
        }
    }
    Ok(())
}

fn key_source(
    given: &[String],
    names: &[String],
    key: Option<&KeySchema>,
) -> anyhow::Result<KeySource> {
    if let [column] = given
        && !column.contains('=')
    {
        return Ok(KeySource::Column(find(names, column)?));
    }
    let Some(key) = key else {
        bail!("the table declares no ROW KEY; give --key COLUMN with the column of the row key");
    };
    let mut fields: Vec<Option<usize>> = key
        .fields()
        .iter()
        .map(|field| names.iter().position(|name| *name == field.name))
        .collect();
    let mut named = vec![false; fields.len()];
    for text in given {
        let (field, column) = text
            .split_once('=')
            .with_context(|| format!("--key {text}: give FIELD=COLUMN for each field"))?;
        let at = key.field_id(field.trim()).ok_or_else(|| {
            let fields: Vec<_> = key.fields().iter().map(|field| field.name.as_str()).collect();
            anyhow!("--key {text}: the key has no such field; it has {}", fields.join(", "))
        })?;
        if std::mem::replace(&mut named[at], true) {
            bail!("--key {text}: the field has another column already; give one for each field");
        }
        fields[at] = Some(find(names, column)?);
    }
    let is_missing = |field: &usize| fields[*field].is_none() && !is_nullable(key, *field);
    if let Some(field) = (0..fields.len()).find(is_missing).map(|field| &key.fields()[field]) {
        bail!(
            "no column has the name of the key's field {0}; give --key {0}=COLUMN, one of {1}",
            field.name,
            names.join(", ")
        );
    }
    Ok(KeySource::Fields(fields))
}

/// Returns `true` if a field of a key may be null.
pub(super) fn is_nullable(key: &KeySchema, field: usize) -> bool {
    key.segments()
        .iter()
        .filter(|segment| segment.kind.field() == Some(field))
        .all(|segment| segment.nullable)
}

/// Parses `FAMILY:QUALIFIER[=COLUMN[:TYPE]]`. Without a column, that with the qualifier's name; a
/// type may follow then, too, and is not a part of the qualifier.
fn cell_column(text: &str, names: &[String]) -> anyhow::Result<CellColumn> {
    let (target, source) = text.split_once('=').map_or((text, None), |(a, b)| (a, Some(b)));
    let (family, qualifier) = target
        .split_once(':')
        .with_context(|| format!("--column {text}: give FAMILY:QUALIFIER=COLUMN[:TYPE]"))?;
    let source = source.unwrap_or(qualifier);
    let known = |name: &str| names.iter().position(|column| column == name);
    // A name of a column may contain a colon.
    let typed = source
        .rsplit_once(':')
        .filter(|_| known(source).is_none())
        .and_then(|(column, ty)| Some((column, ValueType::from_name(ty)?)));
    let (column, ty) = typed.unwrap_or((source, ValueType::Text));
    if let Some((column, ty)) = column.rsplit_once(':').filter(|_| known(column).is_none())
        && known(column).is_some()
    {
        bail!("--column {text}: {}", ValueType::unknown(ty));
    }
    let input = find(names, column).with_context(|| format!("--column {text}"))?;
    let qualifier = if target == text { column } else { qualifier };
    let (family, qualifier) = (family.to_owned().into(), qualifier.to_owned().into());
    Ok(CellColumn { input, family, qualifier, ty })
}

fn find(names: &[String], name: &str) -> anyhow::Result<usize> {
    names.iter().position(|known| known == name).with_context(|| {
        format!("the file has no column {name}; its columns are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    fn list(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn mapping(arguments: &MappingArgs, key: Option<&str>) -> anyhow::Result<Mapping> {
        let key: Option<KeySchema> = key.map(|text| text.parse().unwrap());
        Mapping::new(arguments, &names("ts,device,temp,a:b"), key.as_ref())
    }

    #[test]
    fn fields_are_found_by_name_or_given() {
        let key = Some("ROW KEY (device STRING, ts TIMESTAMP)");
        let arguments =
            MappingArgs { columns: list(&["d:temp=temp:double", "d:x=a:b"]), ..Default::default() };
        let found = mapping(&arguments, key).unwrap();
        assert_eq!(found.key, KeySource::Fields(vec![Some(1), Some(0)]));
        assert_eq!((found.cells[0].input, found.cells[0].ty), (2, ValueType::Double));
        assert_eq!((found.cells[1].input, found.cells[1].ty), (3, ValueType::Text));
        let arguments = MappingArgs {
            keys: list(&["device=a:b"]),
            family: Some("f".into()),
            ..Default::default()
        };
        let found = mapping(&arguments, key).unwrap();
        assert_eq!(found.key, KeySource::Fields(vec![Some(3), Some(0)]));
        let inputs: Vec<_> = found.cells.iter().map(|cell| cell.input).collect();
        assert_eq!(inputs, [1, 2]);
    }

    #[test]
    fn type_without_column_is_not_in_the_qualifier() {
        let arguments = MappingArgs {
            keys: list(&["device"]),
            columns: list(&["d:temp:double", "d:a:b"]),
            ..Default::default()
        };
        let found = mapping(&arguments, None).unwrap();
        let cells: Vec<_> =
            found.cells.iter().map(|cell| (cell.input, &cell.qualifier[..], cell.ty)).collect();
        assert_eq!(cells, [(2, &b"temp"[..], ValueType::Double), (3, b"a:b", ValueType::Text)]);
    }

    #[test]
    fn unknown_type_is_refused_with_nearest() {
        let arguments = MappingArgs {
            keys: list(&["device"]),
            columns: list(&["d:temp=temp:duoble"]),
            ..Default::default()
        };
        let error = format!("{:#}", mapping(&arguments, None).unwrap_err());
        assert!(
            error.starts_with("--column d:temp=temp:duoble: there is no type duoble"),
            "{error}"
        );
        assert!(error.ends_with("hex, binary (did you mean double?)"), "{error}");
    }

    #[test]
    fn plain_key_leaves_other_columns_to_the_family() {
        let arguments = MappingArgs {
            keys: list(&["device"]),
            family: Some("f".into()),
            timestamp: Some("ts".into()),
            ..Default::default()
        };
        let found = mapping(&arguments, None).unwrap();
        assert_eq!((found.key, found.timestamp), (KeySource::Column(1), Some(0)));
        let qualifiers: Vec<_> = found.cells.iter().map(|cell| &cell.qualifier[..]).collect();
        assert_eq!(qualifiers, [&b"temp"[..], b"a:b"]);
    }

    #[test]
    fn wrong_arguments_name_the_choices() {
        let key = Some("ROW KEY (device STRING, at TIMESTAMP)");
        let with = |keys: &[&str], columns: &[&str]| MappingArgs {
            keys: list(keys),
            columns: list(columns),
            ..Default::default()
        };
        for (arguments, key, expected) in [
            (with(&[], &["d:temp"]), None, "declares no ROW KEY"),
            (with(&[], &["d:temp"]), key, "give --key at=COLUMN, one of ts, device"),
            (with(&["x=ts"], &["d:temp"]), key, "it has device, at"),
            (with(&["device=ts", "at=ts", "device=temp"], &[]), key, "has another column already"),
            (with(&["id"], &["d:temp"]), None, "no column id; its columns are ts, device"),
            (with(&["device"], &["d"]), None, "give FAMILY:QUALIFIER=COLUMN[:TYPE]"),
            (with(&["device"], &["d:x=temp:number"]), None, "--column d:x=temp:number"),
            (with(&["device"], &["d:x=temp", "d:x=ts"]), None, "two columns are written to d:x"),
            (with(&["device"], &[]), None, "no column becomes a cell"),
        ] {
            let error = format!("{:#}", mapping(&arguments, key).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn import_tsv_list_is_understood() {
        let found = Mapping::from_import_tsv("HBASE_ROW_KEY, f:a,-,HBASE_TS_KEY,g").unwrap();
        assert_eq!((found.key.clone(), found.timestamp), (KeySource::Column(0), Some(3)));
        assert_eq!((found.cells.len(), found.width), (2, 5));
        assert_eq!((&found.cells[1].family[..], found.cells[1].input), (&b"g"[..], 4));
        for list in ["f:a", "HBASE_ROW_KEY", "HBASE_ROW_KEY,HBASE_CELL_TTL,f:a"] {
            assert!(Mapping::from_import_tsv(list).is_err(), "{list}");
        }
    }
}
