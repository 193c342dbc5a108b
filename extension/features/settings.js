// The settings, with their defaults.

/** @import { Settings } from '../types.js' */

/** @type {Settings} */
export const DEFAULTS = {
    isolate: true,
    requireScene: false,
    whenInexact: 'ask',
    whenBusy: 'wait',
    waitSeconds: 120,
    autoName: true,
    nameTemplate: 'Scene {scene_number} - {scene_name}',
    branchTitle: '',
    checkpointAtScenes: false,
    warnings: true,
    journal: true,
    journalLimit: 8,
    cleanUp: true,
    guard: true,
    markLore: false,
    trashDays: 30,
    trashLimit: 200,
};

/** @type {Record<string, unknown[]>} */
const CHOICES = {
    whenInexact: ['ask', 'nearest', 'refuse'],
    whenBusy: ['wait', 'drain', 'without'],
};

/** Replaces missing or invalid values by the defaults, in place. @param {Partial<Settings>} settings @returns {Settings} */
export function fillDefaults(settings) {
    /** @type {Record<string, unknown>} */
    const saved = { ...settings };
    /** @type {Record<string, unknown>} */
    const defaults = { ...DEFAULTS };
    for (const [key, value] of Object.entries(defaults)) {
        const isFit = typeof saved[key] === typeof value && (CHOICES[key]?.includes(saved[key]) ?? true);
        if (!isFit) {
            Object.assign(settings, { [key]: value });
        }
    }
    return /** @type {Settings} */ (settings);
}

/** Those that the core needs to decide about a fork. @param {Settings} settings */
export function forkSettings({ whenInexact, whenBusy, requireScene }) {
    return { whenInexact, whenBusy, requireScene };
}

/**
 * The name of a checkpoint, or the title of a branch, from the user's template.
 * @param {string} template with the keys of the values in curly brackets
 * @param {Record<string, unknown>} values
 */
export function nameFrom(template, values) {
    /** @param {string} whole @param {string} key */
    const valueOf = (whole, key) => (key in values ? String(values[key] ?? '') : whole);
    return template.replace(/\{(\w+)\}/g, valueOf).trim();
}
