//! Split keys of a table before it has data: from the schema, from another table, and from HBase's
//! `RegionSplitter`; with the expected share of rows per region.
//!
//! `boundaries.rs` contains the splits derived from a schema, `model.rs` the assumed distributions
//! of unknown keys, and `shares.rs` the distribution of known keys.

use std::fmt;

use halite_types::{Bytes, RegionInfo};

use crate::language::SplitClause;
use crate::schema::KeySchema;

mod boundaries;
mod model;
mod region_splitter;
mod rolling;
mod shares;
#[cfg(test)]
mod tests;

pub use boundaries::salts_on_regions;
pub use model::KeyModel;
pub use region_splitter::RegionSplitter;
pub use rolling::{DEFAULT_WIDTHS_AHEAD, RollResult, Rolling, extend_rolling_splits, to_split};
pub use shares::{Spread, region_for_key, region_shares};

/// Maximum regions created by one call.
pub const MAX_REGIONS: u32 = 100_000;

/// Split keys and the expected distribution over the regions between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Splits {
    /// Split keys, ascending; the first region begins at the empty key and the last one has no end.
    pub keys: Vec<Bytes>,
    /// Share of the rows of each region, one more than keys; the sum is 1. `None` if unknown.
    pub shares: Option<Vec<f64>>,
    /// Notes to report before the table is created.
    pub notes: Vec<SplitNote>,
}

/// Note about splits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SplitNote {
    /// P-SALTREG: the numbers of regions and salts do not divide.
    SaltsAndRegions {
        /// Number of salts of the key.
        salts: u32,
        /// Number of regions.
        regions: u32,
        /// Share of the largest region divided by the mean share.
        max_over_mean: f64,
        /// Regions without rows.
        empty: usize,
    },
    /// P-ALIGN: a split is inside a salt while others have none.
    NotAtSalts {
        /// Number of splits that are not a boundary of salts.
        splits: usize,
    },
    /// No distribution of keys was specified, so this one is assumed.
    Assumed(KeyModel),
    /// The sample has fewer distinct prefixes than regions were requested.
    FewerRegions {
        /// Requested regions.
        requested: u32,
        /// Created regions.
        created: usize,
    },
}

/// Reason why there are no splits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SplitError {
    /// Invalid number of regions.
    Regions {
        /// Number of regions.
        regions: u32,
    },
    /// Splits by salt of a key that does not begin with one.
    NoSalt,
    /// Leading type whose values do not determine their distribution.
    NoModel {
        /// Leading field.
        field: String,
    },
    /// A sample without keys.
    NoSample,
    /// Split keys that are empty, repeated or not ascending.
    Keys {
        /// Index of the first invalid one.
        index: usize,
    },
}

impl SplitNote {
    /// Returns the identifier of the lint rule about this; `None` if there is none.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::SaltsAndRegions { .. } => Some("P-SALTREG"),
            Self::NotAtSalts { .. } => Some("P-ALIGN"),
            Self::Assumed(_) | Self::FewerRegions { .. } => None,
        }
    }
}

impl fmt::Display for SplitNote {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rule) = self.rule() {
            write!(out, "{rule}: ")?;
        }
        match self {
            Self::SaltsAndRegions { salts, regions, max_over_mean, empty } => {
                write!(
                    out,
                    "{salts} salts on {regions} regions do not divide: the greatest region gets \
                     {max_over_mean:.2} times the mean"
                )?;
                if *empty > 0 {
                    write!(out, ", {empty} regions get nothing")?;
                }
                match regions.div_ceil(*salts) {
                    1 => write!(
                        out,
                        "; take a number of regions that divides {salts}, or SPLIT BY SALT"
                    ),
                    each => {
                        write!(
                            out,
                            "; take SPLIT BY SALT x {each} for {} regions, or at least as many \
                             salts as regions",
                            salts.saturating_mul(each)
                        )
                    }
                }
            }
            Self::NotAtSalts { splits } => {
                write!(
                    out,
                    "{splits} splits lie inside a salt, so salts get different numbers of regions; \
                     take SPLIT BY SALT, or the same for each"
                )
            }
            Self::Assumed(model) => write!(
                out,
                "keys are taken to begin with {model}; a sample of keys, or SPLIT AT, says better"
            ),
            Self::FewerRegions { requested, created } => {
                write!(
                    out,
                    "the sample has too few different keys for {requested} regions: {created} were \
                     made; take a larger sample, or fewer regions"
                )
            }
        }
    }
}

