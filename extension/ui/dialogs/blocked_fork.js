/** A fork that cannot be made right now: why, and what can be done instead. */
import { bigButton, heading, paragraph, wordList } from '../widgets/controls.js';
import { element, freshId } from '../widgets/dom.js';
import { say, withMessages } from '../words.js';
/** @import { ForkChoice, ForkQuestion, Parts, SayMessage } from '../types.js' */

const ICONS = {
    wait: 'fa-hourglass-half',
    now: 'fa-code-branch',
    drain: 'fa-forward',
    nearest: 'fa-clock-rotate-left',
    live: 'fa-book-open',
    without: 'fa-link-slash',
};

/** @type {ForkChoice[]} */
const NEAREST = ['nearest', 'live'];

/** @param {Parts & {sayMessage: SayMessage}} parts @param {ForkQuestion} question @returns {Promise<ForkChoice | 'cancel'>} */
export async function askFork({ app, screen, sayMessage }, question) {
    const { choices } = question;
    const always = element('input', { type: 'checkbox', id: freshId('always') });
    const mayAlways = question.topic === 'inexact' && choices.some((name) => NEAREST.includes(name));
    const since = question.topic === 'inexact' ? app.recordedSince() : null;
    const answer = await screen.popup((/** @type {(choice: ForkChoice) => void} */ close) => element('div', { class: 'forklore_dialog' },
        heading(say(`fork.title.${question.topic}`)),
        wordList(question.obstacles, 'forklore_obstacles', sayMessage),
        since ? paragraph(say('fork.since', { message: sayMessage(since) })) : null,
        choices.length
            ? element('div', { class: 'forklore_choices' }, choices.map((name) => choiceButton(name, withMessages(question.part ?? {}, sayMessage), () => close(name))))
            : null,
        mayAlways ? element('label', { class: 'checkbox_label', for: always.id }, always, element('span', {}, say('fork.always'))) : null,
        question.remarks?.length ? [paragraph(element('b', {}, say('fork.remarks'))), wordList(question.remarks, 'forklore_small', sayMessage)] : null,
    ), { cancelText: choices.length ? say('button.cancel') : say('button.close') });
    const choice = answer === 'ok' ? 'cancel' : answer ?? 'cancel';
    if (always.checked && choice !== 'cancel' && NEAREST.includes(choice)) {
        app.settings.whenInexact = 'nearest';
        app.saveSettings();
    }
    return choice;
}

/** @param {ForkChoice} name @param {object} values @param {() => void} run */
const choiceButton = (name, values, run) => bigButton({ icon: ICONS[name], title: say(`fork.${name}`), hint: say(`fork.${name}.hint`, values), run });
