// What has to be on disk before SillyTavern starts.

import fs from 'node:fs';
import path from 'node:path';

import { checkout, install, version } from './places.mjs';
import { PAPER, writeTheme } from './themes.mjs';

/**
 * @typedef {object} ServerOptions
 * @property {boolean | string} [extension] the extension under test: this checkout (true), none, or
 *   another folder with a manifest.json
 * @property {Record<string, string>} [extensions] additional extensions: folder name, and the folder to link to
 * @property {boolean | string[]} [builtIns] whether SillyTavern's built-in extensions are enabled, or which of
 *   them; loading takes longer
 * @property {boolean} [requestCompression] whether request bodies are gzipped, however small
 * @property {boolean} [backups] whether every save of a chat is backed up
 * @property {boolean} [content] whether it has SillyTavern's default content, with the character Seraphina
 * @property {any} [preset] changes to SillyTavern's default chat completion preset, which only exists if this is given
 * @property {string} [theme] the name of one of SillyTavern's themes
 * @property {(settings: any) => void} [settings] changes settings.json before the first start
 */

/** Nothing may connect to anything but loopback: no browser, no updates, no model downloads. */
export function config(port, { requestCompression = false, backups = false, content = false }) {
    return JSON.stringify({
        port,
        listen: false,
        browserLaunch: { enabled: false },
        whitelistDockerHosts: false,
        extensions: { enabled: true, autoUpdate: false, models: { autoDownload: false } },
        enableDownloadableTokenizers: false,
        enableServerPluginsAutoUpdate: false,
        backups: { chat: { enabled: backups } },
        logging: { enableAccessLog: false, minLogLevel: 1 },
        performance: { requestCompression: { enabled: requestCompression, minPayloadSize: '0' } },
        skipContentCheck: !content,
    });
}

/**
 * @param {string} dataRoot an empty folder, or that of a SillyTavern that nobody has used
 * @param {ServerOptions} options
 */
export function seed(dataRoot, options) {
    const user = path.join(dataRoot, 'default-user');
    fs.mkdirSync(user, { recursive: true });
    fs.writeFileSync(path.join(user, 'settings.json'), JSON.stringify(settings(options), null, 4));
    defaultContent(dataRoot, user);
    if (options.preset) {
        const preset = { ...readJson('default/content/presets/openai/Default.json'), ...options.preset };
        fs.mkdirSync(path.join(user, 'OpenAI Settings'), { recursive: true });
        fs.writeFileSync(path.join(user, 'OpenAI Settings/Default.json'), JSON.stringify(preset, null, 4));
    }
    extensions(user, options);

    // Outside a container SillyTavern would compile its page libraries into each new data root.
    const cache = path.join(install, 'dist/_webpack');
    fs.mkdirSync(cache, { recursive: true });
    fs.rmSync(path.join(dataRoot, '_webpack'), { force: true });
    fs.symlinkSync(cache, path.join(dataRoot, '_webpack'));
}

function settings({ builtIns = false, theme, settings: change }) {
    const settings = readJson('default/content/settings.json');
    settings.firstRun = false;
    // The page contacts the default backend on loading.
    settings.main_api = 'textgenerationwebui';
    settings.currentVersion = `SillyTavern:${version}:Cohee#1207`;
    settings.power_user.reduced_motion = true;
    settings.extension_settings ??= {};
    // Forklore was here before, so it does not introduce itself.
    settings.extension_settings.forklore = { isolate: true };
    const wanted = Array.isArray(builtIns) ? builtIns : [];
    settings.extension_settings.disabledExtensions =
        builtIns === true ? [] : builtInExtensions().filter((name) => !wanted.includes(name));
    if (theme) {
        Object.assign(settings.power_user, readJson(`default/content/themes/${theme}.json`), { theme });
    }
    change?.(settings);
    return settings;
}

function builtInExtensions() {
    const folder = path.join(install, 'public/scripts/extensions');
    return fs.readdirSync(folder).filter((name) => fs.existsSync(path.join(folder, name, 'manifest.json')));
}

/** The part of the default content that the page needs to load without errors. */
function defaultContent(dataRoot, user) {
    const content = path.join(install, 'default/content');
    const put = (from, to) => {
        fs.mkdirSync(path.dirname(to), { recursive: true });
        fs.copyFileSync(path.join(content, from), to);
    };
    if (fs.existsSync(path.join(content, 'user.css'))) {
        put('user.css', path.join(dataRoot, '_css/user.css'));
    }
    put('backgrounds/__transparent.png', path.join(user, 'backgrounds/__transparent.png'));
    put('user-default.png', path.join(user, 'User Avatars/user-default.png'));
    put('presets/quick-replies/Default.json', path.join(user, 'QuickReplies/Default.json'));
    for (const theme of fs.readdirSync(path.join(content, 'themes'))) {
        put(`themes/${theme}`, path.join(user, 'themes', theme));
    }
    writeTheme(user, PAPER);
}

function extensions(user, { extension = true, extensions: more = {} }) {
    const folder = path.join(user, 'extensions');
    fs.rmSync(folder, { recursive: true, force: true });
    fs.mkdirSync(folder);
    if (extension) {
        const source = extension === true ? checkout : extension;
        if (!fs.existsSync(path.join(source, 'manifest.json'))) {
            throw new Error(`there is no extension to test in ${source}: it has no manifest.json`);
        }
        // Not the whole checkout: SillyTavern would take its .git for the extension's, and the browser should only see
        // what an installed copy contains.
        const installed = path.join(folder, 'forklore');
        fs.mkdirSync(installed);
        for (const part of ['manifest.json', 'extension']) {
            fs.symlinkSync(path.join(source, part), path.join(installed, part));
        }
    }
    for (const [name, source] of Object.entries(more)) {
        fs.symlinkSync(path.resolve(source), path.join(folder, name));
    }
}

/** Whether the extension installed as Forklore really is Forklore. */
export function hasForklore(user) {
    const manifest = path.join(user, 'extensions/forklore/manifest.json');
    return fs.existsSync(manifest) && JSON.parse(fs.readFileSync(manifest, 'utf8')).display_name === 'Forklore';
}

function readJson(name) {
    return JSON.parse(fs.readFileSync(path.join(install, name), 'utf8'));
}
