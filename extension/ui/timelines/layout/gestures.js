/** Drags, pinches and wheel events as movements of the map. */

/** @import { Point } from '../../types.js' */

/** In pixels: fingers tremble, so a smaller movement is a tap. */
const DRAGGED_FROM = 8;
/** A mouse wheel moves in steps of at least this size; a touchpad moves smoothly. */
const WHEEL_STEP = 50;

/**
 * @param {HTMLElement} view
 * @param {{pan: (x: number, y: number) => void, zoom: (factor: number, at: Point) => void, tap: (event: MouseEvent) => void}} moves
 */
export function listenTo(view, { pan, zoom, tap }) {
    const fingers = /** @type {Map<number, Point>} */ (new Map());
    let isDragging = false;
    let wasDragged = false;
    /** @type {Point} */
    let began = { x: 0, y: 0 };

    const inView = (/** @type {Point} */ { x, y }) => {
        const { left, top } = view.getBoundingClientRect();
        return { x: x - left, y: y - top };
    };
    const between = () => {
        const [one = began, other = began] = [...fingers.values()];
        return { distance: Math.hypot(one.x - other.x, one.y - other.y), middle: { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 } };
    };

    view.addEventListener('pointerdown', (event) => {
        if (event.pointerType === 'mouse' && event.button !== 0) {
            return;
        }
        fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
        if (fingers.size === 1) {
            began = { x: event.clientX, y: event.clientY };
            isDragging = false;
            wasDragged = false;
        } else {
            begin(event);
        }
    });

    const begin = (/** @type {PointerEvent} */ event) => {
        isDragging = true;
        wasDragged = true;
        // Not at the first touch: an element that captures the pointer immediately is never clicked.
        try {
            view.setPointerCapture(event.pointerId);
        } catch {
            // The pointer is gone already.
        }
    };

    view.addEventListener('pointermove', (event) => {
        const before = fingers.get(event.pointerId);
        if (!before) {
            return;
        }
        const now = { x: event.clientX, y: event.clientY };
        if (fingers.size === 2) {
            const old = between();
            fingers.set(event.pointerId, now);
            const { distance, middle } = between();
            pan(middle.x - old.middle.x, middle.y - old.middle.y);
            if (old.distance > 0) {
                zoom(distance / old.distance, inView(middle));
            }
            return;
        }
        if (!isDragging && Math.hypot(now.x - began.x, now.y - began.y) > DRAGGED_FROM) {
            begin(event);
        }
        fingers.set(event.pointerId, now);
        if (isDragging) {
            pan(now.x - before.x, now.y - before.y);
        }
    });

    const end = (/** @type {PointerEvent} */ event) => {
        fingers.delete(event.pointerId);
        isDragging = isDragging && fingers.size > 0;
    };
    view.addEventListener('pointerup', end);
    view.addEventListener('pointercancel', end);
    view.addEventListener('pointerleave', (event) => event.pointerType === 'mouse' && !isDragging && end(event));

    view.addEventListener('click', (event) => {
        if (!wasDragged || event.detail === 0) {
            tap(event);
        }
        wasDragged = false;
    });

    view.addEventListener('wheel', (event) => {
        event.preventDefault();
        const isWheel = event.deltaX === 0 && Math.abs(event.deltaY) >= WHEEL_STEP && !event.shiftKey;
        if (event.ctrlKey || event.metaKey || isWheel) {
            zoom(Math.exp(-event.deltaY / (isWheel ? 400 : 100)), inView({ x: event.clientX, y: event.clientY }));
        } else {
            pan(-(event.shiftKey ? event.deltaY : event.deltaX), event.shiftKey ? 0 : -event.deltaY);
        }
    }, { passive: false });
}
