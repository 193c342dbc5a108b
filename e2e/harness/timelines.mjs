// The timeline view, as a user sees it.

import { PATIENCE, until } from './until.mjs';

/** @typedef {import('./page.mjs').TavernPage} TavernPage */

/** Opens the view from the wand menu and waits until it is drawn. @param {TavernPage} page */
export async function openTimelines(page) {
    await page.raw.locator('#extensionsMenuButton').click();
    await page.raw.locator('#forklore_wand_timelines').click();
    return timelines(page);
}

/** The open view. @param {TavernPage} page */
export async function timelines(page) {
    const view = page.raw.locator('.forklore_timelines');
    await view.locator('.forklore_card').first().waitFor();
    return view;
}

/** Waits until everything has been read. */
export async function caughtUp(view, within = PATIENCE) {
    await until('everything to be read', async () => (await view.locator('[data-state="unread"]').count()) === 0
        && !/reading/.test(await view.locator('.forklore_map_status').textContent()), { within });
}

/** A timeline on the map, by its full name. */
export function card(view, name) {
    return view.locator(`.forklore_card[data-id=${JSON.stringify(name)}]`);
}

/** Selects a timeline by searching for its name, so that it does not have to be visible. */
export async function chooseTimeline(view, name) {
    const search = view.getByRole('searchbox');
    await search.fill(name);
    for (;;) {
        await search.press('Enter');
        if ((await card(view, name).getAttribute('aria-selected')) === 'true') {
            break;
        }
    }
    await search.fill('');
}

/** The details of the selected timeline. */
export function details(view) {
    return view.locator('.forklore_side_content');
}

/** Presses one of the buttons below the details of the selected timeline. */
export async function act(view, label) {
    const grip = view.locator('.forklore_grip');
    if (await grip.isVisible() && (await grip.getAttribute('aria-expanded')) === 'false') {
        await grip.click();
    }
    await details(view).getByRole('button', { name: label, exact: true }).click();
}

/** Renames the file of the chosen timeline. @param {import('playwright-core').Locator} view @param {string} name */
export async function renameTo(view, name) {
    await act(view, 'Name…');
    const asked = view.page().locator('dialog[open]').last();
    await asked.getByLabel('Title').fill(name);
    await asked.getByLabel('Also rename the file').check();
    await asked.getByRole('button', { name: 'Save', exact: true }).click();
}

/** @param {TavernPage} page */
export async function leaveTimelines(page) {
    await page.raw.locator('.forklore_timelines').getByRole('button', { name: 'Close', exact: true }).click();
    await until('the view to be closed', async () => (await page.raw.locator('.forklore_timelines').count()) === 0);
}

/**
 * How long SillyTavern takes to show an empty popup: the least that this machine needs at the moment.
 *
 * @param {TavernPage} page
 * @returns {Promise<number>} milliseconds
 */
export function timeOfEmptyPopup(page) {
    return page.raw.evaluate(async () => {
        const { Popup, POPUP_TYPE } = SillyTavern.getContext();
        const began = performance.now();
        const popup = new Popup(document.createElement('div'), POPUP_TYPE.TEXT, '', { okButton: false });
        const shown = popup.show();
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        const took = performance.now() - began;
        await popup.completeCancelled();
        await shown;
        return took;
    });
}

/**
 * How long it takes from the click to the drawn view, measured by the page itself. The view is left open.
 *
 * @param {TavernPage} page
 * @returns {Promise<number>} milliseconds
 */
export function timeToDraw(page) {
    return page.raw.evaluate(async () => {
        performance.clearMarks('forklore:timelines-drawn');
        const began = performance.now();
        document.getElementById('forklore_wand_timelines').click();
        while (!performance.getEntriesByName('forklore:timelines-drawn').length) {
            await new Promise(requestAnimationFrame);
        }
        // Drawn means visible on the screen.
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return performance.now() - began;
    });
}
