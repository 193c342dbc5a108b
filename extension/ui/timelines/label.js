/** What the user writes on a timeline: the dialog to change it, and how it is shown. */
import { heading, icon, nameOf, paragraph } from '../widgets/controls.js';
import { element, freshId } from '../widgets/dom.js';
import { say } from '../words.js';
/** @import { Label, Parts, ShownTimeline, TavernScreen } from '../types.js' */

/** @type {Label['colour'][]} */
const COLOURS = [null, 'red', 'yellow', 'green', 'blue', 'grey'];

/** The signs of a label beside a name. @param {Label} label */
export function signs({ pin, note, archived }) {
    return [
        pin ? icon('fa-thumbtack', 'forklore_pin') : null,
        note ? icon('fa-note-sticky', 'forklore_noted') : null,
        archived ? icon('fa-box-archive') : null,
    ];
}

/** Shows labels in SillyTavern's own list of chats, the pinned ones first. @param {Parts} parts */
export function mountInChatList({ app, screen }) {
    screen.onChatList(async (chats) => {
        const labels = await app.labels.all();
        // Each one that moves up passes those that did before.
        for (const { name, mark, moveUp } of chats.reverse()) {
            const label = labels.get(name);
            if (label) {
                mark(element('span', { class: 'forklore_chat_label', title: label.note, data: { colour: label.colour ?? 'none' } },
                    label.pin ? icon('fa-thumbtack') : null, label.archived ? icon('fa-box-archive') : null, element('bdi', {}, label.title)));
            }
            if (label?.pin) {
                moveUp();
            }
        }
    });
}

/**
 * The new label, and the new name of the file if that changes, too; or null to keep everything.
 * @param {TavernScreen} screen @param {Pick<ShownTimeline, 'name' | 'label'>} timeline @returns {Promise<{label: Label, name: string | null} | null>}
 */
export async function askLabel(screen, { name, label }) {
    const group = freshId('colour');
    const title = element('input', { type: 'text', class: 'text_pole', maxlength: 80, value: label.title, id: freshId('title') });
    const note = element('textarea', { class: 'text_pole', rows: 3, maxlength: 1000, value: label.note, id: freshId('note') });
    const pin = element('input', { type: 'checkbox', checked: label.pin, id: freshId('pin') });
    const file = element('input', { type: 'checkbox', id: freshId('file'), on: { change: () => { title.value ||= name; } } });
    const colours = COLOURS.map((colour) => ({ colour, input: element('input', {
        type: 'radio', name: group, checked: colour === label.colour, id: freshId('colour'), 'aria-label': say(`label.colour.${colour ?? 'none'}`),
    }) }));
    const answer = await screen.popup(element('div', { class: 'forklore_dialog' },
        heading(say('label.title')),
        paragraph(nameOf(name)),
        element('label', { for: title.id }, say('label.name')), title,
        element('label', { class: 'checkbox_label', for: file.id, title: say('label.file.hint') }, file, element('span', {}, say('label.file'))),
        element('label', { for: note.id }, say('label.note')), note,
        element('div', { class: 'forklore_colours', role: 'radiogroup', 'aria-label': say('label.colour') }, colours.map(({ colour, input }) =>
            element('label', { class: 'forklore_colour', for: input.id, title: say(`label.colour.${colour ?? 'none'}`), data: { colour: colour ?? 'none' } }, input))),
        element('label', { class: 'checkbox_label', for: pin.id }, pin, element('span', {}, say('label.pin'))),
        element('small', {}, say('label.hint'))),
    { okText: say('label.ok'), cancelText: say('button.cancel') });
    if (answer !== 'ok') {
        return null;
    }
    const colour = colours.find(({ input }) => input.checked)?.colour ?? null;
    // A title that is the name says nothing more.
    return { label: { ...label, title: file.checked ? '' : title.value, note: note.value, colour, pin: pin.checked }, name: file.checked ? title.value : null };
}
