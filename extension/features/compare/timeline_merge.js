// Brings lore from one timeline into another: the core makes a plan, the user reviews it, then it is applied.

import { entriesOf } from '../../core/core.js';
import { bytesText } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { editsOf } from '../chat_change.js';
import { refuseBusy } from '../repair/busy.js';
import { shown, shownBeginning } from './comparison.js';
/** @import { BookChange, Brought, Conflict, Core, Host, MergePlan, MergeRequest, MergeStep, StalePlan, WantedEntries } from '../../types.js' */
/** @import { Repairs } from '../repair/repairs.js' */
/** @import { Base, Comparison, Side } from './comparison.js' */
/** @typedef {Side & {bookName: string, book: Uint8Array}} SideWithBook */
/** @typedef {{ours: SideWithBook, theirs: SideWithBook, beginning: Base}} Sides */
/** @typedef {StalePlan | (Brought & {text?: string})} Outcome with the text that was written */
/** @typedef {(book: string, step: () => Promise<Outcome>) => Promise<Outcome>} Exclusively runs a step while no other tab writes the book */

/** Two plans with the same outline are the same plan. @param {Pick<MergePlan, 'steps' | 'conflicts' | 'kept' | 'twins'>} plan */
const outline = ({ steps, conflicts, kept, twins }) => JSON.stringify([steps, conflicts, kept, twins]);

export class TimelineMerge {
    /** @param {{host: Pick<Host, 'openChat' | 'recapOperations' | 'untilSaved'>, core: Core, repairs: Repairs, comparison: Comparison, exclusively?: Exclusively}} parts */
    constructor({ host, core, repairs, comparison, exclusively = (book, step) => step() }) {
        this.host = host;
        this.core = core;
        this.repairs = repairs;
        this.comparison = comparison;
        this.exclusively = exclusively;
    }

    /** Plans without changing anything. @param {MergeRequest} request */
    async plan(request) {
        return this.planFrom(request, await this.readSides(request)).plan;
    }

    /**
     * Carries the request out.
     * @param {MergeRequest} request
     * @param {MergePlan | null} [seen] the plan that the user agreed to
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

    /** Both sides as they are, and what they started from. @param {MergeRequest} request @returns {Promise<Sides>} */
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

    planFrom(/** @type {MergeRequest} */ request, /** @type {Sides} */ { ours, theirs, beginning }) {
        const only = request.uids ? wholeEntries(theirs.book, request.uids) : request.only ?? null;
        const { value, book, isByHand } = this.mergeBooks({ ...request, only }, beginning, ours, theirs);
        /** @type {MergePlan} */
        const plan = {
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
        };
        const { messages } = ours.chat;
        const edits = editsOf({ metadata: ours.metadata, messages }, { metadata: { ...ours.metadata, ...value.metadata } });
        return { ours, bytes: book, edits, plan };
    }

    /**
     * @param {Pick<MergeRequest, 'settle' | 'otherwise'> & {only: WantedEntries | null}} request
     * @param {Base} beginning @param {SideWithBook} ours @param {SideWithBook} theirs
     * @returns {ReturnType<Core['merge']> & {isByHand?: boolean}}
     */
    mergeBooks({ only, settle = {}, otherwise = null }, beginning, ours, theirs) {
        const ask = {
            baseKnown: beginning.known,
            only, settle, otherwise,
            ourBook: ours.bookName, theirBook: theirs.bookName, ourMetadata: ours.metadata, theirMetadata: theirs.metadata,
        };
        const answer = this.core.merge(ask, beginning.book, ours.book, theirs.book);
        const isEmpty = (/** @type {typeof answer} */ { value }) => value.steps.length === 0 && value.conflicts.length === 0;
        if (!only || !beginning.known || !beginning.book || !isEmpty(answer)) {
            return answer;
        }
        // The user wants an entry that was not changed there. Then its current content counts, not its changes. Only an
        // entry that existed at the fork point is certain to be the same one under the same key in both books.
        const began = entriesOf(beginning.book);
        const known = Object.fromEntries(Object.entries(only).filter(([key]) => Object.hasOwn(began, key)));
        const byHand = this.core.merge({ ...ask, only: known }, ours.book, ours.book, theirs.book);
        return isEmpty(byHand) || otherwise === 'ours' ? answer : { ...byHand, isByHand: true };
    }

    /** The word diff of a conflict's two texts, from theirs to ours; `null` if they are not texts. @param {Conflict} conflict */
    wordsOf({ ours, theirs }) {
        return typeof ours === 'string' && typeof theirs === 'string' ? this.core.words(theirs, ours) : null;
    }

    /** @param {MergeRequest} request @param {ReturnType<TimelineMerge['planFrom']>} found @param {boolean} isSeen @returns {Promise<Outcome>} */
    async applyPlan({ from, into, otherwise = null }, { ours, bytes, edits, plan }, isSeen) {
        // Local changes are only overwritten if the user agreed to it.
        const written = plan.isByHand && !isSeen && !otherwise ? plan.steps.filter(({ what }) => what !== 'add') : [];
        const count = plan.conflicts.filter(({ settled }) => !settled).length + written.length;
        if (count) {
            throw wordError('conflicts-left', { count });
        }
        const counted = (/** @type {MergeStep['what']} */ what) => plan.steps.filter((step) => step.what === what && !step.internal).map(({ title }) => String(title ?? ''));
        const done = { from: from.chat, into, book: ours.bookName, added: counted('add'), changed: counted('change'), removed: counted('remove'), undo: null };
        if (!plan.changes) {
            return done;
        }
        await refuseBusy(this, ours);
        const text = bytesText(bytes);
        /** @type {BookChange} */
        const change = { book: { name: ours.bookName }, bytes, replaces: true, edits };
        await this.repairs.applyKept(change, ours.chat, { code: 'merge', from: from.chat });
        return { ...done, undo: change.undo ?? null, text };
    }
}

/** @param {Side} side @param {string} code @returns {asserts side is SideWithBook} */
function requireBook(side, code) {
    if (!side.book) {
        throw side.bookName
            ? wordError('book-missing', { name: side.bookName })
            : wordError(code, { chat: side.name });
    }
}

/**
 * Entries by their uids, which are not always the keys they are stored under.
 * @param {Uint8Array} book @param {Array<number | string | undefined>} uids @returns {WantedEntries}
 */
function wholeEntries(book, uids) {
    const found = Object.entries(entriesOf(book)).filter(([, entry]) => uids.includes(entry?.uid));
    return Object.fromEntries(found.map(([key]) => [key, true]));
}
