//! Pictures as lines of text: shades, or colors where the terminal has them.

use super::model::{Axis, Panel, Picture};
use super::ramp::{Theme, ramp};
use super::scale::Scale;
use super::text::{clock, date, number, short_field, shortened, wrapped};

/// Form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Maximum characters of a line, at least 60.
    pub width: usize,
    /// Colors of 24 bits on such a ground; `None` for shades alone.
    pub colors: Option<Theme>,
}

/// Shades of rising load, after the blank of none, and the first step of each but the lowest.
const SHADES: [char; 4] = ['\u{2591}', '\u{2592}', '\u{2593}', '\u{2588}'];
const SHADE_STEPS: [u8; 3] = [125, 165, 210];
/// Maximum lines of a panel; of more ranges, neighbors share a line.
const MAX_LINES: usize = 24;
/// Maximum characters of the labels.
const MAX_LABEL: usize = 26;
/// Characters of the share next to a line.
const SHARE: usize = 11;
/// Blanks before the verdict.
const INDENT: &str = "   ";

/// Returns all panels, each under its title and verdict, and the scale.
#[must_use]
pub fn terminal(picture: &Picture, style: TerminalStyle) -> Vec<String> {
    let mut lines = Vec::new();
    for panel in &picture.panels {
        lines.extend(wrapped(&panel.title, style.width));
        lines.extend(terminal_panel(picture, panel, style));
        lines.push(String::new());
    }
    lines.extend(terminal_scale(picture, style));
    lines
}

/// Returns one panel of a picture with its verdict, without its title.
#[must_use]
pub fn terminal_panel(picture: &Picture, panel: &Panel, style: TerminalStyle) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(verdict) = &panel.verdict {
        let texts = [verdict.title() + ": " + &verdict.distribution(), verdict.split()];
        let doubts = verdict.doubts.iter().map(|doubt| format!("but {doubt}"));
        for text in texts.into_iter().chain(doubts).filter(|text| !text.is_empty()) {
            let wrapped = wrapped(&text, style.width.saturating_sub(INDENT.len()));
            lines.extend(wrapped.into_iter().map(|line| format!("{INDENT}{line}")));
        }
        lines.push(String::new());
    }
    if panel.map.columns > 0 {
        lines.extend(Drawing::new(picture, panel, style).lines());
    }
    lines
}

/// Returns what the shades or colors mean.
#[must_use]
pub fn terminal_scale(picture: &Picture, style: TerminalStyle) -> Vec<String> {
    let (scale, unit) = (picture.scale(), picture.unit());
    let amount = |step: u8| {
        let amount = scale.amount(f64::from(step) / 255.0);
        format!("{}{unit}", number(amount))
    };
    let steps = SHADE_STEPS.into_iter().chain([255]);
    let samples = [60, 143, 188, 233];
    let key = |((shade, step), sample): ((char, u8), u8)| {
        let sample = match style.colors {
            Some(theme) => painted(theme, sample, 2),
            None => format!("{shade}{shade}"),
        };
        format!("{sample} to {}", amount(step))
    };
    let keys: Vec<String> = SHADES.into_iter().zip(steps).zip(samples).map(key).collect();
    let fair = number(scale.fair_share());
    vec![
        format!(
            "{} of a range of keys, one scale for all; the fair share is {fair}{unit}:",
            picture.metric
        ),
        format!("blank none  {}", keys.join("  ")),
    ]
}

/// One panel in characters.
struct Drawing<'p> {
    panel: &'p Panel,
    metric: &'p str,
    scale: Scale,
    style: TerminalStyle,
    /// Ranges per line.
    per_line: usize,
    labels: Vec<String>,
    label_width: usize,
    columns: usize,
}

impl<'p> Drawing<'p> {
    fn new(picture: &'p Picture, panel: &'p Panel, style: TerminalStyle) -> Self {
        let per_line = panel.rows().div_ceil(MAX_LINES).max(1);
        let firsts = (0..panel.rows()).step_by(per_line);
        let labels: Vec<String> = firsts.map(|row| label(panel, row)).collect();
        let head = head(panel);
        let widths = labels.iter().chain([&head]).map(|label| label.chars().count());
        let label_width = widths.max().unwrap_or(0).min(MAX_LABEL);
        let room = style.width.saturating_sub(label_width + SHARE + 3).max(10);
        Self {
            panel,
            metric: &picture.metric,
            scale: picture.scale(),
            style,
            per_line,
            labels,
            label_width,
            columns: room.min(panel.map.columns),
        }
    }

