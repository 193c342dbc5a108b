/** The timeline view: its entry points, and its actions. */
import { attempting } from '../widgets/attempt.js';
import { say } from '../words.js';
import { askDelete, askNewName } from './questions.js';
import { TimelineView } from './view.js';

/** @param {{app: object, screen: object, toasts: object, actions: object}} parts */
export function createTimelines({ app, screen, toasts, actions }) {
    const attempt = attempting(toasts);
    let isShown = false;

    const show = attempt(async () => {
        if (isShown) {
            return;
        }
        isShown = true;
        performance.mark('forklore:timelines-asked');
        let watch = null;
        try {
            await screen.popup((close) => {
                const view = viewOf(close, () => watch);
                watch = app.timelines.watch({ show: (model) => view.show(model), note: (progress) => view.note(progress) });
                watch.start().then(() => {
                    view.focus();
                    performance.mark('forklore:timelines-drawn');
                }, toasts.failed);
                shown = { view, watch };
                return view.element;
            }, { look: 'forklore_full' });
        } finally {
            watch?.stop();
            shown = null;
            isShown = false;
        }
    });
    /** The open view, and the watch that keeps it up to date. */
    let shown = null;

    const viewOf = (close, watchNow) => new TimelineView({
        close: () => close(null),
        refresh: () => void watchNow().start({ all: true }),
        look: (family) => void watchNow().showFamily(family),
        sayDate: screen.sayDate,
        canCompare: Boolean(actions.compare),
        compare: (left, right) => actions.compare({ left, right }),
        run: (id, timeline) => handlers[id](timeline, () => close(null)),
    });

    /** Actions on another timeline open it first. */
    const ensureOpen = async (name, close) => {
        if (app.open()?.name !== name) {
            close();
            await app.timelines.open(name);
        }
    };
    const forkAs = (kind) => attempt(async ({ name }, close) => {
        await ensureOpen(name, close);
        await actions.fork({ kind, message: app.open().messages - 1 });
    });

    const handlers = {
        open: attempt(async ({ name }, close) => {
            close();
            await app.timelines.open(name);
        }),
        checkpoint: forkAs('checkpoint'),
        branch: forkAs('branch'),
        split: attempt(async ({ name }, close) => {
            await ensureOpen(name, close);
            await app.verifyOpen();
            await actions.split();
        }),
        repair: attempt(async ({ name }, close) => {
            await ensureOpen(name, close);
            await actions.repair();
        }),
        rename: attempt(async ({ name }) => {
            const typed = await askNewName(screen, name);
            const to = typed === null ? null : await app.timelines.rename(name, typed);
            if (to) {
                await shown?.watch.refresh();
                shown?.view.chosen(to);
            }
        }),
        delete: attempt(async ({ name, id }) => {
            const children = shown.view.model.timelines.filter(({ parent }) => parent === id).map((child) => child.name);
            if (await askDelete(screen, { name, fate: await app.timelines.fateOf(name), children })) {
                await app.timelines.delete(name);
                await shown?.watch.refresh();
            }
        }),
    };

    /** Forks, splits, or another chat opened behind the view. */
    let refreshTimer = null;
    const scheduleRefresh = () => {
        clearTimeout(refreshTimer);
        refreshTimer = shown && setTimeout(() => shown?.watch.refresh(), 150);
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
