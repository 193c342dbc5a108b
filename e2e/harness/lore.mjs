// Lorebooks of any shape.

/** @param {any[]} entries @param {any} [rest] other keys of the file, after the entries */
export function book(entries, rest = {}) {
    return { entries: Object.fromEntries(entries.map((entry) => [String(entry.uid), entry])), ...rest };
}

/** An entry as SillyTavern 1.19 makes it, with fields in the same order. */
export function entry(uid, fields = {}) {
    return {
        uid,
        key: [`key${uid}`],
        keysecondary: [],
        comment: `entry ${uid}`,
        content: `content of ${uid}`,
        constant: false,
        vectorized: false,
        selective: true,
        selectiveLogic: 0,
        addMemo: false,
        order: 100,
        position: 0,
        disable: false,
        ignoreBudget: false,
        excludeRecursion: false,
        preventRecursion: false,
        matchPersonaDescription: false,
        matchCharacterDescription: false,
        matchCharacterPersonality: false,
        matchCharacterDepthPrompt: false,
        matchScenario: false,
        matchCreatorNotes: false,
        delayUntilRecursion: 0,
        probability: 100,
        useProbability: true,
        depth: 4,
        outletName: '',
        group: '',
        groupOverride: false,
        groupWeight: 100,
        scanDepth: null,
        caseSensitive: null,
        matchWholeWords: null,
        useGroupScoring: null,
        automationId: '',
        role: 0,
        sticky: null,
        cooldown: null,
        delay: null,
        triggers: [],
        displayIndex: uid,
        characterFilter: { isExclude: false, names: [], tags: [] },
        ...fields,
    };
}

/**
 * A book that only an exact copy survives: gaps in the uids, a uid that is not an array index, every field that a
 * rebuilt entry would lose, and unknown fields.
 */
export function loreWithGaps() {
    return book(
        [
            entry(0, {
                comment: 'character-Mara',
                key: ['mara', '/cap(tain)?/i'],
                content: 'Captain of the Gull. "Quoted" \\ 雨 😀',
            }),
            entry(5, {
                comment: '',
                keysecondary: ['harbour'],
                selectiveLogic: 3,
                scanDepth: 7,
                caseSensitive: true,
                cooldown: 2,
                delay: 1,
                sticky: 3,
                triggers: ['swipe'],
                automationId: 'bell',
                outletName: 'quay',
                characterFilter: { isExclude: true, names: ['Ada'], tags: [] },
            }),
            entry(6, { disable: true, extensions: { other: { kept: [1, 2.5, null] } }, foreign: '<b>not markup</b>' }),
            entry(1763632438061, { comment: 'late', order: 9999 }),
        ],
        { name: 'Displayed name', extensions: { other: { kept: true } }, scan_depth: 3, description: null },
    );
}
