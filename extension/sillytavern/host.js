// SillyTavern's chats and books, as the rest of Forklore knows them. Everything here that has a name of
// SillyTavern's was looked up in 1.19.0.

import {
    characters,
    chat,
    chat_metadata,
    deleteCharacterChatByName,
    eventSource,
    event_types,
    getCurrentChatId,
    getRequestHeaders,
    isChatSaving,
    isGenerating,
    openCharacterChat,
    renameGroupOrCharacterChat,
    saveChat,
    saveSettingsDebounced,
    this_chid,
} from '/script.js';
import { branchChat, createNewBookmark } from '/scripts/bookmarks.js';
import { extension_settings } from '/scripts/extensions.js';
import { deleteGroupChatByName, groups, openGroupChat, selected_group } from '/scripts/group-chats.js';
import { power_user } from '/scripts/power-user.js';
import { timestampToMoment, uuidv4, waitUntilCondition } from '/scripts/utils.js';
import {
    selected_world_info,
    updateWorldInfoList,
    world_info,
    world_names,
    worldInfoCache,
} from '/scripts/world-info.js';
import * as editor from './editor.js';

export * as timelineStore from './timeline_store.js';
export { isParentsSlug, kindOfFork } from './versions.js';

const SETTINGS_KEY = 'forklore';

/** @type {typeof fetch} the fetch that our own tap does not hear */
let untapped = (...request) => fetch(...request);

/** @param {typeof fetch} plain */
export function useFetch(plain) {
    untapped = plain;
}

/** Posts to SillyTavern's server behind the back of our own tap. @returns {Promise<Response>} */
async function post(path, body) {
    const response = await untapped(path, {
        method: 'POST',
        headers: getRequestHeaders(),
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
        cache: 'no-cache',
    });
    if (!response.ok) {
        throw new Error(`SillyTavern answered ${response.status} to ${path}`);
    }
    return response;
}

// The open chat

/** The character or group whose chats we speak of. */
export function currentOwner() {
    if (selected_group) {
        return { group: String(selected_group), avatar: null };
    }
    const character = characters[this_chid];
    return character ? { group: null, avatar: character.avatar } : null;
}

/** The chat that the page shows, or `null`. */
export function openChat() {
    const owner = currentOwner();
    const name = getCurrentChatId();
    if (!owner || !name) {
        return null;
    }
    return {
        ...owner,
        name: String(name),
        messages: chat,
        metadata: chat_metadata,
        book: chat_metadata.world_info || null,
        integrity: chat_metadata.integrity ?? null,
    };
}

/**
 * Saves the chat that is open now. SillyTavern's own way waits a moment before it looks at what is open: another chat,
 * which is empty until it is loaded, and would be saved so. Here nothing waits between the look and the writing out.
 */
export async function saveOpenChat() {
    const meant = openChat();
    if (!meant) {
        return;
    }
    const hasMessages = chat.length > 0 || (await chatHeadsOf(meant, [meant.name]))[0]?.messages > 0;
    if (isChatSaving) {
        await waitUntilCondition(() => !isChatSaving, SAVE_UNDER_WAY, 10);
    }
    const isLoaded = (chat.length > 0 || !hasMessages) && Object.keys(chat_metadata).length > 0;
    if (openChat()?.name !== meant.name || !isLoaded) {
        throw new Error(`"${meant.name}" was not saved: it is not open any more, or not loaded yet`);
    }
    await (selected_group ? saveGroupChat() : saveChat());
}

/** SillyTavern keeps its own to itself. */
async function saveGroupChat() {
    const group = groups.find((group) => group.id === selected_group);
    const body = JSON.stringify({ id: group.chat_id, chat: [{ chat_metadata, user_name: 'unused', character_name: 'unused' }, ...chat], force: false });
    const response = await fetch('/api/chats/group/save', { method: 'POST', headers: getRequestHeaders(), body });
    if (!response.ok) {
        throw new Error(`SillyTavern answered ${response.status} to the save of "${group.chat_id}"`);
    }
}

export const isWriting = () => isGenerating();

/** In milliseconds: so long a save of SillyTavern's may take before ours is given up. */
const SAVE_UNDER_WAY = 30_000;
/** In milliseconds: most often SillyTavern saves the chat itself before that. */
const CHAT_SAVED_WITHIN = 3000;
let savingSoon = null;

/**
 * Saves the open chat in a while, unless SillyTavern did meanwhile, or the server has another one: another tab may have
 * gone on with it, and its messages would be lost.
 * @param {() => boolean} isNeeded whether there still is something to save
 */
