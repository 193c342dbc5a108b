// The book of a parent, read once for the question before a fork and for the save that follows at once.

/** @import { Core, Host } from '../../types.js' */

/** In milliseconds: for how long a book that was read for the question is good enough for the save. */
const FRESH = 1000;

/** SillyTavern's server fails on a book that it cannot parse. The core is given no bytes then, and says why there is no copy. @param {unknown} error */
export function unreadable(error) {
    if (error instanceof Error && 'status' in error && error.status === 500) {
        return new Uint8Array();
    }
    throw error;
}

export class ForkBooks {
    /** @param {{host: Pick<Host, 'bookNames' | 'readBook' | 'newestEdit'>, core: Core}} parts */
    constructor({ host, core }) {
        this.host = host;
        this.core = core;
        /** @type {ReturnType<ForkBooks['begin']> | null} */
        this.last = null;
    }

    /** The names of all books, and the bytes of this one if it exists. @param {string | null} name */
    async read(name) {
        const { last } = this;
        const isFresh = last && last.name === name && last.edit === this.host.newestEdit(name ?? '') && Date.now() - last.at < FRESH;
        const { names, bytes } = this.last = isFresh ? last : this.begin(name);
        const all = await names;
        return { names: all, book: this.isAmong(all, name) ? await bytes : undefined };
    }

    begin(/** @type {string | null} */ name) {
        const names = this.host.bookNames();
        /** @type {Promise<Uint8Array | undefined>} */
        const bytes = name ? this.host.readBook(name).catch(unreadable) : Promise.resolve(undefined);
        // Whoever awaits them handles the error, and the next fork tries again.
        names.catch(() => this.forget());
        bytes.catch(() => this.forget());
        return { name, names, bytes, edit: this.host.newestEdit(name ?? ''), at: Date.now() };
    }

    /** @param {string[]} names @param {string | null} name */
    isAmong(names, name) {
        return names.some((listed) => this.core.sameBook(listed, name));
    }

    /** A book was written: the next fork reads again. */
    forget() {
        this.last = null;
    }
}
