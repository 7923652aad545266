//! Regions of a table as a sorted list of indexes: only the requested rows become objects.

use std::sync::Arc;

use halite_types::key::to_string_binary;
use halite_types::{Bytes, CompactionState, RegionLoad, TableName, block_on};
use serde::Serialize;
use utoipa::ToSchema;

use super::tables::status_of;
use crate::call::Call;
use crate::key_view::{DeclaredKey, Key, KeyStyle};
use crate::params::{Params, short};
use crate::problem::{Answered, Problem};
use crate::samples::Rates;
use crate::site::{KnownTable, Site};
use crate::statistics::{all_latencies, float, float_len, p99_ms, round, share};
use crate::status::Status;

/// Region, with the names of HBase's metrics.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Region {
    /// Full name.
    pub(crate) name: String,
    pub(crate) encoded_name: String,
    /// `host,port,startcode`.
    pub(crate) server: Option<String>,
    pub(crate) start_key: Key,
    pub(crate) end_key: Key,
    pub(crate) locality: Option<f64>,
    pub(crate) requests_total: u64,
    pub(crate) read_requests_total: u64,
    pub(crate) write_requests_total: u64,
    pub(crate) reads_per_s: Option<f64>,
    pub(crate) writes_per_s: Option<f64>,
    /// Duration below which 99 in a hundred reads and writes of the last minute are.
    pub(crate) p99_ms: Option<f64>,
    /// Estimate.
    pub(crate) rows: Option<u64>,
    /// Bytes of store files and memstore.
    pub(crate) size_bytes: u64,
    pub(crate) store_files: u64,
    pub(crate) memstore_bytes: u64,
    /// Running compaction; `null` if there is none.
    pub(crate) compaction: Option<Compaction>,
    /// Part of the table's requests.
    pub(crate) share: Option<f64>,
    /// Requests divided by the mean of the table's regions.
    pub(crate) share_of_mean: Option<f64>,
    /// `OPEN`, or `CLOSED` for a disabled table.
    pub(crate) state: &'static str,
    /// Facts that need attention: `references`, `refused_rows`.
    pub(crate) badges: Vec<&'static str>,
    /// Requested group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// Reads per second of the last ten minutes, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reads_series: Option<Vec<Option<f64>>>,
    /// Writes per second of the last ten minutes, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) writes_series: Option<Vec<Option<f64>>>,
}

/// Running compaction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Compaction {
    /// `MINOR`, `MAJOR` or `MAJOR_AND_MINOR`.
    pub(crate) kind: &'static str,
    /// Part that is done; `null` before it runs.
    pub(crate) progress: Option<f64>,
}

impl Compaction {
    pub(crate) fn of(load: &RegionLoad) -> Option<Self> {
        let kind = match load.compaction_state {
            CompactionState::None => return None,
            CompactionState::Minor => "MINOR",
            CompactionState::Major => "MAJOR",
            CompactionState::MajorAndMinor => "MAJOR_AND_MINOR",
        };
        Some(Self {
            kind,
            progress: share(float(load.compacted_cells), float(load.compacting_cells)),
        })
    }
}

/// Group of regions that follow each other in a list.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct RegionGroup {
    pub(crate) name: String,
    pub(crate) regions: usize,
    /// Index of its first region in the list.
    pub(crate) offset: usize,
    pub(crate) reads_per_s: Option<f64>,
    pub(crate) writes_per_s: Option<f64>,
    pub(crate) size_bytes: u64,
    /// Part of the table's requests.
    pub(crate) share: Option<f64>,
}

/// What regions are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grouping {
    None,
    Server,
    /// Bytes of the salt at the start of keys.
    Salt(usize),
    State,
}

/// Regions of a table at one time.
pub(crate) struct RegionList {
    site: Arc<Site>,
    pub(crate) status: Arc<Status>,
    table: TableName,
    style: KeyStyle,
    is_enabled: bool,
    has_series: bool,
    grouping: Grouping,
    requests: u64,
}

