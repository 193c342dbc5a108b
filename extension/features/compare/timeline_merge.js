// Brings lore from one timeline into another: the core makes a plan, the user reviews it, then it is applied.

import { bytesText } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { shown, shownBeginning } from './comparison.js';

/**
 * What to bring over.
 * @typedef {object} MergeRequest
 * @property {import('./comparison.js').Moment} from
 * @property {string} into the name of the timeline to change, in its current state
 * @property {Record<string, true | string[]> | null} [only] entries by their keys in the source book, whole or only some of
 *     their fields; null: everything that was changed there
 * @property {Array<number | string>} [uids] entries by their uids, instead of `only`
 * @property {object} [settle] how to settle conflicts, by key and field
 * @property {'ours' | 'theirs' | null} [otherwise] how to settle all others
 */

/** Two plans with the same outline are the same plan. */
const outline = ({ steps, conflicts, kept, twins }) => JSON.stringify([steps, conflicts, kept, twins]);

export class TimelineMerge {
    /**
     * @param {object} parts
     * @param {object} parts.host @param {object} parts.core @param {import('../repair/repairs.js').Repairs} parts.repairs
     * @param {import('./comparison.js').Comparison} parts.comparison
     * @param {(book: string, step: () => Promise<any>) => Promise<any>} [parts.exclusively] runs a step while no other tab writes the book
     */
    constructor({ exclusively = (book, step) => step(), ...parts }) {
        Object.assign(this, { ...parts, exclusively });
        /** Changes to a chat's metadata that came with a change of its book, by the token that restores the book. */
        this.metadataChanges = new Map();
    }

    /** Plans without changing anything. @param {MergeRequest} request */
    async plan(request) {
        return this.planFrom(request, await this.readSides(request)).plan;
    }

    /**
     * Carries the request out.
     * @param {MergeRequest} request
     * @param {object | null} [seen] the plan that the user agreed to
     * @returns {Promise<object>} what was done, or `{isStale: true, plan}` if the plan has changed in the meantime
     */
    async apply(request, seen = null) {
        const open = this.repairs.requireOpenChat();
        const { bookName } = await this.comparison.side(open, { chat: request.into });
        if (bookName) {
            await this.host.untilSaved(bookName);
        }
        return this.exclusively(bookName ?? '', async () => {
            const found = await this.readSides(request);
            const unsettled = seen && this.planFrom({ ...request, settle: {}, otherwise: null }, found).plan;
            return unsettled && outline(unsettled) !== outline(seen)
                ? { isStale: true, plan: unsettled }
                : this.applyPlan(request, this.planFrom(request, found), Boolean(seen));
        });
    }

    /** Both sides as they are, and what they started from. @param {MergeRequest} request */
    async readSides(request) {
        const open = this.repairs.requireOpenChat();
        const ours = await this.comparison.side(open, { chat: request.into });
        const theirs = await this.comparison.side(open, request.from);
        requireBook(ours, 'no-book-into');
        requireBook(theirs, 'no-book-from');
        const isSameChat = ours.name === theirs.name;
        // To bring back an earlier state of the same chat, its current state serves as the base: everything that was
        // different then counts as changed.
        const beginning = isSameChat
            ? { known: true, how: 'then', book: ours.book, message: theirs.message, chat: ours.name }
            : await this.comparison.mergeBase(open, ours, theirs);
        return { ours, theirs, beginning };
    }

    planFrom(request, { ours, theirs, beginning }) {
        const only = request.uids ? wholeEntries(theirs.book, request.uids) : request.only ?? null;
        const { value, book, isByHand } = this.mergeBooks({ ...request, only }, beginning, ours, theirs);
        return {
            ours,
            bytes: book,
            changed: changedKeys(ours.metadata, value.metadata),
            plan: {
                from: shown(theirs),
                into: shown(ours),
                beginning: shownBeginning(beginning),
                isByHand,
                steps: value.steps,
                conflicts: value.conflicts.map((conflict) => ({ ...conflict, words: this.wordsOf(conflict) })),
                kept: value.kept,
                twins: value.twins,
                changes: value.changes,
                words: (before, after) => this.core.words(before, after),
            },
        };
    }

