//! Where to split a table before it has data: from the schema, from a sample of keys, as another table, and as HBase's
//! `RegionSplitter` does; with the share of the rows that each region will get.
//!
//! `borders.rs` are the splits that follow from a schema, `model.rs` what is assumed of keys nobody has seen, `sample.rs` what
//! keys tell that somebody has.

use std::fmt;

use halite_types::{Bytes, RegionInfo};

use crate::language::SplitClause;
use crate::schema::KeySchema;

mod borders;
mod model;
mod region_splitter;
mod rolling;
mod sample;
#[cfg(test)]
mod tests;

pub use borders::salts_on_regions;
pub use model::KeyModel;
pub use region_splitter::RegionSplitter;
pub use rolling::{Rolled, Rolling, WIDTHS_AHEAD, roll, to_split};
pub use sample::{Spread, region_of, shares_of};

/// Most regions that one call makes.
pub const REGIONS_MAX: u32 = 100_000;

/// Split keys, and what is expected of the regions between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Splits {
    /// The keys, ascending; the first region begins at the empty key and the last one has no end.
    pub keys: Vec<Bytes>,
    /// The share of the rows that each region gets, one more than keys; they add up to 1. `None` where nothing is known.
    pub shares: Option<Vec<f64>>,
    /// What should be known before the table is made.
    pub notes: Vec<SplitNote>,
}

/// What should be known about splits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SplitNote {
    /// P-SALTREG: regions and salts do not divide.
    SaltsAndRegions {
        /// How many salts the key has.
        salts: u32,
        /// How many regions.
        regions: u32,
        /// The greatest region's share over the mean one.
        max_over_mean: f64,
        /// Regions that get nothing.
        empty: usize,
    },
    /// P-ALIGN: a split lies inside a salt while others have none.
    NotAtSalts {
        /// How many splits do not lie where a salt begins.
        splits: usize,
    },
    /// Nobody said how keys are distributed, so this was assumed.
    Assumed(KeyModel),
    /// The sample has fewer distinct beginnings than regions were asked for.
    FewerRegions {
        /// Asked for.
        asked: u32,
        /// Made.
        made: usize,
    },
}

/// Why there are no splits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SplitError {
    /// A number of regions that is not possible.
    Regions {
        /// That number.
        regions: u32,
    },
    /// Splits by salt for a key that does not begin with one.
    NoSalt,
    /// A leading type whose values say nothing about their distribution.
    NoModel {
        /// The field in front.
        field: String,
    },
    /// A sample without keys.
    NoSample,
    /// Split keys that are empty, repeated or not ascending.
    Keys {
        /// The place of the first wrong one.
        at: usize,
    },
}

impl fmt::Display for SplitNote {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SaltsAndRegions { salts, regions, max_over_mean, empty } => {
                write!(
                    out,
                    "P-SALTREG: {salts} salts on {regions} regions do not divide: the greatest region gets {max_over_mean:.2} times the mean"
                )?;
                if *empty > 0 {
                    write!(out, ", {empty} regions get nothing")?;
                }
                match regions.div_ceil(*salts) {
                    1 => write!(out, "; take a number of regions that divides {salts}, or SPLIT BY SALT"),
                    each => {
                        write!(out, "; take SPLIT BY SALT x {each} for {} regions, or at least as many salts as regions", salts.saturating_mul(each))
                    }
                }
            }
            Self::NotAtSalts { splits } => {
                write!(
                    out,
                    "P-ALIGN: {splits} splits lie inside a salt, so salts get different numbers of regions; take SPLIT BY SALT, or the same for each"
                )
            }
            Self::Assumed(model) => write!(out, "keys are taken to begin with {model}; a sample of keys, or SPLIT AT, says better"),
            Self::FewerRegions { asked, made } => {
                write!(out, "the sample has too few different keys for {asked} regions: {made} were made; take a larger sample, or fewer regions")
            }
        }
    }
}

