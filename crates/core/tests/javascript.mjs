// Answers what Node makes of the same bytes. Each input and each answer is a 32-bit length followed by
// the bytes. For a text (mode "values") it answers whether `JSON.parse` accepts it and what
// `JSON.stringify` returns, for a chat (mode "lines") the numbers of the lines that SillyTavern keeps, for names with spaces
// between them (mode "names") their keys in the page. A name with a letter that this Node does not know has no key.
import { readFileSync, writeSync } from 'node:fs';

import { folded } from '../../../extension/core/folding.js';

const input = readFileSync(0);

function framed(text) {
    const bytes = Buffer.from(text, 'utf8');
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return [length, bytes];
}

function tryParse(text) {
    try {
        return JSON.parse(text);
    } catch {
        return undefined;
    }
}

function values(text) {
    let value;
    try {
        value = JSON.parse(text);
    } catch {
        return framed('no');
    }
    return [...framed('yes'), ...framed(JSON.stringify(value)), ...framed(JSON.stringify(value, null, 4))];
}

// The numbers of the lines that SillyTavern keeps: `text.split('\n').map(tryParse).filter(x => x)`.
function lines(text) {
    const kept = text.split('\n').map((line, number) => [tryParse(line), number]).filter(([value]) => value);
    return framed(kept.map(([, number]) => number).join(' '));
}

function names(text) {
    return framed(text.split(' ').map((name) => (/\p{Cn}/u.test(name) ? '' : folded(name))).join(' '));
}

const answer = { values, lines, names }[process.argv[2]];
const out = [];
for (let at = 0; at < input.length;) {
    const length = input.readUInt32LE(at);
    out.push(...answer(input.toString('utf8', at + 4, at + 4 + length)));
    at += 4 + length;
}
const bytes = Buffer.concat(out);
for (let at = 0; at < bytes.length;) {
    at += writeSync(1, bytes, at);
}
