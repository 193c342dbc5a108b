// SillyTavern's editor of books.

import { reloadEditor } from '/scripts/world-info.js';

const ENTRIES = '#world_popup_entries_list';
/** In milliseconds. */
const LOOK_AT_EDITOR = 1000;
let anew = null;

/**
 * Lets the editor show a book as the page's memory has it, as soon as nobody is at work in it. Until then it shows
 * what its own copy holds, which is what it would save.
 * @param {string} name @param {() => boolean} isUnsaved whether something that was typed is not saved yet
 */
export function showAnew(name, isUnsaved) {
    clearTimeout(anew);
    if (shownBook() !== name) {
        return;
    }
    if (isAtWork() || isUnsaved()) {
        anew = setTimeout(showAnew, LOOK_AT_EDITOR, name, isUnsaved);
        return;
    }
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
    });
}

function shownBook() {
    return document.querySelector('#world_editor_select option:checked')?.textContent ?? null;
}

/** Whether somebody types, searches, drags or answers a question. */
function isAtWork() {
    return Boolean(document.activeElement?.closest(ENTRIES) && document.activeElement.matches('input, textarea, select'))
        || Boolean(document.querySelector('dialog[open], .ui-sortable-helper'))
        || Boolean(document.querySelector('#world_info_search')?.value);
}

/** Goes on as soon as something is there, or not at all. */
function waitFor(isThere, goOn, tries = 40) {
    if (isThere()) {
        goOn();
    } else if (tries > 0) {
        setTimeout(waitFor, 50, isThere, goOn, tries - 1);
    }
}
