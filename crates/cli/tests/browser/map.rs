//! The heat map in a tab: its requests, its place in the window, its pixels.

use serde_json::Value;

use crate::lab::Lab;
use crate::tab::Tab;

const PICTURE: &str = include_str!("picture.js");

/// Opens the heat map of a table from one time to another; `query` are further parameters, which
/// begin with `&`.
pub(crate) fn open_map(tab: &mut Tab, table: &str, (from, to): (i64, i64), query: &str) {
    tab.goto(&format!("/t/{table}/heat?from={from}&to={to}&theme=light{query}"));
    await_map(tab);
}

/// Waits until a picture is shown.
pub(crate) fn await_map(tab: &mut Tab) {
    let shown = "document.querySelector('.hm-over')?.dataset.box && \
                 !document.querySelector('.mapwrap.waits') && \
                 document.querySelector('.heatstate').hidden";
    tab.await_value("a picture of the heat", shown);
    tab.settle();
}

/// Returns the path of the last request for the heat of the map.
pub(crate) fn heat_request(tab: &Tab) -> String {
    let is_of_map = |path: &&String| path.contains("/heat?") && !path.contains("cols=840");
    tab.requests().iter().rev().find(is_of_map).unwrap().clone()
}

/// Returns the answer to that request, with keys as the shell prints them.
pub(crate) fn heat_of(lab: &Lab, tab: &Tab) -> Value {
    lab.json(&format!("{}&keys=escaped", heat_request(tab)))
}

/// Returns left, top, width and height of the cells in the window.
pub(crate) fn place(tab: &mut Tab) -> [f64; 4] {
    let place = tab.eval(
        "(() => { const over = document.querySelector('.hm-over'); \
         const at = over.getBoundingClientRect(); \
         const [x, y, w, h] = over.dataset.box.split(',').map(Number); \
         return [at.x + x, at.y + y, w, h]; })()",
    );
    [0, 1, 2, 3].map(|at| place[at].as_f64().unwrap())
}

/// Returns how the page writes a value of a metric.
pub(crate) fn value_text(tab: &mut Tab, metric: &str, value: f64) -> String {
    let text = tab.eval(&format!(
        "(async () => (await import('/js/heatview.js')).valueText(Math.fround({value}), \
         (await import('/js/heatdata.js')).METRICS['{metric}'], 's'))()"
    ));
    text.as_str().unwrap().to_owned()
}

/// Steps of the ramp in a picture, by column of cells and pixel from the top.
pub(crate) struct Picture {
    /// Columns that were recorded, with their numbers: a busy machine may leave one out.
    pub(crate) columns: Vec<(u64, Vec<i64>)>,
}

impl Picture {
    /// Reads the canvas of the page's only map.
    pub(crate) fn of(tab: &mut Tab, columns: u64) -> Self {
        Self::of_map(tab, columns, 0)
    }

    /// Reads the canvas of one of the page's maps.
    pub(crate) fn of_map(tab: &mut Tab, columns: u64, map: usize) -> Self {
        let function = PICTURE.trim().trim_end_matches(';');
        let steps = tab.eval(&format!("({function})({columns}, {map})"));
        let steps: Vec<Vec<i64>> = serde_json::from_value(steps).unwrap();
        let is_recorded = |(_, steps): &(u64, Vec<i64>)| {
            steps.iter().filter(|step| **step >= 0).count() * 2 > steps.len()
        };
        Self { columns: (0..columns).zip(steps).filter(is_recorded).collect() }
    }

    /// Returns the picture with these columns only, as far as they were recorded.
    pub(crate) fn with_columns(mut self, numbers: &[u64]) -> Self {
        self.columns.retain(|(number, _)| numbers.contains(number));
        self
    }

    /// Pixels of a column, from the top.
    pub(crate) fn height(&self) -> usize {
        self.columns[0].1.len()
    }

    fn steps(&self) -> impl Iterator<Item = &Vec<i64>> {
        self.columns.iter().map(|(_, steps)| steps)
    }

    /// Returns the places of the pixels of each column, as parts of the height, whose steps are at
    /// least this part of the darkest one of the column, in tenths.
    pub(crate) fn dark(&self, tenths: i64) -> Vec<Vec<f64>> {
        let height = self.height();
        self.steps()
            .map(|column| {
                let least = (column.iter().copied().max().unwrap_or(0) * tenths / 10).max(1);
                places(column, height, |step| step >= least)
            })
            .collect()
    }

    /// Returns the mean step of each column.
    pub(crate) fn column_means(&self) -> Vec<f64> {
        self.steps().map(|column| mean_step(column.iter())).collect()
    }

    /// Returns the mean step of each of `parts` bands of equal height.
    pub(crate) fn band_means(&self, parts: usize) -> Vec<f64> {
        let height = self.height();
        let band = |at: usize| at * height / parts..(at + 1) * height / parts;
        (0..parts).map(|at| mean_step(self.steps().flat_map(|column| &column[band(at)]))).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most some hundreds of pixels")]
fn places(column: &[i64], height: usize, fits: impl Fn(i64) -> bool) -> Vec<f64> {
    let found = column.iter().enumerate().filter(|(_, step)| fits(**step));
    found.map(|(y, _)| (y as f64 + 0.5) / height as f64).collect()
}

/// Returns the mean of steps, without marks.
#[expect(clippy::cast_precision_loss, reason = "steps are below 256")]
fn mean_step<'s>(steps: impl Iterator<Item = &'s i64>) -> f64 {
    let known: Vec<f64> = steps.filter(|step| **step >= 0).map(|step| *step as f64).collect();
    mean(&known)
}

#[expect(clippy::cast_precision_loss, reason = "few values")]
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the deviation of values, as a part of their mean.
pub(crate) fn variation(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - middle).powi(2)).collect();
    mean(&squares).sqrt() / middle.max(f64::MIN_POSITIVE)
}
