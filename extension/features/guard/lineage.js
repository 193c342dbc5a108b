// What every copy of a book in the page is based on.
//
// The page holds a book more than once: in its memory, in the editor, in the hands of an extension. Each was taken at
// another time, one from another, and each can be saved. What a save changed can only be told from what the server is
// known to have of that very copy.

/** Books whose newest version is remembered by name, for copies that nobody saw being made. */
const REMEMBERED = 30;

/**
 * A book as a copy of it was at some time.
 * @typedef {object} Version
 * @property {string} key the book, as `core.bookKey` says it
 * @property {string} text
 * @property {Version | null} parent what it was made of; not needed any more once it is saved
 * @property {boolean} isSaved whether all that it holds has reached the server
 * @property {string} [earlier] what was read before, of a version that was read
 * @property {Record<string, string>} moved entries of it that have another key on the server
 */

export class Lineage {
    /** @param {{bookKey: (name: string) => string}} core */
    constructor(core) {
        this.core = core;
        /** @type {WeakMap<object, Version>} */
        this.ofCopy = new WeakMap();
        /** Copies that may hold more than their version does. @type {WeakSet<object>} */
        this.edited = new WeakSet();
        /** @type {Map<string, Version>} by book, the one used last at the end */
        this.newest = new Map();
    }

    /** A book as the server has it. */
    remember(name, text) {
        const key = this.core.bookKey(name);
        const { text: earlier } = this.newest.get(key) ?? {};
        this.setNewest({ key, text, parent: null, isSaved: true, moved: {}, ...(earlier !== text && { earlier }) });
    }

    forget(name) {
        this.newest.delete(this.core.bookKey(name));
    }

    setNewest(version) {
        this.newest.delete(version.key);
        this.newest.set(version.key, version);
        if (this.newest.size > REMEMBERED) {
            this.newest.delete(this.newest.keys().next().value);
        }
        return version;
    }

    /** A copy was put into the page's memory: one that was just read, or one that is about to be saved. */
    cached(name, copy) {
        if (!copy || typeof copy !== 'object') {
            return;
        }
        const key = this.core.bookKey(name);
        if (this.ofCopy.get(copy)?.key !== key && this.newest.has(key)) {
            const newest = this.newest.get(key);
            // Of two answers to the same question, the page may take the first one after the second has come.
            const isEarlier = newest.earlier !== undefined && newest.earlier === JSON.stringify(copy);
            this.ofCopy.set(copy, isEarlier ? { ...newest, text: newest.earlier } : newest);
        }
        this.edited.add(copy);
    }

    /** One copy was made of another, with whatever had been changed in that one. */
    copied(original, copy) {
        if (!original || !copy || !this.ofCopy.has(original)) {
            return;
        }
        if (this.edited.delete(original)) {
            const parent = this.ofCopy.get(original);
            const text = JSON.stringify(original);
            if (text !== parent.text) {
                // From here on the two go apart. Whichever is saved first, what they share is saved with it.
                this.ofCopy.set(original, { key: parent.key, text, parent, isSaved: false, moved: {} });
            }
        }
        this.ofCopy.set(copy, this.ofCopy.get(original));
    }

    /**
     * A save goes out.
     * @param {object | undefined} copy the one that is saved, where it is known
     * @returns {Version}
     */
    begin(name, copy, text) {
        const key = this.core.bookKey(name);
        const own = copy && this.ofCopy.get(copy);
        const parent = own?.key === key ? own : this.newest.get(key) ?? null;
        const version = this.setNewest({ key, text, parent, isSaved: false, moved: {} });
        if (copy) {
            this.ofCopy.set(copy, version);
            this.edited.delete(copy);
        }
        return version;
    }

    /** The nearest that a version descends from and the server has; `undefined` where it never had the book. */
    baseOf(version) {
        let base = version.parent;
        while (base && !base.isSaved) {
            base = base.parent;
        }
        return base ?? undefined;
    }

    /** A version has reached the server, and with it all that it was made of. */
    saved(version, moved = {}) {
        for (let each = version; each && !each.isSaved;) {
            const { parent } = each;
            Object.assign(each, { isSaved: true, parent: null, moved: each === version ? moved : heldBy(each, moved) });
            each = parent;
        }
    }

    /** A copy has taken the place of another in the page's memory, as the server has it. */
    replaced(name, copy, text) {
        this.remember(name, text);
        this.ofCopy.set(copy, this.newest.get(this.core.bookKey(name)));
    }
}

function heldBy({ text }, moved) {
    const keys = Object.keys(moved);
    const entries = keys.length ? JSON.parse(text).entries ?? {} : {};
    return Object.fromEntries(keys.filter((key) => Object.hasOwn(entries, key)).map((key) => [key, moved[key]]));
}
