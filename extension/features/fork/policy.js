// How a fork may go, and what to do when the core refuses it.

/** The decision that always leads to a child: with no book, and so with nothing to wait for or to know. */
export const WITHOUT_BOOK = { leaveBook: true, drain: true, allow: 'live', requireScene: false };

/** How a fork may go: what the owner's settings, or the owner, decided. */
export function policyFor(settings, decision = {}) {
    const allow = { ask: 'message', nearest: 'live', refuse: 'message' }[settings.whenInexact] ?? 'message';
    return { allow, requireScene: Boolean(settings.requireScene), ...decision };
}

/**
 * What to do about a refusal when nobody can be asked to try again later.
 * @returns {'wait' | 'ask' | object} a decision to try again with
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
