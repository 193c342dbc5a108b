// Drives SillyTavern's page, through its real controls wherever a user would use them.

import { until } from './until.mjs';

/** @typedef {import('./story.mjs').Tale} Tale */

export class TavernPage {
    /**
     * @param {import('playwright-core').Page} raw
     * @param {import('./watch.mjs').Watch} watch
     * @param {import('./sillytavern.mjs').SillyTavern} st
     */
    constructor(raw, watch, st) {
        this.raw = raw;
        this.watch = watch;
        this.st = st;
        /** Whether request bodies are gzipped. */
        this.gzip = st.requestCompression;
        /** Whether Forklore is expected in this page. */
        this.hasForklore = st.hasForklore;
    }

    // ---- Loading ----

    /** Waits until SillyTavern has loaded, extensions included. */
    async ready() {
        await this.raw.waitForFunction(() => !document.getElementById('preloader') && globalThis.SillyTavern?.getContext);
        if (this.hasForklore) {
            // SillyTavern does not wait for it.
            await this.raw.waitForFunction(() => performance.getEntriesByName('forklore:ready').length > 0);
        }
        await this.raw.evaluate(() => {
            const { eventSource, eventTypes } = SillyTavern.getContext();
            globalThis.harness = { opened: [] };
            eventSource.makeLast(eventTypes.CHAT_CHANGED, (chat) => void globalThis.harness.opened.push(chat));
        });
        if (this.gzip !== this.st.requestCompression) {
            await this.compressRequests(this.gzip);
        }
        await this.settle();
    }

    async reload() {
        await this.raw.reload();
        await this.ready();
    }

    async close() {
        await this.raw.context().close();
    }

    settle() {
        return this.watch.settle();
    }

    /**
     * Runs an action that opens a chat, and waits until it is open and SillyTavern has finished writing.
     *
     * @param {() => unknown} action
     * @returns {Promise<string>} the open chat
     */
    async opening(action) {
        const count = await this.raw.evaluate(() => globalThis.harness.opened.length);
        const opened = () => this.raw.evaluate((count) => globalThis.harness.opened.length > count, count);
        // While a chat is being saved SillyTavern refuses to open another one, so this tries again.
        const refusals = () => this.watch.toastsOf('info').filter((text) => text.includes('chat is still saving')).length;
        do {
            await this.raw.waitForFunction(async () => !(await import('/script.js')).isChatSaving);
            const before = refusals();
            await action();
            await until('a chat to open', async () => refusals() > before || opened());
        } while (!(await opened()));
        await this.settle();
        return (await this.current()).chat;
    }

    /** What is open. `book` is the bound lorebook. */
    current() {
        return this.raw.evaluate(() => {
            const { chatId, groupId, chat, chatMetadata } = SillyTavern.getContext();
            return {
                chat: chatId,
                group: groupId ?? null,
                messages: chat.length,
                book: chatMetadata.world_info,
                metadata: chatMetadata,
            };
        });
    }

    // ---- Opening chats ----

    /**
     * Opens a tale, which may have just been written to disk, without using the controls.
     *
     * @param {Tale} tale
     * @param {string} [chat] another chat of the same character or group
     */
    async open(tale, chat = tale.chat) {
        await this.refresh();
        const opened = await this.opening(() =>
            this.raw.evaluate(async ({ group, avatar }) => {
                const { characters, selectCharacterById } = SillyTavern.getContext();
                if (group) {
                    const { openGroupById } = await import('/scripts/group-chats.js');
                    await openGroupById(group);
                } else {
                    await selectCharacterById(characters.findIndex((character) => character.avatar === avatar));
                }
            }, tale),
        );
        return opened === chat ? opened : this.switchTo(chat);
    }

    /** Opens another chat of the same character or group, without using the controls. */
    switchTo(chat) {
        return this.opening(() =>
            this.raw.evaluate(async (chat) => {
                const { groupId, openGroupChat, openCharacterChat } = SillyTavern.getContext();
                await (groupId ? openGroupChat(groupId, chat) : openCharacterChat(chat));
            }, chat),
        );
    }

