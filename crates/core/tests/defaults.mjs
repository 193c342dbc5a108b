// Prints the defaults of an entry's fields, from the source of SillyTavern's World Info editor.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = process.env.FORKLORE_SILLYTAVERN ?? fileURLToPath(new URL('../../../target/sillytavern', import.meta.url));
const source = fs.readFileSync(path.join(folder, 'public/scripts/world-info.js'), 'utf8');

/** A constant as it is written there, from its name to the end of its statement. */
function constant(name) {
    const found = new RegExp(`^export const ${name} = (?:[^;{]*;|\\{.*?^\\};)`, 'ms').exec(source);
    if (!found) {
        throw new Error(`SillyTavern has no ${name} any more`);
    }
    return found[0].replace('export ', '');
}

const names = ['world_info_logic', 'DEFAULT_DEPTH', 'DEFAULT_WEIGHT', 'newWorldInfoEntryDefinition', 'originalWIDataKeyMap'];
const { newWorldInfoEntryDefinition, originalWIDataKeyMap } = new Function(
    `${names.map(constant).join('\n')}\nreturn { newWorldInfoEntryDefinition, originalWIDataKeyMap };`,
)();

const fields = Object.entries(newWorldInfoEntryDefinition).filter(([, { excludeFromTemplate }]) => !excludeFromTemplate);
console.log(JSON.stringify({
    defaults: Object.fromEntries(fields.map(([name, { default: value }]) => [name, value])),
    copied: [...new Set([
        ...Object.values(originalWIDataKeyMap),
        // Fields that the editor sets under another name.
        ...[...source.matchAll(/setWIOriginalDataValue\(\w+, [\w.]+, '([\w.]+)'/g)].map(([, name]) => name),
    ])],
}));