impl RegionList {
    /// Returns the list of the table in the requested form. Blocks.
    pub(crate) fn of(call: &Call) -> Answered<(Self, KnownTable)> {
        let (params, site) = (&call.params, &call.site);
        let has_series = params.flag("series")?;
        KeyStyle::of(params, None)?;
        let found = call.table()?;
        let status = status_of(site, params)?;
        let declared = DeclaredKey::of(&*site.sources.cluster, &found.descriptor);
        let grouping = match params.word("group", &["", "server", "salt", "state"])? {
            "server" => Grouping::Server,
            "state" => Grouping::State,
            "salt" => {
                let bytes = declared.as_ref().and_then(|declared| declared.salt_bytes());
                Grouping::Salt(bytes.ok_or_else(|| {
                    let text = format!("the keys of table {} begin with no salt", found.name());
                    Problem::field("group", text)
                })?)
            }
            _ => Grouping::None,
        };
        let is_enabled = block_on(site.admin().is_enabled(found.name())).unwrap_or(true);
        let (loads, _) = status.of_table(found.name());
        let requests = loads.iter().map(requests_of).sum();
        let list = Self {
            site: Arc::clone(site),
            table: found.name().clone(),
            style: KeyStyle::of(params, declared)?,
            is_enabled,
            has_series,
            grouping,
            requests,
            status,
        };
        Ok((list, found))
    }

    fn loads(&self) -> &[RegionLoad] {
        self.status.of_table(&self.table).0
    }

    pub(crate) fn len(&self) -> usize {
        self.loads().len()
    }

    /// Returns the indexes of the matching regions in the requested order.
    pub(crate) fn order(&self, params: &Params) -> Answered<Arc<[u32]>> {
        let search = params.get("q").unwrap_or_default();
        if search.len() > 1024 {
            return Err(Problem::field("q", "the text that is searched is longer than 1024 bytes"));
        }
        let sort = params.get("sort").filter(|sort| !sort.is_empty()).unwrap_or("start_key");
        let figure = Figure::of(sort)?;
        let name = format!("{sort} {:?}", self.grouping);
        let key = (self.table.clone(), search.to_owned(), name);
        Ok(self.status.order(key, || self.sorted(search, figure)))
    }

    fn sorted(&self, search: &str, figure: Figure) -> Vec<u32> {
        let (loads, rates) = self.status.of_table(&self.table);
        let search = search.to_ascii_lowercase();
        let indexes = (0_u32..).zip(loads).filter(|(_, load)| self.matches(load, &search));
        let mut order: Vec<u32> = indexes.map(|(index, _)| index).collect();
        match figure.value {
            Value::StartKey => {}
            Value::EndKey => order.sort_by(|a, b| {
                let end = |index: &u32| loads.get(*index as usize).map(|load| &load.region.end);
                // The last region ends after all others.
                let is_last = |index: &u32| end(index).is_none_or(Bytes::is_empty);
                is_last(a).cmp(&is_last(b)).then_with(|| end(a).cmp(&end(b)))
            }),
            Value::Text(text) => {
                order.sort_by_cached_key(|&index| {
                    loads.get(index as usize).map(|load| text(self, load))
                });
            }
            Value::Number(number) => {
                let mut keyed: Vec<(f64, u32)> = order
                    .iter()
                    .map(|&index| {
                        let at = index as usize;
                        let rates = rates.get(at).copied().unwrap_or(Rates::UNKNOWN);
                        (loads.get(at).map_or(0.0, |load| number(self, load, rates)), index)
                    })
                    .collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                order = keyed.into_iter().map(|(_, index)| index).collect();
            }
        }
        if figure.falls {
            order.reverse();
        }
        if self.grouping != Grouping::None {
            // The sort is stable, so each group keeps the order above.
            order.sort_by_cached_key(|&index| {
                loads.get(index as usize).and_then(|load| self.group(load))
            });
        }
        order
    }

    fn matches(&self, load: &RegionLoad, search: &str) -> bool {
        if search.is_empty() {
            return true;
        }
        let region = &load.region;
        region.encoded_name.contains(search)
            || to_string_binary(&region.start).to_ascii_lowercase().contains(search)
            || to_string_binary(&region.end).to_ascii_lowercase().contains(search)
            || self
                .site
                .extension()
                .server_of(region)
                .is_some_and(|server| server.to_ascii_lowercase().contains(search))
    }

    fn group(&self, load: &RegionLoad) -> Option<String> {
        match self.grouping {
            Grouping::None => None,
            Grouping::Server => self.site.extension().server_of(&load.region),
            Grouping::State => Some(self.state().to_owned()),
            Grouping::Salt(bytes) => {
                // The first region begins with no key, which is the salt 0. As many digits for
                // each, so that the order of the texts is that of the salts.
                let start = load.region.start.iter().chain(&[0, 0]).take(bytes);
                let salt = start.fold(0_u32, |salt, byte| (salt << 8) | u32::from(*byte));
                Some(format!("{salt:05}"))
            }
        }
    }

