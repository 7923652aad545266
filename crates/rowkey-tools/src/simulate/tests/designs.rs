//! Skews of the tutorials' designs: 200,000 writes, windows of 2,000, splits as specified or at
//! perfect quantiles. The expected values were computed by independent programs for the same
//! designs.

use bytes::Bytes;

use crate::simulate::{
    Design, FieldSpec, RegionLayout, SimulateOptions, Simulation, TrafficSpec, simulate,
};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;

fn at(boundaries: impl IntoIterator<Item = String>) -> RegionLayout {
    RegionLayout::Boundaries(boundaries.into_iter().map(Bytes::from).collect())
}

fn digits() -> RegionLayout {
    at((1..10).map(|digit| digit.to_string()))
}

fn hex_digits() -> RegionLayout {
    at((1..16).map(|digit| format!("{digit:x}")))
}

/// Simulates 200,000 writes of these fields at `rate` writes per second.
fn run(key: &str, regions: RegionLayout, fields: &[(&str, &str)], rate: f64) -> Simulation {
    let fields = fields
        .iter()
        .map(|(name, spec)| ((*name).to_owned(), FieldSpec::parse(spec).unwrap()))
        .collect();
    let traffic = TrafficSpec {
        fields,
        operations: 200_000,
        rate_per_second: Some(rate),
        start_ms: T0,
        reads: 0.0,
        seed: 7,
    }
    .generate()
    .unwrap();
    let design = Design {
        name: key.to_owned(),
        key: format!("ROW KEY TEXT '{key}'").parse().unwrap(),
        regions,
        queries: Vec::new(),
    };
    simulate(&design, &traffic, &SimulateOptions::default()).unwrap()
}

/// Verifies the total skew and the mean skew of windows, with a tolerance in percent.
#[track_caller]
fn skews(simulation: &Simulation, whole: f64, window: f64, percent: f64) {
    let near = |found: f64, expected: f64| (found - expected).abs() <= expected * percent / 100.0;
    let found = (simulation.writes.max_over_mean, simulation.writes.window_mean);
    assert!(
        near(found.0, whole) && near(found.1, window),
        "{}: wanted {whole} and {window}, found {found:?}",
        simulation.name
    );
}

#[test]
fn ascending_ids_write_to_one_region_at_a_time() {
    let padded = run("user_{id:9}", RegionLayout::Even(16), &[("id", "seq(1)")], 1000.0);
    skews(&padded, 1.00, 15.36, 1.0);
    assert!(
        padded.insert_pattern.in_last_percent > 0.99
            && padded.insert_pattern.insert_points < 1.01
            && padded.insert_pattern.correlation > 0.999,
        "{:?}",
        padded.insert_pattern
    );
    assert!(padded.writes.window_effective_regions < 1.01);
    skews(
        &run("user_{id U64}", RegionLayout::Even(16), &[("id", "seq(1)")], 1000.0),
        1.00,
        14.57,
        3.0,
    );
}

#[test]
fn md5_prefix_spreads_writes_in_every_window() {
    let found = run("{md5(user):8}_{user}", hex_digits(), &[("user", "user_{seq(1)}")], 1000.0);
    skews(&found, 1.02, 1.16, 3.0);
    assert!(
        found.writes.window_effective_regions > 15.0
            && found.insert_pattern.insert_points > 5_000.0,
        "{:?}",
        found.insert_pattern
    );
    assert_eq!(
        (found.uniqueness.rows, found.cardinalities[0].distinct, found.spreads[0].places),
        (200_000, 200_000, 200_000)
    );
}

#[test]
fn leading_bucket_is_even_overall_and_hot_per_window() {
    let fields = [("ts", "now"), ("host", "host{cycle(500):03}"), ("metric", "cpu")];
    let lead = run("{bucket(ts, 15m):10}_{host}_{metric}", RegionLayout::Even(16), &fields, 1.0);
    skews(&lead, 1.00, 15.22, 2.0);
    let hashed =
        run("{md5(host):8}_{host}_{bucket(ts, 15m):10}_{metric}", hex_digits(), &fields, 100.0);
    skews(&hashed, 1.18, 1.18, 2.0);
    assert_eq!(hashed.spreads[0].places, 500, "no more places than hosts");
}

