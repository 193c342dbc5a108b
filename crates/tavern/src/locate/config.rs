//! The one setting of SillyTavern's `config.yaml` that matters here.

/// What `config.yaml` says about the data root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfiguredRoot {
    Path(String),
    /// Not set: SillyTavern's default applies.
    Unset,
    /// Written in a form that this reader does not support. A guess could lead to the wrong folder.
    NotUnderstood,
}

/// Reads the top-level `dataRoot`, a single-line string.
///
/// Not a YAML parser: a top-level key of a block mapping starts in the first column, and its value
/// is plain, single-quoted or double-quoted. SillyTavern and its documentation only ever write
/// these forms. Anything else (escapes, anchors, multi-line text) yields `NotUnderstood`.
pub(crate) fn data_root_in(yaml: &str) -> ConfiguredRoot {
    let yaml = yaml.strip_prefix('\u{feff}').unwrap_or(yaml);
    let mut lines = yaml.lines();
    let Some(value) = lines.by_ref().find_map(value_of_data_root) else {
        return if yaml.trim_start().starts_with('{') {
            ConfiguredRoot::NotUnderstood
        } else {
            ConfiguredRoot::Unset
        };
    };
    // A value may continue on an indented line.
    let next = lines.map(before_comment).find(|line| !line.trim().is_empty());
    if next.is_some_and(|line| line.starts_with([' ', '\t'])) {
        return ConfiguredRoot::NotUnderstood;
    }
    text(value).map_or(ConfiguredRoot::NotUnderstood, |text| match &*text {
        "" | "~" | "null" => ConfiguredRoot::Unset,
        _ => ConfiguredRoot::Path(text),
    })
}

fn value_of_data_root(line: &str) -> Option<&str> {
    let rest = ["dataRoot", "\"dataRoot\"", "'dataRoot'"]
        .iter()
        .find_map(|key| line.strip_prefix(key))?
        .trim_start()
        .strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim())
}

fn text(value: &str) -> Option<String> {
    let (quote, inner) = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => (quote, &value[1..]),
        // YAML indicators.
        Some('&' | '*' | '!' | '|' | '>' | '{' | '[' | '%' | '@' | '`') => return None,
        _ => return Some(before_comment(value).trim_end().to_owned()),
    };
    let (inner, rest) = inner.split_once(quote)?;
    let ends_here = before_comment(rest).trim().is_empty();
    let plain = quote == '\'' || !inner.contains('\\');
    (ends_here && plain).then(|| inner.to_owned())
}

/// A comment starts the line or follows a space.
fn before_comment(line: &str) -> &str {
    let starts = |(at, _): &(usize, &str)| *at == 0 || line[..*at].ends_with([' ', '\t']);
    line.match_indices('#').find(starts).map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(yaml: &str, expected: &str) {
        assert_eq!(data_root_in(yaml), ConfiguredRoot::Path(expected.to_owned()), "{yaml}");
    }

    #[track_caller]
    fn check_not(yaml: &str, expected: &ConfiguredRoot) {
        assert_eq!(data_root_in(yaml), *expected, "{yaml}");
    }

    #[test]
    fn the_value_is_read_in_every_form_on_one_line() {
        check("# -- DATA --\ndataRoot: ./data\n# -- SERVER --\nlisten: false\n", "./data");
        check("\u{feff}dataRoot: ./data", "./data");
        check("listen: false\r\ndataRoot: D:\\ST\\data\r\n", "D:\\ST\\data");
        check("dataRoot: \"./my data\" # mine", "./my data");
        check("dataRoot: 'C:\\data # 1'", "C:\\data # 1");
        check("dataRoot : /a#b # c", "/a#b");
        check("\"dataRoot\":\t/a b/c", "/a b/c");
        check("dataRoot: /a\n\n   # only a comment\nport: 1", "/a");
    }

    #[test]
    fn a_value_that_is_absent_or_empty_is_unset() {
        for yaml in [
            "",
            "port: 8000\n",
            "dataRoot:",
            "dataRoot: # none",
            "dataRoot: ~",
            "dataRoot: \"\"",
            "#dataRoot: /a",
            "dataRoots: /a",
            "dataRoot:/a",
            "backups:\n  dataRoot: /a",
        ] {
            check_not(yaml, &ConfiguredRoot::Unset);
        }
    }

    #[test]
    fn what_it_does_not_know_it_does_not_guess() {
        for yaml in [
            "dataRoot: \"/a\\u0020b\"",
            "dataRoot: 'it''s'",
            "dataRoot: \"open",
            "dataRoot: \"a\" b",
            "dataRoot: *anchor",
            "dataRoot: >\n  /a",
            "dataRoot: /a\n  b",
            "dataRoot:\n  /a",
            "{dataRoot: /a}",
        ] {
            check_not(yaml, &ConfiguredRoot::NotUnderstood);
        }
    }
}
