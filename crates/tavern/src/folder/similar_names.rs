//! Suggestions for a mistyped name.

use forklore_core::sillytavern::names::folded;

/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 5;
/// Minimum similarity of a name to count as mistyped.
const MIN_SIMILARITY: f64 = 0.85;

/// Returns the `names` that share words with `wanted` or look similar to it, best match first.
pub fn like(wanted: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let key = folded(wanted);
    let words: Vec<&str> =
        key.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).collect();
    let score = |name: &str| {
        let name = folded(name);
        let hits = words.iter().filter(|word| name.contains(*word)).count();
        // People type a character without its chat, or a chat without its character.
        let parts = name.split(['/', ':']).chain([&*name]);
        let similarity = parts.map(|part| strsim::jaro_winkler(part, &key)).fold(0.0, f64::max);
        (hits > 0 || similarity >= MIN_SIMILARITY).then_some((hits, similarity))
    };
    let scored = names.into_iter().filter_map(|name| Some((score(&name)?, name)));
    let mut scored: Vec<((usize, f64), String)> = scored.collect();
    scored.sort_by(|(one, first), (other, second)| {
        other.0.cmp(&one.0).then(other.1.total_cmp(&one.1)).then_with(|| first.cmp(second))
    });
    scored.dedup_by(|one, other| one.1 == other.1);
    scored.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(wanted: &str) -> Vec<String> {
        let names = ["Ada/The harbour", "Ada/The storm", "Bo/Alone", "Harbour lore"];
        like(wanted, names.map(str::to_owned))
    }

    #[test]
    fn words_in_common_come_first() {
        assert_eq!(offered("ada storm"), ["Ada/The storm", "Ada/The harbour"]);
        assert_eq!(offered("harbour"), ["Harbour lore", "Ada/The harbour"]);
    }

    #[test]
    fn a_name_may_be_mistyped() {
        assert_eq!(offered("Adda"), ["Ada/The harbour", "Ada/The storm"]);
        assert_eq!(offered("Harbor lore"), ["Harbour lore"]);
        assert_eq!(offered("Zoe"), Vec::<String>::new());
        assert_eq!(offered(""), Vec::<String>::new());
    }
}
