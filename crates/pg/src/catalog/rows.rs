//! Rows of the tables of `pg_catalog` that have any.

use halite_sql::datafusion::arrow::datatypes::Field;
use halite_sql::{TableInfo, TableKind};

use super::columns;
use super::keywords;
use super::names::{DATABASE, OWNER};
use super::oids::{self, Oids, schema_of};
use super::table::{Row, Value};
use crate::session::settings::defaults as default_settings;
use crate::values::types::{self, PgType};

/// Row of names and values.
macro_rules! row {
    ($($name:ident: $value:expr),+ $(,)?) => {
        vec![$((stringify!($name), Value::from($value))),+]
    };
}

/// Returns the rows of a table.
pub(super) fn of(name: &str, tables: &[TableInfo]) -> Vec<Row> {
    let oids = Oids::new(tables);
    match name {
        "pg_am" => vec![
            row!(oid: oids::HEAP, amname: "halite", amhandler: "-", amtype: "t"),
            row!(oid: oids::ROW_KEY, amname: "row_key", amhandler: "-", amtype: "i"),
        ],
        "pg_attribute" => tables.iter().flat_map(|table| attributes(&oids, table)).collect(),
        "pg_class" => classes(&oids, tables),
        "pg_constraint" => declared(tables).map(|table| constraint(&oids, table)).collect(),
        "pg_description" => tables.iter().flat_map(|table| descriptions(&oids, table)).collect(),
        "pg_database" => vec![row!(
            oid: oids::DATABASE, datname: DATABASE, datdba: oids::OWNER, encoding: 6,
            datlocprovider: "c", datistemplate: false, datallowconn: true, datconnlimit: -1,
            dattablespace: oids::TABLESPACE, datcollate: "C", datctype: "C",
        )],
        "pg_index" => declared(tables).map(|table| index(&oids, table)).collect(),
        "pg_namespace" => oids
            .schemas()
            .into_iter()
            .map(|(oid, name)| row!(oid: oid, nspname: name, nspowner: oids::OWNER))
            .collect(),
        "pg_roles" => vec![row!(
            oid: oids::OWNER, rolname: OWNER, rolsuper: true, rolinherit: true,
            rolcreaterole: false, rolcreatedb: false, rolcanlogin: true, rolreplication: false,
            rolconnlimit: -1, rolpassword: "********", rolbypassrls: true,
        )],
        "pg_user" => vec![row!(
            usename: OWNER, usesysid: oids::OWNER, usecreatedb: false, usesuper: true,
            userepl: false, usebypassrls: true, passwd: "********",
        )],
        "pg_views" => tables
            .iter()
            .filter(|table| table.kind == TableKind::View)
            .map(|table| {
                row!(
                    schemaname: schema_of(&table.name), viewname: table.name.qualifier(),
                    viewowner: OWNER, definition: table.definition.clone().unwrap_or_default(),
                )
            })
            .collect(),
        "pg_tables" => tables
            .iter()
            .filter(|table| table.kind != TableKind::View)
            .map(|table| {
                row!(
                    schemaname: schema_of(&table.name), tablename: table.name.qualifier(),
                    tableowner: OWNER, hasindexes: table.row_key.is_some(), hasrules: false,
                    hastriggers: false, rowsecurity: false,
                )
            })
            .collect(),
        "pg_get_keywords" => keywords::all()
            .map(|(word, is_reserved)| {
                let (code, what) =
                    if is_reserved { ("R", "reserved") } else { ("U", "unreserved") };
                let label = "can be bare label";
                row!(word: word, catcode: code, barelabel: true, catdesc: what, baredesc: label)
            })
            .collect(),
        // What a session has set is not known here: `rewrite/` asks for it.
        "pg_settings" => default_settings()
            .map(|(name, value, is_set)| {
                row!(
                    name: name, setting: value, category: "Halite", vartype: "string",
                    context: if is_set { "user" } else { "internal" }, source: "default",
                    boot_val: value, reset_val: value, pending_restart: false,
                )
            })
            .collect(),
        "pg_tablespace" => {
            vec![row!(oid: oids::TABLESPACE, spcname: "pg_default", spcowner: oids::OWNER)]
        }
        "pg_type" => types::TYPES.iter().flat_map(types_of).collect(),
        _ => Vec::new(),
    }
}

