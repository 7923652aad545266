//! Contributions to merged columns: an error or a value that merges with itself and others, with
//! memory in proportion to the input.
//!
//! An input is the number of an operator, the length of the first value, and both values.
#![no_main]

mod corpus;

use halite_types::{Bitmap, Hll, MergeOperator};
use libfuzzer_sys::fuzz_target;

/// Memory for two sketches of one byte per register, and for the tables of a bitmap's containers.
const MAX_BYTES: u64 = 8 << 20;
/// Bytes of a container of a bitmap as bits, and the bytes of its description, the least that state
/// one.
const BYTES_PER_INPUT: u64 = 8192 / 4;

fuzz_target!(init: corpus::write("merged_cells", seeds()), |data: &[u8]| {
    let Some(([operator, high, low], values)) = data.split_first_chunk::<3>() else { return };
    let operator = MergeOperator::ALL[usize::from(*operator) % MergeOperator::ALL.len()];
    let at = usize::from(u16::from_be_bytes([*high, *low])).min(values.len());
    let (one, other) = values.split_at(at);
    let mut results = None;
    let used = allocation_counter::measure(|| {
        results = Some((operator.merge(one, other), operator.merge(other, one)));
    });
    let max_bytes = MAX_BYTES + 8 * BYTES_PER_INPUT * data.len() as u64;
    assert!(used.bytes_max < max_bytes, "{operator}: {} bytes of {}", used.bytes_max, data.len());
    let Some((Ok(merged), reversed)) = results else { return };
    assert_eq!(reversed.as_deref(), Ok(&merged[..]), "the order does not matter");
    if operator.is_idempotent() {
        let again = operator.merge(&merged, one).expect("a merged value is a contribution");
        assert_eq!(again, merged, "a contribution counts once");
    }
});

fn seeds() -> Vec<Vec<u8>> {
    let seed = |operator: u8, one: Vec<u8>, other: Vec<u8>| {
        let length = u16::try_from(one.len()).unwrap_or(u16::MAX).to_be_bytes();
        [vec![operator], length.to_vec(), one, other].concat()
    };
    let sketch = |items: u32| {
        let mut sketch = Hll::default();
        (0..items).for_each(|item| sketch.insert(&item.to_be_bytes()));
        sketch.to_bytes()
    };
    let bitmap = |step| (0..100_000).step_by(step).collect::<Bitmap>().to_bytes();
    let number = |number: i64| number.to_be_bytes().to_vec();
    vec![
        seed(0, number(1), number(-7)),
        seed(3, sketch(1), sketch(100)),
        seed(3, sketch(20_000), sketch(3)),
        seed(4, bitmap(1), bitmap(997)),
        seed(4, Bitmap::of(9).to_bytes(), bitmap(3)),
    ]
}