#[test]
fn leading_day_is_hot_within_each_day() {
    // 200,000 users over 60 consecutive days.
    let found = run(
        "{day:8}_{user}",
        RegionLayout::Even(16),
        &[("day", "202403{cycle(1):02}"), ("user", "user_{uniform(100000):06}")],
        1000.0,
    );
    assert!(found.writes.max_over_mean < 1.01, "one day is split by its users");
    let mut operations = TrafficSpec {
        fields: vec![("user".into(), FieldSpec::parse("user_{uniform(100000):06}").unwrap())],
        operations: 199_980,
        rate_per_second: Some(1.0),
        start_ms: T0,
        reads: 0.0,
        seed: 7,
    }
    .generate()
    .unwrap();
    operations.fields.push("day".into());
    for (at, operation) in operations.operations.iter_mut().enumerate() {
        let day = at / 3333;
        let crate::simulate::RowSpec::Values(values) = &mut operation.row else { panic!("drawn") };
        values.push(crate::simulate::GeneratedValue::Text(format!(
            "2024{:02}{:02}",
            3 + day / 30,
            1 + day % 30
        )));
    }
    let design = Design {
        name: "date+userId".into(),
        key: "ROW KEY TEXT '{day:8}_{user}'".parse().unwrap(),
        regions: RegionLayout::Even(16),
        queries: Vec::new(),
    };
    skews(&simulate(&design, &operations, &SimulateOptions::default()).unwrap(), 1.00, 14.51, 2.0);
}

#[test]
fn newest_first_devices_are_even_busy_users_are_hot() {
    let even = run(
        "{sensor}_{rev(ts):19}",
        RegionLayout::Even(16),
        &[("sensor", "sensor_{uniform(1000):05}"), ("ts", "now")],
        100.0,
    );
    skews(&even, 1.00, 1.16, 3.0);
    let fields = [("user", "{one(celeb)}{hot(0.3,100000):06}"), ("ts", "now")];
    let hot = run("{md5(user):8}_{user}_{rev(ts):19}", hex_digits(), &fields, 1000.0);
    skews(&hot, 5.52, 5.52, 5.0);
    assert!(
        (hot.hot_prefixes.top_share - 0.3).abs() < 0.01
            && hot.hot_prefixes.top[0].0.ends_with(b"celeb000000"),
        "{:?}",
        hot.hot_prefixes.top
    );
    assert!((hot.partitions.max_share - 0.3).abs() < 0.01 && hot.hot_rows.top_share < 0.001);
}

#[test]
fn hash_of_eight_values_has_eight_prefixes() {
    let traffic = TrafficSpec {
        fields: vec![
            ("n".into(), FieldSpec::parse("zipf(8,1)").unwrap()),
            ("ts".into(), FieldSpec::parse("now").unwrap()),
        ],
        operations: 200_000,
        rate_per_second: Some(1000.0),
        start_ms: T0,
        reads: 0.0,
        seed: 7,
    };
    let mut traffic = traffic.generate().unwrap();
    traffic.fields[0] = "region".into();
    for operation in &mut traffic.operations {
        let crate::simulate::RowSpec::Values(values) = &mut operation.row else { panic!("drawn") };
        let crate::simulate::GeneratedValue::Number(rank) = values[0] else { panic!("a number") };
        values[0] = crate::simulate::GeneratedValue::Text(
            ["bj", "sh", "gd", "zj", "js", "sc", "hb", "hn"][usize::try_from(rank).unwrap()].into(),
        );
    }
    let key = "ROW KEY TEXT '{md5(region):4}_{region}_{ts TIMESTAMP:13}'".parse().unwrap();
    let design =
        Design { name: "md5 of a region".into(), key, regions: hex_digits(), queries: Vec::new() };
    let found = simulate(&design, &traffic, &SimulateOptions::default()).unwrap();
    skews(&found, 7.07, 7.07, 3.0);
    assert_eq!((found.writes.empty_regions, found.spreads[0].places), (10, 8));
}

