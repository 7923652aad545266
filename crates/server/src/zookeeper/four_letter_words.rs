//! ZooKeeper's four-letter words, which monitors send instead of a session: `ruok`, `srvr`, `stat`,
//! `mntr`, `isro`.

use std::fmt::Write as _;
use std::time::Duration;

use crate::base::metrics::ZooKeeperMetrics;

/// Version of ZooKeeper with this protocol, in the format that monitors parse.
const VERSION: &str = concat!("3.8.4-halite-", env!("CARGO_PKG_VERSION"));

/// Values that the words report.
pub(super) struct ServerStats<'a> {
    pub(super) metrics: &'a ZooKeeperMetrics,
    /// Time since the server started.
    pub(super) uptime: Duration,
    /// Counts the znodes, which reads every table and namespace.
    pub(super) nodes: &'a (dyn Fn() -> usize + Sync),
    /// `true` if the store accepts writes.
    pub(super) is_ok: bool,
}

/// Returns the response to a word.
pub(super) fn answer(word: [u8; 4], facts: &ServerStats<'_>) -> String {
    match &word {
        // As in ZooKeeper: an unhealthy server returns nothing.
        b"ruok" => if facts.is_ok { "imok" } else { "" }.to_owned(),
        b"isro" => "ro".to_owned(),
        b"srvr" => format!("Zookeeper version: {VERSION}\n{}", counts(facts)),
        b"stat" => format!("Zookeeper version: {VERSION}\nClients:\n\n{}", counts(facts)),
        b"mntr" => monitor(facts),
        _ => {
            format!("{} is not executed because it is not in the whitelist.\n", word.escape_ascii())
        }
    }
}

fn counts(ServerStats { metrics, nodes, .. }: &ServerStats<'_>) -> String {
    let (received, sent, connections) =
        (metrics.packets_received.get(), metrics.packets_sent.get(), metrics.connections.get());
    format!(
        "Received: {received}\nSent: {sent}\nConnections: {connections}\nOutstanding: 0\n\
         Zxid: 0x1\nMode: standalone\nNode count: {}\n",
        nodes()
    )
}

fn monitor(ServerStats { metrics, uptime, nodes, .. }: &ServerStats<'_>) -> String {
    let mut out = format!("zk_version\t{VERSION}\nzk_server_state\tstandalone\n");
    for (name, value) in [
        ("znode_count", nodes() as u64),
        ("num_alive_connections", metrics.connections.get()),
        ("packets_received", metrics.packets_received.get()),
        ("packets_sent", metrics.packets_sent.get()),
        ("connection_rejected", metrics.connections_rejected.get()),
        ("uptime", u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX)),
        ("outstanding_requests", 0),
        ("ephemerals_count", 2),
        ("watch_count", 0),
    ] {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "zk_{name}\t{value}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply_with_health(is_ok: bool, word: [u8; 4]) -> String {
        let metrics = ZooKeeperMetrics::default();
        metrics.packets_received.add(7);
        answer(
            word,
            &ServerStats {
                metrics: &metrics,
                uptime: Duration::from_secs(3),
                nodes: &|| 30,
                is_ok,
            },
        )
    }

    fn reply_to(word: [u8; 4]) -> String {
        reply_with_health(true, word)
    }

    #[test]
    fn monitor_commands_contain_expected_lines() {
        assert_eq!((&*reply_to(*b"ruok"), &*reply_with_health(false, *b"ruok")), ("imok", ""));
        assert!(
            reply_to(*b"srvr").starts_with("Zookeeper version: 3.8.4")
                && reply_to(*b"srvr").contains("\nReceived: 7\n")
        );
        assert!(reply_to(*b"stat").contains("\nMode: standalone\nNode count: 30\n"));
        let monitor = reply_to(*b"mntr");
        assert!(
            monitor
                .lines()
                .all(|line| line.split_once('\t').is_some_and(|(name, _)| name.starts_with("zk_"))),
            "{monitor}"
        );
        assert!(monitor.contains("zk_uptime\t3000\n") && monitor.contains("zk_znode_count\t30\n"));
        assert_eq!(
            reply_to(*b"kill"),
            "kill is not executed because it is not in the whitelist.\n"
        );
    }
}
