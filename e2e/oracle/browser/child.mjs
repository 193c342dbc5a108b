// Compares a child's files with what the eyes saw. A claim is right or false; there is nothing in between.

import { contents } from './eyes.mjs';

// As in the eyes: what SillyTavern or Forklore writes anew for every chat.
const OWN = ['integrity', 'main_chat', 'world_info', 'tainted', 'chat_id_hash', 'lastInContextMessageId', 'timedWorldInfo'];

/**
 * @typedef {object} Child
 * @property {any} metadata
 * @property {any} book the content of the lorebook that it is bound to; undefined if it is bound to none
 *
 * @typedef {object} Verdict
 * @property {'book' | 'metadata'} part
 * @property {'exact' | 'as of' | 'live' | 'none'} claim `none`: nothing is claimed, which is false, too
 * @property {string} [why] it is false
 * @property {string} [got]
 * @property {string[]} [allowed] what would have been true
 */

/**
 * @param {import('./eyes.mjs').Sight} sight the parent's page before the fork
 * @param {number} message the child's last one
 * @param {Child} child
 * @param {import('./eyes.mjs').Sight['now'] | null} later what the page held afterwards, if an edit was on its way to the file: it may have
 *     arrived there, merged with another device's, before the fork
 * @returns {Verdict[]}
 */
export function judgeChild(sight, message, { metadata, book }, later = null) {
    const seal = metadata.forklore;
    const claims = seal ? { book: bookClaim(seal, sight), metadata: seal.metadata } : { book: null, metadata: null };
    return [
        judgePart('book', claims.book, bookText(book), bookText, sight, message, later),
        judgePart('metadata', claims.metadata, metadataText(metadata), (text) => text, sight, message, null),
    ];
}

/** A child without a lorebook claims that there was none, and that as surely as its seal says; or only that there is none today. */
function bookClaim({ book, no_book: none }, { now }) {
    return book ?? none ?? { exactness: bookText(contents.get(now.book)) === 'none' ? 'live' : 'exact' };
}

function judgePart(part, claim, got, view, sight, message, later) {
    const read = (hash) => view(contents.get(hash));
    const isLast = message === sight.places.length - 1;
    const answer = (words, allowed, why) => ({ part, claim: words, ...(allowed.includes(got) ? {} : { why, got, allowed }) });
    switch (claim?.exactness) {
        case 'exact': {
            const held = isLast ? sight.now : sight.places[message + 1].came;
            const isProof = (state) => state?.[part] && !(part === 'book' && state.isBehind);
            const allowed = [held, isLast ? later : null].filter(isProof).map((state) => read(state[part]));
            const why = !held ? 'no page saw the next message arrive' : held.isBehind && part === 'book' ? 'the page was behind the file' : 'this is not what held';
            return answer('exact', allowed, why);
        }
        case 'snapshot': {
            const seen = claim.as_of <= message ? sight.places[claim.as_of] : undefined;
            const hashes = (part === 'book' ? seen?.books : seen?.metadata) ?? [];
            return answer('as of', hashes.map(read), `this was nowhere while message ${claim.as_of} was the last`);
        }
        case 'live': {
            if (part === 'metadata' && isMixed(got, [sight.now, isLast ? null : sight.places[message + 1].came])) {
                return { part, claim: 'live' };
            }
            const hashes = part === 'book' ? [sight.now.book, sight.file] : [sight.now.metadata];
            return answer('live', hashes.filter(Boolean).map(read), 'this is not today’s');
        }
        default:
            return { part, claim: 'none', why: claim ? `nobody knows what “${claim.exactness}” means` : 'the child has no seal', got, allowed: [] };
    }
}

/** Metadata is called today's as soon as one value of it is. */
function isMixed(got, sources) {
    const known = sources.filter(Boolean).map(({ metadata }) => JSON.parse(contents.get(metadata)));
    return Object.entries(JSON.parse(got)).every(([key, value]) => known.some((metadata) => JSON.stringify(metadata[key]) === JSON.stringify(value)));
}

/** Without Forklore's mark and the order of keys. A book that is bound and missing is none. @param {any} book */
export function bookText(book) {
    const value = book === 'none' || book === 'missing' || book === undefined ? null : structuredClone(typeof book === 'string' ? JSON.parse(book) : book);
    delete value?.extensions?.forklore;
    if (value?.extensions && Object.keys(value.extensions).length === 0) {
        delete value.extensions;
    }
    return value ? JSON.stringify(sorted(value)) : 'none';
}

export function metadataText(metadata) {
    const keys = Object.keys(metadata).filter((key) => !OWN.includes(key) && !key.startsWith('forklore')).sort();
    return JSON.stringify(Object.fromEntries(keys.map((key) => [key, metadata[key]])));
}

function sorted(value) {
    if (value === null || typeof value !== 'object') {
        return value;
    }
    return Array.isArray(value) ? value.map(sorted) : Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

/** Whether two texts of lorebooks are the same lore. */
export const isSameBook = (one, other) => bookText(one) === bookText(other);
