/** Asks which two moments to compare, or which timeline to bring something into. */
import { heading, paragraph } from '../widgets/controls.js';
import { shortNames } from '../names.js';
import { element, fill } from '../widgets/dom.js';
import { say } from '../words.js';
/** @import { Moment, TavernScreen, TimelineChoice } from '../types.js' */

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
 * @param {{screen: TavernScreen}} parts @param {TimelineChoice[]} choices @param {{left?: Moment, right?: Moment}} [first] the initial choice
 * @returns {Promise<{left: Moment, right: Moment} | null>}
 */
export async function askMoments({ screen }, choices, first = {}) {
    const open = (choices.find(({ isOpen }) => isOpen) ?? choices[0])?.name ?? '';
    const second = choices.find(({ name }) => name !== open)?.name ?? open;
    const sides = {
        left: side('left', choices, first.left ?? { chat: open }),
        right: side('right', choices, first.right ?? { chat: second }),
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

function side(/** @type {'left' | 'right'} */ name, /** @type {TimelineChoice[]} */ choices, /** @type {Moment} */ { chat, message = null }) {
    const number = element('input', {
        type: 'number', class: 'text_pole', min: 0, placeholder: say('choose.now'), 'aria-label': say(`choose.${name}.message`), value: message ?? '',
    });
    const limit = () => {
        const last = (choices.find((choice) => choice.name === select.value)?.messages ?? 0) - 1;
        number.setAttribute('max', String(Math.max(0, last)));
        fill(hint, say('choose.message', { last: Math.max(0, last) }));
    };
    const hint = element('small', { class: 'forklore_hint' });
    const select = timelineSelect(choices, { label: say(`choose.${name}`), chosen: chat, run: () => limit() });
    limit();
    const body = element('div', { class: 'forklore_column forklore_choose' }, element('b', {}, say(`choose.${name}`)), select, number, hint);
    /** @returns {Moment} */
    const moment = () => {
        const typed = String(number.value ?? '').trim();
        return { chat: select.value, message: /^\d+$/.test(typed) ? Number(typed) : null };
    };
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
