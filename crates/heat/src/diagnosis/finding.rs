//! Shapes of a load, and what speaks for one.

/// Rank correlation from which keys rise with time.
pub const ORDERED: f64 = 0.8;
/// Doubt about a load whose keys are not recorded.
pub(super) const NO_KEYS: &str =
    "no rows are recorded here: new rows, one row and a range of rows load a region alike";
/// Doubt about a frontier whose keys need not be new.
pub(super) const MAY_REWRITE: &str =
    "the keys may be those of existing rows, written again in their order";

/// Shape of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// No request in the time.
    Idle,
    /// Fewer than 1,000 requests, or fewer than three columns of the same load: the evidence says
    /// how much more it needs, `more_requests` and `more_s`.
    TooFew,
    /// No key has much more than its share.
    Even,
    /// Writes go to one end of the keys, or of a group of keys, and move it.
    Frontier,
    /// One row has much of the load.
    HotRow,
    /// Rows that begin alike have much of the load.
    HotPrefix,
    /// A range of rows has much of the load.
    HotRange,
    /// The load of all keys rises and falls together.
    Periodic,
    /// Reads go through all keys in order.
    Sweep,
    /// Values of the declared salt have different loads.
    SaltImbalance,
    /// Reads pass over many deleted rows.
    TombstoneHead,
}

impl Shape {
    /// Returns the name, as in the HTTP API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::TooFew => "too_few",
            Self::Even => "even",
            Self::Frontier => "frontier",
            Self::HotRow => "hot_row",
            Self::HotPrefix => "hot_prefix",
            Self::HotRange => "hot_range",
            Self::Periodic => "periodic",
            Self::Sweep => "sweep",
            Self::SaltImbalance => "salt_imbalance",
            Self::TombstoneHead => "tombstone_head",
        }
    }

    /// Returns whether a split of the loaded regions would distribute the load.
    #[must_use]
    pub fn split_helps(self) -> Option<bool> {
        match self {
            Self::Idle | Self::TooFew | Self::Even => None,
            Self::HotPrefix | Self::HotRange | Self::SaltImbalance => Some(true),
            Self::Frontier | Self::HotRow | Self::Periodic | Self::Sweep | Self::TombstoneHead => {
                Some(false)
            }
        }
    }
}

/// Shape of the load of a table, with what speaks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Shape.
    pub shape: Shape,
    /// Confidence, from 0 to 1: how far the evidence is from the threshold, in units of its error.
    pub confidence: f64,
    /// Key or prefix that the finding is about.
    pub key: Option<Vec<u8>>,
    /// Measurements by name.
    pub evidence: Vec<(&'static str, f64)>,
    /// What speaks against the finding, or limits it.
    pub doubts: Vec<&'static str>,
}

/// Confidence of a figure beyond its threshold, with the error of the figure.
pub(super) fn confidence(beyond: f64, error: f64) -> f64 {
    (1.0 - 0.5 * (-beyond.max(0.0) / error.max(1e-6)).exp()).clamp(0.5, 0.99)
}

/// Confidence that keys with a rank correlation rise or fall with time.
pub(super) fn order_confidence(correlation: f64) -> f64 {
    confidence(correlation.abs() - ORDERED, 0.05)
}

impl Finding {
    /// Returns a measurement by its name.
    #[must_use]
    pub fn evidence(&self, name: &str) -> Option<f64> {
        self.evidence.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Returns whether a split of the loaded regions would distribute the load: that of the shape,
    /// unless the load does not stay where it is.
    #[must_use]
    pub fn split_helps(&self) -> Option<bool> {
        if self.moves() { Some(false) } else { self.shape.split_helps() }
    }

    /// Returns `true` if the loads of regions alone speak for it, and no order or group of keys.
    #[must_use]
    pub fn is_of_regions(&self) -> bool {
        let is_of_one = self.evidence("region_over_mean").is_some();
        self.shape == Shape::HotRange && (is_of_one || self.moves())
    }

    /// Returns `true` for a hot range that is not the same for long.
    pub(super) fn moves(&self) -> bool {
        self.shape == Shape::HotRange && self.key.is_none()
    }

    /// Returns the finding for writes that are known to be of new rows: rising keys are then no
    /// rows that are written again, wherever in the table they are.
    #[must_use]
    pub fn of_new_rows(mut self) -> Self {
        if let (Shape::Frontier, Some(order)) = (self.shape, self.evidence("order")) {
            self.doubts.retain(|doubt| *doubt != MAY_REWRITE);
            self.confidence = order_confidence(order);
        }
        self
    }
}
