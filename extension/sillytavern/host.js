// SillyTavern's chats and books, as the rest of Forklore sees them. All names of SillyTavern's were checked against
// 1.19.0.

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
import { extension_settings, extensionNames } from '/scripts/extensions.js';
import { deleteGroupChatByName, editGroup, groups, openGroupChat, selected_group } from '/scripts/group-chats.js';
import { power_user } from '/scripts/power-user.js';
import { timestampToMoment, uuidv4, waitUntilCondition } from '/scripts/utils.js';
import {
    loadWorldInfo,
    selected_world_info,
    updateWorldInfoList,
    world_info,
    world_names,
    worldInfoCache,
} from '/scripts/world-info.js';
import * as editor from './editor.js';
import { isAllInPage } from './chat_file.js';
import { boundBook, integrityOf } from './metadata.js';
/** @import { BookReference, Head, OpenChat, Owner, Settings } from '../types.js' */

export * as timelineStore from './timeline_store.js';
export { kindOfFork } from './versions.js';

const SETTINGS_KEY = 'forklore';

/** @type {typeof fetch} the original fetch, past our own tap */
let untapped = (...request) => fetch(...request);

export function useFetch(/** @type {typeof fetch} */ plain) {
    untapped = plain;
}

/**
 * Posts to SillyTavern's server, past our own tap.
 * @param {string} path @param {string | Uint8Array<ArrayBuffer> | object} body a value, or its JSON @returns {Promise<Response>}
 */
async function post(path, body) {
    const response = await untapped(path, {
        method: 'POST',
        headers: getRequestHeaders(),
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
        cache: 'no-cache',
    });
    if (!response.ok) {
        throw Object.assign(new Error(`SillyTavern answered ${response.status} to ${path}`), { status: response.status });
    }
    return response;
}

/**
 * The value that SillyTavern's server answers.
 * @template {keyof ST.Answers} Path
 * @param {Path} path @param {object} body @returns {Promise<ST.Answers[Path]>}
 */
async function ask(path, body) {
    return /** @type {ST.Answers[Path]} */ (await (await post(path, body)).json());
}

// The open chat

/** The character or group that is selected. @returns {Owner | null} */
export function currentOwner() {
    if (selected_group) {
        return { group: String(selected_group), avatar: null };
    }
    const character = characters[Number(this_chid)];
    return character ? { group: null, avatar: character.avatar } : null;
}

/** @returns {OpenChat | null} */
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
        book: boundBook(chat_metadata),
        integrity: integrityOf(chat_metadata),
    };
}

/**
 * Saves the open chat. SillyTavern's own function waits a moment before it checks which chat is open: by then it may be
 * another one, which is empty until it is loaded, and would be saved like that. Here, nothing happens between the check
 * and the serialization.
 */
export async function saveOpenChat() {
    const meant = openChat();
    if (!meant) {
        return;
    }
    const hasMessages = chat.length > 0 || Boolean((await chatHeadsOf(meant, [meant.name]))[0]?.messages);
    if (isChatSaving) {
        await waitUntilCondition(() => !isChatSaving, SAVE_UNDER_WAY, 10);
    }
    const isLoaded = (chat.length > 0 || !hasMessages) && Object.keys(chat_metadata).length > 0;
    if (openChat()?.name !== meant.name || !isLoaded) {
        throw new Error(`"${meant.name}" was not saved: it is not open any more, or not loaded yet`);
    }
    await (selected_group ? saveGroupChat() : saveChat());
}

/** SillyTavern does not export its own function for this. */
async function saveGroupChat() {
    const group = groups.find((group) => group.id === selected_group);
    if (!group) {
        throw new Error('the group is gone');
    }
    const body = JSON.stringify({ id: group.chat_id, chat: [{ chat_metadata, user_name: 'unused', character_name: 'unused' }, ...chat], force: false });
    const response = await fetch('/api/chats/group/save', { method: 'POST', headers: getRequestHeaders(), body });
    if (!response.ok) {
        throw new Error(`SillyTavern answered ${response.status} to the save of "${group.chat_id}"`);
    }
}

export const isWriting = () => isGenerating();

