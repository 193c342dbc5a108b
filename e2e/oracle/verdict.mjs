// Decides whether a run has passed.

/** Situations that stories through the page must meet, and how many questions about each per thousand stories. */
const PAGE_SITUATIONS = {
    'last message': 1000, streaming: 500, 'late listener': 1000, 'edit in the debounce': 1000, swipe: 300, regenerated: 200, reload: 300, reopened: 60, 'closed and opened': 100,
    'deletion at the end': 150, 'deletion, extension on': 300, 'deletion, extension off': 40, 'put in between': 150, copied: 80, 'swapped, extension on': 60,
    'swapped, extension off': 10, 'push bypassed': 120, 'two between two looks': 30, 'replaced silently': 30, 'bound to another book': 120, 'bound away and back': 40,
    'book renamed': 20, 'book removed': 10, 'book over the limit': 60, 'extension off': 80, 'foreign edit': 100, 'foreign edit, undone': 20, 'second tab': 40, 'save lost': 30,
    'save cancelled': 60, 'backup restored': 40, 'copy changed in place': 200, 'book not read before': 200, 'scene break': 40,
    'damage: torn end': 15, 'damage: cut at a line': 15, 'damage: bad line in between': 15, 'damage: message torn': 15, 'damage: line dropped': 15, 'damage: line doubled': 15,
    'damage: lines swapped': 15, 'damage: record copied': 15, 'damage: records exchanged': 15, 'damage: record removed': 15, 'damage: keys doubled': 15, 'damage: record scratched': 15,
    'damage: byte order mark': 15,
};

/** Claims that must occur, so that a product that claims nothing does not pass. */
const PAGE_CLAIMS = [
    { situation: 'all', part: 'book', kind: 'exact', perThousand: 4000 },
    { situation: 'all', part: 'metadata', kind: 'exact', perThousand: 4000 },
    { situation: 'all', part: 'book', kind: 'as of', perThousand: 400 },
    { situation: 'all', part: 'metadata', kind: 'as of', perThousand: 200 },
    { situation: 'all', part: 'book', kind: 'live', perThousand: 20 },
    { situation: 'extension off', part: 'book', kind: 'as of', perThousand: 20 },
    { situation: 'foreign edit', part: 'book', kind: 'as of', perThousand: 20 },
    { situation: 'foreign edit', part: 'metadata', kind: 'exact', perThousand: 50 },
    { situation: 'push bypassed', part: 'metadata', kind: 'as of', perThousand: 20 },
    { situation: 'push bypassed', part: 'book', kind: 'exact', perThousand: 20 },
    { situation: 'book over the limit', part: 'book', kind: 'exact', perThousand: 10 },
    { situation: 'deletion, extension on', part: 'book', kind: 'exact', perThousand: 150 },
    { situation: 'put in between', part: 'book', kind: 'exact', perThousand: 80 },
    { situation: 'copied', part: 'book', kind: 'exact', perThousand: 30 },
    { situation: 'swapped, extension on', part: 'book', kind: 'exact', perThousand: 25 },
];

/** The minimum share of exact answers in stories without gaps and damage. */
const PLAIN_SHARE = 0.99;

/**
 * Why a run through the page has not passed; empty if it has. If a single seed is repeated, only false claims count.
 * @param {import('./tally.mjs').Tally} tally
 */
export function pageVerdict(tally) {
    const needs = [...Object.entries(PAGE_SITUATIONS).map(([situation, perThousand]) => ({ situation, perThousand })), ...PAGE_CLAIMS];
    return [
        ...tally.false,
        ...(tally.stories >= 1000 ? tally.hardlyMet(needs).map((words) => `HARDLY MET: ${words}`) : []),
        ...tooFewExact(tally),
    ];
}

/** What stories through the command must meet. */
const COMMAND_NEEDS = [
    { situation: 'last message', perThousand: 800 },
    ...['torn end', 'cut at a line', 'message torn', 'line dropped', 'line doubled', 'lines swapped', 'record copied'].map((kind) => ({ situation: `damage: ${kind}`, perThousand: 20 })),
    ...['extension off', 'push bypassed', 'streaming', 'reload', 'regenerated', 'history recorded now and then'].map((situation) => ({ situation, perThousand: 60 })),
    { situation: 'foreign edit', perThousand: 40 },
    { situation: 'all', part: 'book', kind: 'exact', perThousand: 1200 },
    { situation: 'all', part: 'metadata', kind: 'exact', perThousand: 200 },
    { situation: 'all', part: 'book', kind: 'as of', perThousand: 250 },
    { situation: 'all', part: 'book', kind: 'live', perThousand: 10 },
    { situation: 'damage: torn end', part: 'book', kind: 'as of', perThousand: 10 },
];

/** Why a run through the command has not passed. */
export function commandVerdict(tally) {
    const undone = (tally.undone ?? 0) < tally.stories / 4 ? [`HARDLY MET: undo, ${tally.undone ?? 0} in ${tally.stories} stories`] : [];
    return [...tally.false, ...(tally.stories >= 50 ? [...tally.hardlyMet(COMMAND_NEEDS).map((words) => `HARDLY MET: ${words}`), ...undone] : []), ...tooFewExact(tally)];
}

/** Answers in the real page are slow, and what arrives before the lorebook's file was read again is only as last seen. */
const BROWSER_SHARE = 0.85;

/** What stories in the real page must meet. */
const BROWSER_NEEDS = [
    ...['branchByButton', 'checkpointByButton', 'branchByCommand', 'checkpointByCommand', 'branchByImport', 'branchBySwipe'].map((situation) => ({ situation, perThousand: 200 })),
    ...['last message', 'story in a group', 'slow answer', 'second tab'].map((situation) => ({ situation, perThousand: 300 })),
    ...['lorebook saved elsewhere', 'chat saved elsewhere', 'recording switched', 'without Forklore for a while', 'page reloaded'].map((situation) => ({ situation, perThousand: 200 })),
    { situation: 'closed chat saved elsewhere', perThousand: 100 },
    { situation: 'earlier message', perThousand: 1500 },
    { situation: 'all', part: 'book', kind: 'exact', perThousand: 1500 },
    { situation: 'all', part: 'metadata', kind: 'exact', perThousand: 1500 },
    { situation: 'all', part: 'book', kind: 'as of', perThousand: 100 },
];

/** Why a run in the real page has not passed. */
export function browserVerdict(tally) {
    return [...tally.false, ...(tally.stories >= 50 ? [...tally.hardlyMet(BROWSER_NEEDS).map((words) => `HARDLY MET: ${words}`), ...tooFewExact(tally, BROWSER_SHARE)] : [])];
}

export function tooFewExact(tally, least = PLAIN_SHARE) {
    return ['book', 'metadata'].flatMap((part) => {
        const { asked, exact } = tally.plain[part];
        // A few unlucky stories count a lot in a short run.
        const allowance = asked < 2000 ? 3 * Math.sqrt(asked * (1 - least)) : 0;
        return asked >= 200 && exact < least * asked - allowance
            ? [`TOO FEW: without gaps and damage ${exact} of ${asked} are exact (${part}); for example\n  ${tally.notExact.join('\n  ')}`]
            : [];
    });
}
