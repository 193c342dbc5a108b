/** Which timeline a key moves to. */

/** @import { Place, Places } from '../../types.js' */

/** The timeline to go to, or null if there is none. @param {Places} places @param {string | null} from @param {string} key @param {boolean} [isList] whether each one has a row for itself @returns {string | null} */
export function neighbour(places, from, key, isList = false) {
    const here = places.get(from ?? '');
    if (!here) {
        return places.keys().next().value ?? null;
    }
    switch (key) {
        case 'ArrowLeft': return here.isOnShelf ? besideOnShelf(places, here, -1) ?? here.parent : here.parent;
        case 'ArrowRight': return (here.isOnShelf ? besideOnShelf(places, here, 1) : null) ?? nearestChild(places, here);
        case 'ArrowUp': return inColumn(places, here, -1, isList);
        case 'ArrowDown': return inColumn(places, here, 1, isList);
        case 'Home': return rootOf(places, here).id;
        case 'End': return lastBelow(places, rootOf(places, here)).id;
        default: return null;
    }
}

/** On a shelf, left and right move to the neighbours. @param {Places} places @param {Place} here @param {number} step */
function besideOnShelf(places, here, step) {
    const row = [...places.values()].filter((place) => place.isOnShelf && place.parent === here.parent && place.y === here.y)
        .sort((one, other) => one.x - other.x);
    return row[row.indexOf(here) + step]?.id ?? null;
}

/** The child at about the same height, so that the eye does not have to jump. @param {Places} places @param {Place} here */
function nearestChild(places, here) {
    const children = here.children.flatMap((id) => places.get(id) ?? []);
    const first = Math.min(...children.map((child) => child.x));
    return children.filter((child) => child.x === first).sort((one, other) => Math.abs(one.y - here.y) - Math.abs(other.y - here.y))[0]?.id ?? null;
}

/** The next one above or below in the same column. @param {Places} places @param {Place} here @param {number} step @param {boolean} isList */
function inColumn(places, here, step, isList) {
    const column = [...places.values()].filter((place) => isList || place.x === here.x).sort((one, other) => one.y - other.y);
    return column[column.indexOf(here) + step]?.id ?? null;
}

/** @param {Places} places @param {Place} here @returns {Place} */
function rootOf(places, here) {
    const parent = places.get(here.parent ?? '');
    return parent ? rootOf(places, parent) : here;
}

function lastBelow(/** @type {Places} */ places, /** @type {Place} */ from) {
    const all = [...places.values()].filter((place) => rootOf(places, place) === from);
    return all.sort((one, other) => one.y - other.y || one.x - other.x).at(-1) ?? from;
}
