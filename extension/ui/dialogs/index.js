/** All questions that are asked in popups. A dialog only returns the answer; it does nothing itself. */
import { sayMessagesOf } from '../messages.js';
import { exactnessIcon, heading, paragraph, wordList } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { say, sayPart } from '../words.js';
import { askFork } from './blocked_fork.js';
import { askConflict } from './book_conflict.js';
import { askCleanup } from './cleanup_list.js';
import { askStripAll, showStripAll } from './journal_removal.js';
import { askRepair } from './missing_book.js';
import { askLore, askOriginal, askSplit } from './shared_book.js';
import { showFork } from './fork_report.js';
import { showTrash } from './trash_list.js';
import { showFindings, showVerification } from './verification.js';
/** @import { AllChats, BookReport, CharactersBook, CleanupPlan, Child, Conflict, Finding, ForkKind, ForkQuestion, ForkReport, Parts, Readiness, RepairOptions, SayMessage, TavernScreen } from '../types.js' */
/** @import { TrashActions } from './trash_list.js' */

export function createDialogs(/** @type {Parts} */ { app, screen }) {
    /** A message of the open chat. */
    const sayMessage = sayMessagesOf((message) => app.messageAt(message));
    return {
        askFork: (/** @type {ForkQuestion} */ question) => askFork({ app, screen, sayMessage }, question),
        askLore: (/** @type {CharactersBook} */ lore, /** @type {ForkKind} */ kind) => askLore(screen, lore, kind),
        askConflict: (/** @type {{book: string, conflicts: Conflict[]}} */ question) => askConflict({ screen }, question),
        askRepair: (/** @type {RepairOptions} */ options) => askRepair({ screen, sayMessage }, options),
        askSplit: (/** @type {Readiness} */ shared) => askSplit({ screen, plan: (family) => app.splitPlan({ family }) }, shared),
        askOriginal: (/** @type {string[]} */ originals) => askOriginal(screen, originals),
        askCleanup: (/** @type {CleanupPlan} */ plan) => askCleanup({ screen }, plan),
        /** Whether to remove the journal from this chat */
        askStrip: (/** @type {string} */ chat) => askStrip(screen, chat),
        askStripAll: (/** @type {AllChats} */ all) => askStripAll(screen, all),
        showStripAll: (/** @type {AllChats} */ all) => showStripAll({ app, screen }, all),
        /** The result of a dry run of a restore -> whether to proceed */
        askRestore: (/** @type {number} */ message, /** @type {BookReport} */ preview, /** @type {Child} */ changes) => askRestore({ screen, sayMessage }, message, preview, changes),
        /** -> a name, '' to let SillyTavern choose one, or null for no checkpoint */
        askName: (/** @type {string} */ suggestion) => askName(screen, suggestion),
        /** Verifies all chats -> the chat to open, or null */
        showVerification: () => showVerification({ screen, verify: (progress) => app.verifyAll(progress) }),
        showTrash: (/** @type {TrashActions} */ actions) => showTrash({ app, screen }, actions),
        showFindings: (/** @type {Finding[]} */ findings) => showFindings({ screen, sayMessage }, findings),
        showFork: (/** @type {ForkReport} */ report) => showFork({ app, screen, sayMessage }, report),
    };
}

function askStrip(/** @type {TavernScreen} */ screen, /** @type {string} */ chat) {
    return screen.confirm(element('div', { class: 'forklore_dialog' },
        heading(say('strip.title')),
        paragraph(say('strip.what', { chat })),
        paragraph(say('strip.means'))), { okText: say('strip.ok'), cancelText: say('button.cancel') });
}

function askName(/** @type {TavernScreen} */ screen, /** @type {string} */ suggestion) {
    return screen.ask(element('div', { class: 'forklore_dialog' },
        heading(say('name.title')),
        element('small', {}, say('name.hint'))), { value: suggestion, okText: say('name.ok'), cancelText: say('button.cancel') });
}

/** @param {{screen: TavernScreen, sayMessage: SayMessage}} parts @param {number} message @param {BookReport} preview @param {Child} changesList */
function askRestore({ screen, sayMessage }, message, { book, entries, part, remarks = [] }, changesList) {
    return screen.confirm(element('div', { class: 'forklore_dialog' },
        heading(say('restore.title', { message: sayMessage(message) })),
        paragraph(exactnessIcon(part), ' ', say('restore.what', { book, entries, part: sayPart(part, sayMessage) })),
        wordList(remarks, 'forklore_small', sayMessage),
        changesList ? [element('h4', {}, say('restore.changes')), changesList] : null,
        paragraph(say('restore.undo'))), { okText: say('restore.ok'), cancelText: say('button.cancel') });
}
