//! Measurement of a sample under every encoding and codec: bytes, and processor time to write, scan
//! and seek.

use halite::Result;
use halite_engine::hfile::cost::{CODECS, FileSizes, SampleFile};
use halite_engine::hfile::{Compression, DataBlockEncoding, WriterOptions};
use halite_types::cell::Cells;
use indicatif::ProgressBar;
use rustix::time::{ClockId, clock_gettime};

/// Seeks per round.
const SEEKS: usize = 100;

/// Results of one combination.
pub(super) struct Measurement {
    pub(super) encoding: DataBlockEncoding,
    pub(super) codec: Compression,
    pub(super) sizes: FileSizes,
    /// Time to write the sample.
    pub(super) encode: Timing,
    /// Time to read all of it.
    pub(super) scan: Timing,
    /// Time of one seek to a random cell whose block is in no cache.
    pub(super) seek: Timing,
}

/// Processor time of a task that was measured several times, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timing {
    pub(super) median_ns: f64,
    /// Half of the distance between the quartiles, as a part of the median.
    pub(super) noise: f64,
}

impl Timing {
    #[expect(clippy::cast_precision_loss, reason = "seconds have less than 2^53 nanoseconds")]
    fn new(mut times: Vec<u64>, tasks: usize) -> Self {
        times.sort_unstable();
        let at = |quarter: usize| {
            let index = (times.len().saturating_sub(1) * quarter).div_ceil(4);
            times.get(index).map_or(0.0, |time| *time as f64)
        };
        let median = at(2).max(1.0);
        Self { median_ns: median / tasks.max(1) as f64, noise: (at(3) - at(1)) / 2.0 / median }
    }

    /// Returns megabytes per second for this many bytes per task.
    #[expect(clippy::cast_precision_loss, reason = "a sample is far below 2^53 bytes")]
    pub(super) fn megabytes_per_second(&self, bytes: u64) -> f64 {
        bytes as f64 * 1e3 / self.median_ns
    }
}

/// Times of one combination, one entry per round.
#[derive(Default)]
struct Rounds {
    sizes: FileSizes,
    encode: Vec<u64>,
    scan: Vec<u64>,
    seek: Vec<u64>,
}

/// Measures all combinations. Each round measures each of them once, so that a slow moment of the
/// machine is not at the expense of one combination.
///
/// # Errors
/// Returns an error of the writer or the reader.
pub(super) fn all(
    cells: &Cells,
    options: &WriterOptions,
    rounds: usize,
    bar: &ProgressBar,
) -> Result<Vec<Measurement>> {
    let combinations: Vec<_> = DataBlockEncoding::ALL
        .into_iter()
        .flat_map(|encoding| CODECS.map(|codec| (encoding, codec)))
        .collect();
    bar.set_length((rounds * combinations.len()) as u64);
    let keys = seek_keys(cells);
    let mut found: Vec<Rounds> = combinations.iter().map(|_| Rounds::default()).collect();
    for _ in 0..rounds {
        for (&(encoding, compression), times) in combinations.iter().zip(&mut found) {
            let options = WriterOptions { encoding, compression, ..options.clone() };
            measure_once(cells, options, &keys, times)?;
            bar.inc(1);
        }
    }
    let measurement = |((encoding, codec), times): (_, Rounds)| Measurement {
        encoding,
        codec,
        sizes: times.sizes,
        encode: Timing::new(times.encode, 1),
        scan: Timing::new(times.scan, 1),
        seek: Timing::new(times.seek, keys.len()),
    };
    Ok(combinations.into_iter().zip(found).map(measurement).collect())
}

fn measure_once(
    cells: &Cells,
    options: WriterOptions,
    keys: &[&[u8]],
    times: &mut Rounds,
) -> Result<()> {
    let start = cpu_ns();
    let file = SampleFile::write(cells, options)?;
    let written = cpu_ns();
    file.scan()?;
    let scanned = cpu_ns();
    keys.iter().try_for_each(|key| file.seek(key).map(drop))?;
    times.seek.push(cpu_ns().saturating_sub(scanned));
    times.encode.push(written.saturating_sub(start));
    times.scan.push(scanned.saturating_sub(written));
    times.sizes = file.sizes()?;
    Ok(())
}

/// Returns keys of cells in an order that does not follow the file.
fn seek_keys(cells: &Cells) -> Vec<&[u8]> {
    let all: Vec<&[u8]> = cells.iter().map(|cell| cell.key()).collect();
    // A step of about 0.618 of the length visits all parts of it evenly.
    let step = (all.len() * 618 / 1000).max(1);
    (0..SEEKS).filter_map(|at| all.get(at * step % all.len().max(1)).copied()).collect()
}

/// Returns the processor time of this thread, which other processes do not prolong.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timing_is_median_with_quartile_distance() {
        let timing = Timing::new(vec![900, 100, 110, 90, 80], 10);
        assert!((timing.median_ns - 10.0).abs() < 1e-9, "{timing:?}");
        assert!((timing.noise - 0.1).abs() < 1e-9, "{timing:?}");
        assert!((timing.megabytes_per_second(1000) - 1e5).abs() < 1e-3, "{timing:?}");
    }
}
