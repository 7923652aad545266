//! State of the page: what it shows, and what it remembers between requests.

use std::sync::{Arc, Weak};

use halite_types::suggest::closest_match;
use halite_types::{Admin, Table, TableDescriptor, TableName, block_on};

use crate::config::WebConfig;
use crate::extension::{Extension, WebSources};
use crate::gate::Gate;
use crate::params::short;
use crate::problem::{Answered, Problem};
use crate::samples::SAMPLE_PERIOD;
use crate::status::{Status, StatusHistory};
use crate::table_load::TableLoads;
use crate::tasks::Tasks;

/// Share of the time that the samples may take, as a divisor.
const SAMPLING_DIVISOR: u32 = 50;

pub(crate) struct Site {
    pub(crate) sources: WebSources,
    pub(crate) config: WebConfig,
    pub(crate) gate: Gate,
    pub(crate) statuses: StatusHistory,
    pub(crate) tasks: Tasks,
    pub(crate) table_loads: TableLoads,
}

impl Site {
    pub(crate) fn new(sources: WebSources, config: WebConfig) -> Self {
        let statuses = StatusHistory::new(sources.clone(), config.status_max_age);
        Self {
            sources,
            config,
            gate: Gate::default(),
            statuses,
            tasks: Tasks::default(),
            table_loads: TableLoads::default(),
        }
    }

    pub(crate) fn extension(&self) -> &dyn Extension {
        &*self.sources.extension
    }

    /// Returns the administrative calls, which block.
    pub(crate) fn admin(&self) -> Arc<dyn Admin> {
        self.sources.cluster.blocking_admin()
    }

    /// Returns the present statistics of all regions.
    pub(crate) fn status(&self) -> Answered<Arc<Status>> {
        Ok(self.statuses.current()?)
    }

    /// Returns the table of a path or parameter, with its descriptor.
    pub(crate) fn table(&self, name: &str) -> Answered<KnownTable> {
        let parsed: Option<TableName> = name.parse().ok();
        let found = parsed.and_then(|name| {
            let table = self.sources.cluster.blocking_table(&name).ok()?;
            let descriptor = block_on(table.descriptor()).ok()?;
            Some(KnownTable { table, descriptor })
        });
        match found {
            Some(found) => Ok(found),
            None => Err(self.no_such_table(name)),
        }
    }

    /// Returns the problem of a table that does not exist, with the nearest name.
    fn no_such_table(&self, name: &str) -> Problem {
        let problem = Problem::not_found("table", format!("table {} does not exist", short(name)));
        // An error of the cluster is more useful than a suggestion that cannot be made.
        let tables = match block_on(self.admin().list_tables()) {
            Ok(tables) => tables,
            Err(error) => return error.into(),
        };
        let names: Vec<String> = tables.iter().map(|table| table.name().to_string()).collect();
        let nearest = closest_match(&short(name), names.iter().map(String::as_str));
        let nearest = nearest.map(|near| format!("; nearest: {near}")).unwrap_or_default();
        problem.detail(format!("{} tables are listed at /api/tables{nearest}", names.len()))
    }

    /// Starts the task that takes samples of all regions, if there is a runtime.
    pub(crate) fn start_sampling(self: &Arc<Self>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(take_samples(Arc::downgrade(self)));
        }
    }
}

/// Takes samples until the site is dropped. A cluster of very many regions is asked less often.
async fn take_samples(site: Weak<Site>) {
    loop {
        let Some(current) = site.upgrade() else { return };
        let began = tokio::time::Instant::now();
        let sampled = Arc::clone(&current);
        let taken = current.gate.run_aside(move || sampled.statuses.take_sample());
        drop(current);
        match taken.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "taking a sample of the regions"),
            Err(error) => tracing::error!(%error, "taking a sample of the regions"),
        }
        let pause = SAMPLE_PERIOD.max(began.elapsed() * SAMPLING_DIVISOR);
        tokio::time::sleep_until(began + pause).await;
    }
}

/// Table that exists.
pub(crate) struct KnownTable {
    pub(crate) table: Arc<dyn Table>,
    pub(crate) descriptor: Arc<TableDescriptor>,
}

impl KnownTable {
    pub(crate) fn name(&self) -> &TableName {
        self.descriptor.name()
    }
}
