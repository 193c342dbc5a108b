/**
 * The layout for narrow screens, where a tree that grows to the right would be too small to read: one timeline in each
 * row, with its forks below it and further to the right.
 */
import { countBelow, familyTree } from './layout.js';
/** @import { Density, FamilyNode, Layout, Link, Placed, Places, Size } from '../../types.js' */

/** The size of a timeline, its distance to the next, and the most characters of its name. @type {Record<Exclude<Density, 'dots'>, Size & {down: number, most: number}>} */
export const ROWS = {
    cards: { width: 310, height: 62, down: 8, most: 28 },
    names: { width: 290, height: 34, down: 5, most: 24 },
};
const INDENT = 22;
const PADDING = 10;
/** The sign of collapsed forks stands out on the right. */
const FOLD = 14;

/** A view that is narrower than this, in pixels. */
const NARROW = 560;

/** @param {Pick<Size, 'width'> | undefined} view before it has a size, it is not narrow */
export function isNarrow(view) {
    return Boolean(view?.width && view.width < NARROW);
}

/** @param {Placed[]} timelines of one family @param {{density: Exclude<Density, 'dots'>, folded?: Set<string>}} how @returns {Layout} */
export function outlineOf(timelines, { density, folded = new Set() }) {
    const { width, height, down } = ROWS[density];
    const places = /** @type {Places} */ (new Map());
    const links = /** @type {Link[]} */ ([]);
    const family = familyTree(timelines);
    const left = /** @type {FamilyNode[]} */ (family ? [family] : []);
    for (let node = left.pop(); node; node = left.pop()) {
        const [x, y] = [PADDING + node.depth * INDENT, PADDING + places.size * (height + down)];
        const isFolded = folded.has(node.id);
        places.set(node.id, { id: node.id, x, y, width, height, depth: node.depth, parent: node.parent, children: [], hidden: isFolded ? countBelow(node) : 0, isOnShelf: false });
        const parent = places.get(node.parent ?? '');
        if (parent) {
            parent.children.push(node.id);
            links.push({ from: parent.id, to: node.id, path: `M${parent.x + INDENT / 2},${parent.y + height}V${y + height / 2}H${x}` });
        }
        left.push(...(isFolded ? [] : [...node.below].reverse()));
    }
    const depth = Math.max(0, ...[...places.values()].map((place) => place.depth));
    return { places, links, shelves: [], width: 2 * PADDING + depth * INDENT + width + FOLD, height: 2 * PADDING + places.size * (height + down) - down };
}
