/**
 * How long to wait for what has to come, in milliseconds. Only what never comes takes so long, so this is no bound: on a
 * machine that others use, things have taken fifty times longer than usual.
 */
export const PATIENCE = 120_000;

/**
 * Polls until `probe` returns something truthy, and returns that. An exception in `probe` counts as "not yet", and is
 * reported on timeout.
 *
 * @template T
 * @param {string} what it waits for, for the error message
 * @param {() => T | Promise<T>} probe
 * @param {{ within?: number, every?: number }} [limits] in milliseconds
 * @returns {Promise<T>}
 */
export async function until(what, probe, { within = PATIENCE, every = 25 } = {}) {
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
