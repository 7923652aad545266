//! A recipe, and its application on the tables of a namespace.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use anyhow::Result;
use halite::BlockingCluster;

use crate::bench::Part;
use crate::explain::NamedQuery;

/// First time of generated items: 2024-03-15T00:00:00Z, in milliseconds.
pub(crate) const T0: i64 = 1_710_460_800_000;

/// Description of a recipe.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Name in commands.
    pub name: &'static str,
    /// Namespace of its tables: the name, with `_` instead of `-`.
    pub namespace: &'static str,
    /// Demonstrated design, in a few words.
    pub shows: &'static str,
    /// Plural noun of its items.
    pub items: &'static str,
    /// Number of items if none is specified.
    pub default_items: u64,
    /// Operations per second of a measurement if none are specified.
    pub default_rate: u64,
    /// Items that are written before it is recorded that they are: all of them are repeated after
    /// an interruption. 1 where the effect of an item depends on those before it.
    pub batch_items: u64,
    /// Names of the operations of a measurement.
    pub operations: &'static [&'static str],
}

/// Data of a recipe: equal values give equal items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Random seed.
    pub seed: u64,
    /// Number of items, at least 1.
    pub items: u64,
}

impl Load {
    /// Returns the time of an item, in milliseconds: items are evenly distributed over a span from
    /// [`T0`] on.
    pub(crate) fn time_ms(&self, number: u64, span_ms: u64) -> i64 {
        let elapsed = u128::from(number) * u128::from(span_ms) / u128::from(self.items);
        T0.saturating_add(i64::try_from(elapsed).unwrap_or(i64::MAX))
    }
}

/// Cluster and namespace of the tables.
#[derive(Clone)]
pub struct Site {
    /// Cluster.
    pub cluster: BlockingCluster,
    /// Namespace.
    pub namespace: String,
}

/// Operation of a measurement, and its result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Index in [`About::operations`]; `None` before the operation is chosen.
    pub operation: Option<usize>,
    /// Rows, or points, that were returned or written.
    pub returned: u64,
}

impl Outcome {
    /// Records which operation is executed, so that a failure is counted as one of its kind.
    pub fn begin(&mut self, operation: usize) {
        self.operation = Some(operation);
    }
}

/// Result of a comparison with the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Queries that were compared.
    pub queries: u64,
    /// Rows of their answers.
    pub rows: u64,
    /// Rows that the tables returned for them.
    pub examined: u64,
}

/// Application of a tutorial.
pub trait Recipe: Send + Sync {
    /// Returns its description.
    fn about(&self) -> &About;

    /// Returns the number of items if none is specified.
    fn default_items(&self) -> u64;

    /// Returns the recipe with the real data of a file instead of generated items. Its tables are
    /// in a namespace of their own.
    ///
    /// # Errors
    /// A recipe without a format of real data; a file that cannot be read.
    fn with_data(&self, path: &Path) -> Result<Box<dyn Recipe>>;

    /// Returns the number of items of the real data; `None` for generated items, of which there are
    /// any number.
    fn file_items(&self) -> Option<u64>;

    /// Returns a digest of the real data; 0 for generated items.
    fn data_digest(&self) -> u64;

    /// Returns the `CREATE TABLE` statements of its tables, without a namespace.
    fn statements(&self) -> String;

    /// Opens the application on the tables of a namespace, and creates those that do not exist.
    ///
    /// # Errors
    /// Tables that exist with another schema, and errors of the cluster.
    fn open(&self, site: &Site, load: Load) -> Result<Box<dyn Application>>;
}

/// Application of a recipe on its tables.
pub trait Application: Send + Sync {
    /// Writes items by their numbers. Writing items again has no effect.
    ///
    /// # Errors
    /// Errors of the cluster; the items are then written in part.
    fn write(&self, items: Range<u64>) -> Result<()>;

    /// Runs the queries and prints their answers.
    ///
    /// # Errors
    /// Errors of the cluster and of the output.
    fn answer(&self, out: &mut dyn Write) -> Result<()>;

    /// Returns the queries, with values that occur in the data.
    fn queries(&self) -> Vec<NamedQuery>;

    /// Returns the number of the item that the next write of a measurement has: at first that after
    /// the load.
    fn next_item(&self) -> &AtomicU64;

    /// Reads what all operations of a measurement need, before it begins.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn begin_operations(&self) -> Result<()> {
        Ok(())
    }

    /// Executes one operation of a measurement, of a part of them, and records in `outcome` which
    /// one before it calls the cluster. `number` determines it, except that writes continue after
    /// the last item.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()>;

    /// Prints further measurements of the application, which may take a minute. Sizes are those of
    /// store files, which embedded stores report exactly.
    ///
    /// # Errors
    /// Errors of the cluster and of the output.
    fn measure(&self, out: &mut dyn Write) -> Result<()> {
        let _ = out;
        Ok(())
    }

    /// Completes items that a stopped writer left incomplete. Returns the number of completed
    /// cells; 0 for an application that cannot leave any.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn repair(&self) -> Result<u64>;

    /// Compares the tables with a model of the items before `written`. The item `written` may have
    /// been in progress when the writer stopped, so it may be there as a whole or not at all.
    ///
    /// # Errors
    /// The first difference, and errors of the cluster.
    fn verify(&self, written: u64) -> Result<Verified>;

    /// Compares reads that take several steps with the model, while this call writes the items of
    /// the range.
    ///
    /// # Errors
    /// As [`Self::verify`].
    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified>;
}

impl Verified {
    /// Adds a query.
    pub fn add(&mut self, rows: u64, examined: u64) {
        self.queries += 1;
        self.rows += rows;
        self.examined += examined;
    }
}

impl std::ops::AddAssign for Verified {
    fn add_assign(&mut self, other: Self) {
        self.queries += other.queries;
        self.rows += other.rows;
        self.examined += other.examined;
    }
}
