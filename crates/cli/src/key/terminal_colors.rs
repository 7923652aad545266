//! Width and colors of standard output.

use std::ffi::OsString;
use std::io::{IsTerminal as _, stdout};

use halite_rowkey_tools::picture::{TerminalStyle, Theme};

/// Line width in characters if standard output is not a terminal.
const WIDTH: usize = 110;

/// When colors are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// To a terminal that has colors of 24 bits, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Returns the form of lines on standard output. `theme` is the asked ground.
pub(super) fn terminal_style(choice: ColorChoice, theme: Option<Theme>) -> TerminalStyle {
    let width = rustix::termios::tcgetwinsize(stdout())
        .map_or(WIDTH, |size| usize::from(size.ws_col).clamp(60, 200));
    let is_terminal = stdout().is_terminal();
    let colors = colors(choice, theme, is_terminal, |name| std::env::var_os(name));
    TerminalStyle { width, colors }
}

/// Returns the ground of the colors; `None` for none. `variable` returns one of the environment.
fn colors(
    choice: ColorChoice,
    theme: Option<Theme>,
    is_terminal: bool,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<Theme> {
    let text = |name| variable(name).unwrap_or_default().to_string_lossy().into_owned();
    let is_shown = match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let has_colors = ["truecolor", "24bit"].contains(&text("COLORTERM").as_str());
            is_terminal && has_colors && text("NO_COLOR").is_empty()
        }
    };
    // The last number is the ground: 7 and 15 are light.
    let ground = text("COLORFGBG");
    let is_light = matches!(ground.rsplit(';').next(), Some("7" | "15"));
    is_shown.then(|| theme.unwrap_or(if is_light { Theme::Light } else { Theme::Dark }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_follow_the_terminal_and_no_color() {
        let of = |choice, theme, is_terminal, variables: &[(&str, &str)]| {
            colors(choice, theme, is_terminal, |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let (auto, able) = (ColorChoice::Auto, ("COLORTERM", "truecolor"));
        assert_eq!(of(auto, None, true, &[able]), Some(Theme::Dark));
        assert_eq!(of(auto, None, true, &[able, ("COLORFGBG", "0;15")]), Some(Theme::Light));
        assert_eq!(of(auto, Some(Theme::Light), true, &[able]), Some(Theme::Light));
        assert_eq!(of(auto, None, true, &[able, ("NO_COLOR", "1")]), None);
        assert_eq!(of(auto, None, true, &[]), None, "a terminal of few colors has shades");
        assert_eq!(of(auto, None, false, &[able]), None);
        assert_eq!(of(ColorChoice::Never, None, true, &[able]), None);
        let asked = of(ColorChoice::Always, None, false, &[("NO_COLOR", "1")]);
        assert_eq!(asked, Some(Theme::Dark), "an option is stronger than the environment");
    }
}
