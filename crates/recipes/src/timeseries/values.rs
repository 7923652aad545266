//! Models of values: what a sensor measures at each tick.

use crate::random::Random;

/// Model of the values of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueModel {
    /// Steps of a half, each for some ticks: a switch, a set point.
    Step,
    /// One decimal that wanders: a temperature.
    Walk,
    /// Whole number that never decreases: an electricity meter.
    Counter,
    /// All bits are random.
    FullEntropy,
}

/// All models.
pub const VALUE_MODELS: [ValueModel; 4] =
    [ValueModel::Step, ValueModel::Walk, ValueModel::Counter, ValueModel::FullEntropy];

/// Ticks of a step.
const STEP_TICKS: u64 = 30;

impl ValueModel {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Step => "steps",
            Self::Walk => "one decimal",
            Self::Counter => "counter",
            Self::FullEntropy => "full entropy",
        }
    }

    /// Returns the value of a device at a tick.
    #[expect(clippy::cast_precision_loss, reason = "ticks are below 2^50")]
    pub fn value(self, seed: u64, device: u64, tick: u64) -> f64 {
        let random = |tick: u64| Random::new(seed ^ device.rotate_left(32), 21, tick);
        match self {
            Self::Step => 15.0 + random(tick / STEP_TICKS).below(20) as f64 / 2.0,
            Self::Walk => {
                let angle = (tick as f64 / 1_300.0) + device as f64;
                let noise = random(tick).fraction() - 0.5;
                ((20.0 + 5.0 * angle.sin() + 0.2 * noise) * 10.0).round() / 10.0
            }
            Self::Counter => (tick * 4 + random(tick).below(4)) as f64,
            Self::FullEntropy => 20.0 + random(tick).fraction(),
        }
    }
}
