// A tavern in memory, because the real one is slow: a server with chats and books, and a host on top of it.

import fs from 'node:fs';
import process from 'node:process';

import { loadCore } from '../core/core.js';
import { record } from './recorded_calls.mjs';

let loaded = null;

/** The real core, in Node. */
export function realCore() {
    loaded ??= load();
    return loaded;
}

async function load() {
    const core = await loadCore(fs.readFileSync(new URL('../core/pkg/forklore_bg.wasm', import.meta.url)));
    if (process.env.FORKLORE_CALLS) {
        record(core, process.env.FORKLORE_CALLS);
    }
    return core;
}

const bytes = (value) => new TextEncoder().encode(JSON.stringify(value));
const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/** One character with chats and books; one chat is open. */
export class Tavern {
    constructor({ name = 'Main', messages = 4, book = { entries: { 0: { uid: 0, comment: 'a', content: 'old' } } }, metadata = {} } = {}) {
        this.books = new Map();
        this.chats = new Map();
        this.files = new Map();
        /** The browser's storage. */
        this.stored = new Map();
        this.log = [];
        /** What stands at the end of every chat's file, and cannot be read. */
        this.torn = '';
        /** Names of calls that fail. */
        this.broken = new Set();
        if (book) {
            this.books.set('Lore', copy(book));
        }
        this.open = {
            group: null,
            avatar: 'Ada.png',
            name,
            messages: Array.from({ length: messages }, (_, index) => ({ mes: `m${index}`, extra: {} })),
            metadata: { integrity: 'slug of the parent', ...(book ? { world_info: 'Lore' } : {}), ...metadata },
        };
        this.chats.set(name, [{ chat_metadata: copy(this.open.metadata) }, ...copy(this.open.messages)]);
        this.references = [];
        /** What ST-Auto-Recap has not run yet; `null` if it is not installed. */
        this.recapOperations = 0;
        /** The books besides the chat's own. */
        this.beside = [];
        this.slugs = 0;
    }

    call(name, ...values) {
        this.log.push([name, ...values]);
        if (this.broken.has(name)) {
            throw new Error(`${name} is broken`);
        }
    }