    /** Opens a tale as a user does: from the list of characters and groups. @param {Tale} tale */
    async pick(tale) {
        await this.refresh();
        await this.raw.locator('#rightNavDrawerIcon').click();
        await this.raw.locator('#rm_button_characters').click();
        const opened = await this.opening(() =>
            this.raw
                .locator(tale.group ? '.group_select' : '.character_select')
                .filter({ has: this.raw.locator(`.ch_name:text-is("${tale.name}")`) })
                .click(),
        );
        await this.raw.locator('#rightNavDrawerIcon').click();
        return opened;
    }

    /** Makes the page notice characters, groups and books that were created on disk. */
    async refresh() {
        await this.raw.evaluate(async () => {
            const { getCharacters, updateWorldInfoList } = SillyTavern.getContext();
            await Promise.all([getCharacters(), updateWorldInfoList()]);
        });
    }

    /**
     * Applies a theme. SillyTavern lists its characters anew a moment later, which fails if a refresh has just emptied them,
     * so this waits for that.
     */
    async theme(name) {
        await this.raw.evaluate(async (name) => {
            const { eventSource, eventTypes, executeSlashCommandsWithOptions } = SillyTavern.getContext();
            const listed = new Promise((resolve) => eventSource.once(eventTypes.CHARACTER_PAGE_LOADED, resolve));
            await executeSlashCommandsWithOptions(`/theme ${name}`);
            await listed;
        }, name);
    }

    // ---- Writing ----

    /** Runs a slash command and returns what it pipes on. @returns {Promise<string>} */
    run(command) {
        return this.raw.evaluate(
            async (command) => (await SillyTavern.getContext().executeSlashCommandsWithOptions(command)).pipe,
            command,
        );
    }

    /** Types into the message box, and waits until it has been processed. */
    async type(text) {
        await this.raw.locator('#send_textarea').fill(text);
        await this.raw.locator('#send_textarea').press('Enter');
        await this.raw.waitForFunction(
            () =>
                document.querySelector('#form_sheld:not(.isExecutingCommandsFromChatInput)') &&
                document.querySelector('#send_textarea').value === '',
        );
    }

    /** A user message, without asking a language model. */
    send(text) {
        return this.run(`/send ${text}`);
    }

    /** A character message. */
    sendAs(name, text) {
        return this.run(`/sendas name="${name}" ${text}`);
    }

    /** Saves the open chat, so that the file contains what SillyTavern adds on loading. */
    async save() {
        await this.raw.evaluate(() => SillyTavern.getContext().saveChat());
        await this.settle();
    }

    /** Whether SillyTavern gzips request bodies from now on. */
    async compressRequests(enabled) {
        await this.raw.evaluate(async (enabled) => {
            const { setRequestCompressionConfig } = await import('/scripts/request-compression.js');
            setRequestCompressionConfig({ enabled, minPayloadSize: 0, maxPayloadSize: 0, timeout: 10_000 });
        }, enabled);
        this.gzip = enabled;
    }

    // ---- Checkpoints and branches: every way that SillyTavern has ----

    /** The checkpoint button of a message. @returns {Promise<string>} the checkpoint's name */
    checkpointByButton(message, { name } = {}) {
        return this.#checkpoint(message, name, () => this.messageAction(message, '.mes_create_bookmark'));
    }

    /** Shift+click on the flag of a message that has a checkpoint, which replaces it. */
    checkpointByFlag(message, { name } = {}) {
        return this.#checkpoint(message, name, () => this.#flag(message).click({ modifiers: ['Shift'] }));
    }

    /** "Save checkpoint" in the menu, which uses the last message. */
    async checkpointByMenu({ name } = {}) {
        const { messages } = await this.current();
        return this.#checkpoint(messages - 1, name, () => this.menu('#option_new_bookmark'));
    }

    /** `/checkpoint-create`; without a name SillyTavern makes one up. */
    async checkpointByCommand(message, { name = '' } = {}) {
        const made = await this.run(`/checkpoint-create mesId=${message} ${name}`);
        await this.settle();
        return made;
    }

    /**
     * `/checkpoint-create` with the name of an existing solo chat. SillyTavern asks whether to overwrite it; here the
     * answer is no, and SillyTavern reloads its page.
     */
    async checkpointRefused(message, name) {
        // The page is reloaded while the command runs, so it never returns.
        this.run(`/checkpoint-create mesId=${message} ${name}`).catch(() => {});
        await this.dialog().locator('.popup-input').waitFor();
        const loaded = this.raw.waitForEvent('domcontentloaded');
        await this.dialog().locator('.popup-button-ok').click();
        await loaded;
        await this.ready();
    }

