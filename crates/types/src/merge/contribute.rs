//! Contributions to merged columns, on clusters that merge them and on those that do not.

use bytes::Bytes;

use super::MergeOperator;
use crate::error::{Error, ErrorKind, Result};
use crate::key::to_string_binary;
use crate::op::{CheckAndMutate, Increment, Put, RowOp};
use crate::query::Get;
use crate::schema::FamilyDescriptor;
use crate::table::{Table, TableExt as _};

/// Attempts of a change whose column is changed by others meanwhile.
const MAX_ATTEMPTS: usize = 100;

/// Column whose value is merged from contributions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedColumn {
    /// Row.
    pub row: Bytes,
    /// Family.
    pub family: Bytes,
    /// Qualifier.
    pub qualifier: Bytes,
}

impl MergedColumn {
    /// Creates a column of a row.
    pub fn new(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
    ) -> Self {
        Self { row: row.into(), family: family.into(), qualifier: qualifier.into() }
    }

    /// Returns the operation that adds a contribution in a family with the attribute `MERGE`. For
    /// `SUM` it is an increment, which clients send with a nonce, so that one that they repeat
    /// counts once; repeated contributions to the others change nothing.
    ///
    /// # Errors
    /// `InvalidRequest` if `value` is no contribution to `operator`.
    pub fn contribution(&self, operator: MergeOperator, value: &[u8]) -> Result<RowOp> {
        operator.check(value)?;
        if operator == MergeOperator::Sum
            && let Ok(delta) = <[u8; 8]>::try_from(value)
        {
            let increment = Increment::new(self.row.clone());
            let mut increment =
                increment.add(&self.family, &self.qualifier, i64::from_be_bytes(delta));
            increment.return_results = false;
            return Ok(increment.into());
        }
        Ok(self.put(value).into())
    }

    /// Adds a contribution. A family with the attribute `MERGE` merges it on the server, with one
    /// message. Without the attribute, as on HBase, which knows none, the value is read, merged
    /// here and written on the condition that it has not changed: two messages, a whole value each
    /// way, and again after each change by another writer. Only sums are increments there, too.
    ///
    /// Do not set `MERGE` on a table of HBase: it would be stored there without an effect.
    ///
    /// # Errors
    /// `InvalidRequest` if `value` is no contribution, or the family has another operator; `Busy`
    /// if other writers won every attempt; otherwise as [`Table::batch`].
    pub async fn contribute(
        &self,
        table: &dyn Table,
        operator: MergeOperator,
        value: &[u8],
    ) -> Result<()> {
        let descriptor = table.descriptor().await?;
        let merges =
            descriptor.find_family(&self.family).and_then(FamilyDescriptor::merge_operator);
        match merges {
            Some(known) if known != operator => Err(Error::invalid(format!(
                "family {} merges by {known}, not by {operator}",
                to_string_binary(&self.family)
            ))),
            None if operator != MergeOperator::Sum => {
                self.read_modify_write(table, operator, value).await
            }
            _ => table.mutate(self.contribution(operator, value)?).await.map(drop),
        }
    }

    async fn read_modify_write(
        &self,
        table: &dyn Table,
        operator: MergeOperator,
        value: &[u8],
    ) -> Result<()> {
        operator.check(value)?;
        let column = || (self.row.clone(), self.family.clone(), self.qualifier.clone());
        for _ in 0..MAX_ATTEMPTS {
            let (row, family, qualifier) = column();
            let current = table.get(Get::new(row).column(family, qualifier)).await?;
            let (row, family, qualifier) = column();
            let check = match current.value(&self.family, &self.qualifier) {
                None => CheckAndMutate::if_not_exists(row, family, qualifier, self.put(value)),
                Some(old) => {
                    let merged = operator.merge(old, value)?;
                    if merged == old {
                        return Ok(());
                    }
                    let old = Bytes::copy_from_slice(old);
                    CheckAndMutate::if_equals(row, family, qualifier, old, self.put(&merged))
                }
            };
            if table.mutate(check.into()).await?.processed {
                return Ok(());
            }
        }
        Err(Error::new(
            ErrorKind::Busy,
            format!(
                "row {}: other writers changed the column before each of {MAX_ATTEMPTS} attempts; \
                 try again, or divide it over several rows",
                to_string_binary(&self.row)
            ),
        ))
    }

    fn put(&self, value: &[u8]) -> Put {
        Put::new(self.row.clone()).add(&self.family, &self.qualifier, value)
    }
}
