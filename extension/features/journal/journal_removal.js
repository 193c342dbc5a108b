// Removes the journal from all chats, one by one.

import { changeChat } from '../chat_change.js';
/** @import { AllChats, ChatId, Core, Host, StripReport, Word, WordError } from '../../types.js' */

export class JournalRemoval {
    /**
     * @param {object} parts
     * @param {Pick<Host, 'chatNames' | 'owners'> & import('../chat_change.js').ChangeHost} parts.host
     * @param {Pick<Core, 'chatStem'>} parts.core
     * @param {() => Promise<number>} parts.stripOpen how many records the open chat had
     * @param {() => string[]} [parts.leftBehind] avatars of characters that were deleted without their chats
     * @param {() => number} [parts.now]
     */
    constructor({ host, core, stripOpen, leftBehind = () => [], now = Date.now }) {
        this.host = host;
        this.core = core;
        this.stripOpen = stripOpen;
        this.leftBehind = leftBehind;
        this.now = now;
    }

    /** @returns {Promise<AllChats>} */
    async allChats() {
        const all = /** @type {AllChats} */ ({ chats: [], left: [] });
        const leftBehind = this.leftBehind().map((avatar) => ({ group: null, avatar, label: avatar }));
        for (const { group, avatar, label } of [...this.host.owners(), ...leftBehind]) {
            try {
                const names = await this.host.chatNames({ group, avatar });
                all.chats.push(...names.map((name) => ({ group, avatar, name })));
            } catch (error) {
                all.left.push({ code: 'chats-unlisted', values: { name: label, reason: reasonOf(error) } });
            }
        }
        return all;
    }

    /**
     * @param {AllChats} all
     * @param {{progress?: (done: number, total: number) => void, isWanted?: () => boolean}} [how] `isWanted`: whether to go on
     * @returns {Promise<StripReport>}
     */
    async removeFrom({ chats, left }, { progress = () => {}, isWanted = () => true } = {}) {
        const report = { chats: 0, records: 0, done: 0, total: chats.length, left: [...left] };
        for (const chat of chats) {
            progress(report.done, chats.length);
            if (!isWanted()) {
                return report;
            }
            try {
                const records = await this.#removeFromOne(chat);
                report.records += records;
                report.chats += records > 0 ? 1 : 0;
            } catch (error) {
                report.left.push(wordOf(error, chat));
            }
            report.done += 1;
        }
        progress(report.done, chats.length);
        return report;
    }

    /** @param {ChatId} chat @returns {Promise<number>} how many records it had */
    async #removeFromOne({ group, avatar, name }) {
        const owner = { group, avatar };
        const open = this.host.openChat();
        if (open?.group === group && open.avatar === avatar && [open.name, this.core.chatStem(open.name)].includes(name)) {
            return this.stripOpen();
        }
        if (!(await this.host.chatTextIfAny(owner, name))) {
            // A group can list a chat that has no file.
            return 0;
        }
        let count = 0;
        await changeChat(this.host, { ...owner, name }, ({ messages }) => {
            const carriers = messages.filter(hasRecord);
            carriers.forEach((message) => delete message.forklore);
            count = carriers.length;
            return count > 0;
        }, { notSince: this.now() });
        return count;
    }
}

function hasRecord(/** @type {ST.Line} */ line) {
    return line instanceof Object && Object.hasOwn(line, 'forklore');
}

/** @param {unknown} error */
const reasonOf = (error) => error instanceof Error ? error.message : String(error);

/** @param {unknown} error @param {ChatId} chat @returns {Word} */
function wordOf(error, { name }) {
    return error instanceof Error && 'word' in error
        ? /** @type {WordError} */ (error).word
        : { code: 'chat-failed', values: { chat: name, reason: reasonOf(error) } };
}
