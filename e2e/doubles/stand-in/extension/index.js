// Does nothing but be there, so that the harness can be tested without the real extension.
globalThis.standIns ??= [];
globalThis.standIns.push(new URL(import.meta.url).pathname);
