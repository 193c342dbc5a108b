/**
 * The layout: the timelines of a family as a tree that grows to the right, at one of three densities.
 *
 * d3-hierarchy computes the tree. Many leaves (mostly checkpoints and folded timelines) would make an endless column,
 * so they are put on a shelf, several in a row.
 */
import hierarchy from '../../../vendor/d3-hierarchy/src/hierarchy/index.js';
import tree from '../../../vendor/d3-hierarchy/src/tree.js';
/** @import { Arranged, Density, FamilyNode, Layout, Link, Placed, Places, Point, Rectangle, Shelf, ShownTimeline, Size, TreeLayout, TreeNode, TreeRoot } from '../../types.js' */

const newTree = /** @type {() => TreeLayout} */ (tree);
const treeOf = /** @type {(root: Arranged) => TreeRoot} */ (hierarchy);

/** The size of a timeline, and its distance to the next. @type {Record<Density, Size & {across: number, down: number}>} */
export const DENSITIES = {
    cards: { width: 232, height: 90, across: 48, down: 14 },
    names: { width: 190, height: 30, across: 36, down: 6 },
    dots: { width: 14, height: 14, across: 22, down: 6 },
};

/** At least this many leaves are put on a shelf. */
export const SHELF_FROM = 9;
const SHELF_PADDING = 10;
/** A family with at least this many timelines is too large to show everything unfolded. */
export const FOLDED_FROM = 50;

/** @param {Placed[]} timelines of one family @param {{density: Density, folded?: Set<string>}} how @returns {Layout} */
export function layoutOf(timelines, { density, folded = new Set() }) {
    const size = DENSITIES[density];
    const family = familyTree(timelines);
    if (!family) {
        return { places: new Map(), links: [], shelves: [], width: 0, height: 0 };
    }
    const stride = { x: size.width + size.across, y: size.height + size.down };
    const shelfGap = (2 * SHELF_PADDING) / stride.y;
    const isShelf = (/** @type {TreeNode} */ node) => node.data.row !== undefined;
    const root = newTree()
        .nodeSize([stride.y, stride.x])
        .separation((one, other) => {
            const isWithin = isShelf(one) && isShelf(other) && one.data.shelf === other.data.shelf;
            return isWithin ? 1 : isShelf(one) || isShelf(other) ? 1 + shelfGap : one.parent === other.parent ? 1 : 1.25;
        })(treeOf(arranged(family, folded)));

    const places = /** @type {Places} */ (new Map());
    const spots = root.descendants();
    const top = Math.min(...spots.map((node) => node.x)) - SHELF_PADDING;
    for (const node of spots) {
        const { timeline } = node.data;
        if (timeline) {
            const x = node.depth * stride.x + SHELF_PADDING;
            places.set(timeline.id, {
                id: timeline.id, x, y: node.x - top, width: size.width, height: size.height, depth: timeline.depth,
                parent: timeline.parent, children: [], hidden: folded.has(timeline.id) ? countBelow(timeline) : 0, isOnShelf: isShelf(node),
            });
        }
    }
    places.forEach((place) => places.get(place.parent ?? '')?.children.push(place.id));
    const shelves = shelvesOf(places);
    return {
        places,
        shelves,
        links: linksOf(places, shelves),
        width: Math.max(...[...places.values()].map((place) => place.x + place.width)) + SHELF_PADDING,
        height: Math.max(...[...places.values()].map((place) => place.y + place.height)) + SHELF_PADDING,
    };
}

/** The family as nested objects, with children in the order of the story. @param {Placed[]} timelines */
export function familyTree(timelines) {
    /** @type {Map<string, FamilyNode>} */
    const nodes = new Map(timelines.map((timeline) => [timeline.id, { ...timeline, below: [], depth: 0 }]));
    const roots = /** @type {FamilyNode[]} */ ([]);
    for (const node of nodes.values()) {
        const parent = nodes.get(node.parent ?? '');
        if (parent) {
            parent.below.push(node);
        } else {
            node.parent = null;
            roots.push(node);
        }
    }
    const inOrder = (/** @type {FamilyNode} */ one, /** @type {FamilyNode} */ other) =>
        (one.message ?? Infinity) - (other.message ?? Infinity) || (one.date ?? 0) - (other.date ?? 0) || compare(one.name, other.name);
    const settle = [...roots];
    for (let node = settle.pop(); node; node = settle.pop()) {
        const depth = node.depth + 1;
        node.below.sort(inOrder);
        node.below.forEach((child) => { child.depth = depth; });
        settle.push(...node.below);
    }
    return roots[0] ?? null;
}

/** Sorts names with numbers numerically. @param {string} one @param {string} other */
function compare(one, other) {
    return one.localeCompare(other, undefined, { numeric: true });
}

