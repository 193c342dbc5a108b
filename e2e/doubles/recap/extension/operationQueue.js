// The operations that it has still to run, before they are in the lorebook.

const operations = [];
globalThis.recapOperations = operations;

export const getAllOperations = () => [...operations];
