/** Which part of the map is visible, and at what scale. Only calculations; the map does the drawing. */
import { DENSITIES, fitting } from './layout.js';
/** @import { Camera, Density, Point, Rectangle, Size } from '../../types.js' */
/** @typedef {{density: Density, scale: number}} Zoom */

/** From the most to the least detailed. @type {Density[]} */
const ORDER = ['cards', 'names', 'dots'];

/** The range of scales of each density, and the scale to start with when zooming in or out to it. */
const SCALES = {
    cards: { least: 0.6, most: 1.5, fromBelow: 0.8, fromAbove: 1 },
    names: { least: 0.54, most: 1.4, fromBelow: 0.8, fromAbove: 1 },
    dots: { least: 0.12, most: 1.6, fromBelow: 1, fromAbove: 1 },
};

/** Below these, texts are too small to read on a phone. @type {{density: Exclude<Density, 'dots'>, least: number}[]} */
const READABLE = [{ density: 'cards', least: 0.8 }, { density: 'names', least: 0.72 }];

/** The zoom factor of the buttons and keys. */
export const STEP = 1.25;

/** Zooms by changing the scale; where texts would become unreadable, it switches to a less detailed density instead. @param {Zoom} now @param {number} factor @returns {Zoom} */
export function zoomed({ density, scale }, factor) {
    const wanted = scale * factor;
    const { least, most } = SCALES[density];
    const at = ORDER.indexOf(density);
    const [below, above] = [ORDER[at + 1], ORDER[at - 1]];
    if (wanted < least && below) {
        return { density: below, scale: SCALES[below].fromAbove };
    }
    if (wanted > most && above) {
        return { density: above, scale: SCALES[above].fromBelow };
    }
    return { density, scale: Math.min(most, Math.max(least, wanted)) };
}

/** The most detailed density at which everything fits and is readable. @param {(density: Density) => Size} layoutAt @param {Size} view @returns {Zoom} */
export function fitted(layoutAt, view) {
    for (const density of ORDER) {
        const scale = fitting(layoutAt(density), view);
        if (scale >= SCALES[density].least || density === 'dots') {
            return { density, scale: Math.max(SCALES.dots.least, scale) };
        }
    }
    return { density: 'dots', scale: 1 };
}

/** The same for an outline; null if not everything fits. @param {(density: Exclude<Density, 'dots'>) => Size} layoutAt @param {Size} view @returns {Zoom | null} */
export function fittedInOutline(layoutAt, view) {
    const [found] = READABLE.map(({ density, least }) => ({ density, least, scale: fitting(layoutAt(density), view, 4) })).filter(({ scale, least }) => scale >= least);
    return found ? { density: found.density, scale: found.scale } : null;
}

/** A readable part of an outline, with a place of it in the middle unless it is near one of the ends. @param {Size} layout with names @param {Rectangle} place @param {Size} view @returns {Camera} */
export function partOfOutline(layout, place, view) {
    const scale = Math.min(1, Math.max(0.72, view.width / layout.width));
    const { x, y } = showingAt(scale, middleOf(place), { x: view.width / 2, y: view.height / 2 });
    const within = (/** @type {number} */ at, /** @type {number} */ size, /** @type {number} */ length) => (size * scale < length ? (length - size * scale) / 2 : Math.min(0, Math.max(length - size * scale, at)));
    return { x: within(x, layout.width, view.width), y: within(y, layout.height, view.height), scale };
}

/** A comfortable reading size at which a timeline and its neighbours are visible. @param {Size} view @returns {Zoom} */
export function closeUp(view) {
    const twoColumns = (/** @type {{width: number, across: number}} */ { width, across }) => 2 * width + across + 40;
    if (twoColumns(DENSITIES.cards) <= view.width) {
        return { density: 'cards', scale: 1 };
    }
    return { density: 'names', scale: Math.min(1, Math.max(0.72, view.width / twoColumns(DENSITIES.names))) };
}

/** Whether everything fits with cards. @param {Size} layout @param {Size} view */
export function fitsAsCards(layout, view) {
    return fitting(layout, view) >= SCALES.cards.least;
}

/** The camera that shows a point of the map at a point of the view. @param {number} scale @param {Point} onMap @param {Point} inView @returns {Camera} */
export function showingAt(scale, onMap, inView) {
    return { x: inView.x - onMap.x * scale, y: inView.y - onMap.y * scale, scale };
}

/** The point of the map at a point of the view. @param {Camera} camera @param {Point} inView @returns {Point} */
export function onMapAt({ x, y, scale }, inView) {
    return { x: (inView.x - x) / scale, y: (inView.y - y) / scale };
}

/** Moves the camera so that some part of the map stays in view. @param {Camera} camera @param {Size} layout @param {Size} view */
export function heldInView(camera, layout, view, margin = 60) {
    const hold = (/** @type {number} */ at, /** @type {number} */ size, /** @type {number} */ length) => Math.min(length - margin, Math.max(margin - size * camera.scale, at));
    return { ...camera, x: hold(camera.x, layout.width, view.width), y: hold(camera.y, layout.height, view.height) };
}

/** Moves the camera as little as possible to make a place fully visible. The status line is at the lower edge of the map. @param {Camera} camera @param {Rectangle} place @param {Size} view */
export function revealing(camera, place, view) {
    /** @param {number} at @param {number} from @param {number} size @param {number} length @param {number} margin */
    const move = (at, from, size, length, margin) => {
        const begin = at + from * camera.scale;
        const end = begin + size * camera.scale;
        if (end > length - margin) {
            return at - Math.min(end - (length - margin), begin - margin);
        }
        return begin < margin ? at + margin - begin : at;
    };
    return { ...camera, x: move(camera.x, place.x, place.width, view.width, 12), y: move(camera.y, place.y, place.height, view.height, 36) };
}

export function middleOf(/** @type {Rectangle} */ place) {
    return { x: place.x + place.width / 2, y: place.y + place.height / 2 };
}