export function saveChatSoon(isNeeded) {
    clearTimeout(savingSoon);
    const name = openChat()?.name;
    savingSoon = setTimeout(() => saveChatIfSame(name, isNeeded).catch((error) => console.warn('Forklore:', error)), CHAT_SAVED_WITHIN);
}

async function saveChatIfSame(name, isNeeded) {
    const open = openChat();
    if (!open || open.name !== name || !isNeeded()) {
        return;
    }
    const isBusy = () => isWriting() || document.querySelector('#chat .edit_textarea');
    if (isBusy()) {
        saveChatSoon(isNeeded);
        return;
    }
    const count = chat.length;
    const [head] = await chatHeadsOf(open, [name]);
    const isSame = head?.messages === count && head.date === dateOf(chat.at(-1)?.send_date);
    if (isSame && openChat()?.name === name && chat.length === count && !isBusy() && isNeeded()) {
        await saveOpenChat();
    }
}

/** The first message up to this one that is being edited, or `null`. */
export function editedUpTo(message) {
    const edited = [...document.querySelectorAll('#chat .mes:has(.edit_textarea)')].map((shown) => Number(shown.getAttribute('mesid')));
    return edited.find((number) => number <= message) ?? null;
}
export const newSlug = () => uuidv4();

/**
 * Runs `before` whenever the chat is about to be written out. `JSON.stringify` asks each message for `toJSON`, the
 * first one first, so what `before` puts on any message still goes along. The hook is not enumerable: no copy of
 * the message has it, and no file.
 */
export function beforeWritingOut(before) {
    const first = chat[0];
    if (!first || typeof first !== 'object' || Object.hasOwn(first, 'toJSON')) {
        return;
    }
    Object.defineProperty(first, 'toJSON', {
        configurable: true,
        value() {
            before(this);
            return this;
        },
    });
}

// Chats

/** Puts a checkpoint at a message, by SillyTavern's own means. @returns {Promise<string?>} its name */
export const createCheckpoint = (message, name) => createNewBookmark(message, { forceName: name ?? '' });
/** Asks for a name first, as the button does. */
export const createCheckpointAsking = (message) => createNewBookmark(message);
export const createBranch = (message, swipeId = null) => branchChat(message, { swipeId });

export async function openByName(name) {
    await (selected_group ? openGroupChat(selected_group, name) : openCharacterChat(name));
}

/** Names of all chats of a character or group. */
export async function chatNames(owner) {
    if (owner.group) {
        return [...(groups.find((group) => String(group.id) === owner.group)?.chats ?? [])];
    }
    const answer = await post('/api/characters/chats', { avatar_url: owner.avatar, simple: true });
    const list = await answer.json();
    return list?.error ? [] : Object.values(list).map((chat) => stem(chat.file_name));
}

/** All chats of a character or group with their metadata; `metadata` is missing where the header cannot be read. */
export async function chatHeads(owner) {
    if (owner.group) {
        const names = await chatNames(owner);
        const recent = await allChatHeads();
        const heads = recent.filter((head) => head.group === owner.group);
        const known = new Set(heads.map((head) => head.name));
        for (const name of names.filter((name) => !known.has(name))) {
            const lines = await readChat(owner, name);
            heads.push(headOfLines(owner, name, lines));
        }
        return heads;
    }
    const answer = await post('/api/characters/chats', { avatar_url: owner.avatar, metadata: true });
    const list = await answer.json();
    return list?.error ? [] : Object.values(list).map((found) => headOf(found, owner));
}

/** Every chat that SillyTavern lists, of all characters and groups. */
export async function allChatHeads() {
    return listedFirst({ max: Number.MAX_SAFE_INTEGER });
}

/**
 * These chats of a character or group, and no others: SillyTavern reads a chat as a whole to tell what its header
 * holds, and puts pinned ones first when it is asked for the newest.
 * @param {string[]} names
 */
export async function chatHeadsOf(owner, names) {
    const { group, avatar } = owner;
    const pinned = names.map((name) => ({ file_name: `${name}.jsonl`, group, avatar }));
    const wanted = new Set(names);
    const heads = (await listedFirst({ max: 0, pinned })).filter((head) => head.group === group && head.avatar === avatar && wanted.has(head.name));
    const found = new Set(heads.map((head) => head.name));
    for (const name of names.filter((name) => !found.has(name))) {
        heads.push(headOfLines({ group, avatar }, name, await readChat(owner, name)));
    }
    return heads;
}

