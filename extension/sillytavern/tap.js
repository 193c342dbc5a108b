// Intercepts the page's requests that write, rename or delete chats and books or read a book. All others pass
// untouched.

import { PATHS } from './requests.js';

/**
 * A request that is held back until it is sent.
 * @typedef {object} HeldRequest
 * @property {string} path
 * @property {string} kind one of the values of PATHS
 * @property {() => Promise<string>} text the body, decompressed; it is read once
 * @property {(changed?: string) => Promise<Response>} send sends it, as it is or with a different body; only once
 */

/**
 * Wraps `scope.fetch`. If `handle` throws before it has sent a request, the request is sent unchanged.
 * @param {typeof globalThis} scope
 * @param {(held: HeldRequest) => Promise<Response>} handle
 * @param {(error: unknown) => void} report
 * @returns {{fetch: typeof fetch, remove: () => void}} the original fetch, and a function that removes the tap
 */
export function installTap(scope, handle, report) {
    const plain = scope.fetch;
    const untapped = (resource, init) => plain.call(scope, resource, init);

    function tapped(resource, init) {
        const path = pathOf(scope, resource, init);
        const kind = path && PATHS[path];
        return kind ? hold(path, kind, resource, init) : untapped(resource, init);
    }

    async function hold(path, kind, resource, init) {
        let sent;
        let text;
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

/** The path of a POST request to our own server, or `null`. */
function pathOf(scope, resource, init) {
    try {
        const isRequest = typeof Request !== 'undefined' && resource instanceof Request;
        const method = init?.method ?? (isRequest ? resource.method : 'GET');
        if (method.toUpperCase() !== 'POST') {
            return null;
        }
        const base = scope.location?.href ?? 'http://localhost/';
        const url = new URL(isRequest ? resource.url : String(resource), base);
        return url.origin === new URL(base).origin ? url.pathname : null;
    } catch {
        return null;
    }
}

/** @returns {Promise<string>} */
async function bodyText(resource, init) {
    const body = init?.body;
    if (typeof body === 'string') {
        return body;
    }
    const headers = new Headers(init?.headers ?? (typeof resource === 'object' ? resource.headers : undefined));
    const response = body == null && typeof resource === 'object' && 'clone' in resource
        ? new Response(resource.clone().body)
        : new Response(body);
    if ((headers.get('content-encoding') ?? '').toLowerCase() !== 'gzip') {
        return response.text();
    }
    return new Response(response.body.pipeThrough(new DecompressionStream('gzip'))).text();
}

/** The same request with a different body, which is never compressed. */
function withBody(resource, init, text) {
    const isRequest = typeof Request !== 'undefined' && resource instanceof Request;
    const headers = new Headers(init?.headers ?? (isRequest ? resource.headers : undefined));
    headers.delete('content-encoding');
    headers.delete('content-length');
    const target = isRequest ? resource.url : resource;
    const credentials = isRequest ? resource.credentials : undefined;
    return [target, { ...(isRequest ? { credentials } : {}), ...init, method: 'POST', headers, body: text }];
}
