// Forks that were decided on, until SillyTavern saves their children.

/**
 * @import { Decision } from '../../core/fork_calls.js'
 * @import { ForkReport, Owner } from '../../types.js'
 * @import { HeldChild } from './child_save.js'
 */

/** It gets its report when the child is saved. @typedef {{key?: string, decision: Decision, report: ForkReport | null}} DecidedFork */

export class PendingForks {
    constructor() {
        /** @type {DecidedFork[]} */
        this.forks = [];
    }

    /** @param {Owner & {name: string}} parent @param {number} message the child's last one @param {Decision} decision */
    begin(parent, message, decision) {
        /** @type {DecidedFork} */
        const fork = { key: keyOf(parent, parent.name, message), decision, report: null };
        this.forks.push(fork);
        return fork;
    }

    /**
     * The fork whose child is being saved. It is used once; others of the same message go by the settings.
     * @param {Pick<HeldChild, 'open' | 'parent' | 'messages'>} child @returns {DecidedFork}
     */
    take({ open, parent, messages }) {
        const key = keyOf(open, parent, messages - 1);
        const fork = this.forks.find((fork) => fork.key === key);
        this.end(fork);
        return fork ?? { decision: [], report: null };
    }

    end(/** @type {DecidedFork | undefined} */ fork) {
        this.forks = this.forks.filter((other) => other !== fork);
    }

    clear() {
        this.forks = [];
    }
}

/** @param {Owner} owner @param {string} name @param {number} message */
const keyOf = ({ group, avatar }, name, message) => JSON.stringify([group, avatar, name, message]);
