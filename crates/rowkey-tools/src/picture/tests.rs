//! Scales, labels, words and drawings of pictures.

use bytes::Bytes;
use halite_heat::{Finding, Shape};

use super::*;
use crate::simulate::{
    Design, FieldSpec, RegionLayout, SimulateOptions, Simulation, TrafficSpec, simulate,
};

fn simulated(key: &str, regions: RegionLayout, operations: usize) -> Simulation {
    let key: halite_rowkey::schema::KeySchema = key.parse().unwrap();
    let fields = [("ts", "now"), ("device", "d{uniform(40):02}")];
    let fields = fields.map(|(name, spec)| (name.to_owned(), FieldSpec::parse(spec).unwrap()));
    let traffic = TrafficSpec {
        fields: fields.to_vec(),
        operations,
        rate_per_second: Some(100.0),
        start_ms: 1_710_460_800_000,
        reads: 0.0,
        seed: 7,
    };
    let design = Design { name: key.to_text(), key, regions, queries: Vec::new() };
    let options = SimulateOptions { window: 250, ..SimulateOptions::default() };
    simulate(&design, &traffic.generate().unwrap(), &options).unwrap()
}

fn salts(count: u8) -> RegionLayout {
    RegionLayout::Boundaries((1..count).map(|salt| Bytes::from(vec![salt])).collect())
}

/// A frontier and a salted key with the same writes.
fn picture() -> Picture {
    let rising = simulated("ROW KEY (ts TIMESTAMP, device STRING)", RegionLayout::Even(4), 6000);
    let salted = simulated(
        "ROW KEY (SALT(4 BY ts, device), device STRING, ts TIMESTAMP DESC)",
        salts(4),
        6000,
    );
    Picture {
        title: "Writes of <both> keys".to_owned(),
        metric: "writes".to_owned(),
        panels: vec![rising.panel, salted.panel],
    }
}