    /** A host for the rest of Forklore. */
    host() {
        const tavern = this;
        return {
            openChat: () => tavern.open && {
                ...tavern.open,
                book: tavern.open.metadata.world_info || null,
                integrity: tavern.open.metadata.integrity ?? null,
            },
            newSlug: () => `${tavern.slugs += 1}`.padStart(8, '0'),
            kindOfFork: () => 'branch',
            hasMemoryBooks: () => false,
            isWriting: () => false,
            editedUpTo: () => null,
            copyRecapSettings: () => {},
            recapOperations: async () => tavern.recapOperations,
            chatNames: async () => [...tavern.chats.keys()],
            chatHeads: async (whose) => tavern.heads(whose),
            allChatHeads: async () => tavern.heads({ group: null, avatar: 'Ada.png' }),
            bytesOfChats: () => 0,
            owners: () => [{ group: null, avatar: 'Ada.png', label: 'Ada' }],
            readChat: async (whose, name) => copy(tavern.chats.get(name) ?? []),
            chatHeadsOf: async (whose, names) => {
                tavern.call('chatHeadsOf', names);
                return tavern.heads(whose).filter((head) => names.includes(head.name));
            },
            /** Written last, listed first. */
            newestHeads: async (count) => {
                tavern.call('newestHeads', count);
                return tavern.heads({ group: null, avatar: 'Ada.png' }).reverse().slice(0, count);
            },
            dateOf: (sent) => (sent ? Date.parse(sent) : null),
            openByName: async (name) => tavern.call('openByName', name),
            renameChat: async (whose, from, to) => {
                tavern.call('renameChat', from, to);
                tavern.chats = new Map([...tavern.chats].map(([name, lines]) => [name === from ? to : name, lines]));
                if (tavern.open?.name === from) {
                    tavern.open.name = to;
                }
            },
            deleteChat: async (whose, name) => {
                tavern.call('deleteChat', name);
                tavern.chats.delete(name);
            },
            timelineStore: {
                read: async (key) => copy(tavern.stored.get(key)) ?? null,
                write: async (key, value) => { tavern.stored.set(key, copy(value)); },
                clear: async () => tavern.stored.clear(),
            },
            writeChat: async (whose, name, lines) => {
                tavern.call('writeChat', name);
                tavern.chats.set(name, copy(lines));
            },
            bookNames: async () => [...tavern.books.keys()],
            listBooks: async () => [...tavern.books].map(([name, book]) => ({ name, extensions: book.extensions ?? {} })),
            knownBooks: () => [...tavern.books.keys()],
            cachedBook: (name) => tavern.books.get(name),
            cachedBookText: (name) => tavern.books.has(name) ? JSON.stringify(tavern.books.get(name)) : undefined,
            bookOnServer: async (name) => JSON.stringify(tavern.books.get(name) ?? { entries: {} }),
            saveChatSoon: () => {},
            readBook: async (name) => bytes(tavern.books.get(name) ?? { entries: {} }),
            writeBook: async (request) => {
                const { name, data } = JSON.parse(request);
                tavern.call('writeBook', name);
                tavern.books.set(name, tavern.broken.has('disk') ? { entries: {} } : data);
            },
            deleteBook: async (name) => {
                tavern.call('deleteBook', name);
                tavern.books.delete(name);
            },
            loadBook: async (name) => JSON.stringify(tavern.books.get(name) ?? { entries: {} }),
            newestEdit: () => undefined,
            refreshBooks: async () => {},
            untilSaved: async () => {},
            refreshEditor: () => {},
            bookInEditor: () => null,
            bookReferences: () => [...tavern.references],
            booksBesideChat: () => tavern.beside,
            showWhetherBound: () => {},
            saveSettings: () => tavern.call('saveSettings'),
            saveOpenChat: async () => {
                tavern.call('saveOpenChat');
                tavern.chats.set(tavern.open.name, [{ chat_metadata: copy(tavern.open.metadata) }, ...copy(tavern.open.messages)]);
            },
            writeFile: async (name, text) => {
                tavern.call('writeFile', name);
                tavern.files.set(`/user/files/${name}`, text);
                return `/user/files/${name}`;
            },
            readFile: async (path) => tavern.files.get(path),
            deleteFile: async (path) => tavern.files.delete(path),
            existingFiles: async (paths) => paths.filter((path) => tavern.files.has(path)),
            looseFiles: async () => [...tavern.files].map(([path, text]) => ({ name: path.slice('/user/files/'.length), size: text.length })),
            chatText: async (whose, name) => tavern.chatText(name),
            chatTextIfAny: async (whose, name) => (tavern.chats.has(name) ? tavern.chatText(name) : ''),
        };
    }

    chatText(name) {
        return [...this.chats.get(name).map((line) => JSON.stringify(line)), this.torn].filter(Boolean).join('\n');
    }

    heads(whose) {
        return [...this.chats].map(([name, [header, ...messages]]) =>
            ({ ...whose, name, messages: messages.length, metadata: copy(header.chat_metadata), preview: String(messages.at(-1)?.mes ?? ''), date: null }));
    }

    /** The request with which SillyTavern saves a child cut at message `last`, held like by the tap. */
    childSave({ name = 'Child', last = this.open.messages.length - 1, metadata = {}, accepted = true } = {}) {
        const header = { chat_metadata: { ...this.open.metadata, main_chat: this.open.name, integrity: 'slug of the child', ...metadata } };
        const chat = [header, ...this.open.messages.slice(0, last + 1)];
        const text = JSON.stringify({ ch_name: 'Ada', file_name: name, chat, avatar_url: 'Ada.png', force: false });
        const held = {
            path: '/api/chats/save',
            kind: 'chat-save',
            body: text,
            sent: null,
            text: async () => text,
            send: async (body = text) => {
                held.sent = JSON.parse(body);
                this.log.push(['save', name]);
                if (accepted) {
                    this.chats.set(name, held.sent.chat);
                }
                return { ok: accepted };
            },
        };
        return held;
    }
}