#[test]
fn modulo_salt_of_whole_seconds_is_constant() {
    let boundaries = || at((1..100).map(|bucket| format!("{bucket:02}")));
    let key = "{salt(100 by ts using modulo):2}{ts TIMESTAMP:13}";
    let aligned = run(key, boundaries(), &[("ts", "now(step=1s)")], 1.0);
    skews(&aligned, 100.0, 100.0, 0.1);
    assert_eq!((aligned.writes.empty_regions, aligned.spreads[0].of), (99, 100));
    let jittered = run(key, boundaries(), &[("ts", "now(step=1s, jitter=1s)")], 1.0);
    skews(&jittered, 1.07, 1.61, 5.0);
}

#[test]
fn modulo_salts_on_four_regions_are_uneven() {
    let four = || at(["1", "2", "3"].map(str::to_owned));
    skews(
        &run("{salt(4 using random):1}{ts TIMESTAMP:13}", four(), &[("ts", "now")], 1000.0),
        1.00,
        1.05,
        2.0,
    );
    skews(
        &run("{salt(5 by id using modulo):1}{id U64}", four(), &[("id", "seq(0)")], 1000.0),
        1.60,
        1.60,
        1.0,
    );
}

#[test]
fn reversed_phone_numbers_are_even_and_raw_are_not() {
    let phone = [("phone", "1{one(38,39,52,85,86)}{uniform(100000000):08}")];
    let raw = run("{phone CHAR(11)}", digits(), &phone, 1000.0);
    assert!((raw.writes.max_over_mean - 10.0).abs() < 0.01, "all begin with 1");
    let reversed = run("{reverse(phone) CHAR(11)}", digits(), &phone, 1000.0);
    assert!(
        (reversed.writes.max_over_mean - 1.01).abs() < 0.02,
        "{}",
        reversed.writes.max_over_mean
    );
}

#[test]
fn signed_java_remainder_sends_half_to_first_region() {
    let id = |at: u64| {
        format!("201505{:02}{:06}_{}", at % 28 + 1, at * 7919 % 240_000, at * 104_729 % 9000 + 1000)
    };
    let hash = |text: &str| {
        text.bytes().fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
    };
    let line = |at: u64| {
        let id = id(at);
        let salt = match hash(&id) % 1000 {
            salt if salt < 10 => format!("00{salt}"),
            salt if salt < 100 => format!("0{salt}"),
            salt => salt.to_string(),
        };
        format!("{at}\tW\tKEY\t{salt}{id}\n")
    };
    let trace = (0..100_000).map(line).collect::<Vec<_>>().concat();
    let traffic = crate::simulate::Traffic::from_trace(&trace, &["id"]).unwrap();
    let key: halite_rowkey::KeySchema =
        "ROW KEY TEXT '{salt(1000 using java):3}{id}'".parse().unwrap();
    let boundaries = (1..1000).map(|salt| Bytes::from(format!("{salt:03}"))).collect();
    let design = Design {
        name: "hashCode % 1000".into(),
        key,
        regions: RegionLayout::Boundaries(boundaries),
        queries: Vec::new(),
    };
    let found = simulate(&design, &traffic, &SimulateOptions::default()).unwrap();
    assert!((found.writes.max_over_mean - 500.0).abs() < 25.0, "{}", found.writes.max_over_mean);
    assert_eq!(found.writes.counts.iter().max(), found.writes.counts.first());
    let floor_mod = {
        let trace =
            (0..100_000).map(|at| format!("{at}\tW\tid={}\n", id(at))).collect::<Vec<_>>().concat();
        let traffic = crate::simulate::Traffic::from_trace(&trace, &["id"]).unwrap();
        simulate(&design, &traffic, &SimulateOptions::default()).unwrap()
    };
    assert!(floor_mod.writes.max_over_mean < 1.8, "{}", floor_mod.writes.max_over_mean);
}

#[test]
fn indivisible_salts_are_uneven_across_regions() {
    let key = |salts: u32| format!("{{salt({salts} by id):2}}{{id}}");
    let id = [("id", "user_{seq(1)}")];
    let ten = at((1..10).map(|region| format!("{:02}", (16 * region + 9) / 10)));
    let found = run(&key(16), ten, &id, 1000.0);
    assert!((1.24..1.30).contains(&found.writes.max_over_mean), "{}", found.writes.max_over_mean);
    let found = run(&key(3), at((1..16).map(|region| format!("{region:02}"))), &id, 1000.0);
    assert_eq!(found.writes.empty_regions, 13);
    assert!((found.writes.max_over_mean - 5.4).abs() < 0.15, "{}", found.writes.max_over_mean);
}