/** In milliseconds: how long to wait for a running save before giving up. */
const SAVE_UNDER_WAY = 30_000;
/** In milliseconds: usually SillyTavern saves the chat itself before that. */
const CHAT_SAVED_WITHIN = 3000;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let savingSoon;

/**
 * Saves the open chat after a while, unless SillyTavern has saved it by then, or the file differs: another tab may have
 * continued or edited the chat, and that would be lost.
 * @param {() => boolean} isNeeded whether there is still something to save
 */
export function saveChatSoon(isNeeded) {
    clearTimeout(savingSoon);
    const name = openChat()?.name;
    savingSoon = setTimeout(() => saveChatIfSame(name, isNeeded).catch((error) => console.warn('Forklore:', error)), CHAT_SAVED_WITHIN);
}

async function saveChatIfSame(/** @type {string | undefined} */ name, /** @type {() => boolean} */ isNeeded) {
    const open = openChat();
    if (!open || open.name !== name || !isNeeded()) {
        return;
    }
    const isBusy = () => isWriting() || document.querySelector('#chat .edit_textarea');
    if (isBusy()) {
        saveChatSoon(isNeeded);
        return;
    }
    const file = await readChat(open, open.name);
    if (openChat()?.name === name && isAllInPage(file, chat_metadata, chat) && !isBusy() && isNeeded()) {
        await saveOpenChat();
    }
}

/** The first message up to this one that is being edited, or `null`. @param {number} message */
export function editedUpTo(message) {
    const edited = [...document.querySelectorAll('#chat .mes:has(.edit_textarea)')].map((shown) => Number(shown.getAttribute('mesid')));
    return edited.find((number) => number <= message) ?? null;
}
export const newSlug = () => uuidv4();

/**
 * Runs `before` whenever the chat is about to be serialized. `JSON.stringify` calls `toJSON` on each message, in order,
 * so `before` can still change any of them. The hook is not enumerable, so it is in no copy of the message and in no
 * file.
 * @param {(first: ST.Message) => void} before
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

/**
 * Creates a checkpoint at a message with SillyTavern's own function.
 * @param {number} message @param {string} [name] @returns {Promise<string | null>} its name
 */
export const createCheckpoint = (message, name) => createNewBookmark(message, { forceName: name ?? '' });
/** Asks for a name first, like the button. @param {number} message */
export const createCheckpointAsking = (message) => createNewBookmark(message);
export const createBranch = (/** @type {number} */ message, swipeId = null) => branchChat(message, { swipeId });

export async function openByName(/** @type {string} */ name) {
    await (selected_group ? openGroupChat(selected_group, name) : openCharacterChat(name));
}

/** The names of all chats of a character or group. @param {Owner} owner @returns {Promise<string[]>} */
export async function chatNames(owner) {
    if (owner.group) {
        return [...(groups.find((group) => String(group.id) === owner.group)?.chats ?? [])];
    }
    return (await chatsOf(owner, { simple: true })).map((chat) => stem(chat.file_name));
}

/** @param {Owner} owner a character @param {object} how @returns {Promise<ST.ListedChat[]>} */
async function chatsOf({ avatar }, how) {
    const list = await ask('/api/characters/chats', { avatar_url: avatar, ...how });
    return 'error' in list ? [] : Object.values(list);
}

/** All chats of a character or group with their metadata. @param {Owner} owner */
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
    return (await chatsOf(owner, { metadata: true })).map((found) => headOf(found, owner));
}

/** All chats of all characters and groups. */
export async function allChatHeads() {
    return listedFirst({ max: Number.MAX_SAFE_INTEGER });
}

/**
 * Only these chats of a character or group. SillyTavern reads whole chats to return their headers, but a request for
 * the newest ones returns the pinned ones first.
 * @param {Owner} owner @param {string[]} names
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

/** The most recently written chats of all characters and groups, newest first. @param {number} count */
export async function newestHeads(count) {
    return listedFirst({ max: count });
}

