// How long it takes to compare and merge two large books:
//
//   node extension/bench/merge.mjs

import fs from 'node:fs';

import { loadCore } from '../core/core.js';
import { measureLargeBooks } from './large_books.mjs';

const core = await loadCore(fs.readFileSync(new URL('../core/pkg/forklore_bg.wasm', import.meta.url)));
const { megabytes, parsingTwo, parsing, comparing, merging, ratio, differences, steps } = measureLargeBooks(core);
const ms = (time) => `${time.toFixed(1)} ms`;
console.log(`two books of ${megabytes.toFixed(1)} MB, ${differences} differences, ${steps} steps`);
console.log(`JSON.parse of the two: ${ms(parsingTwo)}, with their base: ${ms(parsing)}; compare: ${ms(comparing)}; merge: ${ms(merging)}; ratio ${ratio.toFixed(2)}`);
