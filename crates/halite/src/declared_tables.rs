//! Tables created from their declarations.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use halite_rowkey::language::{SplitClause, Statement, TableDeclaration, statements};
use halite_rowkey::split::{DEFAULT_WIDTHS_AHEAD, Rolling, Splits};
use halite_types::schema::DEFAULT_NAMESPACE;
use halite_types::schema::family_attribute::{CODECS, MERGE};
use halite_types::{
    Attributes, Bytes, Error, ErrorKind, FamilyDescriptor, Result, TableDescriptor, TableName,
};

use crate::blocking::BlockingCluster;

/// Table that [`declare_tables`] found or created.
#[derive(Clone, Debug)]
pub struct DeclaredTable {
    /// Its name, with the namespace.
    pub name: TableName,
    /// Its declaration.
    pub declaration: TableDeclaration,
    /// `true` if it was created; `false` if it existed with the same key, columns and families.
    pub created: bool,
    /// `true` if it was created with GZ, because the cluster does not have the declared codec.
    pub gz_instead: bool,
}

/// Creates the tables of `CREATE TABLE` statements that do not exist yet, with their splits.
///
/// Tables that a statement names without a namespace are created in `namespace`, which is created
/// too. Existing tables must have the declared key, columns, families, versions and times to live;
/// all are checked before the first table is created. Several programs may call this concurrently.
/// HBase merges no cells, so tables are created there without the attribute `MERGE`. It has ZSTD,
/// LZ4 and SNAPPY only with its `hbase-compression` modules: without them, tables are created with
/// GZ.
///
/// ```
/// # fn main() -> halite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// let store = halite::open(directory.path())?;
/// let visits = "CREATE TABLE visits (count I64 COUNTER FAMILY v, ROW KEY (page STRING))";
/// let declared = halite::declare_tables(&store, "site", visits)?;
/// assert_eq!((declared[0].name.to_string(), declared[0].created), ("site:visits".into(), true));
/// assert!(!halite::declare_tables(&store, "site", visits)?[0].created);
///
/// let other = visits.replace("page STRING", "page U64");
/// assert!(halite::declare_tables(&store, "site", &other).is_err());
/// # store.close()
/// # }
/// ```
///
/// # Errors
/// `InvalidRequest` for a text that is not a list of `CREATE TABLE` statements, a split that needs
/// a file of sample keys, and a table that exists with another schema; otherwise as
/// [`BlockingCluster::create_table`].
pub fn declare_tables(
    cluster: &BlockingCluster,
    namespace: &str,
    text: &str,
) -> Result<Vec<DeclaredTable>> {
    let declarations = parse(namespace, text)?;
    let mut missing = Vec::with_capacity(declarations.len());
    for declaration in &declarations {
        missing.push(!exists_as_declared(cluster, declaration)?);
    }
    declarations
        .into_iter()
        .zip(missing)
        .map(|(declaration, is_missing)| {
            let made = if is_missing { create(cluster, &declaration)? } else { Made::Found };
            Ok(DeclaredTable {
                name: declaration.descriptor.name().clone(),
                declaration,
                created: made != Made::Found,
                gz_instead: made == Made::WithGz,
            })
        })
        .collect()
}

/// Returns the declarations of a text, in a namespace.
fn parse(namespace: &str, text: &str) -> Result<Vec<TableDeclaration>> {
    let parsed = statements(text).map_err(|error| error.into_invalid(text))?;
    parsed
        .into_iter()
        .map(|statement| match statement {
            Statement::CreateTable(mut declaration) => {
                let name = declaration.descriptor.name();
                if name.namespace() == DEFAULT_NAMESPACE {
                    let name = TableName::new(namespace, name.qualifier())?;
                    declaration.descriptor = declaration.descriptor.renamed(name);
                }
                Ok(declaration)
            }
            _ => Err(Error::invalid("only CREATE TABLE declares a table; remove other statements")),
        })
        .collect()
}

