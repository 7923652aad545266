//! Metrics of a load under its present key and under another.

use std::collections::BTreeMap;

use halite_rowkey_tools::replay::Replay;
use serde::Serialize;
use utoipa::ToSchema;

use crate::statistics::round;

/// Metrics by their names.
pub(crate) type Metrics = BTreeMap<&'static str, Delta>;

/// Metric now and then.
#[derive(Serialize, ToSchema)]
pub(crate) struct Delta {
    now: f64,
    then: f64,
    /// `measured` if it follows from recorded operations alone.
    source: &'static str,
    /// Interval of `then` with 95 % confidence, by the bootstrap over windows of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    ci: Option<[f64; 2]>,
    /// Number of windows or operations that it is computed from.
    sample: usize,
}

/// Returns the metrics of a replay: window skew (`d1`), effective regions (`d2`), static balance
/// of rows (`d3`), ranges per read (`d8`) and bytes of a key (`d11`).
pub(super) fn metrics(replay: &Replay) -> Metrics {
    let (now, then) = &replay.skew;
    let delta = |now: f64, then: f64, sample: usize| Delta {
        now: round(now),
        then: round(then),
        source: "measured",
        ci: None,
        sample,
    };
    let interval = then.window_interval.map(|ci| [round(ci.low), round(ci.high)]);
    let mut all = BTreeMap::from([
        ("d1", Delta { ci: interval, ..delta(now.window_p99, then.window_p99, then.windows) }),
        ("d2", delta(now.effective_regions, then.effective_regions, then.windows)),
        ("d3", delta(now.static_balance, then.static_balance, replay.counted)),
        ("d11", delta(replay.key_bytes.0, replay.key_bytes.1, replay.counted)),
    ]);
    if let Some((now, then)) = replay.ranges {
        all.insert("d8", delta(now, then, replay.operations));
    }
    all
}
