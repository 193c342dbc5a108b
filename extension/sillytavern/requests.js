// The requests that SillyTavern's page sends to its server, understood from their path and body alone.

/** Requests that read, write, rename or delete something that matters to timelines. */
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
};

/** @param {string} path */
export function isGroupPath(path) {
    return path === '/api/chats/group/save' || path === '/api/chats/group/delete';
}

/**
 * Which chat a save is for, without parsing the chat, which may be a hundred megabytes long: SillyTavern puts the name
 * before it.
 * @param {string} path @param {string} text
 * @returns {{group: boolean, name: string, avatar: string | null}}
 */
export function saveTarget(path, text) {
    const group = isGroupPath(path);
    const before = text.slice(0, Math.max(0, text.indexOf('"chat":[')));
    let fields;
    try {
        fields = JSON.parse(`${before}"chat":[]}`);
    } catch {
        fields = JSON.parse(text);
    }
    if (typeof (group ? fields.id : fields.file_name) !== 'string') {
        fields = JSON.parse(text);
    }
    const name = String((group ? fields.id : fields.file_name) ?? '');
    return { group, name, avatar: fields.avatar_url ?? null };
}

/**
 * Which character a solo chat belongs to, if SillyTavern put that after the chat. Quotes inside messages are escaped.
 * @param {string} text
 */
export function avatarAtEnd(text) {
    const found = /"avatar_url":("(?:[^"\\]|\\.)*")/.exec(text.slice(-2000));
    return found ? JSON.parse(found[1]) : null;
}

/**
 * Everything in a save except for the messages.
 * @param {string} path @param {string} text
 */
export function readSave(path, text) {
    const body = JSON.parse(text);
    const chat = Array.isArray(body.chat) ? body.chat : [];
    const metadata = chat[0]?.chat_metadata;
    return {
        group: isGroupPath(path),
        name: String((isGroupPath(path) ? body.id : body.file_name) ?? ''),
        avatar: body.avatar_url ?? null,
        force: Boolean(body.force),
        metadata: metadata && typeof metadata === 'object' ? metadata : null,
        messages: Math.max(0, chat.length - 1),
    };
}

/**
 * Classifies a save of a chat other than the open one.
 *
 * - `child`: SillyTavern forks the open chat.
 * - `conversion`: the open chat is converted to a group chat, which would keep the book.
 * - `other`: an unrelated chat is saved.
 * @param {ReturnType<typeof readSave>} save
 * @param {{name: string, group: boolean, integrity?: string, book?: string}} open the open chat
 */
export function kindOfSave(save, open) {
    if (!save.metadata) {
        return 'other';
    }
    if (save.metadata.main_chat) {
        return 'child';
    }
    const takesTheBook = Boolean(open.book) && save.metadata.world_info === open.book;
    return save.group && !open.group && takesTheBook && save.metadata.integrity === open.integrity ? 'conversion' : 'other';
}

/**
 * The last resort when a fork fails: the same save, bound to no book rather than to the parent's.
 * @param {string} text
 * @param {string} slug the child's own
 */
export function withoutBook(text, slug) {
    const body = JSON.parse(text);
    const metadata = body.chat[0].chat_metadata;
    metadata.integrity = slug;
    delete metadata.world_info;
    // An inherited seal describes the parent, and ST-Auto-Recap writes to the book named in its own data.
    delete metadata.forklore;
    delete metadata.auto_lorebooks?.lorebookName;
    return JSON.stringify(body);
}

/** The request that writes a book with this text. */
export function bookSave(name, bookText) {
    return `{"name":${JSON.stringify(name)},"data":${bookText}}`;
}

/**
 * The book in a request that writes one.
 * @param {string} text
 * @returns {{name: string, bookText: string}}
 */
export function readBookSave(text) {
    // In SillyTavern's own format, the book does not have to be parsed.
    const start = text.indexOf(',"data":');
    if (start > 0 && text.startsWith('{"name":"') && text.endsWith('}')) {
        try {
            const { name } = JSON.parse(`${text.slice(0, start)}}`);
            return { name, bookText: text.slice(start + ',"data":'.length, -1) };
        } catch {
            // The name contains that text.
        }
    }
    const { name, data } = JSON.parse(text);
    return { name: String(name), bookText: JSON.stringify(data) };
}
