/** The key by which names are compared, as `equalsIgnoreCaseAndAccents` of SillyTavern does. @param {string} name */
export function folded(name) {
    return name.normalize('NFD').replace(/[\u0300-\u036f]/g, '').toLowerCase();
}
