/** Builds elements. Text always stays text: nothing here can turn it into markup. */

/** @import { Child, Properties } from '../types.js' */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Properties<Tag>} [properties] @param {...Child} children
 */
export function element(tag, { class: look, on, data, ...attributes } = {}, ...children) {
    const result = document.createElement(tag);
    if (look) {
        result.className = look;
    }
    Object.assign(result.dataset, data);
    const listeners = /** @type {Record<string, EventListener | undefined>} */ (on ?? {});
    Object.entries(listeners).forEach(([event, listener]) => listener && result.addEventListener(event, listener));
    Object.entries(attributes).forEach(([name, value]) => set(result, name, value));
    result.append(...nodes(children));
    return result;
}

/** Replaces all children. @param {Element} parent @param {...Child} children */
export function fill(parent, ...children) {
    parent.replaceChildren(...nodes(children));
}

/** Gives a parent these children. Those that it has already stay where they are: moving one would take the focus from it. @param {Element} parent @param {Element[]} wanted */
export function keepOrder(parent, wanted) {
    const kept = new Set(wanted);
    [...parent.children].forEach((child) => kept.has(child) || child.remove());
    let next = parent.firstElementChild;
    for (const child of wanted) {
        if (child === next) {
            next = next.nextElementSibling;
        } else {
            parent.insertBefore(child, next);
        }
    }
}

/** @param {Child[]} children @returns {Array<Node | string>} */
function nodes(children) {
    return children.flatMap((child) => Array.isArray(child) ? nodes(child) : child === null || child === undefined || child === false ? [] : [child]);
}

function set(/** @type {HTMLElement} */ target, /** @type {string} */ name, /** @type {unknown} */ value) {
    if (value === undefined || value === null) {
        return;
    }
    if (name === 'value' || name === 'checked') {
        Object.assign(target, { [name]: value });
    } else if (value === true) {
        target.setAttribute(name, '');
    } else if (value !== false) {
        target.setAttribute(name, String(value));
    }
}

let lastId = 0;

/** An id that no other element has. @param {string} name */
export function freshId(name) {
    lastId += 1;
    return `forklore_${name}_${lastId}`;
}
