// Intercepts the page's requests that write, rename or delete chats and books or read a book. All others pass
// untouched.

import { PATHS } from './requests.js';
/** @import { RequestKind } from './requests.js' */

/**
 * A request that is held back until it is sent.
 * @typedef {object} HeldRequest
 * @property {string} path
 * @property {RequestKind} kind
 * @property {() => Promise<string>} text the body, decompressed; it is read once
 * @property {(changed?: string) => Promise<Response>} send sends it, as it is or with a different body; only once
 */

/**
 * @typedef {Pick<typeof globalThis, 'fetch' | 'location'>} Scope
 * @typedef {RequestInfo | URL} Resource
 * @typedef {RequestInit | undefined} Init
 */

/**
 * Wraps `scope.fetch`. If `handle` throws before it has sent a request, the request is sent unchanged.
 * @param {Scope} scope
 * @param {(held: HeldRequest) => Promise<Response>} handle
 * @param {(error: unknown) => void} report
 * @returns {{fetch: typeof fetch, remove: () => void}} the original fetch, and a function that removes the tap
 */
export function installTap(scope, handle, report) {
    const plain = scope.fetch;
    /** @type {typeof fetch} */
    const untapped = (resource, init) => plain.call(scope, resource, init);

    /** @type {typeof fetch} */
    function tapped(resource, init) {
        const path = pathOf(scope, resource, init);
        const kind = path && PATHS[path];
        return kind ? hold(path, kind, resource, init) : untapped(resource, init);
    }

    /** @param {string} path @param {RequestKind} kind @param {Resource} resource @param {Init} init */
    async function hold(path, kind, resource, init) {
        /** @type {Promise<Response> | undefined} */
        let sent;
        /** @type {Promise<string> | undefined} */
        let text;
        /** @type {HeldRequest} */
        const held = {
            path,
            kind,
            text: () => (text ??= bodyText(resource, init)),
            send: (changed) => {
                sent ??= changed === undefined ? untapped(resource, init) : untapped(...withBody(resource, init, changed));
                return sent;
            },
        };
        try {
            return await handle(held);
        } catch (error) {
            if (!sent) {
                report(error);
            }
            return held.send();
        }
    }

    scope.fetch = tapped;
    return {
        fetch: untapped,
        remove: () => {
            // If another extension has wrapped fetch in the meantime, the tap cannot be removed.
            if (scope.fetch === tapped) {
                scope.fetch = plain;
            }
        },
    };
}

/** The path of a POST request to our own server, or `null`. @param {Scope} scope @param {Resource} resource @param {Init} init */
function pathOf(scope, resource, init) {
    try {
        const request = resource instanceof Request ? resource : null;
        const method = init?.method ?? request?.method ?? 'GET';
        if (method.toUpperCase() !== 'POST') {
            return null;
        }
        const base = scope.location?.href ?? 'http://localhost/';
        const url = new URL(request?.url ?? String(resource), base);
        return url.origin === new URL(base).origin ? url.pathname : null;
    } catch {
        return null;
    }
}

/** @param {Resource} resource @param {Init} init */
async function bodyText(resource, init) {
    const body = init?.body;
    if (typeof body === 'string') {
        return body;
    }
    const request = resource instanceof Request ? resource : null;
    const headers = new Headers(init?.headers ?? request?.headers);
    const response = new Response(body ?? request?.clone().body);
    if (!response.body || (headers.get('content-encoding') ?? '').toLowerCase() !== 'gzip') {
        return response.text();
    }
    return new Response(response.body.pipeThrough(new DecompressionStream('gzip'))).text();
}

/** The same request with a different body, which is never compressed. @param {Resource} resource @param {Init} init @param {string} text */
function withBody(resource, init, text) {
    const request = resource instanceof Request ? resource : null;
    const headers = new Headers(init?.headers ?? request?.headers);
    headers.delete('content-encoding');
    headers.delete('content-length');
    /** @type {RequestInit} */
    const changed = { ...(request && { credentials: request.credentials }), ...init, method: 'POST', headers, body: text };
    return /** @type {const} */ ([request?.url ?? resource, changed]);
}
