/** A lorebook that several chats share: shows which, and how it would be split. */
import { bigButton, choice, exactnessIcon, heading, icon, nameOf, paragraph } from '../widgets/controls.js';
import { element, fill, freshId } from '../widgets/dom.js';
import { say, sayError, sayNames, sayPartShort } from '../words.js';
/** @import { CharactersBook, ForkKind, LoreChoice, SplitPlan, TavernScreen } from '../types.js' */

/** A plan for a split as lines of text. @param {SplitPlan} plan @param {string} book the shared book */
export function splitView({ keeper, chats }, book) {
    return {
        keeper: keeper ? say('shared.keeper', { chat: keeper, book }) : '',
        isEmpty: chats.length === 0,
        // The open chat comes first: it is the one in question.
        lines: [...chats].sort((one, other) => Number(other.open) - Number(one.open)).map((chat) => ({
            ...chat,
            title: chat.open ? say('shared.open') : '',
            about: say('notice.book', { book: chat.book, entries: chat.entries, part: sayPartShort(chat.part) }),
        })),
    };
}

/**
 * @param {{screen: TavernScreen, plan: (family: boolean) => Promise<SplitPlan>}} parts
 * @param {{book: string | null, sharedWith: string[], hasFamily: boolean}} shared
 * @returns {Promise<{family: boolean} | null>} null for "not now"
 */
export async function askSplit({ screen, plan }, { book: shared, sharedWith, hasFamily }) {
    const book = shared ?? '';
    let family = false;
    let isReady = false;
    let asked = 0;
    const preview = element('div', { class: 'forklore_preview', 'aria-live': 'polite' });
    const show = async (/** @type {boolean} */ whole) => {
        family = whole;
        isReady = false;
        asked += 1;
        const question = asked;
        fill(preview, paragraph(icon('fa-spinner', 'fa-spin'), ' ', say('shared.planning')));
        const found = await plan(whole).catch((error) => ({ error }));
        if (question !== asked) {
            return;
        }
        const view = 'error' in found ? null : splitView(found, book);
        isReady = Boolean(view && !view.isEmpty);
        fill(preview, 'error' in found ? paragraph(sayError(found.error)) : view && planLines(view));
    };
    const group = freshId('split');
    const way = (/** @type {string} */ name, /** @type {boolean} */ whole) => choice({
        group, value: name, title: say(`shared.${name}`), hint: say(`shared.${name}.hint`, { book }), checked: !whole, run: () => show(whole),
    });
    const content = element('div', { class: 'forklore_dialog' },
        heading(say('shared.title')),
        paragraph(say('shared.text', { book })),
        element('ul', { class: 'forklore_words forklore_short_list' }, sharedWith.map((name) => element('li', {}, nameOf(name)))),
        paragraph(say('shared.why')),
        element('div', { class: 'forklore_choices', role: 'radiogroup', 'aria-label': say('shared.title') },
            way('this', false), hasFamily ? way('family', true) : null),
        element('h4', {}, say('shared.plan')),
        preview);
    show(false);
    const answer = await screen.popup(content, {
        okText: say('shared.ok'),
        cancelText: say('button.not-now'),
        mayClose: () => isReady,
    });
    return answer === 'ok' ? { family } : null;
}

function planLines(/** @type {ReturnType<typeof splitView>} */ { keeper, isEmpty, lines }) {
    if (isEmpty) {
        return paragraph(say('shared.nothing'));
    }
    return [
        element('ul', { class: 'forklore_list' }, lines.map((line) => element('li', { class: 'forklore_item' },
            exactnessIcon(line.part),
            element('div', { class: 'forklore_item_text' },
                element('div', {}, nameOf(line.name), line.title ? element('small', { class: 'forklore_tag' }, line.title) : null),
                element('small', {}, line.about))))),
        keeper ? element('small', {}, keeper) : null,
    ];
}

/**
 * What becomes of the chat's own copy if the original is used again.
 * @param {TavernScreen} screen @param {string[]} originals
 * @returns {Promise<{unlink: boolean} | null>} null to leave everything as it is
 */
export async function askOriginal(screen, originals) {
    let unlink = true;
    const group = freshId('original');
    const way = (/** @type {string} */ name, /** @type {boolean} */ isUnlinked) => choice({
        group, value: name, title: say(`original.${name}`), hint: say(`original.${name}.hint`), checked: isUnlinked, run: () => { unlink = isUnlinked; },
    });
    const answer = await screen.popup(element('div', { class: 'forklore_dialog' },
        heading(say('original.title')),
        paragraph(say('original.text', { books: sayNames(originals) })),
        element('div', { class: 'forklore_choices', role: 'radiogroup', 'aria-label': say('original.title') }, way('unlink', true), way('keep', false))),
    { okText: say('original.ok'), cancelText: say('button.cancel') });
    return answer === 'ok' ? { unlink } : null;
}

/**
 * What becomes of a lorebook that all chats with a character share, in a new fork.
 * @param {TavernScreen} screen @param {CharactersBook} lore @param {ForkKind} kind
 * @returns {Promise<{choice: LoreChoice | 'cancel', isAlways?: boolean}>}
 */
export async function askLore(screen, { book, name }, kind) {
    const always = element('input', { type: 'checkbox', id: freshId('always') });
    const icons = /** @type {const} */ ({ own: 'fa-copy', shared: 'fa-link' });
    const answers = /** @type {const} */ (['own', 'shared']);
    const answer = await screen.popup((/** @type {(choice: LoreChoice) => void} */ close) => element('div', { class: 'forklore_dialog' },
        heading(say('sharing.title', { book, name })),
        element('div', { class: 'forklore_choices' }, answers.map((one) => bigButton({
            icon: icons[one], title: say(one === 'own' ? `sharing.own.${kind}` : 'sharing.shared', { book }), hint: say(`sharing.${one}.hint`, { name }), run: () => close(one),
        }))),
        element('label', { class: 'checkbox_label', for: always.id }, always, element('span', {}, say('sharing.always', { name }))),
    ), { cancelText: say('button.cancel') });
    return { choice: answer === 'ok' ? 'cancel' : answer ?? 'cancel', isAlways: always.checked };
}
