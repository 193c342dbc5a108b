// The layout of timelines.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fittedInOutline, partOfOutline } from '../ui/timelines/layout/camera.js';
import { neighbour } from '../ui/timelines/layout/keyboard.js';
import { DENSITIES, SHELF_FROM, fitting, layoutOf } from '../ui/timelines/layout/layout.js';
import { isNarrow, outlineOf } from '../ui/timelines/layout/outline.js';

/** Pseudorandom numbers, the same every time. */
function chanceFrom(seed) {
    let state = seed;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
}

/** A random family: sometimes like a comb, sometimes like a star. */
function family(count, chance) {
    const isStar = chance() < 0.4;
    return Array.from({ length: count }, (_, number) => ({
        id: `t${number}`,
        name: `Timeline ${number}`,
        parent: number === 0 ? null : isStar && chance() < 0.8 ? 't0' : `t${Math.floor(chance() * number)}`,
        message: chance() < 0.2 ? null : Math.floor(chance() * 100),
        date: Math.floor(chance() * 1000),
    }));
}

function overlap(one, other) {
    return one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;
}

test('no two timelines overlap, whatever the family looks like', () => {
    for (let seed = 1; seed <= 120; seed += 1) {
        const chance = chanceFrom(seed);
        const timelines = family(1 + Math.floor(chance() * 300), chance);
        const folded = new Set(timelines.filter(() => chance() < 0.05).map(({ id }) => id));
        const density = Object.keys(DENSITIES)[seed % 3];
        const { places, shelves, width, height } = layoutOf(timelines, { density, folded });
        const all = [...places.values()].sort((one, other) => one.y - other.y);
        for (const [at, place] of all.entries()) {
            assert.ok(place.x >= 0 && place.y >= 0 && place.x + place.width <= width && place.y + place.height <= height, `seed ${seed}: ${place.id} is outside`);
            for (let next = at + 1; next < all.length && all[next].y < place.y + place.height; next += 1) {
                assert.ok(!overlap(place, all[next]), `seed ${seed}: ${place.id} and ${all[next].id}`);
            }
            for (const shelf of shelves) {
                const isOn = place.isOnShelf && place.parent === shelf.of;
                assert.ok(isOn || !overlap(place, shelf), `seed ${seed}: ${place.id} on the shelf of ${shelf.of}`);
            }
        }
        const hidden = all.reduce((sum, place) => sum + place.hidden, 0);
        assert.equal(all.length + hidden, timelines.length, `seed ${seed}: every timeline is shown or counted`);
    }
});

test('children stand to the right of their parent, in the order of their messages', () => {
    const timelines = [
        { id: 'main', name: 'main', parent: null, message: null, date: 5 },
        { id: 'late', name: 'late', parent: 'main', message: 40, date: 1 },
        { id: 'early', name: 'early', parent: 'main', message: 4, date: 9 },
        { id: 'unknown', name: 'unknown', parent: 'main', message: null, date: 2 },
    ];
    const { places, links } = layoutOf(timelines, { density: 'cards' });
    const byHeight = ['early', 'late', 'unknown'].map((id) => places.get(id));
    assert.ok(byHeight.every((place) => place.x > places.get('main').x + places.get('main').width));
    assert.deepEqual([...byHeight].sort((one, other) => one.y - other.y), byHeight);
    assert.equal(links.length, 3);
});

test('many childless children stand on a shelf, and the whole of 200 fits a screen with its names', () => {
    const star = Array.from({ length: 200 }, (_, number) => ({ id: `t${number}`, name: `t${number}`, parent: number ? 't0' : null, message: number, date: number }));
    const { shelves, places } = layoutOf(star, { density: 'cards' });
    assert.deepEqual(shelves.map(({ of }) => of), ['t0']);
    assert.equal([...places.values()].filter(({ isOnShelf }) => isOnShelf).length, 199);
    assert.ok(fitting(layoutOf(star, { density: 'names' }), { width: 900, height: 700 }) > 0.4);
    const few = layoutOf(star.slice(0, SHELF_FROM), { density: 'cards' });
    assert.deepEqual(few.shelves, []);
});

