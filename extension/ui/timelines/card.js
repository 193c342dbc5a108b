/** One timeline on the map. */
import { icon } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { say } from '../words.js';
import { signs } from './label.js';
/** @import { CardLook, Finding, Place, SayMessage, ShownTimeline } from '../types.js' */

export const KIND_ICONS = {
    main: 'fa-book-open',
    checkpoint: 'fa-flag',
    branch: 'fa-code-branch',
    fork: 'fa-code-fork',
    gone: 'fa-ghost',
};

/** What it is and where it was forked, in a few words. @param {ShownTimeline} timeline @param {SayMessage} [sayMessage] */
export function sayKind({ kind, message }, sayMessage = String) {
    return message === null || kind === 'main' || kind === 'gone' ? say(`timelines.kind.${kind}`) : say(`timelines.kind.${kind}.at`, { message: sayMessage(message) });
}

/** The same for a card, which has little room. @param {ShownTimeline} timeline */
function sayKindShort({ kind, message }) {
    return message === null || kind === 'main' || kind === 'gone' ? say(`timelines.kind.${kind}`) : say(`timelines.kind.${kind}.short`, { message });
}

/** Its state: has problems, has notes, is fine, or is not read yet. @param {Pick<ShownTimeline, 'findings' | 'isRead' | 'kind'>} timeline */
export function stateOf({ findings, isRead, kind }) {
    if (kind === 'gone') {
        return 'gone';
    }
    if (!isRead) {
        return 'unread';
    }
    // What a fork has from its root need not be said of each.
    const isNews = kind === 'main' ? () => true : (/** @type {Finding} */ { code }) => code !== 'leaves-out';
    return findings.some(({ problem }) => problem) ? 'problem' : findings.some(isNews) ? 'note' : 'well';
}

export function card(/** @type {ShownTimeline} */ timeline, /** @type {Place} */ place, /** @type {CardLook} */ how) {
    const { density, isSelected, isCurrent, isFolded, hasChildren } = how;
    const state = stateOf(timeline);
    const drawn = element('div', {
        class: 'forklore_card',
        role: 'treeitem',
        tabindex: isCurrent ? 0 : -1,
        title: timeline.name,
        'aria-label': label(timeline),
        'aria-level': place.depth + 1,
        'aria-posinset': how.position,
        'aria-setsize': how.siblings,
        'aria-selected': String(isSelected),
        'aria-checked': how.isTicked === null ? undefined : String(how.isTicked),
        'aria-expanded': hasChildren ? String(!isFolded) : undefined,
        'aria-current': timeline.isOpen ? 'location' : undefined,
        data: {
            id: timeline.id, kind: timeline.kind, state, density,
            ...(timeline.label.colour && { colour: timeline.label.colour }), ...(timeline.isOpen && { open: '' }), ...(how.isDimmed && { dimmed: '' }), ...(how.isFound && { found: '' }), ...(isFolded && { folded: '' }),
            ...(how.isTicked && { ticked: '' }), ...(timeline.label.archived && { archived: '' }),
        },
    }, density === 'dots' ? null : element('span', { class: 'forklore_card_inside' },
        element('span', { class: 'forklore_card_name' }, icon(timeline.isOpen ? 'fa-location-dot' : KIND_ICONS[timeline.kind]),
            element('bdi', {}, how.name), signs(timeline.label), density === 'cards' ? differs(timeline) : null, badge(state, timeline)),
        density === 'cards' ? [
            element('small', { class: 'forklore_card_kind' }, sayKindShort(timeline),
                timeline.isRead && timeline.kind !== 'gone' ? ` · ${say('timelines.messages', { count: timeline.messages })}` : ''),
            element('small', { class: 'forklore_card_preview' }, element('bdi', {}, previewOf(timeline))),
        ] : null), density === 'dots' || timeline.kind === 'gone' ? null : tick(),
    hasChildren && density !== 'dots' ? fold(place, how) : null);
    Object.assign(drawn.style, { left: `${place.x}px`, top: `${place.y}px`, width: `${place.width}px`, height: `${place.height}px` });
    return drawn;
}

/** Asterisks mark actions in a chat; they are not needed here. @param {string} text */
export function withoutStars(text) {
    return text.replace(/\*+/g, '');
}

function previewOf(/** @type {ShownTimeline} */ timeline) {
    if (timeline.kind === 'gone') {
        return say('timelines.gone');
    }
    return timeline.isRead ? withoutStars(timeline.preview) : say('timelines.unread');
}

/** How far its lore is from its parent's. @param {ShownTimeline} timeline */
function differs({ differs: count }) {
    return count ? element('small', { class: 'forklore_differs', title: say('timelines.differs', { count }) }, icon('fa-not-equal'), String(count)) : null;
}

/** @type {Record<string, string>} */
const BADGES = { problem: 'fa-circle-exclamation', note: 'fa-circle-info', unread: 'fa-ellipsis' };

function badge(/** @type {string} */ state, /** @type {ShownTimeline} */ { findings }) {
    const isShared = findings.some(({ code }) => code === 'book-shared');
    const sign = BADGES[state];
    return sign ? icon(isShared ? 'fa-link' : sign, `forklore_badge forklore_badge_${state}`) : null;
}

/** For the mouse; the keyboard has a key for it, and touch has a tool. */
function tick() {
    return element('span', { class: 'forklore_card_tick fa-solid fa-check', 'aria-hidden': 'true', title: say('timelines.tick') });
}

/** For the mouse and touch; the keyboard has a key for it. @param {Place} place @param {CardLook} how */
function fold(place, { isFolded, hidesProblem }) {
    return element('span', { class: `forklore_fold${hidesProblem ? ' forklore_fold_problem' : ''}`, 'aria-hidden': 'true', title: say(isFolded ? 'timelines.unfold' : 'timelines.fold') },
        isFolded ? `+${place.hidden}` : '−');
}

/** Everything in words, for screen readers. @param {ShownTimeline} timeline */
function label(timeline) {
    const problems = timeline.findings.filter(({ problem }) => problem).length;
    return [
        timeline.label.title,
        timeline.name,
        timeline.label.pin ? say('label.pinned') : '',
        timeline.label.archived ? say('label.archived') : '',
        sayKind(timeline),
        timeline.isOpen ? say('timelines.here') : '',
        timeline.isRead ? '' : say('timelines.unread'),
        problems ? say('timelines.problems', { count: problems }) : '',
        timeline.differs ? say('timelines.differs', { count: timeline.differs }) : '',
    ].filter(Boolean).join(say('list.separator'));
}