    fn lines(&self) -> Vec<String> {
        let shares = self.panel.shares();
        let head = shortened(&head(self.panel), self.label_width);
        let width = self.label_width;
        let all = format!("{} in all", self.metric);
        let blanks = (self.columns + 3 + SHARE).saturating_sub(all.chars().count() + 1);
        let mut lines = vec![format!("{head:<width$} {}{all}", " ".repeat(blanks))];
        for (line, label) in self.labels.iter().enumerate() {
            let rows = line * self.per_line..((line + 1) * self.per_line).min(self.panel.rows());
            let share: f64 = shares[rows.clone()].iter().sum();
            let label = shortened(label, width);
            lines.push(format!("{label:<width$} |{}| {:>6.1} %", self.cells(rows), share * 100.0));
        }
        lines.push(format!("{:<width$} +{}+", "", "-".repeat(self.columns)));
        lines.push(format!("{:<width$}  {}", "", self.axis()));
        lines
    }

    /// Returns the cells of some ranges; of several in one place, the most loaded one counts.
    fn cells(&self, rows: std::ops::Range<usize>) -> String {
        let all = self.panel.map.columns;
        let steps = (0..self.columns).map(|at| {
            let columns = at * all / self.columns..(at + 1) * all / self.columns;
            let amounts = rows.clone().flat_map(|row| &self.panel.row(row)[columns.clone()]);
            let largest = amounts.copied().filter(|amount| amount.is_finite()).fold(0.0, f32::max);
            self.scale.step(f64::from(largest))
        });
        let steps: Vec<u8> = steps.collect();
        match self.style.colors {
            Some(theme) => steps
                .chunk_by(|one, next| one == next)
                .map(|run| painted(theme, run[0], run.len()))
                .collect(),
            None => steps.into_iter().map(shade).collect(),
        }
    }

    fn axis(&self) -> String {
        let (from, to) = match self.panel.axis {
            Axis::Time => ends(self.panel.map.from_ms, self.panel.to_ms()),
            Axis::Arrival { operations } => {
                ("first".to_owned(), format!("{}th of all", number_of(operations)))
            }
        };
        let blanks = self.columns.saturating_sub(from.chars().count() + to.chars().count());
        format!("{from}{}{to}", " ".repeat(blanks.max(2)))
    }
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn number_of(count: u64) -> String {
    number(count as f64)
}

/// Returns the first and the last time, with the day once if both have it.
fn ends(from_ms: i64, to_ms: i64) -> (String, String) {
    let has_seconds = to_ms - from_ms < 3_600_000;
    let (first, last) = (clock(from_ms, has_seconds), clock(to_ms, has_seconds));
    let start = format!("{} {first}", date(from_ms));
    if date(from_ms) == date(to_ms) {
        (start, format!("{last} UTC"))
    } else {
        (start, format!("{} {last} UTC", date(to_ms)))
    }
}

fn head(panel: &Panel) -> String {
    let levels = panel.gutter().levels;
    levels.iter().map(|level| level.name.as_str()).collect::<Vec<_>>().join(" \u{203a} ")
}

/// Returns the first key of a range, field by field.
fn label(panel: &Panel, row: usize) -> String {
    let fields = panel.labels.get(row).map(Vec::as_slice).unwrap_or_default();
    let texts = fields.iter().map(|field| short_field(field, panel.to_ms()));
    // The last field of the beginning of a key may be empty.
    let texts = texts.filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join(" \u{203a} ")
}

fn shade(step: u8) -> char {
    if step == 0 {
        return ' ';
    }
    SHADES[SHADE_STEPS.iter().filter(|least| step >= **least).count()]
}

/// Returns blanks on the color of a step.
fn painted(theme: Theme, step: u8, count: usize) -> String {
    let [red, green, blue] = ramp(theme)[usize::from(step)];
    format!("\x1b[48;2;{red};{green};{blue}m{}\x1b[0m", " ".repeat(count))
}
