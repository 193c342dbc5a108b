/** The details of one timeline, and its actions. */
import { sayMessage } from '../messages.js';
import { box, button, exactnessIcon, icon, nameOf, wordList } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { REPAIRABLE, say, sayPart } from '../words.js';
import { KIND_ICONS, sayKind, withoutStars } from './card.js';
/** @import { Child, SayDate, ShownTimeline, Spoken, TimelineAction } from '../types.js' */

/** The actions for a timeline, with a reason for those that are not possible. @param {ShownTimeline} timeline @param {{count: number, canCompare: boolean}} how @returns {TimelineAction[]} */
export function actionsFor(timeline, { count, canCompare }) {
    if (timeline.kind === 'gone') {
        return [];
    }
    const isShared = timeline.findings.some(({ code }) => code === 'book-shared');
    const isMissing = timeline.findings.some(({ code }) => REPAIRABLE.includes(code));
    /** @type {TimelineAction[]} */
    const actions = [
        { id: 'open', icon: 'fa-arrow-up-right-from-square', reason: timeline.isOpen ? 'timelines.no.open' : undefined },
        { id: 'checkpoint', icon: 'fa-flag' },
        { id: 'branch', icon: 'fa-code-branch' },
        { id: 'lore', icon: 'fa-book-atlas' },
        { id: 'compare', icon: 'fa-code-compare', reason: count < 2 ? 'timelines.no.compare' : undefined },
        { id: 'split', icon: 'fa-link-slash' },
        { id: 'repair', icon: 'fa-screwdriver-wrench' },
        { id: 'label', icon: 'fa-pencil' },
        { id: timeline.label.archived ? 'unarchive' : 'archive', icon: 'fa-box-archive' },
        { id: 'delete', icon: 'fa-trash-can', reason: timeline.isOpen ? 'timelines.no.delete' : undefined },
    ];
    /** @type {Partial<Record<TimelineAction['id'], boolean>>} */
    const isOffered = { compare: canCompare, split: isShared, repair: isMissing };
    return actions.filter(({ id }) => isOffered[id] ?? true);
}

/** @param {ShownTimeline} timeline @param {{parentName: string | null, forkedAt: Spoken | null, actions: TimelineAction[], sayDate: SayDate, run: (id: TimelineAction['id']) => void}} how */
export function details(timeline, { parentName, forkedAt, actions, sayDate, run }) {
    const isHere = timeline.isOpen ? element('small', { class: 'forklore_tag forklore_here' }, say('timelines.here')) : null;
    return [
        element('h4', { class: 'forklore_details_name' }, icon(timeline.isOpen ? 'fa-location-dot' : KIND_ICONS[timeline.kind]), ' ', nameOf(timeline.label.title || timeline.name), isHere),
        timeline.label.title ? element('small', {}, nameOf(timeline.name)) : null,
        timeline.label.note ? element('p', { class: 'forklore_note' }, nameOf(timeline.label.note)) : null,
        timeline.kind === 'gone' ? element('p', { class: 'forklore_text' }, say('timelines.gone.hint')) : [
            problemsOf(timeline),
            facts(timeline, { parentName, forkedAt, sayDate }),
            element('div', { class: 'forklore_buttons', role: 'group', 'aria-label': say('timelines.actions') }, actions.map(({ id, icon: sign, reason }) =>
                button(say(`timelines.do.${id}`), {
                    icon: sign,
                    title: reason ? say(reason) : say(`timelines.do.${id}.hint`),
                    disabled: Boolean(reason),
                    run: () => run(id),
                }))),
        ],
    ];
}

function problemsOf(/** @type {ShownTimeline} */ { findings }) {
    const problems = findings.filter(({ problem }) => problem);
    const notes = findings.filter(({ problem }) => !problem);
    return [
        problems.length ? box('warning', wordList(problems)) : null,
        wordList(notes, 'forklore_small'),
    ];
}

/** @param {ShownTimeline} timeline @param {{parentName: string | null, forkedAt: Spoken | null, sayDate: SayDate}} how */
function facts(timeline, { parentName, forkedAt, sayDate }) {
    /** @type {Array<[string, Child] | null>} */
    const rows = [
        [say('timelines.fact.kind'), sayKind(timeline, (message) => sayMessage(message, forkedAt))],
        parentName ? [say('timelines.fact.parent'), nameOf(parentName)] : null,
        ...readFacts(timeline, sayDate),
    ];
    return element('dl', { class: 'forklore_facts' }, rows.map((row) =>
        row && [element('dt', {}, row[0]), element('dd', {}, row[1])]));
}

/** @param {ShownTimeline} timeline @param {SayDate} sayDate @returns {Array<[string, Child] | null>} */
function readFacts(timeline, sayDate) {
    if (!timeline.isRead) {
        return [[say('timelines.fact.state'), say('timelines.unread.hint')]];
    }
    const made = timeline.made ? Date.parse(timeline.made) : NaN;
    return [
        [say('timelines.fact.messages'), String(timeline.messages)],
        timeline.date ? [say('timelines.fact.last'), sayDate(timeline.date)] : null,
        Number.isNaN(made) ? null : [say('timelines.fact.made'), sayDate(made)],
        [say('timelines.fact.book'), timeline.book
            ? [nameOf(timeline.book), timeline.entries === null ? '' : element('div', {}, say('timelines.entries', { count: timeline.entries })), timeline.differs ? element('div', {}, say('timelines.differs', { count: timeline.differs })) : '']
            : say('timelines.no-book')],
        timeline.part ? [say('timelines.fact.exactness'), [exactnessIcon(timeline.part), ' ', say('timelines.known', { part: sayPart(timeline.part) })]] : null,
        timeline.preview ? [say('timelines.fact.preview'), element('bdi', { class: 'forklore_quoted' }, withoutStars(timeline.preview))] : null,
    ];
}
