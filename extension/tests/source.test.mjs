// Rules for the sources themselves.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** All modules of the page, except for what wasm-bindgen generates. */
const modules = fs.readdirSync(root, { recursive: true })
    .map((name) => name.split(path.sep).join('/'))
    .filter((name) => name.endsWith('.js') && !name.startsWith('core/pkg/') && !name.startsWith('tests/'));

const source = (name) => fs.readFileSync(path.join(root, name), 'utf8');

const code = (name) => source(name).replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');

const MARKUP = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|\.html\(|\$\(\s*[`'"]</;

test('nothing is ever put on the page as markup', () => {
    assert.ok(modules.length > 20, 'the sources were found');
    for (const name of modules) {
        const found = code(name).match(MARKUP);
        assert.equal(found, null, `${name} uses ${found?.[0]}`);
    }
});

test('the rule about markup catches what it is for', () => {
    for (const bad of ['a.innerHTML = x', 'b.insertAdjacentHTML("x")', '$(`<b>${name}</b>`)', 'box.html(text)']) {
        assert.match(bad, MARKUP);
    }
});

test('only the host and the tap know SillyTavern', () => {
    const knows = /from '\/(?:script|scripts|lib)|\bSillyTavern\.(?:getContext|libs)|\bgetContext\(|\btoastr\b|\bjQuery\b|\beventSource\b/;
    const knowing = modules.filter((name) => knows.test(code(name)) && !name.startsWith('sillytavern/'));
    assert.deepEqual(knowing, []);
});

test('nothing is fetched from anywhere but SillyTavern', () => {
    for (const name of modules) {
        // The SVG namespace is a URL that is never fetched, and the guide a link.
        const fetching = code(name).replace(/const GUIDE = 'https:[^']+';/, '');
        assert.doesNotMatch(fetching, /https?:\/\/(?!localhost\/|www\.w3\.org\/2000\/svg')/, name);
    }
});
