// Waits for a memory extension to finish its work.

const CHECK_EVERY = 1000;

export class QueueWait {
    /** @param {{isBusy: () => Promise<boolean>, seconds: () => number}} parts */
    constructor({ isBusy, seconds }) {
        this.isBusy = isBusy;
        this.seconds = seconds;
        /** @type {Set<{check: () => Promise<void>, end: (isReady: boolean) => void}>} */
        this.waiters = new Set();
    }

    /**
     * @param {{forEver?: boolean, isBusy?: () => Promise<boolean>}} [options]
     * @returns {Promise<boolean>} `true` when no work is left, `false` on timeout or after `cancel`
     */
    untilReady({ forEver = false, isBusy = this.isBusy } = {}) {
        return new Promise((resolve) => {
            const waiter = {
                check: async () => {
                    if (!(await isBusy().catch(() => true))) {
                        waiter.end(true);
                    }
                },
                end: (/** @type {boolean} */ isReady) => {
                    clearInterval(timer);
                    clearTimeout(limit);
                    this.waiters.delete(waiter);
                    resolve(isReady);
                },
            };
            const timer = setInterval(() => waiter.check(), CHECK_EVERY);
            const limit = forEver ? undefined : setTimeout(() => waiter.end(false), this.seconds() * 1000);
            this.waiters.add(waiter);
            waiter.check();
        });
    }

    /** Something was saved: it may have been the last operation. */
    recheck() {
        this.waiters.forEach((waiter) => waiter.check());
    }

    cancel() {
        [...this.waiters].forEach((waiter) => waiter.end(false));
    }
}
