/** Removing the journal from all chats: the question, and what happens meanwhile. */
import { box, button, heading, icon, paragraph, progressView, wordList } from '../widgets/controls.js';
import { element, fill } from '../widgets/dom.js';
import { say, sayError } from '../words.js';
/** @import { AllChats, AppForUi, StripReport, TavernScreen } from '../types.js' */

/** Whether to remove the journal from all chats. @param {TavernScreen} screen @param {AllChats} all */
export function askStripAll(screen, { chats }) {
    return screen.confirm(element('div', { class: 'forklore_dialog' },
        heading(say('strip.all.title')),
        paragraph(say('strip.all.what', { count: chats.length })),
        paragraph(say('strip.all.means')),
        paragraph(say('strip.all.stays')),
        paragraph(say('strip.all.again', { setting: say('setting.journal') }))), { okText: say('strip.ok'), cancelText: say('button.cancel') });
}

/** Removes it while the popup is open; closing the popup stops after the present chat. @param {{app: Pick<AppForUi, 'stripAll'>, screen: TavernScreen}} parts @param {AllChats} all */
export async function showStripAll({ app, screen }, all) {
    let isOpen = true;
    const result = { report: /** @type {StripReport | null} */ (null), isSeen: false };
    let work = Promise.resolve();
    await screen.popup((close) => {
        const body = element('div', { class: 'forklore_verification' });
        const buttons = element('div', { class: 'forklore_buttons' }, button(say('strip.all.stop'), { icon: 'fa-stop', run: () => close(null) }));
        const { view, progress } = progressView(say('strip.all.running'), (done, total) => say('strip.all.progress', { done, total }));
        fill(body, view);
        work = app.stripAll(all, { progress, isWanted: () => isOpen }).then((report) => {
            result.report = report;
            result.isSeen = isOpen;
            fill(body, reportView(report));
        }, (/** @type {unknown} */ error) => fill(body, box('error', sayError(error)))).finally(() => {
            fill(buttons, button(say('button.close'), { run: () => close(null) }));
        });
        return element('div', { class: 'forklore_dialog' }, heading(say('strip.all.heading')), body, buttons);
    }, { wide: true });
    isOpen = false;
    await work;
    return result;
}

/** In a sentence, and what was left out. @param {StripReport} report */
export function sayStripped({ chats, done, total }) {
    const said = chats ? say('strip.all.done', { count: chats }) : say('strip.all.none');
    return done < total ? say('list.sentences', { first: said, then: say('strip.all.stopped', { done, total }) }) : said;
}

/** @param {StripReport} report */
function reportView(report) {
    const isWhole = report.left.length === 0;
    return [
        element('div', { class: 'forklore_status', role: 'status', data: { tone: isWhole ? 'good' : 'bad' } },
            icon(isWhole ? 'fa-circle-check' : 'fa-triangle-exclamation'),
            element('div', { class: 'forklore_line' }, sayStripped(report))),
        isWhole ? null : paragraph(say('strip.all.left', { count: report.left.length })),
        wordList(report.left),
    ];
}
