//! BZIP2: a bzip2 stream, or several concatenated ones; read only.

use std::io::Result;

use super::block_codec::read_expected;

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    // The decoder's own memory depends on the stream's block size, which is 900 kB at most.
    read_expected(bzip2::bufread::MultiBzDecoder::new(compressed), expected, out)
}

#[cfg(test)]
mod tests {
    use crate::hfile::Compression::Bzip2;

    /// `payload ` forty times, compressed by libbzip2 1.0.8 at level 9.
    const STREAM: [u8; 55] = [
        0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x17, 0x97, 0x7d, 0xdd, 0x00,
        0x00, 0x8b, 0x91, 0x80, 0x40, 0x00, 0x24, 0x04, 0xc0, 0x20, 0x20, 0x00, 0x31, 0x0c, 0x00,
        0x52, 0xa0, 0x69, 0xb1, 0x3a, 0x27, 0x84, 0xe8, 0x98, 0x26, 0x09, 0x82, 0x70, 0x4f, 0x8b,
        0xb9, 0x22, 0x9c, 0x28, 0x48, 0x0b, 0xcb, 0xbe, 0xee, 0x80,
    ];
    /// The stream of no bytes.
    const EMPTY: [u8; 14] =
        [0x42, 0x5a, 0x68, 0x39, 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0x00, 0x00, 0x00, 0x00];

    #[test]
    fn streams_of_libbzip2_are_read() {
        let payload = b"payload ".repeat(40);
        assert_eq!(Bzip2.decompress(&STREAM, 320).unwrap(), payload);
        assert_eq!(Bzip2.decompress(&[STREAM, STREAM].concat(), 640).unwrap(), payload.repeat(2));
        assert_eq!(Bzip2.decompress(&EMPTY, 0).unwrap(), b"");
        for expected in [0, 319, 321, 1 << 30] {
            assert!(Bzip2.decompress(&STREAM, expected).is_err(), "{expected}");
        }
        for cut in 1..STREAM.len() {
            assert!(Bzip2.decompress(&STREAM[..cut], 320).is_err(), "{cut}");
        }
    }
}
