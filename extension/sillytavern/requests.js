// The requests that SillyTavern's page sends to its server, understood from their path and body alone.

/** @typedef {'chat-save' | 'chat-delete' | 'chat-rename' | 'book-read' | 'book-save' | 'book-delete' | 'group-delete' | 'character-delete'} RequestKind */

/** Requests that read, write, rename or delete something that matters to timelines. @type {Record<string, RequestKind>} */
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
