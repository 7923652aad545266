//! Traces of sampled operations.

use bytes::Bytes;

use crate::simulate::{
    Design, Operation, RegionLayout, RowSpec, SimulateOptions, Simulation, Traffic, simulate,
};

/// Simulates operations of a time, a row and a weight on two regions, the second from row "5" on.
fn run(operations: impl IntoIterator<Item = (i64, u32, u64)>) -> Simulation {
    let operation = |(time_ms, row, weight): (i64, u32, u64)| Operation {
        time_ms,
        is_read: false,
        row: RowSpec::Key(row.to_string().into_bytes().into()),
        weight,
    };
    let operations = operations.into_iter().map(operation).collect();
    let design = Design {
        name: "rows".to_owned(),
        key: "ROW KEY (row STRING)".parse().unwrap(),
        regions: RegionLayout::Boundaries(vec![Bytes::from_static(b"5")]),
        queries: Vec::new(),
    };
    let traffic = Traffic { fields: Vec::new(), operations };
    simulate(&design, &traffic, &SimulateOptions::default()).unwrap()
}

#[test]
fn sampled_operation_counts_as_those_it_stands_for() {
    // Of the many writes of rows from 5 on, the log has kept one of four.
    let rows = |time: i64| u32::try_from(time % 10).unwrap();
    let weight = |row: u32| if row >= 5 { 4 } else { 1 };
    let times = || (0..4000_i64).map(|time| (time, rows(time)));
    let sampled = run(times().map(|(time, row)| (time, row, weight(row))));
    let whole = run(times().flat_map(|(time, row)| {
        std::iter::repeat_n((time, row, 1), usize::try_from(weight(row)).unwrap())
    }));
    assert_eq!(sampled.writes.counts, [2000, 8000]);
    assert_eq!(sampled.writes.counts, whole.writes.counts);
    assert_eq!(sampled.writes_by_time.counts, whole.writes_by_time.counts);
    assert_eq!(sampled.hot_rows, whole.hot_rows);
    assert_eq!(sampled.hot_rows.top[0], (Bytes::from_static(b"5"), 1600));
    let drawn = |simulation: &Simulation| -> f64 {
        let map = &simulation.panel.map;
        let cells = map.mean.iter().zip(map.seconds.iter().cycle());
        cells.map(|(mean, seconds)| f64::from(mean * seconds)).sum()
    };
    assert!((drawn(&sampled) - 10_000.0).abs() < 1.0, "{}", drawn(&sampled));
    assert!((drawn(&whole) - 10_000.0).abs() < 1.0, "{}", drawn(&whole));
}
