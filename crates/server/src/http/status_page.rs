//! Human-readable status page: addresses, tables and their sizes.

use std::fmt::Write as _;

use halite_engine::Health;

use super::snapshot::MetricsSnapshot;
use crate::base::health::name;

pub(super) fn text(snapshot: &MetricsSnapshot<'_>) -> String {
    let mut out = format!("Halite {}\n\n", env!("CARGO_PKG_VERSION"));
    let (addresses, identity) = (&snapshot.context.addresses, &snapshot.identity);
    let seconds = snapshot.uptime().as_secs();
    let zookeeper = addresses.zookeeper.map_or_else(
        || "none".to_owned(),
        |zookeeper| format!("{}:{}", identity.host, zookeeper.port()),
    );
    let lines = [
        ("zookeeper", zookeeper),
        ("master", format!("{}:{}", identity.host, identity.master_port)),
        ("region server", format!("{}:{}", identity.host, identity.regionserver_port)),
        ("cluster id", snapshot.cluster_id.to_owned()),
        ("store", health(&snapshot.health)),
        ("up", format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)),
        ("metrics", "/metrics for Prometheus, /jmx for dashboards made for HBase".to_owned()),
    ];
    // Writing to a string cannot fail.
    for (name, value) in lines {
        let _ = writeln!(out, "{name:<16}{value}");
    }
    let names: Vec<String> = snapshot.tables.keys().map(ToString::to_string).collect();
    let width = names.iter().map(|name| name.chars().count()).chain([5]).max().unwrap_or(5) + 2;
    let _ = writeln!(
        out,
        "\n{:<width$}{:>8}{:>7}{:>16}{:>16}{:>12}{:>12}",
        "table", "regions", "files", "file bytes", "memstore bytes", "reads", "writes"
    );
    for (name, totals) in names.iter().zip(snapshot.tables.values()) {
        let (regions, files, file_bytes) =
            (totals.regions, totals.store_files, totals.store_file_bytes);
        let (memstore, reads, writes) =
            (totals.memstore_data_bytes, totals.read_requests, totals.write_requests);
        let _ = writeln!(
            out,
            "{name:<width$}{regions:>8}{files:>7}{file_bytes:>16}{memstore:>16}{reads:>12}{writes:>12}"
        );
    }
    out
}

/// Formats the state of the store, with the reason if it accepts no writes.
fn health(health: &Health) -> String {
    let room = health
        .disk
        .map(|disk| format!(", {} of {} bytes free", disk.free_bytes, disk.total_bytes))
        .unwrap_or_default();
    let reason = health.reason.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    format!("{}{room}{reason}", name(health.state))
}
