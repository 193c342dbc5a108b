//! Names for the two sides of a comparison.

use forklore_tavern::work::compare::LoreAt;

/// Names for the two sides, without their common prefix.
pub(crate) fn side_names(left: &LoreAt, right: &LoreAt) -> [String; 2] {
    if left.label == right.label {
        return [left, right].map(|lore| moment(lore.message));
    }
    let home = |label: &str| label.find(['/', ':']).map_or(0, |at| at + 1);
    let (one, other) = (home(&left.label), home(&right.label));
    let is_common = left.label[..one] == right.label[..other];
    [(left, one), (right, other)].map(|(lore, home)| {
        let name = if is_common { &lore.label[home..] } else { &lore.label[..] };
        match lore.message {
            Some(message) => format!("{name}@{message}"),
            None => name.to_owned(),
        }
    })
}

fn moment(message: Option<usize>) -> String {
    message.map_or_else(|| "now".to_owned(), |message| format!("message {message}"))
}

/// The full name, with its message.
pub(crate) fn full_name(lore: &LoreAt) -> String {
    match lore.message {
        Some(message) => format!("{} at message {message}", lore.label),
        None => lore.label.clone(),
    }
}
