/** A fork that cannot be made right now: why, and what can be done instead. */
import { heading, icon, paragraph, wordList } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { say } from '../words.js';

/** Obstacles that only go away if the user forks at another message or repairs the chat. */
const FINAL = ['no-messages', 'no-such-message', 'chat-bom', 'no-header', 'empty-chat', 'metadata-too-deep', 'not-a-scene-break', 'being-edited'];
const BUSY = ['queue-busy', 'queue-unreadable'];
const BROKEN = ['book-missing', 'book-unreadable'];

const ICONS = {
    wait: 'fa-hourglass-half',
    nearest: 'fa-clock-rotate-left',
    live: 'fa-book-open',
    without: 'fa-link-slash',
};

/**
 * The available choices, the best one first.
 * @param {{obstacles: object[], part?: object|null, canWait?: boolean}} question
 * @param {{whenInexact: string}} settings
 * @returns {Array<'wait'|'nearest'|'live'|'without'>}
 */
export function forkChoices({ obstacles, part = null, canWait = false }, { whenInexact }) {
    const has = (codes) => obstacles.some(({ code }) => codes.includes(code));
    if (has(FINAL)) {
        return [];
    }
    const mayBeInexact = whenInexact !== 'refuse';
    // While the queue is busy, the book may be half written.
    return [
        canWait && 'wait',
        mayBeInexact && part?.exactness === 'snapshot' && !has(BUSY) && 'nearest',
        mayBeInexact && part?.exactness === 'live' && !has(BUSY) && !has(BROKEN) && 'live',
        has([...BUSY, ...BROKEN, 'book-not-known']) && 'without',
    ].filter(Boolean);
}

function titleOf(obstacles) {
    const has = (codes) => obstacles.some(({ code }) => codes.includes(code));
    const title = has(FINAL) ? 'no' : has([...BUSY, 'still-writing']) ? 'busy' : has(BROKEN) ? 'book' : 'inexact';
    return say(`fork.title.${title}`);
}

/** @returns {Promise<'wait'|'nearest'|'live'|'without'|'cancel'>} */
export async function askFork({ screen, settings }, question) {
    const choices = forkChoices(question, settings);
    const answer = await screen.popup((close) => element('div', { class: 'forklore_dialog' },
        heading(titleOf(question.obstacles)),
        wordList(question.obstacles, 'forklore_obstacles'),
        choices.length
            ? element('div', { class: 'forklore_choices' }, choices.map((name) => choiceButton(name, question.part, () => close(name))))
            : null,
        question.remarks?.length ? [paragraph(element('b', {}, say('fork.remarks'))), wordList(question.remarks, 'forklore_small')] : null,
    ), { cancelText: choices.length ? say('button.cancel') : say('button.close') });
    return answer ?? 'cancel';
}

function choiceButton(name, part, run) {
    return element('button', {
        type: 'button',
        class: 'menu_button forklore_big_button',
        on: { click: run, keydown: (event) => event.key === 'Enter' && event.stopPropagation() },
    },
    icon(ICONS[name]),
    element('span', {},
        element('b', {}, say(`fork.${name}`)),
        element('small', {}, say(`fork.${name}.hint`, part ?? {}))));
}
