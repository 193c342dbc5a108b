// The open chat's lost book, and what another extension may have bound in its place.

/** @import { Finding, Host, OpenChat } from '../../types.js' */
/** @import { Repairs } from './repairs.js' */

export class LostBook {
    /** @param {{host: Pick<Host, 'openChat'>, repairs: Repairs, onError: (error: unknown) => void}} parts */
    constructor({ host, repairs, onError }) {
        this.host = host;
        this.repairs = repairs;
        this.onError = onError;
        /** The name of the lost book. @type {string | null} */
        this.name = null;
    }

    /** Another chat was opened, or the chat was closed. @param {OpenChat | null} open */
    chatOpened(open) {
        try {
            this.name = open && this.repairs.findLostBook(open);
        } catch (error) {
            this.name = null;
            this.onError(error);
        }
    }

    /** Whether an empty book was bound in place of the lost one, as other extensions do. @param {OpenChat | null} open */
    isReplaced(open) {
        return Boolean(open && this.name && open.book !== this.name && !this.repairs.hasLore(open.book));
    }

    /** The open chat as the journal should see it: if it were shown the replacement, it would forget the lost book. */
    asRecorded() {
        const open = this.host.openChat();
        return open && this.isReplaced(open) ? { ...open, book: this.name } : open;
    }

    /** The findings of the open chat, with the lost book added if it is not among them. @param {Finding[]} findings */
    async withFinding(findings) {
        if (!this.isReplaced(this.host.openChat()) || await this.repairs.bookBytes(this.name)) {
            return findings;
        }
        const word = { code: 'book-missing', values: { name: this.name } };
        return [{ ...word, problem: true }, ...findings.filter((found) => found.code !== word.code)];
    }
}
