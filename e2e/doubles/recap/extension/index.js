// Does to chats and lorebooks what ST-Auto-Recap was seen to do, as far as it gets in the way of forks, and nothing
// else. `recapDouble` tells what it did.

import {
    chat,
    chat_metadata,
    eventSource,
    event_types,
    getCurrentChatId,
    openCharacterChat,
    saveChatConditional,
    saveMetadata,
} from '/script.js';
import { createBranch, createNewBookmark } from '/scripts/bookmarks.js';
import { extension_settings } from '/scripts/extensions.js';
import { createNewWorldInfo, createWorldInfoEntry, deleteWorldInfo, saveWorldInfo, world_names } from '/scripts/world-info.js';

import './operationQueue.js';

extension_settings.auto_recap_memory ??= {};

const did = { forked: [], deleted: [], replaced: [], replaceMissingBook };
globalThis.recapDouble = did;

/** The name that it gives to a chat's book, and by which it finds the one to delete. */
const template = (chatName) => `z-AutoLB-${chatName.split(' - ')[0]}-${chatName}`;

function freeName(name) {
    let number = 1;
    const numbered = () => (number === 1 ? name : `${name} (${number})`);
    while (world_names.includes(numbered())) {
        number += 1;
    }
    return numbered();
}

// It handles a message's two fork buttons itself: it makes the fork, opens it and binds it to a rebuilt book.
document.getElementById('chat').addEventListener('click', async (event) => {
    const button = event.target.closest('.mes_create_bookmark, .mes_create_branch');
    if (!button) {
        return;
    }
    event.stopImmediatePropagation();
    event.preventDefault();
    const message = Number(button.closest('.mes').getAttribute('mesid'));
    const child = await (button.matches('.mes_create_branch') ? createBranch(message) : createNewBookmark(message));
    await openCharacterChat(child);
    await saveChatConditional();
    const snapshot = newestSnapshot(message);
    if (snapshot) {
        const book = freeName(template(child));
        const entries = snapshot.map(({ key, comment, content }, uid) => [uid, { uid, key, comment, content }]);
        await createNewWorldInfo(book);
        await saveWorldInfo(book, { entries: Object.fromEntries(entries) }, true);
        chat_metadata.world_info = book;
        await saveMetadata();
    }
    did.forked.push(child);
}, true);

function newestSnapshot(message) {
    const memories = chat.slice(0, message + 1).map(({ extra }) => extra?.auto_recap_memory);
    const scene = memories.findLast((memory) => memory?.scene_break && memory.scene_recap_metadata);
    return scene?.scene_recap_metadata[scene.scene_recap_current_index].allEntries;
}

// When a chat is deleted, so is any book with the name from its template.
for (const event of [event_types.CHAT_DELETED, event_types.GROUP_CHAT_DELETED]) {
    eventSource.on(event, async (name) => {
        if (await deleteWorldInfo(template(name))) {
            did.deleted.push(template(name));
        }
    });
}

/** Forgets a missing book, and binds the chat to a new one with nothing but a registry. */
async function replaceMissingBook() {
    const missing = chat_metadata.world_info;
    if (!missing || world_names.includes(missing)) {
        return;
    }
    delete chat_metadata.world_info;
    const book = freeName(template(getCurrentChatId()));
    await createNewWorldInfo(book);
    const content = { entries: {} };
    Object.assign(createWorldInfoEntry(book, content), {
        comment: '_registry_character',
        content: '[Registry: character]',
        disable: true,
        preventRecursion: true,
        ignoreBudget: true,
        tags: ['auto_lorebooks_registry'],
    });
    await saveWorldInfo(book, content, true);
    chat_metadata.world_info = book;
    chat_metadata.auto_lorebooks = { ...chat_metadata.auto_lorebooks, lorebookName: book };
    await saveMetadata();
    did.replaced.push(missing);
}

// It does so when it needs the book, which may be at once, before any other extension hears of the chat.
eventSource.makeFirst(event_types.CHAT_CHANGED, () => did.replacesAtOnce && replaceMissingBook());
