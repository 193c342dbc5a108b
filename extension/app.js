// The extension as a whole: puts its parts together, and says what its user interface can ask for.

import { Events } from './events.js';
import { Changes } from './features/changes.js';
import { Cleanup } from './features/cleanup.js';
import { Comparison } from './features/compare/comparison.js';
import { TimelineMerge } from './features/compare/timeline_merge.js';
import { EditorBook } from './features/editor_book.js';
import { ChildSaveHandler } from './features/fork/child_save.js';
import { Forks } from './features/fork/forks.js';
import { QueueWait } from './features/fork/queue_wait.js';
import { SceneCheckpoints } from './features/fork/scene_checkpoints.js';
import { Guard, reportingWrites } from './features/guard/guard.js';
import { Lineage } from './features/guard/lineage.js';
import { Recorder } from './features/journal/recorder.js';
import { readiness } from './features/readiness.js';
import { Renames } from './features/rename.js';
import { Findings } from './features/repair/findings.js';
import { LostBook } from './features/repair/lost_book.js';
import { Repairs } from './features/repair/repairs.js';
import { Verifier } from './features/repair/verifier.js';
import { fillDefaults } from './features/settings.js';
import { TimelineIndex } from './features/timelines/timeline_index.js';
import { Timelines } from './features/timelines/timelines.js';
import { PutBack } from './features/trash/put_back.js';
import { Trash } from './features/trash/trash.js';

/** @import { AppForUi, Core, Host } from './types.js' */

export class App {
    /** @param {{host: Host, core: Core}} parts */
    constructor({ host: plain, core }) {
        const events = this.events = new Events(plain);
        const settings = this.settings = fillDefaults(plain.settings());
        const onError = events.failed;
        this.core = core;
        const index = new TimelineIndex({ store: plain.timelineStore, core });
        const indexed = this.host = index.watching(plain);
        const host = reportingWrites(indexed, (name, text) => this.guard.wroteByForklore(name, text));
        const trash = this.trash = new Trash({ host, settings });
        const timelines = this.timelines = new Timelines({ host: indexed, core, index, trash, settings });
        const repairs = this.repairs = new Repairs({ host, core, trash, onChange: () => this.changes.loreChanged() });
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
            untilReady,
            untilFileChecked: () => recorder.untilFileChecked(),
            ask: (question) => this.forks.ask(question),
            lost: () => (lostBook.isReplaced(host.openChat()) ? lostBook.name : null),
            onForked: (report) => this.forks.made(report),
            onError,
        });
        const { pending } = this.childSaves;
        this.forks = new Forks({ host, core, settings, events, repairs, lostBook, recorder, queueWait, pending });
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

    // What the user interface can ask for.

    get pendingFork() {
        return this.forks.waiting;
    }

    get openFindings() {
        return this.findings.current;
    }

    saveSettings() {
        fillDefaults(this.settings);
        this.host.saveSettings();
        this.events.changed();
    }

    open() {
        const open = this.host.openChat();
        return open && { name: open.name, group: Boolean(open.group), messages: open.messages.length };
    }

    /** @type {AppForUi['on']} */ on = (event, listener) => this.events.on(event, listener);
    /** @type {AppForUi['readiness']} */ readiness = () => readiness(this);
    /** @type {AppForUi['check']} */ check = (message) => this.forks.check(message);
    /** @type {AppForUi['refuseEdited']} */ refuseEdited = (message) => this.forks.refuseEdited(message);
    /** @type {AppForUi['fork']} */ fork = (request) => this.forks.fork(request);
    /** @type {AppForUi['suggestName']} */ suggestName = (message) => this.sceneCheckpoints.nameAt(this.repairs.requireOpenChat(), message);
    /** @type {AppForUi['stopWaiting']} */ stopWaiting = () => this.forks.stopWaiting();
    /** @type {AppForUi['lore']} */ lore = (message) => this.repairs.lore(message, this.recorder);
    /** @type {AppForUi['restore']} */ restore = (message, options) => this.changes.restore(message, options);
    /** @type {AppForUi['verifyOpen']} */ verifyOpen = () => this.findings.verifyOpen();
    /** @type {AppForUi['verifyAll']} */ verifyAll = (progress) => this.findings.verifyAll(progress);
    /** @type {AppForUi['repairOptions']} */ repairOptions = () => this.changes.repairOptions();
    /** @type {AppForUi['repair']} */ repair = (choice) => this.changes.repair(choice);
    /** @type {AppForUi['splitPlan']} */ splitPlan = (options) => this.changes.splitPlan(options);
    /** @type {AppForUi['split']} */ split = (options) => this.changes.split(options);
    /** @type {AppForUi['cleanupPlan']} */ cleanupPlan = () => this.cleanup.plan();
    /** @type {AppForUi['clean']} */ clean = () => this.cleanup.clean();
    /** @type {AppForUi['undo']} */ undo = (token) => this.changes.undo(token);
    /** @type {AppForUi['trashList']} */ trashList = () => this.trash.list();
    /** @type {AppForUi['findInTrash']} */ findInTrash = (how) => this.trash.findLost(how);
    /** @type {AppForUi['dropFromTrash']} */ dropFromTrash = (token) => this.trash.drop(token);
    /** @type {AppForUi['namesToSave']} */ namesToSave = (token) => this.putBack.namesToSave(token);
    /** @type {AppForUi['saveFromTrash']} */ saveFromTrash = (token, names) => this.changes.saveFromTrash(token, names);
    /** @type {AppForUi['strip']} */ strip = () => this.changes.strip();
    /** @type {AppForUi['showOwnBook']} */ showOwnBook = () => this.editorBook.showOwn();
    /** @type {AppForUi['compare']} */ compare = (what) => this.comparison.compare(what);
    /** @type {AppForUi['timelineChoices']} */ timelineChoices = () => this.comparison.choices();
    /** @type {AppForUi['bringPlan']} */ bringPlan = (request) => this.timelineMerge.plan(request);
    /** @type {AppForUi['bring']} */ bring = (request, seen) => this.changes.bring(request, seen);
}
