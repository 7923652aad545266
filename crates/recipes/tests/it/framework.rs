//! Steps of every recipe: tables, resumed generation, refusals, answers, plans and a load.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use halite::{BlockingCluster, FamilyDescriptor, TableDescriptor, TableName};
use halite_recipes::{
    Application, BenchConfig, BenchReport, DyingCluster, HookedCluster, InProcessTarget, Load,
    OperationReport, Recipe, Site, begin_load, end_load, explain, find_recipe, generate, init,
    load_of, prepare, recipes, reset, run_bench, stored_bytes, written_items,
};

use crate::backends;
use crate::gate::Gate;

const LOAD: Load = Load { seed: 3, items: 2_500 };

/// Time without a success after which a measurement is stopped: more than any operation takes.
const PATIENCE: Duration = Duration::from_mins(5);

/// Runs a load that is not stopped.
fn bench(
    recipe: &dyn Recipe,
    application: &Arc<dyn Application>,
    config: BenchConfig,
) -> BenchReport {
    run_bench(recipe, application, config, &mut |silence| panic!("{silence:?}")).unwrap()
}

fn site(cluster: &BlockingCluster, recipe: &dyn Recipe) -> Site {
    Site { cluster: cluster.clone(), namespace: recipe.about().namespace.to_owned() }
}

fn drop_table(site: &Site, name: &str) {
    let table = format!("{}:{name}", site.namespace);
    site.cluster.disable_table(&table).unwrap();
    site.cluster.drop_table(&table).unwrap();
}

/// Returns a site whose client stops after a number of batches of writes.
fn dying(whole: &Site, batches: u64) -> Site {
    let cluster = DyingCluster::new(Arc::clone(whole.cluster.cluster()), batches);
    Site { cluster: BlockingCluster::new(Arc::new(cluster)), ..whole.clone() }
}

