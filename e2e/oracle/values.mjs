// Contents of books and metadata, including odd values.

/** Keys of `chat_metadata` that SillyTavern itself writes and the oracle's stories change. */
export const METADATA_KEYS = ['variables', 'timedWorldInfo', 'note_prompt', 'note_depth', 'script_injects'];

/** The part of a chat's metadata that is compared, as text. */
export function metadataText(metadata) {
    return JSON.stringify(Object.fromEntries(METADATA_KEYS.map((key) => [key, metadata?.[key]])));
}

/** A JSON text as SillyTavern's page would write it. */
export function sameText(text) {
    return JSON.stringify(JSON.parse(text));
}

const ODD_KEYS = ['__proto__', 'constructor', 'toString', '01', '-1', '4294967295', '4294967294', '1763632438061', ' ', '\ud800', 'ключ'];
const ODD_TEXTS = ['\ud800', '\udfff\ud800', 'ünï', '"quoted"', '\\', '\u2028', '</script>', '', '\u0000', '😀'];

/** Sets a property, whatever its name: `object.__proto__ = …` would do something else. */
export function setMember(object, key, value) {
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
}

export class Values {
    /** @param {import('./random.mjs').Random} random */
    constructor(random) {
        this.random = random;
        this.count = 0;
    }

    /** A unique text. */
    text() {
        const { random } = this;
        this.count++;
        const tail = random.chance(0.15) ? random.pick(ODD_TEXTS) : '';
        return `text ${this.count}${tail}${random.chance(0.05) ? 'x'.repeat(random.below(200)) : ''}`;
    }

    value() {
        const { random } = this;
        return random.pick([
            () => random.below(10), () => -0, () => 1e21, () => 0.1, () => 1e-7, () => 12345678901234567890, () => null, () => true, () => [], () => ({}),
            () => [1, [this.text()]], () => this.text(), () => JSON.parse('{"__proto__":{"polluted":1}}'), () => ({ b: 1, a: 2, 1: 0, 0: 1 }),
        ])();
    }

    entry(uid) {
        const { random } = this;
        const entry = { uid, key: [this.text()], keysecondary: [], comment: this.text(), content: this.text(), constant: random.chance(0.3), order: random.below(200), position: random.below(5) };
        if (random.chance(0.2)) {
            entry.extensions = { of: this.value() };
        }
        if (random.chance(0.2)) {
            entry[`field ${random.below(3)}`] = this.value();
        }
        return entry;
    }

    book() {
        const { random } = this;
        const book = { entries: {} };
        for (let more = random.below(4); more > 0; more--) {
            const uid = random.below(12);
            book.entries[uid] = this.entry(uid);
        }
        if (random.chance(0.2)) {
            book.name = this.text();
        }
        if (random.chance(0.15)) {
            book.extensions = { other: this.value() };
        }
        return book;
    }

    /** Changes a book in place, and never back to an earlier state. */
    editBook(book) {
        const { random } = this;
        const entries = book.entries;
        const keys = Object.keys(entries);
        const key = keys.length ? random.pick(keys) : null;
        const done = key === null ? 'add' : random.weighted({ content: 5, add: 3, remove: 1, field: 1, odd: 0.5, own: 0.7, other: 0.3 });
        switch (done) {
            case 'content':
                entries[key] = { ...entries[key], content: this.text() };
                break;
            case 'remove':
                delete entries[key];
                break;
            case 'field':
                setMember(entries[key], random.chance(0.5) ? `field ${random.below(3)}` : 'order', [this.text(), this.value()]);
                break;
            case 'odd':
                setMember(entries, random.pick(ODD_KEYS), this.entry(random.below(9)));
                break;
            case 'own':
                setMember(book, random.pick(['name', 'extensions', '__proto__', 'description']), { told: this.text(), value: this.value() });
                break;
            case 'other': {
                const fresh = this.book();
                setMember(fresh.entries, '7', this.entry(7));
                Object.keys(book).forEach((member) => delete book[member]);
                Object.keys(fresh).forEach((member) => setMember(book, member, fresh[member]));
                break;
            }
            default: {
                const uid = random.below(14);
                entries[uid] = this.entry(uid);
            }
        }
    }

    /** Changes metadata in place, and never back to an earlier state. */
    editMetadata(metadata) {
        const { random } = this;
        switch (random.weighted({ variable: 6, object: 1, timed: 2, note: 1, inject: 1, odd: 0.5 })) {
            case 'object':
                metadata.variables = { gold: this.text(), list: this.value() };
                break;
            case 'timed':
                metadata.timedWorldInfo = { sticky: {}, cooldown: { [`${metadata.world_info ?? 'none'}.${random.below(4)}`]: { hash: this.count++, start: random.below(9), end: 9, protected: false } } };
                break;
            case 'note':
                metadata.note_prompt = this.text();
                break;
            case 'inject':
                metadata.script_injects = { scene: { value: this.text(), position: 1, depth: 4 } };
                break;
            case 'odd':
                metadata.variables = JSON.parse(`{"__proto__":${this.count++}, "e": 1e21}`);
                break;
            default:
                metadata.variables = { ...metadata.variables };
                setMember(metadata.variables, random.pick(['hp', 'gold', '10', 'place']), random.chance(0.5) ? this.text() : (this.count += 1));
        }
    }
}