async function listedFirst(/** @type {{max: number, pinned?: object[]}} */ which) {
    const list = await ask('/api/chats/recent', { ...which, metadata: true });
    return Object.values(list).map((found) =>
        headOf(found, { group: found.group ? String(found.group) : null, avatar: found.avatar || null }));
}

/** What SillyTavern returns for a last message without text. */
const NO_TEXT = ['[The chat is empty]', '[The message is empty]'];

/** @param {ST.ListedChat} found @param {Owner} owner @returns {Head} */
function headOf(found, owner) {
    const name = stem(found.file_name);
    const text = String(found.mes ?? '');
    const preview = NO_TEXT.includes(text) ? '' : text;
    return { ...owner, name, messages: Number(found.chat_items) || 0, metadata: found.chat_metadata, preview, date: dateOf(found.last_mes) };
}

/** @param {Owner} owner @param {string} name @param {ST.Line[]} lines @returns {Head} */
function headOfLines({ group, avatar }, name, lines) {
    const last = lines.length > 1 ? lines.at(-1) : null;
    const preview = String(last?.mes ?? '');
    return { group, avatar, name, messages: Math.max(0, lines.length - 1), metadata: lines[0]?.chat_metadata, preview, date: dateOf(last?.send_date) };
}

/** When a message was sent, in milliseconds; SillyTavern has used many date formats. @param {ST.Timestamp | undefined} sent */
export function dateOf(sent) {
    const moment = sent ? timestampToMoment(sent) : null;
    return moment?.isValid() ? moment.valueOf() : null;
}

/** Renames a chat with SillyTavern's own function, which reports errors itself. @param {Owner} owner @param {string} from @param {string} to */
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

/**
 * Deletes a chat that is not open with SillyTavern's own function, so our tap sees the request like any other.
 * @param {Owner} owner @param {string} name
 */
export async function deleteChat(owner, name) {
    const characterId = characters.findIndex((character) => character.avatar === owner.avatar);
    await (owner.group ? deleteGroupChatByName(owner.group, name) : deleteCharacterChatByName(String(characterId), name));
}

/** The lines of a chat file, header first. @param {Owner} owner @param {string} name @returns {Promise<ST.Line[]>} */
export async function readChat(owner, name) {
    const lines = owner.group
        ? await ask('/api/chats/group/get', { id: name })
        : await ask('/api/chats/get', { avatar_url: owner.avatar, file_name: name });
    return Array.isArray(lines) ? lines : [];
}

/** Writes a chat that is not open in this page. @param {Owner} owner @param {string} name @param {object[]} lines */
export async function writeChat(owner, name, lines) {
    const character = characters.find((character) => character.avatar === owner.avatar);
    await (owner.group
        ? post('/api/chats/group/save', { id: name, chat: lines })
        : post('/api/chats/save', { ch_name: character?.name, file_name: name, chat: lines, avatar_url: owner.avatar }));
}

/** A chat file as it is on the server. @param {Owner} owner @param {string} name */
export async function chatText(owner, name) {
    const file = `${name}.jsonl`;
    const whose = owner.group ? { is_group: true } : { is_group: false, avatar_url: owner.avatar };
    return (await ask('/api/chats/export', { ...whose, file, exportfilename: file, format: 'jsonl' })).result;
}

/** The same; empty if there is none. @param {Owner} owner @param {string} name */
export async function chatTextIfAny(owner, name) {
    return chatText(owner, name).catch((/** @type {unknown} */ error) => {
        if (error instanceof Error && 'status' in error && error.status === 404) {
            return '';
        }
        throw error;
    });
}

/** Adds a chat to the list of its group. @param {string} id @param {string} name @param {number} [place] in the list */
export async function listGroupChat(id, name, place = -1) {
    const group = groups.find((group) => String(group.id) === id);
    if (group && !group.chats?.includes(name)) {
        group.chats ??= [];
        group.chats.splice(place < 0 ? group.chats.length : place, 0, name);
        await editGroup(group.id, true, false);
    }
}

/** All characters and groups, as owners of chats. @returns {Array<Owner & {label: string}>} */
export function owners() {
    return [
        ...characters.map((character) => ({ group: null, avatar: character.avatar, label: character.name })),
        ...groups.map((group) => ({ group: String(group.id), avatar: null, label: group.name })),
    ];
}

