//! Sensors: the points equal the model, embedded, through a server, and those of real weather.

use halite_recipes::timeseries::TIMESERIES;
use halite_recipes::{InProcessTarget, Load, Recipe as _, Site, check, explain};

use crate::backends;

const LOAD: Load = Load { seed: 5, items: 1_600 };

#[test]
fn p01_points_equal_model_after_crash() {
    let report = backends::check_embedded(&TIMESERIES, LOAD, 377).unwrap();
    assert_eq!((report.acknowledged, report.repaired), (377, 0));
    assert!(report.at_end.rows > 4 * LOAD.items, "{report:?}");
    assert!(report.at_end.examined < report.at_end.rows / 10, "rows are hours: {report:?}");
}

#[test]
fn p01_recipe_runs_through_client_and_server() {
    let load = Load { items: 600, ..LOAD };
    check(&TIMESERIES, load, &mut InProcessTarget::new(|| Ok(backends::connect()), 140)).unwrap();
}

#[test]
fn p01_weather_is_readings_of_sensors() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("weather.csv");
    let line = |hour: u32| {
        let (day, hour) = (1 + hour / 24, hour % 24);
        format!(
            "EWR,{}.5,26.06,59.37,270,10.35,NA,0,1012.{hour},10,2013-01-{day:02}T{hour:02}:00:00Z\n",
            30 + hour
        )
    };
    let header =
        "origin,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour\n";
    let text: String = std::iter::once(header.to_owned()).chain((0..50).map(line)).collect();
    std::fs::write(&file, text).unwrap();
    let recipe = TIMESERIES.with_data(&file).unwrap();
    assert_eq!((recipe.default_items(), recipe.about().namespace), (400, "timeseries_weather"));
    let load = Load { seed: 1, items: recipe.default_items() };
    let report = backends::check_embedded(&*recipe, load, 77).unwrap();
    assert_eq!(report.acknowledged, 77);
}

#[test]
fn k28_device_is_one_range_and_all_devices_are_one_for_each_salt() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site { cluster: backends::open(&directory), namespace: "timeseries".to_owned() };
    let application = TIMESERIES.open(&site, LOAD).unwrap();
    let mut out = Vec::new();
    explain(&*application, &site, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let plans: Vec<&str> = text.split("\n\n").filter(|plan| !plan.trim().is_empty()).collect();
    let fan_outs = ["fan-out  1", "fan-out  1", "fan-out  1", "fan-out  16"];
    assert_eq!(plans.len(), fan_outs.len(), "{text}");
    for (plan, fan_out) in plans.iter().zip(fan_outs) {
        assert!(plan.contains(fan_out), "{fan_out}: {plan}");
    }
}

#[test]
fn p01_points_take_the_promised_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site { cluster: backends::open(&directory), namespace: "timeseries".to_owned() };
    let load = Load { seed: 1, items: 7_200 };
    let mut out = Vec::new();
    TIMESERIES.open(&site, load).unwrap().measure(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let bytes = |name: &str| -> (f64, f64) {
        let line = text.lines().find(|line| line.starts_with(name)).expect(name);
        let mut numbers = line.split_whitespace().rev().map(|word| word.parse().unwrap());
        let single = numbers.next().unwrap();
        (numbers.next().unwrap(), single)
    };
    for (name, most) in [("steps", 3.17), ("counter", 3.17), ("one decimal", 3.17)] {
        let (packed, single) = bytes(name);
        assert!(packed <= most && single > packed, "{name}: {text}");
    }
    // No encoding stores random bits in fewer.
    assert!(bytes("full entropy").0 > 6.0, "{text}");
}
