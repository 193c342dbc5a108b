// The operations that it still has to run, before they are in the lorebook.

const operations = [];
globalThis.recapOperations = operations;

export const getAllOperations = () => [...operations];