/** The total size of all chats when SillyTavern last listed its characters and groups. */
export const bytesOfChats = () => [...characters, ...groups].reduce((sum, { chat_size: bytes }) => sum + (Number(bytes) || 0), 0);

function stem(/** @type {string | undefined} */ fileName) {
    return String(fileName ?? '').replace(/\.jsonl$/, '');
}

// Books

/**
 * Books with an edit that is not on the server yet. If a book is new in the page's cache, it is not always certain
 * whether it was read or written.
 * @type {Map<string, {isSure: boolean, at: number}>}
 */
const unsaved = new Map();
/** Texts that the page is about to put into its cache. @type {Map<string, string>} */
const reading = new Map();
/** In milliseconds: SillyTavern saves after one second, so a changed book is saved by then. */
const SAVED_WITHIN = 5000;
/** In milliseconds: a save that has not started by then never will, because another book's save has replaced it. */
const SAVE_COMES_WITHIN = 1500;

/**
 * Calls `before` and `after` around every change of a book in the page's cache, before it is saved.
 * @param {{before: () => void, after: (name: string) => void}} listener
 */
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
 * Reports every copy of a book that the page makes.
 * @param {object} listener
 * @param {(name: string, text: string) => void} listener.remember
 * @param {(name: string, book: ST.Book) => void} listener.cached
 * @param {(original: ST.Book | undefined, copy: ST.Book | undefined) => void} listener.copied
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
    // Books that were read before this was called.
    for (const [name, book] of worldInfoCache) {
        listener.remember(name, JSON.stringify(book));
        listener.cached(name, book);
    }
}

/** The page's own copy of a book, if its text is the one that was just saved. @param {string} name @param {string} text */
export function cachedBookWithText(name, text) {
    const book = cachedBook(name);
    return book && JSON.stringify(book) === text ? book : undefined;
}

/**
 * Replaces a book in the page's cache, unless it was edited in the meantime.
 * @param {string} name @param {string} before its text @param {string} after @returns {ST.Book | undefined} the new copy
 */
export function replaceCachedBook(name, before, after) {
    if (!cachedBookWithText(name, before)) {
        return undefined;
    }
    const book = /** @type {ST.Book} */ (JSON.parse(after));
    Map.prototype.set.call(worldInfoCache, name, book);
    return book;
}

/** The server has returned a book, and the page is about to receive it. @param {string} name @param {string} text */
export function bookWasRead(name, text) {
    reading.set(name, text);
}

/** The newest edit of a book that may not be on the server yet. @param {string} name */
export const newestEdit = (name) => unsaved.get(name);

/** @param {string} name @param {object | undefined} edit the newest one when the save was sent; there may have been others since */
export function bookWasSaved(name, edit) {
    if (unsaved.get(name) === edit) {
        unsaved.delete(name);
    }
}

/**
 * The page's own copy of a book, or `undefined` if it has not loaded it. Do not change it: it is the page's object,
 * because making a copy takes longer than reading through the book.
 * @param {string} name @returns {ST.Book | undefined}
 */
export function cachedBook(name) {
    return Map.prototype.get.call(worldInfoCache, name);
}

export function cachedBookText(/** @type {string} */ name) {
    const book = cachedBook(name);
    return book && JSON.stringify(book);
}

/** All books on the server, with their `extensions`. Only this list tells whether a book exists; reading one does not. */
export async function listBooks() {
    const list = await ask('/api/worldinfo/list', {});
    return list.map((book) => ({ name: book.file_id, extensions: book.extensions ?? {} }));
}

/** The names of all books on the server; for `listBooks` it would read every book. */
export async function bookNames() {
    return (await ask('/api/settings/get', {})).world_names;
}

/** The names of books when the page last listed them. */
export const knownBooks = () => [...(world_names ?? [])];

/**
 * The current content of a book: from the page's cache if it has an unsaved edit, otherwise from the server.
 * @param {string} name @returns {Promise<Uint8Array>} a missing book reads as an empty one, so look into `bookNames`, too
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

/** A book as it is on the server, whatever the page has. @param {string} name */
export async function bookOnServer(name) {
    return (await post('/api/worldinfo/get', { name })).text();
}