#[test]
fn unknown_salts_multiply_the_ranges_of_a_query() {
    let text = "CREATE TABLE t (FAMILY d, ROW KEY (SALT(100 BY ts USING modulo), ts TIMESTAMP, \
                host STRING)) WITH QUERIES (all: ts IN RANGE, one: host = ?)";
    let Ok(halite_rowkey::language::Statement::CreateTable(table)) = text.parse() else {
        panic!("a table")
    };
    let fields = [("ts", "now"), ("host", "host{uniform(50)}")]
        .map(|(name, spec)| (name.to_owned(), FieldSpec::parse(spec).unwrap()));
    let traffic = TrafficSpec {
        fields: fields.to_vec(),
        operations: 20_000,
        rate_per_second: Some(1000.0),
        start_ms: T0,
        reads: 0.25,
        seed: 1,
    };
    let boundaries = (1..100).map(|salt: u8| Bytes::copy_from_slice(&[salt])).collect();
    let design = Design {
        name: "t".into(),
        key: table.key,
        regions: RegionLayout::Boundaries(boundaries),
        queries: table.queries,
    };
    let found =
        simulate(&design, &traffic.generate().unwrap(), &SimulateOptions::default()).unwrap();
    let costs: Vec<_> =
        found.queries.iter().map(|cost| (cost.name.as_str(), cost.ranges, cost.regions)).collect();
    assert_eq!(costs, [("all", 100, 100), ("one", 100, 100)]);
    assert_eq!(
        found.reads.as_ref().map(|reads| reads.operations + found.writes.operations),
        Some(20_000)
    );
    // At 1000 writes per second and 50 hosts, 1000^2 / (2000 * 50) rows are lost per second.
    assert!(
        found
            .uniqueness
            .lost_per_second
            .is_some_and(|lost| (lost - 750.0_f64.powi(2) / 2000.0 / 50.0).abs() < 0.5),
        "{:?}",
        found.uniqueness
    );
}

#[test]
fn equal_seeds_give_equal_statistics_and_pictures() {
    let twice = [(); 2].map(|()| {
        run(
            "{salt(4 using random):1}{ts TIMESTAMP:13}",
            RegionLayout::Even(16),
            &[("ts", "now(jitter=3s)")],
            1000.0,
        )
    });
    assert_eq!(twice[0], twice[1]);
}

fn few(key: &str, fields: &[(&str, &str)], operations: usize, queries: &[&str]) -> Simulation {
    let schema: halite_rowkey::schema::KeySchema = key.parse().unwrap();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name.as_str()).collect();
    let queries = queries
        .iter()
        .map(|text| halite_rowkey::language::Query::parse(text, &names).unwrap())
        .collect();
    let fields = fields
        .iter()
        .map(|(name, spec)| ((*name).to_owned(), FieldSpec::parse(spec).unwrap()))
        .collect();
    let traffic = TrafficSpec {
        fields,
        operations,
        rate_per_second: None,
        start_ms: T0,
        reads: 0.0,
        seed: 1,
    }
    .generate()
    .unwrap();
    simulate(
        &Design { name: "d".into(), key: schema, regions: RegionLayout::Even(4), queries },
        &traffic,
        &SimulateOptions::default(),
    )
    .unwrap()
}

/// Regression test: the values of a field that is only in a digest or in part were counted as
/// decoded from the keys.
#[test]
fn values_are_counted_from_the_traffic() {
    let hashed = few(
        "(HASH(id STRING BYTES 1 USING md5), ts TIMESTAMP)",
        &[("id", "u{seq}"), ("ts", "now")],
        10_000,
        &[],
    );
    assert_eq!((hashed.cardinalities[0].distinct, hashed.spreads[0].places), (10_000, 256));
    let digest = hashed.uniqueness.digests[0];
    assert!(
        (digest.values, digest.is_lower_bound) == (10_000, false)
            && (digest.expected - 195_312.5).abs() < 1.0,
        "{digest:?}"
    );
    let cut = few("(TRUNC(a, 4), n U32)", &[("a", "user{cycle(5000)}"), ("n", "seq")], 10_000, &[]);
    assert_eq!(
        (cut.cardinalities[0].distinct, cut.cardinalities[0].is_lower_bound),
        (5_000, false)
    );
    let pairs = few(
        "(SALT(64 BY a, b), a STRING, b STRING)",
        &[("a", "a{cycle(4)}"), ("b", "b{cycle(4)}")],
        1_000,
        &[],
    );
    assert_eq!((pairs.spreads[0].places, pairs.spreads[0].of), (4, 64));
}

