/** Asks which two moments to compare, or which timeline to bring something into. */
import { heading, paragraph } from '../widgets/controls.js';
import { shortNames } from '../names.js';
import { element } from '../widgets/dom.js';
import { say } from '../words.js';
import { MessagePicker } from './message_picker.js';
/** @import { ListedMessage, Moment, TavernScreen, TimelineChoice } from '../types.js' */

/** A select box with timelines, the family first. @param {TimelineChoice[]} choices @param {{label: string, chosen: string, run?: () => void}} how */
function timelineSelect(choices, { label, chosen, run = () => {} }) {
    const kin = choices.filter(({ isRelated }) => isRelated);
    const others = choices.filter(({ isRelated }) => !isRelated);
    const options = (/** @type {TimelineChoice[]} */ list) => {
        const short = shortNames(list.map(({ name }) => name));
        return list.map(({ name, isOpen }) => element('option', { value: name, title: name, selected: name === chosen },
            isOpen ? say('choose.open', { name: short(name) }) : short(name)));
    };
    const select = element('select', { class: 'text_pole', 'aria-label': label, on: { change: () => run() } },
        others.length && kin.length ? [
            element('optgroup', { label: say('choose.family') }, options(kin)),
            element('optgroup', { label: say('choose.others') }, options(others)),
        ] : options(choices));
    select.value = chosen;
    return select;
}

/**
 * Asks what to compare.
 * @param {{screen: TavernScreen, messagesOf: (chat: string) => Promise<ListedMessage[]>}} parts @param {TimelineChoice[]} choices
 * @param {{left?: Moment, right?: Moment}} [first] the initial choice
 * @returns {Promise<{left: Moment, right: Moment} | null>}
 */
export async function askMoments({ screen, messagesOf }, choices, first = {}) {
    const open = (choices.find(({ isOpen }) => isOpen) ?? choices[0])?.name ?? '';
    const second = choices.find(({ name }) => name !== open)?.name ?? open;
    const sides = {
        left: side('left', choices, messagesOf, first.left ?? { chat: open }),
        right: side('right', choices, messagesOf, first.right ?? { chat: second }),
    };
    const note = element('small', { class: 'forklore_text', role: 'status' });
    const isSame = () => {
        const [left, right] = [sides.left.moment(), sides.right.moment()];
        return left.chat === right.chat && left.message === right.message;
    };
    const content = element('div', { class: 'forklore_dialog' },
        heading(say('choose.title')),
        paragraph(say('choose.text')),
        element('div', { class: 'forklore_columns' }, sides.left.body, sides.right.body),
        note);
    const answer = await screen.popup(content, {
        wide: true,
        okText: say('choose.ok'),
        cancelText: say('button.cancel'),
        mayClose: () => {
            note.textContent = isSame() ? say('choose.same') : '';
            return !isSame();
        },
    });
    return answer === 'ok' ? { left: sides.left.moment(), right: sides.right.moment() } : null;
}

/** @param {'left' | 'right'} name @param {TimelineChoice[]} choices @param {(chat: string) => Promise<ListedMessage[]>} messagesOf @param {Moment} first */
function side(name, choices, messagesOf, { chat, message = null }) {
    const select = timelineSelect(choices, { label: say(`choose.${name}`), chosen: chat, run: () => picker.reset() });
    const picker = new MessagePicker({ label: (chosen) => say(`choose.${name}.message`, { message: chosen }), chosen: message, read: () => messagesOf(select.value) });
    const body = element('div', { class: 'forklore_column forklore_choose' }, element('b', {}, say(`choose.${name}`)), select, picker.body);
    /** @returns {Moment} */
    const moment = () => ({ chat: select.value, message: picker.chosen });
    return { body, moment };
}

/** Asks for the name of the timeline to bring an entry into. @param {{screen: TavernScreen}} parts @param {TimelineChoice[]} choices @param {{title: string}} entry */
export async function askTarget({ screen }, choices, { title }) {
    const select = timelineSelect(choices, { label: say('choose.target'), chosen: (choices.find(({ isOpen }) => !isOpen) ?? choices[0])?.name ?? '' });
    const content = element('div', { class: 'forklore_dialog' },
        heading(say('choose.target.title', { title })),
        paragraph(say('choose.target.text')),
        select);
    return await screen.popup(content, { okText: say('choose.target.ok'), cancelText: say('button.cancel') }) === 'ok' ? select.value : null;
}
