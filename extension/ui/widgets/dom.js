/** Builds elements. Text always stays text: nothing here can turn it into markup. */

/**
 * @param {string} tag
 * @param {object} [properties] `class`, `on` ({click: listener}), `data`, and attributes by name;
 *                              `true` sets an attribute, `false`, `null` and `undefined` omit it
 * @param {...(Node|string|null|undefined|Array)} children
 * @returns {HTMLElement}
 */
export function element(tag, properties = {}, ...children) {
    const result = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        set(result, name, value);
    }
    result.append(...nodes(children));
    return result;
}

/** Replaces all children. */
export function fill(parent, ...children) {
    parent.replaceChildren(...nodes(children));
    return parent;
}

function nodes(children) {
    return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

function set(target, name, value) {
    if (value === undefined || value === null) {
        return;
    }
    if (name === 'class') {
        target.className = value;
    } else if (name === 'on') {
        Object.entries(value).forEach(([event, listener]) => listener && target.addEventListener(event, listener));
    } else if (name === 'data') {
        Object.assign(target.dataset, value);
    } else if (name === 'value' || name === 'checked') {
        target[name] = value;
    } else if (value === true) {
        target.setAttribute(name, '');
    } else if (value !== false) {
        target.setAttribute(name, String(value));
    }
}

let lastId = 0;

/** An id that no other element has. */
export function freshId(name) {
    lastId += 1;
    return `forklore_${name}_${lastId}`;
}
