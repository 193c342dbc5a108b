// Puts the parts of the extension together.

import { Events } from './events.js';
import { Changes } from './features/changes.js';
import { Cleanup } from './features/cleanup.js';
import { Comparison } from './features/compare/comparison.js';
import { TimelineMerge } from './features/compare/timeline_merge.js';
import { EditorBook } from './features/editor_book.js';
import { ChildSaveHandler } from './features/fork/child_save.js';
import { ForkBooks } from './features/fork/fork_books.js';
import { Forks } from './features/fork/forks.js';
import { QueueWait } from './features/fork/queue_wait.js';
import { SceneCheckpoints } from './features/fork/scene_checkpoints.js';
import { Guard, reportingWrites } from './features/guard/guard.js';
import { Lineage } from './features/guard/lineage.js';
import { JournalRemoval } from './features/journal/journal_removal.js';
import { Recorder } from './features/journal/recorder.js';
import { Renames } from './features/rename.js';
import { Findings } from './features/repair/findings.js';
import { LostBook } from './features/repair/lost_book.js';
import { Repairs } from './features/repair/repairs.js';
import { Verifier } from './features/repair/verifier.js';
import { fillDefaults } from './features/settings.js';
import { SharedLore } from './features/shared_lore.js';
import { Labels } from './features/timelines/labels.js';
import { MessageMarks } from './features/timelines/message_marks.js';
import { Search } from './features/timelines/search.js';
import { Several } from './features/timelines/several.js';
import { TimelineIndex } from './features/timelines/timeline_index.js';
import { Timelines } from './features/timelines/timelines.js';
import { PutBack } from './features/trash/put_back.js';
import { Trash } from './features/trash/trash.js';

/** @import { Core, Ghost, Host } from './types.js' */

export class Composition {
    /** @param {{host: Host, core: Core}} parts */
    constructor({ host: plain, core }) {
        const events = this.events = new Events(plain);
        const saved = plain.settings();
        /** Whether Forklore has never been here before. */
        this.isNew = Object.keys(saved).length === 0;
        const settings = this.settings = fillDefaults(saved);
        const onError = events.failed;
        this.core = core;
        const shared = {
            read: (/** @type {string} */ key) => settings.ghosts?.[key],
            write: (/** @type {string} */ key, /** @type {Ghost[]} */ ghosts) => {
                const { [key]: _, ...others } = settings.ghosts ?? {};
                settings.ghosts = ghosts.length ? { ...others, [key]: ghosts } : others;
                plain.saveSettings();
            },
        };
        const index = new TimelineIndex({ store: plain.timelineStore, core, shared });
        const indexed = this.host = index.watching(plain);
        const host = reportingWrites(indexed, (name, text) => {
            this.guard.wroteByForklore(name, text);
            books.forget();
        });
        const books = this.forkBooks = new ForkBooks({ host: indexed, core });
        const trash = this.trash = new Trash({ host, settings });
        const timelines = this.timelines = new Timelines({ host: indexed, core, index, trash, settings });
        this.search = new Search({ host: indexed, core });
        const labels = this.labels = new Labels({ host: indexed, timelines });
        this.several = new Several({ timelines, labels });
        const messageMarks = this.messageMarks = new MessageMarks({ host: indexed, timelines, settings, onChange: () => events.emit('marks', undefined) });
        events.on('changed', () => messageMarks.schedule());
        events.on('timelines', () => messageMarks.schedule());
        const repairs = this.repairs = new Repairs({ host, core, trash, onChange: () => this.changes.loreChanged() });
        this.sharedLore = new SharedLore({ host, core, settings, events });
        const verifier = this.verifier = new Verifier({ host, core, index });
        const cleanup = this.cleanup = new Cleanup({ host, core, trash, leftBehind: () => settings.leftBehind ?? [] });
        const renames = this.renames = new Renames({ host, core, repairs });
        const putBack = this.putBack = new PutBack({ host, core, trash, repairs, renames, cleanup });
        const lostBook = this.lostBook = new LostBook({ host, repairs, onError });
        const recorder = this.recorder = new Recorder({ host: { ...host, openChat: () => lostBook.asRecorded() }, core, settings, onError });
        /** @type {QueueWait} */
        const queueWait = this.queueWait = new QueueWait({ isBusy: async () => (await this.forks.pendingWork()).busy, seconds: () => settings.waitSeconds });
        const untilReady = () => queueWait.untilReady();
        /** @type {ChildSaveHandler} */
        this.childSaves = new ChildSaveHandler({
            host,
            core,
            settings,
            books,
            untilReady: (kind, message) => this.forks.untilReady(kind, message),
            untilFileChecked: () => recorder.untilFileChecked(),
            ask: (question) => this.forks.ask(question),
            loreOf: (open) => this.sharedLore.always(this.sharedLore.ofCharacter(open)),
            isBasedOn: (book, text) => {
                const copy = host.cachedBook(book);
                return !copy || this.lineage.isBasedOn(book, copy, text);
            },
            trashed: () => trash.books,
            lost: () => (lostBook.isReplaced(host.openChat()) ? lostBook.name : null),
            onForked: (report) => this.forks.made(report),
            onError,
        });
        const { pending } = this.childSaves;
        this.forks = new Forks({ host, core, settings, events, repairs, lostBook, recorder, queueWait, pending, books, sharedLore: this.sharedLore });
        this.lineage = new Lineage(core);
        this.guard = new Guard({
            host: indexed,
            core,
            settings,
            lineage: this.lineage,
            trash,
            ask: (question) => this.askConflict(question),
            onMerged: (news) => events.emit('merged', news),
            onKept: (kept) => events.emit('kept', kept),
            onWritten: (name, text) => recorder.bookChanged(name, text),
            onRead: (name, text) => recorder.fileRead(name, text),
            onError,
        });
        const editorBook = this.editorBook = new EditorBook({ host, core, onChange: (shown) => events.emit('editor', shown) });
        this.comparison = new Comparison({ host, core, repairs, timelines });
        const timelineMerge = this.timelineMerge = new TimelineMerge({
            host,
            core,
            repairs,
            comparison: this.comparison,
            exclusively: (book, step) => this.guard.inTurn(book, () => this.guard.withLock(book, step)),
        });
        const findings = this.findings = new Findings({ host, events, verifier, repairs, lostBook, onFound: ({ heads }) => editorBook.learned(heads) });
        this.changes = new Changes({ host, events, repairs, verifier, lostBook, findings, timelineMerge, putBack, recorder });
        this.journalRemoval = new JournalRemoval({ host, core, stripOpen: () => this.changes.strip(), leftBehind: () => settings.leftBehind ?? [] });
        this.sceneCheckpoints = new SceneCheckpoints({
            host,
            core,
            settings,
            untilReady,
            checkpoint: ({ message, name }) => this.forks.fork({ kind: 'checkpoint', message, name, ask: false }),
            reportErrors: (step) => events.reportErrors(step),
        });
    }

    /** Asks the user which of two versions to keep, entry by entry. Set by the user interface. @type {ConstructorParameters<typeof Guard>[0]['ask']} */
    askConflict = async () => null;
}