/// Runs a step that prints, and returns its output.
fn printed(step: impl FnOnce(&mut Vec<u8>) -> anyhow::Result<()>) -> String {
    let mut out = Vec::new();
    step(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_recipe_runs_all_steps() {
    for recipe in recipes().iter().copied() {
        let directory = tempfile::tempdir().unwrap();
        let cluster = backends::open(&directory);
        let site = site(&cluster, recipe);
        let created = printed(|out| init(recipe, &site, out));
        assert!(created.contains("CREATE TABLE") && created.contains(": created"), "{created}");
        let again = printed(|out| init(recipe, &site, out));
        assert!(again.contains(": exists with this schema"), "{again}");

        let mut calls = Vec::new();
        let generated = generate(recipe, &site, LOAD, &mut |written| calls.push(written)).unwrap();
        assert_eq!((generated.existing, generated.written), (0, LOAD.items));
        let batch = usize::try_from(recipe.about().batch_items).unwrap();
        let expected = (0..LOAD.items).step_by(batch).chain([LOAD.items]);
        assert_eq!(calls, expected.collect::<Vec<_>>());

        let application: Arc<dyn Application> = recipe.open(&site.metered(), LOAD).unwrap().into();
        application.verify(LOAD.items).unwrap();
        let answers = printed(|out| application.answer(out));
        assert!(answers.lines().count() > 10, "{answers}");
        let plans = printed(|out| explain(&*application, &site, out));
        for query in application.queries() {
            assert!(plans.contains(&format!("{}: {}", query.name, query.question)), "{plans}");
        }

        let config = BenchConfig {
            rate: 2_000,
            duration: Duration::from_millis(300),
            threads: 4,
            writes: None,
            max_silence: PATIENCE,
        };
        let report = bench(recipe, &application, config);
        assert_eq!((report.succeeded(), report.errors()), (600, 0));
        let text = printed(|out| report.write(out));
        let is_named = |name: &&str| text.contains(*name);
        assert!(recipe.about().operations.iter().all(is_named), "{text}");
        assert!(stored_bytes(&site).unwrap() > LOAD.items);

        let reads = BenchConfig { writes: Some(0), ..config };
        let reads = bench(recipe, &application, reads).operations();
        let writes = BenchConfig { writes: Some(100), ..config };
        let writes = bench(recipe, &application, writes).operations();
        assert!(!reads.is_empty() && !writes.is_empty(), "{reads:?} {writes:?}");
        let is_both = |one: &&OperationReport| writes.iter().any(|other| other.name == one.name);
        assert_eq!(reads.iter().find(is_both), None);
    }
}

#[test]
fn interrupted_generation_resumes_and_has_the_same_rows() {
    let recipe = find_recipe("messages").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let cluster = backends::open(&directory);
    let whole = site(&cluster, recipe);
    init(recipe, &whole, &mut Vec::new()).unwrap();
    // The progress, the six writes of the first thousand, the progress, and a part of the next.
    let dying = dying(&whole, 12);
    let error = generate(recipe, &dying, LOAD, &mut |_| ()).unwrap_err();
    assert!(format!("{error:#}").contains("run gen again"), "{error:#}");
    let (load, written) = load_of(recipe, &whole).unwrap().unwrap();
    assert_eq!((load, written), (LOAD, 1000));

    // Another process opens the store again, without what was in memory.
    drop((whole, dying, cluster));
    let cluster = backends::open(&directory);
    let whole = site(&cluster, recipe);
    let generated = generate(recipe, &whole, LOAD, &mut |_| ()).unwrap();
    assert_eq!((generated.existing, generated.written), (written, LOAD.items - written));
    recipe.open(&whole, LOAD).unwrap().verify(LOAD.items).unwrap();
    assert_eq!(generate(recipe, &whole, LOAD, &mut |_| ()).unwrap().written, 0);
}

/// What was interrupted between the first write of an item and its others must be completed, though
/// the item is there when it is written again.
#[test]
fn generation_of_every_recipe_resumes_after_each_of_its_first_writes() {
    let load = Load { seed: 3, items: 150 };
    for recipe in recipes().iter().copied() {
        for batches in [1, 2, 3, 5, 8, 13, 34] {
            let directory = tempfile::tempdir().unwrap();
            let whole = site(&backends::open(&directory), recipe);
            init(recipe, &whole, &mut Vec::new()).unwrap();
            let is_whole = generate(recipe, &dying(&whole, batches), load, &mut |_| ()).is_ok();
            generate(recipe, &whole, load, &mut |_| ()).unwrap();
            let verified = recipe.open(&whole, load).unwrap().verify(load.items);
            verified.unwrap_or_else(|error| {
                panic!("{}, {batches} batches of writes: {error:#}", recipe.about().name)
            });
            if is_whole {
                break;
            }
        }
    }
}

#[test]
fn load_with_a_dropped_table_is_refused_until_reset() {
    let recipe = find_recipe("analytics").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    let load = Load { seed: 1, items: 100 };
    generate(recipe, &site, load, &mut |_| ()).unwrap();
    drop_table(&site, "minutes");
    for _ in 0..2 {
        let error = generate(recipe, &site, load, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("the tables minutes") && error.contains("init --drop"), "{error}");
        assert!(init(recipe, &site, &mut Vec::new()).is_err());
    }
    reset(recipe, &site).unwrap();
    assert_eq!(generate(recipe, &site, load, &mut |_| ()).unwrap().written, 100);
}

#[test]
fn load_with_emptied_tables_does_not_count_as_complete() {
    let recipe = find_recipe("analytics").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    let load = Load { seed: 1, items: 100 };
    let empty = |name: &str| {
        let table: TableName = format!("{}:{name}", site.namespace).parse().unwrap();
        site.cluster.disable_table(&table).unwrap();
        site.cluster.truncate_table(&table, true).unwrap();
    };
    generate(recipe, &site, load, &mut |_| ()).unwrap();
    empty("minutes");
    assert_eq!(load_of(recipe, &site).unwrap(), None);
    let error = generate(recipe, &site, load, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("the tables minutes") && error.contains("init --drop"), "{error}");

    for name in ["user_days", "hours", "days"] {
        empty(name);
    }
    assert_eq!(load_of(recipe, &site).unwrap(), None);
    assert_eq!(generate(recipe, &site, load, &mut |_| ()).unwrap().written, 100);
    recipe.open(&site, load).unwrap().verify(100).unwrap();
}

#[test]
fn rows_of_no_recorded_load_are_not_mixed_with_items() {
    let recipe = find_recipe("messages").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    let load = Load { seed: 1, items: 100 };
    generate(recipe, &site, load, &mut |_| ()).unwrap();
    drop_table(&Site { namespace: "recipes".to_owned(), ..site.clone() }, "loads");
    let error = generate(recipe, &site, load, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("no load of them is recorded"), "{error}");
    assert!(error.contains("inbox, outbox, convo") && error.contains("init --drop"), "{error}");
}

/// A second program that is stopped inside an item has taken over: the first one would find that
/// the item is there, and record that all are complete.
#[test]
fn items_of_a_second_program_that_was_stopped_are_completed() {
    let recipe = find_recipe("analytics").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    let load = Load { seed: 1, items: recipe.about().batch_items * 2 };
    let first = generate(recipe, &site, load, &mut |written| {
        if written > 0 && written < load.items {
            // The progress, and the events without their aggregates.
            generate(recipe, &dying(&site, 2), load, &mut |_| ()).unwrap_err();
        }
    });
    let error = first.unwrap_err().to_string();
    assert!(error.contains("another program") && error.contains("run gen again"), "{error}");
    generate(recipe, &site, load, &mut |_| ()).unwrap();
    recipe.open(&site, load).unwrap().verify(load.items).unwrap();
}

#[test]
fn items_of_measurements_count_in_those_that_are_stored() {
    let recipe = find_recipe("user-ops").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    let load = Load { seed: 1, items: 100 };
    generate(recipe, &site, load, &mut |_| ()).unwrap();
    assert_eq!(written_items(&site, load).unwrap(), 100);
    let application = recipe.open(&site, load).unwrap();
    application.next_item().store(140, Ordering::Relaxed);
    end_load(&*application, &site).unwrap();
    assert_eq!(written_items(&site, load).unwrap(), 140);
}

#[test]
fn tables_that_a_question_created_are_filled() {
    let recipe = find_recipe("user-ops").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    let load = Load { seed: 1, items: 100 };
    generate(recipe, &site, load, &mut |_| ()).unwrap();
    drop_table(&site, "operations");
    prepare(recipe, &site).unwrap();
    assert_eq!(generate(recipe, &site, load, &mut |_| ()).unwrap().written, 100);
}

#[test]
fn measurements_write_other_items_each_time() {
    let recipe = find_recipe("analytics").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    let load = Load { seed: 1, items: 100 };
    generate(recipe, &site, load, &mut |_| ()).unwrap();
    let mut first = load.items;
    for _ in 0..2 {
        let application: Arc<dyn Application> = recipe.open(&site, load).unwrap().into();
        begin_load(&*application, &site).unwrap();
        assert_eq!(application.next_item().load(Ordering::Relaxed), first);
        let duration = Duration::from_millis(50);
        let (writes, max_silence) = (Some(100), PATIENCE);
        let config = BenchConfig { rate: 100, duration, threads: 1, writes, max_silence };
        bench(recipe, &application, config);
        end_load(&*application, &site).unwrap();
        let next = application.next_item().load(Ordering::Relaxed);
        assert!(next > first, "{next}");
        first = next;
    }
}

#[test]
fn damaged_progress_is_refused_with_what_to_do() {
    let recipe = find_recipe("user-ops").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    let load = Load { seed: 1, items: 100 };
    generate(recipe, &site, load, &mut |_| ()).unwrap();
    let loads = site.cluster.table("recipes:loads").unwrap();
    loads.put(halite::Put::new("user_ops").add("p", "items", "many")).unwrap();
    for error in [load_of(recipe, &site).unwrap_err(), reload(recipe, &site, load)] {
        let error = format!("{error:#}");
        let expected = "table recipes:loads, row user_ops: column items is no U64; start again \
                        with: halite recipe user-ops init --drop";
        assert!(error.contains(expected), "{error}");
    }
    reset(recipe, &site).unwrap();
    assert_eq!(generate(recipe, &site, load, &mut |_| ()).unwrap().written, 100);
}

fn reload(recipe: &dyn Recipe, site: &Site, load: Load) -> anyhow::Error {
    generate(recipe, site, load, &mut |_| ()).unwrap_err()
}

#[test]
fn failed_operations_are_counted_by_kind() {
    let recipe = find_recipe("messages").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let whole = site(&backends::open(&directory), recipe);
    generate(recipe, &whole, Load { seed: 1, items: 300 }, &mut |_| ()).unwrap();
    // Every write fails, and reads succeed between them.
    let application: Arc<dyn Application> =
        recipe.open(&dying(&whole, 0), Load { seed: 1, items: 300 }).unwrap().into();
    let config = BenchConfig {
        rate: 1_000,
        duration: Duration::from_millis(200),
        threads: 16,
        writes: None,
        max_silence: PATIENCE,
    };
    let report = bench(recipe, &application, config);
    let operations = report.operations();
    let send = operations.iter().find(|one| one.name == "send").unwrap();
    assert!(send.errors > 50 && (send.count, send.errors) == (0, report.errors()), "{send:?}");
    assert!(operations.iter().all(|one| one.name == "send" || one.errors == 0), "{operations:?}");
    let text = printed(|out| report.write(out));
    let line = |start: &str| {
        let found = text.lines().find(|line| line.starts_with(start)).unwrap();
        found.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line("operation").last().unwrap(), "errors", "{text}");
    let errors = send.errors.to_string();
    assert_eq!(line("send")[1..], ["0", "0", "-", "-", "-", "-", "-", "-", &errors], "{text}");
    assert_eq!(line("received").last().unwrap(), "0", "{text}");

    // What is measured is reported, also if nothing succeeds.
    let report = bench(recipe, &application, BenchConfig { writes: Some(100), ..config });
    assert!(report.is_stopped() && report.succeeded() == 0 && report.errors() >= 2);
    assert_eq!(report.operations().len(), 1);
}

#[test]
fn load_ends_while_its_operations_do_not() {
    let recipe = find_recipe("user-ops").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let whole = site(&backends::open(&directory), recipe);
    let load = Load { seed: 1, items: 100 };
    generate(recipe, &whole, load, &mut |_| ()).unwrap();
    // Some writes are done, and the following ones wait until the end of the test.
    let gate = Gate::new(20);
    let release = gate.release_on_drop();
    let stuck =
        HookedCluster::with_hook(Arc::clone(whole.cluster.cluster()), Arc::clone(&gate) as _);
    let site = Site { cluster: BlockingCluster::new(Arc::new(stuck)), ..whole };
    let application: Arc<dyn Application> = recipe.open(&site, load).unwrap().into();
    let config = BenchConfig {
        rate: 500,
        duration: Duration::from_hours(1),
        threads: 4,
        writes: Some(100),
        max_silence: Duration::from_secs(3),
    };
    let mut silences = Vec::new();
    let report = run_bench(recipe, &application, config, &mut |silence| {
        // Before it, a slow disk may make another one.
        if gate.is_shut() {
            silences.push((silence.waiting, silence.failed, silence.limit));
        }
    });
    let report = report.unwrap();
    assert_eq!(silences, [(4, 0, config.max_silence)]);
    assert_eq!((report.succeeded(), report.errors(), report.is_stopped()), (20, 0, true));
    assert_eq!(report.silence().map(|silence| silence.waiting), Some(4));
    let text = printed(|out| report.write(out));
    assert!(text.contains("s, and 4 were in progress"), "{text}");
    drop(release);
}

/// Gets of a batch count as gets, and the ranges of a query that is merged from several as ranges.
#[test]
fn fan_out_is_the_number_of_gets_and_ranges_that_an_operation_reads() {
    for (name, exact, above) in [
        (
            "analytics",
            &[
                ("board", 16.0),
                ("users of day", 16.0),
                // Two sets and three steps, of sixteen shards each.
                ("retention", 32.0),
                ("funnel", 48.0),
                ("logins", 1.0),
            ][..],
            &[][..],
        ),
        // The version of the model, the user, and 250 items.
        ("features", &[("ranking of 500", 252.0), ("recent", 1.0)], &[]),
        // Whom the user follows, the timeline, those who are pulled, and each post.
        ("feed", &[("likes", 8.0)], &[("page of 20", 10.0)]),
        ("files", &[("list of 1000", 1.0), ("node", 1.0)], &[("path", 1.5)]),
        ("messages", &[("received", 1.0), ("conversation", 1.0)], &[("two pages", 1.1)]),
        ("monitor", &[("host", 1.0), ("metric", 16.0), ("metric by host", 16.0)], &[]),
        (
            "timeseries",
            &[("latest", 1.0), ("day", 1.0), ("averages", 1.0)],
            &[("all devices", 15.9)],
        ),
        ("wide-user", &[("page", 1.0)], &[]),
    ] {
        let recipe = find_recipe(name).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let site = site(&backends::open(&directory), recipe);
        generate(recipe, &site, LOAD, &mut |_| ()).unwrap();
        let application: Arc<dyn Application> = recipe.open(&site.metered(), LOAD).unwrap().into();
        let config = BenchConfig {
            rate: 2_000,
            duration: Duration::from_millis(300),
            threads: 4,
            writes: Some(0),
            max_silence: PATIENCE,
        };
        let operations = bench(recipe, &application, config).operations();
        let fan_out = |name: &str| {
            let found = operations.iter().find(|operation| operation.name == name).unwrap();
            found.fan_out.unwrap()
        };
        for (operation, expected) in exact {
            let found = fan_out(operation);
            assert!((found - expected).abs() < 1e-9, "{name}, {operation}: {found}");
        }
        for (operation, least) in above {
            let found = fan_out(operation);
            assert!(found > *least, "{name}, {operation}: {found}");
        }
        // The version of the model is a row, too.
        let ranking = operations.iter().find(|one| one.name == "ranking of 500");
        let examined = ranking.map(|one| one.examined.unwrap());
        assert!(examined.is_none_or(|each| (each - 252.0 / 251.0).abs() < 1e-9), "{examined:?}");
    }
}

#[test]
fn other_load_in_filled_tables_is_refused_until_reset() {
    let recipe = find_recipe("messages").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    generate(recipe, &site, Load { seed: 1, items: 100 }, &mut |_| ()).unwrap();
    let other = Load { seed: 2, items: 100 };
    let error = generate(recipe, &site, other, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("100 messages of seed 1") && error.contains("init --drop"), "{error}");
    let mine: TableName = "messages:mine".parse().unwrap();
    let table = TableDescriptor::new(mine.clone()).family(FamilyDescriptor::new("f"));
    site.cluster.create_table(table, &[]).unwrap();
    assert_eq!(reset(recipe, &site).unwrap(), 3, "and none that is not the recipe's");
    assert!(site.cluster.list_tables().unwrap().iter().any(|table| *table.name() == mine));
    generate(recipe, &site, other, &mut |_| ()).unwrap();
    recipe.open(&site, other).unwrap().verify(100).unwrap();
}

#[test]
fn tables_that_others_change_during_generation_are_noticed() {
    let recipe = find_recipe("messages").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    // Another program drops and creates the tables, or fills them, after the first batch.
    for fills in [false, true] {
        reset(recipe, &site).unwrap();
        let error = generate(recipe, &site, LOAD, &mut |written| {
            if written == 1000 {
                reset(recipe, &site).unwrap();
                init(recipe, &site, &mut Vec::new()).unwrap();
                if fills {
                    generate(recipe, &site, Load { seed: 8, items: 10 }, &mut |_| ()).unwrap();
                }
            }
        });
        let error = error.unwrap_err().to_string();
        assert!(error.contains("another program filled or dropped the tables"), "{error}");
    }
}

#[test]
fn tables_that_were_dropped_are_filled_again() {
    let recipe = find_recipe("user-ops").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&directory), recipe);
    let load = Load { seed: 1, items: 100 };
    for is_initialized in [false, true] {
        generate(recipe, &site, load, &mut |_| ()).unwrap();
        drop_table(&site, "operations");
        assert_eq!(load_of(recipe, &site).unwrap(), None);
        if is_initialized {
            init(recipe, &site, &mut Vec::new()).unwrap();
        }
        let again = generate(recipe, &site, load, &mut |_| ()).unwrap();
        assert_eq!((again.existing, again.written), (0, 100));
        recipe.open(&site, load).unwrap().verify(100).unwrap();
    }
}

