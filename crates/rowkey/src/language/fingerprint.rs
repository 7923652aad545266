//! Fingerprint that distinguishes schemas.

use crate::schema::KeySchema;

impl KeySchema {
    /// Returns 64 bits of the canonical text, the same in every process and version: FNV-1a.
    pub fn fingerprint(&self) -> u64 {
        fnv1a(self.to_text().as_bytes())
    }
}

/// Returns the FNV-1a hash of 64 bits.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.iter().fold(BASIS, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_matches_published_vectors() {
        assert_eq!(
            [fnv1a(b""), fnv1a(b"a"), fnv1a(b"foobar")],
            [0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8]
        );
    }

    #[test]
    fn spellings_of_one_schema_share_a_fingerprint() {
        let read = |text: &str| text.parse::<KeySchema>().unwrap().fingerprint();
        let canonical =
            read("ROW KEY (SALT(16 BY device_id), device_id STRING, ts TIMESTAMP DESC)");
        assert_eq!(
            read(
                "row key (salt(16 by (device_id) using MURMUR3), device_id varchar not null, \
                 rev(ts) timestamp(ms)) profile bin"
            ),
            canonical
        );
        assert_ne!(
            read("ROW KEY (SALT(17 BY device_id), device_id STRING, ts TIMESTAMP DESC)"),
            canonical
        );
    }
}
