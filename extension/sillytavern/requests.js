// The requests that SillyTavern's page sends to its server, understood from their path and body alone.

/** @import { LooseFile, Owner } from '../types.js' */
/** @typedef {'chat-save' | 'chat-delete' | 'chat-rename' | 'book-read' | 'book-save' | 'book-delete' | 'group-delete' | 'character-delete' | 'clean-up'} RequestKind */

/** Requests that read, write, rename, delete or list something that matters to timelines. @type {Record<string, RequestKind>} */
export const PATHS = {
    '/api/chats/save': 'chat-save',
    '/api/chats/group/save': 'chat-save',
    '/api/chats/delete': 'chat-delete',
    '/api/chats/group/delete': 'chat-delete',
    '/api/chats/rename': 'chat-rename',
    '/api/worldinfo/get': 'book-read',
    '/api/worldinfo/edit': 'book-save',
    '/api/worldinfo/delete': 'book-delete',
    '/api/groups/delete': 'group-delete',
    '/api/characters/delete': 'character-delete',
    '/api/data-maid/report': 'clean-up',
};

/** @param {string} path */
export function isGroupPath(path) {
    return path === '/api/chats/group/save' || path === '/api/chats/group/delete';
}

/**
 * The chat that a request saves, and whether it has neither messages nor metadata.
 * @param {string} path @param {string} text @param {string | null} group the open one: a request does not say of which group a chat is
 * @returns {{owner: Owner, name: string, isEmpty: boolean} | null}
 */
export function readChatSave(path, text, group) {
    const body = /** @type {{id?: string, file_name?: string, avatar_url?: string, chat?: ST.Line[]}} */ (JSON.parse(text));
    const isGroup = isGroupPath(path);
    if (!Array.isArray(body.chat) || (isGroup && !group)) {
        return null;
    }
    return {
        owner: isGroup ? { group, avatar: null } : { group: null, avatar: body.avatar_url ?? null },
        name: stemOf(isGroup ? body.id : body.file_name),
        isEmpty: body.chat.length <= 1 && Object.keys(body.chat[0]?.chat_metadata ?? {}).length === 0,
    };
}

/** The lines of the chat that a request saves. @param {string} text @returns {ST.Line[]} */
export function linesOfSave(text) {
    const { chat } = /** @type {{chat?: ST.Line[]}} */ (JSON.parse(text));
    return Array.isArray(chat) ? chat : [];
}

/** The request that writes a book with this text. @param {string} name @param {string} bookText */
export function bookSave(name, bookText) {
    return `{"name":${JSON.stringify(name)},"data":${bookText}}`;
}

/** The book in a request that writes one. @param {string} text @returns {{name: string, bookText: string}} */
export function readBookSave(text) {
    // In SillyTavern's own format, the book does not have to be parsed.
    const start = text.indexOf(',"data":');
    if (start > 0 && text.startsWith('{"name":"') && text.endsWith('}')) {
        try {
            const { name } = /** @type {{name: string}} */ (JSON.parse(`${text.slice(0, start)}}`));
            return { name, bookText: text.slice(start + ',"data":'.length, -1) };
        } catch {
            // The name contains that text.
        }
    }
    const { name, data } = /** @type {{name: string, data: ST.Book}} */ (JSON.parse(text));
    return { name: String(name), bookText: JSON.stringify(data) };
}

/** The book that a request reads or deletes. @param {string} text */
export function readBookName(text) {
    return String(/** @type {{name: string}} */ (JSON.parse(text)).name);
}

/** @param {unknown} file */
export const stemOf = (file) => String(file ?? '').replace(/\.jsonl$/, '');

/** @param {string} text */
export function readRename(text) {
    const body = /** @type {{is_group?: boolean, avatar_url: string, original_file: string, renamed_file: string}} */ (JSON.parse(text));
    return { isGroup: Boolean(body.is_group), avatar: body.avatar_url, from: stemOf(body.original_file), to: body.renamed_file };
}

/** The name that SillyTavern gave to a renamed chat. @param {Response} response */
export async function renamedFile(response) {
    return /** @type {{sanitizedFileName?: string}} */ (await response.clone().json()).sanitizedFileName;
}

/**
 * What a request deletes: a chat, or a character or group, which may leave its chats behind.
 * @param {RequestKind} kind @param {string} path @param {string} text
 * @returns {{owner: Owner, chat?: string, withChats: boolean}}
 */
export function readDeletion(kind, path, text) {
    const body = /** @type {{id?: string, chatfile?: string, avatar_url?: string, delete_chats?: boolean}} */ (JSON.parse(text));
    const character = { group: null, avatar: body.avatar_url ?? null };
    switch (kind) {
        case 'group-delete': return { owner: { group: String(body.id), avatar: null }, withChats: true };
        case 'character-delete': return { owner: character, withChats: Boolean(body.delete_chats) };
        default: return isGroupPath(path)
            ? { owner: { group: 'any', avatar: null }, chat: stemOf(body.id), withChats: false }
            : { owner: character, chat: stemOf(body.chatfile), withChats: false };
    }
}

/**
 * Takes files out of what SillyTavern's Clean-Up lists, and offers to delete one by one or all together.
 * @param {Response} response @param {(name: string) => boolean} isHidden
 * @returns {Promise<{response: Response, hidden: LooseFile[]}>}
 */
export async function withoutFiles(response, isHidden) {
    const found = /** @type {{report?: {files?: LooseFile[]}}} */ (await response.clone().json());
    const { files } = found.report ?? {};
    const hidden = Array.isArray(files) ? files.filter(({ name }) => isHidden(name)) : [];
    if (!files || !hidden.length) {
        return { response, hidden: [] };
    }
    const report = { ...found.report, files: files.filter((file) => !hidden.includes(file)) };
    const { status, statusText } = response;
    return { response: new Response(JSON.stringify({ ...found, report }), { status, statusText, headers: { 'Content-Type': 'application/json' } }), hidden };
}
