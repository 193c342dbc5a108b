/** The lore of a message: what the lorebook contained then, and how it has changed since. */
import { sayMessagesOf } from '../messages.js';
import { button, exactnessIcon, folded, heading, icon, nameOf, paragraph } from '../widgets/controls.js';
import { element, fill } from '../widgets/dom.js';
import { holdsWords } from '../widgets/search.js';
import { say, sayCounts, sayFields, sayList, sayPart } from '../words.js';

/** @typedef {'restore' | 'compare' | 'changes' | 'checkpoint' | 'branch' | {bring: Parameters<BringEntry>[0]}} Chosen */
/** @import { Actions, BringEntry, Dialogs, Lore, LoreChange, LoreView, Part, Parts, SayMessage, ShownChange, ShownEntry, Toasts } from '../types.js' */

/** A search field is shown for at least this many entries. */
const SEARCH_FROM = 8;

/** Up to this many changes are shown unfolded. */
const CHANGES_SHOWN = 5;

const ICONS = { added: 'fa-plus', removed: 'fa-minus', changed: 'fa-pen' };

/** What a restore does about each kind of change. @type {Record<LoreChange['what'], {what: LoreChange['what'], key: string}>} */
const WHEN_RESTORED = {
    added: { what: 'removed', key: 'restore.gone' },
    removed: { what: 'added', key: 'restore.back' },
    changed: { what: 'changed', key: 'restore.reverted' },
};

/** @param {Lore} lore @param {SayMessage} [sayMessage] @param {number} [last] the chat's last message @returns {LoreView} */
export function loreView({ message, part, book, entries, changes, isInherited = false, hasBook = false }, sayMessage = String, last = message) {
    const shown = entries.map((entry) => ({
        uid: entry.uid,
        title: entry.title || say('lore.untitled', { uid: entry.uid }),
        keys: entry.keys.length ? say('lore.keys', { keys: sayList(entry.keys) }) : say('lore.no-keys'),
        content: entry.content || '',
        isDisabled: entry.disabled,
        isInternal: entry.internal,
        searched: [entry.title, entry.content, ...entry.keys].join('\n'),
    }));
    return {
        title: say('lore.title', { message: sayMessage(message) }),
        book: bookLine({ part, book, entries, isInherited }),
        // What was written after the message, and before the next one, is in it.
        exactness: !book ? '' : part.exactness === 'exact' && message < last ? say('lore.exactness.next') : say('lore.exactness', { part: sayPart(part, sayMessage) }),
        entries: shown.filter(({ isInternal }) => !isInternal),
        internal: shown.filter(({ isInternal }) => isInternal),
        changes: changes.map(changeLine),
        restored: changes.map(restoredLine),
        since: book ? sinceLine(part, changes) : '',
        isWithoutBook: !book,
        hint: book || hasBook ? '' : say('lore.no-book.hint'),
        canRestore: Boolean(book) && changes.length > 0,
    };
}

/** A branch inherits its parent's records, which name the parent's lorebook. @param {Pick<Lore, 'part' | 'book' | 'entries' | 'isInherited'>} lore */
function bookLine({ part, book, entries, isInherited }) {
    if (!book) {
        return say(part.exactness === 'live' ? 'lore.no-book.now' : 'lore.no-book');
    }
    return say(isInherited ? 'lore.book.inherited' : 'lore.book', { book, count: entries.length });
}

/** The lore is compared with today's lorebook, so the sentence starts at the message that the lore is known from. @param {Part} part @param {LoreChange[]} changes */
function sinceLine({ exactness, as_of }, changes) {
    if (exactness === 'live') {
        return say('lore.since.unknown');
    }
    const of = exactness === 'snapshot' ? '.snapshot' : '';
    return changes.length ? say(`lore.since${of}`, { as_of, changes: sayCounts(countedBy(changes)) }) : say(`lore.since.nothing${of}`, { as_of });
}

function countedBy(/** @type {LoreChange[]} */ changes) {
    const count = (/** @type {LoreChange['what']} */ what) => changes.filter((change) => change.what === what).length;
    return { added: count('added'), changed: count('changed'), removed: count('removed') };
}

function changeLine(/** @type {LoreChange} */ { uid, title, what, fields }) {
    const about = what === 'changed' && fields.length ? say('lore.changed.fields', { fields: sayFields(fields) }) : say(`lore.${what}`);
    return { title: title || say('lore.untitled', { uid }), what, about };
}

function restoredLine(/** @type {LoreChange} */ change) {
    const { what, key } = WHEN_RESTORED[change.what];
    return { ...changeLine(change), what, about: say(key, { fields: sayFields(change.fields) }) };
}

/** The entries that contain all of the typed words. @template {{searched: string}} Entry @param {Entry[]} entries @param {string} typed */
export function matchingEntries(entries, typed) {
    return entries.filter(({ searched }) => holdsWords(searched, typed));
}