#[test]
fn another_file_with_as_many_rows_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = backends::open(&directory);
    let filled = |value: &str| {
        let path = directory.path().join(format!("weather_{value}.csv"));
        let text = format!(
            "origin,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour\n\
             EWR,39.02,26.06,{value},270,10.35,NA,0,1012,10,2013-01-01T06:00:00Z\n"
        );
        std::fs::write(&path, text).unwrap();
        let recipe = find_recipe("timeseries").unwrap().with_data(&path).unwrap();
        let load = Load { seed: 1, items: recipe.default_items() };
        generate(&*recipe, &site(&cluster, &*recipe), load, &mut |_| ())
    };
    assert_eq!(filled("59.37").unwrap().written, 8);
    assert_eq!(filled("59.37").unwrap().existing, 8);
    let error = filled("59.38").unwrap_err().to_string();
    assert!(error.contains("of another file") && error.contains("init --drop"), "{error}");
}

#[test]
fn more_items_than_a_file_has_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weather.csv");
    let text = "origin,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,\
                time_hour\n\
                EWR,39.02,26.06,59.37,270,10.35,NA,0,1012,10,2013-01-01T06:00:00Z\n";
    std::fs::write(&path, text).unwrap();
    let recipe = find_recipe("timeseries").unwrap().with_data(&path).unwrap();
    assert_eq!((recipe.file_items(), recipe.default_items()), (Some(8), 8));
    let store = tempfile::tempdir().unwrap();
    let site = site(&backends::open(&store), &*recipe);
    let load = Load { seed: 1, items: 9 };
    let expected = "the file has 8 readings, fewer than --scale 9; use --scale 8 or leave it out";
    let error = generate(&*recipe, &site, load, &mut |_| ()).unwrap_err().to_string();
    assert_eq!(error, expected);
    assert!(site.cluster.list_tables().unwrap().is_empty(), "it was refused before it created any");
    let open = || Ok(site.cluster.clone());
    let checked = halite_recipes::check(&*recipe, load, &mut InProcessTarget::new(open, 1));
    assert_eq!(checked.unwrap_err().to_string(), expected);
    assert_eq!(
        generate(&*recipe, &site, Load { items: 8, ..load }, &mut |_| ()).unwrap().written,
        8
    );
}

