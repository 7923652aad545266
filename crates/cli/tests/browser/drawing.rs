//! The page's script draws as files and the terminal do: colors, steps, scales, numbers, labels.

use halite_rowkey_tools::picture::{
    LoadLevel, Scale, Theme, number, ramp, short_field, tick_step, tick_text,
};
use serde_json::{Value, json};

use crate::lab::tab;

/// Evaluates an expression with the exports of modules of the page.
fn with_modules(modules: &[&str], expression: &str) -> String {
    let names: Vec<String> =
        modules.iter().map(|name| format!("...(await import('/js/{name}.js'))")).collect();
    format!("(async () => {{ const page = {{ {} }}; return {expression}; }})()", names.join(", "))
}

#[test]
fn script_has_the_colors_steps_and_scales_of_pictures() {
    let Some((_, mut tab)) = tab() else { return };
    tab.goto("/tables?theme=light");
    for (theme, is_dark) in [(Theme::Light, false), (Theme::Dark, true)] {
        let found = tab.eval(&with_modules(&["ramp"], &format!("page.steps(false, {is_dark})")));
        // The first color is never used: zero has its own.
        let colors: Vec<[u8; 3]> = serde_json::from_value(found).unwrap();
        assert_eq!(colors[1..], ramp(theme)[1..], "{theme:?}");
    }
    let levels = [
        LoadLevel { sum: 1000.0, cells: 40, largest: 900.0 },
        LoadLevel { sum: 3.0, cells: 4000, largest: 0.5 },
        LoadLevel::default(),
    ];
    let of_page: Vec<Value> = levels
        .iter()
        .map(|it| json!({ "sum": it.sum, "cells": it.cells, "largest": it.largest }))
        .collect();
    for count in 1..=levels.len() {
        let scale = Scale::of(levels[..count].iter().copied());
        let asked = json!(of_page[..count]);
        let found = tab.eval(&with_modules(&["ramp"], &format!("page.scaleOf({asked})")));
        let (knee, top) = (found["knee"].as_f64().unwrap(), found["top"].as_f64().unwrap());
        assert!((knee / scale.knee - 1.0).abs() < 1e-12 && (top / scale.top - 1.0).abs() < 1e-12);
        let amounts: Vec<f64> = (0..40).map(|at| scale.top * 0.7_f64.powi(at)).collect();
        let expression = format!(
            "{}.map(value => page.stepOf(value, {}, {}))",
            json!(amounts),
            scale.knee,
            scale.top
        );
        let found = tab.eval(&with_modules(&["ramp"], &expression));
        let steps: Vec<u8> = amounts.iter().map(|amount| scale.step(*amount)).collect();
        assert_eq!(found, json!(steps));
    }
}

#[test]
fn script_writes_numbers_times_and_fields_as_pictures_do() {
    let Some((_, mut tab)) = tab() else { return };
    tab.goto("/tables?theme=light");
    let values = [
        0.0, 0.004, 0.01, 0.0512, 0.5, 2.5, 9.996, 10.0, 62.5, 99.94, 99.97, 100.5, 250.0, 999.4,
        999.5, 1000.0, 12_345.0, 999_400.0, 999_600.0, 1.5e9, 7e14, 3e17, -42.0,
    ];
    let found = tab.eval(&with_modules(&["format"], &format!("{}.map(page.num)", json!(values))));
    assert_eq!(found, json!(values.map(number)));
    // The page compares with its own time, which is of another day than all of these.
    let fields = [
        "2024-03-15T08:00:00Z",
        "2024-03-15T08:00:07.250Z",
        "2024-03-15T08:00",
        "2024-03-15",
        "sensor_00042",
        "a\u{0}\u{202e}b",
        "",
    ];
    let found =
        tab.eval(&with_modules(&["keys"], &format!("{}.map(page.shortField)", json!(fields))));
    let now = i64::MAX / 2;
    assert_eq!(found, json!(fields.map(|field| short_field(field, now))));
    let (midnight, step) = (1_710_460_800_000_i64, tick_step(200_000, 260.0));
    assert_eq!(step, 60_000);
    for ms in [midnight, midnight + 3_600_000] {
        let asked = format!("{ms} % 86400e3 === 0 ? page.day({ms}) : page.clock({ms}, false)");
        assert_eq!(tab.eval(&with_modules(&["format"], &asked)), json!(tick_text(ms, step)));
    }
}
