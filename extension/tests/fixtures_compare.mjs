/** A story with two endings: a main chat and two branches at its last message, each with its own book. */
import { App } from '../app.js';
import { realCore, Tavern } from './tavern.mjs';

export const entry = (uid, fields = {}) => ({ uid, key: [`k${uid}`], comment: `e${uid}`, content: `content of ${uid}`, displayIndex: uid, ...fields });

const book = () => ({ entries: Object.fromEntries([0, 1, 2, 3].map((uid) => [uid, entry(uid)])) });

/**
 * @param {{lore?: object, metadata?: object, change?: (host: object) => object}} [how] `change`: what the host does differently
 * @returns {Promise<{app: App, tavern: Tavern, entriesOf: (chat: string) => object, bookOf: (chat: string) => string, events: Array}>} `One` is open
 */
export async function twoEndings({ lore = book(), metadata = {}, change = () => ({}) } = {}) {
    const tavern = new Tavern({ book: lore, metadata });
    const events = [];
    const below = tavern.host();
    const host = {
        ...below,
        ...change(below),
        settings: () => ({}),
        saveSettings: () => {},
        emit: (name, value) => events.push([name, value]),
        beforeWritingOut: () => {},
        hasAutoRecap: () => false,
    };
    const app = new App({ host, core: await realCore() });
    const opened = async (name) => {
        const [{ chat_metadata: metadata }, ...messages] = structuredClone(tavern.chats.get(name));
        Object.assign(tavern.open, { name, metadata, messages });
        app.recorder.chatOpened();
        app.recorder.sync();
        await host.saveOpenChat();
    };
    await opened('Main');
    for (const name of ['One', 'Two']) {
        const held = tavern.childSave({ name, metadata: { integrity: `slug of ${name}` } });
        await app.childSaves.handle(held, await app.childSaves.read(held));
    }
    await opened('One');
    const bookOf = (chat) => tavern.chats.get(chat)[0].chat_metadata.world_info;
    return { app, tavern, host, events, opened, bookOf, entriesOf: (chat) => tavern.books.get(bookOf(chat)).entries };
}

/** Adds a message to the open chat and lets the journal record it. */
export async function goOn({ app, tavern, host }, mes) {
    tavern.open.messages.push({ mes, extra: {} });
    app.recorder.sync();
    await app.recorder.checkFile();
    await host.saveOpenChat();
}
