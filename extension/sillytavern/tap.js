// Sees every request of the page that writes, renames or deletes chats and books or reads a book, and lets the rest pass untouched.

import { PATHS } from './requests.js';

/**
 * One request, held until somebody lets it go.
 * @typedef {object} HeldRequest
 * @property {string} path
 * @property {string} kind one of the values of PATHS
 * @property {() => Promise<string>} text the body, unpacked
 * @property {(text?: string) => Promise<Response>} send lets it go, as it is or with another body; once only
 */

/**
 * Wraps `scope.fetch`. If `handle` throws before it has let a request go, the request goes out as it was.
 * @param {typeof globalThis} scope
 * @param {(held: HeldRequest) => Promise<Response>} handle
 * @param {(error: unknown) => void} report
 * @returns {{fetch: typeof fetch, remove: () => void}} the fetch that nobody listens to, and the way back
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
        const held = {
            path,
            kind,
            text: () => bodyText(resource, init),
            send: (text) => {
                sent ??= text === undefined ? untapped(resource, init) : untapped(...withBody(resource, init, text));
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
            // Somebody may have wrapped us in the meantime; then there is no way out.
            if (scope.fetch === tapped) {
                scope.fetch = plain;
            }
        },
    };
}

/** The path of a request to our own server that can change something, or `null`. */
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

/** The same request with another body, which is plain whatever the old one was. */
function withBody(resource, init, text) {
    const isRequest = typeof Request !== 'undefined' && resource instanceof Request;
    const headers = new Headers(init?.headers ?? (isRequest ? resource.headers : undefined));
    headers.delete('content-encoding');
    headers.delete('content-length');
    const target = isRequest ? resource.url : resource;
    const credentials = isRequest ? resource.credentials : undefined;
    return [target, { ...(isRequest ? { credentials } : {}), ...init, method: 'POST', headers, body: text }];
}
