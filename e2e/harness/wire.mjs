// The network between a page and its server: the order of requests, and requests that are held back.

import { gunzipSync } from 'node:zlib';

import { until } from './until.mjs';

/** @typedef {import('./page.mjs').TavernPage} TavernPage */

/** The names of the books that the page writes from now on, in order. @param {TavernPage} page */
export function bookWrites(page) {
    const names = [];
    page.raw.on('request', (request) => {
        if (endpointOf(request) === '/api/worldinfo/edit') {
            names.push(bodyOf(request)?.name);
        }
    });
    return names;
}

/**
 * Holds back the first request that matches until it is released.
 *
 * @param {TavernPage} page
 * @param {string} endpoint
 * @param {(body: any) => unknown} [matches]
 */
export async function holdRequest(page, endpoint, matches = () => true) {
    let held = null;
    const gate = deferred();
    const done = deferred();
    const wanted = (url) => url.pathname === endpoint;
    await page.raw.route(wanted, async (route) => {
        if (held || !matches(bodyOf(route.request()))) {
            await route.fallback();
            return;
        }
        held = route.request();
        await gate.promise;
        await route.continue();
        done.resolve();
    });
    return {
        /** Waits until it was sent, as far as the page can tell. */
        reached: () => until(`a request to ${endpoint}`, () => held),
        async letGo() {
            gate.resolve();
            await done.promise;
            await page.raw.unroute(wanted);
        },
    };
}

/**
 * Holds back every request that matches until they are released.
 *
 * @param {TavernPage} page
 * @param {string} endpoint
 * @param {(body: any) => unknown} matches
 */
export async function holdRequests(page, endpoint, matches) {
    const gate = deferred();
    const wanted = (url) => url.pathname === endpoint;
    await page.raw.route(wanted, async (route) => {
        if (matches(bodyOf(route.request()))) {
            await gate.promise;
        }
        await route.fallback();
    });
    return {
        async letGo() {
            gate.resolve();
            await page.raw.unroute(wanted);
        },
    };
}

/**
 * Makes a page's requests slow, each by a time of its own, so that they overtake each other: half of them on their way to the
 * server, and half on their way back.
 *
 * @param {TavernPage} page
 * @param {(endpoint: string) => number} delay in milliseconds; 0 for a request that is not held
 * @returns {Promise<() => Promise<void>>} ends it
 */
export async function slowDown(page, delay) {
    const isOurs = (url) => url.pathname.startsWith('/api/') && !url.search;
    let isBack = false;
    await page.raw.route(isOurs, async (route) => {
        const time = delay(endpointOf(route.request()));
        if (!time) {
            await route.fallback();
            return;
        }
        isBack = !isBack;
        // The page may be gone by then.
        await heldFor(route, time, isBack).catch(() => {});
    });
    return () => page.raw.unroute(isOurs);
}

async function heldFor(route, time, isBack) {
    const response = isBack ? await route.fetch() : null;
    await new Promise((resolve) => setTimeout(resolve, time));
    await (response ? route.fulfill({ response }) : route.continue());
}

/** @param {import('playwright-core').Request} request */
export function endpointOf(request) {
    return new URL(request.url()).pathname;
}

/** A request's body, if it is JSON. @param {import('playwright-core').Request} request */
export function bodyOf(request) {
    const bytes = request.postDataBuffer();
    if (!bytes) {
        return null;
    }
    const isGzip = request.headers()['content-encoding'] === 'gzip';
    try {
        return JSON.parse(String(isGzip ? gunzipSync(bytes) : bytes));
    } catch {
        return null;
    }
}

function deferred() {
    const result = {};
    result.promise = new Promise((resolve, reject) => Object.assign(result, { resolve, reject }));
    return result;
}
