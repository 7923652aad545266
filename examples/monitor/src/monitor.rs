//! Writes and reads of the tables.

use std::ops::Range;
use std::sync::Arc;

use halite::rowkey::series::{Measurement, Series};
use halite::rowkey::typed::TsMillis;
use halite::rowkey::{KeyQuery, Value};
use halite::{BlockingCluster, Error, Result, TableName, block_on, declare_tables};

use crate::Sample;
use crate::key::{HostKey, MetricKey, TABLES};

/// Measurements of all hosts, on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Monitor {
    pub(crate) by_host: Arc<Series>,
    pub(crate) by_metric: Arc<Series>,
}

/// Samples that a query returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Samples, in the order that the query states.
    pub samples: Vec<Sample>,
    /// Rows that the table returned for them.
    pub examined: u64,
}

impl Monitor {
    /// Opens the tables of a namespace, and creates those that do not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, &TABLES.concat())?;
        let series = |table: &str| -> Result<Arc<Series>> {
            let name = TableName::new(namespace, table)?;
            Ok(Arc::new(block_on(Series::for_table(&**cluster.cluster(), &name, None))?))
        };
        Ok(Self { by_host: series(HostKey::TABLE)?, by_metric: series(MetricKey::TABLE)? })
    }

    /// Writes samples, in order, to `by_host` first: what a writer that stops leaves incomplete is
    /// only missing in `by_metric`, where [`Self::repair`] adds it. Of two samples of a host and a
    /// metric with one time the later one counts.
    pub fn write(&self, samples: &[Sample]) -> Result<()> {
        let by_host: Vec<_> = samples
            .iter()
            .map(|one| measurement([&one.host, &one.metric], one, |[a, b], time| [a, b, time]))
            .collect();
        block_on(self.by_host.write(&by_host))?;
        self.write_by_metric(samples)
    }

    pub(crate) fn write_by_metric(&self, samples: &[Sample]) -> Result<()> {
        let by_metric: Vec<_> = samples
            .iter()
            .map(|one| measurement([&one.metric, &one.host], one, |[a, b], time| [a, time, b]))
            .collect();
        block_on(self.by_metric.write(&by_metric))
    }

    /// Returns the samples of a host between two times (the second exclusive), by metric, each
    /// newest first.
    pub fn host(&self, host: &str, at_ms: Range<i64>) -> Result<Found> {
        let query = HostKey::scan().host(host).ts(times(&at_ms));
        read_hosts(&self.by_host, query.query())
    }

    /// Returns the samples of a metric of a host between two times (the second exclusive), newest
    /// first.
    pub fn host_metric(&self, host: &str, metric: &str, at_ms: Range<i64>) -> Result<Found> {
        let query = HostKey::scan().host(host).metric(metric).ts(times(&at_ms));
        read_hosts(&self.by_host, query.query())
    }

    /// Returns the samples of a metric of all hosts between two times (the second exclusive),
    /// newest first, those of one time by host. It is read from `by_metric`, where they are one
    /// range for each salt.
    pub fn metric(&self, metric: &str, at_ms: Range<i64>) -> Result<Found> {
        let query = MetricKey::scan().metric(metric).ts(times(&at_ms));
        Ok(by_time(read_metrics(&self.by_metric, query.query())?))
    }

    /// Returns what [`Self::metric`] returns, from `by_host` alone: no condition is known in front
    /// of the key, so all rows are read and checked.
    pub fn metric_by_host(&self, metric: &str, at_ms: Range<i64>) -> Result<Found> {
        let query = HostKey::scan().metric(metric).ts(times(&at_ms));
        Ok(by_time(read_hosts(&self.by_host, query.query())?))
    }
}

fn times(at_ms: &Range<i64>) -> Range<TsMillis> {
    TsMillis(at_ms.start)..TsMillis(at_ms.end)
}

/// Returns a point with its fields in the order of a key.
fn measurement(
    names: [&String; 2],
    sample: &Sample,
    order: fn([Value<'static>; 2], Value<'static>) -> [Value<'static>; 3],
) -> Measurement {
    let names = names.map(|name| Value::Text(name.clone().into()));
    Measurement { fields: order(names, Value::Signed(sample.at_ms)).into(), value: sample.value }
}

fn read_hosts(series: &Series, query: &KeyQuery) -> Result<Found> {
    read(HostKey::TABLE, series, query, |fields| match fields {
        [Value::Text(host), Value::Text(metric), Value::Signed(at_ms)] => {
            Some((host, metric, *at_ms))
        }
        _ => None,
    })
}

pub(crate) fn read_metrics(series: &Series, query: &KeyQuery) -> Result<Found> {
    read(MetricKey::TABLE, series, query, |fields| match fields {
        [Value::Text(metric), Value::Signed(at_ms), Value::Text(host)] => {
            Some((host, metric, *at_ms))
        }
        _ => None,
    })
}

fn read(
    table: &str,
    series: &Series,
    query: &KeyQuery,
    name: impl for<'a> Fn(&'a [Value<'static>]) -> Option<(&'a str, &'a str, i64)>,
) -> Result<Found> {
    let mut points = series.read(query)?;
    let mut samples = Vec::new();
    while let Some(Measurement { fields, value }) = block_on(points.next())? {
        let Some((host, metric, at_ms)) = name(&fields) else {
            return Err(Error::corrupt(format!(
                "{table}: {fields:?} are not a host, a metric and a time; create the table with \
                 its own key"
            )));
        };
        samples.push(Sample { host: host.to_owned(), metric: metric.to_owned(), at_ms, value });
    }
    Ok(Found { samples, examined: points.examined() })
}

/// Puts samples in the order of time: within a quarter they are by host.
fn by_time(mut found: Found) -> Found {
    found.samples.sort_by(|a, b| (b.at_ms, &a.host).cmp(&(a.at_ms, &b.host)));
    found
}