fn declared(tables: &[TableInfo]) -> impl Iterator<Item = &TableInfo> {
    tables.iter().filter(|table| table.row_key.is_some())
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Tables, their keys, and the tables of the catalog itself.
fn classes(oids: &Oids, tables: &[TableInfo]) -> Vec<Row> {
    let class = |oid: i64, name: &str, schema: i64, kind: &str, columns: usize| {
        row!(
            oid: oid, relname: name, relnamespace: schema, reltype: 0, reloftype: 0,
            relowner: oids::OWNER, relam: if kind == "i" { oids::ROW_KEY } else { oids::HEAP },
            relfilenode: oid, reltablespace: 0, relpages: 0, reltuples: -1, relallvisible: 0,
            reltoastrelid: 0, relhasindex: false, relisshared: false, relpersistence: "p",
            relkind: kind, relnatts: number(columns), relchecks: 0, relhasrules: false,
            relhastriggers: false, relhassubclass: false, relrowsecurity: false,
            relforcerowsecurity: false, relispopulated: true, relreplident: "d",
            relispartition: false, relrewrite: 0, relfrozenxid: 0, relminmxid: 0,
        )
    };
    let mut rows = Vec::new();
    for table in tables {
        let (name, schema) = (&table.name, oids.namespace(&table.name));
        let kind = if table.kind == TableKind::View { "v" } else { "r" };
        let mut row =
            class(oids.tables[name], name.qualifier(), schema, kind, table.schema.fields().len());
        row.retain(|(column, _)| !["relhasindex", "relpersistence"].contains(column));
        row.push(("relhasindex", table.row_key.is_some().into()));
        let is_kept = table.kind == TableKind::Table;
        row.push(("relpersistence", if is_kept { "p" } else { "t" }.into()));
        rows.push(row);
        if table.row_key.is_some() {
            rows.push(class(
                oids.keys[name],
                &key_name(table),
                schema,
                "i",
                table.key_columns.len(),
            ));
        }
    }
    for (name, columns) in columns::TABLES {
        let oid = oids::of_catalog(name).unwrap_or(0);
        let count = columns.split_whitespace().count();
        rows.push(class(oid, name, oids::PG_CATALOG, "v", count));
    }
    rows
}

fn attributes(oids: &Oids, table: &TableInfo) -> Vec<Row> {
    let oid = oids.tables[&table.name];
    let of_table = table.schema.fields().iter().zip(1..);
    let of_table = of_table.map(|(field, at)| attribute(oid, field, at));
    let key = oids.keys[&table.name];
    let of_key = table.key_columns.iter().zip(1..).filter(|_| table.row_key.is_some());
    let of_key = of_key.map(|(column, at)| attribute(key, table.schema.field(*column), at));
    of_table.chain(of_key).collect()
}

fn attribute(table: i64, field: &Field, at: i64) -> Row {
    let description = types::description(field, 0);
    row!(
        attrelid: table, attname: field.name().as_str(), atttypid: i64::from(description.type_oid),
        attlen: i64::from(description.type_bytes), attnum: at, attcacheoff: -1,
        atttypmod: i64::from(description.type_detail), attndims: 0, attbyval: false,
        attalign: "i", attstorage: "p", attcompression: "", attnotnull: !field.is_nullable(),
        atthasdef: false, atthasmissing: false, attidentity: "", attgenerated: "",
        attisdropped: false, attislocal: true, attinhcount: 0, attstattarget: -1, attcollation: 0,
    )
}

/// Comments on a table and its columns.
fn descriptions(oids: &Oids, table: &TableInfo) -> Vec<Row> {
    let oid = oids.tables[&table.name];
    let comments = std::iter::once(&table.comment).chain(&table.column_comments);
    let row = |(text, at): (&Option<String>, i64)| {
        let text = text.clone()?;
        Some(row!(objoid: oid, classoid: oids::PG_CLASS, objsubid: at, description: text))
    };
    comments.zip(0..).filter_map(row).collect()
}

/// Name of the key of a table, as an index.
fn key_name(table: &TableInfo) -> String {
    format!("{}_key", table.name.qualifier())
}

/// Numbers of the columns of the key.
fn key_columns(table: &TableInfo) -> Value {
    Value::Numbers(table.key_columns.iter().map(|column| number(*column) + 1).collect())
}

/// Returns what is in the parentheses of `ROW KEY (..)`.
fn key_parts(table: &TableInfo) -> &str {
    let key = table.row_key.as_deref().unwrap_or_default();
    key.strip_prefix("ROW KEY ").unwrap_or(key)
}

fn index(oids: &Oids, table: &TableInfo) -> Row {
    let definition = format!(
        "CREATE UNIQUE INDEX {} ON {}.{} USING row_key {}",
        key_name(table),
        schema_of(&table.name),
        table.name.qualifier(),
        key_parts(table)
    );
    let columns = number(table.key_columns.len());
    let mut row = row!(
        indexrelid: oids.keys[&table.name], indrelid: oids.tables[&table.name],
        indnatts: columns, indnkeyatts: columns, indisunique: true, indnullsnotdistinct: true,
        indisprimary: true, indisexclusion: false, indimmediate: true, indisclustered: false,
        indisvalid: true, indcheckxmin: false, indisready: true, indislive: true,
        indisreplident: false, indexdef: definition,
    );
    let zeros = Value::Numbers(vec![0; table.key_columns.len()]);
    row.push(("indkey", key_columns(table)));
    row.push(("indcollation", zeros.clone()));
    row.push(("indclass", zeros.clone()));
    row.push(("indoption", zeros));
    row
}

fn constraint(oids: &Oids, table: &TableInfo) -> Row {
    let names = table.key_columns.iter().map(|column| table.schema.field(*column).name().as_str());
    let names: Vec<&str> = names.collect();
    let mut row = row!(
        oid: oids.keys[&table.name] + 1, conname: key_name(table),
        connamespace: oids.namespace(&table.name), contype: "p", condeferrable: false,
        condeferred: false, convalidated: true, conrelid: oids.tables[&table.name], contypid: 0,
        conindid: oids.keys[&table.name], conparentid: 0, confrelid: 0, confupdtype: " ",
        confdeltype: " ", confmatchtype: " ", conislocal: true, coninhcount: 0,
        connoinherit: true, consrc: format!("PRIMARY KEY ({})", names.join(", ")),
    );
    row.push(("conkey", key_columns(table)));
    row
}

/// A type and its lists.
fn types_of(ty: &PgType) -> Vec<Row> {
    let row = |oid: u32, name: String, length: i64, category: &str, element: u32, array: u32| {
        let io = |what: &str| format!("{}{what}", if element == 0 { ty.name } else { "array_" });
        row!(
            oid: i64::from(oid), typname: name, typnamespace: oids::PG_CATALOG,
            typowner: oids::OWNER, typlen: length, typbyval: false, typtype: "b",
            typcategory: category, typispreferred: false, typisdefined: true, typdelim: ",",
            typrelid: 0, typsubscript: "-", typelem: i64::from(element), typarray: i64::from(array),
            typinput: io("in"), typoutput: io("out"), typreceive: io("recv"), typsend: io("send"),
            typmodin: "-", typmodout: "-", typalign: "i", typstorage: "p", typnotnull: false,
            typbasetype: 0, typtypmod: -1, typndims: 0, typcollation: 0,
        )
    };
    let mut rows =
        vec![row(ty.oid, ty.name.to_owned(), i64::from(ty.bytes), ty.category, 0, ty.array)];
    if ty.array != 0 {
        rows.push(row(ty.array, format!("_{}", ty.name), -1, "A", ty.oid, 0));
    }
    rows
}
