//! What somebody may have meant who typed a name that does not exist.

use forklore_core::sillytavern::names::folded;

/// So many are offered.
const MOST: usize = 5;
/// From here on two names look like one that was mistyped.
const ALIKE: f64 = 0.85;

/// Of these names, those that have words in common with what was typed, or look like it; the likeliest first.
pub fn like(wanted: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let key = folded(wanted);
    let words: Vec<&str> =
        key.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).collect();
    let score = |name: &str| {
        let name = folded(name);
        let hits = words.iter().filter(|word| name.contains(*word)).count();
        // A character is typed without its chat, and a chat without its character.
        let parts = name.split(['/', ':']).chain([&*name]);
        let alike = parts.map(|part| strsim::jaro_winkler(part, &key)).fold(0.0, f64::max);
        (hits > 0 || alike >= ALIKE).then_some((hits, alike))
    };
    let scored = names.into_iter().filter_map(|name| Some((score(&name)?, name)));
    let mut scored: Vec<((usize, f64), String)> = scored.collect();
    scored.sort_by(|(one, first), (other, second)| {
        other.0.cmp(&one.0).then(other.1.total_cmp(&one.1)).then_with(|| first.cmp(second))
    });
    scored.dedup_by(|one, other| one.1 == other.1);
    scored.into_iter().take(MOST).map(|(_, name)| name).collect()
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
