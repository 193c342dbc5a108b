/** The timeline view: its entry points, and its actions. */
import { attempting } from '../widgets/attempt.js';
import { say } from '../words.js';
import { askLabel } from './label.js';
import { askDelete } from './questions.js';
import { severalActions } from './several.js';
import { TimelineView } from './view.js';
/** @import { Actions, Close, Label, Parts, SearchHit, ShownTimeline, TimelineViewParts, TimelineWatchForUi, Toasts } from '../types.js' */

/** @param {Parts & {toasts: Toasts, actions: Pick<Actions, 'fork' | 'split' | 'repair' | 'compare' | 'undo' | 'showTrash'>, showLore: (typed?: string) => unknown}} parts */
export function createTimelines({ app, screen, toasts, actions, showLore }) {
    const attempt = attempting(toasts);
    let isShown = false;
    /** The open view, and the watch that keeps it up to date. @type {{view: TimelineView, watch: TimelineWatchForUi} | null} */
    let shown = null;

    const show = attempt(async () => {
        if (isShown) {
            return;
        }
        isShown = true;
        performance.mark('forklore:timelines-asked');
        try {
            await screen.popup((close) => {
                const view = viewOf(() => close(null));
                const watch = app.timelines.watch({ show: (model) => view.show(model), note: (progress) => view.note(progress) });
                shown = { view, watch };
                watch.start().then(() => {
                    view.focus();
                    performance.mark('forklore:timelines-drawn');
                }, toasts.failed);
                return view.element;
            }, { look: 'forklore_full' });
        } finally {
            shown?.watch.stop();
            shown?.view.stop();
            app.search.forget();
            shown = null;
            isShown = false;
        }
    });
    const several = severalActions({ app, screen, toasts, attempt, actions, refresh: () => shown?.watch.refresh() });
    const viewOf = (/** @type {Close} */ close) => new TimelineView({
        close,
        refresh: () => {
            void shown?.watch.start({ all: true });
            shown?.view.searchAgain();
        },
        look: (family) => void shown?.watch.showFamily(family),
        sayDate: screen.sayDate,
        forkMessage: (timeline) => app.forkMessage(timeline),
        canCompare: Boolean(actions.compare),
        compare: (left, right) => actions.compare({ left, right }),
        several,
        run: (id, timeline) => handlers[id](timeline, close),
        search: app.search,
        openHit: (hit, timeline) => openHit(hit, timeline, close),
    });

    /** Actions on another timeline open it first. @param {string} name @param {Close} close */
    const ensureOpen = async (name, close) => {
        if (app.open()?.name !== name) {
            close();
            await app.timelines.open(name);
        }
    };
    const openHit = attempt(async (/** @type {SearchHit} */ hit, /** @type {ShownTimeline} */ { name }, /** @type {Close} */ close) => {
        if (hit.kind === 'entry') {
            await ensureOpen(name, close);
            await showLore(hit.name);
        } else {
            close();
            await app.timelines.open(name);
            await screen.showMessage(hit.place);
        }
    });
    const forkAs = (/** @type {'checkpoint' | 'branch'} */ kind) => attempt(async (/** @type {ShownTimeline} */ { name }, /** @type {Close} */ close) => {
        await ensureOpen(name, close);
        await actions.fork({ kind, message: (app.open()?.messages ?? 0) - 1 });
    });

    /** @type {Record<Parameters<TimelineViewParts['run']>[0], (timeline: ShownTimeline, close: Close) => unknown>} */
    const handlers = {
        open: attempt(async (/** @type {ShownTimeline} */ { name }, /** @type {Close} */ close) => {
            close();
            await app.timelines.open(name);
        }),
        checkpoint: forkAs('checkpoint'),
        branch: forkAs('branch'),
        lore: attempt(async (/** @type {ShownTimeline} */ { name }, /** @type {Close} */ close) => {
            await ensureOpen(name, close);
            await showLore();
        }),
        split: attempt(async (/** @type {ShownTimeline} */ { name }, /** @type {Close} */ close) => {
            await ensureOpen(name, close);
            await app.verifyOpen();
            await actions.split();
        }),
        repair: attempt(async (/** @type {ShownTimeline} */ { name }, /** @type {Close} */ close) => {
            await ensureOpen(name, close);
            await actions.repair();
        }),
        label: attempt(async (/** @type {ShownTimeline} */ timeline) => {
            const answer = await askLabel(screen, timeline);
            if (!answer) {
                return;
            }
            const { label, name } = answer;
            const to = name === null ? null : await app.timelines.rename(timeline.name, name);
            if (/** @type {(keyof Label)[]} */ (Object.keys(label)).some((key) => timeline.label[key] !== label[key])) {
                await app.labels.set(to ?? timeline.name, label);
            }
            await shown?.watch.refresh();
            if (to) {
                shown?.view.chosen(to);
            }
        }),
        archive: (timeline) => several.archive([timeline], [], () => {}),
        unarchive: (timeline) => several.unarchive([timeline], [], () => {}),
        delete: attempt(async (/** @type {ShownTimeline} */ { name, id, label: { title } }) => {
            const children = (shown?.view.model?.timelines ?? []).filter(({ parent }) => parent === id).map((child) => child.name);
            const answer = await askDelete(screen, { name, title, fate: await app.timelines.fateOf(name), children, days: app.settings.trashDays });
            if (answer) {
                await app.timelines.delete(name, { isForGood: answer === 'for-good' });
                await shown?.watch.refresh();
            }
        }),
    };

    /** Forks, splits, or another chat opened behind the view. @type {ReturnType<typeof setTimeout> | undefined} */
    let refreshTimer;
    const scheduleRefresh = () => {
        clearTimeout(refreshTimer);
        refreshTimer = shown ? setTimeout(() => shown?.watch.refresh(), 150) : undefined;
    };

    return {
        show,
        mount() {
            const item = { icon: 'fa-sitemap', text: say('timelines.wand'), run: show };
            screen.addWandItem({ id: 'forklore_wand_timelines', ...item });
            screen.addOption({ id: 'forklore_option_timelines', ...item, text: say('timelines.option') });
            app.on('changed', scheduleRefresh);
            app.on('timelines', scheduleRefresh);
        },
    };
}
