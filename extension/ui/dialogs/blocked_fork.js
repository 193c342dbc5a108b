/** A fork that cannot be made right now: why, and what can be done instead. */
import { heading, icon, paragraph, wordList } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { say } from '../words.js';
/** @import { ForkChoice, ForkQuestion, Settings, TavernScreen, Word } from '../types.js' */

/** Obstacles that only go away if the user forks at another message or repairs the chat. */
const FINAL = ['no-messages', 'no-such-message', 'chat-bom', 'no-header', 'empty-chat', 'metadata-too-deep', 'not-a-scene-break', 'being-edited'];
const BUSY = ['queue-busy', 'queue-unreadable'];
const BROKEN = ['book-missing', 'book-unreadable'];

/** @type {ForkChoice[]} */
const CHOICES = ['wait', 'nearest', 'live', 'without'];
const ICONS = {
    wait: 'fa-hourglass-half',
    nearest: 'fa-clock-rotate-left',
    live: 'fa-book-open',
    without: 'fa-link-slash',
};

const isOneOf = (/** @type {Word[]} */ obstacles, /** @type {string[]} */ codes) => obstacles.some(({ code }) => codes.includes(code));

/** The available choices, the best one first. @param {ForkQuestion} question @param {Pick<Settings, 'whenInexact'>} settings */
export function forkChoices({ obstacles, part = null, canWait = false }, { whenInexact }) {
    const has = (/** @type {string[]} */ codes) => isOneOf(obstacles, codes);
    if (has(FINAL)) {
        return [];
    }
    const mayBeInexact = whenInexact !== 'refuse';
    // While the queue is busy, the book may be half written.
    const isPossible = {
        wait: canWait,
        nearest: mayBeInexact && part?.exactness === 'snapshot' && !has(BUSY),
        live: mayBeInexact && part?.exactness === 'live' && !has(BUSY) && !has(BROKEN),
        without: has([...BUSY, ...BROKEN, 'book-not-known']),
    };
    return CHOICES.filter((choice) => isPossible[choice]);
}

function titleOf(/** @type {Word[]} */ obstacles) {
    const has = (/** @type {string[]} */ codes) => isOneOf(obstacles, codes);
    const title = has(FINAL) ? 'no' : has([...BUSY, 'still-writing']) ? 'busy' : has(BROKEN) ? 'book' : 'inexact';
    return say(`fork.title.${title}`);
}

/** @param {{screen: TavernScreen, settings: Settings}} parts @param {ForkQuestion} question @returns {Promise<ForkChoice | 'cancel'>} */
export async function askFork({ screen, settings }, question) {
    const choices = forkChoices(question, settings);
    const answer = await screen.popup((/** @type {(choice: ForkChoice) => void} */ close) => element('div', { class: 'forklore_dialog' },
        heading(titleOf(question.obstacles)),
        wordList(question.obstacles, 'forklore_obstacles'),
        choices.length
            ? element('div', { class: 'forklore_choices' }, choices.map((name) => choiceButton(name, question.part, () => close(name))))
            : null,
        question.remarks?.length ? [paragraph(element('b', {}, say('fork.remarks'))), wordList(question.remarks, 'forklore_small')] : null,
    ), { cancelText: choices.length ? say('button.cancel') : say('button.close') });
    return answer === 'ok' ? 'cancel' : answer ?? 'cancel';
}

function choiceButton(/** @type {ForkChoice} */ name, /** @type {ForkQuestion['part']} */ part, /** @type {() => void} */ run) {
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
