// Two books of ten thousand entries, edited in two timelines, and the book that both started from: how long it takes to
// compare and merge them, compared to `JSON.parse` of the same texts in the same run. Works in Node and in the page.

const ENTRIES = 10000;
const CHANGED = 100;
const BORN = 50;
const ROUNDS = 9;

const words = (count, seed) => Array.from({ length: count }, (_, at) => `w${(at * 7919 + seed * 104729) % 5003}`).join(' ');

/** All fields that SillyTavern writes for an entry. */
const entry = (uid, content) => ({
    uid, key: [`k${uid}`, words(2, uid)], keysecondary: [], comment: `character-Person ${uid}`, content, constant: false, vectorized: false,
    selective: true, selectiveLogic: 0, addMemo: false, order: 100, position: 0, disable: false, ignoreBudget: false, excludeRecursion: false,
    preventRecursion: false, matchPersonaDescription: false, matchCharacterDescription: false, matchCharacterPersonality: false,
    matchCharacterDepthPrompt: false, matchScenario: false, matchCreatorNotes: false, delayUntilRecursion: 0, probability: 100,
    useProbability: true, depth: 4, outletName: '', group: '', groupOverride: false, groupWeight: 100, scanDepth: null, caseSensitive: null,
    matchWholeWords: null, useGroupScoring: null, automationId: '', role: 0, sticky: null, cooldown: null, delay: null, triggers: [],
    displayIndex: uid,
});

function books() {
    const entries = () => Object.fromEntries(Array.from({ length: ENTRIES }, (_, uid) => [uid, entry(uid, words(80, uid))]));
    const [base, left, right] = [entries(), entries(), entries()];
    for (let at = 0; at < CHANGED; at++) {
        left[at * 97].content += ' on the left';
        right[at * 89 + 1].content += ' on the right';
    }
    for (let at = 0; at < BORN; at++) {
        left[ENTRIES + at] = entry(ENTRIES + at, words(80, at) + ' left');
        right[ENTRIES + at] = entry(ENTRIES + at, words(80, at) + ' right');
    }
    return [base, left, right].map((entries) => JSON.stringify({ entries }));
}

function middle(step) {
    const times = Array.from({ length: ROUNDS }, () => {
        const began = performance.now();
        step();
        return performance.now() - began;
    });
    return times.sort((a, b) => a - b)[ROUNDS >> 1];
}

/** @param {object} core as exported by core/core.js @returns milliseconds, and what was found */
export function measureLargeBooks(core) {
    const texts = books();
    const bytes = texts.map((text) => new TextEncoder().encode(text));
    let compared;
    let merged;
    const parsingTwo = middle(() => texts.slice(1).map((text) => JSON.parse(text)));
    const parsing = middle(() => texts.map((text) => JSON.parse(text)));
    const comparison = { baseKnown: true, baseMetadata: null, leftMetadata: null, rightMetadata: null };
    const merge = { baseKnown: true, only: null, settle: {}, otherwise: null, ourBook: null, theirBook: null, ourMetadata: null, theirMetadata: null };
    const comparing = middle(() => { compared = core.compare(comparison, ...bytes); });
    const merging = middle(() => { merged = core.merge(merge, ...bytes); });
    return {
        megabytes: bytes[1].length / 1e6,
        parsingTwo,
        parsing,
        comparing,
        merging,
        ratio: (comparing + merging) / parsing,
        differences: compared.entries.length,
        steps: merged.value.steps.length,
    };
}