#[test]
fn trace_keys_give_lower_bounds_of_hashed_values() {
    let schema: halite_rowkey::schema::KeySchema =
        "(HASH(id STRING BYTES 1 USING md5), ts TIMESTAMP)".parse().unwrap();
    let line = |at: i64| {
        let key = schema
            .encode(&[
                halite_rowkey::Value::Text(format!("u{at}").into()),
                halite_rowkey::Value::Signed(at),
            ])
            .unwrap();
        format!("{at}\tW\tKEY\tx'{}'\n", halite_types::key::to_hex(&key))
    };
    let traffic = crate::simulate::Traffic::from_trace(
        &(0..2_000).map(line).collect::<Vec<_>>().concat(),
        &[],
    )
    .unwrap();
    let queries = ["one: id = ?", "by_time: ts IN RANGE"]
        .map(|text| halite_rowkey::language::Query::parse(text, &["id", "ts"]).unwrap());
    let design = Design {
        name: "d".into(),
        key: schema.clone(),
        regions: RegionLayout::Even(4),
        queries: queries.to_vec(),
    };
    let found = simulate(&design, &traffic, &SimulateOptions::default()).unwrap();
    assert!(
        found.cardinalities[0].is_lower_bound && !found.cardinalities[1].is_lower_bound,
        "{:?}",
        found.cardinalities
    );
    let digest = found.uniqueness.digests[0];
    assert!(digest.is_lower_bound && (240..=256).contains(&digest.values), "{digest:?}");
    assert!(
        found.queries[0].error.as_deref().is_some_and(|why| why.contains("only as a hash")),
        "{:?}",
        found.queries
    );
    assert!(found.queries[1].error.is_none() && found.queries[1].reads_all, "{:?}", found.queries);
}

/// Regression test: values were decoded from the keys, raw scans were planned by fields, and
/// queries that could not be planned were omitted without an error.
#[test]
fn queries_use_values_of_the_traffic() {
    let cost = |key: &str, fields: &[(&str, &str)], query: &str| {
        let cost = few(key, fields, 5_000, &[query]).queries.remove(0);
        (cost.ranges, cost.regions, cost.reads_all, cost.error.is_some())
    };
    let hosts = [("host", "h{uniform(50)}"), ("ts", "now")];
    let (ranges, _, reads_all, unasked) = cost(
        "(HASH(host STRING BYTES 2 USING md5), ts TIMESTAMP)",
        &hosts,
        "one: host = ? AND ts IN RANGE",
    );
    assert_eq!((ranges, reads_all, unasked), (1, false, false));
    assert_eq!(
        cost("(n U32)", &[("n", "seq")], "raw: RAW SCAN FROM x'00000001' TO x'00000002'"),
        (1, 1, false, false)
    );
    assert_eq!(cost("(n U32)", &[("n", "seq")], "raw: RAW SCAN"), (1, 4, true, false));
    let names = [("a", "\u{e4}\u{f6}\u{fc}{uniform(100)}"), ("n", "seq")];
    assert_eq!(cost("(a STRING, n U32)", &names, "some: a LIKE ?"), (1, 4, false, false));
    let letters = [("a", "{uniform(1000):04}"), ("n", "seq")];
    let (ranges, regions, reads_all, unasked) =
        cost("(a STRING, n U32)", &letters, "some: a IN RANGE");
    assert_eq!((ranges, reads_all, unasked), (1, false, false));
    assert!(regions <= 2, "{regions}");
    assert_eq!(cost("(n U32)", &[("n", "seq")], "some: n LIKE ?"), (0, 0, false, true));
}