impl fmt::Display for SplitError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Regions { regions } => {
                write!(out, "{regions} regions are not possible here: take 2 to {REGIONS_MAX}, and not more than there are keys")
            }
            Self::NoSalt => {
                out.write_str("the key does not begin with a salt, so there is nothing to split by: take SPLIT INTO n, SPLIT AT, or a sample")
            }
            Self::NoModel { field } => {
                write!(
                    out,
                    "the key begins with {field}, whose values are not evenly spread over its type; split by a sample of keys, or SPLIT AT (...)"
                )
            }
            Self::NoSample => out.write_str("the sample has no keys; give a file with one key a line"),
            Self::Keys { at } => {
                write!(out, "split key {} is empty, or not behind the one before it; sort the keys and leave repeated ones out", at + 1)
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
    /// The splits of a clause that needs no other table and no file; `None` for one that does, and for those of times to come.
    ///
    /// # Errors
    /// A clause that the key does not allow.
    pub fn declared(clause: &SplitClause, schema: &KeySchema) -> Result<Option<Self>, SplitError> {
        Ok(match clause {
            SplitClause::BySalt { regions_each } => Some(Self::by_salt(schema, *regions_each, None)?),
            SplitClause::Into(regions) => Some(Self::into_regions(schema, *regions, None)?),
            SplitClause::At(rows) => Some(Self::at(rows.iter().cloned().map(Bytes::from).collect())?),
            SplitClause::Like(_) | SplitClause::FromSample { .. } | SplitClause::Rolling(_) => None,
        })
    }

    /// `SPLIT BY SALT x regions_each`: a border where each salt begins, and so many regions in each.
    ///
    /// # Errors
    /// The key does not begin with a salt; more regions than [`REGIONS_MAX`]; `model` is missing where the rest of the key
    /// says nothing.
    pub fn by_salt(schema: &KeySchema, regions_each: u32, model: Option<&KeyModel>) -> Result<Self, SplitError> {
        borders::by_salt(schema, regions_each, model)
    }

    /// `SPLIT INTO regions`: at borders of salts if the key begins with one, else evenly over what keys begin with.
    ///
    /// # Errors
    /// Fewer than two regions or more than [`REGIONS_MAX`]; a leading type that needs a `model`.
    pub fn into_regions(schema: &KeySchema, regions: u32, model: Option<&KeyModel>) -> Result<Self, SplitError> {
        borders::into_regions(schema, regions, model)
    }

    /// `SPLIT FROM SAMPLE`: regions of as many of these keys as can be; the shares are exactly those of the sample.
    ///
    /// # Errors
    /// No keys; fewer than two regions or more than [`REGIONS_MAX`].
    pub fn from_sample(keys: Vec<Bytes>, regions: u32) -> Result<Self, SplitError> {
        sample::quantiles(keys, regions)
    }

    /// `SPLIT LIKE table`: where that table's regions begin.
    pub fn like(regions: &[RegionInfo]) -> Self {
        let keys = regions.iter().map(|region| region.start.clone()).filter(|start| !start.is_empty()).collect();
        Self { keys, shares: None, notes: Vec::new() }
    }

    /// `SPLIT AT (keys)`.
    ///
    /// # Errors
    /// Keys that are empty, repeated or not ascending.
    pub fn at(keys: Vec<Bytes>) -> Result<Self, SplitError> {
        let is_wrong = |at: &usize| keys[*at].is_empty() || *at > 0 && keys[at - 1] >= keys[*at];
        match (0..keys.len()).find(is_wrong) {
            Some(at) => Err(SplitError::Keys { at }),
            None => Ok(Self { keys, shares: None, notes: Vec::new() }),
        }
    }

    /// The same splits looked at for a schema: shares and notes that follow from its salts, if it has some in front and
    /// nothing is known yet.
    #[must_use]
    pub fn for_schema(self, schema: &KeySchema) -> Self {
        borders::assess(self, schema)
    }

    /// How many regions there are.
    pub fn regions(&self) -> usize {
        self.keys.len() + 1
    }

    /// How evenly rows are expected to lie; `None` where nothing is known.
    pub fn spread(&self) -> Option<Spread> {
        self.shares.as_deref().map(Spread::of)
    }
}
