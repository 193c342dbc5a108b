// What the journal adds to a save, compared to SillyTavern's own work for it in the same run:
//
//   node extension/bench/journal.mjs

import fs from 'node:fs';

import { loadCore } from '../core/core.js';
import { Journal } from '../features/journal/journal.js';

const MESSAGES = 5000;
const ENTRIES = 1000;
const ROUNDS = 40;

const words = (count, seed) => Array.from({ length: count }, (_, at) => `w${(at * 7919 + seed * 104729) % 5003}`).join(' ');

const entry = (uid) => ({
    uid, key: [`k${uid}`, words(2, uid)], keysecondary: [], comment: `Entry ${uid}`, content: words(250, uid), constant: false,
    vectorized: false, selective: true, selectiveLogic: 0, addMemo: true, order: 100, position: 0, disable: false, probability: 100,
    useProbability: true, depth: 4, group: '', groupOverride: false, groupWeight: 100, sticky: null, cooldown: null, delay: null,
});

const book = { entries: Object.fromEntries(Array.from({ length: ENTRIES }, (_, uid) => [uid, entry(uid)])) };
const metadata = { integrity: 'i', world_info: 'Lore', variables: { hp: '0', place: 'harbour' }, timedWorldInfo: { sticky: {}, cooldown: {} } };
const chat = Array.from({ length: MESSAGES }, (_, at) => ({
    name: at % 2 ? 'Ada' : 'User', is_user: at % 2 === 0, send_date: '2026-11-15T00:00:00.000Z', mes: words(300, at), extra: { api: 'x', model: 'y' },
    swipes: [words(300, at)], swipe_id: 0, swipe_info: [{ send_date: '2026-11-15T00:00:00.000Z', extra: {} }],
}));

const core = await loadCore(fs.readFileSync(new URL('../core/pkg/forklore_bg.wasm', import.meta.url)));
const journal = new Journal({ core: core.wasm, isOn: () => true, largestBook: () => 8 * 1024 * 1024 });

const middle = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];

function measured(step) {
    const times = [];
    for (let round = 0; round < ROUNDS; round++) {
        const began = performance.now();
        step(round);
        times.push(performance.now() - began);
    }
    return middle(times);
}

let text = JSON.stringify(book);
const began = performance.now();
journal.sync(chat, { bookName: 'Lore', bookText: text, metadata });
const opened = performance.now() - began;
for (let at = 0; at < 10; at++) {
    chat.push({ name: 'Ada', mes: words(300, at), extra: {} });
    journal.sync(chat, { bookName: 'Lore', bookText: undefined, metadata });
}

const save = measured(() => JSON.stringify({ ch_name: 'Ada', file_name: 'Main', chat: [{ chat_metadata: metadata }, ...chat], avatar_url: 'Ada.png' }));
const writeBook = measured(() => JSON.stringify({ name: 'Lore', data: book }));
const nothing = measured(() => journal.sync(chat, { bookName: 'Lore', bookText: undefined, metadata }));
const variables = measured((round) => {
    metadata.variables.hp = String(round + 1);
    journal.sync(chat, { bookName: 'Lore', bookText: undefined, metadata });
});
const lore = measured((round) => {
    book.entries[500].content = words(250, round);
    text = JSON.stringify(book);
    journal.sync(chat, { bookName: 'Lore', bookText: text, metadata });
});

const row = (what, time) => console.log(`${what.padEnd(58)} ${time.toFixed(2).padStart(8)} ms  ${(time / save).toFixed(3)} of SillyTavern's own`);
console.log(`${MESSAGES} messages, ${(JSON.stringify(chat).length / 1e6).toFixed(1)} MB; ${ENTRIES} entries, ${(text.length / 1e6).toFixed(1)} MB\n`);
row('SillyTavern turns the chat into text', save);
row('SillyTavern turns the book into text', writeBook);
row('the journal, nothing changed', nothing);
row('the journal, a variable changed', variables);
row('the journal, an entry changed (after the edit, not in a save)', lore);
row('the journal, a chat of old opened for the first time', opened);
