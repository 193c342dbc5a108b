// SillyTavern's lorebook editor.

import { reloadEditor } from '/scripts/world-info.js';

const ENTRIES = '#world_popup_entries_list';
/** In milliseconds: how long to wait before the editor is refreshed, while it is in use. */
const RETRY_REFRESH_AFTER = 1000;
/** How long, in milliseconds, and how many times to wait for a save before the editor is switched to another book. */
const RETRY_SWITCH_AFTER = 100;
const MAX_SWITCH_TRIES = 100;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let refreshTimer;

/**
 * Makes the editor show the book in the page's cache, as soon as it is not in use. Until then it shows its own copy,
 * which is also what it would save.
 * @param {string} name @param {() => boolean} isUnsaved whether an edit is not saved yet
 * @param {{atOnce?: boolean}} [options] the user has just settled a conflict, so the fields are out of date
 */
export function refresh(name, isUnsaved, { atOnce = false } = {}) {
    clearTimeout(refreshTimer);
    if (shownBook() !== name) {
        return;
    }
    if (!atOnce && (isTyping() || isOccupied() || isUnsaved())) {
        refreshTimer = setTimeout(refresh, RETRY_REFRESH_AFTER, name, isUnsaved);
        return;
    }
    const focused = focusedField();
    const open = document.querySelectorAll(`${ENTRIES} .world_entry:has(.inline-drawer-icon.up)`);
    const unfolded = [...open].map((entry) => entry.getAttribute('uid'));
    const pages = globalThis.jQuery?.('#world_info_pagination');
    const page = pages?.data('pagination') ? pages.pagination('getCurrentPageNum') : 1;
    const old = document.querySelector(`${ENTRIES} .world_entry`);
    reloadEditor(name);
    const isShown = () => old?.isConnected !== true && document.querySelector(`${ENTRIES} .world_entry`);
    waitFor(isShown, () => {
        if (page > 1 && page <= pages.pagination('getTotalPage')) {
            pages.pagination('go', page);
        }
        for (const uid of unfolded) {
            /** @returns {HTMLElement | null} */
            const icon = () => document.querySelector(`${ENTRIES} .world_entry[uid="${Number(uid)}"] .inline-drawer-icon.down`);
            waitFor(icon, () => icon()?.click());
        }
        /** @returns {HTMLElement | null} */
        const field = () => focused ? document.querySelector(focused) : null;
        waitFor(field, () => field()?.focus());
    });
}

/** The name of the book in the editor, or `null`. */
export function shownBook() {
    /** @type {HTMLOptionElement | null} */
    const chosen = document.querySelector('#world_editor_select option:checked');
    return chosen?.value ? chosen.textContent : null;
}

/** Calls the listener whenever a book is shown, even if it is the same one. @param {() => void} listener */
export function onShown(listener) {
    // SillyTavern selects books through jQuery, and only jQuery listeners are notified of that.
    globalThis.jQuery?.('#world_editor_select').on('change', () => listener());
}

export function show(/** @type {string} */ name) {
    reloadEditor(name, true);
}

/**
 * Switches from one book to another, as soon as all edits of the first one are saved. Does nothing while the user is
 * typing.
 * @param {string} shown @param {string} name
 * @param {{isUnsaved: () => boolean, isWanted: () => boolean}} when
 */
export async function switchTo(shown, name, { isUnsaved, isWanted }) {
    for (let tries = 0; tries < MAX_SWITCH_TRIES && isWanted() && shownBook() === shown && !isTyping(); tries++) {
        if (!isOccupied() && !isUnsaved()) {
            show(name);
            return;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_SWITCH_AFTER));
    }
}

/** Whether the user is in a field of an entry, or has searched for something. */
function isTyping() {
    /** @type {HTMLInputElement | null} */
    const search = document.querySelector('#world_info_search');
    return Boolean(document.activeElement?.closest(ENTRIES) && document.activeElement.matches('input, textarea, select')) || Boolean(search?.value);
}

/** Whether a dialog or a loading screen is open, or an entry is being dragged. */
function isOccupied() {
    return Boolean(document.querySelector('dialog[open], .ui-sortable-helper'));
}

/** A selector for the focused field, so that it can be found again. */
function focusedField() {
    const field = document.activeElement;
    const uid = field?.closest(`${ENTRIES} .world_entry`)?.getAttribute('uid');
    const name = field?.getAttribute('name');
    return field && uid && name ? `${ENTRIES} .world_entry[uid="${Number(uid)}"] ${field.localName}[name="${CSS.escape(name)}"]` : null;
}

/** Continues as soon as something exists, or gives up. @param {() => unknown} isThere @param {() => void} goOn */
function waitFor(isThere, goOn, tries = 40) {
    if (isThere()) {
        goOn();
    } else if (tries > 0) {
        setTimeout(waitFor, 50, isThere, goOn, tries - 1);
    }
}
