/**
 * Polls until `probe` gives something truthy, and returns that. What `probe` throws counts as "not yet",
 * and is told of when the time is over.
 *
 * @template T
 * @param {string} what is waited for, for the error
 * @param {() => T | Promise<T>} probe
 * @param {{ within?: number, every?: number }} [limits] in milliseconds
 * @returns {Promise<T>}
 */
export async function until(what, probe, { within = 15_000, every = 25 } = {}) {
    const deadline = Date.now() + within;
    for (;;) {
        let last;
        try {
            const found = await probe();
            if (found) {
                return found;
            }
            last = `the last answer was ${JSON.stringify(found)}`;
        } catch (error) {
            last = error instanceof Error ? error.message : String(error);
        }
        if (Date.now() > deadline) {
            throw new Error(`waited ${within} ms for ${what}; ${last}`);
        }
        await new Promise((resolve) => setTimeout(resolve, every));
    }
}
