// The extension as its user interface sees it.

import { Composition } from './composition.js';
import { forkMessage, spokenIn } from './features/messages.js';
import { readiness } from './features/readiness.js';
import { fillDefaults } from './features/settings.js';

/** @import { AppForUi } from './types.js' */

export class App extends Composition {
    get pendingFork() {
        return this.forks.waiting;
    }

    get openFindings() {
        return this.findings.current;
    }

    get marks() {
        return this.messageMarks.current;
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

    /** @type {AppForUi['messageAt']} */ messageAt = (message) => spokenIn(this.host.openChat()?.messages[message]);

    /** @type {AppForUi['recordedSince']} */
    recordedSince() {
        const first = this.host.openChat()?.messages.findIndex((message) => message?.forklore) ?? -1;
        return first < 0 ? null : first;
    }

    /** @type {AppForUi['forksAt']} */ forksAt = (message) => this.messageMarks.forksAt(message);

    /** @type {AppForUi['forkMessage']} */
    forkMessage(timeline) {
        const open = this.host.openChat();
        return open && forkMessage(open, timeline);
    }

    /** @type {AppForUi['on']} */ on = (event, listener) => this.events.on(event, listener);
    /** @type {AppForUi['readiness']} */ readiness = () => readiness(this);
    /** @type {AppForUi['hasAutoRecap']} */ hasAutoRecap = () => this.host.hasAutoRecap();
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
    /** @type {AppForUi['giveCopy']} */ giveCopy = (book) => this.changes.giveCopy(book);
    /** @type {AppForUi['useOriginal']} */ useOriginal = (options) => this.changes.useOriginal(options);
    /** @type {AppForUi['cleanupPlan']} */ cleanupPlan = () => this.cleanup.plan();
    /** @type {AppForUi['clean']} */ clean = () => this.cleanup.clean();
    /** @type {AppForUi['undo']} */ undo = (token) => this.changes.undo(token);
    /** @type {AppForUi['trashList']} */ trashList = () => this.trash.list();
    /** @type {AppForUi['findInTrash']} */ findInTrash = (how) => this.trash.findLost(how);
    /** @type {AppForUi['dropFromTrash']} */ dropFromTrash = (token) => this.trash.drop(token);
    /** @type {AppForUi['namesToSave']} */ namesToSave = (token) => this.putBack.namesToSave(token);
    /** @type {AppForUi['saveFromTrash']} */ saveFromTrash = (token, names) => this.changes.saveFromTrash(token, names);
    /** @type {AppForUi['strip']} */ strip = () => this.changes.strip();
    /** @type {AppForUi['allChats']} */ allChats = () => this.journalRemoval.allChats();
    /** @type {AppForUi['stripAll']} */ stripAll = (all, how) => this.journalRemoval.removeFrom(all, how);
    /** @type {AppForUi['showOwnBook']} */ showOwnBook = () => this.editorBook.showOwn();
    /** @type {AppForUi['compare']} */ compare = (what) => this.comparison.compare(what);
    /** @type {AppForUi['timelineChoices']} */ timelineChoices = () => this.comparison.choices();
    /** @type {AppForUi['messagesOf']} */ messagesOf = (chat) => this.comparison.messagesOf(chat);
    /** @type {AppForUi['bringPlan']} */ bringPlan = (request) => this.timelineMerge.plan(request);
    /** @type {AppForUi['bring']} */ bring = (request, seen) => this.changes.bring(request, seen);
}
