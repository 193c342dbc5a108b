// Compares an answer to the truth. There is no lenient mode.

import { bookKey, exactBooks } from './ledger.mjs';

/**
 * What the product claims about one part of a moment.
 * @typedef {object} Claim
 * @property {'exact' | 'as of' | 'live' | 'settled' | 'none'} kind
 * @property {?number} k for `as of` and `settled`
 * @property {?string} source
 * @property {string} content a book with its name (`bookKey`), or the metadata as text
 *
 * @typedef {object} Question
 * @property {import('./ledger.mjs').Ledger} ledger
 * @property {number[]} tokens the messages of the chat, including unreadable ones
 * @property {number} m the index among them
 * @property {(k: number) => number} place the index among them of the message that the answer calls `k`
 * @property {{bookName: ?string, bookText: string | undefined, metadata: string}} live the current state: in the page that asks, or in the files
 * @property {boolean} isFiles whether the files were queried, and not a page
 * @property {Map<number, {bookName: string, entries: string[]}>} [recaps] the snapshots of recaps, by token
 * @property {(text: string) => string} [bookView] the part of a book that can be compared in this answer
 * @property {(text: string) => string} [metadataView] the same for the metadata
 * @property {boolean} lastHasRecord whether the last message in the files has its own record, untouched
 */

/**
 * @param {Question} question @param {{book: Claim, metadata: Claim}} answer
 * @returns {{part: string, claim: Claim, why: string, allowed: string[]}[]} the false claims in the answer
 */
export function judge(question, answer) {
    return ['book', 'metadata'].flatMap((part) => {
        const found = falseIn(part, question, answer[part]);
        return found ? [{ part, claim: answer[part], ...found }] : [];
    });
}

function falseIn(part, question, claim) {
    const { ledger, tokens, m, place } = question;
    const pick = ({ books, metadata }) => (part === 'book' ? books : metadata);
    const view = question[`${part}View`] ?? ((text) => text);
    const against = (allowed, why) => ([...allowed].some((text) => view(text) === claim.content) ? null : { why, allowed: [...allowed].map(view) });
    switch (claim.kind) {
        case 'exact':
            return against(pick(exactAt(question)), 'called exact, but this is not what held');
        case 'as of': {
            const k = place(claim.k);
            if (!Number.isInteger(claim.k) || !(k >= 0 && k <= m)) {
                return { why: 'as of a message that is not at or before the one asked for', allowed: [] };
            }
            if (claim.source === 'recap') {
                return falseRecap(question.recaps?.get(tokens[k]), claim, view);
            }
            return against(pick(ledger.asOf(tokens, k)), `called as of ${claim.k}, but this was nowhere while that message was the last`);
        }
        case 'settled': {
            const k = place(claim.k);
            if (!Number.isInteger(claim.k) || !(k >= m && k < tokens.length)) {
                return { why: 'settled at a message that is before the one asked for', allowed: [] };
            }
            return against(pick(ledger.asOf(tokens, k)), `said to be settled at ${claim.k}, but this was nowhere while that message was the last`);
        }
        case 'live':
            return against(pick(liveSets(question)), "called today's, but this is not today's");
        default:
            return null;
    }
}

/** A recap's snapshot is as of its scene, in the fields that it keeps: it must be the one on the message. */
function falseRecap(recap, { content }, view) {
    const [name, text] = content.split('\n');
    const entries = Object.values(JSON.parse(text ?? '{}').entries ?? {}).map(({ uid, content: lore }) => JSON.stringify([uid, lore]));
    const isSame = recap && name === view(`${recap.bookName}\n`).split('\n')[0] && entries.every((entry) => recap.entries.includes(entry)) && (entries.length > 0 || recap.entries.length === 0);
    return isSame ? null : { why: 'as a recap kept it, but no recap of that message kept this', allowed: recap?.entries ?? [] };
}

function liveSets({ live }) {
    return { books: new Set([bookKey(live.bookName, live.bookText)]), metadata: new Set([live.metadata]) };
}

/** What may be claimed as exact. */
function exactAt(question) {
    const { ledger, tokens, m, isFiles, lastHasRecord } = question;
    const crossings = ledger.readings(tokens).map((reading) => ledger.crossing(tokens, m, reading));
    if (crossings[0]) {
        return {
            books: new Set(crossings.flatMap((crossing) => [...exactBooks(crossing)])),
            metadata: new Set(crossings.flatMap(({ held }) => (held ? [held.metadata] : []))),
        };
    }
    const now = liveSets(question);
    if (!isFiles || !lastHasRecord) {
        return now;
    }
    // Today's files only belong to the last message if its record does not contradict them.
    const recorded = ledger.asOf(tokens, m, { watchedOnly: true });
    const both = (one, other) => new Set([...one].filter((value) => other.has(value)));
    // A book that was only renamed is the recorded one.
    const lore = (book) => book.slice(book.indexOf('\n'));
    const known = new Set([...recorded.books].map(lore));
    return { books: new Set([...now.books].filter((book) => known.has(lore(book)))), metadata: both(now.metadata, recorded.metadata) };
}

/** A false claim, in words. */
export function describe({ seed, world, question, found }) {
    const short = (text) => (text.length > 900 ? `${text.slice(0, 900)}… (${text.length})` : text);
    const { claim } = found;
    return [
        `FALSE: seed ${seed}, ${question.isFiles ? 'files' : 'page'}, message ${question.asked} of ${question.tokens.length}, ${found.part}: ${claim.kind}${claim.k ?? ''} from ${claim.source}: ${found.why}`,
        ...world.words.map((words, number) => `  ${number + 1}. ${words}`),
        `  situations: ${[...situationsOf(question, world)].join(', ')}`,
        `  got:   ${short(claim.content)}`,
        ...(found.allowed.length ? found.allowed.slice(0, 4).map((text) => `  truth: ${short(text)}`) : ['  truth: nothing may be claimed here']),
    ].join('\n');
}

/** The situations that a question involves. */
export function situationsOf({ ledger, tokens, m }, world) {
    const crossing = ledger.crossing(tokens, m);
    return new Set([
        ...ledger.arrivalAt(tokens, m).tags,
        ...(crossing?.tags ?? ['last message']),
        ...[...world.storyTags].filter((tag) => !tag.startsWith('story:')),
    ]);
}