/** The chats that were written last, of all characters and groups, newest first. */
export async function newestHeads(count) {
    return listedFirst({ max: count });
}

async function listedFirst(which) {
    const list = await (await post('/api/chats/recent', { ...which, metadata: true })).json();
    return Object.values(list).map((found) =>
        headOf(found, { group: found.group ? String(found.group) : null, avatar: found.avatar || null }));
}

/** What SillyTavern says instead of a last message that has no text. */
const NO_TEXT = ['[The chat is empty]', '[The message is empty]'];

function headOf(found, owner) {
    const name = stem(found.file_name);
    const preview = NO_TEXT.includes(found.mes) ? '' : String(found.mes ?? '');
    return { ...owner, name, messages: Number(found.chat_items) || 0, metadata: found.chat_metadata, preview, date: dateOf(found.last_mes) };
}

function headOfLines({ group, avatar }, name, lines) {
    const last = lines.length > 1 ? lines.at(-1) : null;
    const preview = String(last?.mes ?? '');
    return { group, avatar, name, messages: Math.max(0, lines.length - 1), metadata: lines[0]?.chat_metadata, preview, date: dateOf(last?.send_date) };
}

/** When a message was sent, in milliseconds; SillyTavern has written dates in many ways. */
export function dateOf(sent) {
    const moment = sent ? timestampToMoment(sent) : null;
    return moment?.isValid() ? moment.valueOf() : null;
}

/** Renames a chat by SillyTavern's own means, which says itself what goes wrong. */
export async function renameChat(owner, from, to) {
    const characterId = characters.findIndex((character) => character.avatar === owner.avatar);
    await renameGroupOrCharacterChat({
        characterId: owner.group ? undefined : String(characterId),
        groupId: owner.group ?? undefined,
        oldFileName: from,
        newFileName: to,
        loader: false,
    });
}

/** Deletes a chat that is not open, by SillyTavern's own means: our tap hears of it like of any other. */
export async function deleteChat(owner, name) {
    const characterId = characters.findIndex((character) => character.avatar === owner.avatar);
    await (owner.group ? deleteGroupChatByName(owner.group, name) : deleteCharacterChatByName(String(characterId), name));
}

/** The lines of a chat file, header first. */
export async function readChat(owner, name) {
    const answer = owner.group
        ? await post('/api/chats/group/get', { id: name })
        : await post('/api/chats/get', { avatar_url: owner.avatar, file_name: name });
    const lines = await answer.json();
    return Array.isArray(lines) ? lines : [];
}

/** Writes a chat that is not open in this page. */
export async function writeChat(owner, name, lines) {
    const character = characters.find((character) => character.avatar === owner.avatar);
    await (owner.group
        ? post('/api/chats/group/save', { id: name, chat: lines })
        : post('/api/chats/save', { ch_name: character?.name, file_name: name, chat: lines, avatar_url: owner.avatar }));
}

/** Every character and group, as whose chats there are. */
export function owners() {
    return [
        ...characters.map((character) => ({ group: null, avatar: character.avatar, label: character.name })),
        ...groups.map((group) => ({ group: String(group.id), avatar: null, label: group.name })),
    ];
}

/** How long all chats together were when SillyTavern last listed its characters and groups. */
export const bytesOfChats = () => [...characters, ...groups].reduce((sum, { chat_size: bytes }) => sum + (Number(bytes) || 0), 0);

function stem(fileName) {
    return String(fileName ?? '').replace(/\.jsonl$/, '');
}

// Books

/**
 * Books whose newest text is in the page and not on the server yet, each with its newest edit. Whether a book that
 * was put in the page's memory for the first time was read or written is not always sure.
 * @type {Map<string, {isSure: boolean, at: number}>}
 */
const unsaved = new Map();
/** What the page is reading into its memory just now. @type {Map<string, string>} */
const reading = new Map();
/** In milliseconds: by then SillyTavern, which waits for one second, has saved a book that was written. */
const SAVED_WITHIN = 5000;
/** When a save comes at all: another book's may have taken its place. */
const SAVE_COMES_WITHIN = 1500;

/** Hears of every change of a book in the page's memory, just before and after it, and before it is saved. */
export function watchCachedBooks({ before, after }) {
    const set = worldInfoCache.set;
    worldInfoCache.set = function (name, data) {
        before();
        const isRead = !this.has(name) && reading.has(name) && JSON.stringify(data) === reading.get(name);
        reading.delete(name);
        if (!isRead) {
            unsaved.set(name, { isSure: this.has(name), at: Date.now() });
        }
        const result = set.call(this, name, data);
        after(name);
        return result;
    };
}

