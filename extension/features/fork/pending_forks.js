// Forks that were decided on, until SillyTavern saves their children.

export class PendingForks {
    constructor() {
        this.forks = [];
    }

    /**
     * @param {object} chat the parent
     * @param {number} message the child's last one
     * @param {string[]} decision of the core
     * @returns {{report: object | null}} gets its report when the child is saved
     */
    begin(chat, message, decision) {
        const fork = { key: keyOf(chat, chat.name, message), decision, report: null };
        this.forks.push(fork);
        return fork;
    }

    /** The fork whose child is being saved. It is used once; others of the same message go by the settings. */
    take({ open, parent, messages }) {
        const key = keyOf(open, parent, messages - 1);
        const fork = this.forks.find((fork) => fork.key === key);
        this.end(fork);
        return fork ?? { decision: [], report: null };
    }

    end(fork) {
        this.forks = this.forks.filter((other) => other !== fork);
    }

    clear() {
        this.forks = [];
    }
}

const keyOf = ({ group, avatar }, name, message) => JSON.stringify([group, avatar, name, message]);
