//! How joins are computed, as the settings say.

use datafusion::prelude::SessionConfig;

use super::settings::Join;

/// Has joins computed as the settings say.
pub(crate) fn set_join(config: &mut SessionConfig, join: Join) {
    if join != Join::Merge {
        return;
    }
    let options = config.options_mut();
    options.optimizer.prefer_hash_join = false;
    options.optimizer.repartition_joins = true;
    // With one partition joins hash whatever is preferred.
    let partitions = &mut options.execution.target_partitions;
    *partitions = (*partitions).max(2);
}
