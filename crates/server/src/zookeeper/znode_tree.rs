//! Znodes of HBase 2.6, computed from the server on each request.
//!
//! ```text
//! /hbase                      `znode_parent`
//!   hbaseid master meta-region-server running      identity and addresses
//!   rs/HOST,PORT,STARTCODE    this process
//!   table/NAME                state of a table
//!   namespace/NAME
//!   backup-masters draining splitWAL ...           empty, as in an idle cluster
//! ```
//! Every client receives the host that it connected to (see `identity.rs`), so the tree is specific
//! to one client. Client-created znodes are in `znodes.rs`.

use std::collections::BTreeSet;

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::TableName;
use halite_wire::proto as pb;
use halite_wire::zk::znode;
use prost::Message;

use crate::base::context::Context;
use crate::base::identity::Identity;
use crate::base::schema::meta_replicas;

/// Names directly below the parent, measured on HBase 2.6.4.
const NODES: [&str; 13] = [
    "backup-masters",
    "draining",
    "flush-table-proc",
    "hbaseid",
    "master",
    "master-maintenance",
    "meta-region-server",
    "namespace",
    "online-snapshot",
    "rs",
    "running",
    "splitWAL",
    "table",
];

/// Names below the znodes of distributed procedures.
const PROCEDURE: [&str; 3] = ["abort", "acquired", "reached"];

/// Nonce that distinguishes this process from other writers of znodes of the same name; readers
/// ignore it.
const WRITER_NONCE: [u8; 8] = *b"halite\0\0";

/// Znode.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) data: Bytes,
    /// Names of its children, in order.
    pub(super) children: Vec<String>,
    /// `true` if the znode exists only while the server runs.
    pub(super) is_ephemeral: bool,
    /// For a client-created znode: number of changes of its data, creation time and time of the
    /// last change.
    pub(super) stored: Option<(i32, i64, i64)>,
}

/// Znodes as seen by one client.
pub(super) struct ZnodeTree<'a> {
    pub(super) context: &'a Context,
    pub(super) identity: Identity,
}

impl ZnodeTree<'_> {
    /// Returns the znode at an absolute path: the server's own, or a client-created one.
    pub(super) fn node(&self, path: &str) -> Option<Node> {
        let mut node = self.own(path).or_else(|| {
            let made = self.stored(path)?;
            Some(Node {
                data: made.data,
                stored: Some((made.version, made.created_ms, made.changed_ms)),
                ..Node::default()
            })
        })?;
        let added: Vec<String> =
            self.stored_below(path).filter(|name| !node.children.contains(name)).collect();
        node.children.extend(added);
        Some(node)
    }

    /// Returns `true` if the znode at the path is the server's own.
    pub(super) fn is_own(&self, path: &str) -> bool {
        self.own(path).is_some()
    }

    fn own(&self, path: &str) -> Option<Node> {
        let parent = self.context.config.znode_parent.as_str();
        if let Some(below) = path.strip_prefix(parent)
            && (below.is_empty() || below.starts_with('/'))
        {
            // No path has more than two names below the parent; the rest of a longer path stays one
            // name, which does not exist.
            let names: Vec<&str> = below.splitn(4, '/').skip(1).collect();
            return self.below_parent(&names);
        }
        match path {
            "/zookeeper" => Some(folder(["config", "quota"])),
            "/zookeeper/config" | "/zookeeper/quota" => Some(Node::default()),
            _ => above(path, parent),
        }
    }

    /// Returns the number of znodes, including the client-created ones.
    pub(super) fn count(&self) -> usize {
        self.count_own("/") + self.stored_paths().filter(|path| !self.is_own(path)).count()
    }

    fn count_own(&self, path: &str) -> usize {
        let Some(node) = self.own(path) else { return 0 };
        // There may be thousands of these, without children.
        if matches!(
            path.strip_prefix(self.context.config.znode_parent.as_str()),
            Some("/table" | "/namespace")
        ) {
            return 1 + node.children.len();
        }
        let prefix = if path == "/" { "" } else { path };
        1 + node
            .children
            .iter()
            .map(|name| self.count_own(&format!("{prefix}/{name}")))
            .sum::<usize>()
    }

    fn below_parent(&self, names: &[&str]) -> Option<Node> {
        match names {
            [] => {
                Some(folder(NODES.into_iter().map(str::to_owned).chain(self.meta_replica_nodes())))
            }
            ["hbaseid"] => {
                Some(self.holds(&pb::ClusterId { cluster_id: self.context.cluster_id.clone() }))
            }
            ["master"] => Some(Node { is_ephemeral: true, ..self.holds(&self.master()) }),
            ["meta-region-server"] => Some(self.holds(&self.meta_region_server())),
            ["running"] => {
                Some(self.holds(&pb::ClusterUp { start_date: start_date(self.context.start_code) }))
            }
            ["rs"] => Some(folder([self.identity.region_server_text()])),
            ["rs", name] if *name == self.identity.region_server_text() => {
                Some(Node { is_ephemeral: true, ..self.holds(&self.region_server()) })
            }
            ["table"] => {
                Some(folder(self.tables().iter().map(ToString::to_string).collect::<BTreeSet<_>>()))
            }
            ["table", name] => self.table(name),
            ["namespace"] => Some(folder(
                self.context
                    .engine
                    .namespaces()
                    .into_iter()
                    .map(|(name, _)| name)
                    .collect::<BTreeSet<_>>(),
            )),
            ["namespace", name] => self.namespace(name),
            ["flush-table-proc" | "online-snapshot"] => Some(folder(PROCEDURE)),
            ["flush-table-proc" | "online-snapshot", name] => {
                PROCEDURE.contains(name).then(Node::default)
            }
            [name] if self.meta_replica_nodes().any(|node| node == *name) => {
                Some(self.holds(&self.meta_region_server()))
            }
            [name] => NODES.contains(name).then(Node::default),
            _ => None,
        }
    }

    fn master(&self) -> pb::Master {
        let info_port = self.context.addresses.http.map_or(0, |web| u32::from(web.port()));
        pb::Master {
            master: self.identity.master(),
            rpc_version: Some(0),
            info_port: Some(info_port),
        }
    }

    /// Returns the znodes of the further replicas declared for `hbase:meta`.
    fn meta_replica_nodes(&self) -> impl Iterator<Item = String> {
        (1..meta_replicas(&self.context.engine))
            .map(|replica| format!("meta-region-server-{replica}"))
    }

    fn meta_region_server(&self) -> pb::MetaRegionServer {
        let state = pb::region_state::State::Open as i32;
        pb::MetaRegionServer {
            server: self.identity.region_server(),
            rpc_version: Some(0),
            state: Some(state),
        }
    }

    fn region_server(&self) -> pb::RegionServerInfo {
        let info_port = self.context.addresses.http.map_or(-1, |web| i32::from(web.port()));
        pb::RegionServerInfo { info_port: Some(info_port), version_info: None }
    }

    /// Returns every table, including `hbase:meta`.
    fn tables(&self) -> Vec<TableName> {
        let names = self.context.engine.descriptors().into_iter().map(|table| table.name().clone());
        names.chain(META.parse().ok()).collect()
    }

    fn table(&self, name: &str) -> Option<Node> {
        let is_enabled =
            name == META || self.context.engine.is_enabled(&name.parse().ok()?).ok()?;
        let state = if is_enabled {
            pb::deprecated_table_state::State::Enabled
        } else {
            pb::deprecated_table_state::State::Disabled
        };
        Some(self.holds(&pb::DeprecatedTableState { state: state as i32 }))
    }

    fn namespace(&self, name: &str) -> Option<Node> {
        let settings = self.context.engine.namespace(name)?;
        let configuration =
            settings.into_iter().map(|(name, value)| pb::NameStringPair { name, value }).collect();
        let message = pb::NamespaceDescriptor { name: name.to_owned().into(), configuration };
        Some(Node { data: without_magic(&self.holds(&message).data, &message), ..Node::default() })
    }

    fn holds(&self, message: &impl Message) -> Node {
        let writer = format!("master:{}", self.identity.master_port);
        Node { data: znode::encode(&writer, WRITER_NONCE, message), ..Node::default() }
    }
}

