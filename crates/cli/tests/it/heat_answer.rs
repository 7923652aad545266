//! What the heat map's API answers.

use serde_json::Value;

/// Returns the sum of each column of an answer.
pub(crate) fn column_sums(heat: &Value) -> Vec<f64> {
    let means = means(heat);
    (0..means[0].len()).map(|column| means.iter().map(|row| row[column]).sum()).collect()
}

/// Returns the values of an answer, by row and column.
pub(crate) fn means(heat: &Value) -> Vec<Vec<f64>> {
    let rows = heat["mean"].as_array().unwrap().iter();
    rows.map(|row| row.as_array().unwrap().iter().map(|it| it.as_f64().unwrap_or(0.0)).collect())
        .collect()
}

/// Returns the table of the traffic of a shape.
pub(crate) fn table_of(shape: &str) -> String {
    format!("traffic_{}", shape.replace('-', "_"))
}

/// Returns the numbers of the columns from one time to another in which traffic at a fixed rate had
/// this rate, and the number of all columns.
///
/// A busy machine stops all programs for seconds: some columns have almost no operations, and those
/// after them the late ones.
pub(crate) fn steady_columns(
    ask: impl Fn(&str) -> Value,
    table: &str,
    (from, to): (i64, i64),
) -> (Vec<u64>, usize) {
    let path = format!("/api/tables/{table}/heat?from={from}&to={to}&metric=");
    let [reads, writes] =
        ["reads", "writes"].map(|metric| column_sums(&ask(&format!("{path}{metric}"))));
    let sums: Vec<f64> = reads.iter().zip(&writes).map(|(reads, writes)| reads + writes).collect();
    let mut sorted = sums.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted[sorted.len() / 2];
    let is_steady = |sum: &f64| (0.85..1.18).contains(&(sum / middle));
    let steady = (0..).zip(&sums).filter(|(_, sum)| is_steady(sum)).map(|(column, _)| column);
    (steady.collect(), sums.len())
}
