/**
 * Wraps steps so that an error is shown and not thrown; the step then returns null.
 * @param {{failed: (error: Error) => void}} toasts
 */
export function attempting(toasts) {
    return (step) => async (...given) => {
        try {
            return await step(...given);
        } catch (error) {
            toasts.failed(error);
            return null;
        }
    };
}