    mergeBooks({ only, settle = {}, otherwise = null }, beginning, ours, theirs) {
        const ask = {
            baseKnown: beginning.known,
            only, settle, otherwise,
            ourBook: ours.bookName, theirBook: theirs.bookName, ourMetadata: ours.metadata, theirMetadata: theirs.metadata,
        };
        const answer = this.core.merge(ask, beginning.book, ours.book, theirs.book);
        const isEmpty = ({ value }) => value.steps.length === 0 && value.conflicts.length === 0;
        if (!only || !beginning.known || !beginning.book || !isEmpty(answer)) {
            return answer;
        }
        // The user wants an entry that was not changed there. Then its current content counts, not its changes. Only an
        // entry that existed at the fork point is certain to be the same one under the same key in both books.
        const began = JSON.parse(bytesText(beginning.book)).entries ?? {};
        const known = Object.fromEntries(Object.entries(only).filter(([key]) => Object.hasOwn(began, key)));
        const byHand = this.core.merge({ ...ask, only: known }, ours.book, ours.book, theirs.book);
        return isEmpty(byHand) || otherwise === 'ours' ? answer : { ...byHand, isByHand: true };
    }

    /** The word diff of a conflict's two texts, from theirs to ours; `null` if they are not texts. */
    wordsOf({ ours, theirs }) {
        return typeof ours === 'string' && typeof theirs === 'string' ? this.core.words(theirs, ours) : null;
    }

    async applyPlan({ from, into, otherwise = null }, { ours, bytes, changed, plan }, isSeen) {
        // Local changes are only overwritten if the user agreed to it.
        const written = plan.isByHand && !isSeen && !otherwise ? plan.steps.filter(({ what }) => what !== 'add') : [];
        const count = plan.conflicts.filter(({ settled }) => !settled).length + written.length;
        if (count) {
            throw wordError('conflicts-left', { count });
        }
        const counted = (what) => plan.steps.filter((step) => step.what === what && !step.internal).map(({ title }) => String(title ?? ''));
        const done = { from: from.chat, into, book: ours.bookName, added: counted('add'), changed: counted('change'), removed: counted('remove'), undo: null };
        if (!plan.changes) {
            return done;
        }
        const text = bytesText(bytes);
        const change = {
            book: { name: ours.bookName },
            bytes,
            replaces: true,
            // SillyTavern may have changed other keys in the meantime.
            get metadata() {
                return changed && { ...ours.chat.metadata, ...changed.after };
            },
        };
        await this.repairs.apply(change, ours.chat, `bring lore from "${from.chat}" into "${into}"`, { isOpen: ours.isOpen });
        if (changed) {
            this.metadataChanges.set(change.undo, { chat: { group: ours.chat.group, avatar: ours.chat.avatar, name: into }, ...changed });
        }
        return { ...done, undo: change.undo, text };
    }

    /** The book was restored. Restores the metadata that was changed along with it, unless it was changed again since. */
    async undo(token) {
        const changes = this.metadataChanges.get(token);
        if (!changes) {
            return;
        }
        this.metadataChanges.delete(token);
        const { chat: { group, avatar, name }, before, after } = changes;
        const open = this.host.openChat();
        const isOpen = open?.name === name && open.group === group && open.avatar === avatar;
        const chat = isOpen ? open : await this.repairs.closedChat({ group, avatar, name });
        const isStill = (key) => JSON.stringify(chat.metadata[key]) === JSON.stringify(after[key]);
        const back = Object.keys(after).filter(isStill);
        if (back.length) {
            await this.repairs.apply({ metadata: withBefore(chat.metadata, before, back) }, chat, 'undo', { isOpen });
        }
    }
}

function requireBook({ name, bookName, book }, code) {
    if (!book) {
        throw bookName
            ? wordError('book-missing', { name: bookName })
            : wordError(code, { chat: name });
    }
}

/** Entries by their uids, which are not always the keys they are stored under. */
function wholeEntries(book, uids) {
    const found = Object.entries(JSON.parse(bytesText(book)).entries ?? {}).filter(([, entry]) => uids.includes(entry?.uid));
    return Object.fromEntries(found.map(([key]) => [key, true]));
}

/** The metadata keys that a plan changes, with their values before and after. */
function changedKeys(metadata, wanted) {
    const keys = wanted ? Object.keys(wanted).filter((key) => JSON.stringify(metadata[key]) !== JSON.stringify(wanted[key])) : [];
    const of = (value) => Object.fromEntries(keys.map((key) => [key, structuredClone(value[key])]));
    return keys.length ? { before: of(metadata), after: of(wanted) } : null;
}

function withBefore(metadata, before, keys) {
    const result = { ...metadata };
    for (const key of keys) {
        if (before[key] === undefined) {
            delete result[key];
        } else {
            result[key] = before[key];
        }
    }
    return result;
}