    fn state(&self) -> &'static str {
        if self.is_enabled { "OPEN" } else { "CLOSED" }
    }

    /// Returns the groups of a list, if some were requested.
    pub(crate) fn groups(&self, order: &[u32]) -> Option<Vec<RegionGroup>> {
        if self.grouping == Grouping::None {
            return None;
        }
        let (loads, rates) = self.status.of_table(&self.table);
        let mut groups: Vec<RegionGroup> = Vec::new();
        let mut requests = 0;
        for (offset, &index) in order.iter().enumerate() {
            let (Some(load), Some(rates)) = (loads.get(index as usize), rates.get(index as usize))
            else {
                continue;
            };
            let name = self.group(load).unwrap_or_default();
            if groups.last().is_none_or(|last| last.name != name) {
                requests = 0;
                groups.push(RegionGroup {
                    name,
                    regions: 0,
                    offset,
                    reads_per_s: None,
                    writes_per_s: None,
                    size_bytes: 0,
                    share: None,
                });
            }
            let Some(group) = groups.last_mut() else { continue };
            let add = |sum: &mut Option<f64>, rate: Option<f64>| {
                *sum = rate.map(|rate| round(rate + sum.unwrap_or(0.0))).or(*sum);
            };
            add(&mut group.reads_per_s, rates.reads_per_s());
            add(&mut group.writes_per_s, rates.writes_per_s());
            requests += requests_of(load);
            group.regions += 1;
            group.size_bytes += size_of(load);
            group.share = share(float(requests), float(self.requests));
        }
        Some(groups)
    }

    /// Returns the maximum requests of a region, divided by the mean of the table, in each of
    /// `parts` equal parts of a list; fewer if the list is shorter.
    pub(crate) fn ruler(&self, order: &[u32], parts: usize) -> Vec<f64> {
        let loads = self.loads();
        let parts = parts.min(order.len());
        let max_of = |part: usize| {
            let (from, to) = (part * order.len() / parts, (part + 1) * order.len() / parts);
            let indexes = order.get(from..to).unwrap_or_default().iter();
            indexes.filter_map(|&index| loads.get(index as usize)).map(requests_of).max()
        };
        let of_mean = |requests: u64| {
            share(float(requests) * float_len(loads.len()), float(self.requests)).unwrap_or(0.0)
        };
        (0..parts).map(|part| of_mean(max_of(part).unwrap_or(0))).collect()
    }

    /// Returns one region by its index in the table.
    pub(crate) fn region(&self, index: usize) -> Option<Region> {
        let (loads, rates) = self.status.of_table(&self.table);
        let (load, rates) = (loads.get(index)?, *rates.get(index)?);
        let region = &load.region;
        let requests = float(requests_of(load));
        let all = float(self.requests);
        let badges =
            [("references", load.reference_files > 0), ("refused_rows", load.refused_rows > 0)];
        let (reads_series, writes_series) = if self.has_series {
            let (reads, writes) = self.site.statuses.series(&region.encoded_name);
            (Some(reads), Some(writes))
        } else {
            (None, None)
        };
        Some(Region {
            name: region.display_name(),
            encoded_name: region.encoded_name.clone(),
            server: self.site.extension().server_of(region),
            start_key: self.style.boundary(&region.start),
            end_key: self.style.boundary(&region.end),
            locality: self.site.extension().locality_of(region),
            requests_total: requests_of(load),
            read_requests_total: load.read_requests,
            write_requests_total: load.write_requests,
            reads_per_s: rates.reads_per_s(),
            writes_per_s: rates.writes_per_s(),
            p99_ms: p99_of(load),
            rows: load.rows,
            size_bytes: size_of(load),
            store_files: load.store_files,
            memstore_bytes: load.memstore_data_bytes,
            compaction: Compaction::of(load),
            share: share(requests, all),
            share_of_mean: share(requests * float_len(loads.len()), all),
            state: self.state(),
            badges: badges.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect(),
            group: self.group(load),
            reads_series,
            writes_series,
        })
    }

    /// Returns the index of a region by its encoded name.
    pub(crate) fn index_of(&self, encoded_name: &str) -> Answered<usize> {
        let position =
            self.loads().iter().position(|load| load.region.encoded_name == encoded_name);
        position.ok_or_else(|| no_such_region(encoded_name, &self.table, self.loads()))
    }

    /// Returns the load of a region by its index.
    pub(crate) fn load(&self, index: usize) -> Option<&RegionLoad> {
        self.loads().get(index)
    }

    /// Returns the names of metrics that are not known for these regions.
    pub(crate) fn missing(regions: &[Region]) -> Vec<&'static str> {
        let some = |is: fn(&Region) -> bool| regions.iter().any(is);
        let unknown = [
            ("server", some(|region| region.server.is_none())),
            ("locality", some(|region| region.locality.is_none())),
            ("reads_per_s", some(|region| region.reads_per_s.is_none())),
            ("writes_per_s", some(|region| region.writes_per_s.is_none())),
            ("p99_ms", some(|region| region.p99_ms.is_none())),
            ("rows", some(|region| region.rows.is_none())),
        ];
        unknown.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect()
    }
}

