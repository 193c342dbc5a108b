import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's folder. */
export const checkout = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** Where screenshots of failed scenarios go. */
export const failures = path.join(checkout, 'e2e/failures');

/** Whether this is a nightly run, which has time for everything. */
export const isNight = process.env.FORKLORE_NIGHTLY === '1';

/** The folder with SillyTavern's server.js. */
export const install = locateInstall();

/** The version of that SillyTavern. */
export const version = JSON.parse(fs.readFileSync(path.join(install, 'package.json'), 'utf8')).version;

/** Whether it is at least this version. @param {string} other such as 1.17 */
export const isSince = (other) => version.localeCompare(other, 'en', { numeric: true }) >= 0;

// Without it the tests fail: a skipped test looks green.
function locateInstall() {
    const folder = path.resolve(process.env.FORKLORE_SILLYTAVERN ?? path.join(checkout, 'target/sillytavern'));
    if (!['server.js', 'node_modules'].every((name) => fs.existsSync(path.join(folder, name)))) {
        throw new Error(
            `no SillyTavern in ${folder}: run \`.ci/install-sillytavern\`, or name a folder with its ` +
                'dependencies installed in FORKLORE_SILLYTAVERN',
        );
    }
    return fs.realpathSync(folder);
}
