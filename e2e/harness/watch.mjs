// What a page reports while it is driven: console, toasts, refused saves, and whether the network is idle.

import { until } from './until.mjs';

const QUIET = 250;

export class Watch {
    /** Errors in the console, including uncaught ones. @type {string[]} */
    errors = [];
    /** @type {string[]} */
    warnings = [];
    /** @type {{ type: 'error' | 'warning' | 'success' | 'info', text: string }[]} */
    toasts = [];
    /** Chats that SillyTavern did not save because the file on disk is a different chat. @type {string[]} */
    refusedSaves = [];
    /**
     * The endpoints of all POST requests, in order, and whether their bodies were gzipped.
     * @type {{ endpoint: string, gzip: boolean }[]}
     */
    posts = [];

    /** @type {import('playwright-core').Page} */
    #raw;
    #underWay = new Set();
    #lastSeen = Date.now();

    /** @param {import('playwright-core').Page} raw */
    constructor(raw) {
        this.#raw = raw;
    }

    /** Starts to watch, before the page navigates. @param {import('playwright-core').Page} raw */
    static async on(raw) {
        const watch = new Watch(raw);
        raw.on('console', (message) => {
            const line = `${message.text()} (${message.location().url})`;
            if (message.type() === 'error') {
                watch.errors.push(line);
            } else if (message.type() === 'warning') {
                watch.warnings.push(line);
            }
        });
        raw.on('pageerror', (error) => watch.errors.push(error.stack ?? String(error)));
        watch.#followRequests(raw);
        await raw.exposeBinding('harnessToast', (_source, toast) => watch.toasts.push(toast));
        await raw.addInitScript(reportToasts);
        return watch;
    }

    /** Waits until the network has been idle for a while: SillyTavern keeps writing after a chat was opened. */
    async settle() {
        const isQuiet = () => this.#underWay.size === 0 && Date.now() - this.#lastSeen >= QUIET;
        // The server may have got a request that this process does not know yet. The page reports it before it answers.
        await until('the wire to be quiet', async () => isQuiet() && (await this.#raw.evaluate(() => true)) && isQuiet());
    }

    /** @param {'error' | 'warning' | 'success' | 'info'} type */
    toastsOf(type) {
        return this.toasts.filter((toast) => toast.type === type).map((toast) => toast.text);
    }

    /** Forgets everything so far. */
    clear() {
        this.errors = [];
        this.warnings = [];
        this.toasts = [];
        this.refusedSaves = [];
        this.posts = [];
    }

    /** Everything in words, for a failed scenario. */
    told() {
        const lines = [
            ...this.errors.map((line) => `console error: ${line}`),
            ...this.warnings.map((line) => `console warning: ${line}`),
            ...this.toasts.map(({ type, text }) => `${type} toast: ${text}`),
            ...this.refusedSaves.map((endpoint) => `save refused for integrity: ${endpoint}`),
        ];
        return lines.join('\n') || '(nothing)';
    }

    #followRequests(raw) {
        const seen = () => (this.#lastSeen = Date.now());
        raw.on('request', (request) => {
            this.#underWay.add(request);
            seen();
            if (request.method() === 'POST') {
                const gzip = request.headers()['content-encoding'] === 'gzip';
                this.posts.push({ endpoint: new URL(request.url()).pathname, gzip });
            }
        });
        for (const event of ['requestfinished', 'requestfailed']) {
            raw.on(event, (request) => {
                this.#underWay.delete(request);
                seen();
            });
        }
        raw.on('response', async (response) => {
            const { pathname } = new URL(response.url());
            if (response.status() === 400 && pathname.startsWith('/api/chats/') && pathname.endsWith('/save')) {
                const answer = await response.text().catch(() => '');
                if (answer.includes('"integrity"')) {
                    this.refusedSaves.push(pathname);
                }
            }
        });
        // Leaving a page cancels its requests.
        raw.on('framenavigated', (frame) => frame === raw.mainFrame() && this.#underWay.clear());
    }
}

/** Runs in the page. Toasts are moved between dialogs, so each is reported once. */
function reportToasts() {
    const told = new WeakSet();
    const report = (toast) => {
        if (!told.has(toast)) {
            told.add(toast);
            const type = ['error', 'warning', 'success'].find((type) => toast.classList.contains(`toast-${type}`));
            const parts = toast.querySelectorAll('.toast-title, .toast-message');
            // A toast that is not visible yet has no innerText.
            const text = [...parts].map((part) => (part.innerText || part.textContent).trim()).join(': ');
            globalThis.harnessToast({ type: type ?? 'info', text });
        }
    };
    new MutationObserver((changes) => {
        for (const node of changes.flatMap((change) => [...change.addedNodes])) {
            if (node instanceof HTMLElement && node.closest('#toast-container')) {
                const toasts = node.matches('.toast') ? [node] : node.querySelectorAll('.toast');
                toasts.forEach(report);
            }
        }
    }).observe(document, { childList: true, subtree: true });

    // Toasts cover the message buttons for seconds, and swallow clicks.
    document.addEventListener('DOMContentLoaded', () => {
        const style = document.createElement('style');
        style.textContent = '#toast-container, #toast-container * { pointer-events: none !important }';
        document.head.append(style);
    });
}
