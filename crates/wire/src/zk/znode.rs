//! What HBase's znodes hold.
//!
//! ```text
//! 0xff | length u32 | who wrote it: "master:16000" and eight bytes | "PBUF" | message
//! ```
//! The part before `PBUF` may be missing for Java's clients; gohbase and asynchbase want it.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{Buf, BufMut, Bytes, BytesMut};
use halite_types::{Error, Result};
use prost::Message;

use crate::proto::magic::{from_magic, put_with_magic};

const PREFIX: u8 = 0xff;
/// Most bytes of the part that says who wrote it; gohbase reads no more.
const WRITER_BYTES_MAX: u32 = 65_000;

/// The content of a znode. `writer` is a name such as `master:16000`, `nonce` tells writers of one name apart; readers
/// look at neither.
///
/// # Panics
/// If `writer` has more than 60,000 bytes.
pub fn encode(writer: &str, nonce: [u8; 8], message: &impl Message) -> Bytes {
    assert!(writer.len() <= 60_000, "the name of who writes a znode has {} bytes", writer.len());
    let length = u32::try_from(writer.len()).unwrap_or(0).saturating_add(8);
    let mut out = BytesMut::new();
    out.put_u8(PREFIX);
    out.put_u32(length);
    out.put_slice(writer.as_bytes());
    out.put_slice(&nonce);
    put_with_magic(message, &mut out);
    out.freeze()
}

/// The message of a znode, with or without the part before `PBUF`.
///
/// # Errors
/// `InvalidRequest` if the parts do not fit or no message of this type is there.
pub fn decode<M: Message + Default>(mut content: Bytes) -> Result<M> {
    if content.first() == Some(&PREFIX) {
        content.advance(1);
        let length = content.try_get_u32().map_err(|_| damaged())?;
        let fits = usize::try_from(length).is_ok_and(|length| length <= content.len());
        if length == 0 || length > WRITER_BYTES_MAX || !fits {
            return Err(damaged());
        }
        content.advance(usize::try_from(length).map_err(|_| damaged())?);
    }
    from_magic(content)
}

fn damaged() -> Error {
    Error::invalid("the part of a znode before PBUF does not fit; something else than HBase wrote it")
}
