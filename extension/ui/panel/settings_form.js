/** The settings as controls, each with an explanation as tooltip. */
import { element, freshId } from '../widgets/dom.js';
import { say } from '../words.js';
import { isInUse, MORE_SETTINGS, SETTING_GROUPS, settingValue } from './panel_view.js';
/** @import { AppForUi, Setting, Settings } from '../types.js' */

/** The common settings, and the rest. @param {Pick<AppForUi, 'settings' | 'saveSettings' | 'hasAutoRecap'>} app @param {() => void} whenChanged */
export function settingsForm(app, whenChanged) {
    const controls = /** @type {Array<(settings: Settings) => void>} */ ([]);
    const change = (/** @type {Setting} */ setting, /** @type {string | boolean} */ typed) => {
        const value = settingValue(setting, typed);
        if (value !== undefined) {
            Object.assign(app.settings, { [setting.name]: value });
            app.saveSettings();
            whenChanged();
        }
        controls.forEach((show) => show(app.settings));
    };
    const isShown = (/** @type {{isOfRecap?: boolean}} */ { isOfRecap = false }) => !isOfRecap || app.hasAutoRecap();
    const row = (/** @type {Setting} */ setting) => {
        const { line, show } = settingRow(setting, (typed) => change(setting, typed));
        controls.push(show);
        return line;
    };
    const common = element('div', { class: 'forklore_settings' }, SETTING_GROUPS.filter(isShown).map(({ title, settings }) =>
        element('div', { class: 'forklore_group', role: 'group', 'aria-label': say(title) },
            element('h4', {}, say(title)), settings.map(row))));
    const more = element('div', { class: 'forklore_settings' }, MORE_SETTINGS.filter(isShown).map(row));
    controls.forEach((show) => show(app.settings));
    return { common, more };
}

function settingRow(/** @type {Setting} */ setting, /** @type {(typed: string | boolean) => void} */ change) {
    const id = freshId(setting.name);
    const hint = say(`setting.${setting.name}.hint`);
    const control = settingControl(setting, id, change);
    const description = element('small', { id: `${id}_hint`, class: 'forklore_hint forklore_unseen' }, hint);
    const sign = hintSign(description);
    control.setAttribute('aria-describedby', description.id);
    const isCheckbox = setting.type === 'checkbox';
    const label = element('label', { for: id, title: hint, class: isCheckbox ? 'checkbox_label' : 'forklore_label' },
        isCheckbox ? control : null, element('span', {}, say(`setting.${setting.name}`), ' ', sign));
    return {
        line: element('div', { class: `forklore_setting forklore_setting_${setting.type}` }, label, isCheckbox ? null : control, description),
        show: (/** @type {Settings} */ settings) => showSetting(setting, control, settings),
    };
}

/** There are no tooltips on touch screens, so a tap on the sign shows the hint below. @param {HTMLElement} description */
function hintSign(description) {
    const toggle = (/** @type {Event} */ event) => {
        event.preventDefault();
        description.classList.toggle('forklore_unseen');
    };
    return element('i', { class: 'fa-solid fa-circle-info forklore_sign', 'aria-hidden': 'true', on: { click: toggle } });
}

/** @param {Setting} setting @param {string} id @param {(typed: string | boolean) => void} change */
function settingControl({ name, type, options = [], min, max }, id, change) {
    if (type === 'select') {
        return element('select', { id, class: 'text_pole', on: { change: (event) => change(event.target.value) } },
            options.map((option) => element('option', { value: option }, say(`setting.${name}.${option}`))));
    }
    if (type === 'checkbox') {
        return element('input', { id, type, on: { change: (event) => change(event.target.checked) } });
    }
    return element('input', { id, type, class: 'text_pole', min, max, on: { change: (event) => change(event.target.value) } });
}

function showSetting(/** @type {Setting} */ setting, /** @type {HTMLInputElement | HTMLSelectElement} */ control, /** @type {Settings} */ settings) {
    const value = settings[setting.name];
    Object.assign(control, setting.type === 'checkbox' ? { checked: Boolean(value) } : { value });
    control.disabled = !isInUse(setting, settings);
}