/// Returns the problem of a region that does not exist, with its nearest neighbour in name.
fn no_such_region(encoded_name: &str, table: &TableName, loads: &[RegionLoad]) -> Problem {
    let asked = short(encoded_name);
    let text = format!("table {table} has no region {asked}; it may have been split or merged");
    let begin: String = asked.chars().take(4).collect();
    let near = loads
        .iter()
        .map(|load| &load.region.encoded_name)
        .find(|name| begin.len() == 4 && name.starts_with(&begin));
    let near = near.map(|near| format!("; nearest: {near}")).unwrap_or_default();
    Problem::not_found("encoded", text)
        .detail(format!("{} regions are listed at /api/tables/{table}/regions{near}", loads.len()))
}

fn p99_of(load: &RegionLoad) -> Option<f64> {
    p99_ms(&all_latencies([load]))
}

pub(crate) fn requests_of(load: &RegionLoad) -> u64 {
    load.read_requests + load.write_requests
}

fn size_of(load: &RegionLoad) -> u64 {
    load.store_file_bytes + load.memstore_data_bytes
}

/// What a list is sorted by.
#[derive(Clone, Copy)]
struct Figure {
    value: Value,
    falls: bool,
}

#[derive(Clone, Copy)]
enum Value {
    StartKey,
    EndKey,
    Text(fn(&RegionList, &RegionLoad) -> String),
    Number(fn(&RegionList, &RegionLoad, Rates) -> f64),
}

impl Figure {
    /// Returns the figure of a name, with `-` before it for a falling order.
    fn of(text: &str) -> Answered<Self> {
        let (name, falls) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
        // A rate that is not known yet is below zero.
        let value = match name {
            "end_key" => Value::EndKey,
            "name" | "encoded_name" => Value::Text(|_, load| load.region.encoded_name.clone()),
            "server" => Value::Text(|list, load| {
                list.site.extension().server_of(&load.region).unwrap_or_default()
            }),
            "state" => Value::Text(|list, _| list.state().to_owned()),
            "locality" => Value::Number(|list, load, _| {
                list.site.extension().locality_of(&load.region).unwrap_or(-1.0)
            }),
            "requests_total" | "share" | "share_of_mean" => {
                Value::Number(|_, load, _| float(requests_of(load)))
            }
            "read_requests_total" => Value::Number(|_, load, _| float(load.read_requests)),
            "write_requests_total" => Value::Number(|_, load, _| float(load.write_requests)),
            "reads_per_s" => Value::Number(|_, _, rates| rates.reads_per_s().unwrap_or(-1.0)),
            "writes_per_s" => Value::Number(|_, _, rates| rates.writes_per_s().unwrap_or(-1.0)),
            "size_bytes" => Value::Number(|_, load, _| float(size_of(load))),
            "store_files" => Value::Number(|_, load, _| float(load.store_files)),
            "memstore_bytes" => Value::Number(|_, load, _| float(load.memstore_data_bytes)),
            "compaction" => Value::Number(|_, load, _| {
                f64::from(u8::from(load.compaction_state != CompactionState::None))
            }),
            // A figure that is not known is below zero.
            "p99_ms" => Value::Number(|_, load, _| p99_of(load).unwrap_or(-1.0)),
            "rows" => Value::Number(|_, load, _| load.rows.map_or(-1.0, float)),
            "start_key" => Value::StartKey,
            other => {
                let text = format!("regions are not sorted by {:?}", short(other));
                return Err(Problem::field("sort", text).detail("sort by a figure of the answer"));
            }
        };
        Ok(Self { value, falls })
    }
}
