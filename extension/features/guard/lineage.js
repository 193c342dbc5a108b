// What each copy of a book in the page is based on.
//
// The page holds several copies of a book: in its cache, in the editor, in other extensions. They are made at different
// times, some from one another, and each can be saved. What a save has changed can only be determined against the
// version of that very copy that is known to be on the server.

/** How many books to remember by name, for copies whose origin was not observed. */
const REMEMBERED = 30;

/**
 * The content of a copy at some point in time.
 * @typedef {object} Version
 * @property {string} key the book, as given by `core.bookKey`
 * @property {string} text
 * @property {Version | null} parent the version it was made from; not needed once it is saved
 * @property {boolean} isSaved whether its content has reached the server
 * @property {string} [earlier] the text that was read before this one, if it was read
 * @property {Record<string, string>} moved entries that have a different key on the server
 */

export class Lineage {
    /** @param {{bookKey: (name: string) => string}} core */
    constructor(core) {
        this.core = core;
        /** @type {WeakMap<object, Version>} */
        this.ofCopy = new WeakMap();
        /** Copies that may have been edited since their version. @type {WeakSet<object>} */
        this.edited = new WeakSet();
        /** @type {Map<string, Version>} by book, the most recently used last */
        this.newest = new Map();
    }

    /** A book was read from the server. */
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

    /** A copy was put into the page's cache: just read, or about to be saved. */
    cached(name, copy) {
        if (!copy || typeof copy !== 'object') {
            return;
        }
        const key = this.core.bookKey(name);
        if (this.ofCopy.get(copy)?.key !== key && this.newest.has(key)) {
            const newest = this.newest.get(key);
            // If the server was asked twice, the page may use the first answer after the second has arrived.
            const isEarlier = newest.earlier !== undefined && newest.earlier === JSON.stringify(copy);
            this.ofCopy.set(copy, isEarlier ? { ...newest, text: newest.earlier } : newest);
        }
        this.edited.add(copy);
    }

    /** A copy was made from another one, including its edits so far. */
    copied(original, copy) {
        if (!original || !copy || !this.ofCopy.has(original)) {
            return;
        }
        if (this.edited.delete(original)) {
            const parent = this.ofCopy.get(original);
            const text = JSON.stringify(original);
            if (text !== parent.text) {
                // From here on the two differ. Whichever is saved first, their common part is saved with it.
                this.ofCopy.set(original, { key: parent.key, text, parent, isSaved: false, moved: {} });
            }
        }
        this.ofCopy.set(copy, this.ofCopy.get(original));
    }

    /**
     * A save is sent.
     * @param {object | undefined} copy the copy that is saved, if known
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

    /** The nearest ancestor of a version that is on the server; `undefined` if the book never was. */
    baseOf(version) {
        let base = version.parent;
        while (base && !base.isSaved) {
            base = base.parent;
        }
        return base ?? undefined;
    }

    /** A version has reached the server, and with it everything it was made from. */
    saved(version, moved = {}) {
        for (let each = version; each && !each.isSaved;) {
            const { parent } = each;
            Object.assign(each, { isSaved: true, parent: null, moved: each === version ? moved : heldBy(each, moved) });
            each = parent;
        }
    }

    /** A copy was replaced in the page's cache by the book as it is on the server. */
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