    /** The same, with the answer to overwrite the chat. */
    async checkpointOverwriting(message, name) {
        const made = this.run(`/checkpoint-create mesId=${message} ${name}`);
        await this.answer('OVERWRITE');
        await made;
        await this.settle();
        return name;
    }

    /** The branch button of a message. @returns {Promise<string>} the branch, which is now open */
    branchByButton(message) {
        return this.opening(() => this.messageAction(message, '.mes_create_branch'));
    }

    /** The branch button of a swipe, in the list of a message's swipes. */
    branchBySwipe(message, swipe) {
        return this.opening(async () => {
            // It stays open if SillyTavern refuses.
            if (!(await this.raw.locator('.swipe_picker_popup').isVisible())) {
                await this.messageAction(message, '.mes_swipe_picker');
            }
            await this.raw
                .locator('.select_chat_block_wrapper')
                .filter({ has: this.raw.locator(`.swipe_picker_block[data-swipe-id="${swipe}"]`) })
                .locator('.swipe_picker_branch')
                .click();
        });
    }

    /** `/branch-create`, which opens the branch. */
    branchByCommand(message) {
        return this.opening(() => this.run(`/branch-create ${message}`));
    }

    /** SillyTavern's own function, as called by other extensions; the branch is not opened. */
    async branchByImport(message) {
        const made = await this.raw.evaluate(async (message) => {
            const { createBranch } = await import('/scripts/bookmarks.js');
            return createBranch(message);
        }, message);
        await this.settle();
        return made;
    }

    /** "Convert to group" in the menu, confirmed. */
    convertToGroup() {
        return this.opening(async () => {
            await this.menu('#option_convert_to_group');
            await this.confirm();
        });
    }

    /** Clicks the flag of a message. */
    openCheckpoint(message) {
        return this.opening(() => this.#flag(message).click());
    }

    /** "Back to parent chat" in the menu. */
    backToParent() {
        return this.opening(() => this.menu('#option_back_to_main'));
    }

    async #checkpoint(message, name, begin) {
        const link = () => this.raw.locator(`.mes[mesid="${message}"]`).getAttribute('bookmark_link');
        const before = await link();
        await begin();
        await this.answer(name);
        const made = await until('the flag of the checkpoint', async () => {
            const now = await link();
            return now !== before && now;
        });
        await this.settle();
        return made;
    }

