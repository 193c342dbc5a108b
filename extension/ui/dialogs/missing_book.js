/** A chat whose lorebook is missing: asks where to get one from. */
import { choice, heading, paragraph } from '../widgets/controls.js';
import { element, fill, freshId } from '../widgets/dom.js';
import { holdsWords } from '../widgets/search.js';
import { say, withMessages } from '../words.js';
/** @import { RepairChoice, RepairOptions, RepairSource, SayMessage, TavernScreen } from '../types.js' */

/** The choices. Those that are not possible are shown as well, with the reason. @param {RepairOptions} options @param {SayMessage} [sayMessage] */
export function repairChoices({ book, journal, recap, books }, sayMessage) {
    const way = (/** @type {RepairSource} */ value, /** @type {boolean} */ isPossible, values = {}) => ({
        value,
        title: say(`missing.${value}`),
        hint: isPossible ? say(`missing.${value}.hint`, withMessages(values, sayMessage)) : say(`missing.${value}.no`),
        disabled: !isPossible,
    });
    const ways = [
        way('journal', Boolean(journal), journal ?? {}),
        way('recap', Boolean(recap), recap ?? {}),
        way('copy', books.length > 0),
        way('empty', true),
        ...(book ? [way('detach', true)] : []),
    ];
    const best = ways.find(({ disabled }) => !disabled);
    return ways.map((found) => ({ ...found, checked: found === best }));
}

/** The books whose names contain all of the typed words. @param {string[]} books @param {string} typed */
export function matchingBooks(books, typed) {
    return books.filter((name) => holdsWords(name, typed));
}

/** @param {{screen: TavernScreen, sayMessage: SayMessage}} parts @param {RepairOptions} options @returns {Promise<RepairChoice | null>} null for "not now" */
export async function askRepair({ screen, sayMessage }, options) {
    let source = /** @type {RepairSource} */ ('detach');
    const group = freshId('source');
    const { picker, chosen } = bookPicker(options.books);
    const choose = (/** @type {RepairSource} */ value) => {
        source = value;
        picker.hidden = value !== 'copy';
    };
    const rows = repairChoices(options, sayMessage).map((way) => {
        if (way.checked) {
            choose(way.value);
        }
        return choice({ group, ...way, run: () => choose(way.value) }, way.value === 'copy' ? picker : null);
    });
    const title = say(options.book ? 'missing.title' : 'missing.none.title');
    const content = element('div', { class: 'forklore_dialog' },
        heading(title),
        paragraph(options.book ? say('missing.text', options) : say('missing.none.text')),
        element('div', { class: 'forklore_choices', role: 'radiogroup', 'aria-label': title }, rows));
    const answer = await screen.popup(content, {
        okText: say('missing.ok'),
        cancelText: say('button.not-now'),
        mayClose: () => source !== 'copy' || Boolean(chosen()),
    });
    if (answer !== 'ok') {
        return null;
    }
    return source === 'copy' ? { source, book: chosen() } : { source };
}

function bookPicker(/** @type {string[]} */ books) {
    const found = element('small', { role: 'status', class: 'forklore_unseen' });
    const list = element('select', { class: 'text_pole', size: 6, 'aria-label': say('missing.copy.select') });
    const show = (/** @type {string} */ typed) => {
        const names = matchingBooks(books, typed);
        fill(list, names.map((name) => element('option', { value: name }, name)));
        list.selectedIndex = names.length ? 0 : -1;
        found.textContent = say('missing.copy.found', { count: names.length });
    };
    const search = element('input', {
        type: 'search',
        class: 'text_pole',
        placeholder: say('missing.copy.search'),
        'aria-label': say('missing.copy.search'),
        on: { input: (event) => show(event.target.value) },
    });
    show('');
    return {
        picker: element('div', { class: 'forklore_picker', hidden: true }, search, list, found),
        chosen: () => list.value,
    };
}
