//! Orders with a salt of the country, which has too few values for the salts.

use halite::Bytes;
use halite::rowkey::Value;

use super::operation::{NewRow, Operation};
use super::pattern::{KeyWriter, Pattern, PatternConfig};
use crate::bench::SeededRng;

/// All countries; each has an equal part of the orders.
pub(super) const COUNTRIES: [&str; 8] = ["BR", "CN", "DE", "FR", "GB", "IN", "JP", "US"];

/// Orders of some countries.
pub(super) struct Countries {
    keys: KeyWriter,
    chance: SeededRng,
    orders: u64,
}

impl Countries {
    pub(super) fn new(keys: KeyWriter, config: &PatternConfig) -> Self {
        Self { keys, chance: SeededRng::new(config.seed), orders: config.rows }
    }

    fn key(&self, order: u64) -> Bytes {
        let country = COUNTRIES[usize::try_from(order % 8).unwrap_or(0)];
        self.keys.key(&[country.into(), Value::Unsigned(order / 8)])
    }
}

impl Pattern for Countries {
    fn row(&self, order: u64) -> NewRow {
        #[expect(clippy::cast_precision_loss, reason = "an amount of money")]
        let amount = (order * 37 % 10_000) as f64 / 100.0;
        NewRow::new(self.key(order))
            .with("amount", amount.to_be_bytes().to_vec())
            .with("state", if order.is_multiple_of(3) { "sent" } else { "paid" })
    }

    fn next(&mut self) -> Operation {
        let order = self.chance.below(self.orders);
        // Changes of existing orders: new ones would rise in every salt.
        if self.chance.below(100) < 70 {
            Operation::Get(self.key(order))
        } else {
            Operation::Put(self.row(order))
        }
    }

    fn splits(&self, _: u64) -> Option<Vec<Bytes>> {
        None
    }
}
