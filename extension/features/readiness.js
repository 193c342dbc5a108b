// The state of the open chat, as the panel shows it.

/** @import { Core, Host, OpenChat, Origin, Readiness, Settings } from '../types.js' */

/**
 * @param {object} parts
 * @param {Host} parts.host @param {Core} parts.core @param {Settings} parts.settings
 * @param {import('./repair/repairs.js').Repairs} parts.repairs
 * @param {import('./repair/lost_book.js').LostBook} parts.lostBook
 * @param {import('./repair/findings.js').Findings} parts.findings
 * @param {import('./fork/forks.js').Forks} parts.forks
 * @param {import('./shared_lore.js').SharedLore} parts.sharedLore
 * @returns {Promise<Readiness>}
 */
export async function readiness({ host, core, settings, repairs, lostBook, findings, forks, sharedLore }) {
    const open = host.openChat();
    /** @type {Readiness} */
    const answer = { state: 'no-chat', book: open?.book ?? null, entries: 0, operations: 0, sharedWith: [], hasFamily: false, reach: null, owner: '', selected: [], common: [], leftOut: [], origin: open ? originOf(core, open) : null };
    if (!open) {
        return answer;
    }
    if (!settings.isolate) {
        return { ...answer, state: 'off' };
    }
    if (!open.book) {
        const common = sharedLore.beside(open);
        return { ...answer, state: common.length ? 'common' : 'no-book', common };
    }
    const entries = await repairs.currentEntries(open.book);
    if (!entries || lostBook.isReplaced(open)) {
        return { ...answer, state: 'missing', book: lostBook.name ?? open.book };
    }
    // What a memory extension keeps there for itself is no lore.
    answer.entries = Object.values(entries).filter((entry) => !core.isInternal(String(entry?.comment ?? ''))).length;
    answer.leftOut = sharedLore.leftOut(open);
    const { busy, paused, operations } = await forks.pendingWork();
    if (busy) {
        return { ...answer, state: paused ? 'paused' : 'waiting', operations };
    }
    const known = findings.current?.book === open.book ? findings.current : null;
    const namesIn = (/** @type {string} */ code, /** @type {string} */ key) => {
        const names = known?.findings.find((finding) => finding.code === code)?.values?.[key];
        return Array.isArray(names) ? names.map(String) : [];
    };
    const family = namesIn('book-shared', 'with');
    const elsewhere = namesIn('book-elsewhere', 'by');
    return {
        ...answer,
        state: family.length ? 'shared' : elsewhere.length ? 'elsewhere' : 'ready',
        sharedWith: [...family, ...elsewhere],
        hasFamily: family.length > 0,
        reach: known?.reach ?? null,
        owner: host.owners().find((owner) => owner.group === open.group && owner.avatar === open.avatar)?.label ?? '',
        selected: [...new Set(host.bookReferences().filter(({ book }) => core.sameBook(book, open.book)).map(({ place }) => place))],
    };
}

/** Where a chat was forked from; `null` if it was not forked by Forklore. @param {Pick<Core, 'origin'>} core @param {Pick<OpenChat, 'metadata' | 'messages'>} open @returns {Origin | null} */
export function originOf(core, open) {
    const origin = sealOf(core, open);
    return origin && { ...origin, made: Date.parse(origin.made) };
}

/** What a chat's seal says, if it has one of its own. @param {Pick<Core, 'origin'>} core @param {Pick<OpenChat, 'metadata' | 'messages'>} open */
export const sealOf = (core, { metadata: { forklore, main_chat, integrity }, messages }) => core.origin({ forklore, main_chat, integrity }, messages.length);
