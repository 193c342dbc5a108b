/** The drawer in the extension settings. */
import { sayMessagesOf } from '../messages.js';
import { button, icon } from '../widgets/controls.js';
import { element, fill } from '../widgets/dom.js';
import { say } from '../words.js';
import { panelView } from './panel_view.js';
import { settingsForm } from './settings_form.js';
/** @import { Actions, Child, PanelView, Parts, Readiness } from '../types.js' */

/** @typedef {Actions & {showLore: () => unknown}} PanelActions */

const GUIDE = 'https://github.com/forklore/forklore/blob/main/docs/guide-page.md';

export function mountPanel(/** @type {Parts & {actions: PanelActions}} */ { app, screen, actions }) {
    const status = element('div', { class: 'forklore_status', role: 'status', 'aria-live': 'polite' });
    const buttons = element('div', { class: 'forklore_buttons' });
    let asked = 0;

    const show = (/** @type {Readiness | null} */ readiness) => {
        const view = panelView({
            readiness, waiting: app.pendingFork, checked: app.openFindings, sayDate: screen.sayDate, sayMessage: sayMessagesOf((message) => app.messageAt(message)),
        });
        showStatus(status, buttons, view, actions, readiness?.common?.[0]?.book);
        const isAlarm = view.tone === 'bad' || view.details.some(({ problem }) => problem);
        screen.markWandItems(['forklore_wand_timelines'], isAlarm ? say('wand.alarm') : '');
        panel.querySelector('.inline-drawer-header')?.classList.toggle('forklore_alarm', isAlarm);
    };
    const refresh = async () => {
        asked += 1;
        if (hasAutoRecap !== app.hasAutoRecap()) {
            hasAutoRecap = !hasAutoRecap;
            showSettings();
        }
        const question = asked;
        const readiness = await app.readiness().catch(() => null);
        // An older answer may arrive after a newer one.
        if (question === asked) {
            show(readiness);
        }
    };

    const common = element('div');
    const more = element('div');
    let hasAutoRecap = app.hasAutoRecap();
    const showSettings = () => {
        const form = settingsForm(app, refresh);
        fill(common, form.common);
        fill(more, form.more);
    };
    showSettings();
    const panel = drawer(status, buttons, tools(actions), common, inlineDrawer(say('group.more'), [more, removal(actions)]));
    show(null);
    screen.mountPanel(panel);
    app.on('changed', refresh);
    refresh();
    return { refresh };
}

/** The panel if the core could not be loaded. @param {Parts['screen']} screen @param {unknown} error */
export function mountFailure(screen, error) {
    const reason = error instanceof Error ? error.message : String(error);
    mountReason(screen, say('ready.error', { reason }));
}

/** The panel if Forklore does not run, with the reason. @param {Parts['screen']} screen @param {string} reason */
export function mountReason(screen, reason) {
    screen.mountPanel(drawer(element('div', { class: 'forklore_status', role: 'status', data: { tone: 'bad' } },
        icon('fa-circle-xmark'),
        element('div', { class: 'forklore_line' }, reason))));
}

/** @param {Child[]} content */
function drawer(...content) {
    return element('div', { id: 'forklore_settings', class: 'extension_container' },
        inlineDrawer(say('title'), element('div', { class: 'forklore_panel' }, content)));
}

/** A drawer like SillyTavern's own. @param {string} title @param {Child} content */
function inlineDrawer(title, content) {
    return element('div', { class: 'inline-drawer wide100p' },
        element('div', { class: 'inline-drawer-toggle inline-drawer-header' },
            element('b', {}, title),
            element('div', { class: 'inline-drawer-icon fa-solid fa-circle-chevron-down down', 'aria-label': title })),
        element('div', { class: 'inline-drawer-content' }, content));
}

function removal(/** @type {PanelActions} */ actions) {
    return element('div', { class: 'forklore_group forklore_removal' },
        element('div', { class: 'forklore_buttons' }, button(say('do.strip-all'), { icon: 'fa-eraser', run: () => actions.stripAll() })),
        element('small', {}, say('do.strip-all.hint')));
}

function tools(/** @type {PanelActions} */ actions) {
    const tool = (/** @type {string} */ name, /** @type {string} */ sign, /** @type {() => unknown} */ run) => button(say(`do.${name}`), { icon: sign, title: say(`do.${name}.hint`), run });
    return element('div', { class: 'forklore_group', role: 'group', 'aria-label': say('group.tools') },
        element('h4', {}, say('group.tools')),
        element('div', { class: 'forklore_buttons' },
            tool('timelines', 'fa-sitemap', () => actions.showTimelines()),
            tool('lore', 'fa-book-atlas', () => actions.showLore()),
            tool('compare', 'fa-code-compare', () => actions.chooseToCompare()),
            tool('verify-all', 'fa-list-check', () => actions.verifyAll()),
            tool('clean', 'fa-broom', () => actions.clean()),
            tool('trash', 'fa-trash-can', () => actions.showTrash()),
            tool('strip', 'fa-eraser', () => actions.strip()),
            tool('guide', 'fa-circle-question', () => globalThis.open(GUIDE, '_blank', 'noopener'))));
}

/** @param {HTMLElement} status @param {HTMLElement} buttons @param {PanelView} view @param {PanelActions} actions @param {string} [shared] the lorebook to copy */
function showStatus(status, buttons, view, actions, shared = '') {
    status.dataset.tone = view.tone;
    fill(status,
        icon(view.icon),
        element('div', {},
            element('div', { class: 'forklore_line' }, view.line),
            [view.origin, view.leftOut, view.note].filter(Boolean).map((text) => element('small', {}, text))));
    const run = {
        checkpoint: () => actions.checkpointAtEnd(),
        'when-ready': () => actions.checkpointAtEnd({ whenReady: true }),
        'stop-waiting': () => actions.stopWaiting(),
        split: () => actions.split(),
        repair: () => actions.repair(),
        copy: () => actions.giveCopy(shared),
        original: () => actions.useOriginal(),
    };
    fill(buttons,
        view.actions.map(({ id, text, hint, icon: sign, disabled }) =>
            button(text, { icon: sign, title: hint, disabled, run: run[id] })),
        view.details.length
            ? button(say('button.details'), { icon: 'fa-circle-info', run: () => actions.showFindings(view.details) })
            : null);
}