export function createLore(/** @type {Parts & {dialogs: Dialogs, toasts: Toasts, actions: Actions}} */ { app, screen, dialogs, toasts, actions }) {
    const sayMessage = sayMessagesOf((message) => app.messageAt(message));

    /** Shows the lore of a message, or the entries with these words, and does what the user chooses there. */
    const show = async (/** @type {number} */ message, typed = '') => {
        try {
            const lore = await screen.during(app.lore(message), say('lore.loading'));
            const view = loreView(lore, sayMessage, (app.open()?.messages ?? 0) - 1);
            const answer = await screen.popup((/** @type {(chosen: Chosen) => void} */ close) => loreElement(view, lore.part, { typed, bring: (entry) => close({ bring: entry }), showChanges: () => close('changes') }), {
                wide: true,
                okText: say('button.close'),
                buttons: [
                    { text: say('lore.restore'), value: 'restore', icon: 'fa-clock-rotate-left', disabled: !view.canRestore },
                    { text: say('lore.compare'), value: 'compare', icon: 'fa-code-compare' },
                    { text: say('lore.checkpoint'), value: 'checkpoint', icon: 'fa-flag-checkered' },
                    { text: say('lore.branch'), value: 'branch', icon: 'fa-code-branch' },
                ],
            });
            if (answer === 'restore') {
                await restore(message, view);
            } else if (answer === 'checkpoint' || answer === 'branch') {
                await actions.fork({ kind: answer, message });
            } else if (answer === 'compare') {
                const chat = app.open()?.name ?? '';
                await actions.chooseToCompare({ left: { chat, message }, right: { chat, message: null } });
            } else if (answer === 'changes') {
                const chat = app.open()?.name ?? '';
                await actions.compare({ left: { chat, message }, right: { chat, message: null } });
            } else if (answer instanceof Object) {
                await actions.bringEntry({ message, ...answer.bring });
            }
        } catch (error) {
            toasts.failed(error);
        }
    };

    const restore = async (/** @type {number} */ message, /** @type {LoreView} */ { restored }) => {
        const preview = await screen.during(app.restore(message, { dryRun: true }), say('lore.loading'));
        if (await dialogs.askRestore(message, preview, changeList(restored))) {
            toasts.restored(message, await app.restore(message, { dryRun: false }), actions);
        }
    };

    /** The lore at the last message. */
    const showLast = (typed = '') => {
        const open = app.open();
        return open?.messages ? show(open.messages - 1, typed) : toasts.notify('info', say('ready.no-chat'));
    };

    return {
        show,
        showLast,
        /** Adds the button to every message, and the item to the wand menu. */
        mount: () => {
            screen.addMessageAction({ name: 'forklore_lore', icon: 'fa-clock-rotate-left', title: say('lore.action'), run: (message) => show(message) });
            screen.addWandItem({ id: 'forklore_wand', icon: 'fa-book-atlas', text: say('lore.wand'), run: () => showLast() });
        },
    };
}

/** @param {LoreView} view @param {Part} part @param {{typed: string, bring: BringEntry, showChanges: () => void}} how */
function loreElement(view, part, { typed, bring, showChanges }) {
    return element('div', { class: 'forklore_dialog' },
        heading(view.title),
        paragraph(icon('fa-book'), ' ', view.book),
        view.exactness ? paragraph(exactnessIcon(part), ' ', view.exactness) : null,
        view.changes.length
            ? folded(view.since, () => [changeList(view.changes), element('div', { class: 'forklore_buttons' }, button(say('lore.since.show'), { icon: 'fa-code-compare', run: showChanges }))], { open: view.changes.length <= CHANGES_SHOWN })
            : view.since ? paragraph(view.since) : null,
        view.isWithoutBook ? view.hint ? paragraph(view.hint) : null : [element('h4', {}, say('lore.entries')), entryList(view.entries, { typed, bring })],
        view.internal.length
            ? folded(say('lore.internal', { count: view.internal.length }), () => view.internal.map((entry) => entryElement(entry)))
            : null);
}

/** @param {ShownEntry[]} entries @param {{typed: string, bring: BringEntry}} how `typed`: what is searched at first */
function entryList(entries, { typed: first, bring }) {
    if (!entries.length) {
        return paragraph(say('lore.none'));
    }
    const list = element('div', { class: 'forklore_entries' });
    const show = (/** @type {string} */ typed) => {
        const found = matchingEntries(entries, typed);
        fill(list, found.length ? found.map((entry) => entryElement(entry, bring, found.length === 1)) : paragraph(say('lore.no-match')));
    };
    show(first);
    const search = entries.length < SEARCH_FROM && !first ? null : element('input', {
        type: 'search',
        class: 'text_pole',
        placeholder: say('lore.search'),
        'aria-label': say('lore.search'),
        value: first,
        on: { input: (event) => show(event.target.value) },
    });
    return [search, list];
}

/** @param {ShownEntry} entry @param {BringEntry} [bring] */
function entryElement({ uid, title, keys, content, isDisabled }, bring, open = false) {
    const summary = element('span', { class: 'forklore_entry_title' },
        nameOf(title),
        isDisabled ? element('small', { class: 'forklore_tag' }, say('lore.disabled')) : null,
        element('small', { class: 'forklore_keys' }, keys));
    return folded(summary, () => [
        element('div', { class: 'forklore_content' }, content || say('lore.empty')),
        bring ? element('div', { class: 'forklore_buttons' },
            button(say('lore.bring'), { icon: 'fa-arrow-right-to-bracket', label: say('lore.bring.label', { title }), run: () => bring({ uid, title }) })) : null,
    ], { open });
}

function changeList(/** @type {ShownChange[]} */ changes) {
    return element('ul', { class: 'forklore_list' }, changes.map(({ title, what, about }) =>
        element('li', { class: 'forklore_item' },
            icon(ICONS[what], `forklore_${what}`),
            element('div', { class: 'forklore_item_text' },
                element('div', {}, nameOf(title)),
                element('small', {}, about)))));
}