fn golden(name: &str, found: &str) {
    let file = format!("{}/testdata/picture/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(&file).unwrap_or_default(), "{file}");
}

#[test]
fn fair_share_is_at_a_third_of_the_ramp_however_large() {
    for load in [0.001, 1.0, 1e6] {
        let level = LoadLevel { sum: load * 100.0, cells: 100, largest: load * 3.0 };
        let scale = Scale::of([level]);
        let fair = scale.step(scale.fair_share());
        assert!((80..=90).contains(&fair), "{load}: {fair}");
        assert_eq!((scale.step(0.0), scale.step(f64::NAN), scale.step(-1.0)), (0, 0, 0));
        assert_eq!(scale.step(load * 1e-9), FIRST_STEP);
        assert_eq!((scale.step(scale.top), scale.step(scale.top * 9.0)), (255, 255));
        assert!((scale.amount(f64::from(fair) / 255.0) / load - 1.0).abs() < 0.05);
    }
    assert_eq!(Scale::of([]).step(1.0), 255, "a map without load has a scale too");
}

#[test]
fn panels_share_one_scale() {
    let picture = picture();
    let scale = picture.scale();
    let levels = picture.panels.iter().map(|panel| LoadLevel::of_map(&panel.map));
    for level in levels {
        let (own, largest) = (Scale::of([level]), level.largest);
        assert!((own.knee / scale.knee - 1.0).abs() < 0.02, "the same writes: {own:?} {scale:?}");
        assert!(largest <= scale.top);
    }
    let darkest = |panel: &Panel| {
        let amounts = panel.map.mean.iter().map(|amount| scale.step(f64::from(*amount)));
        amounts.max().unwrap_or(0)
    };
    let [rising, salted] = &picture.panels[..] else { panic!("two panels") };
    assert!(darkest(rising) > darkest(salted) + 20, "{} {}", darkest(rising), darkest(salted));
}

#[test]
fn labels_are_fields_of_the_declared_key() {
    let [rising, salted] = &picture().panels[..] else { panic!("two panels") };
    assert_eq!(rising.labels[0], ["(first)"]);
    assert_eq!(rising.labels[2][0], "2024-03-15T00:00:30Z");
    assert_eq!(
        (&salted.names[..2], &salted.labels[3]),
        (&["salt".to_owned(), "device".to_owned()][..], &vec!["3".to_owned()])
    );
    let gutter = rising.gutter();
    let texts: Vec<&str> = gutter.levels[0].runs.iter().map(|run| &run.text[..]).collect();
    assert_eq!(texts, ["(first)", "00:00:15Z", "00:00:30Z", "00:00:45Z"]);
    let plain = KeyLabels::plain_label(&[0x61, 0xff]);
    assert_eq!(plain, ["a\\xFF"]);
    let labels = KeyLabels::new("ROW KEY (SALT(4 BY id), id U32)".parse().unwrap());
    assert_eq!(labels.label(&[1, 0, 0, 2]), ["1", "512"], "the least key with these bytes");
    assert_eq!(labels.label(b"no key of it"), ["no key of it"]);
}

#[test]
fn runs_have_the_fields_before_them_in_common() {
    let label = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let labels = [label(&["a", "x"]), label(&["a", "x"]), label(&["b", "x"]), label(&["b"])];
    let gutter = Gutter::of(&["one".to_owned()], &labels, 0);
    let runs = |level: usize| {
        let runs = gutter.levels[level].runs.iter();
        runs.map(|run| (run.from, run.to, run.text.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(runs(0), [(0, 2, "a"), (2, 4, "b")]);
    assert_eq!(runs(1), [(0, 2, "x"), (2, 3, "x"), (3, 4, "")]);
    assert_eq!((gutter.levels[0].name.as_str(), gutter.levels[1].name.as_str()), ("one", ""));
}

#[test]
fn verdict_names_shape_and_distribution() {
    let [rising, salted] = &picture().panels[..] else { panic!("two panels") };
    let verdict = rising.verdict.as_ref().unwrap();
    assert_eq!(
        (verdict.shape, verdict.title().as_str()),
        (Shape::Frontier, "Sequential frontier, 99 %")
    );
    assert!(verdict.distribution().starts_with("load lands on 1.0 of 4 regions"), "{verdict:?}");
    assert!(verdict.split().starts_with("Splitting will not help: "), "{verdict:?}");
    let verdict = salted.verdict.as_ref().unwrap();
    assert_eq!((verdict.shape, verdict.split().as_str()), (Shape::Even, ""));
    let spread = LoadSpread { regions: 16, ranges: Some(1.0), ..LoadSpread::default() };
    let text = |ranges| Verdict { spread: LoadSpread { ranges, ..spread }, ..verdict.clone() };
    assert!(text(Some(1.0)).distribution().ends_with("; 1 range per query"));
    assert!(text(Some(12.5)).distribution().ends_with("; 12.5 ranges per query"));
    let spread = LoadSpread { regions: 1, ..spread };
    let one = Verdict { spread, ..verdict.clone() }.distribution();
    assert!(one.starts_with("one region takes all of it"), "{one}");
}

/// Keys that begin with the hour have no order within it, and their writes move on hour by hour.
#[test]
fn leading_bucket_is_a_frontier() {
    let schema: halite_rowkey::schema::KeySchema =
        "ROW KEY (BUCKET(ts, '1h'), device STRING)".parse().unwrap();
    let mut rng = fastrand::Rng::with_seed(7);
    let keys: Vec<Bytes> = (0..9600_i64)
        .map(|at| {
            let ts = format!("ts={}", at / 200 * 3_600_000);
            let values = [ts, format!("device=d{}", rng.u32(..))];
            let values = schema.parse_values(values.iter().map(String::as_str)).unwrap();
            Bytes::copy_from_slice(&schema.encode(&values).unwrap())
        })
        .collect();
    let boundaries = crate::split_sample(keys.clone(), 16).unwrap().keys;
    let operation = |key| KeyedOperation { time_ms: 0, key, is_read: false, weight: 1 };
    let operations: Vec<KeyedOperation<'_>> = keys.iter().map(|key| operation(key)).collect();
    let found = diagnose_operations(&operations, &boundaries, &schema);
    assert_eq!(found.shape, Shape::Frontier, "{found:?}");
    let mut shuffled = operations.clone();
    rng.shuffle(&mut shuffled);
    let found = diagnose_operations(&shuffled, &boundaries, &schema);
    assert_eq!(found.shape, Shape::Even, "{found:?}");
    let uneven = Finding { doubts: vec!["regions differ"], ..found };
    let verdict = Verdict::new(&uneven, LoadSpread::default());
    assert_eq!(
        (verdict.title().as_str(), verdict.severity()),
        ("Uneven, and no key explains it", "warn")
    );
}

#[test]
fn amounts_are_per_second_of_known_time() {
    let bounds = vec![Box::default(), b"m".as_slice().into()];
    let mut counts = Counts::new(bounds, (1000, 10_000), vec![4.0, 10.0, 0.0]);
    for (time_ms, key) in [(1000, &b"a"[..]), (10_999, b"m"), (11_000, b"z"), (21_500, b"a")] {
        counts.add(counts.row_of(key), counts.column_of(time_ms).unwrap(), 20);
    }
    assert_eq!((counts.column_of(999), counts.column_of(31_000)), (None, None));
    let map = counts.into_map(std::iter::once(2..3).collect());
    assert_eq!(map.mean, [5.0, 0.0, 0.0, 5.0, 2.0, 0.0], "a column known in part is no paler");
    let level = LoadLevel::of_map(&map);
    assert_eq!((level.sum, level.cells, level.largest), (12.0, 4, 5.0), "gaps have no cells");
}

#[test]
fn numbers_have_three_digits() {
    let cases = [
        (0.0, "0"),
        (0.001, "<0.01"),
        (0.0512, "0.0512"),
        (2.5, "2.5"),
        (9.996, "10"),
        (62.5, "62.5"),
        (99.97, "100"),
        (100.5, "101"),
        (999.0, "999"),
        (1000.0, "1k"),
        (12_345.0, "12.3k"),
        (999_600.0, "1M"),
        (-3.0, "\u{2212}3"),
        (f64::NAN, "\u{2013}"),
    ];
    for (value, text) in cases {
        assert_eq!(number(value), text);
    }
}

#[test]
fn times_of_the_day_have_no_date() {
    let now = 1_710_460_800_000;
    let cases = [
        ("2024-03-15T08:00:00Z", "08:00Z"),
        ("2024-03-15T08:00:07.250Z", "08:00:07Z"),
        ("2024-03-15T08:00", "08:00Z"),
        ("2023-01-02T08:00:00Z", "01-02 08:00Z"),
        ("2024-03-15", "2024-03-15"),
        ("2024-99-15T08:00:00Z", "2024-99-15T08:00:00Z"),
        ("a\u{0}b\u{202e}", "a\u{2400}b\\u202e"),
    ];
    for (text, short) in cases {
        assert_eq!(short_field(text, now), short);
    }
    assert_eq!((tick_step(200_000, 260.0), tick_step(i64::MAX, 260.0)), (60_000, 604_800_000));
    assert_eq!(
        (tick_text(now, 60_000), tick_text(now + 60_000, 30_000)),
        ("03-15".to_owned(), "00:01:00".to_owned())
    );
}

#[test]
fn terminal_of_80_columns_reads_without_colors() {
    let style = TerminalStyle { width: 80, colors: None };
    let lines = terminal(&picture(), style);
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    assert!(!lines.concat().contains('\u{1b}'));
    golden("terminal.txt", &(lines.join("\n") + "\n"));
    for theme in [Theme::Light, Theme::Dark] {
        let colored = terminal(&picture(), TerminalStyle { colors: Some(theme), ..style });
        let colors: Vec<String> = colored
            .iter()
            .filter(|line| line.contains("\u{1b}[48;2;"))
            .map(|line| line.replace("\u{1b}[0m", ""))
            .collect();
        assert!(colors.len() >= 8, "{colors:?}");
    }
}

#[test]
fn image_is_small_and_follows_the_ground() {
    let picture = picture();
    let image = svg(&picture, None);
    assert!(image.contains("&lt;both&gt;") && !image.contains("NaN"), "{image}");
    assert!(image.contains("prefers-color-scheme:dark"));
    assert!(image.contains("Sequential frontier, 99 %"));
    assert!(image.contains(">00:00:30Z<"), "{image}");
    for (theme, ground) in [(Theme::Light, "#ffffff"), (Theme::Dark, "#14181d")] {
        let image = svg(&picture, Some(theme));
        assert!(image.contains(&format!("--g:{ground}")) && !image.contains("@media"));
    }
    golden("two_keys.svg", &image);
}

/// The drawn cells are those of the map, whose amounts the page has.
#[test]
fn image_has_the_steps_of_the_amounts() {
    let picture = picture();
    let scale = picture.scale();
    let image = svg(&picture, None);
    let mut drawn = image.split("<g class=\"p\"").skip(1);
    for panel in &picture.panels {
        let group = drawn.next().unwrap().split("</g>").next().unwrap();
        let mut shades = vec![None; panel.map.mean.len()];
        for path in group.split("<path class=\"c").skip(1) {
            let (shade, rest) = path.split_once('"').unwrap();
            let runs = rest.split_once("d=\"").unwrap().1.split('"').next().unwrap();
            for run in runs.split('M').skip(1) {
                let (place, run) = run.split_once('h').unwrap();
                let (column, row) = place.split_once(' ').unwrap();
                let width: usize = run.split('v').next().unwrap().parse().unwrap();
                let from = row.parse::<usize>().unwrap() * panel.map.columns
                    + column.parse::<usize>().unwrap();
                shades[from..from + width].fill(Some(shade.parse::<u8>().unwrap()));
            }
        }
        let expected = panel.map.mean.iter().map(|amount| {
            let step = scale.step(f64::from(*amount));
            (step > 0).then_some(step / 8)
        });
        assert_eq!(shades, expected.collect::<Vec<_>>());
    }
    assert!(drawn.next().is_none());
}

#[test]
fn traffic_of_one_time_is_drawn_in_its_order() {
    let key = "ROW KEY (ts TIMESTAMP, device STRING)";
    let schema: halite_rowkey::schema::KeySchema = key.parse().unwrap();
    let line = |at: i64| format!("5\tW\tts={} device=d", 1_710_460_800_000 + at);
    let trace: Vec<String> = (0..4000).map(line).collect();
    let traffic =
        crate::simulate::Traffic::from_trace(&trace.join("\n"), &["ts", "device"]).unwrap();
    let regions = RegionLayout::Even(4);
    let design = Design { name: key.to_owned(), key: schema, regions, queries: Vec::new() };
    let found = simulate(&design, &traffic, &SimulateOptions::default()).unwrap();
    assert_eq!(found.panel.axis, Axis::Arrival { operations: 4000 });
    assert_eq!(found.panel.verdict.unwrap().shape, Shape::Frontier);
    let sum: f32 = found.panel.map.mean.iter().sum();
    assert!((sum - 4000.0).abs() < 0.5, "{sum}");
}
