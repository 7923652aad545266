//! What can be told and done of a cluster elsewhere: its servers, the requests of its regions over
//! time, and the work on single regions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use halite::heat::{Finding, HeatMap, HeatQuery, HotRow};
use halite::{
    Cluster, ClusterStatus, CompactionKind, RegionInfo, RemoteCluster, Result, TableName, block_on,
};
use halite_types::{Error, ErrorKind, ServerName};
use halite_web::{About, Event, EventQuery, Extension, Mode, Page, SlowCall, SlowCallQuery};

use super::region_events::RegionEvents;
use super::region_heat::RegionHeat;

/// Time between looks at the cluster; the moments are multiples of it.
const LOOK_PERIOD_MS: i64 = 10_000;

/// Facts of a cluster elsewhere.
pub(super) struct AttachedExtension {
    /// Client of looks, which gives up after seconds.
    cluster: RemoteCluster,
    /// Client of work, which waits for minutes.
    patient: RemoteCluster,
    known: Mutex<Known>,
    heat: RegionHeat,
    events: RegionEvents,
}

/// What the master reported at the last look that it answered.
#[derive(Default)]
struct Known {
    version: String,
    servers: Vec<String>,
    places: HashMap<String, Place>,
}

/// Place of a region.
struct Place {
    server: Arc<ServerName>,
    locality: Option<f32>,
}

impl Known {
    fn new(status: &ClusterStatus) -> Self {
        let servers = status.servers.clone().unwrap_or_default();
        let places = status.regions.iter().filter_map(|load| {
            let server = Arc::clone(load.server.as_ref()?);
            Some((load.region.encoded_name.clone(), Place { server, locality: load.locality }))
        });
        Self {
            version: servers.version,
            places: places.collect(),
            servers: servers.live.iter().map(|server| server.name.to_string()).collect(),
        }
    }
}

impl AttachedExtension {
    /// Looks at the cluster, and again every ten seconds from a thread that ends with the result.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub(super) fn start(
        cluster: RemoteCluster,
        patient: RemoteCluster,
    ) -> anyhow::Result<Arc<Self>> {
        let extension = Arc::new(Self {
            cluster,
            patient,
            known: Mutex::default(),
            heat: RegionHeat::default(),
            events: RegionEvents::default(),
        });
        extension.look();
        let weak = Arc::downgrade(&extension);
        std::thread::Builder::new()
            .name("halite-ui-look".to_owned())
            .spawn(move || look_repeatedly(&weak))
            .context("starting a thread")?;
        Ok(extension)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the master for its servers and the requests of regions. Without an answer they stay as
    /// they were; the requests of that time are missing.
    fn look(&self) {
        match block_on(self.cluster.blocking_admin().cluster_status()) {
            Ok(status) => {
                *self.known() = Known::new(&status);
                self.heat.add(unix_ms(), &status.regions);
                let places = status
                    .regions
                    .iter()
                    .map(|load| (&load.region, load.server.as_ref().map(ToString::to_string)));
                self.events.look(self.now_ms(), places);
            }
            Err(error) => tracing::debug!(%error, "asking the master for its servers and regions"),
        }
    }
}

fn look_repeatedly(extension: &Weak<AttachedExtension>) {
    loop {
        let wait = LOOK_PERIOD_MS - unix_ms().rem_euclid(LOOK_PERIOD_MS);
        std::thread::sleep(Duration::from_millis(wait.unsigned_abs()));
        let Some(extension) = extension.upgrade() else { return };
        extension.look();
    }
}

fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Extension for AttachedExtension {
    fn about(&self) -> About {
        About {
            mode: Mode::Attached,
            version: self.known().version.clone(),
            cluster_id: Some(self.cluster.id().to_owned()),
            heat_level: Some("region".to_owned()),
        }
    }

    fn servers(&self) -> Vec<String> {
        self.known().servers.clone()
    }

    fn server_of(&self, region: &RegionInfo) -> Option<String> {
        self.known().places.get(&region.encoded_name).map(|place| place.server.to_string())
    }

    fn locality_of(&self, region: &RegionInfo) -> Option<f64> {
        self.known().places.get(&region.encoded_name)?.locality.map(f64::from)
    }

    fn events(&self, query: &EventQuery) -> Result<Page<Event>> {
        self.events.find(query)
    }

    fn mark_deploy(&self, table: Option<&TableName>, text: &str) -> Result<u64> {
        let now_ms = self.now_ms();
        self.events.mark_deploy(now_ms, table, text);
        Ok(now_ms)
    }

    fn slow_calls(&self, _: &SlowCallQuery) -> Result<Page<SlowCall>> {
        let text = "slow calls are not reported by HBase to its master; get_slowlog_responses of \
                    its shell lists those of a region server";
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    fn heat_maps(&self, table: &TableName, queries: &[HeatQuery]) -> Result<Vec<HeatMap>> {
        self.heat.maps(table, queries)
    }

    fn hot_rows(&self, _: &TableName, _: (i64, i64)) -> Result<(Vec<HotRow>, u64)> {
        let text = "the requests of single rows are not reported by HBase, which reports those of \
                    regions";
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    fn diagnose_load(&self, table: &TableName, span_ms: (i64, i64)) -> Result<Finding> {
        Ok(self.heat.diagnose(table, span_ms))
    }

    fn flush_region(&self, encoded_name: &str) -> Result<()> {
        block_on(self.patient.flush_region(encoded_name))
    }

    fn compact_region(&self, encoded_name: &str, is_major: bool) -> Result<()> {
        let kind = if is_major { CompactionKind::Major } else { CompactionKind::Minor };
        block_on(self.patient.compact_region(encoded_name, kind))
    }

    fn move_region(&self, encoded_name: &str, server: &str) -> Result<()> {
        let server: ServerName = server.parse()?;
        if self.known().places.get(encoded_name).is_some_and(|at| *at.server == server) {
            return Err(Error::invalid(format!("the region is on server {server} already")));
        }
        block_on(self.patient.move_region(encoded_name, &server))
    }
}