/** @param {FamilyNode} node @returns {number} */
export function countBelow(node) {
    return node.below.reduce((sum, child) => sum + 1 + countBelow(child), 0);
}

/** A timeline with everything to the right of it. @param {FamilyNode} node @param {Set<string>} folded @returns {Arranged} */
function arranged(node, folded) {
    const below = folded.has(node.id) ? [] : node.below;
    const isLeaf = (/** @type {FamilyNode} */ child) => child.below.length === 0 || folded.has(child.id);
    const leaves = below.filter(isLeaf);
    const others = below.filter((child) => !isLeaf(child)).map((child) => arranged(child, folded));
    if (leaves.length < SHELF_FROM) {
        return { timeline: node, children: below.map((child) => arranged(child, folded)) };
    }
    return { timeline: node, children: [...shelfRows(node.id, leaves), ...others] };
}

/** The rows of a shelf, each as a chain to the right. Empty places are kept, so that nothing else is placed there. @param {string} shelf @param {FamilyNode[]} leaves */
function shelfRows(shelf, leaves) {
    const columns = Math.max(2, Math.min(6, Math.round(Math.sqrt(leaves.length / 6))));
    const rows = Math.ceil(leaves.length / columns);
    /** @param {number} row @param {number} column @returns {Arranged} */
    const chain = (row, column) => ({
        timeline: leaves[row * columns + column] ?? null, shelf, row, children: column + 1 < columns ? [chain(row, column + 1)] : [],
    });
    return [...Array(rows).keys()].map((row) => chain(row, 0));
}

/** @param {Places} places @returns {Shelf[]} */
function shelvesOf(places) {
    const byParent = /** @type {Map<string, Rectangle[]>} */ (new Map());
    for (const place of places.values()) {
        if (place.isOnShelf && place.parent !== null) {
            byParent.set(place.parent, [...(byParent.get(place.parent) ?? []), place]);
        }
    }
    return [...byParent].map(([of, on]) => {
        const x = Math.min(...on.map((place) => place.x)) - SHELF_PADDING;
        const y = Math.min(...on.map((place) => place.y)) - SHELF_PADDING;
        return {
            of, x, y,
            width: Math.max(...on.map((place) => place.x + place.width)) + SHELF_PADDING - x,
            height: Math.max(...on.map((place) => place.y + place.height)) + SHELF_PADDING - y,
        };
    });
}

function linksOf(/** @type {Places} */ places, /** @type {Shelf[]} */ shelves) {
    const links = /** @type {Link[]} */ ([]);
    for (const place of places.values()) {
        const parent = places.get(place.parent ?? '');
        if (parent && !place.isOnShelf) {
            links.push({ from: parent.id, to: place.id, path: curve(rightOf(parent), { x: place.x, y: place.y + place.height / 2 }) });
        }
    }
    for (const shelf of shelves) {
        const parent = places.get(shelf.of);
        if (parent) {
            links.push({ from: parent.id, to: '', path: curve(rightOf(parent), { x: shelf.x, y: shelf.y + shelf.height / 2 }) });
        }
    }
    return links;
}

function rightOf(/** @type {Rectangle} */ place) {
    return { x: place.x + place.width, y: place.y + place.height / 2 };
}

function curve(/** @type {Point} */ from, /** @type {Point} */ to) {
    const middle = (from.x + to.x) / 2;
    return `M${from.x},${from.y}C${middle},${from.y} ${middle},${to.y} ${to.x},${to.y}`;
}

/**
 * What is folded initially, to keep a large family readable: every fork of a fork, except on the path to the open chat.
 * @param {Array<Pick<ShownTimeline, 'id' | 'parent' | 'isOpen'>>} timelines of one family @returns {Set<string>}
 */
export function foldedAtFirst(timelines) {
    if (timelines.length < FOLDED_FROM) {
        return new Set();
    }
    const byId = new Map(timelines.map((timeline) => [timeline.id, timeline]));
    const parentOf = (/** @type {string | null | undefined} */ id) => byId.get(byId.get(id ?? '')?.parent ?? '');
    const shown = new Set();
    for (let at = timelines.find(({ isOpen }) => isOpen); at && !shown.has(at.id); at = parentOf(at.id)) {
        shown.add(at.id);
    }
    return new Set(timelines.flatMap(({ parent }) => parent ?? []).filter((id) => parentOf(id) && !shown.has(id)));
}

/** The scale at which everything fits, but not larger than 1. @param {Size} layout @param {Size} view */
export function fitting(layout, view, margin = 16) {
    return Math.min(1, (view.width - 2 * margin) / Math.max(1, layout.width), (view.height - 2 * margin) / Math.max(1, layout.height));
}
