// SillyTavern's buttons, pressed for the user.

/**
 * Clicks an element at once, and waits until SillyTavern has done what it does then. If that fails, the error is
 * SillyTavern's own.
 * @param {Element} element @param {string} selector SillyTavern listens to what matches it @param {boolean} shiftKey
 * @returns {Promise<void>}
 */
export function press(element, selector, shiftKey) {
    /** @type {unknown} */
    let work;
    const note = (/** @type {{result?: unknown}} */ { result }) => {
        work = result;
    };
    // Only jQuery tells what its listeners have returned.
    const clicks = jQuery(document).on('click', selector, note);
    element.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, shiftKey }));
    clicks.off('click', selector, note);
    return new Promise((resolve) => void Promise.resolve(work).finally(() => resolve()));
}
