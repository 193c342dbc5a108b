// Notices when a text was treated as markup: what it called, requested or opened, and what happened to the page.

import assert from 'node:assert/strict';
import http from 'node:http';

import { payloads } from './payloads.mjs';

/** All elements that Forklore's own lists, notices and dialogs are made of, and SillyTavern's text box. */
const TAGS = [
    ...['DIV', 'SPAN', 'P', 'B', 'I', 'BDI', 'SMALL', 'H3', 'H4', 'UL', 'LI', 'DETAILS', 'SUMMARY', 'PROGRESS', 'DL', 'DT', 'DD'],
    ...['SECTION', 'MARK', 'INS', 'DEL', 'EM', 'OPTGROUP'],
    ...['BUTTON', 'INPUT', 'SELECT', 'OPTION', 'LABEL', 'TEXTAREA'],
];

/** The places where Forklore shows something. */
export const OURS = '.forklore_dialog, .forklore_toast, #forklore_settings, .forklore_popup .popup-controls, .toast:has(.forklore_toast)';

/** Attributes that request something, or run it. */
const ACTIVE = ['src', 'srcset', 'href', 'srcdoc', 'action', 'formaction', 'background', 'poster', 'data', 'xlink:href'];

export class Trap {
    #server;
    #asked = [];
    #dialogs = [];

    /** Sets a trap in a page before it has seen any payload. @param {import('playwright-core').Page} raw */
    static async in(raw) {
        const trap = new Trap();
        await trap.#listen();
        trap.raw = raw;
        trap.payloads = payloads(trap.origin);
        raw.on('request', (request) => request.url().startsWith(trap.origin) && trap.#asked.push(request.url()));
        raw.on('dialog', (dialog) => {
            trap.#dialogs.push(`${dialog.type()}: ${dialog.message()}`);
            dialog.dismiss().catch(() => {});
        });
        await raw.evaluate(lay, { tags: TAGS, ours: OURS, active: ACTIVE, origin: trap.origin });
        return trap;
    }

    /** The payloads as text. */
    get texts() {
        return this.payloads.map(({ text }) => text);
    }

    async #listen() {
        this.#server = http.createServer((request, response) => {
            this.#asked.push(request.url);
            response.writeHead(404).end();
        });
        this.#server.unref();
        await new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
        this.origin = `http://127.0.0.1:${this.#server.address().port}`;
    }

    /** What has been caught so far. */
    async caught() {
        const { called, foreign } = await this.raw.evaluate(() => {
            globalThis.trapLaid.lookAround();
            return { called: globalThis.trapLaid.called, foreign: globalThis.trapLaid.foreign };
        });
        return { called, foreign, asked: this.#asked, dialogs: this.#dialogs };
    }

    async assertEmpty() {
        assert.deepEqual(await this.caught(), { called: [], foreign: [], asked: [], dialogs: [] }, 'a text became more than a text');
    }

    close() {
        this.#server.close();
    }
}

/** Runs in the page. */
function lay({ tags, ours, active, origin }) {
    const laid = { called: [], foreign: [], lookAround };
    globalThis.trapLaid = laid;
    globalThis.__trap = (number) => laid.called.push(number);

    const note = (text) => laid.foreign.length < 20 && !laid.foreign.includes(text) && laid.foreign.push(text);

    /** Inside Forklore's elements, nothing else is allowed. */
    const judge = (node) => {
        // Only the lines between timelines are drawn as SVG.
        if (!tags.includes(node.tagName) && !node.closest('svg.forklore_links')) {
            note(`an element: ${node.outerHTML.slice(0, 200)}`);
        }
        for (const { name, value } of node.attributes) {
            // jQuery shows and hides elements with styles.
            const isForeign = name.startsWith('on') || active.includes(name) || (name === 'style' && value.includes('url('));
            if (isForeign) {
                note(`an attribute: ${node.tagName} ${name}=${value.slice(0, 200)}`);
            }
        }
    };

    /** Elsewhere, no payload may be in anything that acts. */
    function lookAround() {
        for (const node of document.querySelectorAll('*')) {
            for (const { name, value } of node.attributes) {
                const isActive = name.startsWith('on') || active.includes(name) || name === 'style';
                if (isActive && (value.includes('__trap') || value.includes(origin))) {
                    note(`somewhere: ${node.outerHTML.slice(0, 200)}`);
                }
            }
        }
        document.querySelectorAll(ours).forEach((place) => place.querySelectorAll('*').forEach(judge));
    }

    new MutationObserver((changes) => {
        for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) {
            if (node instanceof Element) {
                [node, ...node.querySelectorAll('*')].filter((found) => found.parentElement?.closest(ours)).forEach(judge);
            }
        }
    }).observe(document, { childList: true, subtree: true });
}
