//! Texts of SQL up to the parser of queries: ends of statements, their words, limits and kinds,
//! the words of this dialect, and the lines of COPY. No text panics, and memory follows its length.
//! Planning is tested by `random_plans.rs` of `halite-sql`, which has DataFusion.
#![no_main]

mod corpus;

use std::path::Path;

use halite_sql::fuzzing::{read_lines, read_statements};
use libfuzzer_sys::fuzz_target;

/// Memory for one byte of an input, and for any input.
const BYTES_PER_BYTE: u64 = 4096;
const MAX_BYTES: u64 = 1 << 20;

fuzz_target!(init: corpus::write("sql", seeds()), |data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let used = allocation_counter::measure(|| match choice % 2 {
        0 => read_statements(&String::from_utf8_lossy(rest)),
        _ => read_lines(rest),
    });
    let most = MAX_BYTES + BYTES_PER_BYTE * data.len() as u64;
    assert!(used.bytes_max <= most, "{} bytes for {}", used.bytes_max, data.len());
});

/// Returns the statements of the files of `halite-sql`, and copies.
fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/sql/tests/slt");
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for text in texts {
        // A record is its kind, its statement and, behind a line, its answer.
        for record in text.split("\n\n") {
            let Some((kind, rest)) = record.split_once('\n') else { continue };
            if kind.starts_with("query") || kind.starts_with("statement") {
                let statement = rest.split("\n----").next().unwrap_or_default();
                seeds.push([&[0], statement.as_bytes()].concat());
            }
        }
    }
    let copies: [&[u8]; 4] = [
        b"COPY t FROM STDIN\n1\ta\\tb\t\\N\n\\.\n",
        b"COPY t (k, v, w) FROM STDIN WITH (FORMAT csv, HEADER match)\nk,v,w\n1,\"a\"\"b\",\n",
        b"COPY t FROM STDIN CSV QUOTE '''' ESCAPE '\\'\n'x\\'y',1\r\n2,",
        b"t TO 'file' csv header\n",
    ];
    seeds.extend(copies.iter().map(|copy| [&[1][..], copy].concat()));
    seeds
}
