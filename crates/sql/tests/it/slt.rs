//! The files of `tests/slt`, each on an empty store: once as sessions run statements, and once with
//! all of them planned by DataFusion. `HALITE_UPDATE_GOLDEN` rewrites the answers.
//! `HALITE_SLT_CLUSTER` is the URI of a cluster to run them on instead; its tables are deleted. With
//! `HALITE_SLT_LABEL=hbase` records are skipped that HBase cannot run.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use halite_sql::SqlError;
use sqllogictest::{
    AsyncDB, DBOutput, DefaultColumnType, Runner, default_column_validator, default_normalizer,
    default_validator,
};

use crate::store::TestStore;

struct Session(TestStore);

#[async_trait]
impl AsyncDB for Session {
    type Error = SqlError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, SqlError> {
        let answer = self.0.run(sql)?;
        if answer.columns.is_empty() {
            let count = |tag: &str| tag.rsplit(' ').next().and_then(|count| count.parse().ok());
            let rows = answer.tag.as_deref().and_then(count).unwrap_or(0);
            return Ok(DBOutput::StatementComplete(rows));
        }
        // Both ways give the same; `direct.rs` tests which one EXPLAIN names.
        let shown = |text: String| match text.strip_suffix(", direct") {
            Some(scan) if scan.trim_start().starts_with("scan ") => scan.to_owned(),
            _ if text.is_empty() => "(empty)".to_owned(),
            _ => text,
        };
        Ok(DBOutput::Rows {
            types: vec![DefaultColumnType::Any; answer.columns.len()],
            rows: answer.rows.into_iter().map(|row| row.into_iter().map(shown).collect()).collect(),
        })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &'static str {
        "halite"
    }

    fn error_sql_state(error: &SqlError) -> Option<String> {
        Some(error.state.code().to_owned())
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let entries = std::fs::read_dir(&folder).expect("the folder of statements");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "slt"));
    files.sort();
    files
}

/// Returns the statements of the files.
pub(crate) fn statements_of_files() -> Vec<String> {
    let records = files().into_iter().flat_map(|file| {
        sqllogictest::parse_file::<DefaultColumnType>(&file).expect("records of a file")
    });
    let text = |record| match record {
        sqllogictest::Record::Statement { sql, .. } | sqllogictest::Record::Query { sql, .. } => {
            Some(sql)
        }
        _ => None,
    };
    records.filter_map(text).filter(|text| !crate::loader::is_load(text)).collect()
}

#[test]
fn statements_give_their_answers() {
    let only = std::env::var("HALITE_SLT").unwrap_or_default();
    let mut failed = Vec::new();
    for file in files().iter().filter(|file| file.to_string_lossy().contains(&only)) {
        for direct in ["on", "off"] {
            if let Err(text) = run(file, direct) {
                failed.push(format!("halite.direct = {direct}: {text}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

fn run(file: &Path, direct: &'static str) -> Result<(), String> {
    // The statements have the runtime of their store; a runner is driven without one.
    let mut runner = Runner::new(|| async move {
        let store = TestStore::new();
        store.sql.change(|settings| settings.set("halite.direct", direct))?;
        Ok(Session(store))
    });
    // Records may be for one of them alone.
    let label = std::env::var("HALITE_SLT_LABEL");
    let is_server = std::env::var_os("HALITE_SLT_CLUSTER").is_some();
    let default = if is_server { "server" } else { "embedded" };
    runner.add_label(label.as_deref().unwrap_or(default));
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
        let updated = runner.update_test_file(
            file,
            " ",
            default_validator,
            default_normalizer,
            default_column_validator,
        );
        return futures::executor::block_on(updated)
            .map_err(|error| format!("{}: {error}", file.display()));
    }
    runner.run_file(file).map_err(|error| format!("{}: {error}", file.display()))
}
