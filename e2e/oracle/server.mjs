// SillyTavern's server: one chat file and some books. It keeps nothing in memory and watches nothing.

/** What it returns for a book that does not exist. */
const NO_BOOK = '{"entries":{}}';

/**
 * A line of a chat file. `token` is `null` if the line is not a message; `isSound` if it is known to be readable.
 * @typedef {{text: string, token: ?number, isSound?: boolean}} Line
 */

export class Server {
    constructor() {
        /** @type {?{header: string, lines: Line[]}} */
        this.chat = null;
        /** @type {Map<string, string>} compact JSON text by name */
        this.books = new Map();
        /** Called with each file that is written: `(kind, name)`. */
        this.wrote = () => {};
    }

    writeChat(header, lines) {
        this.chat = { header, lines };
        this.wrote('chat', 'chat');
    }

    writeBook(name, text) {
        this.books.set(name, text);
        this.wrote('book', name);
    }

    removeBook(name) {
        this.books.delete(name);
        this.wrote('book', name);
    }

    /** The answer to `/api/worldinfo/get`. */
    serve(name) {
        return this.books.get(name) ?? NO_BOOK;
    }

    /**
     * The answer to `/api/chats/get`, with the token of each message: unreadable lines are left out, and the first
     * remaining one is the header.
     */
    readChat() {
        const read = [{ text: this.chat.header, token: null }, ...this.chat.lines].flatMap(({ text, token }) => {
            try {
                const value = JSON.parse(text);
                return value ? [{ value, token }] : [];
            } catch {
                return [];
            }
        });
        const [header, ...messages] = read;
        return { metadata: header?.value.chat_metadata ?? {}, messages };
    }

    /** What a reader sees of the chat, without its texts. Kept until the file is written again. */
    readHeader() {
        if (this.seen?.chat !== this.chat) {
            const isSound = this.chat.lines.every((line) => line.isSound) && !this.chat.header.startsWith('\ufeff');
            const { metadata, messages } = isSound ? { metadata: JSON.parse(this.chat.header).chat_metadata, messages: this.chat.lines } : this.readChat();
            this.seen = { chat: this.chat, metadata, tokens: messages.map(({ token }) => token) };
        }
        return this.seen;
    }

    /** The tokens of the messages that a reader sees. */
    tokens() {
        return this.readHeader().tokens;
    }
}
