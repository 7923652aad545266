//! PostgreSQL's protocol as its clients speak it: the first message of a connection, and a stream
//! of messages within small limits. No bytes panic, and memory follows the bytes that came and not
//! the lengths that they state.
#![no_main]

mod corpus;

use halite_pg::fuzzing::{read_messages, read_startup};
use libfuzzer_sys::fuzz_target;

/// Memory for one input, in bytes: a piece that is read at a time, and messages of an input.
const MAX_BYTES: u64 = 1 << 20;

fuzz_target!(init: corpus::write("pg", seeds()), |data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let used = allocation_counter::measure(|| match choice % 2 {
        0 => read_startup(rest),
        _ => read_messages(rest),
    });
    assert!(used.bytes_max <= MAX_BYTES, "{} bytes for {}", used.bytes_max, data.len());
});

fn seeds() -> Vec<Vec<u8>> {
    let message = |kind: u8, body: &[u8]| {
        let length = u32::try_from(body.len() + 4).expect("a short message").to_be_bytes();
        [&[kind][..], &length, body].concat()
    };
    let startup = |body: &[u8]| [&[0][..], &message(0, body)[1..]].concat();
    let series = [
        message(b'P', b"s\0SELECT $1::bigint\0\0\x01\0\0\0\x14"),
        message(b'B', b"p\0s\0\0\x01\0\x01\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x05\0\x01\0\x01"),
        message(b'D', b"Pp\0"),
        message(b'E', b"p\0\0\0\0\x0a"),
        message(b'C', b"Ss\0"),
        message(b'S', b""),
    ];
    let copied = [
        message(b'Q', b"COPY t FROM STDIN\0"),
        message(b'd', b"1\ta\n"),
        message(b'c', b""),
        message(b'f', b"no more\0"),
        message(b'X', b""),
    ];
    vec![
        startup(b"\0\x03\0\0user\0ann\0database\0halite\0\0"),
        startup(b"\0\x03\0\x02user\0ann\0_pq_.x\x001\0\0"),
        startup(b"\x04\xd2\x16\x2f"),
        startup(b"\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02"),
        [&[1][..], &series.concat()].concat(),
        [&[1][..], &copied.concat()].concat(),
        [&[1][..], &message(b'p', b"SCRAM-SHA-256\0\0\0\0\x06n,,n=,")].concat(),
    ]
}
