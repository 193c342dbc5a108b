// SillyTavern's own World Info editor, used by someone who only reads.

import { book, entry } from './lore.mjs';
import { until } from './until.mjs';

/** @typedef {import('./page.mjs').TavernPage} TavernPage */

const LIST = '#world_popup_entries_list';

/** In milliseconds: the editor takes a while to show a page of entries. */
const RARELY = { every: 200 };

/** Fields with the same meaning as SillyTavern 1.19 gives them, but written differently. */
const ODD = [
    { key: null }, { keysecondary: null }, { comment: null }, { constant: null, vectorized: null }, { selective: false },
    { role: 1 }, { role: null, position: 4 }, { delayUntilRecursion: false }, { sticky: 0, cooldown: null, delay: 0 }, { addMemo: true },
    { useProbability: false }, { order: null }, { outletName: null, group: null, automationId: null }, { triggers: null },
    { characterFilter: [] }, { characterFilter: { names: [], tags: [], isExclude: false } }, { matchScenario: null, ignoreBudget: null, groupOverride: null },
    { content: 'Two lines,\r\nwritten on Windows.' }, { displayIndex: null }, { foreign: { kept: [1, null] }, extensions: {} },
];

/** Fifty entries: as made by importers, as made by SillyTavern, and odd ones. */
export function fiftyEntries() {
    const sparse = (uid) => ({ uid, key: [`key${uid}`], content: `content of ${uid}` });
    const entries = Array.from({ length: 50 }, (_, uid) => {
        if (uid >= 30) {
            return entry(uid, { ...ODD[uid - 30] });
        }
        return uid % 2 ? entry(uid, { keysecondary: uid % 4 === 1 ? ['harbour'] : [], order: uid, position: uid % 3 ? 0 : 4 }) : sparse(uid);
    });
    return book(entries, { originalData: { name: 'The card', entries: [{ uid: 1, keys: ['key1'], content: 'content of 1' }] } });
}

/**
 * Opens and closes every entry of a book, page by page, and lets SillyTavern save the book.
 *
 * @param {TavernPage} page
 * @param {string} book
 * @returns {Promise<number>} the number of entries that were opened
 */
export async function lookThrough(page, book) {
    await page.showInEditor(book);
    let seen = 0;
    for (let isLast = false; !isLast;) {
        const count = await entriesShown(page);
        await pressAll(page);
        await until('all entries to be open', async () => (await openEntries(page)) === count, RARELY);
        seen += count;
        await pressAll(page);
        // It removes a closed entry's form a second later.
        await until('all entries to be closed', async () => (await openEntries(page)) === 0, RARELY);
        isLast = !(await turnPage(page));
    }
    await saveAsItIs(page, book);
    await page.raw.locator('#WIDrawerIcon').click();
    await page.settle();
    return seen;
}

/** The list is complete when all of its entries are. */
async function entriesShown(page) {
    let before = 0;
    return until('the entries to be shown', async () => {
        const count = await page.raw.locator(`${LIST} .world_entry`).count();
        const isStill = count > 0 && count === before;
        before = count;
        return isStill && count;
    }, RARELY);
}

function openEntries(page) {
    return page.raw.locator(`${LIST} .world_entry textarea[name="content"]`).count();
}

function pressAll(page) {
    return page.raw.evaluate((list) => {
        document.querySelectorAll(`${list} .world_entry .inline-drawer-toggle`).forEach((toggle) => toggle.click());
    }, LIST);
}

/** @returns {Promise<boolean>} whether there is another page */
function turnPage(page) {
    return page.raw.evaluate((list) => {
        const next = document.querySelector('#world_info_pagination .paginationjs-next:not(.disabled)');
        if (next) {
            document.querySelector(list).replaceChildren();
            next.click();
        }
        return Boolean(next);
    }, LIST);
}

/** Types a field's current content into it, which SillyTavern saves like any edit. */
async function saveAsItIs(page, book) {
    const title = page.raw.locator(`${LIST} .world_entry textarea[name="comment"]`).first();
    await page.savingBook(book, async () => title.fill(await title.inputValue()));
}
