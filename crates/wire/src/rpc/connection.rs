//! Header of an RPC connection: service, users and cell block format.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::{Error, Result};
use prost::Message;

use super::{Auth, Preamble, ProtocolError};
use crate::cellblock::{CellBlockFormat, Codec, Compressor};
use crate::proto as pb;
use crate::service::Service;

/// Maximum bytes of a name in the header. The server stores the user's name with each of its
/// operations.
const MAX_NAME_BYTES: usize = 1 << 10;

/// Decoded connection header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionInfo {
    /// Service of all calls on this connection.
    pub service: Service,
    /// User on whose behalf the calls are made, if specified.
    pub user: Option<String>,
    /// User who acts on that user's behalf, if different.
    pub real_user: Option<String>,
    /// Cell block format; `None` if the client has no codec and requires cells inside messages.
    pub format: Option<CellBlockFormat>,
    /// Major and minor version of the client, if specified; only the Java client sends it.
    pub version: Option<(u32, u32)>,
}

impl ConnectionInfo {
    /// Decodes the header of a connection, the frame after the preamble.
    ///
    /// # Errors
    /// [`ProtocolError::Close`] for an invalid header and for an unknown service, codec or
    /// compressor; HBase closes such a connection without a response. Also for a name of more than
    /// 1 KiB.
    pub fn decode(header: Bytes) -> Result<Self, ProtocolError> {
        let header = pb::ConnectionHeader::decode(header).map_err(|error| {
            ProtocolError::close(format!("undecodable connection header: {error}"))
        })?;
        check_names(&header)?;
        let name = header.service_name();
        let service = Service::from_name(name).filter(|service| !service.is_endpoint());
        let service =
            service.ok_or_else(|| ProtocolError::close(format!("unknown service {name:?}")))?;
        let format = format(&header)?;
        let version = header.version_info.as_ref().and_then(version);
        let (user, real_user) = header
            .user_info
            .map_or((None, None), |info| (Some(info.effective_user), info.real_user));
        Ok(Self { service, user, real_user, format, version })
    }

    /// Returns `true` if the client's version is at least this one; `false` if the client sent
    /// none.
    pub fn is_at_least(&self, major: u32, minor: u32) -> bool {
        self.version.is_some_and(|version| version >= (major, minor))
    }
}

fn check_names(header: &pb::ConnectionHeader) -> Result<(), ProtocolError> {
    let user = header.user_info.as_ref();
    let names = [
        ("user", user.map_or("", |user| &user.effective_user)),
        ("real user", user.map_or("", |user| user.real_user())),
        ("service", header.service_name()),
        ("codec", header.cell_block_codec_class()),
        ("compressor", header.cell_block_compressor_class()),
    ];
    match names.into_iter().find(|(_, name)| name.len() > MAX_NAME_BYTES) {
        Some((what, name)) => Err(ProtocolError::close(format!(
            "the name of its {what} has {} bytes, more than {MAX_NAME_BYTES}",
            name.len()
        ))),
        None => Ok(()),
    }
}

fn format(header: &pb::ConnectionHeader) -> Result<Option<CellBlockFormat>, ProtocolError> {
    let class = header.cell_block_codec_class();
    if class.is_empty() {
        return Ok(None);
    }
    let codec = Codec::from_class(class)
        .ok_or_else(|| ProtocolError::close(format!("unknown codec {class:?}")))?;
    let compressor = match header.cell_block_compressor_class() {
        "" => None,
        class => Some(
            Compressor::from_class(class)
                .ok_or_else(|| ProtocolError::close(format!("unknown compressor {class:?}")))?,
        ),
    };
    Ok(Some(CellBlockFormat { codec, compressor }))
}

/// Returns the version numbers if the client sent them, or else the start of the version text:
/// `2.6.4`.
fn version(info: &pb::VersionInfo) -> Option<(u32, u32)> {
    if let Some(major) = info.version_major {
        return Some((major, info.version_minor()));
    }
    let mut parts = info.version.split(['.', '-']).map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// Appends the preamble and the header that begin an RPC connection. The server does not respond;
/// calls may follow immediately.
///
/// # Errors
/// If the header does not fit in a frame.
pub fn encode_connection(
    auth: Auth,
    header: &pb::ConnectionHeader,
    out: &mut BytesMut,
) -> Result<()> {
    let length = header.encoded_len();
    let Ok(length_field) = i32::try_from(length) else {
        return Err(Error::invalid(format!(
            "a connection header of {length} bytes does not fit into a frame; send fewer attributes"
        )));
    };
    out.reserve(length.saturating_add(16));
    out.put_slice(&Preamble::Calls(auth).encode());
    out.put_i32(length_field);
    header.encode(out).expect("a BytesMut grows as needed");
    Ok(())
}
