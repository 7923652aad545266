//! Content of HBase's znodes.
//!
//! ```text
//! 0xff | length u32 | writer: "master:16000" and eight bytes | "PBUF" | message
//! ```
//! The part before `PBUF` is optional for Java's clients; gohbase and asynchbase require it.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{Buf, BufMut, Bytes, BytesMut};
use halite_types::{Error, Result};
use prost::Message;

use crate::proto::magic::{from_magic, put_with_magic};

const PREFIX: u8 = 0xff;
/// Maximum bytes of the part that names the writer; gohbase reads no more.
const MAX_WRITER_BYTES: u32 = 65_000;

/// Returns the content of a znode. `writer` is a name such as `master:16000`, and `nonce`
/// distinguishes writers of the same name; readers ignore both.
///
/// # Panics
/// If `writer` has more than 60,000 bytes.
pub fn encode(writer: &str, nonce: [u8; 8], message: &impl Message) -> Bytes {
    assert!(writer.len() <= 60_000, "the writer's name in a znode has {} bytes", writer.len());
    let length = u32::try_from(writer.len()).unwrap_or(0).saturating_add(8);
    let mut out = BytesMut::new();
    out.put_u8(PREFIX);
    out.put_u32(length);
    out.put_slice(writer.as_bytes());
    out.put_slice(&nonce);
    put_with_magic(message, &mut out);
    out.freeze()
}

/// Returns the message of a znode, with or without the part before `PBUF`.
///
/// # Errors
/// `InvalidRequest` if the parts do not fit or the message is not of this type.
pub fn decode<M: Message + Default>(mut content: Bytes) -> Result<M> {
    if content.first() == Some(&PREFIX) {
        content.advance(1);
        let length = content.try_get_u32().map_err(|_| damaged())?;
        let fits = usize::try_from(length).is_ok_and(|length| length <= content.len());
        if length == 0 || length > MAX_WRITER_BYTES || !fits {
            return Err(damaged());
        }
        content.advance(usize::try_from(length).map_err(|_| damaged())?);
    }
    from_magic(content)
}

fn damaged() -> Error {
    Error::invalid("invalid znode data before PBUF; it was not written by HBase")
}
