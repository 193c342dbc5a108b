/**
 * Wraps steps so that a failure is told and not thrown; the step then gives null.
 * @param {{failed: (error: Error) => void}} toasts
 */
export function attempting(toasts) {
    return step => async (...given) => {
        try {
            return await step(...given);
        } catch (error) {
            toasts.failed(error);
            return null;
        }
    };
}