function isSaveComing(/** @type {string} */ name) {
    const edit = unsaved.get(name);
    return edit !== undefined && edit.isSure && Date.now() - edit.at < SAVE_COMES_WITHIN;
}

/** Waits for one of the page's own saves that is about to start, and would overwrite what we write. @param {string} name */
export async function untilSaved(name) {
    while (isSaveComing(name)) {
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

/** @param {string | Uint8Array<ArrayBuffer>} request as made by `requests.bookSave` */
export async function writeBook(request) {
    await post('/api/worldinfo/edit', request);
}

export async function deleteBook(/** @type {string} */ name) {
    await post('/api/worldinfo/delete', { name });
}

/** Makes SillyTavern read a book that it is about to use anyway. @param {string} name @returns {Promise<string | undefined>} what it read */
export async function loadBook(name) {
    worldInfoCache.delete(name);
    unsaved.delete(name);
    await loadWorldInfo(name);
    return cachedBookText(name);
}

/** Makes SillyTavern notice books that were written or removed without it. @param {...string} names */
export async function refreshBooks(...names) {
    for (const name of names) {
        worldInfoCache.delete(name);
        unsaved.delete(name);
    }
    await updateWorldInfoList();
}

/**
 * Makes SillyTavern's editor show the book in the page's cache, as soon as it is not in use, or at once.
 * @param {string} name @param {{atOnce?: boolean}} [options]
 */
export const refreshEditor = (name, options) => editor.refresh(name, () => isSaveComing(name), options);
export const { onShown: onBookInEditor, show: showInEditor, shownBook: bookInEditor } = editor;
/** @param {string} shown @param {string} name @param {() => boolean} isWanted */
export const switchEditor = (shown, name, isWanted) => editor.switchTo(shown, name, { isUnsaved: () => isSaveComing(shown), isWanted });

/** @param {string | undefined} book @param {BookReference['place']} place @param {{name?: string, avatar?: string}} [whose] @returns {BookReference[]} */
const reference = (book, place, { name = '', avatar } = {}) => (book ? [{ book: String(book), place, name, ...(avatar && { avatar }) }] : []);

/** The books that SillyTavern loads for the open chat besides the chat's own, those of its characters first. */
export function booksBesideChat() {
    const { members = [] } = groups.find((group) => String(group.id) === String(selected_group)) ?? {};
    const cast = selected_group ? characters.filter(({ avatar }) => members.includes(avatar)) : [characters[Number(this_chid)]].flatMap((one) => one ?? []);
    const found = [
        ...cast.flatMap((character) => reference(character.data?.extensions?.world, 'card', character)),
        ...cast.flatMap((character) => {
            const { extraBooks = [] } = world_info?.charLore?.find((lore) => lore.name === character.avatar.replace(/\.[^/.]+$/, '')) ?? {};
            return extraBooks.flatMap((book) => reference(book, 'character', character));
        }),
        ...reference(power_user.persona_description_lorebook, 'persona'),
        ...(selected_world_info ?? []).flatMap((book) => reference(book, 'global')),
    ];
    const isFirst = (/** @type {BookReference} */ { book }, /** @type {number} */ at) => found.findIndex((other) => other.book === book) === at;
    return found.filter((one, at) => world_names?.includes(one.book) && isFirst(one, at));
}

/**
 * Runs `listener` whenever SillyTavern has loaded the entries for a prompt, before it sorts them.
 * @param {(lore: ST.LoadedLore) => void} listener may change the lists; SillyTavern survives an error
 */
export function onLoreLoaded(listener) {
    eventSource.on(event_types.WORLDINFO_ENTRIES_LOADED, (lore) => listener(/** @type {ST.LoadedLore} */ (lore)));
}

/** Makes SillyTavern's buttons show whether the open chat has a lorebook. */
export function showWhetherBound() {
    document.querySelectorAll('.chat_lorebook_button').forEach((button) => button.classList.toggle('world_set', Boolean(boundBook(chat_metadata))));
}

/** Other places than chats that refer to books: settings, cards, personas. */
export function bookReferences() {
    const found = /** @type {BookReference[]} */ ([]);
    /** @param {string | undefined} book @param {BookReference['place']} place @param {string | undefined} name */
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

// Forklore's files on the server

/** @param {string} name @param {string} text @returns {Promise<string>} its path */
export async function writeFile(name, text) {
    const bytes = new TextEncoder().encode(text);
    let binary = '';
    for (let at = 0; at < bytes.length; at += 0x8000) {
        binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    }
    return (await ask('/api/files/upload', { name, data: btoa(binary) })).path;
}

export async function readFile(/** @type {string} */ path) {
    const answer = await untapped(path, { cache: 'no-cache' });
    if (!answer.ok) {
        throw new Error(`SillyTavern answered ${answer.status} to ${path}`);
    }
    return answer.text();
}

/** Those of these files that exist. @param {string[]} paths */
export async function existingFiles(paths) {
    const found = paths.length ? await ask('/api/files/verify', { urls: paths }) : {};
    return paths.filter((path) => found[path]);
}

/** The user's files that no chat refers to. SillyTavern's Clean-Up reads all chats for this report; nothing is deleted. */
export async function looseFiles() {
    const { token, report } = await ask('/api/data-maid/report', {});
    await post('/api/data-maid/finalize', { token });
    return report.files;
}

export async function deleteFile(/** @type {string} */ path) {
    await post('/api/files/delete', { path });
}

// Settings and events

/** @returns {Partial<Settings>} as they were saved */
export function settings() {
    return extension_settings[SETTINGS_KEY] ??= {};
}

export const saveSettings = () => saveSettingsDebounced();

/** Whether Memory Books is loaded. It copies the lorebook of a branch itself unless it finds that this was done. */
export const hasMemoryBooks = () => [...document.scripts].some(({ src }) => /\/third-party\/[^/]*memory-?books[^/]*\//i.test(src));

/**
 * Whether ST-Auto-Recap is installed and enabled, even if it is not loaded yet; its settings outlive it. Its own click handlers
 * would undo our fork.
 */
export function hasAutoRecap() {
    const isOn = (/** @type {string} */ name) => /^third-party\/.*auto-?(recap|summarize)/i.test(name) && !extension_settings.disabledExtensions.includes(name);
    return extensionNames.some(isOn) || Boolean(document.getElementById('auto_recap_memory_settings'));
}

/**
 * How many operations ST-Auto-Recap still has to run, according to its own queue: it writes them to the lorebook a
 * little later, or never if that fails. Zero if it is not running, or keeps its queue elsewhere; `null` if it is not installed.
 */
export async function recapOperations() {
    if (!hasAutoRecap()) {
        return null;
    }
    const queue = await queueOfRecap();
    try {
        return (queue?.getAllOperations() ?? []).filter(({ status }) => ['pending', 'in_progress', 'retrying'].includes(status)).length;
    } catch {
        // Not loaded, or not initialized yet.
        return 0;
    }
}

/** @typedef {{getAllOperations(): Array<{status: string}>}} RecapQueue */
let recapQueue = /** @type {Promise<RecapQueue | null> | null} */ (null);

/** The module instance that ST-Auto-Recap itself uses. Its script may be loaded after ours. */
function queueOfRecap() {
    const script = recapQueue ? null : [...document.scripts].find(({ src }) => /\/third-party\/[^/]*auto-?(recap|summarize)[^/]*\//i.test(src));
    if (script) {
        recapQueue = import(new URL('operationQueue.js', script.src).href).catch(() => null);
    }
    return recapQueue;
}

/**
 * Copies the settings that ST-Auto-Recap keeps by chat name: a renamed chat, or a child, would have none.
 * @param {string} parent @param {string} child
 */
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

export function on(/** @type {keyof ST.EventTypes} */ event, /** @type {() => void} */ listener) {
    const name = event_types[event];
    if (name) {
        eventSource.on(name, listener);
    }
}

export const emit = (/** @type {string} */ event, /** @type {unknown} */ value) => eventSource.emit(event, value);
