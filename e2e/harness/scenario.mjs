// The scenarios of a file share a SillyTavern and a browser, and usually a page.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { launchBrowser, openPage, VIEWPORTS } from './browser.mjs';
import { Files } from './files.mjs';
import { failures, isNight, isSince } from './places.mjs';
import { SillyTavern } from './sillytavern.mjs';
import { Story } from './story.mjs';

/** In milliseconds: a scenario may need its patience several times. */
export const LIMIT = 600_000;

/** Why a scenario that also runs solo only runs in `.ci/nightly` in a group. */
export const SOLO_IS_DAILY = 'solo it runs for every change';

/** Why only two of four scenarios run for every change: solo and in a group, begun in the parent and in the child. */
export const BOTH_ARE_DAILY = 'solo and groups, parents and children run for every change, but not each with each';

/** Why the scenarios in Chinese only run in `.ci/nightly`. */
export const TEXTS_ARE_DAILY = 'that every text has a translation without English is checked for every change';

/** Why a scenario in one theme only runs in `.ci/nightly`. */
export const OTHER_THEME_IS_DAILY = 'in another theme it runs for every change';

/**
 * What a scenario must cause and is otherwise forbidden: console errors, error toasts, a save refused because the file
 * is a different chat.
 *
 * @typedef {object} Expected
 * @property {RegExp[]} [errors] each must be in the console, and no other errors
 * @property {RegExp[]} [toasts] each must be among the error toasts, and no others
 * @property {boolean} [refusedSave]
 * @property {boolean} [ours] only Forklore's messages count, because other extensions have errors of their own
 */

/**
 * @typedef {object} ScenarioOptions
 * @property {boolean} [group] whether tales are about groups by default
 * @property {boolean} [gzip] whether request bodies are gzipped, if SillyTavern supports it
 * @property {boolean} [freshPage] uses a newly loaded page
 * @property {(raw: import('playwright-core').Page) => Promise<void>} [beforeLoading] implies `freshPage`
 * @property {'desktop' | 'phone'} [viewport] scenarios of one viewport and locale share a page
 * @property {string} [locale]
 * @property {Expected} [expects]
 * @property {number} [limit] in milliseconds
 * @property {string | false} [nightly] why it only runs in `.ci/nightly`
 * @property {boolean} [besides] whether other extensions are loaded; their errors do not count
 * @property {string} [since] the first version of SillyTavern with the feature
 * @property {boolean} [skip]
 * @property {boolean} [only]
 */

/**
 * @typedef {object} Given
 * @property {SillyTavern} st
 * @property {import('./page.mjs').TavernPage} page
 * @property {Files} files
 * @property {Story} story
 */

/**
 * Sets up the scenarios of a file, and returns the function that adds one.
 *
 * @param {import('./seed.mjs').ServerOptions} [serverOptions]
 */
export function stage(serverOptions = {}) {
    /** @type {SillyTavern} */ let st;
    /** @type {import('playwright-core').Browser} */ let browser;
    /** By viewport and locale. @type {Map<string, import('./page.mjs').TavernPage>} */ const shared = new Map();

    let isWanted = false;

    before(async () => {
        // Until all scenarios have been added.
        await new Promise((resolve) => setImmediate(resolve));
        if (!isWanted) {
            return;
        }
        const launching = launchBrowser().then((launched) => (browser = launched));
        try {
            st = await SillyTavern.start(serverOptions);
        } finally {
            await launching;
        }
    }, { timeout: 330_000 });

    after(async () => {
        await browser?.close();
        await st?.stop();
    });

    /**
     * @param {string} name
     * @param {ScenarioOptions} options
     * @param {(given: Given) => Promise<void>} act
     */
    return function scenario(name, options, act) {
        const { group = false, viewport = 'desktop', locale = 'en-US', beforeLoading, nightly, since, only } = options;
        const ours = Boolean(options.besides);
        const expects = { ours, ...options.expects };
        const gzip = Boolean(options.gzip) && isSince('1.17');
        const own = Boolean(options.freshPage || beforeLoading);
        const sort = `${viewport}, ${locale}`;
        const isMissing = since && !isSince(since) && `SillyTavern has this since ${since}`;
        const skip = options.skip || isMissing || (nightly && !isNight && `only in .ci/nightly: ${nightly}`);
        isWanted ||= !skip;
        test(name, { timeout: options.limit ?? LIMIT, skip, only }, async () => {
            let page = own ? undefined : shared.get(sort);
            const logged = st.log().length;
            fs.rmSync(pictureOf(name), { force: true });
            try {
                if (!page) {
                    page = await openPage(browser, st, { viewport, locale, beforeLoading });
                    await assertNothingUnexpected(page, { ours });
                }
                if (!own) {
                    shared.set(sort, page);
                    await page.raw.setViewportSize(VIEWPORTS[viewport].viewport);
                }
                if (page.gzip !== gzip) {
                    await page.compressRequests(gzip);
                }
                await act({ st, page, files: new Files(st.user), story: new Story(st, { group }) });
                await page.settle();
                await assertNothingUnexpected(page, expects);
            } catch (error) {
                // The next scenario must not inherit this one's mess.
                if (!own) {
                    shared.delete(sort);
                }
                await report(name, page, st.log().slice(logged));
                await page?.close();
                throw error;
            }
            if (own) {
                await page.close();
            } else {
                await page.clearToasts();
                page.watch.clear();
            }
        });
    };
}

/** @param {import('./page.mjs').TavernPage} page @param {Expected} expected */
export async function assertNothingUnexpected(page, { errors = [], toasts = [], refusedSave = false, ours = false }) {
    const { watch } = page;
    const counts = (line) => !ours || /forklore/i.test(line);
    assert.deepEqual(unmatched(watch.errors.filter(counts), errors), { unexpected: [], missing: [] }, 'what is red in the console');
    assert.deepEqual(unmatched(watch.toastsOf('error').filter(counts), toasts), { unexpected: [], missing: [] }, 'toasts of errors');
    assert.equal(watch.refusedSaves.length > 0, refusedSave, 'whether a save was refused');
    assert.equal(await page.dialog().count(), 0, 'a dialog is still open');
}

function unmatched(lines, patterns) {
    return {
        unexpected: lines.filter((line) => !patterns.some((pattern) => pattern.test(line))),
        missing: patterns.filter((pattern) => !lines.some((line) => pattern.test(line))).map(String),
    };
}

function pictureOf(name) {
    return path.join(failures, `${name.replace(/[^\p{L}\p{N}]+/gu, '-')}.png`);
}

async function report(name, page, log) {
    if (page) {
        fs.mkdirSync(failures, { recursive: true });
        const picture = pictureOf(name);
        await page.raw.screenshot({ path: picture }).catch((error) => console.error(`no screenshot: ${error.message}`));
        const dialogs = await page.raw.locator('dialog[open]').allInnerTexts().catch(() => []);
        console.error(`"${name}" failed; ${picture}\n${page.watch.told()}${dialogs.map((text) => `\nopen dialog: ${text}`).join('')}`);
    }
    console.error(`SillyTavern printed meanwhile:\n${log.trim() || '(nothing)'}`);
}