#[test]
fn table_with_another_schema_is_refused_before_any_is_created() {
    let recipe = find_recipe("messages").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let cluster = backends::open(&directory);
    let site = site(&cluster, recipe);
    cluster.create_namespace("messages", halite::Attributes::new()).unwrap();
    let table =
        |declared: TableDescriptor| declared.family(FamilyDescriptor::new("m").versions(10));
    let create = |descriptor: TableDescriptor| {
        cluster.create_table(table(descriptor), &[]).unwrap();
        let error = init(recipe, &site, &mut Vec::new()).unwrap_err().to_string();
        assert!(!cluster.table_exists("messages:inbox").unwrap(), "{error}");
        cluster.disable_table("messages:convo").unwrap();
        cluster.drop_table("messages:convo").unwrap();
        error
    };
    let convo = || TableDescriptor::new("messages:convo".parse().unwrap());
    let error = create(convo());
    assert!(error.contains("messages:convo exists with another schema: it declares no row key"));
    let error = create(convo().set("ROW_KEY", "ROW KEY (one STRING, ts TIMESTAMP)"));
    assert!(error.contains("it declares ROW KEY (one STRING, ts TIMESTAMP), and not"), "{error}");
    init(recipe, &site, &mut Vec::new()).unwrap();
}

#[test]
fn documentation_lists_every_recipe_with_its_example() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/recipes.md")).unwrap();
    for recipe in recipes() {
        let (name, shows) = (recipe.about().name, recipe.about().shows);
        let line = format!(
            "| [{name}](#{name}) | {shows} | [examples/{name}](../examples/{name}/README.md) |"
        );
        assert!(page.contains(&line), "docs/recipes.md lacks the line\n{line}");
        let chapter = format!("\n## {}{}\n", name[..1].to_uppercase(), &name[1..]);
        assert!(page.contains(&chapter), "docs/recipes.md lacks the chapter{chapter}");
        let readme = root.join(format!("examples/{name}/README.md"));
        let readme = std::fs::read_to_string(readme).unwrap();
        assert!(readme.contains(&format!("docs/recipes.md#{name})")), "{name}");
    }
}

#[test]
fn p15_each_question_is_answered_with_experiments_that_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/questions.md")).unwrap();
    let answers: Vec<&str> = page.split("\n## ").skip(1).collect();
    assert_eq!(answers.len(), 5);
    for answer in answers {
        let experiments = |command: &str| -> Vec<String> {
            let lines = answer.lines().filter_map(|line| line.strip_prefix(command));
            lines.filter_map(|rest| rest.split_whitespace().next()).map(str::to_owned).collect()
        };
        let pages = experiments("$ halite lab ");
        assert!(!pages.is_empty(), "{answer}");
        for id in pages {
            assert!(root.join(format!("docs/lab/{id}.md")).exists(), "no page {id}: {answer}");
        }
        for name in experiments("$ halite recipe ") {
            assert!(find_recipe(&name).is_some(), "no recipe {name}: {answer}");
        }
    }
}
