// What the journal adds to a chat file: a story of 300 messages with a lorebook of 120 entries (284 KB), which is saved
// 61 times with one or two changed entries, as a memory extension does; once with a copy of the whole book in every
// twentieth message, like a recap, and once without. Then the same with the data of two other extensions: one counts
// every message and notes its progress, the other keeps a list of tasks that is rewritten every 20 messages.
//
//   node extension/bench/size.mjs

import fs from 'node:fs';

import { loadCore } from '../core/core.js';
import { Journal } from '../features/journal/journal.js';

const core = await loadCore(fs.readFileSync(new URL('../core/pkg/forklore_bg.wasm', import.meta.url)));

const SYLLABLES = 'ar be cor da el fi ga hol in jo ka lo mar ne or pe qui ra so ta un va wen yor zi'.split(' ');
let state = 1;
const below = (limit) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
};
const word = () => Array.from({ length: 1 + below(3) }, () => SYLLABLES[below(SYLLABLES.length)]).join('');
const DICTIONARY = Array.from({ length: 4000 }, word);
// Language is uneven: a few words make up most of it.
const prose = (bytes) => {
    let text = '';
    while (text.length < bytes) {
        text += `${DICTIONARY[Math.floor(DICTIONARY.length * (below(1e6) / 1e6) ** 3)]} `;
    }
    return text;
};

const entry = (uid) => ({
    uid, key: [word(), word()], keysecondary: [], comment: `character-${word()}`, content: prose(1500), constant: false, vectorized: false,
    selective: true, selectiveLogic: 0, addMemo: false, order: 100, position: 0, disable: false, ignoreBudget: false, excludeRecursion: false,
    preventRecursion: false, delayUntilRecursion: 0, probability: 100, useProbability: true, depth: 4, group: '', groupOverride: false,
    groupWeight: 100, scanDepth: null, caseSensitive: null, matchWholeWords: null, automationId: '', role: 0, sticky: 0, cooldown: 0, delay: 0,
});

function story({ change, withRecaps, withOthers = false }) {
    state = 1;
    const book = { entries: Object.fromEntries(Array.from({ length: 120 }, (_, uid) => [uid, entry(uid)])) };
    const metadata = { variables: {} };
    const chat = [];
    const journal = new Journal({ core: core.wasm, isOn: () => true, largestBook: () => 8 * 1024 * 1024 });
    const sync = () => journal.sync(chat, { bookName: 'Lore', bookText: JSON.stringify(book), metadata });
    for (let at = 0; at < 300; at++) {
        const mes = prose(1900);
        chat.push({ name: at % 2 ? 'Ada' : 'User', mes, swipes: [mes, prose(1900)], swipe_id: 0, swipe_info: [{ extra: {} }, { extra: {} }], extra: { api: 'x' } });
        metadata.variables.turn = String(at);
        if (withOthers) {
            metadata.STMemoryBooks = { sceneStart: null, sceneEnd: null, highestMemoryProcessed: at - (at % 20), manualLorebook: null };
            metadata.objective = at % 20 ? metadata.objective : { tasks: Array.from({ length: 12 }, (_, id) => ({ id, description: prose(80), completed: false })) };
            metadata.counter = { messages: at };
        }
        sync();
        if (at % 5 === 4) {
            for (let count = 1 + below(2); count > 0; count--) {
                change(book.entries[below(120)]);
            }
            if (withRecaps && at % 20 === 19) {
                chat[at].extra.auto_recap_memory = { scene_break: true, scene_recap_metadata: { 1: { allEntries: structuredClone(Object.values(book.entries)) } } };
            }
            sync();
        }
    }
    const size = (messages) => messages.map((message) => JSON.stringify(message)).join('\n').length;
    const plain = size(chat.map(({ forklore, ...message }) => message));
    return { plain, added: size(chat) - plain };
}

const changes = {
    'appended to': (entry) => { entry.content += prose(120); },
    'rewritten whole': (entry) => { entry.content = prose(1500); },
};
for (const [how, change] of Object.entries(changes)) {
    for (const withRecaps of [false, true]) {
        const { plain, added } = story({ change, withRecaps });
        const about = `entries ${how}, ${withRecaps ? 'with' : 'without'} copies in recaps`;
        console.log(`${about.padEnd(52)} ${(plain / 1e6).toFixed(2)} MB  + ${(added / 1e3).toFixed(0).padStart(4)} KB  ${((100 * added) / plain).toFixed(1)} %`);
    }
}

const others = { change: changes['appended to'], withRecaps: false };
const [without, withOthers] = [story(others), story({ ...others, withOthers: true })];
const more = withOthers.added - without.added;
console.log(`${'what other extensions keep'.padEnd(52)} ${(without.plain / 1e6).toFixed(2)} MB  + ${(more / 1e3).toFixed(0).padStart(4)} KB  ${((100 * more) / without.plain).toFixed(1)} %`);
