// The book that the open chat has lost, and what another extension may have bound in its place.

export class LostBook {
    /** @param {{host: object, repairs: import('./repairs.js').Repairs, onError: (error: Error) => void}} parts */
    constructor({ host, repairs, onError }) {
        this.host = host;
        this.repairs = repairs;
        this.onError = onError;
        /** The name of the book that is lost. @type {string | null} */
        this.name = null;
    }

    /** Another chat was opened, or none. */
    chatOpened(open) {
        try {
            this.name = open && this.repairs.findLostBook(open);
        } catch (error) {
            this.name = null;
            this.onError(error);
        }
    }

    /** Whether something without any lore in it was bound in place of a book that is lost: another extension's help. */
    isReplaced(open) {
        return Boolean(open && this.name) && open.book !== this.name && !this.repairs.hasLore(open.book);
    }

    /** The open chat as its journal sees it, which would forget a lost book if it were shown what replaced it. */
    asRecorded() {
        const open = this.host.openChat();
        return this.isReplaced(open) ? { ...open, book: this.name } : open;
    }

    /** What was found in the open chat, with the loss where it is not among it. */
    async withFinding(findings) {
        if (!this.isReplaced(this.host.openChat()) || await this.repairs.bookBytes(this.name)) {
            return findings;
        }
        const word = { code: 'book-missing', values: { name: this.name } };
        return [{ ...word, problem: true }, ...findings.filter((found) => found.code !== word.code)];
    }
}
