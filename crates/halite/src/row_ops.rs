//! Single-row calls that all synchronous tables share, in terms of `get` and `batch`.

/// Expands to the single-row methods, inside the `impl` of a table.
macro_rules! row_calls {
    () => {
        /// Returns `true` if a row has any cell that the get selects.
        ///
        /// # Errors
        /// As `get`.
        pub fn exists(&self, get: Get) -> Result<bool> {
            Ok(!self.get(get)?.is_empty())
        }

        /// Writes values.
        ///
        /// # Errors
        /// `InvalidRequest`, `NoSuchFamily`, `ReadOnly`, `Busy`, `TableDisabled`, a failure of the
        /// log, or an error that prevents a cluster from replying.
        pub fn put(&self, put: Put) -> Result<()> {
            self.apply_one(put.into()).map(drop)
        }

        /// Writes delete markers.
        ///
        /// # Errors
        /// As `put`.
        pub fn delete(&self, delete: Delete) -> Result<()> {
            self.apply_one(delete.into()).map(drop)
        }

        /// Adds to counters and returns their new values.
        ///
        /// # Errors
        /// As `put`; `InvalidRequest` if a cell is not 8 bytes.
        pub fn increment(&self, increment: Increment) -> Result<Row> {
            self.apply_one(increment.into()).map(|result| result.row)
        }

        /// Appends to values and returns the new ones.
        ///
        /// # Errors
        /// As `put`.
        pub fn append(&self, append: Append) -> Result<Row> {
            self.apply_one(append.into()).map(|result| result.row)
        }

        /// Changes a row if a condition holds. Returns `true` if it did.
        ///
        /// # Errors
        /// As `put`.
        pub fn check_and_mutate(&self, check: CheckAndMutate) -> Result<bool> {
            self.apply_one(check.into()).map(|result| result.processed)
        }

        /// Applies several mutations of a row atomically.
        ///
        /// # Errors
        /// As `put`; nothing is applied then.
        pub fn mutate_row(&self, mutations: RowMutations) -> Result<Row> {
            self.apply_one(mutations.into()).map(|result| result.row)
        }

        fn apply_one(&self, op: RowOp) -> Result<OpResult> {
            self.batch(vec![op])?
                .pop()
                .unwrap_or_else(|| Err(Error::invalid("nothing was applied")))
        }
    };
}
pub(crate) use row_calls;
