// A headless Chromium with pages that show SillyTavern.

import { chromium } from 'playwright-core';

import { TavernPage } from './page.mjs';
import { PATIENCE } from './until.mjs';
import { Watch } from './watch.mjs';

const EXECUTABLE = process.env.FORKLORE_CHROMIUM ?? '/usr/bin/chromium-headless-shell';

/** Nothing may connect to anything but loopback, and Chromium must not try. */
const FLAGS = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
];

export const VIEWPORTS = {
    desktop: { viewport: { width: 1280, height: 900 } },
    phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
};

/** Ends with this process, whatever happens to it. */
export function launchBrowser() {
    return chromium.launch({
        executablePath: EXECUTABLE,
        args: FLAGS,
        // Its own handlers would only end the browser; see sillytavern.mjs.
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
    });
}

/**
 * Opens SillyTavern in its own context, and waits until it is ready.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {import('./sillytavern.mjs').SillyTavern} st
 * @param {{ viewport?: keyof typeof VIEWPORTS, locale?: string, beforeLoading?: (raw: import('playwright-core').Page) => Promise<void> }} [options]
 *   `locale` such as `zh-CN`
 * @returns {Promise<TavernPage>}
 */
export async function openPage(browser, st, { viewport = 'desktop', locale = 'en-US', beforeLoading } = {}) {
    const context = await browser.newContext({
        ...VIEWPORTS[viewport],
        locale,
        reducedMotion: 'reduce',
        // SillyTavern would compress its modules anew for every page, half a second of processor time.
        extraHTTPHeaders: { 'accept-encoding': 'identity' },
    });
    context.setDefaultTimeout(PATIENCE);
    try {
        const raw = await context.newPage();
        const page = new TavernPage(raw, await Watch.on(raw), st);
        await beforeLoading?.(raw);
        await raw.goto(st.url);
        await page.ready();
        return page;
    } catch (error) {
        await context.close();
        throw error;
    }
}
