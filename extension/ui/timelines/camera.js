/** What part of the map is seen, and how large. Plain values: whoever draws asks here where things lie. */
import { DENSITIES, fitting } from './layout.js';

/** From the fullest to the smallest. */
const ORDER = ['cards', 'names', 'dots'];

/** The scales at which a density is drawn, and the one at which it is taken up when zooming in or out. */
const SCALES = {
    cards: { least: 0.6, most: 1.5, fromBelow: 0.8, fromAbove: 1 },
    names: { least: 0.54, most: 1.4, fromBelow: 0.8, fromAbove: 1 },
    dots: { least: 0.12, most: 1.6, fromBelow: 1, fromAbove: 1 },
};

/** One step of the buttons and keys. */
export const STEP = 1.25;

/**
 * Zooming changes the scale until nothing could be read any more; then everything is drawn with less on it instead.
 * @param {{density: string, scale: number}} now
 */
export function zoomed({ density, scale }, factor) {
    const wanted = scale * factor;
    const { least, most } = SCALES[density];
    const at = ORDER.indexOf(density);
    if (wanted < least && ORDER[at + 1]) {
        return { density: ORDER[at + 1], scale: SCALES[ORDER[at + 1]].fromAbove };
    }
    if (wanted > most && ORDER[at - 1]) {
        return { density: ORDER[at - 1], scale: SCALES[ORDER[at - 1]].fromBelow };
    }
    return { density, scale: Math.min(most, Math.max(least, wanted)) };
}

/**
 * The fullest density at which all of it can be seen and read.
 * @param {(density: string) => {width: number, height: number}} layoutAt
 * @param {{width: number, height: number}} view
 */
export function fitted(layoutAt, view) {
    for (const density of ORDER) {
        const scale = fitting(layoutAt(density), view);
        if (scale >= SCALES[density].least || density === 'dots') {
            return { density, scale: Math.max(SCALES.dots.least, scale) };
        }
    }
    return { density: 'dots', scale: 1 };
}

/** As large as can be read with ease, and so that a timeline is seen together with those beside it. */
export function closeUp(view) {
    const twoColumns = ({ width, across }) => 2 * width + across + 40;
    if (twoColumns(DENSITIES.cards) <= view.width) {
        return { density: 'cards', scale: 1 };
    }
    return { density: 'names', scale: Math.min(1, Math.max(0.72, view.width / twoColumns(DENSITIES.names))) };
}

/** Whether all of it can be seen with cards. */
export function fitsAsCards(layout, view) {
    return fitting(layout, view) >= SCALES.cards.least;
}

/** The camera that shows a point of the map at a point of the view. */
export function showingAt(scale, onMap, inView) {
    return { x: inView.x - onMap.x * scale, y: inView.y - onMap.y * scale, scale };
}

/** Where a point of the view lies on the map. */
export function onMapAt({ x, y, scale }, inView) {
    return { x: (inView.x - x) / scale, y: (inView.y - y) / scale };
}

/** The camera moved so far that a part of the map stays in view. */
export function heldInView(camera, layout, view, margin = 60) {
    const hold = (at, size, length) => Math.min(length - margin, Math.max(margin - size * camera.scale, at));
    return { ...camera, x: hold(camera.x, layout.width, view.width), y: hold(camera.y, layout.height, view.height) };
}

/** The camera moved as little as possible so that a place is wholly seen. What is said about the map stands at its lower edge. */
export function revealing(camera, place, view) {
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

export function middleOf(place) {
    return { x: place.x + place.width / 2, y: place.y + place.height / 2 };
}
