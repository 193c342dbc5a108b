//! Text for a terminal. Only Forklore styles it, never the content being shown.

use std::fmt::Write as _;

use anstyle::AnsiColor;
use forklore_tavern::locate::environment::Os;
use unicode_width::UnicodeWidthStr as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Note,
    /// Deleted text.
    Gone,
}

impl Style {
    fn ansi(self) -> anstyle::Style {
        match self {
            Self::Plain => anstyle::Style::new(),
            Self::Bold => anstyle::Style::new().bold(),
            Self::Dim => anstyle::Style::new().dimmed(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Note => AnsiColor::Yellow.on_default(),
            Self::Gone => AnsiColor::Red.on_default().strikethrough(),
        }
    }
}

/// A line made of styled parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Vec<(Style, String)>);

impl Line {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn add(mut self, style: Style, text: impl AsRef<str>) -> Self {
        self.0.push((style, text.as_ref().to_owned()));
        self
    }

    pub(crate) fn plain(self, text: impl AsRef<str>) -> Self {
        self.add(Style::Plain, text)
    }

    pub(crate) fn bold(self, text: impl AsRef<str>) -> Self {
        self.add(Style::Bold, text)
    }

    pub(crate) fn dim(self, text: impl AsRef<str>) -> Self {
        self.add(Style::Dim, text)
    }

    /// Appends in place, merging with the last part if the style matches.
    pub(crate) fn append(&mut self, style: Style, text: &str) {
        match self.0.last_mut() {
            Some((last, before)) if *last == style => before.push_str(text),
            _ => self.0.push((style, text.to_owned())),
        }
    }

    pub(crate) fn followed_by(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(crate) fn render(&self, color: bool) -> String {
        let mut out = String::new();
        for (style, text) in &self.0 {
            let text = sanitize(text);
            if color && !text.is_empty() {
                let ansi = style.ansi();
                let _ = write!(out, "{ansi}{text}{ansi:#}");
            } else {
                out.push_str(&text);
            }
        }
        out
    }
}

impl<T: AsRef<str>> From<T> for Line {
    fn from(text: T) -> Self {
        Self::new().plain(text)
    }
}

/// Names and texts are untrusted. Characters that could move the cursor, colour the screen or
/// change the text direction are replaced by their code point.
pub(crate) fn sanitize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let breaks = matches!(character, '\u{2028}' | '\u{2029}');
        if character.is_control() || turns || breaks {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out
}

/// `1 entry`, `2 entries`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number as u64), if number == 1 { one } else { many })
}

/// `3.2 MB`
pub(crate) fn bytes(number: u64) -> String {
    match number {
        0..1_000 => format!("{number} bytes"),
        1_000..1_000_000 => format!("{:.1} KB", number as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", number as f64 / 1e6),
        _ => format!("{:.1} GB", number as f64 / 1e9),
    }
}

/// A number with thousands separators.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Quotes a name for a shell.
pub(crate) fn quoted(name: &str) -> String {
    quoted_on(Os::CURRENT, name)
}

fn quoted_on(system: Os, name: &str) -> String {
    match system {
        // A path has backslashes, and `cmd` knows only double quotes. The rest is for PowerShell.
        Os::Windows if name.contains(['"', '$', '`']) => format!("'{}'", name.replace('\'', "''")),
        Os::Linux | Os::MacOs if name.contains(['"', '$', '`', '\\', '!']) => {
            format!("'{}'", name.replace('\'', r"'\''"))
        }
        _ => format!("\"{name}\""),
    }
}

/// A command that takes a name, ready to paste into a shell.
pub(crate) fn command(verb: &str, name: &str, options: &str) -> String {
    let name = quoted(name);
    let parts = match name.trim_start_matches(['"', '\'']).starts_with('-') {
        // A name with a leading dash would be parsed as an option.
        true => [verb, options, "--", &name],
        false => [verb, &name, options, ""],
    };
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("`forklore {}`", parts.join(" "))
}

/// Display width in columns: wide characters count twice.
pub(crate) fn width(text: &str) -> usize {
    sanitize(text).width()
}

/// Pads text with spaces to a number of columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shown_can_steer_the_terminal() {
        let line = Line::new().bold("a\x1b[31mb\u{9b}2J\u{202e}c\nd\u{7f}");
        assert_eq!(line.render(false), "a\\u{1b}[31mb\\u{9b}2J\\u{202e}c\\u{a}d\\u{7f}");
        assert_eq!(line.render(true).matches('\x1b').count(), 2);
    }

    #[test]
    fn a_name_can_be_typed() {
        assert_eq!(quoted("Anna/Story"), "\"Anna/Story\"");
        assert_eq!(quoted_on(Os::Linux, "it's $5"), r"'it'\''s $5'");
        assert_eq!(quoted_on(Os::Windows, r"C:\Silly Tavern!\data"), r#""C:\Silly Tavern!\data""#);
        assert_eq!(quoted_on(Os::Windows, "it's $5"), "'it''s $5'");
    }

    #[test]
    fn a_command_can_be_pasted() {
        let restore = |name: &str| command("restore", name, "--version 3");
        assert_eq!(restore("Anna/It's"), "`forklore restore \"Anna/It's\" --version 3`");
        assert_eq!(restore("-n/$5"), "`forklore restore --version 3 -- '-n/$5'`");
        assert_eq!(command("log", "-n", ""), "`forklore log -- \"-n\"`");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn wide_scripts_are_padded_to_the_same_column() {
        assert_eq!(padded("雨", 4), "雨  ");
        assert_eq!(padded("ab", 4), "ab  ");
    }
}
