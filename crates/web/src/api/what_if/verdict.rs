//! Shape of a load under its present key and under another, in words.

use halite_rowkey_tools::picture::Verdict;
use halite_rowkey_tools::replay::Replay;
use serde::Serialize;
use utoipa::ToSchema;

use crate::statistics::round;

/// Shapes now and then.
#[derive(Serialize, ToSchema)]
pub(crate) struct Verdicts {
    now: VerdictView,
    then: VerdictView,
}

/// Shape of a load, judged by the recorded operations.
#[derive(Serialize, ToSchema)]
struct VerdictView {
    /// As in a finding.
    shape: &'static str,
    confidence: f64,
    /// Shape and confidence in words.
    title: String,
    /// How many regions share the load, and how evenly.
    distribution: String,
    /// Whether a split helps, and why; empty if there is nothing to split.
    split: String,
}

impl Verdicts {
    pub(super) fn of(replay: &Replay) -> Self {
        let (now, then) = &replay.verdicts;
        Self { now: view(now), then: view(then) }
    }
}

fn view(verdict: &Verdict) -> VerdictView {
    VerdictView {
        shape: verdict.shape.name(),
        confidence: round(verdict.confidence),
        title: verdict.title(),
        distribution: verdict.distribution(),
        split: verdict.split(),
    }
}