impl fmt::Display for SplitError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Regions { regions } => {
                write!(
                    out,
                    "{regions} regions are not possible here: take 2 to {MAX_REGIONS}, and not \
                     more than there are keys"
                )
            }
            Self::NoSalt => out.write_str(
                "the key does not begin with a salt, so there is nothing to split by: take SPLIT \
                 INTO n, SPLIT AT, or a sample",
            ),
            Self::NoModel { field } => {
                write!(
                    out,
                    "the key begins with {field}, whose values are not evenly spread over its \
                     type; split by a sample of keys, or SPLIT AT (...)"
                )
            }
            Self::NoSample => {
                out.write_str("the sample has no keys; give a file with one key a line")
            }
            Self::Keys { index: at } => {
                write!(
                    out,
                    "split key {} is empty, or not behind the one before it; sort the keys and \
                     leave repeated ones out",
                    at + 1
                )
            }
        }
    }
}

impl std::error::Error for SplitError {}

impl From<SplitError> for halite_types::Error {
    fn from(error: SplitError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl Splits {
    /// Returns the splits of a clause that requires no other table and no file; `None` for one that
    /// does, and for splits of future time ranges.
    ///
    /// # Errors
    /// A clause that is invalid for the key.
    pub fn declared(clause: &SplitClause, schema: &KeySchema) -> Result<Option<Self>, SplitError> {
        Ok(match clause {
            SplitClause::BySalt { regions_each } => {
                Some(Self::by_salt(schema, *regions_each, None)?)
            }
            SplitClause::Into(regions) => Some(Self::into_regions(schema, *regions, None)?),
            SplitClause::At(rows) => {
                Some(Self::at(rows.iter().cloned().map(Bytes::from).collect())?)
            }
            SplitClause::Like(_) | SplitClause::FromSample { .. } | SplitClause::Rolling(_) => None,
        })
    }

    /// Returns the splits of `SPLIT BY SALT x regions_each`: a boundary at the start of each salt,
    /// and that many regions in each.
    ///
    /// # Errors
    /// The key does not begin with a salt; more regions than [`MAX_REGIONS`]; `model` is missing
    /// where the rest of the key does not determine it.
    pub fn by_salt(
        schema: &KeySchema,
        regions_each: u32,
        model: Option<&KeyModel>,
    ) -> Result<Self, SplitError> {
        boundaries::by_salt(schema, regions_each, model)
    }

    /// Returns the splits of `SPLIT INTO regions`: at boundaries of salts if the key begins with
    /// one, or else evenly over the first bytes of keys.
    ///
    /// # Errors
    /// Fewer than two regions or more than [`MAX_REGIONS`]; a leading type that requires a `model`.
    pub fn into_regions(
        schema: &KeySchema,
        regions: u32,
        model: Option<&KeyModel>,
    ) -> Result<Self, SplitError> {
        boundaries::into_regions(schema, regions, model)
    }

    /// Returns the splits of `SPLIT LIKE table`: the start keys of that table's regions.
    pub fn like(regions: &[RegionInfo]) -> Self {
        let keys = regions
            .iter()
            .map(|region| region.start.clone())
            .filter(|start| !start.is_empty())
            .collect();
        Self { keys, shares: None, notes: Vec::new() }
    }

    /// Returns the splits of `SPLIT AT (keys)`.
    ///
    /// # Errors
    /// Keys that are empty, repeated or not ascending.
    pub fn at(keys: Vec<Bytes>) -> Result<Self, SplitError> {
        let is_wrong = |at: &usize| keys[*at].is_empty() || *at > 0 && keys[at - 1] >= keys[*at];
        match (0..keys.len()).find(is_wrong) {
            Some(at) => Err(SplitError::Keys { index: at }),
            None => Ok(Self { keys, shares: None, notes: Vec::new() }),
        }
    }

    /// Returns the same splits with the shares and notes that follow from the schema's salts, if
    /// the key begins with one and the shares are unknown.
    #[must_use]
    pub fn for_schema(self, schema: &KeySchema) -> Self {
        boundaries::assess(self, schema)
    }

    /// Returns the number of regions.
    pub fn regions(&self) -> usize {
        self.keys.len() + 1
    }

    /// Returns the expected distribution of rows; `None` if unknown.
    pub fn spread(&self) -> Option<Spread> {
        self.shares.as_deref().map(Spread::from_shares)
    }
}
