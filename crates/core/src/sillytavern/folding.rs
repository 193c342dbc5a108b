//! The key by which names are compared, as `equalsIgnoreCaseAndAccents` of SillyTavern's page does.

/// A key that is equal for names that SillyTavern or a case-insensitive file system cannot
/// distinguish.
pub fn folded(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { beyond_ascii(name) }
}

#[cfg(not(target_arch = "wasm32"))]
fn beyond_ascii(name: &str) -> String {
    use unicode_normalization::UnicodeNormalization as _;
    let letters = name.nfd().filter(|letter| !('\u{300}'..='\u{36f}').contains(letter));
    letters.collect::<String>().to_lowercase()
}

/// A browser has Unicode's tables, so the page does not load them a second time.
#[cfg(target_arch = "wasm32")]
static PAGE: std::sync::OnceLock<fn(&str) -> String> = std::sync::OnceLock::new();

#[cfg(target_arch = "wasm32")]
fn beyond_ascii(name: &str) -> String {
    PAGE.get().expect("the page has said how it folds names")(name)
}

/// Says how the page folds a name. Without it, only names in ASCII can be compared there.
#[cfg(target_arch = "wasm32")]
pub fn use_page(fold: fn(&str) -> String) {
    // A second start of the same module changes nothing.
    let _ = PAGE.set(fold);
}
