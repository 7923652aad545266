//! Salted tables on the store itself: the merged scan equals the scan of the table without salts,
//! whatever the regions.

use std::ops::Bound;
use std::sync::Arc;

use halite::rowkey::{
    KeyQuery, KeySchema, PageToken, Plan, PlanOptions, Predicate, Scatter, ScatterOptions, Splits,
    Value,
};
use halite::{
    Bytes, FamilyDescriptor, Put, Row, RowOp, Scan, Store, Table, TableDescriptor, block_on,
};
use halite_engine::env::sim::SimEnv;

use super::reopen;

const ROWS: usize = 3000;

fn schema(salts: u32) -> Arc<KeySchema> {
    Arc::new(format!("ROW KEY (SALT({salts} BY at, id), at CHAR(12), id STRING)").parse().unwrap())
}

fn values(row: usize) -> [Value<'static>; 2] {
    [Value::Text(format!("2015{row:08}").into()), Value::Text(format!("u{}", row % 13).into())]
}

/// Creates a table of [`ROWS`] rows with `schema` and `regions` regions.
fn table(store: &Store, name: &str, schema: &KeySchema, regions: u32) -> Arc<dyn Table> {
    let descriptor = TableDescriptor::new(name.parse().unwrap()).family(FamilyDescriptor::new("f"));
    let splits = if regions > 1 {
        Splits::into_regions(schema, regions, None).unwrap().keys
    } else {
        Vec::new()
    };
    block_on(store.admin().create_table(descriptor, splits)).unwrap();
    let table = store.cluster().table(&name.parse().unwrap());
    let put = |row: usize| {
        RowOp::Put(Put::new(Bytes::from(schema.encode(&values(row)).unwrap())).add(
            "f",
            "n",
            row.to_string(),
        ))
    };
    for result in block_on(table.batch((0..ROWS).map(put).collect())).unwrap() {
        result.unwrap();
    }
    table
}

fn between(low: usize, high: usize) -> KeyQuery {
    let [low, high] = [low, high].map(|row| values(row)[0].clone());
    KeyQuery::all()
        .with(0, Predicate::Range { low: Bound::Included(low), high: Bound::Excluded(high) })
}

fn open(
    table: &Arc<dyn Table>,
    schema: &Arc<KeySchema>,
    query: &KeyQuery,
    after: Option<&PageToken>,
) -> Scatter {
    let plan = Arc::new(Plan::new(schema, query, &PlanOptions::default()).unwrap());
    Scatter::new(Arc::clone(table), plan, Scan::all(), &ScatterOptions::default(), after).unwrap()
}

fn rows(scatter: &mut Scatter) -> Vec<Row> {
    std::iter::from_fn(|| block_on(scatter.next()).unwrap()).collect()
}

fn numbers(rows: &[Row]) -> Vec<usize> {
    rows.iter()
        .map(|row| String::from_utf8_lossy(row.value("f", "n").unwrap()).parse().unwrap())
        .collect()
}

#[test]
fn k22_salted_tables_return_rows_in_unsalted_order() {
    let sim = SimEnv::new(22);
    let store = reopen(&sim);
    let wanted: Vec<_> = (400..2600).collect();
    for (salts, regions) in [(1, 1), (16, 16), (16, 5), (1000, 20)] {
        let (schema, name) = (schema(salts), format!("t{salts}_{regions}"));
        let table = table(&store, &name, &schema, regions);
        let query = between(400, 2600);
        assert_eq!(numbers(&rows(&mut open(&table, &schema, &query, None))), wanted, "{name}");
        let mut reversed =
            numbers(&rows(&mut open(&table, &schema, &query.clone().reverse(true), None)));
        reversed.reverse();
        assert_eq!(reversed, wanted, "{name}, reversed");
        assert_eq!(
            numbers(&rows(&mut open(&table, &schema, &query.clone().limit(10), None))),
            wanted[..10],
            "{name}, with a limit"
        );
        let mut unordered = numbers(&rows(&mut open(&table, &schema, &query.ordered(false), None)));
        unordered.sort_unstable();
        assert_eq!(unordered, wanted, "{name}, without order");
    }
}

#[test]
fn page_tokens_stay_valid_across_region_splits() {
    let sim = SimEnv::new(23);
    let store = reopen(&sim);
    let schema = schema(16);
    let table = table(&store, "t", &schema, 4);
    let query = between(0, ROWS).limit(250);
    let (mut seen, mut token): (Vec<usize>, Option<PageToken>) = (Vec::new(), None);
    loop {
        let mut page = open(&table, &schema, &query, token.as_ref());
        let found = rows(&mut page);
        let Some(last) = found.last() else { break };
        token = Some(page.token_of(last));
        seen.extend(numbers(&found));
        let regions = block_on(table.regions()).unwrap();
        let middle = Bytes::from(schema.encode(&values(seen.len() % ROWS)).unwrap());
        let region = regions.iter().rev().find(|region| region.start <= middle).unwrap();
        block_on(store.admin().split_region(&region.encoded_name, Some(middle))).unwrap();
    }
    assert_eq!(seen, (0..ROWS).collect::<Vec<_>>());
    assert!(block_on(table.regions()).unwrap().len() > 10);
}

#[test]
fn fully_specified_keys_are_read_with_gets() {
    let sim = SimEnv::new(24);
    let store = reopen(&sim);
    let schema = schema(16);
    let table = table(&store, "t", &schema, 4);
    let ids = [5_usize, 900, 2999, ROWS + 7].map(|row| values(row)[0].clone());
    let query = KeyQuery::all().is_in(0, ids).is_in(1, ["u5", "u3", "u9"].map(Value::from));
    let plan = Plan::new(&schema, &query, &PlanOptions::default()).unwrap();
    assert_eq!(plan.points().map(|points| points.len()), Some(12));
    assert_eq!(numbers(&rows(&mut open(&table, &schema, &query, None))), [5, 900, 2999]);
}

/// P14: a job over a table of a thousand salts is a thousand tasks. Sixteen workers take one region
/// after the other, and together read every row once, none of them a large part of it.
#[test]
fn p14_job_of_a_thousand_regions_reads_every_row_once() {
    const REGIONS: u32 = 1000;
    let store = reopen(&SimEnv::new(9));
    let schema = schema(REGIONS);
    let table = table(&store, "t", &schema, REGIONS);
    let regions = block_on(table.regions()).unwrap();
    assert_eq!(regions.len(), REGIONS as usize);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let read = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let Some(region) =
                    regions.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let range = Scan::range(region.start.clone(), region.end.clone());
                    let mut rows = table.scan(range);
                    let mut keys = Vec::new();
                    while let Some(row) = block_on(rows.next()).unwrap() {
                        keys.push(row.key().to_vec());
                    }
                    read.lock().unwrap().push(keys);
                }
            });
        }
    });
    let tasks = read.into_inner().unwrap();
    let largest = tasks.iter().map(Vec::len).max().unwrap();
    assert!(largest * 100 < ROWS, "{largest} of {ROWS} rows in one task");
    let mut keys: Vec<_> = tasks.into_iter().flatten().collect();
    keys.sort();
    let mut expected: Vec<_> =
        (0..ROWS).map(|row| schema.encode(&values(row)).unwrap().to_vec()).collect();
    expected.sort();
    assert_eq!(keys, expected);
}