    #flag(message) {
        return this.raw.locator(`.mes[mesid="${message}"] .mes_bookmark`);
    }

    /** Clicks one of the buttons behind a message's three dots. */
    async messageAction(message, selector) {
        const shown = this.raw.locator(`.mes[mesid="${message}"]`);
        const button = shown.locator(selector);
        // During generation, SillyTavern shows neither; when it redraws the chat, the dots are closed again.
        await until(`the button ${selector} of message ${message}`, async () => {
            await shown.locator(`${selector}, .extraMesButtonsHint`).filter({ visible: true }).first().waitFor();
            if (!(await button.isVisible())) {
                await shown.locator('.extraMesButtonsHint').click();
            }
            await button.click({ timeout: 2000 });
            return true;
        });
    }

    /** Clicks an item of the menu beside the message box. */
    async menu(selector) {
        await this.raw.locator('#options_button').click();
        await this.raw.locator(selector).click();
    }

    // ---- Dialogs ----

    /** The topmost dialog that waits for the user, not counting SillyTavern's loading screens. */
    dialog() {
        return this.raw
            .locator('dialog.popup[open]:not([closing])')
            .filter({ visible: true, hasNot: this.raw.locator('#loader') })
            .last();
    }

    /** Fills in the dialog's text box, or keeps the suggestion, and presses OK. @param {string} [text] */
    async answer(text) {
        const input = this.dialog().locator('.popup-input');
        await input.waitFor();
        if (text !== undefined) {
            await input.fill(text);
        }
        await this.confirm();
    }

    /** Presses OK in the topmost dialog, and waits until it is closed. */
    async confirm() {
        await this.press('.popup-button-ok');
    }

    /** Presses a button of the topmost dialog, and waits until it is closed. */
    async press(selector) {
        const open = await this.dialog().elementHandle();
        await this.dialog().locator(selector).click();
        await this.raw.waitForFunction((dialog) => !dialog.isConnected || !dialog.open, open);
    }

    // ---- Chat manager ----

    /** Renames a chat in the list of chats. */
    async renameChat(chat, name) {
        await this.#manageChats();
        await this.#listed(chat).locator('.renameChatButton').click();
        await this.answer(name);
        // SillyTavern shows the list again.
        await this.#listed(name).waitFor();
        await this.#leaveChatManager();
    }

    /** Deletes a chat in the list of chats. SillyTavern takes two seconds for it. */
    async deleteChat(chat) {
        await this.#manageChats();
        await this.#listed(chat).locator('.PastChat_cross').click();
        const listed = this.raw.waitForResponse((response) => response.url().endsWith('/api/chats/search'));
        await this.confirm();
        await listed;
        await this.#leaveChatManager();
    }

    /** Opens a chat from the list of chats. */
    openFromList(chat) {
        return this.opening(async () => {
            await this.#manageChats();
            await this.raw.locator(`.select_chat_block[file_name="${chat}"]`).click();
        });
    }

    async #manageChats() {
        await this.menu('#option_select_chat');
        await this.raw.locator('#select_chat_popup').waitFor();
        await this.settle();
    }

    async #leaveChatManager() {
        await this.settle();
        await this.raw.locator('#select_chat_cross').click();
        await this.raw.locator('#select_chat_popup').waitFor({ state: 'hidden' });
    }

    #listed(chat) {
        return this.raw
            .locator('.select_chat_block_wrapper')
            .filter({ has: this.raw.locator(`.select_chat_block[file_name="${chat}"]`) });
    }

    // ---- Lorebooks ----

    /** Changes the content of an entry in the real editor, and waits until it is saved. */
    async editEntry(book, uid, content) {
        const text = await this.openInEditor(book, uid);
        await this.savingBook(book, () => text.fill(content));
        await this.raw.locator('#WIDrawerIcon').click();
    }

    /** Opens SillyTavern's own editor at a book. */
    async showInEditor(book) {
        await this.raw.locator('#WIDrawerIcon').click();
        await this.raw.evaluate((book) => {
            // Entries of a book that was shown before would be taken for this one's.
            $('#world_popup_entries_list').empty();
            const editor = $('#world_editor_select');
            const option = editor.find('option').filter((_, option) => option.textContent === book);
            editor.val(option.val()).trigger('change');
        }, book);
    }

    /** Opens an entry in the editor. @returns {Promise<import('playwright-core').Locator>} its text */
    async openInEditor(book, uid) {
        await this.showInEditor(book);
        const entry = this.raw.locator(`.world_entry[uid="${uid}"]`);
        await entry.locator('.inline-drawer-toggle').first().click();
        return entry.locator('textarea[name="content"]');
    }

    /** Renames a book in the editor. */
    async renameBook(book, name) {
        await this.showInEditor(book);
        await this.raw.locator('.world_entry').first().waitFor();
        await this.raw.locator('#world_popup_name_button').click();
        await this.answer(name);
        await this.raw.waitForFunction((name) => $('#world_editor_select option:selected').text() === name, name);
        await this.settle();
        await this.raw.locator('#WIDrawerIcon').click();
    }

    /** Replaces a whole book as an extension does, and waits until it is saved. */
    async saveBook(name, book) {
        await this.raw.evaluate(
            ({ name, book }) => SillyTavern.getContext().saveWorldInfo(name, book, true),
            { name, book },
        );
    }

    /** Waits until a book has been saved by an action. */
    async savingBook(book, action) {
        const saved = this.raw.waitForResponse((response) =>
            response.url().endsWith('/api/worldinfo/edit') && response.request().postDataJSON()?.name === book);
        await action();
        await (await saved).finished();
    }

    // ---- Toasts ----

    /** Removes all toasts. */
    async clearToasts() {
        await this.raw.evaluate(() => toastr.remove());
    }

    /** Clicks a toast, or something in it. */
    async clickToast(text, selector) {
        // Toasts let clicks through here, so the mouse is not used.
        const toast = this.raw.locator('#toast-container .toast').filter({ hasText: text });
        await (selector ? toast.locator(selector) : toast).dispatchEvent('click');
    }
}
