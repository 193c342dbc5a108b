// Does nothing, so that the harness can be tested without the real extension.
globalThis.standIns ??= [];
globalThis.standIns.push(new URL(import.meta.url).pathname);
