/** Rules for the sources of the user interface. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ENGLISH } from '../ui/english.js';

const read = path => readFileSync(new URL(path, import.meta.url), 'utf8');
const UI = readdirSync(new URL('../ui/', import.meta.url), { recursive: true }).filter(name => name.endsWith('.js'));
const SOURCES = [...UI.map(name => [`ui/${name}`, read(`../ui/${name}`)]), ['sillytavern/screen.js', read('../sillytavern/screen.js')]];

test('text never becomes markup', () => {
    const ways = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\$\(|jQuery|\.html\(/;
    for (const [name, source] of SOURCES) {
        assert.doesNotMatch(source, ways, name);
    }
});

test('the user interface does not import SillyTavern', () => {
    for (const [name, source] of SOURCES.filter(([path]) => path.startsWith('ui/'))) {
        const imported = [...source.matchAll(/from '([^']+)'/g)].map(found => found[1]);
        const isOurs = path => ['/ui/', '/vendor/'].some(folder => new URL(path, `file:///${name}`).pathname.startsWith(folder));
        assert.ok(imported.every(path => path.startsWith('.') && isOurs(path)), name);
    }
});

test('every text that is said exists, and every text is said somewhere', () => {
    const code = SOURCES.filter(([name]) => name !== 'ui/english.js').map(([, source]) => source).join('\n');
    const keys = Object.keys(ENGLISH);
    const literals = new Set([...code.matchAll(/'([a-z]+(?:\.[\w-]+)*)'/g)].map(found => found[1]));
    const patterns = [...code.matchAll(/`((?:[^`$\s]|\$\{[^}]*\})*)`/g)]
        .map(found => found[1].replace(/\$\{[^}]*\}/g, '\0').replace(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll('\0', '.*'))
        .filter(pattern => pattern.includes('\\.') && /[a-z]/.test(pattern))
        .map(pattern => new RegExp(`^${pattern}$`));
    const unsaid = keys.filter(key => !literals.has(key) && !patterns.some(pattern => pattern.test(key)));
    assert.deepEqual(unsaid, []);
    const said = [...code.matchAll(/say\('([^']+)'/g)].map(found => found[1]);
    assert.deepEqual(said.filter(key => !(key in ENGLISH)), []);
});

test('colours come from the theme', () => {
    // SillyTavern's notices have their own colours, which no theme changes.
    const imported = [...read('../style.css').matchAll(/@import url\('([^']+)'\)/g)].map(found => found[1]);
    assert.ok(imported.length > 0);
    const style = imported.map(file => read(`../${file}`)).join('\n').replace(/#toast-container [^}]*\}/g, '');
    assert.doesNotMatch(style, /#[0-9a-f]{3,8}\b(?!_)(?=[\s;,)])|rgba?\(|hsla?\(/i);
});
