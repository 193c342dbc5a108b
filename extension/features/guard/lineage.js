// Tells the core which copies of books the page holds: in its cache, in the editor, in other extensions. The core knows
// them by number, and what each is based on.

/** @import { Core } from '../../types.js' */

export class Lineage {
    /** @param {Pick<Core, 'newGuard'>} core */
    constructor(core) {
        this.guard = core.newGuard();
        /** @type {WeakMap<ST.Book, number>} */
        this.numbers = new WeakMap();
        this.count = 0;
        this.dropped = new FinalizationRegistry((/** @type {number} */ number) => this.guard.release(number));
    }

    numberOf(/** @type {ST.Book} */ copy) {
        const known = this.numbers.get(copy);
        if (known !== undefined) {
            return known;
        }
        this.count += 1;
        this.numbers.set(copy, this.count);
        this.dropped.register(copy, this.count);
        return this.count;
    }

    /** A book was read from the server. @param {string} name @param {string} text */
    remember(name, text) {
        this.guard.remember(name, text);
    }

    /** A book was deleted. @param {string} name */
    forget(name) {
        this.guard.forget(name);
    }

    /** A copy was put into the page's cache: just read, or about to be saved. @param {string} name @param {ST.Book} copy */
    cached(name, copy) {
        if (copy && typeof copy === 'object') {
            this.guard.cached(name, this.numberOf(copy), this.guard.wasReadTwice(name) ? JSON.stringify(copy) : undefined);
        }
    }

    /** A copy was made from another one, including its edits so far. @param {ST.Book | undefined} original @param {ST.Book | undefined} copy */
    copied(original, copy) {
        const number = original && this.numbers.get(original);
        if (copy && number !== undefined) {
            this.guard.copied(number, this.numberOf(copy), this.guard.mayBeEdited(number) ? JSON.stringify(original) : undefined);
        }
    }

    /** Whether a copy was made from this content of the server, as far as that is known. @param {string} name @param {ST.Book} copy @param {string} text */
    isBasedOn(name, copy, text) {
        const number = this.numbers.get(copy);
        return number === undefined || this.guard.isBasedOn(name, number, text);
    }

    /**
     * A save is about to be sent.
     * @param {string} name @param {ST.Book | undefined} copy the copy that is saved, if known @param {string} text
     * @returns {number} the core's number for the save
     */
    begin(name, copy, text) {
        return this.guard.begin(name, copy && this.numberOf(copy), text);
    }

    /** A copy was replaced in the page's cache by the book as it is on the server. @param {string} name @param {ST.Book} copy @param {string} text */
    replaced(name, copy, text) {
        this.guard.replaced(name, this.numberOf(copy), text);
    }
}