test('what is folded away is counted', () => {
    const timelines = [
        { id: 'a', name: 'a', parent: null, message: null, date: 0 },
        { id: 'b', name: 'b', parent: 'a', message: 1, date: 0 },
        { id: 'c', name: 'c', parent: 'b', message: 1, date: 0 },
        { id: 'd', name: 'd', parent: 'c', message: 1, date: 0 },
    ];
    const { places } = layoutOf(timelines, { density: 'names', folded: new Set(['b']) });
    assert.deepEqual([...places.keys()], ['a', 'b']);
    assert.equal(places.get('b').hidden, 2);
});

test('an outline has a row for each, below and to the right of what it was forked from', () => {
    for (let seed = 1; seed < 40; seed += 1) {
        const timelines = Array.from({ length: seed }, (_, number) => ({ id: `t${number}`, name: `t${number}`, parent: number ? `t${(number * seed) % number}` : null, message: number % 5, date: number }));
        const { places, links, width, height } = outlineOf(timelines, { density: 'names' });
        assert.equal(places.size, seed);
        assert.equal(links.length, seed - 1);
        const rows = [...places.values()];
        assert.deepEqual(rows.map(({ y }) => y).toSorted((one, other) => one - other), rows.map(({ y }) => y), 'in the order of the screen');
        assert.equal(new Set(rows.map(({ y }) => y)).size, seed);
        for (const place of rows) {
            const parent = places.get(place.parent ?? '');
            assert.ok(!parent || (place.x > parent.x && place.y > parent.y && parent.children.includes(place.id)));
            assert.ok(place.x + place.width < width && place.y + place.height < height);
        }
    }
    const folded = outlineOf([{ id: 'a', name: 'a', parent: null }, { id: 'b', name: 'b', parent: 'a' }], { density: 'cards', folded: new Set(['a']) });
    assert.deepEqual([[...folded.places.keys()], folded.places.get('a').hidden], [['a'], 1]);
    assert.equal(outlineOf([], { density: 'cards' }).places.size, 0);
});

const PHONE = { width: 374, height: 608 };

test('a narrow view shows as much as can be read: cards, then names, then a part of them', () => {
    const star = (count) => Array.from({ length: count }, (_, number) => ({ id: `t${number}`, name: `t${number}`, parent: number ? 't0' : null, message: number, date: number }));
    const fit = (count) => fittedInOutline((density) => outlineOf(star(count), { density }), PHONE);
    assert.equal(fit(3).density, 'cards');
    assert.equal(fit(10).density, 'cards');
    assert.equal(fit(16).density, 'names');
    assert.equal(fit(40), null);
    assert.ok([3, 10, 16].every((count) => fit(count).scale >= 0.72));

    const layout = outlineOf(star(40), { density: 'names' });
    const at = (id) => {
        const { x, y, scale } = partOfOutline(layout, layout.places.get(id), PHONE);
        const top = layout.places.get(id).y * scale + y;
        assert.ok(top >= 0 && top + 34 * scale <= PHONE.height, `${id} is in sight`);
        assert.ok(scale >= 0.72 && x >= 0 && y <= 0 && y + layout.height * scale >= PHONE.height - 1, 'and there is no empty space at the ends');
    };
    ['t0', 't20', 't39'].forEach(at);
    assert.deepEqual([isNarrow(PHONE), isNarrow({ width: 900 }), isNarrow({ width: 0 }), isNarrow(undefined)], [true, false, false, false]);
});

test('in an outline, up and down go through all rows', () => {
    const { places } = outlineOf([{ id: 'a', name: 'a', parent: null }, { id: 'b', name: 'b', parent: 'a' }, { id: 'c', name: 'c', parent: 'b' }, { id: 'd', name: 'd', parent: 'a' }], { density: 'names' });
    const walk = ['a', 'b', 'c', 'd'];
    walk.forEach((id, at) => {
        assert.equal(neighbour(places, id, 'ArrowDown', true), walk[at + 1] ?? null);
        assert.equal(neighbour(places, id, 'ArrowUp', true), walk[at - 1] ?? null);
    });
    assert.equal(neighbour(places, 'c', 'ArrowLeft', true), 'b');
});
