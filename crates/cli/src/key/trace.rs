//! `halite key trace`: the log of sampled operations of a table, as lines of JSON.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use halite::heat::{Call, LoggedCalls, fingerprint};
use halite::rowkey::{Dictionary, KeyResolver, KeySchema, NoResolver};
use halite::{TableName, block_on, to_string_binary};
use serde_json::{Map, Value, json};

use super::http::get_json;
use crate::backend::open_stopped;

/// Operations that are written, at most: the newest.
const MAX_OPERATIONS: usize = 100_000;
/// Longest row key.
const MAX_KEY_BYTES: usize = 32_767;

/// Arguments of `halite key trace`.
#[derive(clap::Args)]
pub(crate) struct TraceArgs {
    /// Table
    #[arg(value_name = "TABLE")]
    table: TableName,
    /// Directory of a store that no process has open
    #[arg(long, value_name = "DIR", default_value = "halite-data", env = "HALITE_DATA")]
    data: PathBuf,
    /// Web page of a running server instead: http://HOST:PORT
    #[arg(long, value_name = "URL")]
    connect: Option<String>,
    /// Only operations of the last minutes
    #[arg(long, value_name = "N")]
    minutes: Option<u32>,
}

/// Writes the recorded operations of a table to standard output.
pub(crate) fn trace(arguments: &TraceArgs) -> anyhow::Result<ExitCode> {
    let lines = match &arguments.connect {
        Some(url) => of_server(arguments, url)?,
        None => of_store(arguments)?,
    };
    if lines.is_empty() {
        bail!(
            "no operations of {} are recorded; halite serve --heat-level full records every one, \
             and level sub one of --operation-log-rate",
            arguments.table
        );
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in lines {
        writeln!(out, "{}", Value::Object(line))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

impl TraceArgs {
    /// Returns the begin of the asked time, for a clock that says `now`.
    fn since_ms(&self, now: i64) -> i64 {
        self.minutes.map_or(i64::MIN, |minutes| now.saturating_sub(i64::from(minutes) * 60_000))
    }
}

fn of_store(arguments: &TraceArgs) -> anyhow::Result<Vec<Map<String, Value>>> {
    let store = open_stopped(&arguments.data)?;
    let lines = || -> anyhow::Result<Vec<Map<String, Value>>> {
        let now = i64::try_from(store.engine().now_ms()).unwrap_or(i64::MAX);
        let span = (arguments.since_ms(now), i64::MAX);
        let LoggedCalls { calls, .. } =
            store.heat().calls(&arguments.table, span, MAX_OPERATIONS)?;
        let descriptor = store.engine().descriptor(&arguments.table)?;
        let schema = KeySchema::from_descriptor(&descriptor).and_then(Result::ok);
        let dictionary = schema.as_ref().filter(|schema| Dictionary::is_needed(schema));
        let dictionary = dictionary.and_then(|schema| {
            let opened = Dictionary::open_existing(&**store.cluster(), &arguments.table, schema);
            block_on(opened).ok()
        });
        let resolver: &dyn KeyResolver = match &dictionary {
            Some(dictionary) => dictionary,
            None => &NoResolver,
        };
        Ok(calls.iter().map(|call| line(call, schema.as_ref(), resolver)).collect())
    };
    let lines = lines();
    store.close()?;
    lines
}

fn line(call: &Call, schema: Option<&KeySchema>, resolver: &dyn KeyResolver) -> Map<String, Value> {
    let mut line = Map::new();
    line.insert("time".into(), call.time_ms.into());
    line.insert("op".into(), call.kind.name().into());
    line.insert("key".into(), to_string_binary(&call.row).into());
    if let Some(stop) = &call.stop {
        line.insert("stop".into(), to_string_binary(stop).into());
    }
    let values = schema.and_then(|schema| {
        let decoded = schema.decode_with(&call.row, resolver).ok()?;
        let value = |(id, field): (usize, &halite::rowkey::Field)| {
            let value = decoded.get(id).filter(|_| !decoded.is_partial(id))?;
            Some((field.name.clone(), Value::String(field.ty.print(value))))
        };
        schema.fields().iter().enumerate().map(value).collect::<Option<Map<String, Value>>>()
    });
    if let Some(values) = values {
        line.insert("values".into(), Value::Object(values));
    }
    let client = json!({
        "address": &*call.client.address,
        "user": &*call.client.user,
        "version": &*call.client.version,
    });
    for (name, value) in [
        ("cells", call.cells.into()),
        ("rows", call.rows.into()),
        ("bytes", call.bytes.into()),
        ("weight", call.weight.into()),
        ("client", client),
        ("statement", (*call.statement).into()),
        ("fingerprint", fingerprint(&call.statement).into()),
    ] {
        line.insert(name.into(), value);
    }
    line
}

fn of_server(arguments: &TraceArgs, url: &str) -> anyhow::Result<Vec<Map<String, Value>>> {
    let table = arguments.table.to_string();
    // By the server's clock, which may not be this machine's.
    let minutes = arguments.minutes.map(|minutes| format!("&minutes={minutes}"));
    let path = format!(
        "/api/tables/{table}/operations?limit={MAX_OPERATIONS}&key_bytes_max={MAX_KEY_BYTES}{}",
        minutes.unwrap_or_default()
    );
    let mut answer = get_json(url, &path)?;
    let Value::Array(operations) = answer["operations"].take() else {
        bail!("{url} answers without operations; is it the web page of a Halite server?");
    };
    let mut lines = Vec::new();
    for operation in operations {
        let Value::Object(mut line) = operation else { continue };
        for name in ["key", "stop"] {
            if let Some(key) = line.get_mut(name) {
                let hex = key["hex"].as_str().context("a key without its bytes")?;
                *key = to_string_binary(&from_hex(hex)?).into();
            }
        }
        lines.push(line);
    }
    Ok(lines)
}

fn from_hex(text: &str) -> anyhow::Result<Vec<u8>> {
    halite::rowkey::literal::read_bytes(&format!("x'{text}'"))
        .map_err(|error| anyhow::anyhow!("a key of the server: {error}"))
}
