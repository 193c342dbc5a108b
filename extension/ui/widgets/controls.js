/** The controls that the panel and the dialogs are made of, with SillyTavern's own classes. */
import { sayPart, sayWord } from '../words.js';
import { element, fill, freshId } from './dom.js';
/** @import { ButtonOptions, Child, ChoiceOptions, Part, SayMessage, Word } from '../types.js' */

/** A Font Awesome icon that screen readers ignore: there is text beside it. @param {string} name */
export function icon(name, extra = '') {
    return element('i', { class: `fa-solid fa-fw ${name} ${extra}`.trim(), 'aria-hidden': 'true' });
}

/** A button in SillyTavern's style. @param {string} text @param {ButtonOptions} options */
export function button(text, { icon: name, title, label, disabled = false, class: extra = '', run }) {
    return element('button', {
        type: 'button',
        class: `menu_button menu_button_icon ${extra}`.trim(),
        title,
        'aria-label': label,
        disabled,
        on: {
            click: () => run(),
            // The browser clicks a real button on Enter; SillyTavern, whose buttons are not real ones, would click it
            // again.
            keydown: (event) => event.key === 'Enter' && event.stopPropagation(),
        },
    }, name ? icon(name) : null, element('span', {}, text));
}

/** One of several answers, with what it means. @param {{icon: string, title: string, hint: string, run: () => void}} answer */
export function bigButton({ icon: name, title, hint, run }) {
    return element('button', {
        type: 'button',
        class: 'menu_button forklore_big_button',
        on: { click: run, keydown: (event) => event.key === 'Enter' && event.stopPropagation() },
    }, icon(name), element('span', {}, element('b', {}, title), element('small', {}, hint)));
}

/** The name of a chat or book: text with its own direction, which may be long. @param {string} text */
export function nameOf(text) {
    return element('bdi', { class: 'forklore_name' }, text);
}

/** The heading of a popup, which also names it for screen readers. @param {string} text */
export function heading(text) {
    return element('h3', { class: 'forklore_heading' }, text);
}

/** @param {...Child} children */
export function paragraph(...children) {
    return element('p', { class: 'forklore_text' }, ...children);
}

/** Coded messages of the core as a list, or nothing if there are none. @param {Word[]} words @param {string} [extra] @param {SayMessage} [sayMessage] */
export function wordList(words, extra = '', sayMessage = undefined) {
    if (!words.length) {
        return null;
    }
    return element('ul', { class: `forklore_words ${extra}`.trim() }, words.map((word) => element('li', {}, sayWord(word, sayMessage))));
}

/** A box in one of SillyTavern's styles. @param {'hint' | 'info' | 'warning' | 'error'} tone @param {...Child} children */
export function box(tone, ...children) {
    return element('div', { class: `info-block ${tone} forklore_box` }, ...children);
}

/**
 * A section that can be unfolded.
 * @param {Node | string} summary
 * @param {() => Child} content makes the content; called on unfolding, because there may be hundreds of these
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

/** How well something is known, as an icon beside the words. @param {Part | null} part */
export function exactnessIcon(part) {
    const exactness = part?.exactness ?? 'live';
    const sign = icon(EXACTNESS_ICONS[exactness], `forklore_${exactness}`);
    sign.title = part ? sayPart(part) : '';
    return sign;
}

/** One of several choices. @param {ChoiceOptions} how @param {...Child} children */
export function choice({ group, value, title, hint, disabled = false, checked = false, run }, ...children) {
    const id = freshId('choice');
    return element('div', { class: `forklore_choice${disabled ? ' forklore_disabled' : ''}` },
        element('input', {
            type: 'radio', id, name: group, value, checked, disabled, 'aria-describedby': `${id}_hint`, on: { change: () => run() },
        }),
        element('label', { for: id },
            element('span', { class: 'forklore_choice_title' }, title),
            element('small', { id: `${id}_hint` }, hint)),
        ...children);
}

/** A bar that shows how much is done. @param {string} what @param {(done: number, total: number) => string} sayProgress */
export function progressView(what, sayProgress) {
    const bar = element('progress', { class: 'forklore_progress', max: 1, 'aria-label': what });
    const line = element('small', { 'aria-live': 'off' });
    return {
        view: [paragraph(icon('fa-spinner', 'fa-spin'), ' ', what), bar, line],
        progress: (/** @type {number} */ done, /** @type {number} */ total) => {
            bar.max = Math.max(total, 1);
            bar.value = done;
            line.textContent = sayProgress(done, total);
        },
    };
}
