// SillyTavern's editor of books.

import { reloadEditor } from '/scripts/world-info.js';

const ENTRIES = '#world_popup_entries_list';
/** In milliseconds. */
const RETRY_REFRESH_AFTER = 1000;
/** So long another book waits to be shown, in so many looks. */
const RETRY_SWITCH_AFTER = 100;
const MAX_SWITCH_TRIES = 100;
let refreshTimer = null;

/**
 * Lets the editor show a book as the page's memory has it, as soon as nobody is at work in it. Until then it shows
 * what its own copy holds, which is what it would save.
 * @param {string} name @param {() => boolean} isUnsaved whether something that was typed is not saved yet
 * @param {{atOnce?: boolean}} [options] somebody has just decided what it holds, so what is in a field is out of date
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
            const icon = () => document.querySelector(`${ENTRIES} .world_entry[uid="${Number(uid)}"] .inline-drawer-icon.down`);
            waitFor(icon, () => icon().click());
        }
        const field = () => focused && document.querySelector(focused);
        waitFor(field, () => field().focus());
    });
}

/** The name of the book that is shown, or `null`. */
export function shownBook() {
    const chosen = document.querySelector('#world_editor_select option:checked');
    return chosen?.value ? chosen.textContent : null;
}

/** Tells whenever another book is shown, or the same one again. */
export function onShown(listener) {
    // SillyTavern chooses books by jQuery, which only its own listeners hear.
    globalThis.jQuery?.('#world_editor_select').on('change', () => listener());
}

export function show(name) {
    reloadEditor(name, true);
}

/**
 * Shows a book in place of another, as soon as nothing of that one waits to be saved. Nobody's field is taken away.
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

/** Whether somebody is in a field of an entry, or looks at what they searched for. */
function isTyping() {
    return Boolean(document.activeElement?.closest(ENTRIES) && document.activeElement.matches('input, textarea, select'))
        || Boolean(document.querySelector('#world_info_search')?.value);
}

/** Whether a question or a loading chat is on the screen, or an entry is being dragged. */
function isOccupied() {
    return Boolean(document.querySelector('dialog[open], .ui-sortable-helper'));
}

/** Where the field can be found again that somebody is in. */
function focusedField() {
    const field = document.activeElement;
    const uid = field?.closest(`${ENTRIES} .world_entry`)?.getAttribute('uid');
    const name = field?.getAttribute('name');
    return uid && name ? `${ENTRIES} .world_entry[uid="${Number(uid)}"] ${field.localName}[name="${CSS.escape(name)}"]` : null;
}

/** Goes on as soon as something is there, or not at all. */
function waitFor(isThere, goOn, tries = 40) {
    if (isThere()) {
        goOn();
    } else if (tries > 0) {
        setTimeout(waitFor, 50, isThere, goOn, tries - 1);
    }
}
