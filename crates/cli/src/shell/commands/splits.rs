//! Split keys of a new table: listed, from a file, or evenly spaced by one of HBase's three
//! algorithms.

use halite::rowkey::split::{MAX_REGIONS, RegionSplitter};
use halite_types::Bytes;

use super::options::Options;
use crate::key::unescape;
use crate::shell::session::{EvalResult, Interrupt};

/// Returns the names of the algorithms, for messages.
fn algorithms() -> String {
    RegionSplitter::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Takes SPLITS, `SPLITS_FILE`, or NUMREGIONS with SPLITALGO; returns `None` if none is present.
pub(super) fn take(options: &mut Options) -> EvalResult<Option<Vec<Bytes>>> {
    let from_file = options.text("SPLITS_FILE")?.map(|path| read_file(&path)).transpose()?;
    let given = options.list("SPLITS")?.map(|keys| keys.iter().map(|key| unescape(key)).collect());
    let regions = options.integer("NUMREGIONS")?;
    let algorithm = options.text("SPLITALGO")?;
    if let Some(keys) = from_file.or(given) {
        return sorted(keys).map(Some);
    }
    match (regions, algorithm) {
        (None, None) => Ok(None),
        (None, Some(_)) => {
            Err(Interrupt::problem("Number of regions must be specified: NUMREGIONS => 15"))
        }
        (Some(_), None) => Err(Interrupt::Problem(format!(
            "Split algorithm must be specified: SPLITALGO => one of {}",
            algorithms()
        ))),
        (Some(regions), Some(_)) if regions < 2 => Err(Interrupt::Problem(format!(
            "Number of regions must be greater than 1; NUMREGIONS is {regions}"
        ))),
        (Some(regions), Some(algorithm)) => match u32::try_from(regions) {
            Ok(regions @ ..=MAX_REGIONS) => spread(regions, &algorithm).map(Some),
            // A typing error should not create millions of directories.
            _ => Err(Interrupt::Problem(format!(
                "NUMREGIONS is {regions}; a table begins with at most {MAX_REGIONS} regions"
            ))),
        },
    }
}

fn read_file(path: &str) -> EvalResult<Vec<Bytes>> {
    let content = std::fs::read_to_string(path).map_err(|error| {
        Interrupt::Problem(format!("Splits file {path} cannot be read: {error}"))
    })?;
    Ok(content.lines().map(|line| unescape(line.as_bytes())).collect())
}

fn sorted(mut keys: Vec<Bytes>) -> EvalResult<Vec<Bytes>> {
    keys.sort_unstable();
    if keys.first().is_some_and(Bytes::is_empty) {
        return Err(Interrupt::problem(
            "a split key is empty; the first region begins there anyway, leave it out",
        ));
    }
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let shown = halite_types::key::to_string_binary(&pair[0]);
            Err(Interrupt::Problem(format!(
                "All split keys must be unique, found duplicate: {shown}, {shown}"
            )))
        }
        None => Ok(keys),
    }
}

/// Returns evenly spaced keys. Also accepts the class names of HBase's `RegionSplitter`.
fn spread(regions: u32, algorithm: &str) -> EvalResult<Vec<Bytes>> {
    let name = algorithm.rsplit(['.', '$']).next().unwrap_or(algorithm);
    let Some((_, splitter)) = RegionSplitter::NAMES.iter().find(|(known, _)| *known == name) else {
        return Err(Interrupt::Problem(format!(
            "there is no split algorithm {algorithm}; there are {}",
            algorithms()
        )));
    };
    splitter.split(regions).map_err(|error| Interrupt::Problem(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_algorithms_spread_keys_evenly() {
        let show = |regions, name| {
            spread(regions, name)
                .unwrap()
                .iter()
                .map(|key| halite_types::key::to_string_binary(key))
                .collect::<Vec<_>>()
        };
        assert_eq!(show(4, "HexStringSplit"), ["40000000", "80000000", "c0000000"]);
        assert_eq!(
            show(5, "org.apache.hadoop.hbase.util.RegionSplitter$DecimalStringSplit"),
            ["20000000", "40000000", "60000000", "80000000"]
        );
        assert_eq!(show(2, "UniformSplit"), ["\\x80\\x00\\x00\\x00\\x00\\x00\\x00\\x00"]);
        assert!(
            matches!(spread(3, "Nope"), Err(Interrupt::Problem(text)) if text.contains("HexStringSplit"))
        );
    }

    #[test]
    fn repeated_and_empty_split_keys_are_rejected() {
        let keys = |list: &[&'static str]| {
            list.iter().map(|key| Bytes::from_static(key.as_bytes())).collect()
        };
        assert_eq!(sorted(keys(&["b", "a"])).unwrap(), ["a", "b"]);
        assert!(
            matches!(sorted(keys(&["a", "a"])), Err(Interrupt::Problem(text)) if text.contains("unique"))
        );
        assert!(
            matches!(sorted(keys(&["", "a"])), Err(Interrupt::Problem(text)) if text.contains("empty"))
        );
    }
}
