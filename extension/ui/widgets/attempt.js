/**
 * Wraps steps so that an error is shown and not thrown; the step then returns null.
 * @param {{failed: (error: unknown) => void}} toasts
 */
export function attempting(toasts) {
    /** @template {unknown[]} Given @template Result @param {(...given: Given) => Promise<Result>} step @returns {(...given: Given) => Promise<Result | null>} */
    return (step) => async (...given) => {
        try {
            return await step(...given);
        } catch (error) {
            toasts.failed(error);
            return null;
        }
    };
}
