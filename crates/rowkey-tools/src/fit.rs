//! Share of the keys in a sample that a declared key fits.

use bytes::Bytes;
use halite_rowkey::{KeyError, KeySchema};

/// Share of sampled keys that a key must fit before it is declared for rows that exist.
pub const MIN_FIT_SHARE: f64 = 0.9;
/// Keys that do not fit, kept as examples.
const MAX_EXAMPLES: usize = 3;

/// Result of reading sampled keys with a schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyFit {
    /// Sampled keys.
    pub keys: usize,
    /// Keys among them that the schema reads and writes again as the same bytes.
    pub fitting: usize,
    /// Some of the other keys, at most three, each with the reason.
    pub examples: Vec<(Bytes, KeyError)>,
}

impl KeyFit {
    /// Reads every key of `sample` with `schema`. Numbers of dictionaries count as known, because a
    /// dictionary may be filled later.
    pub fn from_sample<'k>(
        schema: &KeySchema,
        sample: impl IntoIterator<Item = &'k Bytes>,
    ) -> Self {
        let mut fit = Self::default();
        for key in sample {
            fit.keys += 1;
            match schema.check_key(key) {
                Ok(()) => fit.fitting += 1,
                Err(error) if fit.examples.len() < MAX_EXAMPLES => {
                    fit.examples.push((key.clone(), error));
                }
                Err(_) => {}
            }
        }
        fit
    }

    /// Share of the sampled keys that fit, 0 to 1; 1 for an empty sample, because no key speaks
    /// against the schema.
    #[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
    pub fn share(&self) -> f64 {
        if self.keys == 0 { 1.0 } else { self.fitting as f64 / self.keys as f64 }
    }

    /// Returns `true` if at least [`MIN_FIT_SHARE`] of the sampled keys fit.
    pub fn is_enough(&self) -> bool {
        self.share() >= MIN_FIT_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(key: &str, sample: &[&'static [u8]]) -> KeyFit {
        let sample: Vec<Bytes> = sample.iter().map(|key| Bytes::from_static(key)).collect();
        KeyFit::from_sample(&key.parse().unwrap(), &sample)
    }

    #[test]
    fn fit_counts_keys_and_keeps_three_mismatches() {
        let found = fit("(a STRING, b U8)", &[b"a\0\x01\x07", b"odd", b"x", b"y", b"z"]);
        assert_eq!((found.keys, found.fitting, found.examples.len()), (5, 1, 3));
        assert!(!found.is_enough() && found.examples[0].0 == "odd");
        assert!(fit("(a STRING, b U8)", &[]).is_enough(), "an empty table speaks against no key");
    }
}