/**
 * Tells of every copy of a book that the page makes.
 * @param {{remember: Function, met: Function, copied: Function}} listener
 */
export function watchCopies(listener) {
    const { get, set } = worldInfoCache;
    worldInfoCache.set = function (name, book) {
        listener.cached(name, book);
        return set.call(this, name, book);
    };
    worldInfoCache.get = function (name) {
        const copy = get.call(this, name);
        listener.copied(cachedBook(name), copy);
        return copy;
    };
    // Those that were read before anybody listened.
    for (const [name, book] of worldInfoCache) {
        listener.remember(name, JSON.stringify(book));
        listener.cached(name, book);
    }
}

/** The page's own copy of a book, if that is what a save has just been made of. */
export function cachedBookWithText(name, text) {
    const book = cachedBook(name);
    return book && JSON.stringify(book) === text ? book : undefined;
}

/**
 * Puts a book into the page's memory in place of what it was, unless it has been edited since.
 * @returns {object | undefined} the new copy
 */
export function replaceCachedBook(name, before, after) {
    if (!cachedBookWithText(name, before)) {
        return undefined;
    }
    const book = JSON.parse(after);
    Map.prototype.set.call(worldInfoCache, name, book);
    return book;
}

/** The server has answered with a book, and the page is about to hear it. */
export function bookWasRead(name, text) {
    reading.set(name, text);
}

/** The newest edit of a book that is not known to be on the server. */
export const newestEdit = (name) => unsaved.get(name);

/** @param {object | undefined} edit the newest one when the save went out; there may have been others since */
export function bookWasSaved(name, edit) {
    if (unsaved.get(name) === edit) {
        unsaved.delete(name);
    }
}

/**
 * A book as the page has it, or `undefined` where it has not read it. To look at, not to change: it is the page's
 * own object, because the copy that SillyTavern gives out takes longer to make than to look through.
 */
export function cachedBook(name) {
    return Map.prototype.get.call(worldInfoCache, name);
}

export function cachedBookText(name) {
    const book = cachedBook(name);
    return book && JSON.stringify(book);
}

/** All books on the server with what they carry in `extensions`. The names list tells what exists; reading does not. */
export async function listBooks() {
    const list = await (await post('/api/worldinfo/list', {})).json();
    return list.map((book) => ({ name: book.file_id, extensions: book.extensions ?? {} }));
}

/** Names of books as of the last time the page looked. */
export const knownBooks = () => [...(world_names ?? [])];

/**
 * A book as it is now: from memory while an edit waits to be saved, from the server otherwise.
 * @returns {Promise<Uint8Array>} a book that is not there reads as an empty one, so ask `listBooks` first
 */
export async function readBook(name) {
    const edit = unsaved.get(name);
    const known = edit?.isSure ? cachedBookText(name) : undefined;
    if (known !== undefined) {
        return new TextEncoder().encode(known);
    }
    const bytes = new Uint8Array(await (await post('/api/worldinfo/get', { name })).arrayBuffer());
    const mayBeOlder = edit && edit === unsaved.get(name) && Date.now() - edit.at < SAVED_WITHIN;
    const newest = mayBeOlder ? cachedBookText(name) : undefined;
    const isOlder = newest !== undefined && newest !== JSON.stringify(JSON.parse(new TextDecoder().decode(bytes)));
    return isOlder ? new TextEncoder().encode(newest) : bytes;
}

/** A book as the server has it, whatever the page knows of it. */
export async function bookOnServer(name) {
    return (await post('/api/worldinfo/get', { name })).text();
}

function isSaveComing(name) {
    const edit = unsaved.get(name);
    return Boolean(edit?.isSure) && Date.now() - edit.at < SAVE_COMES_WITHIN;
}

