// The real command on a data folder of the oracle's own.

import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { bookKey } from './ledger.mjs';
import { claim } from './product.mjs';
import { metadataText } from './values.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The command: `FORKLORE`, which must exist, or the one built here. `null` if there is none. */
export function commandPath() {
    const asked = process.env.FORKLORE;
    if (asked && !existsSync(asked)) {
        throw new Error(`there is no ${asked}`);
    }
    const places = [asked, join(ROOT, 'target/release/forklore'), join(ROOT, 'target/debug/forklore')];
    return places.find((place) => place && existsSync(place)) ?? null;
}

const ENVIRONMENT = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('FORKLORE') && !name.startsWith('SILLYTAVERN')));

export class Folder {
    constructor() {
        this.home = mkdtempSync(join(tmpdir(), 'forklore-oracle-'));
        this.data = join(this.home, 'data');
        this.user = join(this.data, 'default-user');
        ['chats/Ada', 'worlds', 'characters', 'groups', 'group chats'].forEach((folder) => mkdirSync(join(this.user, folder), { recursive: true }));
        writeFileSync(join(this.user, 'settings.json'), '{}');
    }

    remove() {
        rmSync(this.home, { recursive: true, force: true });
    }

    chatPath(name) {
        return join(this.user, 'chats/Ada', `${name}.jsonl`);
    }

    bookPath(name) {
        return join(this.user, 'worlds', `${name}.json`);
    }

    /** Writes a simulated server's files, with names that belong to this story. */
    write(server, { chat = 'Main', bookName = (name) => name } = {}) {
        // The command goes by the files' times: the books existed when the chat was saved.
        const there = new Set([...server.books.keys()].map((name) => `${bookName(name)}.json`));
        readdirSync(join(this.user, 'worlds')).filter((file) => !there.has(file)).forEach((file) => rmSync(join(this.user, 'worlds', file)));
        for (const [name, text] of server.books) {
            writeFileSync(this.bookPath(bookName(name)), bookText(text));
        }
        writeFileSync(this.chatPath(chat), chatText(server, bookName));
    }

    /** Runs the command. @returns {Promise<{code: number, answer: any, isDone: boolean, text: string}>} */
    run(...args) {
        return new Promise((resolve) => {
            execFile(commandPath(), ['--data', this.data, '--json', ...args], { env: ENVIRONMENT, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
                let answer = null;
                try {
                    answer = JSON.parse(stdout);
                } catch {
                    // The caller fails with `text` if there is no answer.
                }
                resolve({ code: error ? error.code ?? -1 : 0, answer, isDone: Boolean(answer) && !answer.error, text: `${stdout}\n${stderr}` });
            });
        });
    }

    /** Starts `forklore watch`, and resolves when it is watching. @returns {Promise<import('node:child_process').ChildProcess>} */
    async watch(...args) {
        const child = spawn(commandPath(), ['--data', this.data, 'watch', ...args], { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] });
        let said = '';
        await new Promise((resolve, reject) => {
            const hear = (data) => {
                said += data;
                if (/watching/i.test(said)) {
                    resolve();
                }
            };
            child.stdout.on('data', hear);
            child.stderr.on('data', hear);
            child.once('exit', (code) => reject(new Error(`watch ended with ${code}: ${said}`)));
        });
        child.said = () => said;
        return child;
    }

    /** All chats and books, byte for byte. @returns {Map<string, string>} */
    bytes() {
        const files = new Map();
        for (const folder of ['chats/Ada', 'worlds']) {
            for (const name of readdirSync(join(this.user, folder))) {
                files.set(`${folder}/${name}`, readFileSync(join(this.user, folder, name)).toString('latin1'));
            }
        }
        return files;
    }

    readBook(name) {
        return existsSync(this.bookPath(name)) ? JSON.parse(readFileSync(this.bookPath(name), 'utf8')) : undefined;
    }

    /** The texts of a chat's messages. */
    readLines(name) {
        return readFileSync(this.chatPath(name), 'utf8').split('\n').slice(1);
    }

    readHeader(name) {
        return JSON.parse(readFileSync(this.chatPath(name), 'utf8').split('\n')[0]).chat_metadata;
    }
}

/** Stops a watch and waits for it. */
export async function stop(child) {
    if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGINT');
        await ended;
    }
}

/** A chat's file in SillyTavern's format. */
export function chatText({ chat }, bookName = (name) => name) {
    const header = chat.header.startsWith('\ufeff') ? chat.header : JSON.stringify(bound(JSON.parse(chat.header), bookName));
    return [header, ...chat.lines.map(({ text }) => text)].join('\n');
}

function bound(header, bookName) {
    const { chat_metadata: metadata } = header;
    return metadata.world_info ? { ...header, chat_metadata: { ...metadata, world_info: bookName(metadata.world_info) } } : header;
}

/** A book's file in SillyTavern's format. */
export function bookText(text) {
    return JSON.stringify(JSON.parse(text), null, 4);
}

/** The claim in the output of `show --at` about the book. */
export function shownClaim({ answer }) {
    return claim(answer.known, bookKey(answer.book, answer.content ? JSON.stringify(answer.content) : undefined));
}

/** The claim in the output of `show --at` if there is no book; nothing if it was refused for another reason. */
export function noBookClaim({ answer }, m) {
    const words = /has no lorebook (?:(at message|today|as last seen)|as of message (\d+))/.exec(answer?.error?.message ?? '');
    if (!words) {
        return null;
    }
    const of = (kind, k = null) => ({ kind, k, source: null, content: bookKey(null, undefined) });
    return { 'at message': of('exact'), today: of('live'), 'as last seen': of('as of', m) }[words[1]] ?? of('as of', Number(words[2]));
}

/** The claim in a fork's files. The child's book has a mark, and running effects contain its name; nothing else may differ. */
export function forkedClaims(folder, { answer }) {
    const child = answer.child.slice(answer.child.indexOf('/') + 1);
    const metadata = folder.readHeader(child);
    const book = answer.book && folder.readBook(metadata.world_info);
    if (book?.extensions && typeof book.extensions === 'object') {
        delete book.extensions.forklore;
        if (Object.keys(book.extensions).length === 0) {
            delete book.extensions;
        }
    }
    return {
        child,
        book: answer.book ? claim(answer.book.known, bookKey(answer.book.from, JSON.stringify(book))) : { kind: 'none', k: null, source: null, content: '' },
        metadata: claim(answer.metadata_known, withoutTimed(metadataText(metadata))),
    };
}

/** Metadata without running effects, whose keys and digests depend on the book's name. */
export function withoutTimed(text) {
    const { timedWorldInfo, ...rest } = JSON.parse(text);
    return JSON.stringify({ ...rest, effects: Object.values(timedWorldInfo?.cooldown ?? {}).map(({ start, end }) => [start, end]) });
}
