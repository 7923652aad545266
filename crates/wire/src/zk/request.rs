//! Requests of a client.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::Result;

use super::jute::{Reader, put_bool, put_buffer, put_packet, put_string, put_strings};

/// Request. `watch` requests an event when the response would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Tests whether a znode exists: [`Reply::Stat`](super::Reply::Stat), or `NO_NODE`.
    Exists {
        /// Path of the znode.
        path: String,
        /// See above.
        watch: bool,
    },
    /// Reads the data of a znode: [`Reply::Data`](super::Reply::Data).
    GetData {
        /// Path of the znode.
        path: String,
        /// See above.
        watch: bool,
    },
    /// Lists the children of a znode: [`Reply::Children`](super::Reply::Children).
    GetChildren {
        /// Path of the znode.
        path: String,
        /// See above.
        watch: bool,
    },
    /// Lists the children with the znode's metadata:
    /// [`Reply::ChildrenAndStat`](super::Reply::ChildrenAndStat).
    GetChildren2 {
        /// Path of the znode.
        path: String,
        /// See above.
        watch: bool,
    },
    /// Reads the access list of a znode: [`Reply::OpenAcl`](super::Reply::OpenAcl).
    GetAcl {
        /// Path of the znode.
        path: String,
    },
    /// Synchronizes with the changes that any other client has seen:
    /// [`Reply::Path`](super::Reply::Path).
    Sync {
        /// Path of the znode.
        path: String,
    },
    /// Creates a znode, with any of four operations: [`Reply::Path`](super::Reply::Path), or
    /// [`Reply::PathAndStat`](super::Reply::PathAndStat) to `create2`. Its access list is not
    /// stored.
    Create {
        /// Operation number.
        operation: i32,
        /// Path of the znode, or its prefix.
        path: String,
        /// Data of the znode.
        data: Bytes,
        /// Flags: 1 for an ephemeral znode, 2 for a sequential one, 3 for both, higher values for
        /// other types; 0 otherwise.
        flags: i32,
    },
    /// Deletes a znode: [`Reply::Empty`](super::Reply::Empty).
    Delete {
        /// Path of the znode.
        path: String,
        /// Required version of its data; -1 for any.
        version: i32,
    },
    /// Replaces the data of a znode: [`Reply::Stat`](super::Reply::Stat).
    SetData {
        /// Path of the znode.
        path: String,
        /// New data.
        data: Bytes,
        /// As for `Delete`.
        version: i32,
    },
    /// Replaces the access list of a znode, or deletes a container. Only the path is decoded, which
    /// is sufficient to reject it.
    Change {
        /// Operation number.
        operation: i32,
        /// Path of the znode.
        path: String,
    },
    /// Several operations in one transaction; the body is not decoded.
    Multi,
    /// Keep-alive: [`Reply::Empty`](super::Reply::Empty).
    Ping,
    /// Closes the session: [`Reply::Empty`](super::Reply::Empty), then the connection is closed.
    CloseSession,
    /// Authenticates the client: [`Reply::Empty`](super::Reply::Empty).
    Auth {
        /// Always 0.
        kind: i32,
        /// Scheme, such as `digest`.
        scheme: String,
        /// Credentials in the format of the scheme.
        auth: Bytes,
    },
    /// Restores the watches that a client had on another connection:
    /// [`Reply::Empty`](super::Reply::Empty).
    SetWatches {
        /// Newest transaction the client has seen.
        relative_zxid: i64,
        /// Znodes whose data is watched.
        data: Vec<String>,
        /// Znodes that are watched until they appear.
        exist: Vec<String>,
        /// Znodes whose children are watched.
        child: Vec<String>,
    },
    /// Any other operation; the body is not decoded. A server without it responds with
    /// `UNIMPLEMENTED`.
    Other {
        /// Operation number.
        operation: i32,
    },
}

/// `create`, `create2`, `createContainer`, `createTTL`.
const CREATE: [i32; 4] = [1, 15, 19, 21];
const DELETE: i32 = 2;
const SET_DATA: i32 = 5;
/// `setACL`, `deleteContainer`.
const CHANGE: [i32; 2] = [7, 20];
const EXISTS: i32 = 3;
const GET_DATA: i32 = 4;
const GET_ACL: i32 = 6;
const GET_CHILDREN: i32 = 8;
const SYNC: i32 = 9;
const PING: i32 = 11;
const GET_CHILDREN_2: i32 = 12;
const MULTI: i32 = 14;
const AUTH: i32 = 100;
const SET_WATCHES: i32 = 101;
const CLOSE_SESSION: i32 = -11;

/// Permissions to read, write, create, delete and administer.
const ALL_PERMISSIONS: i32 = 31;

