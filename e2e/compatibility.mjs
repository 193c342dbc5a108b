// Writes docs/compatibility.md from the results of the last runs in target/compatibility.
//
//   .ci/check-versions
//   FORKLORE_NEIGHBOURS=/folder/of/unpacked/extensions node --test e2e/neighbours/*.test.mjs
//   node e2e/compatibility.mjs

import fs from 'node:fs';
import path from 'node:path';

import { checkout } from './harness/places.mjs';

const folder = path.join(checkout, 'target/compatibility');

/** Records that something was seen to work. @param {string} name of the file @param {any} result */
export function note(name, result) {
    fs.mkdirSync(folder, { recursive: true });
    const file = path.join(folder, `${name.replace(/[^\w.-]+/g, '-')}.json`);
    const before = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {};
    fs.writeFileSync(file, JSON.stringify({ ...before, ...result }));
}

function results(kind) {
    const files = fs.existsSync(folder) ? fs.readdirSync(folder).sort() : [];
    return files.map((name) => JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8'))).filter((result) => result.kind === kind);
}

const table = (head, rows) => [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
const seen = (is) => (is ? 'yes' : 'not seen');

function page() {
    const versions = results('version').map(({ version, scenarios }) => [version, scenarios]);
    const extensions = results('extension').map(({ name, version, solo, group }) => [name, version, seen(solo), seen(group)]);
    const sets = results('set').map(({ names, solo, group }) => [names.join(', '), seen(solo), seen(group)]);
    return `# Compatibility

Written by \`e2e/compatibility.mjs\` from the results of the last runs; the scenarios are in \`e2e/scenarios\` and \`e2e/neighbours\`.

## SillyTavern

Every way to fork, opening and deleting chats, and losing nothing, solo and in groups, in a real browser.

${table(['SillyTavern', 'scenarios, all green'], versions)}

SillyTavern versions before 1.16 do not activate the extension: groups keep their metadata elsewhere there.

## Other extensions

The real ones, in the newest SillyTavern of the table above. Forks are made with the buttons, by command and by another extension. Each has one lorebook, with the lore of the
message, and the data that extensions keep with the chat as it was. The story continues in the child and its parent does not change; there is no false notice and no error from
Forklore, \`verify\` finds nothing, and deleting the fork leaves no lorebook behind.

${table(['extension', 'version', 'solo', 'in a group'], extensions)}

Together:

${table(['extensions', 'solo', 'in a group'], sets)}
`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
    fs.writeFileSync(path.join(checkout, 'docs/compatibility.md'), page());
}
