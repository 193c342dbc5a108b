// What a fork is allowed to do, and how to react when the core refuses it.

/** A decision with which a fork is never refused: without a book, there is nothing to wait for and nothing to look up. */
export const WITHOUT_BOOK = { leaveBook: true, drain: true, allow: 'live', requireScene: false };

/** What a fork is allowed to do, according to the settings or the user's decision. */
export function policyFor(settings, decision = {}) {
    const allow = { ask: 'message', nearest: 'live', refuse: 'message' }[settings.whenInexact] ?? 'message';
    return { allow, requireScene: Boolean(settings.requireScene), ...decision };
}

/**
 * How to react to a refusal at a save, which cannot be postponed.
 * @returns {'wait' | 'ask' | object} `'wait'`, `'ask'`, or the decision to try again with
 */
export function answerTo(refusal, settings, { hasWaited }) {
    const codes = refusal.obstacles.map((obstacle) => obstacle.code);
    const isBusy = codes.some((code) => code === 'queue-busy' || code === 'queue-unreadable');
    if (isBusy) {
        if (settings.whenBusy === 'wait' && !hasWaited) {
            return 'wait';
        }
        return settings.whenBusy === 'drain' ? { drain: true } : WITHOUT_BOOK;
    }
    const isInexact = codes.every((code) => code === 'book-not-known' || code === 'metadata-not-exact');
    if (isInexact && settings.whenInexact === 'ask') {
        return 'ask';
    }
    return WITHOUT_BOOK;
}
