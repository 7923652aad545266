//! Where the pixels of the heat map are dark, for traffic of each shape.

use crate::heat_answer::table_of;
use crate::lab::{COLUMN_MS, tab};
use crate::map::{Picture, mean, open_map, variation};

/// Returns the picture of a shape's traffic, or `None` without a browser.
fn picture_of(shape: &str, metric: &str) -> Option<Picture> {
    picture_in(900, shape, metric)
}

/// Returns the picture in a window of this height: a lower one has fewer ranges of keys.
fn picture_in(height: u32, shape: &str, metric: &str) -> Option<Picture> {
    let (lab, mut tab) = tab()?;
    tab.resize(1366, height);
    let span = lab.span_of(shape);
    let columns = u64::try_from((span.1 - span.0) / COLUMN_MS).unwrap();
    open_map(&mut tab, &table_of(shape), span, &format!("&metric={metric}"));
    let picture = Picture::of(&mut tab, columns).with_columns(&lab.steady_columns(shape, span));
    tab.screenshot(&format!("shape-{shape}"));
    let problems = tab.take_problems();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(picture.columns.len() >= 4, "{} columns", picture.columns.len());
    Some(picture)
}

/// In a low window, where each cell has enough requests to be like the others.
#[test]
fn even_load_is_pale() {
    let Some(picture) = picture_in(440, "even", "reads") else { return };
    let bands = picture.band_means(16);
    // Somewhat below 128 where all columns are steady; others make the scale another.
    assert!(bands.iter().all(|step| *step < 150.0), "{bands:?}");
    assert!(variation(&bands) < 0.3, "{bands:?}");
}

#[test]
fn frontier_is_one_band_that_moves_down() {
    let Some(picture) = picture_of("frontier", "writes") else { return };
    let centers: Vec<f64> = picture.dark(9).iter().map(|places| mean(places)).collect();
    assert!(centers.windows(2).all(|two| two[1] >= two[0] - 0.002), "{centers:?}");
    for places in picture.dark(9) {
        assert!(width(&places) < 0.13, "{places:?}");
    }
    assert!(centers.iter().all(|center| *center > 0.85), "{centers:?}");
}

/// Distance from the first to the last place.
fn width(places: &[f64]) -> f64 {
    places.last().zip(places.first()).map_or(0.0, |(last, first)| last - first)
}

/// Asserts that the dark pixels of all columns are in one band of at most this height.
#[track_caller]
fn assert_one_band(picture: &Picture, height: f64) {
    let columns = picture.dark(9);
    assert!(columns.iter().all(|places| !places.is_empty()), "{columns:?}");
    let mut all = columns.concat();
    all.sort_by(f64::total_cmp);
    assert!(width(&all) <= height, "{} of {height}: {all:?}", width(&all));
}

/// Asserts that the dark pixels are in one of sixteen regions. A region most of whose requests are
/// on one row may be recorded as one range of keys, so no narrower band is certain.
#[track_caller]
fn assert_one_region(picture: &Picture) {
    assert_one_band(picture, 1.0 / 16.0 + 0.01);
}

#[test]
fn hot_row_is_inside_its_region() {
    let Some(picture) = picture_of("hot-row", "reads") else { return };
    assert_one_region(&picture);
}

#[test]
fn hot_prefix_is_inside_its_region() {
    let Some(picture) = picture_of("hot-prefix", "reads") else { return };
    assert_one_region(&picture);
}

#[test]
fn hot_range_is_inside_its_tenth() {
    let Some(picture) = picture_of("hot-range", "reads") else { return };
    assert_one_band(&picture, 0.14);
}

#[test]
fn periodic_load_is_columns_and_not_rows() {
    let Some(picture) = picture_of("periodic", "reads") else { return };
    let (columns, bands) = (picture.column_means(), picture.band_means(16));
    assert!(variation(&columns) > 3.0 * variation(&bands), "{columns:?} {bands:?}");
}

/// A sweep takes three columns, so each is a third of the keys further on.
#[test]
fn sweep_moves_through_all_keys_in_order() {
    let Some(picture) = picture_of("sweep", "reads") else { return };
    let dark = picture.dark(5);
    let centers: Vec<(u64, f64)> = picture
        .columns
        .iter()
        .zip(&dark)
        .map(|((column, _), places)| (*column, circular_mean(places)))
        .collect();
    for two in centers.windows(2) {
        let ((column, here), (next, there)) = (two[0], two[1]);
        let step = (there - here).rem_euclid(1.0);
        assert!(next > column + 1 || (0.2..0.47).contains(&step), "{centers:?}");
    }
    assert!(dark.iter().all(|places| places.len() * 2 < picture.height()), "{dark:?}");
}

/// Returns the mean of places on a circle from 0 to 1, since a sweep ends where it begins.
fn circular_mean(places: &[f64]) -> f64 {
    let angles = places.iter().map(|place| place * std::f64::consts::TAU);
    let (sine, cosine) = angles
        .fold((0.0, 0.0), |(sine, cosine), angle: f64| (sine + angle.sin(), cosine + angle.cos()));
    (f64::atan2(sine, cosine) / std::f64::consts::TAU).rem_euclid(1.0)
}

#[test]
fn salts_differ_by_whole_regions() {
    let Some(picture) = picture_of("salt-imbalance", "reads") else { return };
    let bands = picture.band_means(16);
    let idle = bands.iter().filter(|step| **step < 10.0).count();
    assert!((4..=12).contains(&idle), "eight countries are in fewer than 16 salts: {bands:?}");
    assert!(bands.iter().copied().fold(0.0, f64::max) > 60.0, "{bands:?}");
}

/// Scans begin at the first key and pass over more and more deleted tasks.
#[test]
fn tombstones_are_at_head_and_grow() {
    let Some(picture) = picture_of("tombstone-head", "examined") else { return };
    let read: Vec<Vec<f64>> = picture.dark(1);
    assert!(read.iter().all(|places| places[0] < 0.05), "read from the head on: {read:?}");
    let reach: Vec<f64> = read.iter().map(|places| mean(places)).collect();
    let (first, last) = (reach[0], reach[reach.len() - 1]);
    assert!(last > first + 0.1, "{reach:?}");
    assert!(reach.windows(2).all(|two| two[1] > two[0] - 0.05), "{reach:?}");
}
