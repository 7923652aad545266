//! Check of a recipe: its tables against a model in memory, with a writer that is killed halfway.

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use halite::{BlockingCluster, ErrorKind};

use crate::dying_cluster::DyingCluster;
use crate::generate::check_items;
use crate::recipe::{Load, Recipe, Site, Verified};
use crate::schema::drop_tables;

/// Cluster of a check, and the writer that is killed.
pub trait CheckTarget {
    /// Opens the store or connects to the cluster, and returns it.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened or the cluster cannot be reached.
    fn open(&mut self) -> Result<BlockingCluster>;

    /// Writes items one by one, in order, and kills the writer before it is finished. The cluster
    /// that [`Self::open`] returned has been dropped. Returns the number of items whose writes were
    /// acknowledged for certain; the next one may be written too, or in part.
    ///
    /// # Errors
    /// Returns an error if the writer failed for another reason, or was not killed.
    fn write_until_killed(
        &mut self,
        recipe: &dyn Recipe,
        namespace: &str,
        load: Load,
        items: Range<u64>,
    ) -> Result<u64>;
}

/// Result of [`check`].
#[derive(Clone, Copy, Debug)]
pub struct CheckReport {
    /// Items that were acknowledged when the writer was killed.
    pub acknowledged: u64,
    /// Cells that the repair completed.
    pub repaired: u64,
    /// Comparison after the repair.
    pub after_crash: Verified,
    /// Comparison of all items, and of reads while others write.
    pub at_end: Verified,
}

/// Writes items, kills the writer, opens the tables again, repairs and compares them with the
/// model; then writes the remaining items and compares again, with reads during the writes. The
/// tables are in a namespace of their own, which is dropped before and after.
///
/// # Errors
/// More items than a file has; the first difference from the model, and errors of the cluster. The
/// tables remain then, for examination.
pub fn check(recipe: &dyn Recipe, load: Load, target: &mut dyn CheckTarget) -> Result<CheckReport> {
    ensure!(load.items >= 4, "a check needs at least 4 items; use --scale, or a larger file");
    check_items(recipe, load)?;
    let namespace = format!("{}_check", recipe.about().namespace);
    let site = |cluster| Site { cluster, namespace: namespace.clone() };
    {
        let cluster = target.open()?;
        drop_tables(recipe, &cluster, &namespace)?;
        recipe.open(&site(cluster), load)?;
    }
    let half = load.items / 2;
    let acknowledged = target
        .write_until_killed(recipe, &namespace, load, 0..half)
        .context("writing until killed")?;
    let cluster = target.open()?;
    let application = recipe.open(&site(cluster.clone()), load)?;
    let repaired = application.repair().context("repairing after the crash")?;
    let after_crash = application.verify(acknowledged).with_context(|| {
        format!("after a crash at {} {acknowledged}, and the repair", recipe.about().items)
    })?;
    let last = load.items * 3 / 4;
    application.write(acknowledged..last)?;
    let mut at_end =
        application.verify_while_writing(last..load.items).context("reading while others write")?;
    at_end += application.verify(load.items).context("at the end")?;
    drop_tables(recipe, &cluster, &namespace)?;
    Ok(CheckReport { acknowledged, repaired, after_crash, at_end })
}

/// Writes items one by one and calls `acknowledge` with the number of written ones after each. This
/// is the writer that a [`CheckTarget`] kills.
///
/// # Errors
/// Errors of the cluster.
pub fn write_items(
    recipe: &dyn Recipe,
    site: &Site,
    load: Load,
    items: Range<u64>,
    acknowledge: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let application = recipe.open(site, load)?;
    for item in items {
        application.write(item..item + 1)?;
        acknowledge(item + 1)?;
    }
    Ok(())
}

/// Target in this process: the client of the writer stops after a number of batches, exactly there.
/// Dropping the cluster is the crash of an embedded store, whose memory is lost.
pub struct InProcessTarget<F> {
    open: F,
    batches: u64,
}

impl<F: FnMut() -> Result<BlockingCluster>> InProcessTarget<F> {
    /// Creates a target that opens its cluster by `open`, and stops after `batches` of writes.
    pub fn new(open: F, batches: u64) -> Self {
        Self { open, batches }
    }
}

impl<F: FnMut() -> Result<BlockingCluster>> CheckTarget for InProcessTarget<F> {
    fn open(&mut self) -> Result<BlockingCluster> {
        (self.open)()
    }

    fn write_until_killed(
        &mut self,
        recipe: &dyn Recipe,
        namespace: &str,
        load: Load,
        items: Range<u64>,
    ) -> Result<u64> {
        let cluster = (self.open)()?;
        let dying = DyingCluster::new(Arc::clone(cluster.cluster()), self.batches);
        let site = Site {
            cluster: BlockingCluster::new(Arc::new(dying)),
            namespace: namespace.to_owned(),
        };
        let mut acknowledged = items.start;
        let written = write_items(recipe, &site, load, items, &mut |count| {
            acknowledged = count;
            Ok(())
        });
        let Err(error) = written else {
            anyhow::bail!("{} batches are enough for all items; use fewer", self.batches)
        };
        let is_stop = error
            .downcast_ref::<halite::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::Stopped);
        if is_stop { Ok(acknowledged) } else { Err(error) }
    }
}
