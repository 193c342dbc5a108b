/** The findings of all chats, problems first. */
import { box, button, folded, heading, icon, nameOf, progressView, wordList } from '../widgets/controls.js';
import { element, fill } from '../widgets/dom.js';
import { say, sayError } from '../words.js';
/** @import { AppForUi, ChatToOpen, Finding, SayMessage, TavernScreen, VerifiedChat } from '../types.js' */

export function verifyView(/** @type {VerifiedChat[]} */ results) {
    const hasProblem = (/** @type {VerifiedChat} */ { findings }) => findings.some(({ problem }) => problem);
    const problems = results.filter(hasProblem).map((result) => ({
        ...result,
        findings: [...result.findings].sort((one, other) => Number(other.problem) - Number(one.problem)),
    }));
    const notes = results.filter((result) => result.findings.length && !hasProblem(result));
    return {
        problems,
        notes,
        summary: !results.length ? say('verify.none')
            : problems.length ? say('verify.problems', { problems: problems.length, count: results.length })
                : say('verify.well', { count: results.length }),
        isWell: problems.length === 0,
    };
}

/** Verifies all chats while the popup is open. @param {{screen: TavernScreen, verify: AppForUi['verifyAll']}} parts */
export async function showVerification({ screen, verify }) {
    const answer = await screen.popup((/** @type {(chat: ChatToOpen) => void} */ close) => {
        const body = element('div', { class: 'forklore_verification' });
        const { view, progress } = progressView(say('verify.running'), (done, total) => say('verify.progress', { done, total }));
        fill(body, view);
        verify(progress).then(
            (results) => fill(body, resultList(verifyView(results), close)),
            (/** @type {unknown} */ error) => fill(body, box('error', sayError(error))),
        );
        return element('div', { class: 'forklore_dialog' }, heading(say('verify.title')), body);
    }, { wide: true, okText: say('button.close') });
    return answer === 'ok' ? null : answer;
}

/** The findings of the open chat. @param {{screen: TavernScreen, sayMessage: SayMessage}} parts @param {Finding[]} findings */
export function showFindings({ screen, sayMessage }, findings) {
    const problems = findings.filter(({ problem }) => problem);
    const notes = findings.filter(({ problem }) => !problem);
    return screen.popup(element('div', { class: 'forklore_dialog' },
        heading(say('findings.title')),
        problems.length ? box('warning', wordList(problems, '', sayMessage)) : null,
        wordList(notes, '', sayMessage)), { okText: say('button.close') });
}

/** @param {ReturnType<typeof verifyView>} view @param {(chat: ChatToOpen) => void} close */
function resultList({ problems, notes, summary, isWell }, close) {
    return [
        element('div', { class: 'forklore_status', role: 'status', data: { tone: isWell ? 'good' : 'bad' } },
            icon(isWell ? 'fa-circle-check' : 'fa-triangle-exclamation'),
            element('div', { class: 'forklore_line' }, summary)),
        problems.length ? chatList(problems, close) : null,
        notes.length ? folded(say(problems.length ? 'verify.notes.more' : 'verify.notes', { count: notes.length }), () => chatList(notes, close)) : null,
    ];
}

function chatList(/** @type {VerifiedChat[]} */ results, /** @type {(chat: ChatToOpen) => void} */ close) {
    return element('ul', { class: 'forklore_list' }, results.map(({ chat, owner = '', ownerName, findings }) =>
        element('li', { class: 'forklore_item' },
            element('div', { class: 'forklore_item_text' },
                element('div', {}, nameOf(chat), element('small', { class: 'forklore_owner' }, nameOf(ownerName || owner))),
                wordList(findings, 'forklore_small')),
            button(say('button.open'), {
                icon: 'fa-arrow-up-right-from-square',
                label: say('verify.open', { chat }),
                run: () => close({ chat, owner }),
            }))));
}