/// Decodes a packet of an open session: the xid of the response, and the request.
///
/// # Errors
/// `InvalidRequest` if it ends too early or a path is not text.
pub fn decode_request(packet: &Bytes) -> Result<(i32, Request)> {
    let mut reader = Reader::new(packet);
    let xid = reader.i32()?;
    let request = match reader.i32()? {
        EXISTS => Request::Exists { path: reader.string()?, watch: reader.bool()? },
        GET_DATA => Request::GetData { path: reader.string()?, watch: reader.bool()? },
        GET_CHILDREN => Request::GetChildren { path: reader.string()?, watch: reader.bool()? },
        GET_CHILDREN_2 => Request::GetChildren2 { path: reader.string()?, watch: reader.bool()? },
        GET_ACL => Request::GetAcl { path: reader.string()? },
        SYNC => Request::Sync { path: reader.string()? },
        operation if CREATE.contains(&operation) => {
            let (path, data) = (reader.string()?, reader.buffer()?);
            for _ in 0..reader.i32()?.max(0) {
                // Permissions, scheme, id.
                reader.i32()?;
                reader.string()?;
                reader.string()?;
            }
            Request::Create { operation, path, data, flags: reader.i32()? }
        }
        DELETE => Request::Delete { path: reader.string()?, version: reader.i32()? },
        SET_DATA => Request::SetData {
            path: reader.string()?,
            data: reader.buffer()?,
            version: reader.i32()?,
        },
        operation if CHANGE.contains(&operation) => {
            Request::Change { operation, path: reader.string()? }
        }
        MULTI => Request::Multi,
        PING => Request::Ping,
        CLOSE_SESSION => Request::CloseSession,
        AUTH => {
            Request::Auth { kind: reader.i32()?, scheme: reader.string()?, auth: reader.buffer()? }
        }
        SET_WATCHES => {
            let (relative_zxid, data) = (reader.i64()?, reader.strings()?);
            Request::SetWatches {
                relative_zxid,
                data,
                exist: reader.strings()?,
                child: reader.strings()?,
            }
        }
        operation => Request::Other { operation },
    };
    Ok((xid, request))
}

/// Appends the packet of a request. A body that is not decoded is encoded only as far as it is
/// decoded.
pub fn encode_request(xid: i32, request: &Request, out: &mut BytesMut) {
    put_packet(out, |out| {
        out.put_i32(xid);
        out.put_i32(request.operation());
        match request {
            Request::Exists { path, watch }
            | Request::GetData { path, watch }
            | Request::GetChildren { path, watch }
            | Request::GetChildren2 { path, watch } => {
                put_string(out, path);
                put_bool(out, *watch);
            }
            Request::Auth { kind, scheme, auth } => {
                out.put_i32(*kind);
                put_string(out, scheme);
                put_buffer(out, auth);
            }
            Request::SetWatches { relative_zxid, data, exist, child } => {
                out.put_i64(*relative_zxid);
                [data, exist, child].into_iter().for_each(|paths| put_strings(out, paths));
            }
            Request::Create { path, data, flags, .. } => {
                put_string(out, path);
                put_buffer(out, data);
                // All permissions for all clients.
                [1, ALL_PERMISSIONS].into_iter().for_each(|number| out.put_i32(number));
                put_string(out, "world");
                put_string(out, "anyone");
                out.put_i32(*flags);
            }
            Request::Delete { path, version } => {
                put_string(out, path);
                out.put_i32(*version);
            }
            Request::SetData { path, data, version } => {
                put_string(out, path);
                put_buffer(out, data);
                out.put_i32(*version);
            }
            Request::GetAcl { path } | Request::Sync { path } | Request::Change { path, .. } => {
                put_string(out, path);
            }
            Request::Ping | Request::CloseSession | Request::Multi | Request::Other { .. } => {}
        }
    });
}

impl Request {
    /// Returns the operation number.
    pub fn operation(&self) -> i32 {
        match self {
            Self::Exists { .. } => EXISTS,
            Self::GetData { .. } => GET_DATA,
            Self::GetChildren { .. } => GET_CHILDREN,
            Self::GetChildren2 { .. } => GET_CHILDREN_2,
            Self::GetAcl { .. } => GET_ACL,
            Self::Sync { .. } => SYNC,
            Self::Multi => MULTI,
            Self::Ping => PING,
            Self::CloseSession => CLOSE_SESSION,
            Self::Auth { .. } => AUTH,
            Self::SetWatches { .. } => SET_WATCHES,
            Self::Delete { .. } => DELETE,
            Self::SetData { .. } => SET_DATA,
            Self::Create { operation, .. }
            | Self::Change { operation, .. }
            | Self::Other { operation } => *operation,
        }
    }
}
