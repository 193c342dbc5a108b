/** Names of timelines side by side. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutInside, IN_A_LINE, shortNames } from '../ui/names.js';

const ROOT = 'Mara - 2026-11-15@22h48m06s207ms';

/** A family with SillyTavern's names. */
const family = (root = ROOT) => [root, ...Array.from({ length: 11 }, (_, at) => `${ROOT} - Branch #${at + 1}`)];

const shown = (names) => names.map(shortNames(names));

test('what all share is left out', () => {
    assert.deepEqual(shown(family()).slice(0, 3), [ROOT, '… Branch #1', '… Branch #2']);
});

test('the same if the first chat was renamed', () => {
    assert.deepEqual(shown(family('The lighthouse')).slice(0, 3), ['The lighthouse', '… Branch #1', '… Branch #2']);
});

test('a branch of a branch keeps the way that leads to it', () => {
    assert.deepEqual(shown([...family(), `${ROOT} - Branch #1 - Branch #1`]).slice(-2), ['… Branch #11', '… Branch #1 - Branch #1']);
});

test('two chats, of which one was forked from the other', () => {
    assert.deepEqual(shown([ROOT, `${ROOT} - Branch #5`]), [ROOT, '… Branch #5']);
    assert.deepEqual(shown(['The lighthouse', 'The lighthouse: storm']), ['The lighthouse', '… storm']);
    assert.deepEqual(shown(['Storm', 'Calm']), ['Storm', 'Calm']);
});

test('a name that shares nothing is cut in the middle', () => {
    const long = `${'a'.repeat(60)} - Branch #1`;
    assert.equal(shortNames(['Storm', long])(long), 'aaaaaaaaaaaaaaaaaaaaaa…aaaaaaaaa - Branch #1');
    assert.equal(cutInside('🌊'.repeat(50), 5), '🌊🌊…🌊🌊');
    assert.equal(cutInside('short'), 'short');
});

test('no two names are shown alike, and none is longer than there is room for unless it must be', () => {
    let seed = 7;
    const random = (below) => {
        seed = (seed * 48271) % 2147483647;
        return seed % below;
    };
    const parts = ['Mara', ROOT, 'Branch #1', 'Branch #12', 'Scene', '…', 'x'.repeat(50), 'The quay', ''];
    const between = [' - ', ': ', ' ', '-', ' — '];
    for (let round = 0; round < 3000; round += 1) {
        const name = () => Array.from({ length: 1 + random(4) }, () => parts[random(parts.length)] + between[random(between.length)]).join('').trim();
        const names = [...new Set(Array.from({ length: 2 + random(12) }, name))];
        const labels = shown(names);
        assert.equal(new Set(labels).size, names.length, JSON.stringify([names, labels]));
        const lengths = labels.filter((label, at) => label.length > IN_A_LINE && label !== names[at] && !label.startsWith('… ')).length;
        assert.equal(lengths, 0, JSON.stringify([names, labels]));
    }
});