/// Returns `true` if a table exists with the declared schema, `false` if it does not exist.
fn exists_as_declared(cluster: &BlockingCluster, declaration: &TableDeclaration) -> Result<bool> {
    let name = declaration.descriptor.name();
    let existing = match cluster.descriptor(name) {
        Ok(existing) => existing,
        Err(error)
            if matches!(error.kind(), ErrorKind::NoSuchTable | ErrorKind::NoSuchNamespace) =>
        {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    match difference(declaration, &existing) {
        None => Ok(true),
        Some(difference) => Err(Error::invalid(format!(
            "table {name} exists with another schema: {difference}; drop it, or use another \
             namespace"
        ))),
    }
}

/// What was done for a table to exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    /// Nothing.
    Found,
    AsDeclared,
    WithGz,
}

/// Creates a table and its namespace, unless another program created it meanwhile.
fn create(cluster: &BlockingCluster, declaration: &TableDeclaration) -> Result<Made> {
    let name = declaration.descriptor.name();
    let splits = split_keys(cluster, declaration)?;
    if name.namespace() != DEFAULT_NAMESPACE {
        match cluster.create_namespace(name.namespace(), Attributes::new()) {
            Err(error) if error.kind() != ErrorKind::NamespaceExists => return Err(error),
            _ => {}
        }
    }
    let splits: Vec<&[u8]> = splits.iter().map(|key| &**key).collect();
    let declared = descriptor(cluster, declaration)?;
    let mut made = Made::AsDeclared;
    let mut created = cluster.create_table(declared.clone(), &splits);
    if matches!(&created, Err(error) if lacks_codec(error)) {
        made = Made::WithGz;
        created = cluster.create_table(with_gz(declared), &splits);
    }
    match created {
        Ok(()) => Ok(made),
        Err(error) if error.kind() == ErrorKind::TableExists => {
            exists_as_declared(cluster, declaration)?;
            Ok(Made::Found)
        }
        Err(error) => Err(error),
    }
}

/// Returns `true` for the errors of HBase 2.4 to 3.0 of which a codec's module is missing: those of
/// the codec itself, and that of every attempt after the first.
fn lacks_codec(error: &Error) -> bool {
    let message = error.message();
    message.contains("library not available")
        || message.contains("Compression algorithm") && message.contains("previously failed test")
}

/// Replaces the codecs of all families by the one that every HBase has.
fn with_gz(mut descriptor: TableDescriptor) -> TableDescriptor {
    let families: Vec<_> = descriptor.families().cloned().collect();
    for mut family in families {
        for attribute in CODECS {
            let codec = family.attributes.get_mut(attribute);
            if let Some(codec) = codec.filter(|codec| !codec.eq_ignore_ascii_case("NONE")) {
                "GZ".clone_into(codec);
            }
        }
        descriptor.set_family(family);
    }
    descriptor
}

/// Returns the descriptor of a table, without `MERGE` where that has no effect: a family that seems
/// to merge would lose contributions.
fn descriptor(
    cluster: &BlockingCluster,
    declaration: &TableDeclaration,
) -> Result<TableDescriptor> {
    let mut descriptor = declaration.described();
    let merged = |family: &&FamilyDescriptor| family.merge_operator().is_some();
    let merged: Vec<_> = descriptor.families().filter(merged).cloned().collect();
    if !merged.is_empty() && !cluster.merges_cells()? {
        for mut family in merged {
            family.attributes.remove(MERGE);
            descriptor.set_family(family);
        }
    }
    Ok(descriptor)
}

fn split_keys(cluster: &BlockingCluster, declaration: &TableDeclaration) -> Result<Vec<Bytes>> {
    let Some(clause) = &declaration.split else { return Ok(Vec::new()) };
    let key = &declaration.key;
    if let Some(splits) = Splits::declared(clause, key)? {
        return Ok(splits.keys);
    }
    match clause {
        SplitClause::Like(table) => Ok(Splits::like(&cluster.regions(table)?).keys),
        SplitClause::Rolling(width_ms) => {
            let rolling = Rolling::for_schema(&Arc::new(key.clone()), *width_ms);
            let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let now_ms = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
            rolling.map_err(Error::invalid)?.boundaries(now_ms, DEFAULT_WIDTHS_AHEAD)
        }
        _ => Err(Error::invalid(format!(
            "{clause} reads a file; create the table with `halite shell`, or use SPLIT AT"
        ))),
    }
}

/// Describes how an existing table differs from its declaration; `None` if it does not.
fn difference(declared: &TableDeclaration, existing: &TableDescriptor) -> Option<String> {
    let there = match TableDeclaration::from_descriptor(existing) {
        None => return Some(format!("it declares no row key, and not {}", declared.key)),
        Some(Err(error)) => return Some(format!("its declaration is not readable: {error}")),
        Some(Ok(there)) => there,
    };
    if there.key != declared.key {
        return Some(format!("it declares {}, and not {}", there.key, declared.key));
    }
    if there.columns != declared.columns {
        let names = |of: &TableDeclaration| {
            of.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>().join(", ")
        };
        return Some(format!(
            "its columns are declared otherwise: {}, and not {}",
            names(&there),
            names(declared)
        ));
    }
    declared.descriptor.families().find_map(|family| family_difference(family, existing))
}

fn family_difference(family: &FamilyDescriptor, existing: &TableDescriptor) -> Option<String> {
    let name = String::from_utf8_lossy(family.name());
    let Some(there) = existing.find_family(family.name()) else {
        return Some(format!("it has no family {name}"));
    };
    if there.max_versions() != family.max_versions() {
        let (before, now) = (there.max_versions(), family.max_versions());
        return Some(format!("its family {name} retains {before} versions, and not {now}"));
    }
    let lifetime = |of: &FamilyDescriptor| {
        of.ttl_ms().map_or_else(|| "no time to live".to_owned(), |ms| format!("a TTL of {ms} ms"))
    };
    (there.ttl_ms() != family.ttl_ms())
        .then(|| format!("its family {name} has {}, and not {}", lifetime(there), lifetime(family)))
}

#[cfg(test)]
mod tests {
    use halite_types::schema::family_attribute::{COMPRESSION, COMPRESSION_COMPACT};

    use super::*;

    #[test]
    fn errors_of_missing_codecs_are_those_of_hbase() {
        let error = |message: &str| lacks_codec(&Error::new(ErrorKind::InvalidRequest, message));
        assert!(error(
            "master a,16000,1, CreateTable: org.apache.hadoop.hbase.DoNotRetryIOException: \
             java.lang.RuntimeException: native zStandard library not available: this version of \
             libhadoop was built without zstd support. Set hbase.table.sanity.checks to false"
        ));
        assert!(error("Compression algorithm 'zstd' previously failed test. Set"));
        assert!(!error("table t: family f: COMPRESSION is LZO, which is not written"));
    }

    #[test]
    fn gz_replaces_the_codecs_and_not_their_absence() {
        let family = FamilyDescriptor::new("f").set(COMPRESSION, "ZSTD");
        let plain = FamilyDescriptor::new("g").set(COMPRESSION, "none");
        let table = TableDescriptor::new("t".parse().unwrap())
            .family(family.set(COMPRESSION_COMPACT, "LZ4"))
            .family(plain.clone());
        let replaced = with_gz(table);
        let family = replaced.find_family(b"f").unwrap();
        for attribute in [COMPRESSION, COMPRESSION_COMPACT] {
            assert_eq!(family.attributes[attribute], "GZ");
        }
        assert_eq!(replaced.find_family(b"g").unwrap().attributes, plain.attributes);
    }
}
