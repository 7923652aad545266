//! Elements of an SVG file.

use std::fmt::Write as _;

/// File that is written.
pub(super) struct Pen {
    out: String,
}

/// Side of a text that is at its place.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Pen {
    pub(super) fn new(width: f64, height: f64, title: &str, style: &str) -> Self {
        let height = height.ceil();
        let mut pen = Self {
            out: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
                 width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
                 <style>{style}</style>\n",
                escaped(title)
            ),
        };
        pen.rect((0.0, 0.0), (width, height), "g");
        pen
    }

    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    /// Writing to a text does not fail.
    fn line_of(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(element);
        self.out.push('\n');
    }

    pub(super) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        self.line_of(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    pub(super) fn class_text(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        class: &str,
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (short(x), short(y), escaped(text));
        self.line_of(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>"
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.path(
            &format!("M{} {}L{} {}", short(from.0), short(from.1), short(to.0), short(to.1)),
            "l",
        );
    }

    pub(super) fn path(&mut self, path: &str, class: &str) {
        self.line_of(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
    }

    /// Begins a group whose elements are in cells of this size, from this place on.
    pub(super) fn begin_cells(&mut self, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let (x, y) = (short(x), short(y));
        self.line_of(format_args!(
            "<g class=\"p\" transform=\"translate({x} {y}) scale({width:.5} {height:.5})\">"
        ));
    }

    pub(super) fn end_cells(&mut self) {
        self.out.push_str("</g>\n");
    }
}

/// Returns a coordinate with at most one digit after the point.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Returns text escaped for XML, without control characters, which XML does not permit.
fn escaped(text: &str) -> String {
    let safe: String = text.chars().filter(|char| !char.is_control()).collect();
    safe.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
