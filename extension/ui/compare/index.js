/** Comparing and merging: the entry points, and the steps from the comparison to the result. */
import { attempting } from '../widgets/attempt.js';
import { element, fill } from '../widgets/dom.js';
import { say } from '../words.js';
import { previewElement } from './preview.js';
import { askTarget, askMoments } from './questions.js';
import { CompareView } from './view.js';
/** @import { Actions, MergePlan, MergeRequest, Moment, OwnActions, Parts, Settled, Toasts } from '../types.js' */

export function createCompare(/** @type {Parts & {toasts: Toasts, actions: OwnActions}} */ { app, screen, toasts, actions }) {
    const attempt = attempting(toasts);
    const moment = (/** @type {Moment | string} */ what) => typeof what === 'string' ? { chat: what, message: null } : what;

    const show = attempt(async (/** @type {Parameters<Actions['compare']>[0]} */ { left, right, model: known }) => {
        const asked = { left: moment(left), right: moment(right) };
        const model = known ?? await screen.during(app.compare(asked), say('compare.loading'));
        await screen.popup((close) => {
            const root = element('div', { class: 'forklore_steps' });
            const view = new CompareView({
                model,
                close: () => close(null),
                preview: (request) => steps.preview(request),
            });
            const steps = stepsIn(root, close, () => fill(root, view.element));
            fill(root, view.element);
            return root;
        }, { look: 'forklore_full' });
    });

    const bring = attempt(async (/** @type {MergeRequest} */ request) => {
        const plan = await screen.during(app.bringPlan(request), say('compare.loading'));
        await screen.popup((close) => {
            const root = element('div', { class: 'forklore_steps' });
            stepsIn(root, close, null).show(request, plan);
            return root;
        }, { look: 'forklore_full' });
    });

    /**
     * The steps inside one popup. Only the last button changes anything; closing the popup does nothing.
     * @param {HTMLElement} root @param {(value: null) => void} close @param {(() => void) | null} back
     */
    const stepsIn = (root, close, back) => {
        let isBusy = false;
        /** @template {unknown[]} Given @param {(...given: Given) => Promise<void>} step */
        const once = (step) => attempt(async (/** @type {Given} */ ...given) => {
            if (isBusy) {
                return;
            }
            isBusy = true;
            try {
                await step(...given);
            } finally {
                isBusy = false;
            }
        });
        const showPlan = (/** @type {MergeRequest} */ request, /** @type {MergePlan} */ plan, isStale = false) => {
            const shown = previewElement({ plan, isStale, back, close: () => close(null), apply: (settle) => apply(request, plan, settle) });
            fill(root, shown.body);
            shown.title.focus?.();
        };
        const apply = once(async (/** @type {MergeRequest} */ request, /** @type {MergePlan} */ seen, /** @type {Settled} */ settle) => {
            const done = await app.bring({ ...request, settle }, seen);
            if (done.isStale) {
                showPlan(request, done.plan, true);
                return;
            }
            close(null);
            toasts.brought(done, actions);
        });
        return {
            show: showPlan,
            preview: once(async (/** @type {MergeRequest} */ request) => showPlan(request, await screen.during(app.bringPlan(request), say('compare.loading')))),
        };
    };

    const choose = attempt(async (/** @type {{left?: Moment, right?: Moment}} */ first = {}) => {
        if (!app.open()) {
            toasts.notify('info', say('ready.no-chat'));
            return;
        }
        const chosen = await askMoments({ screen, messagesOf: (chat) => app.messagesOf(chat) }, await screen.during(app.timelineChoices(), say('compare.loading')), first);
        if (chosen) {
            await show(chosen);
        }
    });

    const bringEntry = attempt(async (/** @type {{message: number, uid: number, title: string}} */ { message, uid, title }) => {
        const from = { chat: app.open()?.name ?? '', message };
        const into = await askTarget({ screen }, await screen.during(app.timelineChoices(), say('compare.loading')), { title });
        if (into) {
            await bring({ from, into, uids: [uid] });
        }
    });

    return {
        show,
        bring,
        choose,
        bringEntry,
        mount() {
            screen.addWandItem({ id: 'forklore_wand_compare', icon: 'fa-code-compare', text: say('compare.wand'), run: () => choose() });
        },
    };
}
