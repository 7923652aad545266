//! Trace of `halite key trace`: operations as lines of JSON, read by `simulate` and `infer`.
//!
//! ```text
//! {"time": 1710499320000, "op": "put", "key": "\\x00abc", "values": {"id": "5"}, "weight": 1000, ...}
//! ```
//!
//! `time` is in milliseconds since 1970, `key` as the shell prints it, `stop` the end of a scan,
//! `values` the fields of the declared key, and `weight` the operations of which it is the sample, 1
//! without it. Other members are for other programs.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use halite::Bytes;
use halite::heat::CallKind;
use halite::rowkey::literal::read_bytes;
use halite_rowkey_tools::simulate::{GeneratedValue, MAX_OPERATIONS, Operation, RowSpec, Traffic};
use serde_json::{Map, Value};

/// Operation of a trace.
pub(super) struct TracedOperation {
    pub(super) time_ms: i64,
    pub(super) is_read: bool,
    /// `true` for a scan, whose key may be the beginning of one.
    pub(super) is_scan: bool,
    pub(super) key: Bytes,
    /// Operations of which it is the sample.
    weight: u64,
    /// Values of the fields by their names; empty if they are not known.
    values: Map<String, Value>,
}

/// Returns `true` for the text of such a trace.
pub(super) fn is_trace(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Reads the operations of a trace.
///
/// # Errors
/// The number of an invalid line; a trace without operations.
pub(super) fn read(text: &str) -> anyhow::Result<Vec<TracedOperation>> {
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut operations = Vec::new();
    for (at, line) in lines {
        if operations.len() == MAX_OPERATIONS {
            bail!("the trace has more than {MAX_OPERATIONS} operations");
        }
        let operation = operation(line).with_context(|| format!("line {} of the trace", at + 1))?;
        operations.push(operation);
    }
    if operations.is_empty() {
        bail!("the trace has no operations");
    }
    operations.sort_by_key(|operation| operation.time_ms);
    Ok(operations)
}

fn operation(line: &str) -> anyhow::Result<TracedOperation> {
    let mut object: Map<String, Value> = serde_json::from_str(line)?;
    let time_ms = object.get("time").and_then(Value::as_i64);
    let op = object.get("op").and_then(Value::as_str);
    let kind = op.and_then(CallKind::from_name);
    let key = object.get("key").and_then(Value::as_str);
    let (Some(time_ms), Some(kind), Some(key)) = (time_ms, kind, key) else {
        bail!("\"time\" in milliseconds, \"op\" as in \"put\", and \"key\" are wanted");
    };
    let key = read_bytes(key).map_err(|error| anyhow::anyhow!("\"key\": {error}"))?;
    let weight = match object.get("weight") {
        None => 1,
        Some(weight) => match weight.as_u64() {
            Some(weight @ 1..) => weight,
            _ => bail!("\"weight\": {weight} is not a number of operations, at least 1"),
        },
    };
    let values = match object.remove("values") {
        Some(Value::Object(values)) => values,
        _ => Map::new(),
    };
    Ok(TracedOperation {
        time_ms,
        is_read: kind.is_read(),
        is_scan: kind == CallKind::Scan,
        key: key.into(),
        weight,
        values,
    })
}

/// Returns the operations as traffic on keys with some fields, and the number of those that were
/// left out: if the trace has values of all fields, those without; else scans, whose keys are not
/// whole.
pub(super) fn traffic(operations: &[TracedOperation], fields: &[&str]) -> (Traffic, usize) {
    let wanted: BTreeSet<&str> = fields.iter().copied().collect();
    let has_all = |operation: &&TracedOperation| {
        wanted.iter().all(|field| operation.values.contains_key(*field))
    };
    let has_values = !wanted.is_empty() && operations.iter().any(|operation| has_all(&operation));
    let is_used = |operation: &&TracedOperation| {
        if has_values { has_all(operation) } else { !operation.is_scan }
    };
    let row = |operation: &TracedOperation| {
        if !has_values {
            return RowSpec::Key(operation.key.clone());
        }
        let text = |field: &&str| match &operation.values[*field] {
            Value::String(text) => GeneratedValue::Text(text.clone()),
            other => GeneratedValue::Text(other.to_string()),
        };
        RowSpec::Values(wanted.iter().map(text).collect())
    };
    let used: Vec<Operation> = operations
        .iter()
        .filter(is_used)
        .map(|operation| Operation {
            time_ms: operation.time_ms,
            is_read: operation.is_read,
            row: row(operation),
            weight: operation.weight,
        })
        .collect();
    let left_out = operations.len() - used.len();
    let names = wanted.iter().map(|field| (*field).to_owned());
    let fields = if has_values { names.collect() } else { Vec::new() };
    (Traffic { fields, operations: used }, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_becomes_traffic_of_values() {
        let text = concat!(
            r#"{"time": 20, "op": "get", "key": "b", "values": {"id": "2", "x": "y"}}"#,
            "\n\n",
            r#"{"time": 10, "op": "put", "key": "\\x01", "values": {"id": "1"}, "weight": 9}"#,
            "\n",
            r#"{"time": 30, "op": "scan", "key": "", "stop": ""}"#,
        );
        assert!(is_trace(text) && !is_trace("1\tR\tKEY\ta"));
        let operations = read(text).unwrap();
        assert_eq!((operations[0].time_ms, &operations[0].key[..]), (10, &[1][..]));
        let (of_values, left_out) = traffic(&operations, &["id"]);
        assert_eq!((of_values.fields, left_out), (vec!["id".to_owned()], 1));
        assert_eq!(
            of_values.operations[1].row,
            RowSpec::Values(vec![GeneratedValue::Text("2".to_owned())])
        );
        let weights = |traffic: &Traffic| -> Vec<u64> {
            traffic.operations.iter().map(|operation| operation.weight).collect()
        };
        let (of_keys, left_out) = traffic(&operations, &["other"]);
        assert_eq!(weights(&of_keys), [9, 1]);
        assert_eq!((of_keys.fields.len(), of_keys.operations.len(), left_out), (0, 2, 1));
    }

    #[test]
    fn invalid_line_is_named() {
        let weight = r#"{"time": 1, "op": "put", "key": "a", "weight": 0}"#;
        let no_key = r#"{"time": 1, "op": "put"}"#;
        for line in ["{", no_key, r#"{"time": 1, "op": "x", "key": ""}"#, weight] {
            let text = format!("{}\n{line}", r#"{"time": 1, "op": "put", "key": "a"}"#);
            let error = read(&text).err().unwrap();
            assert!(format!("{error:#}").contains("line 2"), "{error:#}");
        }
        assert!(read(" \n").is_err());
    }
}