const META: &str = "hbase:meta";

fn folder<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Node {
    Node { children: names.into_iter().map(Into::into).collect(), ..Node::default() }
}

/// Returns the root and the znodes from it to the parent.
fn above(path: &str, parent: &str) -> Option<Node> {
    let below = if path == "/" { parent } else { parent.strip_prefix(path)? };
    let next = below.strip_prefix('/').filter(|_| path.starts_with('/'))?.split('/').next()?;
    let beside = (path == "/" && next != "zookeeper").then_some("zookeeper");
    Some(folder(std::iter::once(next).chain(beside)))
}

/// HBase writes namespaces without `PBUF` before the message.
fn without_magic(data: &[u8], message: &impl Message) -> Bytes {
    let head = data.len().saturating_sub(message.encoded_len() + b"PBUF".len());
    let mut out = BytesMut::from(&data[..head]);
    out.put_slice(&message.encode_to_vec());
    out.freeze()
}

/// Formats a time as Java's `Date` prints it in UTC, `Sat Nov 21 19:33:31 UTC 2026`.
fn start_date(ms: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = ms / 1000;
    let (mut day, second) = (seconds / 86_400, seconds % 86_400);
    let weekday = DAYS[usize::try_from(day % 7).unwrap_or(0)];
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{weekday} {} {:02} {hour:02}:{minute:02}:{second:02} UTC {year}",
        MONTHS[month],
        day + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_format_matches_java() {
        for (ms, text) in [
            (0, "Thu Jan 01 00:00:00 UTC 1970"),
            (1_795_289_611_000, "Sat Nov 21 19:33:31 UTC 2026"),
            (951_782_399_999, "Mon Feb 28 23:59:59 UTC 2000"),
            (951_782_400_000, "Tue Feb 29 00:00:00 UTC 2000"),
            (1_709_251_199_000, "Thu Feb 29 23:59:59 UTC 2024"),
        ] {
            assert_eq!(start_date(ms), text);
        }
    }

    #[test]
    fn ancestors_of_znode_parent_exist() {
        let children = |path: &str, parent: &str| above(path, parent).map(|node| node.children);
        assert_eq!(children("/", "/hbase"), Some(vec!["hbase".into(), "zookeeper".into()]));
        assert_eq!(children("/", "/our/own"), Some(vec!["our".into(), "zookeeper".into()]));
        assert_eq!(children("/our", "/our/own"), Some(vec!["own".into()]));
        assert_eq!(children("/o", "/our/own"), None);
        assert_eq!(children("", "/our/own"), None);
    }
}