/** Waits for a save of the page's own that is still to come, and would undo what we write. */
export async function untilSaved(name) {
    while (isSaveComing(name)) {
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

/** @param {string} request as `requests.bookSave` makes it */
export async function writeBook(request) {
    await post('/api/worldinfo/edit', request);
}

export async function deleteBook(name) {
    await post('/api/worldinfo/delete', { name });
}

/** Lets SillyTavern see books that were written or removed behind its back. */
export async function refreshBooks(...names) {
    for (const name of names) {
        worldInfoCache.delete(name);
        unsaved.delete(name);
    }
    await updateWorldInfoList();
}

/** Lets SillyTavern's editor show a book as the page's memory has it, as soon as nobody is at work in it, or at once. */
export const refreshEditor = (name, options) => editor.refresh(name, () => isSaveComing(name), options);
export const { onShown: onBookInEditor, show: showInEditor, shownBook: bookInEditor } = editor;
export const switchEditor = (shown, name, isWanted) => editor.switchTo(shown, name, { isUnsaved: () => isSaveComing(shown), isWanted });

/** Places beside chats that name books: settings, cards, personas. */
export function bookReferences() {
    const found = [];
    const add = (book, place, name) => book && found.push({ book: String(book), place, name: String(name ?? '') });
    for (const book of selected_world_info ?? []) {
        add(book, 'global', '');
    }
    for (const { name, extraBooks } of world_info?.charLore ?? []) {
        (extraBooks ?? []).forEach((book) => add(book, 'character', name));
    }
    add(power_user.persona_description_lorebook, 'persona', '');
    for (const [avatar, persona] of Object.entries(power_user.persona_descriptions ?? {})) {
        add(persona?.lorebook, 'persona', power_user.personas?.[avatar] ?? avatar);
    }
    for (const character of characters) {
        add(character.data?.extensions?.world, 'card', character.name);
    }
    return found;
}

// Files of ours on the server

export async function writeFile(name, text) {
    const bytes = new TextEncoder().encode(text);
    let binary = '';
    for (let at = 0; at < bytes.length; at += 0x8000) {
        binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    }
    const answer = await post('/api/files/upload', { name, data: btoa(binary) });
    return (await answer.json()).path;
}

export async function readFile(path) {
    const answer = await untapped(path, { cache: 'no-cache' });
    if (!answer.ok) {
        throw new Error(`SillyTavern answered ${answer.status} to ${path}`);
    }
    return answer.text();
}

export async function deleteFile(path) {
    await post('/api/files/delete', { path });
}

// Settings and events

export function settings() {
    extension_settings[SETTINGS_KEY] ??= {};
    return extension_settings[SETTINGS_KEY];
}

export const saveSettings = () => saveSettingsDebounced();

/** Whether Memory Books is loaded, which copies the lorebook of a branch itself unless it is told that this was done. */
export const hasMemoryBooks = () => [...document.scripts].some(({ src }) => /\/third-party\/[^/]*memory-?books[^/]*\//i.test(src));

/** The book in which Memory Books keeps a chat's memories in its manual mode, or `null`. */
export function memoryBookOf(metadata) {
    const isManual = extension_settings.STMemoryBooks?.moduleSettings?.manualModeEnabled;
    return isManual ? metadata?.STMemoryBooks?.manualLorebook || null : null;
}

/** Whether ST-Auto-Recap is at home here, whose own handlers would undo a fork of ours. */
export const hasAutoRecap = () => Boolean(extension_settings.auto_recap_memory);

/**
 * How many operations ST-Auto-Recap has still to run, as it knows itself: it writes them into the lorebook a little
 * later, and not if that fails. None where it does not run, or keeps them elsewhere.
 */
export async function recapOperations() {
    const queue = await queueOfRecap();
    try {
        return queue.getAllOperations().filter(({ status }) => ['pending', 'in_progress', 'retrying'].includes(status)).length;
    } catch {
        // Not there, or not begun yet.
        return 0;
    }
}

let recapQueue = null;

/** The module that its own script has loaded, which may be later than ours. */
function queueOfRecap() {
    const script = recapQueue ? null : [...document.scripts].find(({ src }) => /\/third-party\/[^/]*auto-?(recap|summarize)[^/]*\//i.test(src));
    if (script && hasAutoRecap()) {
        recapQueue = import(new URL('operationQueue.js', script.src).href).catch(() => null);
    }
    return recapQueue;
}

/** What ST-Auto-Recap keeps by a chat's name in its settings: another name, or a child, has none of its own. */
export function copyRecapSettings(parent, child) {
    const settings = extension_settings.auto_recap_memory ?? {};
    for (const key of ['chats_enabled', 'chat_profiles', 'chat_sticky_presets', 'chat_strip_patterns']) {
        const byChat = settings[key];
        if (byChat && Object.hasOwn(byChat, parent) && !Object.hasOwn(byChat, child)) {
            byChat[child] = structuredClone(byChat[parent]);
            saveSettingsDebounced();
        }
    }
}

export function on(event, listener) {
    const name = event_types[event];
    if (name) {
        eventSource.on(name, listener);
    }
}

export const emit = (event, value) => eventSource.emit(event, value);
