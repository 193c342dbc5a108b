// What a chat's metadata says. Anything may have written it, so that what should be a text may be something else.

/** The lorebook that the chat is bound to. @param {ST.Metadata | null | undefined} metadata */
export function boundBook(metadata) {
    return textOrNull(metadata?.world_info);
}

/** The lorebooks that the chat's own copy replaces in the prompt. @param {ST.Metadata | null | undefined} metadata */
export function replacedBooks(metadata) {
    const names = metadata?.forklore_instead;
    return Array.isArray(names) ? names.flatMap((name) => textOrNull(name) ?? []) : [];
}

/** What tells this chat from one of the same name. @param {ST.Metadata} metadata */
export function integrityOf({ integrity }) {
    return textOrNull(integrity);
}

/** The copy that replaces them; `null` if any lorebook does that the chat is bound to. @param {ST.Metadata | null | undefined} metadata */
export function replacingBook(metadata) {
    return textOrNull(metadata?.forklore_copy);
}

/** @param {unknown} value */
function textOrNull(value) {
    return typeof value === 'string' && value ? value : null;
}
