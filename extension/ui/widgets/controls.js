/** The few controls that panel and dialogs are made of, in SillyTavern's own classes. */
import { sayPart, sayWord } from '../words.js';
import { element, fill, freshId } from './dom.js';

/** A Font Awesome icon that says nothing to a screen reader: text stands beside it. */
export function icon(name, extra = '') {
    return element('i', { class: `fa-solid fa-fw ${name} ${extra}`.trim(), 'aria-hidden': 'true' });
}

/**
 * A button as in SillyTavern's menus.
 * @param {string} text
 * @param {{icon?: string, title?: string, label?: string, disabled?: boolean, class?: string, run: Function}} options
 */
export function button(text, { icon: name, title, label, disabled = false, class: extra = '', run }) {
    return element('button', {
        type: 'button',
        class: `menu_button menu_button_icon ${extra}`.trim(),
        title,
        'aria-label': label,
        disabled,
        on: {
            click: run,
            // A real button is pressed by the browser; SillyTavern, whose buttons are no real ones, would press it again.
            keydown: event => event.key === 'Enter' && event.stopPropagation(),
        },
    }, name ? icon(name) : null, element('span', {}, text));
}

/** A name from a chat or book: text of its own direction, which may be long. */
export function nameOf(text) {
    return element('bdi', { class: 'forklore_name' }, text);
}

/** A heading for a popup; the popup is named by it. */
export function heading(text) {
    return element('h3', { class: 'forklore_heading' }, text);
}

export function paragraph(...children) {
    return element('p', { class: 'forklore_text' }, ...children);
}

/** Words of the core as a list, or nothing if there are none. */
export function wordList(words, extra = '') {
    if (!words.length) {
        return null;
    }
    return element('ul', { class: `forklore_words ${extra}`.trim() }, words.map(word => element('li', {}, sayWord(word))));
}

/** A box in one of SillyTavern's tones: hint, info, warning or error. */
export function box(tone, ...children) {
    return element('div', { class: `info-block ${tone} forklore_box` }, ...children);
}

/**
 * Something that can be unfolded.
 * @param {Node|string} summary
 * @param {() => any} content what makes the rest; asked when it is unfolded, for there may be hundreds of these
 */
export function folded(summary, content, { open = false } = {}) {
    const inside = element('div', { class: 'forklore_unfolded' });
    const unfold = () => inside.hasChildNodes() || fill(inside, content());
    if (open) {
        unfold();
    }
    return element('details', { class: 'forklore_folded', open, on: { toggle: unfold } },
        element('summary', {}, icon('fa-chevron-right', 'forklore_arrow'), summary),
        inside);
}

const EXACTNESS_ICONS = {
    exact: 'fa-circle-check',
    snapshot: 'fa-clock-rotate-left',
    settled: 'fa-circle-check',
    live: 'fa-triangle-exclamation',
};

/** How well something is known, as a sign; the words stand beside it. */
export function exactnessIcon(part) {
    const exactness = part?.exactness ?? 'live';
    const sign = icon(EXACTNESS_ICONS[exactness], `forklore_${exactness}`);
    sign.title = part ? sayPart(part) : '';
    return sign;
}

/** One of several choices; a choice that cannot be taken says why. */
export function choice({ group, value, title, hint, disabled = false, checked = false, run }, ...children) {
    const id = freshId('choice');
    return element('div', { class: `forklore_choice${disabled ? ' forklore_disabled' : ''}` },
        element('input', {
            type: 'radio', id, name: group, value, checked, disabled, 'aria-describedby': `${id}_hint`, on: { change: run },
        }),
        element('label', { for: id },
            element('span', { class: 'forklore_choice_title' }, title),
            element('small', { id: `${id}_hint` }, hint)),
        ...children);
}
