/** A lorebook that several chats share: shows which, and how it would be split. */
import { choice, exactnessIcon, heading, icon, nameOf, paragraph } from '../widgets/controls.js';
import { element, fill, freshId } from '../widgets/dom.js';
import { say, sayError, sayPartShort } from '../words.js';

/**
 * A plan for a split as lines of text.
 * @param {{keeper: string|null, chats: Array<{name: string, book: string, entries: number, part: object, open: boolean}>}} plan
 * @param {string} book the shared book
 */
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
 * @param {{screen: object, plan: (family: boolean) => Promise<object>}} parts
 * @param {{book: string, sharedWith: string[], hasFamily: boolean}} shared `hasFamily`: whether relatives of the chat are among them
 * @returns {Promise<{family: boolean}|null>} null for "not now"
 */
export async function askSplit({ screen, plan }, { book, sharedWith, hasFamily }) {
    let family = false;
    let isReady = false;
    let asked = 0;
    const preview = element('div', { class: 'forklore_preview', 'aria-live': 'polite' });
    const show = async (whole) => {
        family = whole;
        isReady = false;
        asked += 1;
        const question = asked;
        fill(preview, paragraph(icon('fa-spinner', 'fa-spin'), ' ', say('shared.planning')));
        const content = await plan(whole).then((found) => splitView(found, book), (error) => error);
        if (question !== asked) {
            return;
        }
        isReady = !(content instanceof Error) && !content.isEmpty;
        fill(preview, content instanceof Error ? paragraph(sayError(content)) : planLines(content));
    };
    const group = freshId('split');
    const way = (name, whole) => choice({
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

function planLines({ keeper, isEmpty, lines }) {
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
