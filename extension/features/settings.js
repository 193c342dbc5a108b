// The settings, with their defaults.

export const DEFAULTS = {
    isolate: true,
    requireScene: false,
    whenInexact: 'ask',
    whenBusy: 'wait',
    waitSeconds: 120,
    autoName: true,
    nameTemplate: 'Scene {scene_number} - {scene_name}',
    checkpointAtScenes: false,
    warnings: true,
    journal: true,
    journalLimit: 8,
    cleanUp: true,
    guard: true,
};

const CHOICES = {
    whenInexact: ['ask', 'nearest', 'refuse'],
    whenBusy: ['wait', 'drain', 'without'],
};

/** Replaces missing or invalid values by the defaults, in place. */
export function fillDefaults(settings) {
    for (const [key, value] of Object.entries(DEFAULTS)) {
        const isFit = typeof settings[key] === typeof value && (CHOICES[key]?.includes(settings[key]) ?? true);
        if (!isFit) {
            settings[key] = value;
        }
    }
    return settings;
}

/**
 * The name of a checkpoint from the user's template.
 * @param {string} template with {scene_number}, {scene_name}, {chat}, {message}
 */
export function nameFrom(template, values) {
    return template.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key] ?? '') : whole)).trim();
}
