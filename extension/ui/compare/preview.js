/** The preview of a merge: what will be done, step by step, and what the user has to decide first. */
import { shortNames } from '../names.js';
import { conflictSection, sectionView, settled } from '../widgets/conflict.js';
import { box, button, folded, heading, icon, nameOf, paragraph } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { say, sayFields } from '../words.js';
import { inline, marked } from './marks.js';
/** @import { MergePlan, MergeStep, Settled } from '../types.js' */

const SIGNS = { add: 'fa-plus', change: 'fa-pen', remove: 'fa-minus' };
const CLASSES = { add: 'added', change: 'changed', remove: 'removed' };

/** A plan as lines of text. @param {MergePlan} plan */
export function planView(plan) {
    const { into, from } = namesOf(plan);
    const steps = plan.steps.filter(({ internal }) => !internal);
    const titleOf = (/** @type {MergeStep} */ { key, title }) => String(title ?? '') || say('lore.untitled', { uid: key });
    return {
        lead: say('bring.lead', { chat: into, book: plan.into.book, from }),
        byHand: plan.isByHand ? say('bring.by-hand', { chat: from }) : '',
        steps: steps.map((step) => ({ ...step, title: titleOf(step), about: aboutStep(step) })),
        follows: plan.steps.length - steps.length,
        twins: plan.twins.map(({ title, key, to }) => say('bring.twins', { title, one: to, other: key })),
        kept: plan.kept.filter(({ field }) => !field).map(({ key }) => say('bring.kept', { title: say('lore.untitled', { uid: key }) })),
        names: { mine: say('bring.mine', { chat: into }), theirs: say('bring.mine', { chat: from }), hand: say('bring.hand', { chat: into }) },
        isNothing: steps.length === 0 && plan.conflicts.length === 0,
    };
}

/** How the two timelines are called. @param {MergePlan} plan */
function namesOf({ into, from }) {
    const short = shortNames([into.chat, from.chat]);
    return { into: short(into.chat), from: short(from.chat) };
}

function aboutStep(/** @type {MergeStep} */ { what, key, to, fields }) {
    switch (what) {
        case 'add': return key === to ? say('bring.add') : say('bring.add.moved', { key, to });
        case 'remove': return say('bring.remove');
        default: return say('bring.change', { fields: sayFields(fields) });
    }
}

/** @param {{plan: MergePlan, isStale?: boolean, back: (() => void) | null, apply: (settle: Settled) => unknown, close: () => void}} parts */
export function previewElement({ plan, isStale = false, back, apply, close }) {
    const view = planView(plan);
    const { into, from } = namesOf(plan);
    const conflicts = plan.conflicts.map((conflict) => conflictSection(
        sectionView(conflict, { ...view.names, what: (kind) => say(`bring.${kind}`, { into, from }) }),
        { taken: null, changed: () => show() }));
    const status = element('span', { class: 'forklore_chosen', role: 'status' });
    const go = button(say('bring.ok', { chat: into }), {
        icon: 'fa-check', class: 'forklore_go', run: () => apply(settled(conflicts.map(({ chosen }) => chosen()))),
    });
    const show = () => {
        const left = conflicts.filter(({ isSettled }) => !isSettled()).length;
        go.disabled = left > 0 || view.isNothing;
        status.textContent = left ? say('bring.left', { count: left }) : say('bring.undo');
    };
    show();
    const all = (/** @type {'ours' | 'theirs'} */ side) => () => conflicts.forEach(({ choose }) => choose(side));
    const title = heading(say('bring.title'));
    title.setAttribute('tabindex', '-1');
    const body = element('div', { class: 'forklore_compare_body forklore_plan' },
        isStale ? box('warning', say('bring.stale', { book: plan.into.book })) : null,
        paragraph(view.lead),
        view.byHand ? paragraph(icon('fa-hand-point-right'), ' ', view.byHand) : null,
        view.isNothing ? box('info', say('bring.nothing')) : null,
        conflicts.length ? [
            element('h4', {}, say('bring.conflicts', { count: conflicts.length })),
            conflicts.length > 1 ? element('div', { class: 'forklore_buttons' },
                button(say('bring.all', { side: view.names.mine }), { run: all('ours') }),
                button(say('bring.all', { side: view.names.theirs }), { run: all('theirs') })) : null,
            conflicts.map((conflict) => conflict.body),
        ] : null,
        view.steps.length ? [element('h4', {}, say('bring.steps', { count: view.steps.length })), stepList(view.steps, plan)] : null,
        notes(view));
    return {
        title,
        body: element('div', { class: 'forklore_dialog forklore_compare' },
            element('div', { class: 'forklore_bar' }, title,
                button('', { icon: 'fa-xmark', title: say('button.close'), label: say('button.close'), class: 'forklore_tool', run: close })),
            body,
            element('div', { class: 'forklore_footer' }, status, element('div', { class: 'forklore_buttons' },
                button(say(back ? 'bring.back' : 'button.cancel'), { icon: back ? 'fa-arrow-left' : undefined, run: back ?? close }),
                go))),
    };
}

function notes(/** @type {ReturnType<typeof planView>} */ { twins, kept, follows }) {
    const lines = [...twins, ...kept, ...(follows ? [say('bring.follows', { count: follows })] : [])];
    return lines.length ? [element('h4', {}, say('bring.notes')), element('ul', { class: 'forklore_words' }, lines.map((line) => element('li', {}, line)))] : null;
}

function stepList(/** @type {ReturnType<typeof planView>['steps']} */ steps, /** @type {MergePlan} */ plan) {
    return element('div', { class: 'forklore_rows' }, steps.map((step) => {
        const summary = element('span', { class: 'forklore_entry_title' },
            icon(SIGNS[step.what], `forklore_${CLASSES[step.what]}`), ' ', nameOf(step.title),
            element('small', { class: 'forklore_keys' }, step.about));
        return element('div', { class: 'forklore_row', data: { key: step.to, what: step.what } }, folded(summary, () => stepBody(step, plan), { open: steps.length === 1 && !plan.conflicts.length }));
    }));
}

function stepBody(/** @type {MergeStep} */ { what, before, after, fields }, /** @type {MergePlan} */ { words }) {
    if (what !== 'change') {
        const content = (after ?? before)?.content;
        return element('div', { class: 'forklore_content' }, content ? String(content) : say('lore.empty'));
    }
    return fields.map((name) => element('div', { class: 'forklore_field' },
        element('div', { class: 'forklore_field_name' }, sayFields([name])),
        element('div', { class: 'forklore_content' }, marked(inline(before?.[name], after?.[name], words)))));
}
