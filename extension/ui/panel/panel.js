/** The drawer in the extension settings. */
import { button, icon } from '../widgets/controls.js';
import { element, fill } from '../widgets/dom.js';
import { say } from '../words.js';
import { panelView } from './panel_view.js';
import { settingsForm } from './settings_form.js';
/** @import { Actions, AppForUi, Child, Finding, PanelView, Parts, Readiness } from '../types.js' */

export function mountPanel(/** @type {Parts & {actions: Actions}} */ { app, screen, actions }) {
    const status = element('div', { class: 'forklore_status', role: 'status', 'aria-live': 'polite' });
    const buttons = element('div', { class: 'forklore_buttons' });
    let asked = 0;

    const show = (/** @type {Readiness | null} */ readiness) => showStatus(status, buttons, panelView({
        readiness, waiting: app.pendingFork, coreError: app.coreError, checked: app.openFindings, sayDate: screen.sayDate,
    }), actions, app.openFindings?.findings);
    const refresh = async () => {
        asked += 1;
        const question = asked;
        const readiness = app.coreError ? null : await app.readiness().catch(() => null);
        // An older answer may arrive after a newer one.
        if (question === asked) {
            show(readiness);
        }
    };

    show(null);
    screen.mountPanel(drawer({ status, buttons, app, actions, refresh }));
    app.on('changed', refresh);
    refresh();
    return { refresh };
}

/** @param {{status: HTMLElement, buttons: HTMLElement, app: AppForUi, actions: Actions, refresh: () => void}} parts */
function drawer({ status, buttons, app, actions, refresh }) {
    const { common, more } = settingsForm(app, refresh);
    return element('div', { id: 'forklore_settings', class: 'extension_container' },
        inlineDrawer(say('title'), element('div', { class: 'forklore_panel' },
            status,
            buttons,
            app.coreError ? null : [
                common,
                tools(actions),
                inlineDrawer(say('group.more'), more),
            ])));
}

/** A drawer like SillyTavern's own. @param {string} title @param {Child} content */
function inlineDrawer(title, content) {
    return element('div', { class: 'inline-drawer wide100p' },
        element('div', { class: 'inline-drawer-toggle inline-drawer-header' },
            element('b', {}, title),
            element('div', { class: 'inline-drawer-icon fa-solid fa-circle-chevron-down down', 'aria-label': title })),
        element('div', { class: 'inline-drawer-content' }, content));
}

function tools(/** @type {Actions} */ actions) {
    const tool = (/** @type {string} */ name, /** @type {string} */ sign, /** @type {() => unknown} */ run) => button(say(`do.${name}`), { icon: sign, title: say(`do.${name}.hint`), run });
    return element('div', { class: 'forklore_group', role: 'group', 'aria-label': say('group.tools') },
        element('h4', {}, say('group.tools')),
        element('div', { class: 'forklore_buttons' },
            tool('timelines', 'fa-sitemap', () => actions.showTimelines()),
            tool('verify-all', 'fa-list-check', () => actions.verifyAll()),
            tool('clean', 'fa-broom', () => actions.clean()),
            tool('strip', 'fa-eraser', () => actions.strip())));
}

/** @param {HTMLElement} status @param {HTMLElement} buttons @param {PanelView} view @param {Actions} actions @param {Finding[]} [findings] */
function showStatus(status, buttons, view, actions, findings = []) {
    status.dataset.tone = view.tone;
    fill(status,
        icon(view.icon),
        element('div', {},
            element('div', { class: 'forklore_line' }, view.line),
            [view.origin, view.note].filter(Boolean).map((text) => element('small', {}, text))));
    const run = {
        checkpoint: () => actions.checkpointAtEnd(),
        'when-ready': () => actions.checkpointAtEnd({ whenReady: true }),
        'stop-waiting': () => actions.stopWaiting(),
        split: () => actions.split(),
        repair: () => actions.repair(),
    };
    fill(buttons,
        view.actions.map(({ id, text, hint, icon: sign, disabled }) =>
            button(text, { icon: sign, title: hint, disabled, run: run[id] })),
        view.hasDetails
            ? button(say('button.details'), { icon: 'fa-circle-info', run: () => actions.showFindings(findings) })
            : null);
}
