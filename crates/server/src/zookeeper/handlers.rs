//! Handlers of the requests of a session.

use halite_wire::zk::{ErrorCode, Reply, Request, Stat};

use super::znode_tree::{Node, ZnodeTree};

/// Zxid of the only transaction of this endpoint, the creation of all znodes.
pub(super) const ZXID: i64 = 1;

/// Session that owns the ephemeral znodes, the server's own.
const SERVER_SESSION: i64 = 1;

/// `create`, whose response contains the path only.
const CREATE: i32 = 1;

/// `setWatches2`, which newer clients send after reconnecting.
const SET_WATCHES_2: i32 = 105;

/// Returns `true` if answering a request may wait for the disk.
pub(super) fn waits(request: &Request) -> bool {
    matches!(request, Request::Create { .. } | Request::Delete { .. } | Request::SetData { .. })
}

/// Answers a request. Watches are accepted and never fire: the znodes that clients look up do not
/// change while the server runs. Changes of the server's own znodes fail as on a read-only
/// ZooKeeper.
pub(super) fn answer(tree: &ZnodeTree<'_>, request: &Request) -> Result<Reply, ErrorCode> {
    let node = |path: &str| tree.node(path).ok_or(ErrorCode::NO_NODE);
    let start = tree.context.start_code;
    match request {
        Request::Exists { path, .. } => Ok(Reply::Stat(stat(&node(path)?, start))),
        Request::GetData { path, .. } => {
            node(path).map(|node| Reply::Data(node.data.clone(), stat(&node, start)))
        }
        Request::GetChildren { path, .. } => Ok(Reply::Children(node(path)?.children)),
        Request::GetChildren2 { path, .. } => {
            let node = node(path)?;
            let stat = stat(&node, start);
            Ok(Reply::ChildrenAndStat(node.children, stat))
        }
        Request::GetAcl { path } => Ok(Reply::OpenAcl(stat(&node(path)?, start))),
        Request::Sync { path } => Ok(Reply::Path(path.clone())),
        Request::Create { operation, path, data, flags } => {
            let path = tree.create(path, data, *flags)?;
            if *operation == CREATE {
                Ok(Reply::Path(path))
            } else {
                node(&path).map(|node| Reply::PathAndStat(path, stat(&node, start)))
            }
        }
        Request::Delete { path, version } => tree.delete(path, *version).map(|()| Reply::Empty),
        Request::SetData { path, data, version } => {
            tree.set_data(path, data, *version)?;
            Ok(Reply::Stat(stat(&node(path)?, start)))
        }
        Request::Change { path, .. } => node(path).and(Err(ErrorCode::NOT_READ_ONLY)),
        Request::Multi => Err(ErrorCode::NOT_READ_ONLY),
        Request::Ping
        | Request::Auth { .. }
        | Request::SetWatches { .. }
        | Request::Other { operation: SET_WATCHES_2 }
        | Request::CloseSession => Ok(Reply::Empty),
        Request::Other { .. } => Err(ErrorCode::UNIMPLEMENTED),
    }
}

fn stat(node: &Node, start_code: u64) -> Stat {
    let started = i64::try_from(start_code).unwrap_or(i64::MAX);
    let (version, created_ms, changed_ms) = node.stored.unwrap_or((0, started, started));
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    Stat {
        czxid: ZXID,
        mzxid: ZXID,
        pzxid: ZXID,
        ctime: created_ms,
        mtime: changed_ms,
        version,
        ephemeral_owner: if node.is_ephemeral { SERVER_SESSION } else { 0 },
        data_length: count(node.data.len()),
        num_children: count(node.children.len()),
        ..Stat::default()
    }
}
