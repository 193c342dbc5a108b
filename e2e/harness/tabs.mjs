// Several tabs of one browser on the same SillyTavern, and tabs that are closed in the middle of something.

import { TavernPage } from './page.mjs';
import { until } from './until.mjs';
import { Watch } from './watch.mjs';

/**
 * Another tab beside a page. It has to be closed with `closeTab`: closing a page closes all of its tabs.
 *
 * @param {TavernPage} page
 * @param {{ beforeLoading?: (raw: import('playwright-core').Page) => Promise<void> }} [options]
 */
export async function openTab(page, { beforeLoading } = {}) {
    const raw = await page.raw.context().newPage();
    const tab = new TavernPage(raw, await Watch.on(raw), page.st);
    await raw.addInitScript(beMortal);
    await beforeLoading?.(raw);
    await raw.goto(page.st.url);
    await tab.ready();
    return tab;
}

/** Closes a tab as a user does: at once, whatever is in progress. @param {TavernPage} tab */
export async function closeTab(tab) {
    await tab.raw.close({ runBeforeUnload: false });
}

/**
 * @typedef {object} LastRequest
 * @property {string} endpoint
 * @property {boolean} arrives whether it reaches the server; the page gets no answer either way
 * @property {string} [about] the chat or book that it has to be about
 * @property {string} [notAbout] one that it must not be about
 */

/**
 * Runs an action in a tab that sends nothing more after a certain request.
 *
 * A request that is only held by the driver would still be sent when its page is closed, so this is done in the page.
 *
 * @param {TavernPage} tab
 * @param {LastRequest} last
 * @param {() => unknown} act
 */
export async function cutOff(tab, last, act) {
    await tab.raw.evaluate((last) => void (globalThis.mortal.last = last), last);
    await act();
    await until(`the last request, ${JSON.stringify(last)}`, () => isCutOff(tab));
}

/** @param {TavernPage} tab @returns {Promise<boolean>} whether the last request was sent */
export function isCutOff(tab) {
    return tab.raw.evaluate(() => globalThis.mortal.isGone);
}

/** Runs in the page, before anything else. */
function beMortal() {
    const mortal = { last: null, isGone: false };
    const never = new Promise(() => {});
    const { fetch } = window;
    const isLast = (resource, body) => {
        const { endpoint, about, notAbout } = mortal.last ?? {};
        if (!endpoint || new URL(resource?.url ?? resource, location.href).pathname !== endpoint) {
            return false;
        }
        const { file_name, id, name } = JSON.parse(body);
        const subject = file_name ?? id ?? name;
        return (about === undefined || subject === about) && (notAbout === undefined || subject !== notAbout);
    };
    window.fetch = async function (resource, init) {
        if (mortal.isGone) {
            return never;
        }
        if (!isLast(resource, init?.body)) {
            return fetch.call(this, resource, init);
        }
        if (mortal.last.arrives) {
            mortal.last = { ...mortal.last, endpoint: null };
            await fetch.call(this, resource, init);
        }
        mortal.isGone = true;
        return never;
    };
    const { send } = XMLHttpRequest.prototype;
    XMLHttpRequest.prototype.send = function (body) {
        if (!mortal.isGone) {
            send.call(this, body);
        }
    };
    globalThis.mortal = mortal;
}
